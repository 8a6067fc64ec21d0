"""Many tiny models solved to proven optimality, and a live model that is edited.

``assignment`` is solved by presolve, so that everything but the solver shows; ``knapsack`` needs a
little search; ``linear`` is the relaxation of a covering model, ``sweep`` the same with one matrix
for all models.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import live_models
import numpy as np
import pytest

from optsched import Model, solve
from optsched.session import Session

COLUMNS, MODELS = 20, 10
LINEAR = ("linear", "sweep")
Data = dict[str, np.ndarray[Any, Any]]
TINY = {
    "output_flag": False, "threads": 1, "random_seed": 0, "mip_rel_gap": 0.0,
    "mip_abs_gap": 0.0, "mip_allow_restart": False,
    "mip_heuristic_run_feasibility_jump": False, "mip_heuristic_run_rens": False,
    "mip_heuristic_run_rins": False, "mip_heuristic_run_root_reduced_cost": False,
}  # fmt: skip
"""HiGHS's options in the profile "tiny"."""


def items(sort: str) -> list[Data]:
    """Costs, and rows ``matrix @ x <= side`` (negated for covering), of each model."""
    rng = np.random.default_rng(0)
    found = []
    shared = -rng.integers(1, 9, (10, COLUMNS)).astype(float)
    for _ in range(MODELS):
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


def raw(sort: str, item: Data) -> float:
    import highspy

    engine = highspy.Highs()
    for key, value in TINY.items():
        engine.setOptionValue(key, value)
    row, column = np.nonzero(item["matrix"])
    rows = len(item["side"])
    engine.passModel(
        COLUMNS, rows, len(row), int(highspy.MatrixFormat.kRowwise), 1, 0.0, item["cost"],
        np.zeros(COLUMNS), np.ones(COLUMNS), np.full(rows, -np.inf), item["side"],
        np.searchsorted(row, np.arange(rows + 1)).astype(np.int32), column.astype(np.int32),
        item["matrix"][row, column], np.full(COLUMNS, sort not in LINEAR, dtype=np.int32),
    )  # fmt: skip
    engine.run()
    return float(item["cost"] @ np.array(engine.getSolution().col_value))


def model(sort: str, item: Data) -> Model:
    m = Model(sort)
    x = m.continuous("x", COLUMNS, upper=1) if sort in LINEAR else m.binary("x", COLUMNS)
    m.minimize(item["cost"] @ x)
    m.add("rows", item["matrix"] @ x <= item["side"])
    return m


def ours(sort: str, item: Data, **options: str) -> float:
    return float(item["cost"] @ solve(model(sort, item), **options)["x"])


def pulp(sort: str, item: Data) -> float:
    import pulp

    solver = pulp.HiGHS(msg=False, threads=1, gapRel=0.0)
    problem = pulp.LpProblem(sort, pulp.LpMinimize)
    category = pulp.LpContinuous if sort in LINEAR else pulp.LpBinary
    x = [pulp.LpVariable(f"x{i}", 0, 1, category) for i in range(COLUMNS)]
    problem += pulp.lpSum(c * v for c, v in zip(item["cost"], x, strict=True))
    for row, side in zip(item["matrix"], item["side"], strict=True):
        problem += pulp.lpSum(a * v for a, v in zip(row, x, strict=True) if a) <= side
    problem.solve(solver)
    return float(item["cost"] @ np.array([v.value() for v in x]))


def linopy(sort: str, item: Data) -> float:
    import linopy
    import xarray as xr

    m = linopy.Model()
    kind = {"lower": 0, "upper": 1} if sort in LINEAR else {"binary": True}
    x = m.add_variables(coords=[range(COLUMNS)], dims=["column"], name="x", **kind)
    rows = xr.DataArray(item["matrix"], dims=["row", "column"])
    m.add_constraints((rows * x).sum("column") <= xr.DataArray(item["side"], dims="row"))
    m.add_objective((xr.DataArray(item["cost"], dims="column") * x).sum())
    m.solve("highs", io_api="direct", log_to_console=False, threads=1, mip_rel_gap=0.0)
    return float(m.objective.value)


def cpmpy(sort: str, item: Data) -> float:
    import cpmpy as cp

    x = cp.boolvar(shape=COLUMNS)
    rows = [cp.sum(row * x) <= side for row, side in zip(*whole(item), strict=True)]
    m = cp.Model(rows, minimize=cp.sum(item["cost"].astype(int) * x))
    m.solve("ortools", num_workers=1)
    return float(m.objective_value())


def whole(item: Data) -> tuple[np.ndarray[Any, Any], list[int]]:
    """Rows in integers, for a solver that knows no other numbers."""
    return item["matrix"].astype(int), np.floor(item["side"]).astype(int).tolist()


def each(one: Callable[..., float], sort: str, **options: str) -> Callable[[], Any]:
    """All models of a sort, one after the other."""
    data = items(sort)
    return lambda: np.array([one(sort, item, **options) for item in data])


@pytest.mark.parametrize("profile", ["default", "tiny"])
@pytest.mark.parametrize("sort", ["assignment", "knapsack", "linear"])
def bench_tiny(beside, sort: str, profile: str) -> None:
    """Stated, solved, and the values read; on one thread."""
    options = {} if profile == "default" else {"profile": profile}
    others = {"raw": each(raw, sort)}
    if profile == "default":
        others["pulp"] = each(pulp, sort)
    if (sort, profile) == ("knapsack", "default"):  # a twentieth of a second a model
        others["linopy"] = each(linopy, sort)
    beside(each(ours, sort, **options), **others)


@pytest.mark.parametrize("sort", ["assignment", "knapsack"])
def bench_tiny_cpsat(beside, sort: str) -> None:
    """The same by CP-SAT."""
    beside(each(ours, sort, solver="cpsat"), rounds=5, cpmpy=each(cpmpy, sort))


def bench_session_sweep(beside) -> None:
    """One matrix, and new costs and sides for each model."""
    data = items("sweep")

    def session() -> Any:
        many = Session(model("sweep", data[0]))
        found = [
            many.solve(cost={"x": item["cost"]}, rhs={"rows": item["side"]})["x"] for item in data
        ]
        return np.array([item["cost"] @ x for item, x in zip(data, found, strict=True)])

    beside(session, raw=each(raw, "sweep"), rebuilt=each(ours, "sweep"))


@pytest.mark.parametrize("sort", live_models.SORTS)
def bench_session(beside, sort: str) -> None:
    """A rolling horizon, and a loop of cuts: each step by edits, or by a new model."""
    steps = live_models.recorded(sort)
    beside(partial(live_models.edited, steps), rebuilt=partial(live_models.rebuilt, steps))
