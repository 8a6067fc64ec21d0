"""The same models in linopy, CVXPY or CPMpy, whichever says each best."""

from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from classic_models.ours import EDGES, LENGTH, SIZES

TOOLS = {
    "facility_location": "linopy",
    "travelling_salesman": "cpmpy",
    "job_shop_with_set_ups": "cpmpy",
    "unit_commitment": "linopy",
    "cutting_stock": "cvxpy",
    "lot_sizing": "cvxpy",
    "vehicle_routing": "cpmpy",
    "bin_packing": "cvxpy",
    "graph_colouring": "cpmpy",
    "nurse_rostering": "cpmpy",
    "project_scheduling": "cpmpy",
    "max_min_fair_rates": "cvxpy",
    "piecewise_cost_flow": "cvxpy",
    "moldable_jobs": "cpmpy",
    "portfolio": "cvxpy",
}
"""By model, the tool; each function below is handed its module."""


def facility_location(linopy: ModuleType) -> Any:
    sites = pd.Index(list("ABC"), name="site")
    customers = pd.Index(["u", "v", "w", "x", "y"], name="customer")
    cost = pd.DataFrame(np.arange(15.0).reshape(3, 5) % 7 + 1, sites, customers)
    m = linopy.Model()
    open_ = m.add_variables(binary=True, coords=[sites], name="open")
    serve = m.add_variables(lower=0, coords=[sites, customers], name="serve")
    m.add_constraints(serve.sum("site") == 1, name="served")
    m.add_constraints(serve - open_ <= 0, name="open")
    m.add_objective((serve * cost).sum() + (open_ * pd.Series([4.0, 3.0, 5.0], sites)).sum())
    return m


def travelling_salesman(cp: ModuleType) -> Any:
    follows = cp.intvar(0, 6, shape=7)
    m = cp.Model(cp.Circuit(follows))
    rows = LENGTH.astype(int).tolist()
    m.minimize(cp.sum([cp.Element(rows[i], follows[i]) for i in range(7)]))
    return m


def job_shop_with_set_ups(cp: ModuleType) -> Any:
    length = np.array([[3, 2], [2, 4], [4, 1]])
    setup = np.array([[0, 2, 1], [1, 0, 2], [2, 1, 0]])
    start = cp.intvar(0, 30, shape=(3, 2))
    end = start + length
    m = cp.Model(start[:, 1] >= end[:, 0])
    for machine in range(2):
        for i, j in zip(*np.triu_indices(3, 1), strict=True):
            first = start[j, machine] >= end[i, machine] + setup[i, j]
            m += first | (start[i, machine] >= end[j, machine] + setup[j, i])
    m.minimize(cp.max(end))
    return m


def unit_commitment(linopy: ModuleType) -> Any:
    units, times = pd.RangeIndex(3, name="unit"), pd.RangeIndex(5, name="time")
    demand, cost = pd.Series([4, 9, 12, 7, 5], times), pd.Series([2, 3, 6], units)
    m = linopy.Model()
    on = m.add_variables(binary=True, coords=[units, times], name="on")
    starts = m.add_variables(binary=True, coords=[units, times], name="starts")
    power = m.add_variables(lower=0, upper=8, integer=True, coords=[units, times], name="power")
    m.add_constraints(power - 8 * on <= 0, name="most")
    m.add_constraints(power - 2 * on >= 0, name="least")
    m.add_constraints(starts - on + on.shift(time=1) >= 0, name="start")
    m.add_constraints(power.sum("unit") >= demand, name="demand")
    m.add_objective((power * cost).sum() + 5 * starts.sum() + on.sum())
    return m


def cutting_stock(cp: ModuleType) -> Any:
    width, wanted, roll = np.array([3, 5, 7]), np.array([6, 4, 3]), 15
    patterns = np.argwhere(np.ones((6, 4, 3)))
    patterns = patterns[patterns @ width <= roll]
    cut = cp.Variable(len(patterns), integer=True)
    return cp.Problem(cp.Minimize(cp.sum(cut)), [patterns.T @ cut >= wanted, cut >= 0, cut <= 9])


def lot_sizing(cp: ModuleType) -> Any:
    demand = np.array([3, 5, 0, 6, 2, 4])
    make, setup = cp.Variable(6, integer=True), cp.Variable(6, boolean=True)
    stock = cp.cumsum(make - demand)
    rows = [stock >= 0, make >= 0, make <= 20 * setup]
    return cp.Problem(cp.Minimize(cp.sum(stock) + 8 * cp.sum(setup)), rows)


