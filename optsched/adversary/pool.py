"""The values that a field of a file may have, learned from generated files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

WIDE = 100.0
"""Ratio of largest to smallest from which on values are drawn by their logarithm."""

OFTEN = 4
"""Times that every value of a place is met if there are but these; of numbers drawn from a range
some are met once."""


@dataclass(frozen=True)
class Pool:
    """What values stand in like places of generated files."""

    values: tuple[Any, ...]
    """Different ones, in the order met."""
    rarest: int = 1
    """How often each was met, at least."""

    @cached_property
    def numeric(self) -> bool:
        return all(number(value) is not None for value in self.values)

    @cached_property
    def low(self) -> float:
        return min(number(value) or 0.0 for value in self.values)

    @cached_property
    def high(self) -> float:
        return max(number(value) or 0.0 for value in self.values)

    @cached_property
    def whole(self) -> bool:
        return all((number(value) or 0.0).is_integer() for value in self.values)

    @cached_property
    def choice(self) -> bool:
        """Whether values are some of a few, with others between them that are never met."""
        if not self.numeric or self.rarest < OFTEN:
            return False
        return not self.whole or len(self.values) < self.high - self.low + 1

    @cached_property
    def typical(self) -> Any:
        """The median of numbers; of other things the first met."""
        if not self.numeric:
            return self.values[0]
        return sorted(self.values, key=lambda value: number(value) or 0.0)[len(self.values) // 2]

    def admits(self, value: Any) -> bool:
        """Whether a generated file may hold it, as far as ranges tell."""
        if not self.numeric or self.choice:
            return value in self.values
        found = number(value)
        return (
            found is not None
            and self.low <= found <= self.high
            and (not self.whole or found.is_integer())
        )

    def draw(self, rng: np.random.Generator) -> Any:
        """A value seen, the least or the largest, or any between these."""
        what = rng.random()
        if not self.numeric or what < 0.4:
            return self.values[rng.integers(len(self.values))]
        return self._between(float(rng.integers(2)) if what < 0.7 else float(rng.random()))

    def nudge(self, value: Any, rng: np.random.Generator) -> Any:
        """A value near by; any other if there is no near."""
        if not self.numeric:
            return self.draw(rng)
        step = float(rng.choice([-1.0, 1.0])) * 2.0 ** -float(rng.uniform(0, 8))
        moved = self._between(min(1.0, max(0.0, self._place(number(value) or 0.0) + step)))
        if self.whole and moved == value and not self.choice:
            moved = type(value)(min(self.high, max(self.low, value + math.copysign(1, step))))
        return moved

    @property
    def _logarithmic(self) -> bool:
        return self.low > 0 and self.high > WIDE * self.low

    def _place(self, value: float) -> float:
        """Where a value lies between the least, 0, and the largest, 1."""
        if self._logarithmic:
            return math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low or 1.0)

    def _between(self, place: float) -> Any:
        if self._logarithmic:
            value = self.low * (self.high / self.low) ** place
        else:
            value = self.low + (self.high - self.low) * place
        return self.nearest(value)

    def nearest(self, value: float) -> Any:
        """What a generated file may hold that is nearest to a number."""
        if self.choice:
            return min(self.values, key=lambda seen: abs((number(seen) or 0.0) - value))
        value = min(self.high, max(self.low, round(value) if self.whole else value))
        return int(value) if all(type(seen) is int for seen in self.values) else float(value)


def number(value: Any) -> float | None:
    """The number that a value of a file spells; None if it is none."""
    if isinstance(value, bool) or value is None or isinstance(value, list | dict):
        return None
    try:
        return float(Fraction(value)) if isinstance(value, str) else float(value)
    except (ValueError, ZeroDivisionError):
        return None
