"""Cluster schedulers where only the number of free GPUs matters: FIFO, SRTF, LAS, Tiresias-L.

A job holds all its GPUs at once or none, any free GPUs will do, and suspending costs nothing:
the setting of the simulator released with Tiresias (Gu et al., NSDI 2019), whose end times and
preemption counts these policies reproduce.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from formulations.common.traces import TraceJobs
from optsched.errors import FieldProblem, InputError
from optsched.instances.arrays import freeze

Policy = Literal["fifo", "fifo_skip", "srtf", "srtf_gpu_time", "las", "tiresias_l"]
"""fifo: order of arrival, who does not fit blocks the rest; fifo_skip: who does not fit is passed
over. srtf: least remaining time first, preemptively; srtf_gpu_time: least remaining time times
GPUs first. las: queues by the time a job has run, the least served first; tiresias_l: queues by
that time times GPUs."""

POLICIES: tuple[Policy, ...] = get_args(Policy)

THRESHOLDS = (3250.0, 7200.0)
"""Upper limits of the first queues in the released simulator: seconds for ``las``, GPU-seconds
for ``tiresias_l``."""


@dataclass(frozen=True, eq=False)
class CountRun:
    """When each job started and ended; every array is read-only, of shape (jobs,)."""

    submit_time: NDArray[np.float64]
    """Seconds."""
    first_start: NDArray[np.float64]
    """Seconds."""
    end: NDArray[np.float64]
    """Seconds."""
    preemptions: NDArray[np.int64]
    """How often the job was suspended."""

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def mean_jct(self) -> float:
        """Mean of end - submission (seconds)."""
        return float(np.mean(self.end - self.submit_time))

    @property
    def makespan(self) -> float:
        """Last end (seconds)."""
        return float(self.end.max())


def simulate(
    trace: TraceJobs,
    gpus: int,
    policy: Policy,
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    late_demotions: bool = False,
) -> CountRun:
    """Replay a trace on a cluster under a policy.

    Args:
        trace: at least one job; none may want more GPUs than there are.
        gpus: of the cluster.
        policy: who runs.
        thresholds: for ``las`` and ``tiresias_l``, service at which a job leaves each queue but
            the last, ascending.
        late_demotions: look for demotions when the released simulator does. For a job of several
            GPUs that is too late unless something else happens before; otherwise demotions come
            at the first whole second at which they are due.

    Raises:
        InputError: a job or an option that cannot be accepted.
    """
    _refuse(trace, gpus, policy, thresholds)
    from heuristics.common import count_loops  # here, as it brings the compiler

    submit, wanted, duration = trace.submit_time, trace.gpus, trace.duration
    jobs = len(trace)
    each = wanted if policy in ("srtf_gpu_time", "tiresias_l") else np.ones(jobs)
    weight = np.asarray(each, dtype=np.float64)
    if policy in ("fifo", "fifo_skip"):
        size = np.unique(wanted, return_inverse=True)[1].reshape(-1)
        queue = size if policy == "fifo_skip" else np.zeros(jobs, dtype=np.int64)
        start = count_loops.run_in_queues(
            submit, wanted, duration, queue, int(queue.max()) + 1, gpus
        )
        return CountRun(submit, start, start + duration, np.zeros(jobs, dtype=np.int64))
    if policy in ("srtf", "srtf_gpu_time"):
        found = count_loops.run_shortest_first(submit, wanted, duration, weight, gpus)
    else:
        limits = np.array(thresholds, dtype=np.float64)
        found = count_loops.run_least_attained(
            submit, wanted, duration, weight, limits, late_demotions, gpus
        )
    return CountRun(submit, *found)


def _refuse(trace: TraceJobs, gpus: int, policy: str, thresholds: Sequence[float]) -> None:
    if policy not in POLICIES:
        raise InputError.of("policy", policy, "one of " + ", ".join(POLICIES))
    if len(trace) == 0:
        raise InputError.of("trace", "no jobs", "at least one job")
    ladder = np.array([0.0, *thresholds])
    if not (np.isfinite(ladder).all() and (np.diff(ladder) > 0).all()):
        raise InputError.of("thresholds", list(thresholds), "finite numbers > 0, ascending")
    checks = (
        ("gpus", trace.gpus, (trace.gpus >= 1) & (trace.gpus <= gpus), f"in 1..{gpus}"),
        ("duration", trace.duration, trace.duration > 0, "a number > 0"),
        ("duration", trace.duration, np.isfinite(trace.duration), "finite"),
        ("submit_time", trace.submit_time, np.isfinite(trace.submit_time), "finite"),
    )
    problems = [
        FieldProblem(f"{name}[{j}]", values[j].item(), allowed)
        for name, values, good, allowed in checks
        for j in np.flatnonzero(~good)[:1].tolist()
    ]
    if problems:
        raise InputError(problems)
