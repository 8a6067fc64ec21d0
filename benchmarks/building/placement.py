"""The sparse assignment model with service placement.

Pairs (job, server) that are feasible, one binary each; a binary for every (server, service) says
whether the service stands there. Every job goes to one server (==), only where its service stands
(<=), and no server gets more work than it can do (<=).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from building import tools
from building.tools import Arrays, groups

REACH = 10  # servers that can take a job
SERVICES = 10


def instance(pairs: int) -> Arrays:
    """Index and data arrays of a random instance with so many pairs, whole numbers throughout."""
    rng = np.random.default_rng(pairs)
    jobs = pairs // REACH
    servers, services = max(REACH, jobs // 20), min(SERVICES, jobs)
    job = np.repeat(np.arange(jobs), REACH)
    nearest = rng.integers(0, servers, jobs)
    service = rng.integers(0, services, jobs)
    size = rng.integers(1, 10, jobs)
    return {
        "job": job,
        "server": (nearest[job] + np.tile(np.arange(REACH), jobs)) % servers,
        "service": service[job],
        "size": size[job].astype(float),
        "cost": rng.integers(1, 50, len(job)).astype(float),
        "placing": rng.integers(50, 200, (servers, services)).astype(float),
        "capacity": np.full(servers, np.ceil(2.0 * size.sum() / servers) + size.max()),
        "jobs": np.ones(jobs),
    }


def model(a: Arrays) -> Any:
    """Ours, in blocks."""
    from optsched.model import Model

    m = Model("placement")
    x = m.binary("x", len(a["job"]))
    y = m.binary("y", a["placing"].shape)
    m.minimize((a["cost"] * x).sum() + (a["placing"] * y).sum())
    m.add("once", x.sum_by(a["job"], len(a["jobs"])) == a["jobs"])
    m.add("placed", x <= y[a["server"], a["service"]])
    m.add("capacity", (a["size"] * x).sum_by(a["server"], len(a["capacity"])) <= a["capacity"])
    return m


def build_raw(a: Arrays, form: str = "csr") -> object:
    import scipy.sparse as sp

    pairs, jobs, servers = len(a["job"]), len(a["jobs"]), len(a["capacity"])
    columns, rows = pairs + a["placing"].size, jobs + pairs + servers
    pair = np.arange(pairs, dtype=np.int32)
    place = pairs + a["server"] * a["placing"].shape[1] + a["service"]
    row = np.concatenate([a["job"], jobs + pair, jobs + pair, jobs + pairs + a["server"]])
    column = np.concatenate([pair, pair, place, pair])
    data = np.concatenate([np.ones(2 * pairs), np.full(pairs, -1.0), a["size"]])
    matrix = sp.coo_array(
        (data, (row.astype(np.int32), column.astype(np.int32))), shape=(rows, columns)
    ).asformat(form)
    lower = np.concatenate([a["jobs"], np.full(pairs + servers, -np.inf)])
    upper = np.concatenate([a["jobs"], np.zeros(pairs), a["capacity"]])
    cost = np.concatenate([a["cost"], a["placing"].reshape(-1)])
    bounds = np.zeros(columns), np.ones(columns), np.ones(columns, dtype=np.int32)
    return tools.in_highs(matrix, cost, bounds, (lower, upper))


def build_raw_columns(a: Arrays) -> object:
    return build_raw(a, "csc")


def build_linopy(a: Arrays) -> object:
    import linopy
    import pandas as pd
    import xarray as xr

    def by(name: str) -> Any:
        return xr.DataArray(a[name], coords={"pair": pairs}, dims="pair", name=name)

    pairs = pd.RangeIndex(len(a["job"]), name="pair")
    servers, services = (pd.RangeIndex(n) for n in a["placing"].shape)
    m = linopy.Model()
    x = m.add_variables(binary=True, coords=[pairs], name="x")
    y = m.add_variables(
        binary=True, coords=[servers, services], dims=["server_", "service_"], name="y"
    )
    placing = xr.DataArray(a["placing"], coords={"server_": servers, "service_": services})
    m.add_objective((by("cost") * x).sum() + (placing * y).sum())
    m.add_constraints((1 * x).groupby(by("job")).sum() == 1, name="once")
    placed = y.isel(server_=by("server"), service_=by("service"))
    m.add_constraints(x - placed <= 0, name="placed")
    load = (by("size") * x).groupby(by("server")).sum()
    capacity = xr.DataArray(a["capacity"], coords={"server": servers})
    m.add_constraints(load <= capacity.sel(server=load.coords["server"]), name="capacity")
    return m, linopy.io.to_highspy(m)


def build_pyomo(a: Arrays) -> object:
    import pyomo.environ as pyo
    from pyomo.core.expr import LinearExpression

    def total(weights: list[float], pairs: list[int]) -> Any:
        return LinearExpression(linear_coefs=weights, linear_vars=[x[i] for i in pairs])

    m = pyo.ConcreteModel()
    servers, services = a["placing"].shape
    m.x = pyo.Var(range(len(a["job"])), domain=pyo.Binary)
    m.y = pyo.Var(range(servers), range(services), domain=pyo.Binary)
    x, y = list(m.x.values()), list(m.y.values())
    weights = a["cost"].tolist() + a["placing"].reshape(-1).tolist()
    m.cost = pyo.Objective(expr=LinearExpression(linear_coefs=weights, linear_vars=x + y))
    place, size = (a["server"] * services + a["service"]).tolist(), a["size"].tolist()
    once, load = groups(a["job"], a["jobs"]), groups(a["server"], a["capacity"])
    m.once = pyo.Constraint(
        range(len(once)),
        rule=lambda _, k: (once[k][1], total([1.0] * len(once[k][0]), once[k][0]), once[k][1]),
    )
    m.placed = pyo.Constraint(
        range(len(x)),
        rule=lambda _, i: (
            None, LinearExpression(linear_coefs=[1.0, -1.0], linear_vars=[x[i], y[place[i]]]), 0.0
        ),
    )  # fmt: skip
    m.capacity = pyo.Constraint(
        range(len(load)),
        rule=lambda _, k: (None, total([size[i] for i in load[k][0]], load[k][0]), load[k][1]),
    )
    return m, tools.pyomo_in_highs(m)


def build_pulp(a: Arrays) -> object:
    import pulp

    problem = pulp.LpProblem("placement", pulp.LpMinimize)
    x = [pulp.LpVariable(f"x{i}", cat=pulp.LpBinary) for i in range(len(a["job"]))]
    y = [
        [pulp.LpVariable(f"y{s}_{v}", cat=pulp.LpBinary) for v in range(len(row))]
        for s, row in enumerate(a["placing"])
    ]
    placing = zip(a["placing"].reshape(-1), (v for row in y for v in row), strict=True)
    serving = zip(a["cost"], x, strict=True)
    problem += pulp.lpSum(c * v for part in (serving, placing) for c, v in part)
    for pairs, one in groups(a["job"], a["jobs"]):
        problem += pulp.lpSum(x[i] for i in pairs) == one
    for v, server, service in zip(x, a["server"], a["service"], strict=True):
        problem += v <= y[server][service]
    for pairs, capacity in groups(a["server"], a["capacity"]):
        problem += pulp.lpSum(a["size"][i] * x[i] for i in pairs) <= capacity
    return problem


def build_mathopt(a: Arrays) -> object:
    from ortools.math_opt.python import mathopt

    m = mathopt.Model()
    x = [m.add_binary_variable() for _ in a["job"]]
    y = [[m.add_binary_variable() for _ in row] for row in a["placing"]]
    for cost, variable in zip(a["cost"].tolist(), x, strict=True):
        m.objective.set_linear_coefficient(variable, cost)
    for weights, variables in zip(a["placing"].tolist(), y, strict=True):
        for cost, variable in zip(weights, variables, strict=True):
            m.objective.set_linear_coefficient(variable, cost)
    for pairs, one in groups(a["job"], a["jobs"]):
        row = m.add_linear_constraint(lb=one, ub=one)
        for i in pairs:
            row.set_coefficient(x[i], 1.0)
    for v, server, service in zip(x, a["server"].tolist(), a["service"].tolist(), strict=True):
        row = m.add_linear_constraint(ub=0.0)
        row.set_coefficient(v, 1.0)
        row.set_coefficient(y[server][service], -1.0)
    size = a["size"].tolist()
    for pairs, capacity in groups(a["server"], a["capacity"]):
        row = m.add_linear_constraint(ub=capacity)
        for i in pairs:
            row.set_coefficient(x[i], size[i])
    return m.export_model()


def build_cp_model(a: Arrays) -> object:
    """By hand, with the logical constraints an expert would use."""
    from ortools.sat.python import cp_model

    weighted = cp_model.LinearExpr.weighted_sum
    m = cp_model.CpModel()
    x = [m.new_bool_var("") for _ in a["job"]]
    y = [[m.new_bool_var("") for _ in row] for row in a["placing"]]
    weights = np.concatenate([a["cost"], a["placing"].reshape(-1)]).astype(int).tolist()
    m.minimize(weighted(x + [v for row in y for v in row], weights))
    for pairs, _ in groups(a["job"], a["jobs"]):
        m.add_exactly_one([x[i] for i in pairs])
    for v, server, service in zip(x, a["server"].tolist(), a["service"].tolist(), strict=True):
        m.add_implication(v, y[server][service])
    size = a["size"].astype(int).tolist()
    for pairs, capacity in groups(a["server"], a["capacity"].astype(int)):
        m.add(weighted([x[i] for i in pairs], [size[i] for i in pairs]) <= capacity)
    return m
