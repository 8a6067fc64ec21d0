"""Small models of the families in which solvers are known to lie, few enough points to enumerate.

Lot sizing, fixed charges, flows with gains, jobs in sequence, amounts that are nothing or at least
something, and knapsacks filled exactly; with big constants of 1e4 to 1e8 where a tight one would
do, objectives in units from 1e-7 to 1e7, a cost that is out of proportion to the others, columns in
no row, and coefficients of zero. All numbers are sums of powers of two except the costs, so that
exact arithmetic reads them as they are meant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from support.recipe import Affine, Recipe

from optsched.errors import InputError

Atom = tuple[str, int]


def structured_recipe(rng: np.random.Generator, family: str | None = None) -> Recipe:
    """A model of a family, by default any, as plain data.

    ``"scale"`` of the recipe is the size of its costs, by which values are to be judged.

    Raises:
        InputError: an unknown family.
    """
    if family is None:
        family = str(rng.choice(FAMILIES))
    if family not in _DRAWERS:
        raise InputError.of("family", family, "must be among " + ", ".join(FAMILIES))
    draw = _Draw(rng)
    _DRAWERS[family](draw)
    return draw.recipe()


class _Draw:
    """A model being drawn: columns, rows, and a cost of ordinary size for each column."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.variables: list[dict[str, Any]] = []
        self.rows: list[tuple[Affine, float | None, float | None]] = []
        self.cost: dict[Atom, float] = {}
        self.maximise = False
        self.big = 10.0 ** self.count(4, 8) if self.chance(0.7) else None

    def count(self, least: int, most: int) -> int:
        return int(self.rng.integers(least, most + 1))

    def quarter(self, least: int, most: int) -> float:
        """A number between whole ones, in quarters half of the time."""
        return self.count(4 * least, 4 * most) / 4 if self.chance(0.5) else self.count(least, most)

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def column(
        self, name: str, kind: str, count: int, upper: float | None = None, lower: float | None = 0
    ) -> list[Atom]:
        """A block of like columns without costs."""
        most = 1.0 if kind == "binary" else upper
        self.variables.append(
            {"name": name, "kind": kind, "lower": [lower] * count, "upper": [most] * count}
        )
        return [(name, i) for i in range(count)]

    def charge(self, atoms: list[Atom], least: int, most: int) -> None:
        """A cost for each column."""
        for atom in atoms:
            self.cost[atom] = self.quarter(least, most)

    def row(
        self, terms: list[tuple[float, Atom]], lower: float | None, upper: float | None
    ) -> None:
        self.rows.append(([0.0, *([c, *atom] for c, atom in terms)], lower, upper))

    def switch(self, amount: Atom, on: Atom, tight: float) -> None:
        """``amount <= M on``, with a big M or a tight one."""
        self.row([(1.0, amount), (-(self.big or tight), on)], None, 0.0)

    def recipe(self) -> Recipe:
        """What was drawn, with what every family may have on top."""
        if self.chance(0.3):
            self._columns_in_no_row()
        if self.chance(0.2):
            row, _, _ = self.rows[self.count(0, len(self.rows) - 1)]
            named = {(name, index) for _, name, index in row[1:]}
            row += [[0.0, *atom] for atom in self.cost if atom not in named][:2]
        if self.chance(0.1):  # a linear program
            for block in self.variables:
                block["kind"] = "continuous"
        unit = 10.0 ** self.count(-7, 7) if self.chance(0.6) else 1.0
        costs = {atom: unit * c for atom, c in self.cost.items()}
        if self.chance(0.15):
            odd = list(costs)[self.count(0, len(costs) - 1)]
            costs[odd] *= 10.0 ** self.count(-7, 3)
        sides = [[low for _, low, _ in self.rows], [high for _, _, high in self.rows]]
        return {
            "variables": self.variables,
            "statements": [
                {"kind": "linear", "name": "rows", "rows": [terms for terms, _, _ in self.rows],
                 "lower": sides[0], "upper": sides[1]}
            ],
            "objective": [0.0, *([c, *atom] for atom, c in costs.items())],
            "maximise": self.maximise,
            "scale": max(map(abs, costs.values()), default=1.0) or 1.0,
        }  # fmt: skip

    def _columns_in_no_row(self) -> None:
        """Now and then one without the bound that matters."""
        kind = "integer" if self.chance(0.5) else "continuous"
        endless = kind == "continuous" and self.chance(0.3)
        lower = None if endless and self.chance(0.5) else float(self.count(-2, 0))
        upper, count = (1.0, 1) if kind == "integer" else (None if endless else 2.0, 2)
        loose = self.column("loose", kind, count, upper, lower)
        self.charge(loose, -3, 3)


def _lot_sizing(d: _Draw) -> None:
    """Demands per period, met from production that has to be set up, and from stock."""
    periods = d.count(2, 3)
    demand = [d.quarter(0, 20) for _ in range(periods)]
    made = d.column("made", "continuous", periods, None if d.chance(0.5) else 40.0)
    stock = d.column("stock", "continuous", periods, None if d.chance(0.7) else 15.0)
    set_up = d.column("set_up", "binary", periods)
    d.charge(set_up, 1, 60)
    d.charge(made, 0, 3)
    d.charge(stock, 0, 4)
    for t in range(periods):
        before = [(1.0, stock[t - 1])] if t else []
        d.row([*before, (1.0, made[t]), (-1.0, stock[t])], demand[t], demand[t])
        d.switch(made[t], set_up[t], sum(demand))
    if d.chance(0.4):
        lots = d.column("lots", "integer", 1, 4.0)
        d.row([(1.0, made[0]), (-d.quarter(2, 8), lots[0])], 0.0, 0.0)
        d.charge(lots, 0, 5)


