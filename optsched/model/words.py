"""Single entries of blocks as plain text: ``y[0] + y[4] <= 1``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from optsched.model.expression import Expression, Relation
from optsched.model.ranges import coefficients
from optsched.model.variables import Variable, VariableSpace, index_text

_MOST_TERMS = 12
"""Terms of a sum shown before the rest is only counted."""


def number(value: float) -> str:
    """Short, and exact if the number is whole."""
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:.6g}"


def aligned(rows: Sequence[Sequence[str]], right: Collection[int]) -> list[str]:
    """Cells as lines of columns, indented; those named by ``right`` end below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


class Writer:
    """Writes entries of expressions and relations; blocks say with it what they mean."""

    def __init__(self, model: VariableSpace, most_terms: int = _MOST_TERMS) -> None:
        self._variables = list(model.variables.values())
        self._starts = np.array([v.start for v in self._variables], dtype=np.int64)
        self.most_terms = most_terms
        """Shown of a sum or list before the rest is only counted."""

    def variable(self, column: int) -> Variable:
        """The block a column belongs to."""
        # of blocks that start in one place only the last has entries
        return self._variables[int(np.searchsorted(self._starts, column, side="right")) - 1]

    def column(self, column: int) -> str:
        """Name and index of a column."""
        variable = self.variable(column)
        return variable.name + index_text(column - variable.start, variable.shape)

    def sums(self, expression: Expression, entries: NDArray[np.integer]) -> list[str]:
        """Entries of an expression."""
        picked = expression.reshape(expression.size)[entries]
        matrix, constant = coefficients(picked)
        cuts = matrix.indptr.tolist()
        return [
            self._sum(matrix.indices[a:b], matrix.data[a:b], float(c))
            for a, b, c in zip(cuts[:-1], cuts[1:], constant, strict=True)
        ]

    def factors(self, expression: Expression, entries: NDArray[np.integer]) -> list[str]:
        """Entries of an expression, sums in parentheses."""
        texts = self.sums(expression, entries)
        return [f"({text})" if " + " in text or " - " in text else text for text in texts]

    def atoms(self, expression: Expression, entries: NDArray[np.integer]) -> list[str]:
        """Entries of an expression, all but single names and numbers in parentheses."""
        texts = self.sums(expression, entries)
        return [f"({text})" if " " in text or text[0] == "-" else text for text in texts]

    def _sum(
        self, columns: NDArray[np.integer], weights: NDArray[np.float64], constant: float
    ) -> str:
        order = np.argsort(columns, kind="stable")[: self.most_terms]
        words: list[str] = []
        for column, weight in zip(columns[order].tolist(), weights[order].tolist(), strict=True):
            sign = "-" if weight < 0 else "+"
            factor = "" if abs(weight) == 1 else f"{number(abs(weight))} "
            words += [sign, factor + self.column(column)]
        hidden = len(columns) - len(order)
        if hidden:
            words += ["+", f"... ({hidden} more)"]
        if constant or not words:
            words += ["-" if constant < 0 else "+", number(abs(constant))]
        lead = "" if words[0] == "+" else "-"
        return lead + " ".join(words[1:])

    def lists(self, expression: Expression, entries: NDArray[np.integer]) -> list[str]:
        """Entries of a block whose expression has one more axis, as lists."""
        width = expression.shape[-1]
        shown = min(width, self.most_terms)
        flat = entries[:, None] * width + np.arange(shown)
        texts = self.sums(expression, flat.reshape(-1))
        return [
            "(" + listed(texts[i * shown : (i + 1) * shown], width) + ")"
            for i in range(len(entries))
        ]

    def relations(self, relation: Relation, entries: NDArray[np.integer]) -> list[str]:
        """Entries of a relation, its sides included."""
        expression = relation.expression
        left = Expression(expression.model, expression.shape, expression.terms)
        lower, upper = (
            np.broadcast_to(side, expression.shape).reshape(-1)[entries]
            for side in (relation.lower, relation.upper)
        )
        return [
            row_text(text, float(low), float(high))
            for text, low, high in zip(self.sums(left, entries), lower, upper, strict=True)
        ]


def row_text(left: str, lower: float, upper: float) -> str:
    """``lower <= left <= upper`` without the sides that are infinite."""
    if lower == upper:
        return f"{left} == {number(lower)}"
    if lower == -np.inf and upper == np.inf:
        return f"{left} is free"
    if lower == -np.inf:
        return f"{left} <= {number(upper)}"
    if upper == np.inf:
        return f"{left} >= {number(lower)}"
    return f"{number(lower)} <= {left} <= {number(upper)}"


def listed(texts: Sequence[str], width: int) -> str:
    """The first of ``width`` items, and how many more there are."""
    more = width - len(texts)
    return ", ".join(texts) + (f", ... ({more} more)" if more else "")
