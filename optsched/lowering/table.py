"""Tables: ``z = f[n]``, one binary per value of ``n`` that its bounds allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optsched.model.blocks import Table
from optsched.model.ranges import range_of

if TYPE_CHECKING:
    from optsched.model.model import Model


def lower_table(model: Model, block: Table) -> None:
    """Replace a table by a choice of exactly one of its entries: the convex hull of its graph."""
    least, most = range_of(block.index, model.domains())
    places = np.arange(len(block.table), dtype=float)
    open_ = (places >= least[..., None]) & (places <= most[..., None])
    chosen = model.integer(
        f"{block.name}:chosen", (*block.shape, len(places)), upper=open_.astype(float)
    )
    model.add(f"{block.name}:one", chosen.sum(axis=-1) == 1)
    model.add(f"{block.name}:index", (chosen * places).sum(axis=-1) == block.index)
    model.add(f"{block.name}:value", (chosen * block.table).sum(axis=-1) == block.result)
