"""A study from which a worker is taken and in which a heuristic hangs: is every row there?

    python benchmarks/lost_workers.py [--seeds 10]

The same study on processes and on a Dask cluster of two workers, one of which is killed as soon as
a result is there; beside it the study without a hanging heuristic, in one process. Rows count as
equal where all but seconds are.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import psutil
from distributed import LocalCluster

from optsched.evaluation.heuristic_run import heuristic_limits
from optsched.evaluation.ratios import Row
from optsched.parallel.cluster import DaskCluster
from optsched.study import StudyGrid, run_study

HEURISTICS = ["a_online", "a_online_ns", "all_cloud"]
TIME_LIMIT = 10.0
"""Wall seconds of a heuristic's run."""


def hang(instance: Any, rng: np.random.Generator) -> None:
    """A heuristic that never comes back."""
    time.sleep(10_000)


def grid(heuristics: list[Any], seeds: int) -> StudyGrid:
    """Small contended instances of the preemptive problem."""
    generator = {"jobs": [3, 5], "servers": [3], "types": [1], "span": [6], "time_scale": [0.03]}
    return StudyGrid(
        "preemptive",
        generator,
        heuristics=heuristics,
        heuristic_limits=heuristic_limits(time_limit=TIME_LIMIT),
        seeds=range(seeds),
    )


def killing(workers: Callable[[], list[int]], killed: list[int]) -> Callable[[Any], None]:
    """Kill a worker, once, when the first result is there."""

    def progress(told: Any) -> None:
        if told.computed and not killed and (there := workers()):
            os.kill(there[0], signal.SIGKILL)
            killed.append(there[0])

    return progress


def own_workers() -> list[int]:
    """The worker processes that this one has started."""
    children = psutil.Process().children()
    return [one.pid for one in children if any("popen_loky" in part for part in one.cmdline())]


def plain(row: Row) -> tuple[Any, ...]:
    """A row without what depends on the machine."""
    return (row.instance, row.seed, row.heuristic, row.status, row.cost, row.optimum)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--executors", nargs="*", default=["processes", "dask"])
    given = parser.parse_args()
    seeds = given.seeds
    alone = {plain(row) for row in run_study([grid(HEURISTICS, seeds)], workers=1).rows}
    asked = grid([*HEURISTICS, hang], seeds)
    print("executor   killed  rows of  equal to one process  statuses of the hanging one  wall s")
    for executor in given.executors:
        killed: list[int] = []
        began = time.perf_counter()
        if executor == "processes":
            rows = run_study([asked], workers=2, progress=killing(own_workers, killed)).rows
        else:
            with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as own:
                pids = [nanny.process.pid for nanny in own.workers.values()]
                there = DaskCluster(own.scheduler_address)
                progress = killing(lambda pids=pids: pids, killed)
                rows = run_study([asked], executor=there, progress=progress).rows
        others = {plain(row) for row in rows if row.heuristic != "hang"}
        stuck = dict(Counter(row.status for row in rows if row.heuristic == "hang"))
        took = time.perf_counter() - began
        print(
            f"{executor:<10} {len(killed):>6}  {len(rows):>4} {2 * seeds * 4:>3}  "
            f"{len(others & alone):>9} of {len(alone):<8}  {stuck!s:<27}  {took:>6.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
