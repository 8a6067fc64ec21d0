"""Tasks on a resource, lowered to a time-indexed model of starts and lengths.

For every task and slot, binaries say whether it has started and whether it has not yet ended;
where both hold it is under way, and its demand counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from optsched.errors import ModelError
from optsched.model.base import Block, Entries, Linear, ModelBase
from optsched.model.blocks.indicator import Indicator, indicator
from optsched.model.blocks.intervals import Intervals
from optsched.model.blocks.product import Product, product
from optsched.model.expression import Expression, Floats, Shape
from optsched.model.latex import FormulaWriter, letters_of
from optsched.model.ranges import are_integral, finite_range, range_of
from optsched.model.words import Writer


def cumulative(
    model: ModelBase,
    tasks: Intervals,
    demand: Expression | ArrayLike,
    capacity: Expression | ArrayLike,
    *,
    name: str | None = None,
    formula: str = "",
) -> None:
    """Require that the tasks under way never demand more than the capacity.

    ``Model.cumulative_profile`` takes demands that change with the age of a task.

    Args:
        model: that requires it.
        tasks: what ``interval`` gave, shape (tasks,).
        demand: integer and non-negative, one per task or one for all.
        capacity: a single integer expression or number.
        name: of the block.
        formula: LaTeX.

    Example:
        >>> m = Model()
        >>> start = m.integer("start", shape=3, upper=10)
        >>> length = np.array([3, 2, 2])
        >>> tasks = m.interval(start, length, start + length)
        >>> m.cumulative(tasks, demand=[2, 1, 1], capacity=2)
        >>> m.minimize(m.maximum(start + length))
        >>> solve(m, solver="cpsat").objective
        5.0
    """
    name = model.free_name(name, "cumulative")
    room = checked_capacity(model, name, tasks, capacity)
    asked = model.as_expression(demand).broadcast_to(tasks.shape)
    domains = model.domains()
    if (range_of(asked, domains)[0] < 0).any():
        raise ModelError(f"block {name!r}: a demand may be negative")
    if not are_integral(domains, asked, room):
        raise ModelError(f"block {name!r}: demands and capacity must be integer")
    there = tasks.presence
    model.add_block(Cumulative(name, formula, tasks.start, tasks.end, there, asked, room))


def checked_capacity(
    model: ModelBase, name: str, tasks: Intervals, capacity: Expression | ArrayLike
) -> Expression:
    """Return a single capacity for one axis of tasks, shape ().

    Raises:
        ModelError: shapes do not fit, or variables are of another model.
    """
    if len(tasks.shape) != 1:
        raise ModelError(f"block {name!r}: tasks must form one axis, not shape {tasks.shape}")
    room = model.as_expression(capacity)
    model.check_own(f"block {name!r}", room, tasks.start)
    if room.size != 1:
        raise ModelError(f"block {name!r}: one capacity, not shape {room.shape}")
    return room.reshape()


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
    becomes = (Linear, Indicator, Product)
    how = "binaries per task and slot say what is under way; one capacity row per slot"

    @property
    def shape(self) -> Shape:
        return ()

    def excess(self, x: Floats) -> Floats:
        start, end = np.round(self.start.at(x)), np.round(self.end.at(x))
        present = np.round(self.presence.at(x)) == 1
        demand = present * self.demand.at(x)
        # load changes only at starts, so the greatest load is found at one of them
        under_way = (start <= start[:, None]) & (start[:, None] < end)
        load = (under_way @ demand).max(initial=0.0)
        return np.asarray(load - self.capacity.at(x))

    def lower(self, model: ModelBase) -> None:
        """Time-indexed rows.

        Raises:
            ModelError: a start or end is not integer, or lacks a bound.
        """
        domains, name = model.domains(), self.name
        if not are_integral(domains, self.start, self.end):
            raise ModelError(f"block {name!r}: starts and ends must be integer")
        if (range_of(self.capacity, domains)[0] < 0).any():  # no task under way needs zero
            model.add(f"{name}:idle", self.capacity >= 0)
        first, _ = finite_range(name, self.start, domains, model.column_name)
        _, last = finite_range(name, self.end, domains, model.column_name)
        tasks = self.start.size
        if tasks == 0:
            return
        slots = np.arange(int(first.min()), int(last.max()))
        shape = (tasks, len(slots))
        started, going, busy = (
            model.binary(f"{name}:{word}", shape) for word in ("started", "going", "busy")
        )
        start, end, presence, demand = (
            e.reshape(tasks, 1).broadcast_to(shape)
            for e in (self.start, self.end, self.presence, self.demand)
        )
        for word, literal, on, row in (
            ("started on", started, True, start <= slots),
            ("started off", started, False, start >= slots + 1),
            ("going on", going, True, end >= slots + 1),
            ("going off", going, False, end <= slots),
        ):
            indicator(model, literal, row, active=on, name=f"{name}:{word}")
        model.add(f"{name}:busy", busy >= started + going + presence - 2)
        if demand.terms:
            used: Expression = product(model, busy, demand, name=f"{name}:used")
        else:
            used = busy * np.broadcast_to(demand.constant, shape)
        model.add(f"{name}:capacity", used.sum(axis=0) <= self.capacity)

    def words(self, writer: Writer, entries: Entries) -> list[str]:
        room = writer.sums(self.capacity, np.zeros(1, dtype=np.int64))[0]
        return [f"load of {self.start.size} tasks <= {room}"] * len(entries)

    def latex(self, writer: FormulaWriter) -> str:
        start, end = writer.expression(self.start), writer.expression(self.end)
        load = writer.factor(self.demand)
        if self.presence.terms:
            load = rf"{load}\, {writer.expression(self.presence)}"
        index = letters_of(self.start.shape)[0]
        under = rf"\sum_{{{index} :\, {start} \le t < {end}}}"
        return rf"{under} {load} \le {writer.expression(self.capacity)} \quad \forall t"
