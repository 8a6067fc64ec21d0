"""Classic models in at most twenty lines each, as one would write them in a notebook."""

import numpy as np
import pandas as pd

from optsched import Model

RNG = np.random.default_rng(7)
LENGTH = RNG.integers(1, 20, (7, 7)).astype(float)
SIZES = np.array([4, 8, 1, 4, 2, 1, 7, 3])
EDGES = np.array([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 5), (1, 5), (2, 5), (3, 5), (4, 5)])


def facility_location() -> Model:
    sites, customers = pd.Index(list("ABC")), pd.Index(["u", "v", "w", "x", "y"])
    cost = pd.DataFrame(np.arange(15.0).reshape(3, 5) % 7 + 1, sites, customers)
    m = Model("facility location")
    open_ = m.binary("open", coords={"site": sites})
    serve = m.continuous("serve", coords={"site": sites, "customer": customers})
    m.add("served", serve.sum("site") == 1)
    m.add("open", serve <= open_)
    m.minimize((serve * cost).sum() + (open_ * pd.Series([4.0, 3.0, 5.0], sites)).sum())
    return m


def travelling_salesman() -> Model:
    m = Model("travelling salesman")
    tails, heads = np.nonzero(~np.eye(7, dtype=bool))
    go = m.binary("go", len(tails))
    m.circuit(go, tails, heads)
    m.minimize(go @ LENGTH[tails, heads])
    return m


def job_shop_with_set_ups() -> Model:
    length = np.array([[3, 2], [2, 4], [4, 1]])  # job by machine, machine 0 before machine 1
    setup = np.array([[0, 2, 1], [1, 0, 2], [2, 1, 0]])
    m = Model("job shop")
    start = m.integer("start", (3, 2), upper=30)
    m.add("order", start[:, 1] >= start[:, 0] + length[:, 0])
    for machine in range(2):
        m.no_overlap(start[:, machine], length[:, machine], setup)
    m.minimize(np.max(start + length))
    return m


def unit_commitment() -> Model:
    demand, cost = np.array([4, 9, 12, 7, 5]), np.array([2, 3, 6])
    m = Model("unit commitment")
    on, starts = m.binary("on", (3, 5)), m.binary("starts", (3, 5))
    power = m.integer("power", (3, 5), upper=8)
    m.add("most", power <= 8 * on)
    m.add("least", power >= 2 * on)
    m.add("first", starts[:, 0] >= on[:, 0])
    m.add("start", starts[:, 1:] >= np.diff(on))
    m.add("demand", power.sum(axis=0) >= demand)
    m.minimize(cost @ power.sum(axis=1) + 5 * starts.sum() + on.sum())
    return m


def cutting_stock() -> Model:
    width, wanted, roll = np.array([3, 5, 7]), np.array([6, 4, 3]), 15
    patterns = np.argwhere(np.ones((6, 4, 3)))
    patterns = patterns[patterns @ width <= roll]
    m = Model("cutting stock")
    cut = m.integer("cut", len(patterns), upper=9)
    m.add("wanted", patterns.T @ cut >= wanted)
    m.minimize(cut.sum())
    return m


def lot_sizing() -> Model:
    demand = np.array([3, 5, 0, 6, 2, 4])
    m = Model("lot sizing")
    make, setup = m.integer("make", 6, upper=20), m.binary("setup", 6)
    stock = np.cumsum(make - demand)
    m.add("no backlog", stock >= 0)
    m.add("set up", make <= 20 * setup)
    m.minimize(stock.sum() + 8 * setup.sum())
    return m


def vehicle_routing() -> Model:
    m = Model("vehicle routing")  # at most three customers a tour; node 0 is the depot
    tails, heads = np.nonzero(~np.eye(6, dtype=bool))
    go, load = m.binary("go", len(tails)), m.integer("load", 6, upper=3)
    m.add("out", go.sum_by(tails, 6)[1:] == 1)
    m.add("in", go.sum_by(heads, 6)[1:] == 1)
    m.add("back", go.sum_by(tails, 6)[0] == go.sum_by(heads, 6)[0])
    inner = heads > 0
    m.indicator(go[inner], load[heads[inner]] >= load[tails[inner]] + 1)
    m.minimize(go @ LENGTH[tails, heads] + 4 * go.sum_by(tails, 6)[0])
    return m


