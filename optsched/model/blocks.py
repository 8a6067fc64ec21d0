"""Kinds of constraint block a model may hold, each able to judge a point.

Linear rows are one kind among others. A nonlinear or logical block keeps what the paper wrote;
what a solver does not take as it is, ``optsched.lowering`` turns into linear rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from optsched.model.expression import Expression, Floats, Relation, Shape


@dataclass(frozen=True, eq=False)
class Block(ABC):
    """A named block of constraints, one per entry of its shape."""

    name: str
    formula: str
    """LaTeX, as in the paper; may be empty."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """One constraint per entry."""

    @abstractmethod
    def excess(self, x: Floats) -> Floats:
        """How far a point is from satisfying each entry, in its own units; <= 0 is satisfied."""

    def expressions(self) -> tuple[Expression, ...]:
        """Every expression the block mentions."""
        found: list[Expression] = []
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, Expression):
                found.append(value)
            elif isinstance(value, Relation):
                found.append(value.expression)
            elif isinstance(value, tuple):
                found += [v for v in value if isinstance(v, Expression)]
        return tuple(found)


@dataclass(frozen=True, eq=False)
class Linear(Block):
    """``lower <= expression <= upper``."""

    relation: Relation
    kind = "linear"

    @property
    def shape(self) -> Shape:
        return self.relation.expression.shape

    def excess(self, x: Floats) -> Floats:
        return relation_excess(self.relation, x)

    def expressions(self) -> tuple[Expression, ...]:
        return (self.relation.expression,)


@dataclass(frozen=True, eq=False)
class Indicator(Block):
    """A relation that must hold where all literals are true."""

    literals: tuple[Expression, ...]
    """Binary variables, each of the relation's shape."""
    active: tuple[bool, ...]
    """The value that makes each literal true."""
    relation: Relation
    kind = "indicator"

    @property
    def shape(self) -> Shape:
        return self.relation.expression.shape

    def excess(self, x: Floats) -> Floats:
        on = np.ones(self.shape, dtype=bool)
        for literal, active in zip(self.literals, self.active, strict=True):
            on &= np.round(literal.at(x)) == active
        return np.where(on, relation_excess(self.relation, x), 0.0)


@dataclass(frozen=True, eq=False)
class Product(Block):
    """``result = left * right``, at least one factor integer and bounded."""

    result: Expression
    left: Expression
    right: Expression
    kind = "product"

    @property
    def shape(self) -> Shape:
        return self.result.shape

    def excess(self, x: Floats) -> Floats:
        product = self.left.at(x) * self.right.at(x)
        return np.abs(self.result.at(x) - product) / np.maximum(1.0, np.abs(product))


@dataclass(frozen=True, eq=False)
class Table(Block):
    """``result = values[index]`` for an integer expression ``index``."""

    result: Expression
    index: Expression
    table: Floats
    """Shape (n,): the index lies in 0..n-1."""
    kind = "table"

    @property
    def shape(self) -> Shape:
        return self.result.shape

    def excess(self, x: Floats) -> Floats:
        index = np.round(self.index.at(x)).astype(np.int64)
        outside = (index < 0) | (index >= len(self.table))
        value = self.table[np.clip(index, 0, len(self.table) - 1)]
        gap = np.abs(self.result.at(x) - value) / np.maximum(1.0, np.abs(value))
        return np.where(outside, np.inf, gap)


@dataclass(frozen=True, eq=False)
class ActiveSlot(Block):
    """``result`` = the first or last slot whose binary is 1, or ``empty`` where none is."""

    result: Expression
    activity: Expression
    """Binary, shape (*shape, slots)."""
    slots: Floats
    """Ascending, shape (slots,)."""
    empty: float
    """Value without an active slot: at most the first slot (last), at least the last (first)."""
    last: bool
    kind = "active_slot"

    @property
    def shape(self) -> Shape:
        return self.result.shape

    def excess(self, x: Floats) -> Floats:
        on = np.round(self.activity.at(x)) == 1
        value = np.where(on, self.slots, -np.inf if self.last else np.inf)
        value = value.max(axis=-1) if self.last else value.min(axis=-1)
        value = np.where(on.any(axis=-1), value, self.empty)
        return np.asarray(np.abs(self.result.at(x) - value))


