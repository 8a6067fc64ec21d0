"""A compiled model as CP-SAT's protocol buffer, all numbers integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.model.expression import Floats
from optsched.solvers.cpsat.blocks import add_blocks
from optsched.solvers.cpsat.implications import negated
from optsched.solvers.cpsat.integer import IntegerModel
from optsched.solvers.cpsat.writer import ProtoWriter


def build(model: IntegerModel, start: Floats | None = None) -> Any:
    """The solver's model; its first columns are those of the compiled model.

    Args:
        model: what to solve.
        start: a point to begin from, shape (columns,), NaN if nothing is known.

    Raises:
        UnsupportedError: a row cannot be scaled to integers finely enough, or a block's numbers
            are not whole or too large.
    """
    compiled = model.compiled
    writer = ProtoWriter(model, start)
    names = [(first, name) for name, (first, _) in compiled.row_blocks.items()]
    writer.add_compiled_rows(compiled.rows, names)
    for block in compiled.indicators:
        literals = block.literals.astype(np.int64)
        literals = np.where(block.active, literals, negated(literals))
        writer.add_compiled_rows(block.rows, [(0, block.name)], literals)
    add_blocks(writer, compiled)
    proto = writer.finish()
    if model.objective is not None:
        used = np.flatnonzero(model.objective.coefficients)
        proto.objective.vars.extend(used.tolist())
        proto.objective.coeffs.extend(model.objective.coefficients[used].tolist())
        proto.objective.offset = model.offset * model.unit
        proto.objective.scaling_factor = model.sign
    return proto
