"""Single entries of blocks as plain text: ``y[0] + y[4] <= 1``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from optsched.model.base import ModelBase, Variable
from optsched.model.blocks import (
    ActiveSlot,
    Block,
    Cumulative,
    Indicator,
    Intervals,
    Linear,
    Maximum,
    Product,
    RotatedCone,
    Table,
)
from optsched.model.expression import Expression, Relation, Shape
from optsched.model.ranges import affine

_MOST_TERMS = 12
"""Terms of a sum shown before the rest is only counted."""


def number(value: float) -> str:
    """Short, and exact where the number is whole."""
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:.6g}"


def index_text(entry: int, shape: Shape) -> str:
    """``[1, 2]`` for an entry in C order; nothing for a single one."""
    if not shape:
        return ""
    return "[" + ", ".join(str(int(i)) for i in np.unravel_index(entry, shape)) + "]"


class Writer:
    """Writes entries of a model's blocks."""

    def __init__(self, model: ModelBase, most_terms: int = _MOST_TERMS) -> None:
        self._columns = model.columns
        self._variables = list(model.variables.values())
        self._starts = np.array([v.start for v in self._variables], dtype=np.int64)
        self._most = most_terms

    def variable(self, column: int) -> Variable:
        """The block a column belongs to."""
        # of blocks that start in one place only the last has entries
        return self._variables[int(np.searchsorted(self._starts, column, side="right")) - 1]

    def column(self, column: int) -> str:
        """Name and index of a column."""
        variable = self.variable(column)
        return variable.name + index_text(column - variable.start, variable.shape)

    def entries(self, block: Block, entries: NDArray[np.integer]) -> list[str]:
        """What the entries of a block say, in C order of its shape."""
        match block:
            case Linear():
                return self._relations(block.relation, entries)
            case Indicator():
                literals = [
                    [f"{text} = {int(on)}" for text in self.sums(b, entries)]
                    for b, on in zip(block.literals, block.active, strict=True)
                ]
                rows = self._relations(block.relation, entries)
                return [
                    f"{' and '.join(when)} implies {row}"
                    for *when, row in zip(*literals, rows, strict=True)
                ]
            case Product():
                parts = (self.sums(e, entries) for e in (block.result, block.left, block.right))
                return [
                    f"{z} = {_factor(a)} * {_factor(b)}" for z, a, b in zip(*parts, strict=True)
                ]
            case Table():
                values = _listed([number(v) for v in block.table[: self._most]], len(block.table))
                pairs = zip(
                    self.sums(block.result, entries), self.sums(block.index, entries), strict=True
                )
                return [f"{z} = ({values})[{n}]" for z, n in pairs]
            case ActiveSlot():
                word = "last" if block.last else "first"
                listed = self._lists(block.activity, entries)
                results = self.sums(block.result, entries)
                return [f"{z} = {word} active of {x}" for z, x in zip(results, listed, strict=True)]
            case Maximum():
                word = "max" if block.sign > 0 else "min"
                listed = self._lists(block.arguments, entries)
                results = self.sums(block.result, entries)
                return [f"{z} = {word}{x}" for z, x in zip(results, listed, strict=True)]
            case RotatedCone():
                listed = self._lists(block.w, entries)
                u, v = self.sums(block.u, entries), self.sums(block.v, entries)
                return [
                    f"{_factor(a)} * {_factor(b)} >= |{w}|^2"
                    for a, b, w in zip(u, v, listed, strict=True)
                ]
            case Intervals():
                parts = (
                    self.sums(e, entries)
                    for e in (block.start, block.duration, block.end, block.presence)
                )
                return [
                    f"{_factor(s)} + {_factor(d)} = {e}" + ("" if p == "1" else f" where {p} = 1")
                    for s, d, e, p in zip(*parts, strict=True)
                ]
            case Cumulative():
                whole = np.zeros(1, dtype=np.int64)
                room = self.sums(block.capacity, whole)[0]
                return [f"load of {block.start.size} tasks <= {room}"] * len(entries)
            case _:
                return [block.kind] * len(entries)

    def sums(self, expression: Expression, entries: NDArray[np.integer]) -> list[str]:
        """Entries of an expression."""
        picked = expression.reshape(expression.size)[entries]
        matrix, constant = affine(picked, self._columns)
        cuts = matrix.indptr.tolist()
        return [
            self._sum(matrix.indices[a:b], matrix.data[a:b], float(c))
            for a, b, c in zip(cuts[:-1], cuts[1:], constant, strict=True)
        ]

    def _sum(
        self, columns: NDArray[np.integer], weights: NDArray[np.float64], constant: float
    ) -> str:
        order = np.argsort(columns, kind="stable")[: self._most]
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

    def _lists(self, expression: Expression, entries: NDArray[np.integer]) -> list[str]:
        """Entries of a block whose expression has one more axis, as lists."""
        width = expression.shape[-1]
        shown = min(width, self._most)
        flat = entries[:, None] * width + np.arange(shown)
        texts = self.sums(expression, flat.reshape(-1))
        return [
            "(" + _listed(texts[i * shown : (i + 1) * shown], width) + ")"
            for i in range(len(entries))
        ]

    def _relations(self, relation: Relation, entries: NDArray[np.integer]) -> list[str]:
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


def _listed(texts: Sequence[str], width: int) -> str:
    more = width - len(texts)
    return ", ".join(texts) + (f", ... ({more} more)" if more else "")


def _factor(text: str) -> str:
    return f"({text})" if " + " in text or " - " in text else text
