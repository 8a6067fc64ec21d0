"""Which blocks a solver supports, which are lowered for it, and to how many rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optsched.errors import ModelError
from optsched.model import Block, Model
from optsched.model.words import aligned
from optsched.solvers.registry import backend


@dataclass(frozen=True)
class LoweredBlock:
    """One block on its way to one solver."""

    name: str
    kind: str
    native: bool
    """Whether the solver takes it as it is; linear rows always are."""
    rows: int
    """Linear rows that stand for it; its own for a linear block, 0 for other native ones."""
    columns: int
    """Variables added for it."""
    largest: float
    """Largest absolute coefficient in these rows (for an indicator, its big M); 0 without rows."""
    why: str


@dataclass(frozen=True)
class LoweringReport:
    """Every block, in the model's order."""

    model: str
    solver: str
    blocks: tuple[LoweredBlock, ...]

    @property
    def columns(self) -> int:
        """Variables that lowering adds."""
        return sum(b.columns for b in self.blocks)

    @property
    def rows(self) -> int:
        """Linear rows that the solver gets."""
        return sum(b.rows for b in self.blocks)

    def __str__(self) -> str:
        head = ("block", "kind", "taken", "rows", "columns", "largest")
        cells = [head] + [
            (f"({b.name})"[:34], b.kind, "as it is" if b.native else "lowered", str(b.rows),
             str(b.columns), f"{b.largest:g}")
            for b in self.blocks
        ]  # fmt: skip
        lines = [f"{self.model} for {self.solver}", *aligned(cells, range(3, len(head)))]
        reasons = dict.fromkeys(f"  {b.kind}: {b.why}" for b in self.blocks if b.kind != "linear")
        return "\n".join([*lines, *reasons])


def explain_lowering(model: Model, solver: str = "highs") -> LoweringReport:
    """Which blocks the solver takes as they are, and what the others become.

    A block that cannot be lowered, for want of bounds, says so in ``why``.

    Raises:
        InputError: an unknown solver.

    Example:
        >>> from optsched import Model
        >>> from optsched.analysis.lowering_report import explain_lowering
        >>> m = Model()
        >>> load = m.integer("load", 3, upper=5)
        >>> z = m.maximum(load, name="peak")
        >>> "peak" in str(explain_lowering(m, "highs"))
        True
    """
    native = backend(solver).native
    blocks = tuple(_lowered(model, block, solver, native) for block in model.blocks.values())
    return LoweringReport(model.name, solver, blocks)


def _lowered(model: Model, block: Block, solver: str, native: frozenset[str]) -> LoweredBlock:
    name, kind = block.name, block.kind
    if kind in native:
        return LoweredBlock(name, kind, True, 0, 0, 0.0, f"{solver} takes it as it is")
    linear = kind == "linear"
    why = block.how if linear else f"{solver} does not take it: {block.how}"
    if not (linear or block.becomes):
        return LoweredBlock(name, kind, False, 0, 0, 0.0, why)
    alone = model.copy()
    alone.blocks = {name: block}
    alone.minimize(0.0)
    try:
        compiled = alone.compile(native)
    except ModelError as refusal:
        return LoweredBlock(name, kind, False, 0, 0, 0.0, f"cannot be lowered: {refusal}")
    largest = float(np.abs(compiled.rows.matrix.data).max(initial=0.0))
    added = len(compiled.cost) - model.columns
    return LoweredBlock(name, kind, linear, compiled.rows.count, added, largest, why)
