"""Unrelated parallel machines by branch and price, against compact models.

Every job is done once, a column is a set of jobs of one machine in the machine's order, and what a
user of the toolkit writes is the dynamic program for a machine's best set at given prices. Three
classics: total weighted completion time (R || sum w C), the generalised assignment problem of types
D and E, and makespan (R || Cmax), which asks for the least room. Each is solved by columns and by a
compact model in HiGHS and CP-SAT, on the same instances, within the same limit.

    python benchmarks/unrelated_machines.py --limit 60
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from optsched import Model, solve
from optsched.decomposition import Column, ColumnBlock, ColumnGeneration, Duals, Priced
from optsched.jit import njit_cached

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def by_machines(
    times: Integers, costs: Floats, room: Integers, order: Integers
) -> ColumnGeneration:
    """Every job on one machine, at least total cost.

    Args:
        times: p_ij, shape (machines, jobs).
        costs: of job j on machine i if it ends at t, shape (machines, jobs, max(room) + 1).
        room: most load of each machine, shape (machines,).
        order: of the jobs on each machine, shape (machines, jobs).
    """
    machines, jobs = times.shape

    def price(i: int, duals: Duals) -> Priced:
        jobs, end = order[i], room[i] + 1
        gains = duals.rows[jobs, None] - duals.weight * costs[i, jobs, :end]
        least = np.array([duals.lower.get(j, 0) for j in jobs.tolist()])
        most = np.array([duals.upper.get(j, 1) for j in jobs.tolist()])
        worth, taken = best_sets(times[i, jobs], gains, least, most)
        load, cost, done = int(np.argmax(worth)), 0.0, []
        if worth[load] == -math.inf:
            return Priced(bound=math.inf)
        for n in np.arange(len(jobs))[::-1].tolist():
            if taken[n, load]:
                done.append(int(jobs[n]))
                cost += costs[i, jobs[n], load]
                load -= times[i, jobs[n]]
        rows = np.array(done, dtype=np.int64)
        column = Column(i, cost, rows, np.ones(len(rows)), features=dict.fromkeys(done, 1))
        return Priced([column], bound=duals.price_of(column))

    once = np.ones(jobs)
    return ColumnGeneration(once, once, [ColumnBlock(lower=0)] * machines, price, branching=1)


@njit_cached
def best_sets(
    times: Integers, gains: Floats, least: Integers, most: Integers
) -> tuple[Floats, NDArray[np.bool_]]:
    """Of every load of a machine, what its best set of jobs is worth, and its last jobs.

    Args:
        times: of the jobs in their order, shape (jobs,).
        gains: of each job by when it ends, shape (jobs, loads).
        least: 1 for jobs that must be done, shape (jobs,).
        most: 0 for jobs that must not.
    """
    jobs, loads = gains.shape
    best, taken = np.full(loads, -np.inf), np.zeros((jobs, loads), dtype=np.bool_)
    best[0] = 0.0
    for j in range(jobs):
        for t in range(loads - 1, -1, -1):
            value = -np.inf
            if t >= times[j] and most[j] >= 1:
                value = best[t - times[j]] + gains[j, t]
            if value > best[t] or least[j] >= 1:
                taken[j, t] = value > -np.inf
                best[t] = value
    return best, taken


def weighted_completion(times: Integers, weights: Integers) -> ColumnGeneration:
    """R || sum w_j C_j: on a machine, jobs run by p_ij / w_j (Smith's rule).

    In an optimal schedule the last job of a machine would end no earlier on any other, so that no
    load exceeds the mean of all by more than the longest job.
    """
    machines, longest = len(times), times.max(axis=0)
    mean = (longest.sum() + (machines - 1) * longest.max()) // machines
    room = np.minimum(times.sum(axis=1), mean)
    costs = np.broadcast_to(
        weights[:, None] * np.arange(room.max() + 1.0), (*times.shape, room.max() + 1)
    )
    return by_machines(times, costs, room, np.argsort(times / weights, axis=1))


def generalised_assignment(times: Integers, costs: Integers, room: Integers) -> ColumnGeneration:
    """Least cost within the room of every machine; the order plays no part."""
    priced = np.broadcast_to(costs[:, :, None].astype(np.float64), (*times.shape, room.max() + 1))
    return by_machines(times, priced, room, np.broadcast_to(np.arange(times.shape[1]), times.shape))


def least_makespan(times: Integers, limit: float) -> tuple[int, int]:
    """R || Cmax: bounds from below and above, by bisection over the room."""
    shortest = times.min(axis=0)
    ends = time.monotonic() + limit
    low = max(int(shortest.max()), -(-int(shortest.sum()) // len(times)))
    high = int(np.bincount(times.argmin(axis=0), shortest, len(times)).max())
    while low < high and time.monotonic() < ends:
        middle = (low + high) // 2
        problem = generalised_assignment(times, np.zeros_like(times), np.full(len(times), middle))
        found = problem.solve(time_limit=max(0.1, ends - time.monotonic()), integral_objective=True)
        if found.status == "infeasible":
            low = middle + 1
        elif found.objective is None:
            break
        else:
            high = max(int(times[c.block][c.rows].sum()) for c, n in found.chosen if n > 0.5)
    return low, high


def compact_assignment(times: Integers, costs: Integers, room: Integers) -> Model:
    """A binary per machine and job."""
    m = Model("generalised assignment")
    does = m.binary("does", times.shape)
    m.minimize((costs * does).sum())
    m.add("once", does.sum(axis=0) == 1)
    m.add("room", (times * does).sum(axis=1) <= room)
    return m


def compact_completion(times: Integers, weights: Integers) -> Model:
    """Pairs of jobs on one machine: the later one, by Smith's rule, waits for the earlier."""
    m = Model("weighted completion")
    does = m.binary("does", times.shape)
    m.add("once", does.sum(axis=0) == 1)
    cost = (weights * times * does).sum()
    first, later = np.triu_indices(times.shape[1], 1)
    for i, order in enumerate(np.argsort(times / weights, axis=1)):
        both = m.product(does[i, order[first]], does[i, order[later]], name=f"both {i}")
        cost = cost + (times[i, order[first]] * weights[order[later]] * both).sum()
    m.minimize(cost)
    return m


def compact_makespan(times: Integers) -> Model:
    """The greatest load, minimised."""
    m = Model("makespan")
    does = m.binary("does", times.shape)
    longest = m.integer("longest", upper=int(times.sum(axis=1).max()))
    m.minimize(longest)
    m.add("once", does.sum(axis=0) == 1)
    m.add("load", (times * does).sum(axis=1) <= longest)
    return m


def type_d(
    rng: np.random.Generator, machines: int, jobs: int
) -> tuple[Integers, Integers, Integers]:
    """Cost falls with time (Chu and Beasley, 1997): times, costs, room."""
    times = rng.integers(1, 101, (machines, jobs))
    costs = 111 - times + rng.integers(-10, 11, (machines, jobs))
    return times, costs, (0.8 * times.sum(axis=1) / machines).astype(np.int64)


def type_e(
    rng: np.random.Generator, machines: int, jobs: int
) -> tuple[Integers, Integers, Integers]:
    """Cost in inverse proportion to time (Laguna et al., 1995): times, costs, room."""
    times = (1 - 10 * np.log(1 - rng.random((machines, jobs)))).astype(np.int64)
    costs = (1000 / times - 10 * rng.random((machines, jobs))).astype(np.int64)
    return times, costs, (0.8 * times.sum(axis=1) / machines).astype(np.int64)


Interval = tuple[float, float]


def columns(problem: ColumnGeneration, limit: float) -> Interval:
    """What branch and price knows of the optimum by then."""
    found = problem.solve(time_limit=limit, integral_objective=True)
    return found.bound or 0.0, math.inf if found.objective is None else found.objective


def compact(model: Model, solver: str, limit: float) -> Interval:
    """What a solver knows of it."""
    found = solve(model, solver, time_limit=limit)
    return found.bound or 0.0, math.inf if found.objective is None else found.objective


def contests(seed: int, limit: float) -> Iterator[tuple[str, str, float, Interval]]:
    """(instance, method, seconds, interval), for every instance and method."""
    cases = []
    for jobs, machines in ((20, 4), (40, 4), (40, 8), (80, 8)):
        rng = np.random.default_rng(seed)
        times, weights = rng.integers(1, 101, (machines, jobs)), rng.integers(1, 11, jobs)
        name = f"R || sum w C, {jobs} jobs, {machines} machines"
        by_columns = partial(columns, weighted_completion(times, weights))
        cases.append((name, by_columns, compact_completion(times, weights)))
        times = rng.integers(10, 101, (machines, jobs))
        name = f"R || Cmax, {jobs} jobs, {machines} machines"
        cases.append((name, partial(least_makespan, times), compact_makespan(times)))
    for draw, jobs, machines in (
        (type_d, 40, 8),
        (type_d, 60, 10),
        (type_e, 60, 10),
        (type_e, 100, 20),
    ):
        data = draw(np.random.default_rng(seed), machines, jobs)
        name = f"GAP {draw.__name__[-1].upper()}, {jobs} jobs, {machines} machines"
        cases.append(
            (name, partial(columns, generalised_assignment(*data)), compact_assignment(*data))
        )
    for name, by_columns, model in cases:
        methods = {"columns": by_columns} | {
            s: partial(compact, model, s) for s in ("highs", "cpsat")
        }
        for method, run in methods.items():
            began = time.perf_counter()
            known = run(limit)
            yield name, method, time.perf_counter() - began, known


def main() -> None:
    """Print one line per instance: seconds to the proof, or what is known at the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=60.0, help="seconds per solve")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print("| instance | columns | HiGHS | CP-SAT |\n|---|---:|---:|---:|", end="")
    last = ""
    for name, _, seconds, (low, high) in contests(given.seed, given.limit):
        proven = math.isfinite(high) and high - low <= 1e-6 * max(1.0, abs(high))
        cell = f"{high:g} in {seconds:.1f} s" if proven else f"{low:g} .. {high:g}"
        print(f"\n| {name} | " if name != last else " ", end=f"{cell} |", flush=True)
        last = name
    print()


if __name__ == "__main__":
    main()