@dataclass(frozen=True, eq=False)
class Maximum(Block):
    """``result = max(arguments)``; with ``sign = -1``, the minimum."""

    result: Expression
    arguments: Expression
    """Shape (*shape, n)."""
    sign: int
    kind = "maximum"

    @property
    def shape(self) -> Shape:
        return self.result.shape

    def excess(self, x: Floats) -> Floats:
        value = self.sign * (self.sign * self.arguments.at(x)).max(axis=-1)
        return np.asarray(np.abs(self.result.at(x) - value) / np.maximum(1.0, np.abs(value)))


@dataclass(frozen=True, eq=False)
class RotatedCone(Block):
    """``u * v >= sum(w ** 2)`` with ``u, v >= 0``."""

    u: Expression
    v: Expression
    w: Expression
    """Shape (*shape, n)."""
    kind = "rotated_cone"

    @property
    def shape(self) -> Shape:
        return self.u.shape

    def excess(self, x: Floats) -> Floats:
        """Distance measure ``|(2w, u - v)| - (u + v)``, relative to ``max(1, u + v)``.

        It is in the units of u and v, and zero or less exactly on the cone.
        """
        u, v, w = self.u.at(x), self.v.at(x), self.w.at(x)
        norm = np.sqrt((2 * w) ** 2 @ np.ones(w.shape[-1]) + (u - v) ** 2)
        return np.asarray((norm - (u + v)) / np.maximum(1.0, np.abs(u + v)))


@dataclass(frozen=True, eq=False)
class Intervals(Block):
    """Tasks in time: ``start + duration = end`` where present, duration non-negative."""

    start: Expression
    duration: Expression
    end: Expression
    presence: Expression
    """Binary, or the constant 1; an absent task binds nothing."""
    kind = "intervals"

    @property
    def shape(self) -> Shape:
        return self.start.shape

    def excess(self, x: Floats) -> Floats:
        duration = self.duration.at(x)
        apart = np.abs(self.start.at(x) + duration - self.end.at(x))
        present = np.round(self.presence.at(x)) == 1
        return np.where(present, np.maximum(apart, -duration), 0.0)


@dataclass(frozen=True, eq=False)
class Cumulative(Block):
    """At every moment, the demands of the tasks under way stay within the capacity.

    A task occupies [start, end); with one resource there is one constraint, so the shape is ().
    """

    start: Expression
    """Shape (tasks,)."""
    end: Expression
    presence: Expression
    demand: Expression
    """Shape (tasks,), non-negative."""
    capacity: Expression
    """Shape ()."""
    kind = "cumulative"

    @property
    def shape(self) -> Shape:
        return ()

    def excess(self, x: Floats) -> Floats:
        start, end = np.round(self.start.at(x)), np.round(self.end.at(x))
        present = np.round(self.presence.at(x)) == 1
        demand = np.where(present & (end > start), self.demand.at(x), 0.0)
        # load changes only at starts, so the greatest load is found at one of them
        under_way = (start <= start[:, None]) & (start[:, None] < end)
        load = (under_way @ demand).max(initial=0.0)
        return np.asarray(load - self.capacity.at(x))


def relation_excess(relation: Relation, x: Floats) -> Floats:
    """By how much a point lies outside each row, relative to ``max(1, |side|)``."""
    expression = relation.expression
    activity = Expression(expression.model, expression.shape, expression.terms).at(x)
    excess = np.full(expression.shape, -np.inf)
    for side, sign in ((relation.lower, -1.0), (relation.upper, 1.0)):
        finite = np.isfinite(side)
        value = np.where(finite, side, 0.0)
        over = sign * (activity - value) / np.maximum(1.0, np.abs(value))
        excess = np.maximum(excess, np.where(finite, over, -np.inf))
    return excess
