"""First and last active slot: ``z = max{t : x_t = 1}`` by suffixes, the minimum by prefixes.

``s_t`` says whether any slot from ``t`` on is active; it is fixed by ``x`` and so need not be
declared integer. The last active slot is then a sum of steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optsched.model.blocks import ActiveSlot

if TYPE_CHECKING:
    from optsched.model.model import Model


def lower_active_slot(model: Model, block: ActiveSlot) -> None:
    """Replace a first or last active slot by rows over its suffixes or prefixes."""
    # the first slot is the last one counted backwards
    order = slice(None) if block.last else slice(None, None, -1)
    activity = block.activity[..., order]
    slots = block.slots[order]
    seen = model.continuous(f"{block.name}:seen", activity.shape, upper=1.0)
    model.add(f"{block.name}:here", seen >= activity)
    if len(slots) > 1:
        now, later = seen[..., :-1], seen[..., 1:]
        model.add(f"{block.name}:stays", now >= later)
        model.add(f"{block.name}:starts", now <= activity[..., :-1] + later)
    model.add(f"{block.name}:end", seen[..., -1] <= activity[..., -1])
    steps = np.diff(slots, prepend=block.empty)
    model.add(f"{block.name}:value", block.result == (seen * steps).sum(axis=-1) + block.empty)
