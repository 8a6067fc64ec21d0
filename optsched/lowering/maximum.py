"""Maxima and minima: the result meets one of the arguments and passes none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optsched.model.blocks import Maximum
from optsched.model.expression import Floats
from optsched.model.ranges import finite_range, without_noise

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
    may_win = (most >= floor).astype(float)
    result = (block.result * float(block.sign)).reshape(*block.shape, 1)
    wins = model.integer(f"{block.name}:wins", arguments.shape, upper=may_win)
    model.add(f"{block.name}:above", result >= arguments)
    # where the argument does not win, another is the result: it lies this far above at most
    slack = np.maximum(0.0, without_noise(_greatest_other(most) - least, least))
    model.add(f"{block.name}:meets", result <= arguments + slack - wins * slack)
    model.add(f"{block.name}:one", wins.sum(axis=-1) == 1)


def _greatest_other(most: Floats) -> Floats:
    """Greatest value along the last axis without the entry itself; its own where it is alone."""
    if most.shape[-1] == 1:
        return most
    ranked = np.sort(most, axis=-1)
    first, second = ranked[..., -1:], ranked[..., -2:-1]
    return np.where(most == first, second, first)
