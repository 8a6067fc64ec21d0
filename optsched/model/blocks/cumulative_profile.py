"""Tasks whose demand changes with their age, lowered to a time-indexed model.

A binary stands for each start and duration that a task may have. The task's demand in every slot is
then known, so a row per slot needs no product.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optsched.errors import ModelError
from optsched.model.base import Block, Entries, Linear, ModelBase
from optsched.model.blocks.cumulative import checked_capacity
from optsched.model.blocks.indicator import Indicator, indicator
from optsched.model.blocks.intervals import Intervals
from optsched.model.expression import Expression, Floats, Shape
from optsched.model.given_numbers import given_numbers
from optsched.model.latex import FormulaWriter, letters_of
from optsched.model.ranges import are_integral, finite_range, range_of
from optsched.model.words import Writer

Integers = NDArray[np.int64]


def cumulative_profile(
    model: ModelBase,
    tasks: Intervals,
    demand: Iterable[ArrayLike],
    capacity: Expression | ArrayLike,
    *,
    name: str | None = None,
    formula: str = "",
) -> None:
    """Require that tasks whose demand changes with their age never demand more than the capacity.

    A task has age ``a`` in slot ``start + a``. If demands do not change, ``Model.cumulative`` says
    the same with less.

    Args:
        model: that requires it.
        tasks: what ``interval`` gave, shape (tasks,), with bounded durations.
        demand: integers, at least 0: a row per task, or one row for all. Entry ``a`` is the demand
            at age ``a``. Each row reaches the longest duration of its task; entries beyond the
            duration do not count.
        capacity: a single integer expression or number.
        name: of the block.
        formula: LaTeX.

    Example:
        >>> m = Model()
        >>> start, length = m.integer("start", shape=2, upper=9), np.array([3, 2])
        >>> tasks = m.interval(start, length, start + length)
        >>> m.cumulative_profile(tasks, demand=[[1, 2, 3], [3, 1]], capacity=4)
        >>> m.minimize(start.sum())
        >>> solve(m).objective
        0.0
    """
    name = model.free_name(name, "cumulative_profile")
    room, domains = checked_capacity(model, name, tasks, capacity), model.domains()
    if not are_integral(domains, room):
        raise ModelError(f"block {name!r}: the capacity must be integer")
    rows = _checked_rows(f"block {name!r}", demand, tasks.start.size)
    _, longest = finite_range(name, tasks.duration, domains, model.column_name)
    ages = np.zeros((len(rows), int(longest.max(initial=0.0))))
    for task, (row, most) in enumerate(zip(rows, longest, strict=True)):
        if len(row) < most:
            raise ModelError(
                f"block {name!r}: task {task} may last {most:.0f}, demands are given for ages "
                f"below {len(row)}; allowed are rows that reach the longest duration"
            )
        ages[task, : len(row)] = row[: ages.shape[1]]
    start, there = tasks.start, tasks.presence
    model.add_block(CumulativeProfile(name, formula, start, tasks.duration, there, ages, room))


def _checked_rows(where: str, demand: Iterable[ArrayLike], tasks: int) -> list[Floats]:
    """The demands of each task by age."""
    try:
        rows = [given_numbers(where, row) for row in demand]
    except TypeError:
        raise ModelError(
            f"{where}: demands by age are rows of numbers; Model.cumulative takes a demand that is "
            "variable, or the same at every age"
        ) from None
    if not any(row.ndim for row in rows):
        rows = [np.array(rows)]
    if len(rows) == 1:
        rows *= tasks
    if len(rows) != tasks or any(row.ndim != 1 for row in rows):
        raise ModelError(
            f"{where}: {len(rows)} rows of demands for {tasks} tasks; allowed are a list of "
            "numbers for each, or one for all"
        )
    for task, row in enumerate(rows):
        wrong = ~np.isfinite(row) | (row < 0) | (row != np.rint(row))
        if wrong.any():
            age = int(np.argmax(wrong))
            raise ModelError(f"{where}: task {task} demands {row[age]:g} at age {age}; allowed are "
                             "integers, at least 0")  # fmt: skip
    return rows


@dataclass(frozen=True, eq=False)
class CumulativeProfile(Block):
    """In every slot, the demands of the tasks under way, each at its age, fit the capacity.

    A present task occupies [start, start + duration); with one resource the shape is ().
    """

    start: Expression
    """Shape (tasks,)."""
    duration: Expression
    presence: Expression
    demand: Floats
    """At each age, shape (tasks, ages); non-negative integers."""
    capacity: Expression
    """Shape ()."""
    kind = "cumulative_profile"
    becomes = (Linear, Indicator)
    how = "a binary per task, start and duration; one capacity row per slot"

    @property
    def shape(self) -> Shape:
        return ()

    def excess(self, x: Floats) -> Floats:
        start, duration = (np.round(e.at(x))[:, None] for e in (self.start, self.duration))
        present = np.round(self.presence.at(x))[:, None] == 1
        age = np.arange(self.demand.shape[1])
        under_way = present & (age < duration)
        _, slot = np.unique((start + age)[under_way], return_inverse=True)
        load = np.bincount(slot, self.demand[under_way]).max(initial=0.0)
        return np.asarray(load - self.capacity.at(x))

    def lower(self, model: ModelBase) -> None:
        """Time-indexed rows.

        Raises:
            ModelError: a start or duration lacks a bound.
        """
        domains, name, tasks = model.domains(), self.name, self.start.size
        if (range_of(self.capacity, domains)[0] < 0).any():  # no task under way needs zero
            model.add(f"{name}:idle", self.capacity >= 0)
        if tasks == 0:
            return
        (first, last), (shortest, longest) = (
            np.array(finite_range(name, e, domains, model.column_name), dtype=np.int64)
            for e in (self.start, self.duration)
        )
        starts, durations = (np.maximum(0, e + 1) for e in (last - first, longest - shortest))
        task, place = _numbered(starts * durations)
        start = first[task] + place // durations[task]
        duration = shortest[task] + place % durations[task]
        chosen = model.binary(f"{name}:chosen", len(task))
        model.add(f"{name}:one", chosen.sum_by(task, tasks) == self.presence)
        linked = {"start": (start, self.start), "duration": (duration, self.duration)}
        for word, (value, stated) in linked.items():
            if not stated.terms:  # every choice has this one value
                continue
            row = (chosen * value).sum_by(task, tasks) == stated
            if self.presence.terms:
                indicator(model, self.presence, row, name=f"{name}:{word}")
            else:
                model.add(f"{name}:{word}", row)
        import scipy.sparse as sp

        column, age = _numbered(np.maximum(0, duration))
        asked = self.demand[task[column], age]
        busy = asked > 0
        slots, slot = np.unique((start[column] + age)[busy], return_inverse=True)
        shape = len(slots), len(task)
        load = sp.csr_array((asked[busy], (slot, column[busy])), shape=shape) @ chosen
        model.add(f"{name}:capacity", load <= self.capacity)

    def pieces(self, shortest: Floats, longest: Floats) -> tuple[Integers, Integers, Integers]:
        """Split each task into runs of ages with the same demand; runs without demand are left out.

        Each age that a task may not reach is a run.

        Args:
            shortest: least duration of each task, shape (tasks,).
            longest: greatest duration of each task, shape (tasks,).

        Returns:
            Task, first age, and the age after the last, by run.
        """
        ages = np.arange(self.demand.shape[1])
        begins = (np.diff(self.demand, prepend=-1.0) != 0) | (ages >= shortest[:, None])
        task, first = np.nonzero(begins & (ages < longest[:, None]))
        more = np.append(task[1:], -1) == task
        end = np.where(more, np.append(first[1:], 0), longest[task]).astype(np.int64)
        some = self.demand[task, first] > 0
        return task[some], first[some], end[some]

    def words(self, writer: Writer, entries: Entries) -> list[str]:
        room = writer.sums(self.capacity, np.zeros(1, dtype=np.int64))[0]
        return [f"load of {self.start.size} tasks, demands by age, <= {room}"] * len(entries)

    def latex(self, writer: FormulaWriter) -> str:
        start, end = (writer.expression(e) for e in (self.start, self.start + self.duration))
        index = letters_of(self.start.shape)[0]
        load = rf"q_{{{index}}}(t - {writer.factor(self.start)})"
        if self.presence.terms:
            load = rf"{load}\, {writer.expression(self.presence)}"
        under = rf"\sum_{{{index} :\, {start} \le t < {end}}}"
        return rf"{under} {load} \le {writer.expression(self.capacity)} \quad \forall t"


def _numbered(counts: Integers) -> tuple[Integers, Integers]:
    """Owner of each item, and its number among the owner's items."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - (np.cumsum(counts) - counts)[owner]
