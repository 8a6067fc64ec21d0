"""Random small models of every kind of block, few enough points to enumerate.

Statements may refer to the results of earlier ones, so that kinds are nested in each other. Most
sides are chosen so that one planted point stays feasible; some are not, and models without any
point come up as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from optsched.errors import InputError
from optsched.model import Model
from optsched.testing.recipe import STATEMENTS, Affine, Recipe, build

RANDOM_KINDS = tuple(k for k in STATEMENTS if k not in ("rotated_cone", "cumulative"))
"""What is drawn by default; "interval" includes a cumulative."""

Atom = tuple[str, int]

_BREAKS = 0.08  # share of sides that the planted point breaks


def random_model(rng: np.random.Generator, **settings: Any) -> Model:
    """A random small model; settings as for ``random_recipe``."""
    return build(random_recipe(rng, **settings))


def random_recipe(
    rng: np.random.Generator,
    *,
    kinds: Sequence[str] = RANDOM_KINDS,
    continuous: bool = False,
    fractional: bool = False,
    statements: int = 3,
) -> Recipe:
    """A random small model as plain data.

    Args:
        rng: source of randomness.
        kinds: of statement, each as likely as the others; a linear block comes on top.
        continuous: with one or two continuous variables, which products, maxima, indicators and
            rows may touch.
        fractional: with coefficients, sides and tables in quarters (and tenths where all
            variables are integer), not only whole numbers.
        statements: at most so many.

    Raises:
        InputError: an unknown kind.
    """
    for kind in kinds:
        if kind not in STATEMENTS:
            raise InputError.of("kinds", kind, "must be among " + ", ".join(STATEMENTS))
    draw = _Draw(rng, continuous, fractional)
    for _ in range(int(rng.integers(1, statements + 1))):
        draw.state(str(rng.choice(kinds)))
    for _ in range(int(rng.integers(0, 3))):
        draw.state("linear")
    return {
        "variables": draw.variables,
        "statements": draw.statements,
        "objective": draw.affine(max_terms=5, over=draw.atoms()),
        "maximise": bool(rng.random() < 0.5),
    }


class _Draw:
    """A model being drawn, with the planted point and the range of every entry."""

    def __init__(self, rng: np.random.Generator, continuous: bool, fractional: bool) -> None:
        self.rng = rng
        self.step = 1.0
        if fractional:
            self.step = 0.25 if continuous or rng.random() < 0.5 else 0.1
        self.variables: list[dict[str, Any]] = []
        self.statements: list[dict[str, Any]] = []
        self.low: dict[Atom, float] = {}
        self.high: dict[Atom, float] = {}
        self.point: dict[Atom, float] = {}
        self.whole: dict[Atom, bool] = {}
        count = self._count(1, 2 if continuous else 3)
        self._variable("x", "integer", count, (-2, 2), (0, 3))
        self._variable("b", "binary", self._count(2, 3 if continuous else 4), (0, 0), (1, 1))
        if continuous:
            self._variable("c", "continuous", self._count(1, 2), (-2, 1), (1, 3))

    def _count(self, least: int, most: int) -> int:
        return int(self.rng.integers(least, most + 1))

    def _variable(
        self, name: str, kind: str, count: int, start: tuple[int, int], width: tuple[int, int]
    ) -> None:
        lower = [self._count(*start) for _ in range(count)]
        upper = [low + self._count(*width) for low in lower]
        self.variables.append({"name": name, "kind": kind, "lower": lower, "upper": upper})
        for i, (low, high) in enumerate(zip(lower, upper, strict=True)):
            at = float(self._count(low, high))
            if kind == "continuous" and at < high:
                at += 0.25 * self._count(0, 3)
            self._atom((name, i), low, high, at, kind != "continuous")

    def _atom(self, atom: Atom, low: float, high: float, at: float, whole: bool) -> None:
        self.low[atom], self.high[atom] = float(low), float(high)
        self.point[atom], self.whole[atom] = at, whole

    # pieces of statements

    def atoms(self, *, whole: bool = False) -> list[Atom]:
        """What an expression may mention."""
        return [a for a in self.point if self.whole[a] or not whole]

    def binaries(self) -> list[Atom]:
        """What may be a literal."""
        return [
            a for a in self.atoms(whole=True) if self.low[a] >= 0 and self.high[a] <= 1
        ]  # fmt: skip

    def number(self, least: int, most: int) -> float:
        """A coefficient on the model's grid."""
        value = self._count(round(least / self.step), round(most / self.step)) * self.step
        return round(value, 2)

    def affine(
        self, *, max_terms: int = 2, over: Sequence[Atom] | None = None, whole: bool = False
    ) -> Affine:
        """A random affine expression; ``whole``: with whole numbers over whole variables."""
        over = self.atoms(whole=whole) if over is None else over
        chosen = self.rng.permutation(len(over))[: self._count(1, max_terms)]
        terms: Affine = [float(self._count(-2, 2)) if whole else self.number(-2, 2)]
        for i in chosen:
            c = float(self._count(-2, 2)) if whole else self.number(-3, 3)
            terms.append([c or 1.0, *over[i]])
        return terms

    def at(self, terms: Affine) -> float:
        """Value at the planted point."""
        return float(terms[0] + sum(c * self.point[n, i] for c, n, i in terms[1:]))

    def range(self, terms: Affine) -> tuple[float, float]:
        """Least and greatest value."""
        low = high = float(terms[0])
        for c, n, i in terms[1:]:
            ends = sorted((c * self.low[n, i], c * self.high[n, i]))
            low, high = low + ends[0], high + ends[1]
        return low, high

    def is_whole(self, terms: Affine) -> bool:
        """Whether an expression takes whole values only."""
        return float(terms[0]).is_integer() and all(
            self.whole[n, i] and float(c).is_integer() for c, n, i in terms[1:]
        )

    def literals(self, count: int) -> list[list[Any]]:
        """Entries of one block of binaries."""
        names = sorted({name for name, _ in self.binaries()})
        name = names[self._count(0, len(names) - 1)]
        entries = [a for a in self.binaries() if a[0] == name]
        return [list(entries[self._count(0, len(entries) - 1)]) for _ in range(count)]

    def binary(self, atom: Sequence[Any]) -> Affine:
        """A binary, or one minus it."""
        return [1.0, [-1.0, *atom]] if self.rng.random() < 0.3 else [0.0, [1.0, *atom]]

    def sides(self, rows: Sequence[Affine]) -> tuple[list[float | None], list[float | None]]:
        """Sides that the planted point satisfies, mostly."""
        lower: list[float | None] = []
        upper: list[float | None] = []
        for row in rows:
            value = self.at(row)
            value += self.step * self._count(-3, 3) if self.rng.random() < _BREAKS else 0.0
            room = [round(value + s * self.step * self._count(0, 4), 4) for s in (-1, 1)]
            sort = self._count(0, 3)
            lower.append([None, room[0], room[0], round(value, 4)][sort])
            upper.append([room[1], None, room[1], round(value, 4)][sort])
        return lower, upper

    def state(self, kind: str) -> None:
        """Draw a statement."""
        name = f"{kind}{len(self.statements)}"
        drawn = _DRAWERS[kind](self, name, self._count(1, 2))
        self.statements.append({"kind": kind, "name": name, **drawn})

    def result(
        self, name: str, values: Sequence[float], ranges: Sequence[tuple[float, float]], whole: bool
    ) -> None:
        """Make the results of a statement known to later ones."""
        for i, (value, (low, high)) in enumerate(zip(values, ranges, strict=True)):
            self._atom((name, i), low, high, value, whole)


