"""First and last active slot: ``z = max{t : x_t = 1}`` by suffixes, the minimum by prefixes.

``s_t`` says whether any slot from ``t`` on is active; it is fixed by ``x`` and so need not be
declared integer. The last active slot is then a sum of steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from optsched.errors import ModelError
from optsched.model.base import Block, Entries, Linear, ModelBase
from optsched.model.expression import Expression, Floats, Shape
from optsched.model.given_numbers import given_numbers
from optsched.model.latex import FormulaWriter, letters_of
from optsched.model.ranges import is_binary
from optsched.model.variables import Variable
from optsched.model.words import Writer


def last_active(
    model: ModelBase,
    activity: Expression,
    slots: ArrayLike | None = None,
    *,
    empty: float | None = None,
    name: str | None = None,
    formula: str = "",
) -> Variable:
    """Return the last slot whose binary is 1.

    Args:
        model: that says it.
        activity: binary, the last axis is time.
        slots: ascending values of that axis; by default 0, 1, ...
        empty: value if no slot is active, at most the first slot; by default one less.
        name: of the new variable block.
        formula: LaTeX.

    Example:
        >>> m = Model()
        >>> runs = m.binary("runs", shape=4)
        >>> completion = m.last_active(runs, slots=[1, 2, 3, 4])
        >>> m.add("work", runs.sum() >= 2)
        >>> m.add("busy", runs[0] == 0)
        >>> m.minimize(completion)
        >>> solve(m).objective
        3.0
    """
    return _active_slot(model, activity, slots, empty, name, formula, last=True)


def first_active(
    model: ModelBase,
    activity: Expression,
    slots: ArrayLike | None = None,
    *,
    empty: float | None = None,
    name: str | None = None,
    formula: str = "",
) -> Variable:
    """Return the first slot whose binary is 1.

    Args:
        model: that says it.
        activity: binary, the last axis is time.
        slots: ascending values of that axis; by default 0, 1, ...
        empty: value if no slot is active, at least the last slot; by default one more.
        name: of the new variable block.
        formula: LaTeX.

    Example:
        >>> m = Model()
        >>> on = m.binary("on", 5)
        >>> m.add("long", on.sum() >= 2)
        >>> m.maximize(m.first_active(on))
        >>> solve(m).objective
        3.0
    """
    return _active_slot(model, activity, slots, empty, name, formula, last=False)


def _active_slot(
    model: ModelBase,
    activity: Expression,
    slots: ArrayLike | None,
    empty: float | None,
    name: str | None,
    formula: str,
    *,
    last: bool,
) -> Variable:
    name = model.free_name(name, "last_active" if last else "first_active")
    model.check_own(f"block {name!r}", activity)
    if activity.ndim == 0 or activity.shape[-1] == 0:
        raise ModelError(f"block {name!r}: activity needs an axis of slots")
    if not is_binary(activity, model.domains()):
        raise ModelError(f"block {name!r}: activity must be binary")
    width = activity.shape[-1]
    time = given_numbers(f"block {name!r}", np.arange(width) if slots is None else slots)
    if time.shape != (width,) or not np.all(np.diff(time) > 0):
        raise ModelError(f"block {name!r}: slots must ascend, one per entry of the last axis")
    outside = time[0] - 1 if last else time[-1] + 1
    if empty is not None:
        outside = np.float64(empty)
    if (outside > time[0]) if last else (outside < time[-1]):
        raise ModelError(f"block {name!r}: the value for no active slot lies among the slots")
    bounds = (outside, time[-1]) if last else (time[0], outside)
    whole = bool(np.all(time == np.round(time)) and outside == np.round(outside))
    result = model.result(name, activity.shape[:-1], bounds, whole=whole, formula=formula)
    model.add_block(ActiveSlot(name, formula, result, activity, time, float(outside), last))
    return result


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
    becomes = (Linear,)
    how = "a chain of suffixes of the activity; the slot is a sum of steps"

    @property
    def shape(self) -> Shape:
        return self.result.shape

    def excess(self, x: Floats) -> Floats:
        on = np.round(self.activity.at(x)) == 1
        value = np.where(on, self.slots, -np.inf if self.last else np.inf)
        value = value.max(axis=-1) if self.last else value.min(axis=-1)
        value = np.where(on.any(axis=-1), value, self.empty)
        return np.asarray(np.abs(self.result.at(x) - value))

    def lower(self, model: ModelBase) -> None:
        """Rows over the suffixes, or prefixes, of the activity."""
        # the first slot is the last one counted backwards
        order = slice(None) if self.last else slice(None, None, -1)
        activity = self.activity[..., order]
        slots = self.slots[order]
        seen = model.continuous(f"{self.name}:seen", activity.shape, upper=1.0)
        model.add(f"{self.name}:here", seen >= activity)
        if len(slots) > 1:
            now, later = seen[..., :-1], seen[..., 1:]
            model.add(f"{self.name}:stays", now >= later)
            model.add(f"{self.name}:starts", now <= activity[..., :-1] + later)
        model.add(f"{self.name}:end", seen[..., -1] <= activity[..., -1])
        steps = np.diff(slots, prepend=self.empty)
        model.add(f"{self.name}:value", self.result == (seen * steps).sum(axis=-1) + self.empty)

    def words(self, writer: Writer, entries: Entries) -> list[str]:
        word = "last" if self.last else "first"
        results, listed = writer.sums(self.result, entries), writer.lists(self.activity, entries)
        return [f"{z} = {word} active of {x}" for z, x in zip(results, listed, strict=True)]

    def latex(self, writer: FormulaWriter) -> str:
        word = r"\max" if self.last else r"\min"
        result, activity = writer.expression(self.result), writer.expression(self.activity)
        slot = letters_of(self.activity.shape)[-1]
        return rf"{result} = {word} \{{{slot} : {activity} = 1\}}"
