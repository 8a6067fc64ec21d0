"""A_online at the size of the Philly trace, and how far from optimal it is where a bound reaches.

Replays, each in a process of its own, on 552 machines with 2,490 GPUs:

- ``trace``: A_online on the trace's work, cut into chunks (``formulations.preemptive.workload``);
- ``trace, edge only``: the same without the cloud;
- ``overload, edge only``: the paper's chunk times, a hundred times what the edge can do, so that
  queues only grow;
- ``trace, interpreted``: the same code without the compiler, at the smallest size only.

Seconds are CPU time of the replay from first arrival to finished schedule, without loading the
machine code and making the instance; memory is the peak of the process, instance included. Then
A_online and its variant that never splits a job against LB-PRICES, the paper's generator drawing
(integral) instances.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from formulations.preemptive.check import check
from formulations.preemptive.exact.lagrangian import price
from formulations.preemptive.generator import generate
from formulations.preemptive.workload import PHILLY_SIZE, philly_workload
from heuristics.preemptive.a_online import a_online, a_online_ns

REPLAYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "trace": ({}, {}),
    "trace, edge only": ({}, {"edge_only": True}),
    "overload, edge only": ({"calibrate": None}, {"edge_only": True}),
}
"""Options of the workload, and of A_online."""

WARM = 30
"""Jobs of a first, unmeasured run, which loads the machine code."""


def replay(name: str, jobs: int, trace: str | None) -> dict[str, float]:
    """Run A_online once in this process."""
    workload, options = REPLAYS[name]
    instance = philly_workload(np.random.default_rng(0), jobs, trace, **workload)
    a_online(instance.first_jobs(WARM), np.random.default_rng(0), **options)
    began = time.process_time()
    run = a_online(instance, np.random.default_rng(0), **options)
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    began = time.process_time()
    broken = len(check(instance, run))
    return {
        "jobs": instance.jobs,
        "chunks": len(run.dispatch),
        "seconds": seconds,
        "GiB": peak,
        "jct": run.total_jct,
        "violations": broken,
        "check": time.process_time() - began,
    }


def apart(name: str, jobs: int, trace: str | None, *, interpreted: bool = False) -> dict[str, Any]:
    """``replay`` in a process of its own, with or without the compiler."""
    environment = os.environ | ({"NUMBA_DISABLE_JIT": "1"} if interpreted else {})
    command = [sys.executable, __file__, "--one", json.dumps([name, jobs, trace])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def print_replays(sizes: list[int], trace: str | None) -> None:
    """Growth with the number of jobs, and what the compiler is worth."""
    print("A_online, from first arrival to finished schedule")
    print(f"{'':<22}{'jobs':>8}{'chunks':>10}{'CPU s':>9}{'us/chunk':>10}{'GiB':>7}{'check s':>9}")
    first: dict[str, Any] = {}
    for name in REPLAYS:
        for jobs in sizes:
            row = apart(name, jobs, trace)
            first = first or row
            print_replay(name, row)
    row = apart("trace", sizes[0], trace, interpreted=True)
    print_replay("trace, interpreted", row)
    print(f"compiled, the first replay is {row['seconds'] / first['seconds']:.0f} times as fast")
    print(f"and ends with the same total: {row['jct'] == first['jct']}\n")


def print_replay(name: str, row: dict[str, Any]) -> None:
    """A line of the table."""
    each = 1e6 * row["seconds"] / row["chunks"]
    broken = f"  VIOLATIONS {row['violations']}" if row["violations"] else ""
    print(
        f"{name:<22}{row['jobs']:>8}{row['chunks']:>10}{row['seconds']:>9.2f}{each:>10.2f}"
        f"{row['GiB']:>7.2f}{row['check']:>9.2f}{broken}",
        flush=True,
    )


def print_bounds(sizes: list[tuple[int, int, int]], time_limit: float) -> None:
    """Costs over LB-PRICES: an interval that holds the ratio to the optimum begins at 1."""
    print(f"ratios to LB-PRICES, at most {time_limit:g} s of search")
    heads = (("bound", 11), ("steps", 7), ("wall s", 8), ("A_online", 10), ("never split", 13))
    print(f"{'jobs x servers':<16}" + "".join(f"{head:>{width}}" for head, width in heads))
    for jobs, servers, span in sizes:
        instance = generate(np.random.default_rng(0), jobs=jobs, servers=servers, span=span)
        costs = [h(instance, np.random.default_rng(0)).total_jct for h in (a_online, a_online_ns)]
        found = price(instance, steps=500, time_limit=time_limit)
        bound, seconds = found.bound(instance), found.curve()[0]
        ratios = "".join(f"{cost / bound:>{w}.4f}" for cost, w in zip(costs, (10, 13), strict=True))
        size = f"{jobs} x {servers}"
        print(f"{size:<16}{bound:>11g}{len(seconds):>7}{seconds[-1]:>8.1f}{ratios}", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="up to the full trace, ten minutes")
    parser.add_argument("--trace", type=Path, help="table or log of the real jobs; default: drawn")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(replay(*json.loads(options.one))))
        return
    trace = None if options.trace is None else str(options.trace)
    print_replays([1_000, 10_000, *([100_000, PHILLY_SIZE] if options.full else [])], trace)
    large = [(1_000, 100, 560), (10_000, 100, 5_600)] if options.full else [(1_000, 100, 560)]
    print_bounds([(300, 100, 168), *large], 600.0 if options.full else 20.0)


if __name__ == "__main__":
    main()
