"""Workloads of the size of Microsoft's Philly trace (Jeon et al., USENIX ATC 2019).

The real jobs are read where the file is at hand; otherwise jobs are drawn like them. What is
fitted, to the 71,570 jobs submitted from 2017-09-04 to 2017-11-26 that the derived table holds:

* arrivals per hour: Poisson around an intensity whose logarithm is a first-order autoregression
  with the variance and lag-one correlation of the hourly counts (mean 35.7, variance 6,230,
  correlation 0.46), spread evenly over the hour;
* GPUs per job: the counts of ``PHILLY_JOBS``;
* running time: for each number of GPUs, quantiles, log-linear in between.

Machines are those of the official list: ``PHILLY_MACHINES``.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
from pydantic import Field, FilePath, model_validator

from formulations.common.traces import Machines, TraceJobs
from formulations.preemptive.generator import (
    PHILLY_JOBS,
    PHILLY_MACHINES,
    GeneratorOptions,
    SystemOptions,
    from_trace,
)
from formulations.preemptive.generator import generate as draw
from formulations.preemptive.instance import Floats, Instance, Integers
from optsched.errors import InputError
from optsched.instances.document import validated

PHILLY_SIZE = 117_325
"""Jobs of the full trace."""
PHILLY_HOURS = 2_006
"""Hours over which the jobs of the derived table were submitted."""

ALIBABA_MACHINES = {8: 617, 2: 518, 4: 54, 1: 24}
"""GPUs of a machine: number of such machines in Alibaba's cluster of 2023."""

PERSISTENCE = 0.66
"""Correlation of the log-intensities of two hours that follow each other."""
SPREAD = 1.33
"""Standard deviation of the log-intensity of an hour."""

PROBABILITIES = (0.0, 0.01, 0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99, 1.0)
DURATIONS = {
    1: (1, 34, 52, 62, 158, 1176, 2672, 8053, 16063, 116170, 3256045),
    2: (2, 4, 8, 10, 15, 19, 38, 102483, 231564, 595991, 2582803),
    4: (9, 37, 79, 132, 675, 17690, 89108, 186531, 293927, 1015666, 2750674),
    8: (17, 38, 125, 199, 1350, 24259, 178716, 369747, 576696, 1109005, 4628226),
    12: (20, 29, 43, 106, 382, 45970, 120194, 340928, 505165, 1176311, 1710643),
}
"""Running times at ``PROBABILITIES``, seconds, of jobs with at least so many GPUs."""


def philly_machines() -> Machines:
    """The 552 machines of the official list, 2,490 GPUs."""
    return _machines(PHILLY_MACHINES)


def _machines(counts: dict[int, int]) -> Machines:
    gpus = np.repeat(list(counts), list(counts.values()))
    return Machines(tuple(f"m{i}" for i in range(len(gpus))), gpus)


def draw_jobs(rng: np.random.Generator, jobs: int = PHILLY_SIZE) -> TraceJobs:
    """Jobs like those of the trace, at its mean rate, in order of submission.

    Args:
        rng: source of all randomness.
        jobs: how many, >= 1; fewer jobs come over fewer hours.

    Raises:
        InputError: fewer than one job.
    """
    if jobs < 1:
        raise InputError.of("jobs", jobs, "an integer >= 1")
    gpus = rng.choice(list(PHILLY_JOBS), jobs, p=_shares(PHILLY_JOBS))
    hours = max(1, round(PHILLY_HOURS * jobs / PHILLY_SIZE))
    hour = rng.choice(hours, jobs, p=_intensity(rng, hours))
    submit = np.sort(np.floor((hour + rng.random(jobs)) * 3600))
    return TraceJobs(submit - submit[0], _durations(rng, gpus), gpus, np.full(jobs, "drawn"))


def _shares(counts: dict[int, int]) -> Floats:
    count = np.array(list(counts.values()), dtype=np.float64)
    return np.asarray(count / count.sum())


def _intensity(rng: np.random.Generator, hours: int) -> Floats:
    """Share of the arrivals that falls in each hour, shape (hours,)."""
    noise = rng.normal(0.0, SPREAD, hours)
    noise[1:] *= np.sqrt(1 - PERSISTENCE**2)
    log = np.empty(hours)
    last = 0.0
    for hour, step in enumerate(noise.tolist()):
        last = PERSISTENCE * last + step
        log[hour] = last
    weight = np.exp(log)
    return np.asarray(weight / weight.sum())


