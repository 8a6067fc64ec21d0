"""Jobs with fixed times on different machines, by branch and price, against the compact model.

The temporal knapsack problem with several knapsacks: a job that is taken runs on one machine from
its start to its end, the jobs on a machine need no more than its room at any time, and their
profits are to be as large as possible. A column is a whole plan of one machine, priced by dynamic
programming over the sets of jobs that run. `best_plan` and `temporal_knapsack` are all that a user
writes. The compact model of the same instance is given to HiGHS and CP-SAT.

    python benchmarks/temporal_knapsack.py --limit 30
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched import Model, Solution, Status, solve
from optsched.decomposition import Column, ColumnBlock, ColumnGeneration, Duals, Priced

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
SIZES = ((40, 3), (80, 3), (80, 5), (120, 4), (160, 4))
"""Jobs and machines."""


class Jobs(NamedTuple):
    """Jobs in the order of their starts."""

    start: Integers
    """Shape (jobs,)."""
    end: Integers
    size: Integers
    """Shape (machines, jobs)."""
    profit: Integers
    """Shape (machines, jobs)."""
    room: int


def best_plan(
    jobs: Jobs, machine: int, value: Floats, least: Mapping[int, int], most: Mapping[int, int]
) -> tuple[float, list[int]]:
    """The most valuable plan of a machine, by which sets of jobs may run at every start."""
    sets, used, worth = np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1)
    bit: dict[int, int] = {}  # of every job that may run
    steps = []
    for j in np.flatnonzero((value > 0) | np.isin(np.arange(len(value)), list(least))).tolist():
        size = jobs.size[machine]
        for i in [i for i in bit if jobs.end[i] <= jobs.start[j]]:
            used = used - size[i] * (sets >> bit[i] & 1)
            sets = sets & ~(1 << bit.pop(i))
        order = np.lexsort((-worth, sets))
        stay = order[np.diff(sets[order], prepend=-1) != 0]  # the best of those that are alike
        add = stay[used[stay] + size[j] <= (jobs.room if most.get(j, 1) else 0)]
        stay = stay[: 0 if least.get(j, 0) else None]
        steps.append((j, len(stay), np.append(stay, add)))
        bit[j] = next(b for b in range(63) if b not in bit.values())
        sets = np.append(sets[stay], sets[add] | (1 << bit[j]))
        used = np.append(used[stay], used[add] + size[j])
        worth = np.append(worth[stay], worth[add] + value[j])
        if not len(sets):
            return -math.inf, []
    at, taken = int(worth.argmax()), []
    best = float(worth[at])
    for j, stayed, before in reversed(steps):
        if at >= stayed:
            taken.append(j)
        at = before[at]
    return best, taken[::-1]


def temporal_knapsack(jobs: Jobs) -> ColumnGeneration:
    """A column is a plan of one machine; rows say that a job runs at most once."""
    machines, count = jobs.size.shape

    def price(machine: int, duals: Duals) -> Priced:
        value = duals.weight * jobs.profit[machine] + duals.rows
        best, taken = best_plan(jobs, machine, value, duals.lower, duals.upper)
        if best == -math.inf:
            return Priced(bound=math.inf)
        done = np.array(taken, dtype=np.int64)
        profit = float(jobs.profit[machine, done].sum())
        column = Column(machine, -profit, done, np.ones(len(done)), dict.fromkeys(taken, 1))
        rounding = 1e-12 * float(np.abs(value).sum())
        return Priced([column], bound=duals.price_of(column) - rounding)

    once, blocks = np.ones(count), [ColumnBlock(lower=0)] * machines
    return ColumnGeneration(np.full(count, -np.inf), once, blocks, price, branching=1)


def compact(jobs: Jobs) -> Model:
    """A binary for every machine and job, a row for every machine and start."""
    runs = (jobs.start <= jobs.start[:, None]) & (jobs.start[:, None] < jobs.end)
    m = Model("temporal knapsack")
    x = m.binary("x", jobs.size.shape)
    m.add("once", x.sum(axis=0) <= 1)
    for machine, size in enumerate(jobs.size):
        m.add(f"room {machine}", (runs * size).astype(float) @ x[machine] <= jobs.room)
    m.maximize((x * jobs.profit).sum())
    return m


def draw(rng: np.random.Generator, count: int, machines: int, beside: int = 6) -> Jobs:
    """Jobs of 20 to 60 of 100, about so many beside each other for every machine."""
    start = np.sort(rng.integers(0, count, count))
    length = rng.integers(1, 2 * beside * machines, count)
    size = rng.integers(20, 61, (machines, count))
    worth = size.mean(axis=0) * length * rng.uniform(0.7, 1.3, (machines, count))
    return Jobs(start, start + length, size, np.ceil(worth / 10).astype(np.int64), 100)


def main() -> None:
    """Print one line per instance: CPU seconds to the proof, or what is known at the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=30.0, help="seconds per solve")
    parser.add_argument("--seeds", type=int, nargs="+", default=[20261, 20262])
    given = parser.parse_args()
    print("| jobs, machines, seed | columns | HiGHS | CP-SAT | ratio |\n|---|---:|---:|---:|---:|")
    for (count, machines), seed in [(size, seed) for size in SIZES for seed in given.seeds]:
        jobs = draw(np.random.default_rng(seed), count, machines)
        runs = [measured(jobs, method, given.limit) for method in ("columns", "highs", "cpsat")]
        least = min(found.bound or math.inf for found, _ in runs)
        assert all((found.objective or 0.0) <= least + 1e-6 for found, _ in runs)
        ours, theirs = runs[0][1], min(runs[1:], key=lambda run: (not proven(run[0]), run[1]))
        sign = "" if proven(theirs[0]) else "> "
        ratio = f"{sign}{theirs[1] / ours:.1f}" if proven(runs[0][0]) else ""
        cells = " | ".join(
            f"{found.objective:g} in {seconds:.1f} s"
            if proven(found)
            else f"{found.objective or 0.0:g} .. {found.bound or math.inf:g}"
            for found, seconds in runs
        )
        print(f"| {count}, {machines}, {seed} | {cells} | {ratio} |", flush=True)


def measured(jobs: Jobs, method: str, limit: float) -> tuple[Solution, float]:
    """An answer, and CPU seconds."""
    began = time.process_time()
    if method == "columns":
        known = temporal_knapsack(jobs).solve(integral_objective=True, time_limit=limit)
        found = known.solution(scale=-1.0)
    else:
        found = solve(compact(jobs), method, time_limit=limit, threads=1)
    return found, time.process_time() - began


def proven(found: Solution) -> bool:
    """Whether it is an optimum."""
    return found.status is Status.OPTIMAL


if __name__ == "__main__":
    main()
