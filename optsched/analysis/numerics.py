"""The numbers of a model: how far apart they lie, and which rows tolerances make doubtful."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from optsched.model import Model
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.model.words import aligned
from optsched.solvers.registry import backend
from optsched.solvers.repairs.tightening import LARGE, tightened
from optsched.solvers.scaling import with_whole_bounds
from optsched.solvers.tolerances import INTEGRALITY, NOTICEABLE, row_tolerances, switches


@dataclass(frozen=True)
class ConditionedBlock:
    """The numbers of one block of rows. Without rows, or such rows, a size is 0."""

    name: str
    rows: int
    smallest: float
    """Size of the smallest coefficient that is not zero."""
    largest: float
    """Size of the largest coefficient."""
    switched: int
    """Rows with a big M: a coefficient of an integer column of 1,000 or more beside a continuous
    column. The solver is given a smaller one where bounds imply it."""
    big_m: float
    """The largest of these coefficients as written."""
    implied: float
    """The largest that is left of them where bounds imply smaller ones, ten binary digits of it."""
    by_whole: float
    """What the solver's tolerance for whole numbers lets through a row that it is given, in units
    of the row: a millionth of the row's largest coefficient of an integer column beside a
    continuous one."""
    by_row: float
    """What the model's check of a point lets through, at most: a millionth of the row's side less
    what integer columns contribute, and at least a millionth."""


@dataclass(frozen=True)
class Conditioning:
    """Every block of rows a solver is given, in the model's order.

    Example:
        >>> from optsched import Model
        >>> from optsched.analysis.numerics import conditioning
        >>> m = Model()
        >>> on, load = m.binary("on"), m.continuous("load", upper=2e6)
        >>> m.add("off", load <= 2e6 * on)
        >>> conditioning(m).doubtful
        ('off',)
    """

    model: str
    solver: str
    costs: tuple[float, float]
    """Sizes of the smallest and the largest cost that are not zero."""
    blocks: tuple[ConditionedBlock, ...]

    @property
    def doubtful(self) -> tuple[str, ...]:
        """Blocks through which a tolerance lets a tenth of a unit or more."""
        return tuple(b.name for b in self.blocks if max(b.by_whole, b.by_row) >= NOTICEABLE)

    def __str__(self) -> str:
        head = ("block", "rows", "coefficients", "big M", "in rows", "implied",
                "by whole", "by row")  # fmt: skip
        cells = [head] + [
            (f"({b.name})"[:34], str(b.rows), _span(b.smallest, b.largest),
             f"{b.big_m:.6g}" if b.switched else "", str(b.switched or ""),
             f"{b.implied:.6g}" if b.switched else "", f"{b.by_whole:.2g}", f"{b.by_row:.2g}")
            for b in self.blocks
        ]  # fmt: skip
        lines = [f"{self.model} for {self.solver}; costs {_span(*self.costs)}"]
        lines += aligned(cells, range(1, len(head)))
        if self.doubtful:
            lines.append("tolerances let a tenth or more through: " + ", ".join(self.doubtful))
        return "\n".join(lines)


def conditioning(model: Model, solver: str = "highs") -> Conditioning:
    """How far apart a model's numbers lie, and what tolerances let through its rows.

    Blocks that the solver does not take are lowered first, under the names of the rows they become.
    Blocks it takes as they are, and rotated cones, have no rows.

    Raises:
        InputError: an unknown solver.
        ModelError: the model cannot be compiled.

    Example:
        >>> m = Model("one machine")
        >>> load, on = m.continuous("load", upper=40), m.binary("on")
        >>> m.add("open", load <= 1e6 * on)
        >>> m.add("work", load >= 12)
        >>> m.minimize(load + 100 * on)
        >>> print(conditioning(m))
        one machine for highs; costs 1 .. 100
          block   rows  coefficients  big M  in rows  implied  by whole   by row
          (open)     1    1 .. 1e+06  1e+06        1  40.0625     4e-05    4e-05
          (work)     1             1                                  0  1.2e-05
    """
    form = with_whole_bounds(model.compile(backend(solver).native | {"rotated_cone"}))
    smaller = tightened(form)
    written, given, by_row = switches(form), switches(smaller), row_tolerances(smaller)
    blocks = []
    for name, (first, shape) in form.row_blocks.items():
        part = slice(first, first + math.prod(shape))
        big = written[part] >= LARGE
        blocks.append(
            ConditionedBlock(
                name,
                math.prod(shape),
                *_extremes(_coefficients(form, part)),
                int(big.sum()),
                float(written[part][big].max(initial=0.0)),
                float(given[part][big].max(initial=0.0)),
                INTEGRALITY * float(given[part].max(initial=0.0)),
                float(by_row[part].max(initial=0.0)),
            )
        )
    return Conditioning(model.name, solver, _extremes(form.cost), tuple(blocks))


def _coefficients(form: MatrixForm, part: slice) -> Floats:
    """Take consecutive rows."""
    pointer = form.rows.matrix.indptr
    return np.asarray(form.rows.matrix.data[pointer[part.start] : pointer[part.stop]])


def _extremes(numbers: Floats) -> tuple[float, float]:
    """The smallest and the largest size other than zero."""
    size = np.abs(numbers[numbers != 0])
    return (float(size.min()), float(size.max())) if len(size) else (0.0, 0.0)


def _span(low: float, high: float) -> str:
    return f"{low:.3g}" if low == high else f"{low:.3g} .. {high:.3g}"
