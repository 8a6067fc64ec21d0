"""Exact vector bin packing: our portfolio against assignment models, measured in one run.

Every method gets the same instances and the same time limit, in turn, on one thread:

- ``pack``: quick rules and bounds, exchanges, listed patterns, branch and price with dives,
  arc-flow, CP-SAT;
- ``cbc``: the paper's own way, the assignment model in CBC through PuLP;
- ``highs``: the assignment model [AE2] with its symmetry rows in HiGHS;
- ``cpsat``: the same in CP-SAT.

Instances: the ``hard`` generator, and random two-dimensional items with few to a bin, as in public
benchmark classes (sizes uniform in a share of the capacity). With ``--classes`` the portfolio alone
packs bins of several sizes at a cost each, items of many dimensions, and triplets that leave no
room.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from formulations.aerialedge import pack
from formulations.aerialedge.generator import hard
from formulations.aerialedge.instance import Instance

CLASSES = {"100-400": (100, 400), "200-800": (200, 800), "20-100": (133, 667)}
"""Range of sizes, of a capacity of 1000 in both dimensions."""


VARIABLE = {
    "100, 120, 150 at their size": ([100, 120, 150], [100, 120, 150]),
    "60 to 150 at 100 sqrt(size)": ([60, 80, 100, 120, 150], [774, 894, 1000, 1095, 1224]),
}
"""Sizes of bins and what they cost; items are uniform in 20 .. 100."""

DIMENSIONS = (3, 5, 10)
"""Of bins of 1000 in each; items are uniform in 50 .. 600."""


@dataclass(frozen=True)
class Result:
    """What one method said of one instance."""

    nodes: float | None
    bound: float | None
    proven: bool
    seconds: float


def by_pack(instance: Instance, limit: float) -> Result:
    """The portfolio."""
    solution = pack(instance, deployment=0, time_limit=limit).solution
    return Result(
        solution.objective, solution.bound, solution.status == "optimal", solution.seconds
    )


def by_solver(solver: str) -> Callable[[Instance, float], Result]:
    """The assignment model in HiGHS or CP-SAT, nothing else."""
    from formulations.aerialedge.problem_ae2 import assignment
    from optsched.solve import solve

    def run(instance: Instance, limit: float) -> Result:
        began = time.perf_counter()
        solution = solve(assignment(instance, deployment=0), solver, time_limit=limit)
        proven = solution.status == "optimal"
        return Result(solution.objective, solution.bound, proven, time.perf_counter() - began)

    return run


def by_cbc(instance: Instance, limit: float) -> Result:
    """The paper's own way: one binary per task and node, no symmetry rows, CBC."""
    import pulp

    began = time.perf_counter()
    tasks, nodes = range(instance.tasks), range(instance.nodes)
    problem = pulp.LpProblem("packing", pulp.LpMinimize)
    place = pulp.LpVariable.dicts("g", (tasks, nodes), cat="Binary")
    opened = pulp.LpVariable.dicts("b", nodes, cat="Binary")
    problem += pulp.lpSum(opened[b] for b in nodes)
    for t in tasks:
        problem += pulp.lpSum(place[t][b] for b in nodes) == 1
    for b in nodes:
        for r in range(len(instance.resources)):
            load = pulp.lpSum(float(instance.demand[t, r]) * place[t][b] for t in tasks)
            problem += load <= float(instance.capacity[b, r]) * opened[b]
    left = max(1.0, limit - (time.perf_counter() - began))
    problem.solve(pulp.PULP_CBC_CMD(msg=False, timeLimit=left, threads=1))
    seconds = time.perf_counter() - began
    value = pulp.value(problem.objective)
    found = problem.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
    # PuLP calls a point at the time limit optimal; only one found well before it is
    proven = problem.sol_status == pulp.LpSolutionOptimal and seconds < 0.98 * limit
    return Result(round(value) if found and value is not None else None, None, proven, seconds)