def _fixed_charge(d: _Draw) -> None:
    """Transport from two sources to two sinks; a lane costs something once it is used."""
    supply, demand = [d.quarter(5, 30) for _ in range(2)], [d.quarter(1, 15) for _ in range(2)]
    flow = d.column("flow", "continuous", 4)
    lane = d.column("lane", "binary", 4)
    d.charge(lane, 0, 50)
    d.charge(flow, 0, 6)
    for k in range(2):
        d.row([(1.0, flow[2 * k + j]) for j in range(2)], None, supply[k])
        d.row([(1.0, flow[2 * i + k]) for i in range(2)], demand[k], None)
    for i in range(4):
        d.switch(flow[i], lane[i], demand[i % 2])


def _gains(d: _Draw) -> None:
    """A chain of nodes with parallel arcs that lose or gain on the way; what arrives is worth."""
    nodes = d.count(2, 3)
    arcs = [(n, k) for n in range(nodes) for k in range(2)]
    flow = d.column("flow", "continuous", len(arcs), None if d.chance(0.3) else 16.0)
    units = d.column("units", "integer", 2, 3.0)
    arrive = {n: [(d.quarter(1, 6) / 4, flow[i]) for i, a in enumerate(arcs) if a[0] == n]
              for n in range(nodes)}  # fmt: skip
    d.row([(1.0, flow[0]), (1.0, flow[1])], None, d.quarter(4, 20))
    for n in range(1, nodes):
        leave = [(-1.0, flow[i]) for i, a in enumerate(arcs) if a[0] == n]
        d.row([*arrive[n - 1], *leave], 0.0 if d.chance(0.5) else -d.quarter(0, 3), None)
    for k in range(2):
        last = flow[len(arcs) - 2 + k]
        d.row([(1.0, last), (-d.quarter(1, 6), units[k])], None, 0.0)
    d.row(arrive[nodes - 1], d.quarter(0, 6), None)
    d.charge(flow, 0, 3)
    d.charge(units, 0, 9)
    if d.chance(0.5):
        d.maximise = True
        for c, atom in arrive[nodes - 1]:
            d.cost[atom] = 6 * c


def _sequence(d: _Draw) -> None:
    """Jobs on one machine: of two, one ends before the other starts."""
    jobs = d.count(2, 3)
    length = [d.quarter(1, 8) for _ in range(jobs)]
    horizon = sum(length) + 10
    start = d.column("start", "continuous", jobs, None if d.chance(0.4) else horizon)
    pairs = [(i, j) for i in range(jobs) for j in range(i)]
    first = d.column("first", "binary", len(pairs))
    big = d.big or horizon + 10
    for (i, j), order in zip(pairs, first, strict=True):
        d.row([(1.0, start[j]), (-1.0, start[i]), (-big, order)], length[i] - big, None)
        d.row([(1.0, start[i]), (-1.0, start[j]), (big, order)], length[j], None)
    d.charge(start, 1, 9)
    for i in range(jobs):
        if d.chance(0.5):
            d.row([(1.0, start[i])], d.quarter(0, 6), d.quarter(7, 14) if d.chance(0.4) else None)


def _nothing_or_enough(d: _Draw) -> None:
    """Amounts that are zero or at least something, and add up."""
    count = d.count(2, 4)
    amount = d.column("amount", "continuous", count)
    on = d.column("on", "binary", count)
    for i in range(count):
        least, most = d.quarter(1, 5), d.quarter(5, 12)
        d.switch(amount[i], on[i], most)
        d.row([(1.0, amount[i]), (-least, on[i])], 0.0, None)
        if d.big:
            d.row([(1.0, amount[i])], None, most)
    total = d.quarter(0, 30)
    d.row([(1.0, a) for a in amount], total, total if d.chance(0.6) else None)
    if d.chance(0.4):
        d.row([(1.0, one) for one in on], 1.0, float(d.count(1, count)))
    d.charge(on, 0, 20)
    d.charge(amount, 0, 5)


def _exact_knapsack(d: _Draw) -> None:
    """Whole numbers whose weights add up to a number; with or without a rest that costs."""
    count = d.count(3, 5)
    take = d.column("take", "integer", count, float(d.count(1, 3)))
    size = 2 if d.chance(0.5) else 200
    weight = [float(d.count(3, 20 * size)) for _ in take]
    point = [d.count(0, 2) for _ in take]
    total = sum(w * min(p, 1) for w, p in zip(weight, point, strict=True)) + d.count(-1, 1)
    terms = list(zip(weight, take, strict=True))
    if d.chance(0.4):
        rest = d.column("rest", "continuous", 2, None if d.chance(0.5) else d.quarter(1, 5))
        terms += [(1.0, rest[0]), (-1.0, rest[1])]
        d.charge(rest, 1, 40)
    d.row(terms, total, total)
    d.charge(take, -5, 20)
    if d.chance(0.4):
        d.row([(float(d.count(1, 9)), atom) for atom in take], None, float(d.count(5, 30)))


_DRAWERS: dict[str, Callable[[_Draw], None]] = {
    "lot sizing": _lot_sizing,
    "fixed charge": _fixed_charge,
    "gains": _gains,
    "sequence": _sequence,
    "nothing or enough": _nothing_or_enough,
    "exact knapsack": _exact_knapsack,
}
FAMILIES = tuple(_DRAWERS)
