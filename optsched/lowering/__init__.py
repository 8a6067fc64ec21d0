"""What a solver does not take natively, as exact linear rows: one file per kind of block.

Each pass takes the model being built and one block, and adds variables and rows that say the
same; it may use other kinds of block, which are lowered in turn. Rotated cones have no exact
linear form: they are left to solvers that take them and to outer approximation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from optsched.errors import UnsupportedError
from optsched.lowering.active_slot import lower_active_slot
from optsched.lowering.cumulative import lower_cumulative, lower_intervals
from optsched.lowering.indicator import lower_indicator
from optsched.lowering.maximum import lower_maximum
from optsched.lowering.product import lower_product
from optsched.lowering.table import lower_table

if TYPE_CHECKING:
    from optsched.model.model import Model

PASSES: dict[str, Callable[[Any, Any], None]] = {
    "cumulative": lower_cumulative,
    "intervals": lower_intervals,
    "active_slot": lower_active_slot,
    "maximum": lower_maximum,
    "table": lower_table,
    "product": lower_product,
    "indicator": lower_indicator,
}
"""In the order in which they are applied: a pass may use the kinds after its own."""


def lower(model: Model, native: frozenset[str]) -> Model:
    """The model with every block lowered that is neither linear nor of a native kind.

    Variables it adds come after the model's own, and their names start with the block's.

    Raises:
        ModelError: a block lacks the bounds its rows need; the message names the variable.
    """
    if all(b.kind == "linear" or b.kind in native for b in model.blocks.values()):
        return model
    if any(b.kind == "rotated_cone" for b in model.blocks.values()) and (
        "rotated_cone" not in native
    ):
        raise UnsupportedError("a rotated cone has no exact linear form")
    lowered = model.copy()
    for kind, apply in PASSES.items():
        if kind in native:
            continue
        for block in [b for b in lowered.blocks.values() if b.kind == kind]:
            before = lowered.blocks
            place = list(before).index(block.name)
            lowered.blocks = {name: b for name, b in before.items() if name != block.name}
            apply(lowered, block)
            # rows stand where their block stood
            entries = list(lowered.blocks.items())
            old, new = entries[: len(before) - 1], entries[len(before) - 1 :]
            lowered.blocks = dict(old[:place] + new + old[place:])
    return lowered
