"""Jobs with fixed times on different machines, by branch and price, against the compact model.

The temporal knapsack problem with several knapsacks: a job that is taken runs on one machine from
its start to its end, the jobs on a machine need no more than its room at any time, and their
profits are to be as large as possible. A column is a whole plan of one machine, priced by dynamic
programming over the sets of jobs that run. `best_plan` and `temporal_knapsack` are all that a user
writes. The compact model of the same instance is given to HiGHS and CP-SAT.

    python benchmarks/temporal_knapsack.py --limit 10
"""

import argparse
import math
import time
from collections.abc import Hashable, Mapping
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched import Model, Solution, Status, solve
from optsched.decomposition import Column, ColumnBlock, ColumnGeneration, Duals, Priced

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
SIZES = ((40, 3), (80, 3), (80, 5), (120, 4))
"""Jobs and machines."""
METHODS = "columns", "highs", "cpsat"


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
    jobs: Jobs,
    machine: int,
    value: Floats,
    least: Mapping[Hashable, int],
    most: Mapping[Hashable, int],
) -> tuple[float, list[int]]:
    """Return the most valuable plan of a machine, over the sets of jobs that run at each start."""
    sets, used, worth = np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1)
    bit: dict[int, int] = {}  # of every job that may run
    steps = []
    forced = np.array([j in least for j in range(len(value))], dtype=bool)
    for j in np.flatnonzero((value > 0) | forced).tolist():
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
    """Build the master: a column is a plan of one machine, a row says that a job runs once."""
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
    """Build the model with a binary per machine and job, a row per machine and start."""
    runs = (jobs.start <= jobs.start[:, None]) & (jobs.start[:, None] < jobs.end)
    m = Model("temporal knapsack")
    x = m.binary("x", jobs.size.shape)
    m.add("once", x.sum(axis=0) <= 1)
    for machine, size in enumerate(jobs.size):
        m.add(f"room {machine}", (runs * size).astype(float) @ x[machine] <= jobs.room)
    m.maximize((x * jobs.profit).sum())
    return m


def draw(rng: np.random.Generator, count: int, machines: int, beside: int = 6) -> Jobs:
    """Draw jobs of 20 to 60 of 100 units; about `beside` of them overlap for each machine."""
    start = np.sort(rng.integers(0, count, count))
    length = rng.integers(1, 2 * beside * machines, count)
    size = rng.integers(20, 61, (machines, count))
    worth = size.mean(axis=0) * length * rng.uniform(0.7, 1.3, (machines, count))
    return Jobs(start, start + length, size, np.ceil(worth / 10).astype(np.int64), 100)


def main() -> None:
    """Print every instance, then what each size comes to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--limit", type=float, default=10.0, help="seconds per solve")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(20261, 20266)))
    given = parser.parse_args()
    print("| jobs, machines, seed | columns | HiGHS | CP-SAT |\n|---|---:|---:|---:|")
    sizes: dict[tuple[int, int], list[list[tuple[Solution, float]]]] = {}
    for count, machines in SIZES:
        sizes[count, machines] = []
        for seed in given.seeds:
            jobs = draw(np.random.default_rng(seed), count, machines)
            runs = [measured(jobs, method, given.limit) for method in METHODS]
            least = min(math.inf if found.bound is None else found.bound for found, _ in runs)
            assert all((found.objective or 0.0) <= least + 1e-6 for found, _ in runs)
            sizes[count, machines].append(runs)
            cells = " | ".join(known(found, seconds) for found, seconds in runs)
            print(f"| {count}, {machines}, {seed} | {cells} |", flush=True)
    print("\n| jobs, machines | columns | HiGHS | CP-SAT | ratio |\n|---|---:|---:|---:|---:|")
    for (count, machines), every in sizes.items():
        cells = " | ".join(
            f"{sum(proven(found) for found, _ in own)} of {len(own)}, {middle:.2f} s"
            for own in zip(*every, strict=True)
            for middle in [median(seconds for _, seconds in own)]
        )
        ratio = median(min(b, c) / a for (_, a), (_, b), (_, c) in every)
        print(f"| {count}, {machines} | {cells} | {ratio:.1f} |")


def known(found: Solution, seconds: float) -> str:
    """Return the optimum with its CPU seconds, or the interval at the limit."""
    if proven(found):
        return f"{found.objective:g} in {seconds:.2f} s"
    return f"{found.objective or 0.0:g} .. {math.inf if found.bound is None else found.bound:g}"


def measured(jobs: Jobs, method: str, limit: float) -> tuple[Solution, float]:
    """Solve an instance by one method, and count its CPU seconds."""
    began = time.process_time()
    if method == "columns":
        known = temporal_knapsack(jobs).solve(integral_objective=True, time_limit=limit)
        found = known.solution(scale=-1.0)
    else:
        found = solve(compact(jobs), method, time_limit=limit, threads=1)
    return found, time.process_time() - began


def proven(found: Solution) -> bool:
    """Return whether it is a proven optimum."""
    return found.status is Status.OPTIMAL


if __name__ == "__main__":
    main()
