"""What tolerances let through, and answers that depend on it.

A solver takes a value within a millionth of an integer for the integer. In a row ``x <= M y`` with
y = 0, x may then be up to M / 1e6. A row with continuous columns and a large side holds to within a
millionth of that side.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optsched.model import FEASIBILITY
from optsched.model.evaluate import row_weight
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.solution import Solution

INTEGRALITY = 1e-6
"""Distance to a whole number that solvers take for none: HiGHS's. SCIP and CBC are asked for 1e-9,
and have been seen to lose optima behind constants of 1e8 all the same."""

NOTICEABLE = 0.1
"""What a tolerance lets through a row, in units of the row, from which on an answer may hang on
it."""


def switches(form: MatrixForm) -> Floats:
    """The largest coefficient of an integer column beside a continuous one, shape (rows,).

    0 in rows without such a pair; columns that are fixed do not count.
    """
    rows, matrix = form.rows, form.rows.matrix
    row = np.repeat(np.arange(rows.count), rows.lengths)
    open_ = (form.lower < form.upper)[matrix.indices] & (matrix.data != 0)
    whole = form.integer[matrix.indices]
    constant = np.zeros(rows.count)
    np.maximum.at(constant, row[open_ & whole], np.abs(matrix.data[open_ & whole]))
    beside = np.bincount(row[open_ & ~whole], minlength=rows.count) > 0
    return np.where(beside, constant, 0.0)


def row_tolerances(form: MatrixForm) -> Floats:
    """The most that the model's own check of a point lets through each row, shape (rows,).

    As in ``row_excess``, at the point of the columns' bounds that makes it most.
    """
    rows, data, column = form.rows, form.rows.matrix.data, form.rows.matrix.indices
    room = form.movable
    row, stuck = np.repeat(np.arange(rows.count), rows.lengths), (room == 0)[column]
    with np.errstate(invalid="ignore"):  # zero times infinite
        ends = [np.where(stuck & (data != 0), data * end[column], 0.0)
                for end in (form.lower, form.upper)]  # fmt: skip
    least = np.bincount(row, np.minimum(*ends), rows.count)
    most = np.bincount(row, np.maximum(*ends), rows.count)
    left = np.ones(rows.count)
    for side in (rows.lower, rows.upper):
        with np.errstate(invalid="ignore"):  # infinite less infinite
            size = np.maximum(np.abs(side - least), np.abs(side - most))
        left = np.maximum(left, np.where(np.isfinite(side), size, 0.0))
    furthest = np.maximum(1.0, np.maximum(np.abs(form.lower), np.abs(form.upper)))
    weight = row_weight(rows, np.minimum(room, furthest))
    return np.asarray(FEASIBILITY * np.minimum(left, weight))


def with_warning(solution: Solution, form: MatrixForm, x: Floats | None) -> Solution:
    """The solution, its message saying what of its point hangs on tolerances, if anything does.

    Args:
        solution: with a checked point.
        form: what the solver was given.
        x: the point in it, shape (columns,).
    """
    if x is None or len(x) < len(form.cost) or not solution.checked:
        return solution  # a start knows nothing of columns that lowering added
    size = np.abs(np.concatenate([form.rows.lower, form.rows.upper]))
    wide = size.max(initial=0.0, where=size < np.inf) * FEASIBILITY >= NOTICEABLE
    if not wide and form.largest_switch * INTEGRALITY < NOTICEABLE:
        return solution
    said = _owed(form, np.where(form.integer, np.rint(x), x))
    message = "; ".join(part for part in (solution.message, *said) if part)
    return replace(solution, message=message) if said else solution


def _owed(form: MatrixForm, x: Floats) -> list[str]:
    """In words, the block that is kept least well, and the one whose switch leaks most."""
    rows = form.rows
    with np.errstate(over="ignore", invalid="ignore"):
        activity = rows.matrix @ x
        over = np.maximum(rows.lower - activity, activity - rows.upper)
    said = []
    if over.max(initial=0.0) >= NOTICEABLE:
        row = int(np.argmax(over))
        kept = f"{_block(form, row)!r} is kept to within its tolerance only"
        said.append(f"{kept}, over by {over[row]:.3g}")
    leak = INTEGRALITY * switches(form)
    leaning = np.where((leak >= NOTICEABLE) & (over > -leak), leak, 0.0)
    if leaning.any():
        row = int(np.argmax(leaning))
        through = f"lets {leak[row]:.3g} through {_block(form, row)!r}: see optsched.report"
        said.append(f"hangs on the solver's tolerance for whole numbers, which {through}")
    return said


def _block(form: MatrixForm, row: int) -> str:
    """Name of the block a row is of."""
    return [name for name, (first, _) in form.row_blocks.items() if first <= row][-1]
