"""Maxima and minima: the result meets one of the arguments and passes none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optsched.model.blocks import Maximum
from optsched.model.ranges import finite_range

if TYPE_CHECKING:
    from optsched.model.model import Model


def lower_maximum(model: Model, block: Maximum) -> None:
    """Replace a maximum by a choice of the argument it equals.

    An argument that can never be the greatest, as another always exceeds it, is not chosen.

    Raises:
        ModelError: an argument lacks a bound; the message names the variable.
    """
    arguments = block.arguments * float(block.sign)
    least, most = finite_range(block.name, arguments, model.domains(), model.column_name)
    floor = least.max(axis=-1, keepdims=True)
    ceiling = most.max(axis=-1, keepdims=True)
    may_win = (most >= floor).astype(float)
    result = (block.result * float(block.sign)).reshape(*block.shape, 1)
    wins = model.integer(f"{block.name}:wins", arguments.shape, upper=may_win)
    model.add(f"{block.name}:above", result >= arguments)
    # where the argument does not win, it may lie below the result by this much and no more
    slack = np.broadcast_to(ceiling, most.shape) - least
    model.add(f"{block.name}:meets", result <= arguments + slack - wins * slack)
    model.add(f"{block.name}:one", wins.sum(axis=-1) == 1)
