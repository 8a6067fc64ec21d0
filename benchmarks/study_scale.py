"""What a study costs beside its runs, up to many: overhead, memory of the driver, store, resume.

A study on a Dask cluster of worker processes keeps each result; a second one finds all of them in
the store. Workers note the CPU time of the runs themselves (a heuristic, its checks, what is said
of it); overhead a run is all other CPU time of driver, scheduler and workers over runs, making the
instances included. One worker is killed on the way and another joins, if asked for: its CPU time
until then is not counted, the runs of others stand for it.

    python benchmarks/study_scale.py --runs 10000 --workers 8 --lose
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

import dask
import psutil
from distributed import Client, LocalCluster, Worker
from distributed.diagnostics.plugin import WorkerPlugin

from optsched.evaluation.runs import InstanceRunner, MethodRun
from optsched.parallel.cluster import DaskCluster
from optsched.study import StudyGrid, run_study

HEURISTICS = ("first_fit_decreasing", "tetris", "graphene", "spear", "best_order")
TASKS = (4, 16, 40)
"""Sizes of the instances: runs of mixed seconds."""

QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.low-level-log-length": 50,
}
"""What Dask looks at and keeps for its own pages, which are not served here."""


class OwnTime(WorkerPlugin):
    """Notes the CPU seconds of the runs of a worker."""

    name = "own time"

    def setup(self, worker: Worker) -> None:
        """Listen to every run."""
        InstanceRunner.seconds = 0.0
        run = InstanceRunner.run

        def timed(*given: Any, **named: Any) -> MethodRun:
            began = time.thread_time()
            try:
                return run(*given, **named)
            finally:
                InstanceRunner.seconds += time.thread_time() - began

        InstanceRunner.run = timed


def own_seconds() -> float:
    """What this worker has noted."""
    return InstanceRunner.seconds


def grid(seeds: int) -> StudyGrid:
    """Packing, heuristics alone."""
    generator = {"kind": ["hard"], "tasks": list(TASKS)}
    return StudyGrid("aerialedge", generator, (), range(seeds), list(HEURISTICS), exact=[])


def megabytes() -> float:
    """Resident memory of this process now."""
    return float(psutil.Process().memory_info().rss / 2**20)


def cpu_seconds() -> dict[int, float]:
    """CPU seconds of this process and of those it started and that still run."""
    own = psutil.Process()
    times = {one.pid: one.cpu_times() for one in (own, *own.children(recursive=True))}
    return {pid: float(each.user + each.system) for pid, each in times.items()}


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
    memory, begun = [megabytes()], time.perf_counter()
    with (
        dask.config.set(QUIET),
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(given.workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        store = Path(folder) / "study.sqlite"
        print(f"{given.workers} worker processes: {time.perf_counter() - begun:.1f} s to start")

        def watch(told: Any) -> None:
            if told.computed:
                memory.append(megabytes())
            if given.lose and told.computed > seeds * each // 2:
                given.lose = False
                os.kill(next(iter(cluster.workers.values())).process.pid, signal.SIGKILL)

        begun = time.perf_counter()
        executor = DaskCluster(cluster.scheduler_address)
        run_study([grid(4 * given.workers)], Path(folder) / "warm.sqlite", executor=executor)
        client.register_plugin(OwnTime())
        print(f"they import and load machine code: {time.perf_counter() - begun:.1f} s")
        for what in ("first", "again"):
            begun, before, driver = time.perf_counter(), cpu_seconds(), time.process_time()
            own = sum(client.run(own_seconds).values())
            executor = DaskCluster(cluster.scheduler_address)
            run_study([grid(seeds)], store=store, executor=executor, progress=watch)
            wall, driver = time.perf_counter() - begun, time.process_time() - driver
            after, own = cpu_seconds(), sum(client.run(own_seconds).values()) - own
            spent = sum(s - before.get(pid, 0.0) for pid, s in after.items())
            a_run, beside, driving = (1e3 * s / (seeds * each) for s in (own, spent - own, driver))
            print(
                f"{what}: {seeds * each:,} runs in {wall:.1f} s; ms of CPU a run: {a_run:.2f} its "
                f"own, {beside:.2f} beside it, driver and scheduler {driving:.2f} of these",
                flush=True,
            )
        print(f"store: {store.stat().st_size / (seeds * each):.0f} bytes a run")
    quarters = [memory[i * (len(memory) - 1) // 4] for i in range(5)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(
        "driver: " + ", ".join(f"{one:.0f}" for one in quarters) + " MB from the start to the last "
        f"result by quarters, {peak:.0f} at most"
    )


if __name__ == "__main__":
    main()
