"""What a study costs beside its runs, up to many: overhead, memory of the driver, store, resume.

The same runs are measured in a loop in this process (a heuristic, its checks, what is said of it)
and by a study on a Dask cluster of worker processes, which keeps each result; a second study finds
all of them in the store.
Overhead a run is the CPU time of driver, scheduler and workers together, less the loop's, over
runs; beside it stands the wall time times the cores it can use, less the loop's, which also counts
waiting, and says little on a machine that does other things too. One worker is killed on the way
and a new one joins, if asked for.

    python benchmarks/study_scale.py --runs 10000 --workers 8
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from distributed import LocalCluster

from optsched.evaluation.runs import DONE, InstanceRunner, MethodSpec, instance_rng
from optsched.problem import problem
from optsched.study import StudyGrid, run_study
from optsched.study.cluster import DaskCluster

HEURISTICS = ("next_fit", "first_fit", "first_fit_decreasing", "tetris", "graphene")
TASKS = (16, 40, 120)
"""Sizes of the instances: runs of mixed seconds."""


def grid(seeds: int) -> StudyGrid:
    """Packing, heuristics alone."""
    generator = {"kind": ["hard"], "tasks": list(TASKS)}
    return StudyGrid("aerialedge", generator, (), range(seeds), list(HEURISTICS), exact=[])


def loop(seeds: int) -> float:
    """CPU seconds of the same runs, measured one after the other."""
    found = problem("aerialedge")
    began = time.process_time()
    for tasks in TASKS:
        for seed in range(seeds):
            instance = found.generate(instance_rng(seed), kind="hard", tasks=tasks)
            runner = InstanceRunner(found, instance, seed)
            for name in HEURISTICS:
                assert runner.run(MethodSpec("heuristic", name)).status == DONE
    return time.process_time() - began


def megabytes() -> float:
    """Resident memory of this process now."""
    return float(psutil.Process().memory_info().rss / 2**20)


def cpu_seconds() -> float:
    """CPU seconds of this process and of those it started and that still run."""
    own = psutil.Process()
    times = [one.cpu_times() for one in (own, *own.children(recursive=True))]
    return float(sum(each.user + each.system for each in times))


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument(
        "--lose", action="store_true", help="kill a worker; its nanny starts another"
    )
    given = parser.parse_args()
    each = len(HEURISTICS) * len(TASKS)
    seeds = -(-given.runs // each)
    sample = min(seeds, 200)
    alone = loop(sample) / (sample * each)
    print(f"a run in a loop: {1e3 * alone:.2f} ms of CPU ({sample * each:,} runs)")
    asked, memory, begun = grid(seeds), [megabytes()], time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(given.workers, threads_per_worker=1, dashboard_address=None) as cluster,
    ):
        store = Path(folder) / "study.sqlite"
        print(f"{given.workers} worker processes: {time.perf_counter() - begun:.1f} s to start")

        def watch(told: Any) -> None:
            if told.computed and told.computed % 1000 == 0:
                memory.append(megabytes())
            if given.lose and told.computed > seeds * each // 2:
                given.lose = False
                os.kill(next(iter(cluster.workers.values())).process.pid, signal.SIGKILL)

        begun = time.perf_counter()
        executor = DaskCluster(cluster.scheduler_address)
        run_study([grid(4 * given.workers)], Path(folder) / "warm.sqlite", executor=executor)
        print(f"they import and load machine code: {time.perf_counter() - begun:.1f} s")
        for what in ("first", "again"):
            begun, cpu, driver = time.perf_counter(), cpu_seconds(), time.process_time()
            executor = DaskCluster(cluster.scheduler_address)
            result = run_study([asked], store=store, executor=executor, progress=watch)
            wall = time.perf_counter() - begun
            cores = min(given.workers, os.cpu_count() or 1)
            spent = [cpu_seconds() - cpu, time.process_time() - driver, wall * cores]
            less = alone if what == "first" else 0.0
            busy, driving, held = (1e3 * seconds / (seeds * each) for seconds in spent)
            print(
                f"{what}: {seeds * each:,} runs in {wall:.1f} s; a run beside the loop's: "
                f"{busy - 1e3 * less:.2f} ms of CPU (driver and scheduler {driving:.2f}), "
                f"{held - 1e3 * less:.2f} ms of core time",
                flush=True,
            )
        print(f"store: {store.stat().st_size / (seeds * each):.0f} bytes a run")
        del result
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(f"driver: {memory[0]:.0f} MB before, {memory[len(memory) // 2]:.0f} half way, "
          f"{memory[-1]:.0f} after, {peak:.0f} at most")  # fmt: skip


if __name__ == "__main__":
    main()
