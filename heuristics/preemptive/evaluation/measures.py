"""The simulations of the preemptive paper's evaluation, as sweeps over instances.

The printed parameter ranges overload the edge many times over, and the trace gives most jobs a
single worker, so that schedulers of whole jobs at the edge cannot keep up. How long chunks are,
over how long jobs arrive and how many workers a gang wants are interpretations of their claims.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from formulations.common.traces import TraceJobs
from formulations.common.traces.philly import load_jobs
from formulations.preemptive import PROBLEM
from formulations.preemptive.bounds import lb_alone, lb_lp4_plus, lb_paper
from formulations.preemptive.check import cost
from formulations.preemptive.generator import DEFAULT_SPAN, EDGE_DELAY, generate
from formulations.preemptive.instance import Instance
from formulations.preemptive.metrics import (
    chunk_flow_time,
    communication_wall_clock,
    load,
    makespan,
    preemptions,
    submissions,
    utilisation_over_time,
)
from formulations.preemptive.schedule import Schedule
from heuristics.common.data import data_folder
from heuristics.preemptive.a_online import a_online, a_online_e
from heuristics.preemptive.all_cloud import all_cloud
from heuristics.preemptive.batch_scheduler import batch_sche
from heuristics.preemptive.gang import GangRun
from heuristics.preemptive.srtf import srtf
from heuristics.preemptive.tiresias import tiresias_l
from optsched.study.sweep import Scale, Sweep

EPSILONS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Speed augmentation of Figures 12 and 13."""

SETTING = ["jobs", "servers"]

PHILLY_FILE = "philly_jobs_to_20171126.csv.gz"
UPLOADED = EDGE_DELAY[1] + 1
"""Slots after which the edge has a job's data."""

METHODS: dict[str, Callable[[Instance, np.random.Generator], Schedule]] = {
    "srtf": srtf,
    "tiresias_l": tiresias_l,
    "tiresias_l_median": lambda i, rng: tiresias_l(i, rng, service_quantile=0.5),
    "batch_sche": batch_sche,
    "a_online": a_online,
    "a_online_e": a_online_e,
    "all_cloud": all_cloud,
}
"""What is run on every instance; Tiresias-L with the released thresholds, of which one hour of a
few workers passes both, and with one at the median of the jobs' service."""


def measure_schedulers(
    *,
    jobs: int,
    servers: int,
    seed: int,
    span: int = 168,
    chunks: float = 1.0,
    gang: str = "trace",
) -> list[dict[str, Any]]:
    """Every scheduler on one instance of Figures 7 to 11.

    Args:
        jobs: J.
        servers: S.
        seed: of the instance and of the schedulers.
        span: slots over which jobs arrive.
        chunks: factor of the printed computing and communication times.
        gang: "trace": as many workers as a job of the trace had GPUs; "chunks": one per chunk.
    """
    instance = generate(
        np.random.default_rng(seed), jobs=jobs, servers=servers, span=span, time_scale=chunks
    )
    if gang == "chunks":
        instance = replace(instance, gang_size=instance.num_chunks)
    return _rows(instance, seed)


def measure_testbed(
    *, jobs: int, servers: int, seed: int, chunks: float = 1.0
) -> list[dict[str, Any]]:
    """The same on the machines of Figures 4 to 6: a worker each, of two types, and the cloud.

    Args:
        jobs: J.
        servers: machines at the edge; the paper has 8.
        seed: of the instance and of the schedulers.
        chunks: factor of the printed computing and communication times.
    """
    instance = generate(
        np.random.default_rng(seed), jobs=jobs, servers=servers, machines=(1,), types=2,
        time_scale=chunks,
    )  # fmt: skip
    return _rows(instance, seed)


def philly_instance(*, jobs: int, servers: int, seed: int, chunks: float) -> Instance:
    """Return jobs of the Philly trace: their submissions, stretched over a week, and their GPUs.

    Which jobs that are submitted one after the other is drawn by the seed; the trace does not know
    the rest, which is drawn as for ``measure_schedulers``.

    Args:
        jobs: J.
        servers: S.
        seed: of the instance and of the jobs.
        chunks: factor of the printed computing and communication times.

    Raises:
        UnmeasuredError: the trace is not at hand.
    """
    trace = _philly(data_folder("philly") / PHILLY_FILE)
    first = int(np.random.default_rng([seed, 1]).integers(len(trace) - jobs))
    part = trace[first : first + jobs]
    since = part.submit_time - part.submit_time[0]
    release = 1 + np.floor(since / max(since[-1], 1.0) * (DEFAULT_SPAN - 1))
    instance = generate(np.random.default_rng(seed), jobs=jobs, servers=servers, time_scale=chunks)
    gang = np.minimum(part.gpus, instance.num_chunks)
    return replace(instance, release_time=release, gang_size=gang)


def measure_philly(
    *, jobs: int, servers: int, seed: int, chunks: float = 1.0
) -> list[dict[str, Any]]:
    """The same on jobs of the Philly trace.

    What comes after the two busiest slots of submission is measured, too: ``rise``. See
    ``philly_instance`` for the arguments.
    """
    return _rows(philly_instance(jobs=jobs, servers=servers, seed=seed, chunks=chunks), seed)