def bin_packing() -> Model:
    m = Model("bin packing")
    used, put = m.binary("used", 5), m.binary("put", (8, 5))
    m.add("each", put.sum(axis=1) == 1)
    m.add("room", SIZES @ put <= 10 * used)
    m.add("in order", np.diff(used) <= 0)
    m.minimize(used.sum())
    return m


def graph_colouring() -> Model:
    m = Model("graph colouring")
    colour, pairs = m.integer("colour", 6, upper=5), EDGES
    m.all_different(np.stack([colour[pairs[:, 0]], colour[pairs[:, 1]]], axis=1))
    m.minimize(np.max(colour) + 1)
    return m


def nurse_rostering() -> Model:
    m = Model("nurse rostering")
    works = m.binary("works", (5, 7, 2))  # nurse, day, shift
    m.add("one a day", works.sum(axis=2) <= 1)
    m.add("rest", works[:, :-1, 1] + works[:, 1:, 0] <= 1)
    m.add("cover", works.sum(axis=0) >= np.array([2, 1]))
    five = m.soft("five", works.sum(axis=(1, 2)) <= 4)
    wish = np.arange(70).reshape(5, 7, 2) % 3
    m.minimize(5 * five.sum() + (works * wish).sum())
    return m


def project_scheduling() -> Model:
    length, demand = np.array([3, 2, 4, 2, 1]), np.array([2, 1, 2, 2, 1])
    before = np.array([(0, 2), (1, 3), (2, 4)])
    m = Model("resource-constrained project")
    start = m.integer("start", 5, upper=12)
    m.add("before", start[before[:, 1]] >= start[before[:, 0]] + length[before[:, 0]])
    m.cumulative(m.interval(start, length, start + length), demand, 3)
    m.minimize(np.max(start + length))
    return m


def max_min_fair_rates() -> Model:
    uses = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]])
    m = Model("max-min fair")
    rate, least = m.continuous("rate", 4), m.continuous("least")
    m.add("links", uses @ rate <= np.array([3.0, 4.0, 2.0]))
    m.add("fair", rate >= least)
    m.maximize(least + 0.001 * np.mean(rate))
    return m


def piecewise_cost_flow() -> Model:
    tails, heads = np.array([0, 0, 1, 1, 2]), np.array([1, 2, 2, 3, 3])
    m = Model("piecewise cost flow")
    flow = m.continuous("flow", 5, upper=6)
    net = flow.sum_by(tails, 4) - flow.sum_by(heads, 4)
    m.add("balance", net == np.array([8, 0, 0, -8]))
    cost = m.piecewise(flow, [0, 1, 4, 6], [0, 4, 6, 12])
    m.minimize(cost.sum())
    return m


def moldable_jobs() -> Model:
    work = np.array([[8, 5, 3, 2], [6, 4, 3, 3], [9, 5, 4, 3]])  # time by workers, from one on
    m = Model("moldable jobs")
    workers, start = m.integer("workers", 3, lower=1, upper=4), m.integer("start", 3, upper=20)
    times = np.stack([m.table(work[job], workers[job] - 1) for job in range(3)])
    m.cumulative(m.interval(start, times, start + times), workers, 4)
    m.minimize(np.max(start + times))
    return m


def portfolio() -> Model:
    gain = np.array([0.09, 0.07, 0.12, 0.05])
    swing = np.array([[0.2, 0.1, 0.3, 0.0], [0.1, 0.2, -0.1, 0.0], [0.0, 0.1, 0.2, 0.05]])
    m = Model("portfolio")  # swing: of each asset, by independent causes
    share, held = m.continuous("share", 4, upper=1), m.binary("held", 4)
    m.add("all", share.sum() == 1)
    m.add("few", held.sum() <= 3)
    m.add("least", share >= 0.1 * held)
    m.add("none", share <= held)
    m.minimize(4 * m.sum_of_squares(swing @ share) - gain @ share)
    return m