def _linear(d: _Draw, name: str, size: int) -> dict[str, Any]:
    rows = [d.affine(max_terms=3) for _ in range(size)]
    lower, upper = d.sides(rows)
    return {"rows": rows, "lower": lower, "upper": upper}


def _indicator(d: _Draw, name: str, size: int) -> dict[str, Any]:
    count = d._count(1, 2)
    return {
        "literals": [d.literals(size) for _ in range(count)],
        "active": [bool(d.rng.random() < 0.6) for _ in range(count)],
        **_linear(d, name, size),
    }


def _product(d: _Draw, name: str, size: int) -> dict[str, Any]:
    if d.rng.random() < 0.5:
        left = [d.binary(atom) for atom in d.literals(size)]
    else:
        left = [d.affine(whole=True) for _ in range(size)]
    right = [d.affine() for _ in range(size)]
    if d.rng.random() < 0.5:
        left, right = right, left
    values = [d.at(a) * d.at(b) for a, b in zip(left, right, strict=True)]
    corners = [
        [p * q for p in d.range(a) for q in d.range(b)] for a, b in zip(left, right, strict=True)
    ]
    whole = all(d.is_whole(t) for t in (*left, *right))
    d.result(name, values, [(min(c), max(c)) for c in corners], whole)
    return {"left": left, "right": right}


def _table(d: _Draw, name: str, size: int) -> dict[str, Any]:
    length = d._count(2, 6)
    values = [d.number(-4, 4) for _ in range(length)]
    index = []
    for _ in range(size):
        terms = d.affine(max_terms=1, whole=True)
        # most points of its range lie in the table, the planted one almost always
        shift = -d.range(terms)[0] if d.rng.random() < 0.6 else -d.at(terms) + d._count(0, 1)
        index.append([terms[0] + shift, *terms[1:]])
    at = [int(np.clip(d.at(t), 0, length - 1)) for t in index]
    whole = all(float(v).is_integer() for v in values)
    d.result(name, [values[i] for i in at], [(min(values), max(values))] * size, whole)
    return {"values": values, "index": index}