@cache
def _philly(path: Path) -> TraceJobs:
    return load_jobs(path)


def _rows(instance: Instance, seed: int) -> list[dict[str, Any]]:
    """Every scheduler on one instance."""
    rows = []
    for name, run in METHODS.items():
        made = run(instance, np.random.default_rng(seed))
        _checked(instance, made, name)
        rows.append(
            {
                "method": name,
                "jct": cost(instance, made),
                "preemptions": _preemptions(instance, made),
                "communication": communication_wall_clock(instance, made),
                "makespan": makespan(instance, made),
                "peak": float(utilisation_over_time(instance, made).value.max(initial=0.0)),
                "rise": _rise(instance, made),
                "load": load(instance),
            }
        )
    return rows


def _rise(instance: Instance, made: Schedule) -> float:
    """By how much the share of busy workers grows after the two busiest slots of submission."""
    arrivals = submissions(instance)
    peaks = np.sort(arrivals.time[np.argsort(-arrivals.value, kind="stable")[:2]])
    share = utilisation_over_time(instance, made)
    return float(np.mean(share.at(peaks + UPLOADED) - share.at(peaks)))


def _checked(instance: Instance, made: Schedule, name: str) -> None:
    violations = PROBLEM.check(instance, made, speed=made.speed)
    if violations:
        raise ValueError(f"{name} breaks ({violations[0].constraint})")


def _preemptions(instance: Instance, made: Schedule) -> float:
    """Suspended workers; those suspended while they load data count, too."""
    if isinstance(made, GangRun):
        return float(made.worker_preemptions)
    return preemptions(instance, made)


def measure_ratios(*, jobs: int, servers: int, seed: int) -> list[dict[str, Any]]:
    """A_online at each speed against lower bounds for a machine of speed 1, printed ranges.

    Args:
        jobs: J.
        servers: S.
        seed: of the instance.
    """
    instance = generate(np.random.default_rng(seed), jobs=jobs, servers=servers)
    paper = lb_paper(instance)
    best = max(lb_alone(instance), lb_lp4_plus(instance))
    rows = []
    for epsilon in EPSILONS:
        made = a_online(instance, np.random.default_rng(seed), epsilon=epsilon)
        _checked(instance, made, "a_online")
        rows.append(
            {
                "epsilon": epsilon,
                "chunk_ratio": chunk_flow_time(instance, made) / paper,
                "jct_over_paper": cost(instance, made) / paper,
                "jct_over_best": cost(instance, made) / best,
            }
        )
    return rows


def _scheduler_tasks(scale: Scale) -> list[dict[str, Any]]:
    if scale == "full":
        cells = [(jobs, 100) for jobs in range(50, 301, 50)]
        cells += [(300, servers) for servers in (60, 80, 120, 140)]
        seeds = 10
    else:
        cells, seeds = [(100, 100), (200, 100), (300, 100), (300, 60), (300, 140)], 3
    return [
        {"jobs": jobs, "servers": servers, "seed": seed}
        for jobs, servers in cells
        for seed in range(seeds)
    ]


def _ratio_tasks(scale: Scale) -> list[dict[str, Any]]:
    if scale == "full":
        cells = list(itertools.product((5, 10, 15, 20, 25), (5, 15, 25, 35, 45)))
        seeds = 10
    else:
        cells, seeds = list(itertools.product((5, 25), (5, 45))), 3
    return [
        {"jobs": jobs, "servers": servers, "seed": seed}
        for jobs, servers in cells
        for seed in range(seeds)
    ]


def _testbed_tasks(scale: Scale) -> list[dict[str, Any]]:
    seeds = range(10 if scale == "full" else 3)
    return [{"jobs": jobs, "servers": 8, "seed": seed} for jobs in (10, 20, 30) for seed in seeds]


def rates_by_setting(frame: pd.DataFrame) -> pd.DataFrame:
    """Total completion time over SRTF's by setting, methods side by side, and the load."""
    means = frame.pivot_table(index=SETTING, columns="method", values="jct", sort=False)
    rates = means.div(means["srtf"], axis=0)
    return rates.assign(load=frame.groupby(SETTING, sort=False)["load"].mean()).round(3)


def ratios_by_setting(frame: pd.DataFrame) -> pd.DataFrame:
    """The paper's ratio by numbers of jobs and servers, speeds side by side."""
    return frame.pivot_table(
        index=["jobs", "servers"], columns="epsilon", values="chunk_ratio", sort=False
    ).round(3)


SCHEDULERS = Sweep("preemptive_schedulers", _scheduler_tasks, measure_schedulers, rates_by_setting)
TESTBED = Sweep("preemptive_testbed", _testbed_tasks, measure_testbed, rates_by_setting)
PHILLY = Sweep("preemptive_philly", _scheduler_tasks, measure_philly, rates_by_setting)
RATIOS = Sweep("preemptive_ratios", _ratio_tasks, measure_ratios, ratios_by_setting)