def vehicle_routing(cp: ModuleType) -> Any:
    go, load = cp.boolvar(shape=(6, 6)), cp.intvar(0, 3, shape=6)
    m = cp.Model(cp.sum(go[0]) == cp.sum(go[:, 0]))
    for i in range(6):
        m += go[i, i] == 0
        if i:
            m += [cp.sum(go[i]) == 1, cp.sum(go[:, i]) == 1]
            m += [go[j, i].implies(load[i] >= load[j] + 1) for j in range(6) if j != i]
    m.minimize(cp.sum(go * LENGTH[:6, :6].astype(int)) + 4 * cp.sum(go[0]))
    return m


def bin_packing(cp: ModuleType) -> Any:
    used, put = cp.Variable(5, boolean=True), cp.Variable((8, 5), boolean=True)
    rows = [cp.sum(put, axis=1) == 1, SIZES @ put <= 10 * used, cp.diff(used) <= 0]
    return cp.Problem(cp.Minimize(cp.sum(used)), rows)


def graph_colouring(cp: ModuleType) -> Any:
    colour = cp.intvar(0, 5, shape=6)
    m = cp.Model([colour[i] != colour[j] for i, j in EDGES.tolist()])
    m.minimize(cp.max(colour) + 1)
    return m


def nurse_rostering(cp: ModuleType) -> Any:
    works, five = cp.boolvar(shape=(5, 7, 2)), cp.intvar(0, 10, shape=5)
    m = cp.Model(works.sum(axis=2) <= 1, works[:, :-1, 1] + works[:, 1:, 0] <= 1)
    m += works.sum(axis=0) >= np.broadcast_to([2, 1], (7, 2))
    m += works.reshape(5, 14).sum(axis=1) <= 4 + five
    wish = np.arange(70).reshape(5, 7, 2) % 3
    m.minimize(5 * cp.sum(five) + cp.sum(works * wish))
    return m


def project_scheduling(cp: ModuleType) -> Any:
    length, demand = np.array([3, 2, 4, 2, 1]), np.array([2, 1, 2, 2, 1])
    start = cp.intvar(0, 12, shape=5)
    end = start + length
    m = cp.Model([start[j] >= end[i] for i, j in ((0, 2), (1, 3), (2, 4))])
    m += cp.Cumulative(start, length.tolist(), end, demand.tolist(), 3)
    m.minimize(cp.max(end))
    return m


def max_min_fair_rates(cp: ModuleType) -> Any:
    uses = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]])
    rate = cp.Variable(4, nonneg=True)
    rows = [uses @ rate <= np.array([3.0, 4.0, 2.0])]
    return cp.Problem(cp.Maximize(cp.min(rate) + 0.001 * cp.sum(rate) / 4), rows)


def piecewise_cost_flow(cp: ModuleType) -> Any:
    tails, heads = np.array([0, 0, 1, 1, 2]), np.array([1, 2, 2, 3, 3])
    leaves, enters = (np.arange(4)[:, None] == ends for ends in (tails, heads))
    points, costs = np.array([0, 1, 4, 6]), np.array([0, 4, 6, 12])
    share, inside = cp.Variable((5, 4), nonneg=True), cp.Variable((5, 3), boolean=True)
    ends = np.eye(3, 4) + np.eye(3, 4, 1)
    rows = [cp.sum(share, axis=1) == 1, cp.sum(inside, axis=1) == 1, share <= inside @ ends]
    net = (leaves.astype(float) - enters) @ (share @ points)
    rows += [net == np.array([8, 0, 0, -8])]
    return cp.Problem(cp.Minimize(cp.sum(share @ costs)), rows)


def moldable_jobs(cp: ModuleType) -> Any:
    work = [[8, 5, 3, 2], [6, 4, 3, 3], [9, 5, 4, 3]]
    workers, start = cp.intvar(1, 4, shape=3), cp.intvar(0, 20, shape=3)
    times, end = cp.intvar(0, 9, shape=3), cp.intvar(0, 29, shape=3)
    m = cp.Model([times[job] == cp.Element(work[job], workers[job] - 1) for job in range(3)])
    m += cp.Cumulative(start, times, end, workers, 4)
    m.minimize(cp.max(end))
    return m


def portfolio(cp: ModuleType) -> Any:
    gain = np.array([0.09, 0.07, 0.12, 0.05])
    swing = np.array([[0.2, 0.1, 0.3, 0.0], [0.1, 0.2, -0.1, 0.0], [0.0, 0.1, 0.2, 0.05]])
    share, held = cp.Variable(4), cp.Variable(4, boolean=True)
    rows = [cp.sum(share) == 1, cp.sum(held) <= 3, share >= 0.1 * held, share <= held]
    return cp.Problem(cp.Minimize(4 * cp.sum_squares(swing @ share) - gain @ share), rows)