def _active_slot(d: _Draw, name: str, size: int) -> dict[str, Any]:
    last = name.startswith("last")
    width = d._count(1, 4)
    activity = [[d.binary(a) for a in d.literals(size)] for _ in range(width)]
    slots, times = None, [float(t) for t in range(width)]
    if d.rng.random() < 0.5:
        times = [round(float(t), 2) for t in np.cumsum([d._count(1, 3) * d.step] * width)]
        slots = times
    empty = None
    outside = times[0] - 1 if last else times[-1] + 1
    if d.rng.random() < 0.4:
        outside = empty = times[0] - d._count(0, 2) if last else times[-1] + d._count(0, 2)
    values = []
    for entry in range(size):
        on = [t for t, column in zip(times, activity, strict=True) if d.at(column[entry]) == 1]
        values.append((on[-1] if last else on[0]) if on else outside)
    spread = (outside, times[-1]) if last else (times[0], outside)
    whole = all(float(t).is_integer() for t in (*times, outside))
    d.result(name, values, [spread] * size, whole)
    return {"activity": activity, "slots": slots, "empty": empty}


def _extremum(d: _Draw, name: str, size: int) -> dict[str, Any]:
    arguments = [[d.affine() for _ in range(size)] for _ in range(d._count(1, 3))]
    pick = max if name.startswith("maximum") else min
    columns = list(zip(*arguments, strict=True))
    values = [pick(d.at(t) for t in column) for column in columns]
    spreads = [[d.range(t) for t in column] for column in columns]
    ranges = [(pick(low for low, _ in s), pick(high for _, high in s)) for s in spreads]
    d.result(name, values, ranges, all(d.is_whole(t) for a in arguments for t in a))
    return {"arguments": arguments}


def _absolute(d: _Draw, name: str, size: int) -> dict[str, Any]:
    of = [d.affine() for _ in range(size)]
    ranges = [(0.0, max(map(abs, d.range(t)))) for t in of]
    d.result(name, [abs(d.at(t)) for t in of], ranges, all(map(d.is_whole, of)))
    return {"of": of}


def _rotated_cone(d: _Draw, name: str, size: int) -> dict[str, Any]:
    u, v = ([d.affine(whole=True) for _ in range(size)] for _ in range(2))
    w = [[d.affine(whole=True) for _ in range(size)] for _ in range(d._count(1, 2))]
    for entry in range(size):
        squares = sum(d.at(part[entry]) ** 2 for part in w)
        v[entry][0] += max(0.0, 1 - d.at(v[entry]))
        u[entry][0] += max(0.0, np.ceil(squares / d.at(v[entry])) - d.at(u[entry]))
    return {"u": u, "v": v, "w": w}


def _interval(d: _Draw, name: str, size: int) -> dict[str, Any]:
    """Tasks, and the resource they share."""
    tasks = size + 1
    start = [d.affine(max_terms=1, whole=True) for _ in range(tasks)]
    duration: list[Affine] = []
    for _ in range(tasks):
        terms: Affine = [float(d._count(0, 3))]
        if d.rng.random() < 0.4:
            terms = d.affine(max_terms=1, whole=True)
            terms[0] += max(0.0, -d.at(terms))
        duration.append(terms)
    end = [[s[0] + t[0], *s[1:], *t[1:]] for s, t in zip(start, duration, strict=True)]
    if d.rng.random() < 0.3:  # an end of its own, which the statement ties to the rest
        free = d.affine(max_terms=1, whole=True)
        end[0] = [free[0] + d.at(end[0]) - d.at(free), *free[1:]]
    presence = d.literals(tasks) if d.rng.random() < 0.6 else None
    demand: list[Affine] = [[float(d._count(0, 2))] for _ in range(tasks)]
    if d.rng.random() < 0.3:
        terms = d.affine(max_terms=1, whole=True)
        demand[0] = [terms[0] - d.range(terms)[0], *terms[1:]]
    load = [
        sum(
            d.at(q)
            for s, e, q, i in zip(start, end, demand, range(tasks), strict=True)
            if d.at(s) <= d.at(moment) < d.at(e)
            and (presence is None or d.point[presence[i][0], presence[i][1]] == 1)
        )
        for moment in start
    ]
    capacity: Affine = [float(max(load) + d._count(-1, 1))]
    if d.rng.random() < 0.3:
        capacity = d.affine(max_terms=1, whole=True)
        capacity[0] += max(load) - d.at(capacity)
    d.statements.append(
        {"kind": "interval", "name": f"{name}:tasks", "start": start, "duration": duration,
         "end": end, "presence": presence}
    )  # fmt: skip
    return {"kind": "cumulative", "tasks": f"{name}:tasks", "demand": demand, "capacity": capacity}


_DRAWERS: dict[str, Callable[[_Draw, str, int], dict[str, Any]]] = {
    "linear": _linear,
    "indicator": _indicator,
    "product": _product,
    "table": _table,
    "last_active": _active_slot,
    "first_active": _active_slot,
    "maximum": _extremum,
    "minimum": _extremum,
    "absolute": _absolute,
    "rotated_cone": _rotated_cone,
    "interval": _interval,
}
