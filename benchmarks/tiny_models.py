"""What a loop over many tiny models costs: build, solve to proven optimality, read the values.

Two sorts of model with 20 binaries, and two linear ones: ``assignment`` is solved by presolve, so
that everything but the solver shows; ``knapsack`` needs a little search; ``linear`` is the
relaxation of a covering model, ``sweep`` the same with one matrix for all items. All are given by
the same arrays, to

- ``raw``: highspy by hand, one array hand-over, the options of ``tiny``;
- ``default``: a ``Model`` and ``solve``;
- ``tiny``: the same with ``profile="tiny"``;
- ``session``: of linear models with one matrix, one ``Session``, new costs and sides for each item;
- ``pulp``: PuLP with the HiGHS of the same process, or with CBC where that is not to be had.

One process, one thread; the loop over all models is repeated and the median taken.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np

from optsched import Model, solve
from optsched.session import Session

COLUMNS = 20
LINEAR = ("linear", "sweep")
Data = dict[str, np.ndarray[Any, Any]]


def items(sort: str, count: int) -> list[Data]:
    """Costs, rows ``matrix @ x <= side`` (negated for covering) and integrality of each model."""
    rng = np.random.default_rng(0)
    found = []
    shared = -rng.integers(1, 9, (10, COLUMNS)).astype(float)
    for _ in range(count):
        cost = rng.integers(5, 60, COLUMNS).astype(float)
        if sort == "assignment":  # five jobs on four machines, none to more than two
            matrix = np.vstack([-np.kron(np.eye(5), np.ones(4)), np.kron(np.ones(5), np.eye(4))])
            side = np.r_[-np.ones(5), np.full(4, 2.0)]
        elif sort == "knapsack":
            matrix = rng.integers(5, 40, (1, COLUMNS)).astype(float)
            cost, side = -cost, matrix.sum(axis=1) * 0.4
        else:
            matrix = shared
            if sort == "linear":
                matrix = -rng.integers(1, 9, (10, COLUMNS)).astype(float)
            side = matrix.sum(axis=1) * rng.uniform(0.2, 0.5, 10)
        found.append({"cost": cost, "matrix": matrix, "side": side})
    return found


def raw(sort: str, data: list[Data]) -> Iterator[float]:
    import highspy

    integer = np.full(COLUMNS, int(sort not in LINEAR), dtype=np.int32)
    for item in data:
        engine = highspy.Highs()
        for key, value in {
            "output_flag": False, "threads": 1, "random_seed": 0, "mip_rel_gap": 0.0,
            "mip_abs_gap": 0.0, "mip_allow_restart": False,
            "mip_heuristic_run_feasibility_jump": False, "mip_heuristic_run_rens": False,
            "mip_heuristic_run_rins": False, "mip_heuristic_run_root_reduced_cost": False,
        }.items():  # fmt: skip
            engine.setOptionValue(key, value)
        row, column = np.nonzero(item["matrix"])
        rows = len(item["side"])
        engine.passModel(
            COLUMNS, rows, len(row), int(highspy.MatrixFormat.kRowwise), 1, 0.0, item["cost"],
            np.zeros(COLUMNS), np.ones(COLUMNS), np.full(rows, -np.inf), item["side"],
            np.searchsorted(row, np.arange(rows + 1)).astype(np.int32), column.astype(np.int32),
            item["matrix"][row, column], integer,
        )  # fmt: skip
        engine.run()
        x = np.array(engine.getSolution().col_value)
        yield float(item["cost"] @ x)


def model(sort: str, item: Data) -> Model:
    m = Model(sort)
    x = m.continuous("x", COLUMNS, upper=1) if sort in LINEAR else m.binary("x", COLUMNS)
    m.minimize(item["cost"] @ x)
    m.add("rows", item["matrix"] @ x <= item["side"])
    return m


def default(sort: str, data: list[Data]) -> Iterator[float]:
    for item in data:
        yield float(item["cost"] @ solve(model(sort, item))["x"])


def tiny(sort: str, data: list[Data]) -> Iterator[float]:
    for item in data:
        yield float(item["cost"] @ solve(model(sort, item), profile="tiny")["x"])


def session(sort: str, data: list[Data]) -> Iterator[float]:
    many = Session(model(sort, data[0]))
    for item in data:
        solution = many.solve(cost={"x": item["cost"]}, rhs={"rows": item["side"]})
        yield float(item["cost"] @ solution["x"])


def pulp(sort: str, data: list[Data]) -> Iterator[float]:
    import pulp

    solver = pulp.HiGHS(msg=False, threads=1, gapRel=0.0)
    if not solver.available():
        solver = pulp.PULP_CBC_CMD(msg=False, threads=1, gapRel=0.0)
    category = "Continuous" if sort in LINEAR else "Binary"
    for item in data:
        problem = pulp.LpProblem(sort, pulp.LpMinimize)
        x = [pulp.LpVariable(f"x{i}", 0, 1, category) for i in range(COLUMNS)]
        problem += pulp.lpSum(c * v for c, v in zip(item["cost"], x, strict=True))
        for row, side in zip(item["matrix"], item["side"], strict=True):
            problem += pulp.lpSum(a * v for a, v in zip(row, x, strict=True) if a) <= side
        problem.solve(solver)
        yield float(item["cost"] @ np.array([v.value() for v in x]))


TOOLS: dict[str, Callable[[str, list[Data]], Iterator[float]]] = {
    "raw": raw,
    "default": default,
    "tiny": tiny,
    "session": session,
    "pulp": pulp,
}


def report(sort: str, count: int, repeats: int) -> None:
    """Run every tool in turn, check that they agree, print medians."""
    data = items(sort, count)
    seconds: dict[str, list[float]] = {tool: [] for tool in TOOLS}
    optima: dict[str, list[float]] = {}
    tools = {tool: run for tool, run in TOOLS.items() if tool != "session" or sort == "sweep"}
    for run in tools.values():  # what only the first solve pays
        list(run(sort, data[:2]))
    for _ in range(repeats):
        for tool, run in tools.items():
            began = time.process_time()
            optima[tool] = list(run(sort, data))
            seconds[tool].append((time.process_time() - began) / count)
    print(f"\n{sort}: {count} models, median of {repeats}")
    print(f"  {'tool':<9}{'ms a model':>12}{'/ raw':>8}")
    reference = median(seconds["raw"])
    for tool in tools:
        agree = np.allclose(optima[tool], optima["raw"], atol=1e-6)
        middle = median(seconds[tool])
        print(
            f"  {tool:<9}{1e3 * middle:>12.2f}{middle / reference:>8.2f}"
            + ("" if agree else "   other optima")
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    for sort in ("assignment", "knapsack", *LINEAR):
        report(sort, given.models, given.repeats)


if __name__ == "__main__":
    main()
