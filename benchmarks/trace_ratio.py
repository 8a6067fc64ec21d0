"""How far from optimal algorithms are on a whole trace: an interval proven by prices.

``price_guided`` bounds the optimum of the Philly trace (552 machines, 2,490 GPUs; drawn, or read
from a file) in continuous time and makes a schedule that passes the checker; every algorithm's
cost over both is its ratio's interval. Each runs in a process of its own, as often as asked for;
seconds are medians of wall and of CPU time of the whole run, without making the instance (CPU time
of further processes is not counted), and memory is the peak of the process. Then the bound after
so many seconds of search, all types of workers added up.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np

from formulations.preemptive.check import check, cost
from formulations.preemptive.exact.guided import guided_schedule
from formulations.preemptive.exact.lagrangian import price
from formulations.preemptive.workload import PHILLY_SIZE, philly_workload
from optsched.parallel.local import Processes
from optsched.problem import problem

ALGORITHMS = ("a_online", "a_online_ns", "all_cloud", "srtf", "tiresias_l")

WARM = 50
"""Jobs of a first, unmeasured run, which loads the machine code."""


def measure(method: str, jobs: int, trace: str | None, processes: int) -> dict[str, Any]:
    """One run in this process: cost, seconds, memory, violations; for prices the curve."""
    instance = philly_workload(np.random.default_rng(0), jobs, trace)
    executor = Processes(processes) if processes > 1 else None
    for one in (instance.first_jobs(WARM), instance):
        wall, cpu, answer = time.perf_counter(), time.process_time(), {"jobs": one.jobs}
        if method == "prices":
            proof = price(one, slotted=False, executor=executor)
            answer["bound"] = proof.bound(one)
            schedule = guided_schedule(one, proof)
            seconds, best = proof.curve()
            answer["curve"] = list(zip(seconds.tolist(), best.tolist(), strict=True))
        else:
            schedule = problem("preemptive").run(method, one, np.random.default_rng(0))
        answer["wall"], answer["cpu"] = time.perf_counter() - wall, time.process_time() - cpu
    answer["GiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    answer["cost"] = cost(instance, schedule)
    answer["violations"] = len(check(instance, schedule))
    return answer


def median(method: str, repeats: int, *how: Any) -> dict[str, Any]:
    """``measure`` in processes of its own; the median of what differs."""
    command = [sys.executable, __file__, "--one", json.dumps([method, *how])]
    runs: list[dict[str, Any]] = [
        json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(repeats)
    ]
    middle = {k: statistics.median(run[k] for run in runs) for k in ("wall", "cpu", "GiB")}
    return runs[0] | middle


def main() -> None:
    """Print the table and the curve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000, help=f"the whole trace: {PHILLY_SIZE}")
    parser.add_argument("--trace", help="file with the real jobs; default: drawn")
    parser.add_argument("--algorithms", default=",".join(ALGORITHMS))
    parser.add_argument("--processes", type=int, default=1, help="for the prices")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(*json.loads(given.one))))
        return
    how = (given.repeats, given.jobs, given.trace, given.processes)
    priced = median("prices", *how)
    bound, best = priced["bound"], priced["cost"]
    print(
        f"{priced['jobs']} jobs; bound {bound:.1f}, schedule {best:.1f}: gap {best / bound - 1:.2%}"
    )
    heads = (("cost", 14), ("ratio", 20), ("wall s", 9), ("CPU s", 9), ("GiB", 7))
    print(f"{'':<14}" + "".join(f"{head:>{width}}" for head, width in heads))
    for method in ("prices", *given.algorithms.split(",")):
        row = priced if method == "prices" else median(method, *how)
        span = f"{row['cost'] / best:.4f} .. {row['cost'] / bound:.4f}"
        broken = f"  VIOLATIONS {row['violations']}" if row["violations"] else ""
        print(
            f"{method:<14}{row['cost']:>14.1f}{span:>20}{row['wall']:>9.1f}{row['cpu']:>9.1f}"
            f"{row['GiB']:>7.2f}{broken}",
            flush=True,
        )
    print("\nsteps, seconds of search, bound")
    curve = priced["curve"]
    for step in sorted({0, *(min(len(curve) - 1, 2**k) for k in range(12))}):
        print(f"{step + 1:>6}{curve[step][0]:>10.2f}{curve[step][1]:>14.1f}")


if __name__ == "__main__":
    main()
