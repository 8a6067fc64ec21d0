"""A random model being drawn: its variables, and a planted point that most statements keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from support.recipe import Affine

Atom = tuple[str, int]

_BREAKS = 0.08  # share of sides that the planted point breaks


class Drawing:
    """A model being drawn, with the planted point and the range of every entry."""

    def __init__(self, rng: np.random.Generator, continuous: bool, fractional: bool) -> None:
        self.rng = rng
        self.continuous = continuous
        self.points = 1
        """How many the integers of the variables have together."""
        self.step = 1.0
        if fractional:
            self.step = 0.25 if continuous or rng.random() < 0.5 else 0.1
        self.variables: list[dict[str, Any]] = []
        self.statements: list[dict[str, Any]] = []
        self.low: dict[Atom, float] = {}
        self.high: dict[Atom, float] = {}
        self.point: dict[Atom, float] = {}
        self.whole: dict[Atom, bool] = {}
        count = self.count(1, 2 if continuous else 3)
        self.variable("x", "integer", count, (-2, 2), (0, 3))
        self.variable("b", "binary", self.count(2, 3 if continuous else 4), (0, 0), (1, 1))
        if continuous:
            self.variable("c", "continuous", self.count(1, 2), (-2, 1), (1, 3))

    def count(self, least: int, most: int) -> int:
        """A whole number from one to the other."""
        return int(self.rng.integers(least, most + 1))

    def variable(
        self, name: str, kind: str, count: int, start: tuple[int, int], width: tuple[int, int]
    ) -> None:
        """A block of variables, bounds at random between those given."""
        lower = [self.count(*start) for _ in range(count)]
        upper = [low + self.count(*width) for low in lower]
        self.variables.append({"name": name, "kind": kind, "lower": lower, "upper": upper})
        for i, (low, high) in enumerate(zip(lower, upper, strict=True)):
            at = float(self.count(low, high))
            if kind == "continuous" and at < high:
                at += 0.25 * self.count(0, 3)
            self.own((name, i), low, high, at, kind != "continuous")

    def atom(self, atom: Atom, low: float, high: float, at: float, whole: bool) -> None:
        """A variable that has been declared, and where the planted point has it."""
        self.low[atom], self.high[atom] = float(low), float(high)
        self.point[atom], self.whole[atom] = at, whole

    def own(self, atom: Atom, low: float, high: float, at: float, whole: bool) -> None:
        """A variable that is free to choose, and not the result of a statement."""
        self.atom(atom, low, high, at, whole)
        if whole:
            self.points *= int(high - low) + 1

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
        value = self.count(round(least / self.step), round(most / self.step)) * self.step
        return round(value, 2)

    def affine(
        self, *, max_terms: int = 2, over: Sequence[Atom] | None = None, whole: bool = False
    ) -> Affine:
        """A random affine expression; ``whole``: with whole numbers over whole variables."""
        over = self.atoms(whole=whole) if over is None else over
        chosen = self.rng.permutation(len(over))[: self.count(1, max_terms)]
        terms: Affine = [float(self.count(-2, 2)) if whole else self.number(-2, 2)]
        for i in chosen:
            c = float(self.count(-2, 2)) if whole else self.number(-3, 3)
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
        name = names[self.count(0, len(names) - 1)]
        entries = [a for a in self.binaries() if a[0] == name]
        return [list(entries[self.count(0, len(entries) - 1)]) for _ in range(count)]

    def binary(self, atom: Sequence[Any]) -> Affine:
        """A binary, or one minus it."""
        return [1.0, [-1.0, *atom]] if self.rng.random() < 0.3 else [0.0, [1.0, *atom]]

    def sides(self, rows: Sequence[Affine]) -> tuple[list[float | None], list[float | None]]:
        """Sides that the planted point satisfies, mostly."""
        lower: list[float | None] = []
        upper: list[float | None] = []
        for row in rows:
            value = self.at(row)
            value += self.step * self.count(-3, 3) if self.rng.random() < _BREAKS else 0.0
            room = [round(value + s * self.step * self.count(0, 4), 4) for s in (-1, 1)]
            sort = self.count(0, 3)
            lower.append([None, room[0], room[0], round(value, 4)][sort])
            upper.append([room[1], None, room[1], round(value, 4)][sort])
        return lower, upper

    def result(
        self, name: str, values: Sequence[float], ranges: Sequence[tuple[float, float]], whole: bool
    ) -> None:
        """Make the results of a statement known to later ones."""
        for i, (value, (low, high)) in enumerate(zip(values, ranges, strict=True)):
            self.atom((name, i), low, high, value, whole)
