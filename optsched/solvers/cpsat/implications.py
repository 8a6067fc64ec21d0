"""Rows over two binaries as implications, many of them in one constraint.

A row over two binaries forbids some of four combinations of values, and each of these is a clause:
one of two literals is true. ``x[i] <= y`` for many ``i`` are clauses that share the literal ``y``,
and together they say "not y implies not x[i], for all i": one constraint of CP-SAT.
"""

from __future__ import annotations

import itertools

import numpy as np

from optsched.model.expression import Floats
from optsched.model.matrix_form import Rows
from optsched.solvers.scaling import Flags, Integers, ScaledRows

Implication = tuple[int, list[int]]
"""A literal and the literals that are true if it is, as the solver writes them."""


def negated(literals: Integers) -> Integers:
    """How the solver writes "not"."""
    return -literals - 1


def rows_over_two_binaries(rows: Rows, lower: Floats, upper: Floats) -> Flags:
    """Which rows have two columns, both binary: shape (rows,).

    Args:
        rows: over the first columns, all or some.
        lower: bounds of the columns, integers.
        upper: as ``lower``.
    """
    pointer, columns = rows.lines.indptr, rows.lines.indices
    found: Flags = np.diff(pointer) == 2
    first = pointer[:-1][found]
    binary = (lower >= 0) & (upper <= 1)
    found[found] = binary[columns[first]] & binary[columns[first + 1]]
    return found


def implications(rows: Rows, scaled: ScaledRows, chosen: Flags) -> list[Implication]:
    """What rows over two binaries say; nothing for a row that holds anyway.

    Args:
        rows: the original ones.
        scaled: the same with whole numbers.
        chosen: shape (rows,), those to be said as implications.
    """
    first = rows.matrix.indptr[:-1][chosen].astype(np.int64)
    places = np.stack([first, first + 1])
    columns, weights = rows.matrix.indices.astype(np.int64)[places], scaled.coefficients[places]
    low, high = scaled.lower[chosen], scaled.upper[chosen]
    clauses = []
    for values in itertools.product((0, 1), repeat=2):
        activity = values[0] * weights[0] + values[1] * weights[1]
        broken = columns[:, (activity < low) | (activity > high)]
        # one of the two is not as it was
        clauses.append([negated(c) if v else c for v, c in zip(values, broken, strict=True)])
    left, right = (np.concatenate(side) for side in zip(*clauses, strict=True))
    return _grouped(left, right, rows.matrix.shape[1])


def _grouped(left: Integers, right: Integers, columns: int) -> list[Implication]:
    """Clauses "left or right", gathered by the literal that more of them share."""
    count = np.bincount(np.concatenate([left, right]) + columns, minlength=2 * columns)
    shared = np.where(count[left + columns] >= count[right + columns], left, right)
    others = left + right - shared
    order = np.argsort(shared, kind="stable")
    shared, listed = shared[order], others[order].tolist()
    starts = np.flatnonzero(np.diff(shared, prepend=shared[:1] - 1))
    spans = itertools.pairwise([*starts.tolist(), len(listed)])
    premises = negated(shared[starts]).tolist()
    return [(premise, listed[a:b]) for premise, (a, b) in zip(premises, spans, strict=True)]
