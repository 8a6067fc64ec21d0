"""How large an instance each exact model of the preemptive problem is proven optimal on.

For each model, sizes grow until one is not proven within the time limit, building included. The
instances are those of the paper's simulations, arrivals three to a slot. Problem (4) is taken at
the fast speed, as in the paper's own bound, where the literal model, the aggregated one and the
flow must agree; a model that disagrees with the flow is not counted as proven.

    python benchmarks/exact_reach.py            # a few minutes
    python benchmarks/exact_reach.py --full     # 60 s per model and size
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from formulations.preemptive.generator import generate
from formulations.preemptive.grid import build_grid
from formulations.preemptive.instance import Instance
from formulations.preemptive.network import problem_4_flow
from formulations.preemptive.problem_2 import problem_2_compact
from formulations.preemptive.problem_4 import problem_4, problem_4_aggregated, worker_cells
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.solution import Solution, Status

SIZES = (
    (1, 1), (2, 2), (3, 3), (5, 5), (10, 10), (15, 25), (25, 25), (25, 45), (50, 50), (75, 75),
    (100, 100), (150, 100), (200, 100), (300, 100), (500, 150), (1000, 300), (1500, 400),
    (2000, 500), (3000, 600),
)  # fmt: skip
"""(jobs, edge servers), growing."""

LARGEST = 12_000_000
"""Columns beyond which a model is not built: memory, not time, would end it."""

AGREEMENT = 1e-6


@dataclass(frozen=True)
class Method:
    """One model and the solver it is meant for."""

    name: str
    columns: Callable[[Instance], int]
    solve: Callable[[Instance, float], Solution]
    """(instance, seconds) -> solution."""
    is_problem_4: bool


@dataclass(frozen=True)
class Outcome:
    """What came of one model on one instance."""

    columns: int
    seconds: float = 0.0
    solution: Solution | None = None
    """None where the model was too large to build."""

    def proven(self, limit: float) -> bool:
        """Whether the optimum was proven in time."""
        return (
            self.solution is not None
            and self.solution.status is Status.OPTIMAL
            and self.seconds <= limit
        )


def by_highs(build: Callable[[Instance], Model]) -> Callable[[Instance, float], Solution]:
    """Build, then let HiGHS have the time that is left."""

    def run(instance: Instance, seconds: float) -> Solution:
        began = time.perf_counter()
        model = build(instance)
        left = max(0.1, seconds - (time.perf_counter() - began))
        return solve(model, "highs", time_limit=left)

    return run


def literal_columns(instance: Instance) -> int:
    """One per (chunk, worker, slot)."""
    job, _, _ = worker_cells(build_grid(instance, hub=False))
    return int(instance.num_chunks[job].sum())


def cell_columns(instance: Instance) -> int:
    """One per (job, class or hub or cloud, slot)."""
    grid = build_grid(instance)
    return grid.cells + len(grid.cloud_job)


def compact_columns(instance: Instance) -> int:
    """Cells, and a binary per (job, slot)."""
    return cell_columns(instance) + len(build_grid(instance).windows[0])


METHODS = (
    Method(
        "(4) literal, HiGHS",
        literal_columns,
        by_highs(lambda instance: problem_4(instance, rates="fast")),
        True,
    ),
    Method(
        "(4) aggregated with hubs, HiGHS",
        cell_columns,
        by_highs(lambda instance: problem_4_aggregated(instance, rates="fast")),
        True,
    ),
    Method(
        "(4) aggregated with hubs, flow",
        cell_columns,
        lambda instance, _: problem_4_flow(instance, rates="fast"),
        True,
    ),
    Method("(2) compact, HiGHS", compact_columns, by_highs(problem_2_compact), False),
)


def run_heuristic(method: Method, instance: Instance, limit: float) -> Outcome:
    """Solve one instance, wall seconds of building included."""
    columns = method.columns(instance)
    if columns > LARGEST:
        return Outcome(columns)
    began = time.perf_counter()
    solution = method.solve(instance, limit)
    return Outcome(columns, time.perf_counter() - began, solution)


def climb(method: Method, limit: float, budget: float, seed: int) -> Iterator[tuple[str, bool]]:
    """Try growing sizes until one fails or the time is used up.

    Yields:
        A line of the table, and whether the size was proven.
    """
    began = time.perf_counter()
    for jobs, servers in SIZES:
        if time.perf_counter() - began > budget:
            return
        rng = np.random.default_rng(seed)
        instance = generate(rng, jobs=jobs, servers=servers, jobs_per_slot=3)
        outcome = run_heuristic(method, instance, limit)
        proven, remark = outcome.proven(limit), described(outcome)
        if proven and method.is_problem_4 and not agrees(instance, outcome):
            proven, remark = False, "disagrees with the flow: " + remark
        slots = int(build_grid(instance).end_slot.max())
        size = f"{jobs} x {servers} x {slots}"
        yield (
            f"| {method.name} | {size} | {outcome.columns:,} | {outcome.seconds:.2f} | {remark} |",
            proven,
        )
        if not proven:
            return


def agrees(instance: Instance, outcome: Outcome) -> bool:
    """Whether the objective is that of the flow."""
    flow = problem_4_flow(instance, rates="fast").objective
    found = None if outcome.solution is None else outcome.solution.objective
    return (
        flow is not None
        and found is not None
        and abs(found - flow) <= AGREEMENT * max(1.0, abs(flow))
    )


def described(outcome: Outcome) -> str:
    """Status and, where it is open, the interval that holds the optimum."""
    solution = outcome.solution
    if solution is None:
        return "too large to build"
    if solution.objective is None or solution.bound is None:
        return str(solution.status)
    if solution.status is Status.OPTIMAL:
        return f"optimal, {solution.objective:,.2f}"
    return f"{solution.status}, {solution.bound:,.2f} to {solution.objective:,.2f}"


def main() -> None:
    """Print one line per model and size, then the largest size each model was proven on."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=10.0, help="seconds per model and size")
    parser.add_argument("--budget", type=float, default=45.0, help="seconds per model")
    parser.add_argument("--full", action="store_true", help="60 s per size, no budget")
    parser.add_argument("--seed", type=int, default=1, help="of the instances")
    parser.add_argument("--only", default="", help="models whose name contains this")
    arguments = parser.parse_args()
    limit = 60.0 if arguments.full else arguments.limit
    budget = float("inf") if arguments.full else arguments.budget
    print(f"proven within {limit:g} s; sizes are jobs x edge servers x slots")
    print("| model | size | columns | seconds | outcome |")
    print("|---|---|---:|---:|---|")
    reached = {}
    for method in METHODS:
        if arguments.only not in method.name:
            continue
        for line, proven in climb(method, limit, budget, arguments.seed):
            print(line, flush=True)
            if proven:
                reached[method.name] = line.split("|")[2].strip()
    print("\nlargest size proven:")
    for name, size in reached.items():
        print(f"  {name}: {size}")


if __name__ == "__main__":
    main()
