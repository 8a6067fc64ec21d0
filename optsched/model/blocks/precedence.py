"""Precedence of tasks, and tasks done in one of several ways, as rows that hold if present."""

from __future__ import annotations

from typing import Literal

from numpy.typing import ArrayLike

from optsched.errors import ModelError
from optsched.model.base import ModelBase
from optsched.model.blocks.indicator import indicator
from optsched.model.blocks.intervals import Intervals
from optsched.model.expression import Expression, Relation

Point = Literal["start", "end"]


def precedence(
    model: ModelBase,
    first: Intervals,
    then: Intervals,
    lag: Expression | ArrayLike = 0.0,
    *,
    from_: Point = "end",
    to: Point = "start",
    name: str | None = None,
) -> None:
    """Require that tasks follow others, if both are present.

    Args:
        model: that requires it.
        first: tasks that go first, shapes broadcast.
        then: tasks that follow.
        lag: least time between the two; if it is negative, they may overlap by as much.
        from_: which point of ``first`` the lag is counted from.
        to: which point of ``then`` must not come before.
        name: of the rows or indicators.

    Example:
        >>> m = Model()
        >>> start = m.integer("start", 2, upper=9)
        >>> cut = m.interval(start[0], 3, start[0] + 3)
        >>> glue = m.interval(start[1], 2, start[1] + 2)
        >>> m.precedence(cut, glue, lag=1)
        >>> m.minimize(start[1])
        >>> solve(m, "cpsat").objective
        4.0
    """
    name = model.free_name(name, "precedence")
    earlier, later = getattr(first, from_), getattr(then, to)
    _where_present(model, name, later >= earlier + lag, first.presence, then.presence)


def alternative(
    model: ModelBase, task: Intervals, ways: Intervals, *, name: str | None = None
) -> None:
    """Require that each task that is present is done in exactly one of several ways.

    Args:
        model: that requires it.
        task: shape (...,).
        ways: shape (..., n): each with its own presence, and the one present starts and ends
            with the task. Of an absent task no way is present.
        name: of the rows, ``name:one``, ``name:start`` and ``name:end``.

    Example:
        >>> m = Model("on the slow machine or on the fast one, which is taken until 4")
        >>> start, end = m.integer("start", upper=9), m.integer("end", upper=9)
        >>> job = m.interval(start, end - start, end)
        >>> begin = m.integer("begin", 2, lower=[0, 4], upper=9)
        >>> ways = m.interval(begin, [7, 2], begin + [7, 2], presence=m.binary("on", 2))
        >>> m.alternative(job, ways)
        >>> m.minimize(end)
        >>> solve(m, "cpsat").objective
        6.0
    """
    name = model.free_name(name, "alternative")
    if ways.shape[:-1] != task.shape or not ways.presence.terms:
        raise ModelError(
            f"block {name!r}: ways of shape {ways.shape} for tasks of shape {task.shape}; ways "
            "have one axis more, and a presence"
        )
    model.add(f"{name}:one", ways.presence.sum(axis=-1) == task.presence)
    for point in ("start", "end"):
        whole = getattr(task, point).reshape(*task.shape, 1)
        _where_present(model, f"{name}:{point}", getattr(ways, point) == whole, ways.presence)


def _where_present(model: ModelBase, name: str, row: Relation, *presences: Expression) -> None:
    """A row, or an indicator of the presences that are variables."""
    if literals := [one for one in presences if one.terms]:
        indicator(model, literals, row, name=name)
    else:
        model.add(name, row)