def instances(full: bool) -> Iterator[tuple[str, Instance]]:
    """Named instances, always the same; nodes are limited so that assignment models stay small."""
    sizes = (16, 25, 40, 60, 77) if full else (16, 25, 40, 77)
    for tasks in sizes:
        for seed in range(3 if full else 1):
            rng = np.random.default_rng(1000 * tasks + seed)
            yield f"hard {tasks}/{seed}", hard(tasks, rng, node_count=(tasks + 1) // 2)
    for name, (low, high) in CLASSES.items():
        for items in (50, 100, 200) if full else (50,):
            rng = np.random.default_rng(items)
            demand = rng.integers(low, high + 1, (items, 2))
            share = float(demand.sum(axis=0).max()) / 1000
            count = min(items, int(1.7 * share) + 2)
            yield (
                f"{name} x {items}",
                Instance.build(demand=demand, capacity=np.full((count, 2), 1000.0)),
            )


def in_classes(items: int, seed: int) -> Iterator[tuple[str, Instance]]:
    """Bins of several sizes, many dimensions, triplets; as many bins as there are items."""
    rng = np.random.default_rng([items, seed])
    for name, (size, price) in VARIABLE.items():
        demand = rng.integers(20, 101, (items, 1)).astype(float)
        yield (
            f"bins of {name}",
            Instance.build(
                demand=demand,
                capacity=np.repeat(size, items).astype(float)[:, None],
                node_cost=np.repeat(price, items).astype(float),
                objective="cost",
                resources=("size",),
            ),
        )
    for dimensions in DIMENSIONS:
        demand = rng.integers(50, 601, (items, dimensions)).astype(float)
        capacity = np.full((items, dimensions), 1000.0)
        names = tuple(f"dimension {d}" for d in range(dimensions))
        yield (
            f"{dimensions} dimensions",
            Instance.build(demand=demand, capacity=capacity, resources=names),
        )
    first, second = rng.integers(25, 51, (2, items // 3, 2)).astype(float)
    demand = np.concatenate([first, second, 100 - first - second])
    full = np.full((len(demand), 2), 100.0)
    yield "triplets that leave no room", Instance.build(demand=demand, capacity=full)


def tabulate_classes(limit: float, seeds: int) -> None:
    """A line per class and size: how many are proven, the seconds, and the intervals left."""
    print("| instances | items | proven | seconds, median | longest | what is open |")
    print("|---|---:|---:|---:|---:|---|", flush=True)
    for items in (50, 100, 200):
        found: dict[str, list[Result]] = {}
        for seed in range(seeds):
            for name, instance in in_classes(items, seed):
                found.setdefault(name, []).append(by_pack(instance, limit))
        for name, results in found.items():
            seconds = [result.seconds for result in results]
            left = [f"{r.bound:g} .. {r.nodes:g}" for r in results if not r.proven]
            print(
                f"| {name} | {items} | {sum(r.proven for r in results)} of {seeds} "
                f"| {np.median(seconds):.1f} | {max(seconds):.1f} | {', '.join(left)} |",
                flush=True,
            )


def main() -> None:
    """Print a line per instance and the totals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="more and larger instances")
    parser.add_argument("--time-limit", type=float, default=None, help="seconds per solve")
    parser.add_argument("--classes", type=int, metavar="N", help="classes of N instances each")
    options = parser.parse_args()
    if options.classes:
        tabulate_classes(options.time_limit or 30.0, options.classes)
        return
    limit = options.time_limit or (60.0 if options.full else 10.0)
    methods: dict[str, Callable[[Instance, float], Result]] = {
        "pack": by_pack,
        "cbc": by_cbc,
        "highs": by_solver("highs"),
        "cpsat": by_solver("cpsat"),
    }
    proven: dict[str, int] = dict.fromkeys(methods, 0)
    spent: dict[str, float] = dict.fromkeys(methods, 0.0)
    count = 0
    print(f"time limit {limit:g} s; nodes, proven or not, seconds")
    for name, instance in instances(options.full):
        count += 1
        line = f"{name:<16}"
        for method, solve in methods.items():
            result = solve(instance, limit)
            proven[method] += result.proven
            spent[method] += result.seconds
            nodes = "-" if result.nodes is None else f"{result.nodes:g}"
            mark = "=" if result.proven else "?"
            line += f"  {method} {nodes:>3}{mark} {result.seconds:6.2f}s"
        print(line, flush=True)
    for method in methods:
        print(f"{method:<6} proven {proven[method]} of {count}, {spent[method]:.1f} s in all")


if __name__ == "__main__":
    main()
