"""Tasks one after the other with set-up times, as an order of every pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from optsched.errors import ModelError
from optsched.model.base import ModelBase
from optsched.model.blocks.indicator import indicator
from optsched.model.expression import Expression
from optsched.model.given_numbers import given_numbers
from optsched.model.variables import Variable


def no_overlap(
    model: ModelBase,
    start: Expression,
    duration: Expression | ArrayLike,
    setup: ArrayLike = 0.0,
    *,
    name: str | None = None,
) -> Variable:
    """Keep tasks on one machine apart, with a set-up time between any two of them.

    Every two tasks get a pair of indicators. If there are no set-up times and all tasks take time,
    ``Model.cumulative`` with a capacity of 1 means the same, and solvers may support it. A task of
    duration 0 differs: here it is before or after every other task, there it may be within one.

    Args:
        model: that requires it.
        start: shape (tasks,), bounded.
        duration: one per task or one for all.
        setup: time between the end of task i and the start of a later task j, shape
            (tasks, tasks), or one for all.
        name: of the new variable block, and of the indicators, ``name:before`` and ``name:after``.

    Returns:
        For every pair i < j (in the order of ``np.triu_indices``) whether i goes first.

    Example:
        >>> m = Model()
        >>> start = m.integer("start", shape=3, upper=20)
        >>> order = m.no_overlap(start, [3, 2, 4], [[0, 1, 5], [5, 0, 1], [1, 5, 0]])
        >>> m.minimize(m.maximum(start + np.array([3, 2, 4])))
        >>> solve(m, solver="cpsat").objective
        11.0
    """
    name = model.free_name(name, "no_overlap")
    if start.ndim != 1:
        raise ModelError(f"block {name!r}: tasks must form one axis, not shape {start.shape}")
    count = start.size
    start, length = model.alike(name, start, duration)
    try:
        between = np.broadcast_to(given_numbers(f"block {name!r}", setup), (count, count))
    except ValueError:
        shape = np.shape(setup)
        raise ModelError(f"block {name!r}: set-ups of shape {shape} for {count} tasks") from None
    one, other = np.triu_indices(count, 1)
    first = model.result(name, one.shape, (0.0, 1.0), whole=True)
    end = start + length
    pairs = (("before", one, other, True), ("after", other, one, False))
    for word, i, j, active in pairs:
        row = start[j] >= end[i] + between[i, j]
        indicator(model, first, row, active=active, name=f"{name}:{word}")
    return first
