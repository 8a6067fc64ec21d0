"""The time-indexed model.

Cells (job, class, slot), one integer variable each; every job gets its work (>=), no job uses more
than so many workers in a slot (<=), no class hands out more workers than it has in a slot (<=).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from building import tools
from building.tools import Arrays, groups

CLASSES, WINDOW = 5, 40  # worker classes; slots in which a job may run


def instance(columns: int) -> Arrays:
    """Index and data arrays of a random instance with about so many cells, all tools' input."""
    rng = np.random.default_rng(columns)
    window = WINDOW if columns > CLASSES * WINDOW else columns // CLASSES
    jobs = max(1, columns // (CLASSES * window))
    slots = window + jobs // 4
    release = np.sort(rng.integers(0, slots - window + 1, jobs))
    job = np.repeat(np.arange(jobs), CLASSES * window)
    worker_class = np.tile(np.repeat(np.arange(CLASSES), window), jobs)
    age = np.tile(np.arange(window), jobs * CLASSES)
    slot = release[job] + age
    return {
        "job": job,
        "job_slot": job * window + age,
        "class_slot": worker_class * slots + slot,
        "rate": rng.uniform(1.0, 3.0, jobs)[job],
        "cost": (age + 1.0) * rng.uniform(0.1, 1.0, jobs)[job],
        "upper": rng.integers(1, 5, CLASSES).astype(float)[worker_class],
        "demand": rng.uniform(20.0, 60.0, jobs),
        "limit": np.repeat(rng.integers(2, 9, jobs).astype(float), window),
        "capacity": np.repeat(rng.integers(50, 90, CLASSES).astype(float), slots),
    }


def model(a: Arrays) -> Any:
    """Ours, in blocks."""
    from optsched.model import Model

    m = Model("time-indexed")
    y = m.integer("y", len(a["job"]), upper=a["upper"])
    m.minimize((a["cost"] * y).sum())
    m.add("demand", (a["rate"] * y).sum_by(a["job"], len(a["demand"])) >= a["demand"])
    m.add("parallelism", y.sum_by(a["job_slot"], len(a["limit"])) <= a["limit"])
    m.add("capacity", y.sum_by(a["class_slot"], len(a["capacity"])) <= a["capacity"])
    return m


def build_raw(a: Arrays, form: str = "csr") -> object:
    import scipy.sparse as sp

    columns = len(a["job"])
    jobs, pairs, places = len(a["demand"]), len(a["limit"]), len(a["capacity"])
    rows = np.empty((3, columns), dtype=np.int32)
    for row, (name, first) in enumerate(
        [("job", 0), ("job_slot", jobs), ("class_slot", jobs + pairs)]
    ):
        rows[row] = a[name] + first
    cols = np.tile(np.arange(columns, dtype=np.int32), 3)
    data = np.concatenate([a["rate"], np.ones(2 * columns)])
    matrix = sp.coo_array(
        (data, (rows.reshape(-1), cols)), shape=(jobs + pairs + places, columns)
    ).asformat(form)
    lower = np.concatenate([a["demand"], np.full(pairs + places, -np.inf)])
    upper = np.concatenate([np.full(jobs, np.inf), a["limit"], a["capacity"]])
    bounds = np.zeros(columns), a["upper"], np.ones(columns, dtype=np.int32)
    return tools.in_highs(matrix, a["cost"], bounds, (lower, upper))


def build_raw_columns(a: Arrays) -> object:
    return build_raw(a, "csc")


def build_linopy(a: Arrays) -> object:
    import linopy
    import pandas as pd
    import xarray as xr

    def by(name: str) -> Any:
        return xr.DataArray(a[name], coords={"cell": cells}, dims="cell", name=name)

    def over(dimension: str, name: str) -> Any:
        return xr.DataArray(a[name], coords={dimension: np.arange(len(a[name]))})

    cells = pd.RangeIndex(len(a["job"]), name="cell")
    m = linopy.Model()
    y = m.add_variables(lower=0, upper=by("upper"), integer=True, name="y")
    m.add_objective((by("cost") * y).sum())
    demand = (by("rate") * y).groupby(by("job")).sum()
    m.add_constraints(demand >= over("job", "demand"), name="demand")
    used = (1 * y).groupby(by("job_slot")).sum()
    m.add_constraints(used <= over("job_slot", "limit"), name="parallelism")
    taken = (1 * y).groupby(by("class_slot")).sum()
    capacity = over("class_slot", "capacity").sel(class_slot=taken.coords["class_slot"])
    m.add_constraints(taken <= capacity, name="capacity")
    return m, linopy.io.to_highspy(m)


def build_pyomo(a: Arrays) -> object:
    import pyomo.environ as pyo
    from pyomo.core.expr import LinearExpression

    def total(weights: list[float], cells: list[int]) -> Any:
        return LinearExpression(linear_coefs=weights, linear_vars=[y[i] for i in cells])

    m = pyo.ConcreteModel()
    upper, rate = a["upper"].tolist(), a["rate"].tolist()
    m.y = pyo.Var(range(len(upper)), domain=pyo.Integers, bounds=lambda _, i: (0.0, upper[i]))
    y = list(m.y.values())
    m.cost = pyo.Objective(expr=LinearExpression(linear_coefs=a["cost"].tolist(), linear_vars=y))
    work = groups(a["job"], a["demand"])
    m.demand = pyo.Constraint(
        range(len(work)),
        rule=lambda _, k: (work[k][1], total([rate[i] for i in work[k][0]], work[k][0]), None),
    )
    for name, key, side in (
        ("parallelism", "job_slot", "limit"),
        ("capacity", "class_slot", "capacity"),
    ):
        rows = groups(a[key], a[side])
        m.add_component(
            name,
            pyo.Constraint(
                range(len(rows)),
                rule=lambda _, k, rows=rows: (
                    None, total([1.0] * len(rows[k][0]), rows[k][0]), rows[k][1]
                ),
            ),
        )  # fmt: skip
    return m, tools.pyomo_in_highs(m)


def build_pulp(a: Arrays) -> object:
    import pulp

    problem = pulp.LpProblem("time_indexed", pulp.LpMinimize)
    y = [pulp.LpVariable(f"y{i}", 0, upper, pulp.LpInteger) for i, upper in enumerate(a["upper"])]
    problem += pulp.lpSum(cost * x for cost, x in zip(a["cost"], y, strict=True))
    for cells, demand in groups(a["job"], a["demand"]):
        problem += pulp.lpSum(a["rate"][i] * y[i] for i in cells) >= demand
    for key, side in (("job_slot", "limit"), ("class_slot", "capacity")):
        for cells, bound in groups(a[key], a[side]):
            problem += pulp.lpSum(y[i] for i in cells) <= bound
    return problem


def build_mathopt(a: Arrays) -> object:
    from ortools.math_opt.python import mathopt

    m = mathopt.Model()
    y = [m.add_integer_variable(lb=0.0, ub=upper) for upper in a["upper"].tolist()]
    rate = a["rate"].tolist()
    for cost, variable in zip(a["cost"].tolist(), y, strict=True):
        m.objective.set_linear_coefficient(variable, cost)
    for cells, demand in groups(a["job"], a["demand"]):
        row = m.add_linear_constraint(lb=demand)
        for i in cells:
            row.set_coefficient(y[i], rate[i])
    for key, side in (("job_slot", "limit"), ("class_slot", "capacity")):
        for cells, bound in groups(a[key], a[side]):
            row = m.add_linear_constraint(ub=bound)
            for i in cells:
                row.set_coefficient(y[i], 1.0)
    return m.export_model()


def build_cp_model(a: Arrays) -> object:
    """By hand, rates in thousandths; the objective's numbers are left to the solver to scale."""
    from ortools.sat.python import cp_model

    total, weighted = cp_model.LinearExpr.sum, cp_model.LinearExpr.weighted_sum
    m = cp_model.CpModel()
    y = [m.new_int_var(0, upper, "") for upper in a["upper"].astype(int).tolist()]
    rate = np.rint(1000 * a["rate"]).astype(int).tolist()
    m.minimize(weighted(y, a["cost"].tolist()))
    for cells, demand in groups(a["job"], np.rint(1000 * a["demand"]).astype(int)):
        m.add(weighted([y[i] for i in cells], [rate[i] for i in cells]) >= demand)
    for key, side in (("job_slot", "limit"), ("class_slot", "capacity")):
        for cells, bound in groups(a[key], a[side].astype(int)):
            m.add(total([y[i] for i in cells]) <= bound)
    return m