def _durations(rng: np.random.Generator, gpus: Integers) -> Floats:
    """Running times by the quantiles of the jobs' numbers of GPUs, shape (jobs,), seconds."""
    uniform = rng.random(len(gpus))
    seconds = np.empty(len(gpus))
    least = list(DURATIONS)
    kind = np.searchsorted(least, gpus, side="right") - 1
    for k, quantiles in enumerate(DURATIONS.values()):
        mine = kind == k
        seconds[mine] = np.exp(np.interp(uniform[mine], PROBABILITIES, np.log(quantiles)))
    return np.maximum(1.0, np.round(seconds))


def philly_workload(
    rng: np.random.Generator,
    jobs: int | None = None,
    path: str | Path | None = None,
    **options: Any,
) -> Instance:
    """The trace as an instance: its machines, its arrivals, its work cut into chunks.

    Every job does the work it did, ``D_j p^0_j`` = GPUs x running time.

    Args:
        rng: draws the jobs if they are not read, and all a trace does not know.
        jobs: how many, the first ones of a file; None: all of them, or ``PHILLY_SIZE``.
        path: the table or the log of the real jobs, or the pods of Alibaba's trace, which come
            with its machines; None: jobs are drawn.
        options: the other fields of ``generator.TraceOptions``.

    Raises:
        InputError: the file cannot be read, or an option is out of range.
    """
    if path is None:
        trace, machines = draw_jobs(rng, PHILLY_SIZE if jobs is None else jobs), philly_machines()
    else:
        trace, machines = _read(path)
    return from_trace(trace[slice(jobs)], machines, rng, **{"calibrate": "duration", **options})


def _read(path: str | Path) -> tuple[TraceJobs, Machines]:
    """Jobs and the machines of their cluster; Alibaba's are known by their columns."""
    import pandas as pd  # takes long to load, and only traces need it

    from formulations.common.traces import alibaba_gpu, philly

    columns: Sequence[str] = ()
    with suppress(OSError, EOFError, ValueError):  # Philly's loader says what is wrong
        columns = list(pd.read_csv(path, nrows=0).columns)
    if "creation_time" in columns:
        return alibaba_gpu.load_jobs(path), _machines(ALIBABA_MACHINES)
    return philly.load_jobs(path), philly_machines()


class WorkloadOptions(GeneratorOptions):
    """Options of ``generate``."""

    trace: FilePath | None = Field(
        None,
        description="file with the jobs of a cluster, Philly's (table or log) or Alibaba's pods, "
        "on its machines: all of them unless jobs are counted, with the work they did",
    )

    @model_validator(mode="after")
    def _a_trace_has_its_own_system(self) -> Self:
        own = sorted({"servers", "span", "jobs_per_slot", "machines"} & self.model_fields_set)
        if self.trace is not None and own:
            raise ValueError(f"a trace has {own[0]} of its own")
        return self


def generate(rng: np.random.Generator, **options: Any) -> Instance:
    """Draw an instance as ``generator.generate`` does, or read its jobs from a trace.

    Args:
        rng: source of all randomness.
        options: the fields of ``WorkloadOptions``. Chunk times of a trace are rounded only if that
            is asked for.

    Raises:
        InputError: an option is unknown or out of range, or the file cannot be read.
    """
    chosen = validated(WorkloadOptions, options)
    if chosen.trace is None:
        return draw(rng, **{name: value for name, value in options.items() if name != "trace"})
    said = {name: getattr(chosen, name) for name in chosen.model_fields_set}
    system = {n: v for n, v in said.items() if n == "rounded" or n in SystemOptions.model_fields}
    return philly_workload(rng, said.get("jobs"), chosen.trace, **system)


def repair(document: dict[str, Any]) -> dict[str, Any]:
    """A like file that ``generate`` could have made: fast chunks no slower, gangs no larger."""
    jobs = []
    for job in document["jobs"]:
        if {"chunk_time_fast", "chunk_time_slow"} <= job.keys():
            fast = min(job["chunk_time_fast"], job["chunk_time_slow"])
            job = job | {"chunk_time_fast": fast}
        jobs.append(job | {"gang_size": min(job.get("gang_size", 1), job["num_chunks"])})
    return document | {"jobs": jobs}
