r"""LaTeX of rows and expressions where the paper's own was not given: their generic entry.

A block's rows are written as the sums they were said as: each run of terms is one summand, its
indices named where they follow the row's (``x_{ij}``), summed over where they run through an axis
(``\sum_{k} x_{ik}``), or drawn from a set that depends on the row (``\sum_{k \in K_{i}} x_k``).
Numbers that are the same in every row are shown, others stand as Greek letters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import chain, repeat

import numpy as np
from numpy.typing import NDArray

from optsched.model.expression import Expression, Floats, Relation, Shape, Terms
from optsched.model.variables import Variable, VariableSpace
from optsched.model.words import number

Integers = NDArray[np.integer]

_ROW_LETTERS = ("i", "j", "k", "l", "m", "n")
_SUM_LETTERS = ("s", "t", "u", "v", "w")
_GREEK = (r"\alpha", r"\gamma", r"\delta", r"\epsilon", r"\eta", r"\kappa", r"\lambda", r"\mu")
_SIDE = r"\beta"
_HYPHEN = r"\text{-}"
_MOST_SUMMANDS = 8


def ours(formula: str) -> str:
    """Mark a formula that has a paper's number and is not the paper's own."""
    return rf"{formula} \quad \text{{(ours)}}"


def variable_formula(variable: Variable) -> str:
    """The variable's formula as given, otherwise its name with an index per axis."""
    return variable.formula or _subscripted(symbol(variable.name), letters_of(variable.shape))


def symbol(name: str) -> str:
    """A name as a mathematical symbol: one letter in italics, words upright."""
    if re.fullmatch(r"[A-Za-z]", name):
        return name
    if re.fullmatch(r"[A-Za-z]\d+", name):
        return rf"{name[0]}^{{({name[1:]})}}"
    escaped = re.sub(r"([%#&$_{} ])", r"\\\1", re.sub(r"[\\^~]", "", name))
    return rf"\mathrm{{{escaped.replace('-', _HYPHEN)}}}"


def letters_of(shape: Shape) -> list[str]:
    """A letter for each axis, by which a generic entry is indexed."""
    named = list(_ROW_LETTERS[: len(shape)])
    return named + [f"i_{{{axis}}}" for axis in range(len(named), len(shape))]


def _subscripted(base: str, indices: list[str]) -> str:
    if not indices:
        return base
    plain = all(re.fullmatch(r"[a-z]|\d", index) for index in indices)
    return f"{base}_{{{('' if plain else ', ').join(indices)}}}"


class FormulaWriter:
    """Writes one block; letters once used for numbers are not used again."""

    def __init__(self, model: VariableSpace) -> None:
        self.variables = list(model.variables.values())
        self.starts = np.array([v.start for v in self.variables], dtype=np.int64)
        self._greek: Iterator[str] = chain(_GREEK, repeat(r"\omega"))
        self._letter_set = iter(("K", "L", "M", "N"))

    def relation(self, relation: Relation) -> str:
        """``left <= right``; what is subtracted from nothing goes to the other side."""
        expression, letters = relation.expression, letters_of(relation.expression.shape)
        summands = self._summands(expression)
        low, high = (np.ravel(side) for side in (relation.lower, relation.upper))
        if not (len(low) and len(high)):
            return rf"{_signed_sum(summands)} \le 0"
        if np.array_equal(low, high):
            sign, side = "=", high
        elif not np.isfinite(low).any():
            sign, side = r"\le", high
        elif not np.isfinite(high).any():
            sign, side = r"\ge", low
        else:
            left, right = self._number(low, letters), self._number(high, letters)
            return rf"{left} \le {_signed_sum(summands)} \le {right}"
        if np.all(side == 0) and len({s[0] for s in summands}) == 2:
            plus = [s for s in summands if s[0] > 0]
            minus = [(1, text) for negative, text in summands if negative < 0]
            return f"{_signed_sum(plus)} {sign} {_signed_sum(minus)}"
        return f"{_signed_sum(summands)} {sign} {self._number(side, letters, _SIDE)}"

    def expression(self, expression: Expression) -> str:
        """A generic entry, constant included."""
        summands = self._summands(expression)
        constant = np.ravel(expression.constant)
        if np.any(constant != 0) or not summands:
            if constant.size and np.all(constant == constant[0]) and constant[0] < 0 and summands:
                summands.append((-1, number(-float(constant[0]))))
            else:
                summands.append((1, self._number(constant, letters_of(expression.shape))))
        return _signed_sum(summands)

    def factor(self, expression: Expression) -> str:
        """A generic entry, a sum in parentheses."""
        text = self.expression(expression)
        return rf"\left({text}\right)" if " + " in text or " - " in text else text

    def atom(self, expression: Expression) -> str:
        """A generic entry, all but a single symbol or number in parentheses."""
        text = self.expression(expression)
        single = r"\," not in text and text[0] != "-" and text == self.factor(expression)
        return text if single else rf"\left({text}\right)"

    def _summands(self, expression: Expression) -> list[tuple[int, str]]:
        """Sign and text of each run of terms."""
        runs = [t for t in expression.terms if len(t.columns)]
        shown = [self._run(t, expression.shape) for t in runs[:_MOST_SUMMANDS]]
        return shown + [(1, r"\dots")] * (len(runs) > _MOST_SUMMANDS)

    def _run(self, terms: Terms, shape: Shape) -> tuple[int, str]:
        entries, columns, weights = terms.spelled_out()
        nonzero = weights != 0
        if not nonzero.any():
            return 1, "0"
        if not nonzero.all():
            entries, columns, weights = entries[nonzero], columns[nonzero], weights[nonzero]
        place = int(np.searchsorted(self.starts, int(columns.min()), side="right")) - 1
        variable = self.variables[place]
        indices, summed, bound = self._indices(
            entries, columns - variable.start, shape, variable.shape
        )
        sign = -1 if (weights < 0).all() else 1
        if variable.formula:  # its indices are the paper's, and so not ours to name in a sum
            text, bound = variable.formula, r"\sum" if bound else ""
            letters = [] if bound else letters_of(shape)
        else:
            text, letters = _subscripted(symbol(variable.name), indices), letters_of(shape) + summed
        factor = self._number(sign * weights, letters)
        text = text if factor == "1" else rf"{factor}\, {text}"
        return sign, f"{bound} {text}" if bound else text

    def _indices(
        self, entries: Integers, places: Integers, shape: Shape, variable_shape: Shape
    ) -> tuple[list[str], list[str], str]:
        """The variable's indices in terms of the row's, those summed over, and the sum sign."""
        letters = letters_of(shape)
        size = math.prod(shape)
        row_axes, axes = (
            [np.asarray(axis) for axis in np.unravel_index(at, of)] if of else []
            for at, of in ((entries, shape), (places, variable_shape))
        )
        per_row = np.bincount(entries, minlength=size)
        single = bool(per_row.max() <= 1)
        names: list[str] = []
        free: list[int] = []
        for axis, values in enumerate(axes):
            name = _follows(values, row_axes, letters)
            if name is None:
                free.append(axis)
                name = next(s for s in _SUM_LETTERS + _ROW_LETTERS if s not in letters + names)
            names.append(name)
        if not free:
            return names, [], ("" if single else r"\sum")
        chosen = [names[axis] for axis in free]
        if single:
            arguments = ", ".join(letters)
            for axis in free:
                names[axis] = f"{names[axis]}({arguments})" if letters else names[axis]
            return names, [], ""
        full = math.prod(variable_shape[axis] for axis in free)
        everything = bool((per_row == full).all())
        if everything:
            return names, chosen, rf"\sum_{{{', '.join(chosen)}}}"
        letter = _subscripted(next(self._letter_set, "S"), letters)
        within = chosen[0] if len(chosen) == 1 else f"({', '.join(chosen)})"
        return names, chosen, rf"\sum_{{{within} \in {letter}}}"

    def _number(self, values: Floats | Integers, letters: list[str], letter: str = "") -> str:
        """The number if there is but one, otherwise a letter with the row's indices."""
        flat = np.ravel(values)
        if not flat.size or np.all(flat == flat[0]):
            value = float(flat[0]) if flat.size else 0.0
            if math.isinf(value):
                return r"\infty" if value > 0 else r"-\infty"
            return _scientific(number(value))
        return _subscripted(letter or next(self._greek), letters)


def _follows(values: Integers, row_axes: Sequence[Integers], letters: list[str]) -> str | None:
    """How an index of the variable follows from the row's: equal, shifted, or fixed."""
    for row, letter in zip(row_axes, letters, strict=True):
        shift = values - row
        if len(row) > 1 and (shift == shift[0]).all() and (row != row[0]).any():
            return (
                letter
                if shift[0] == 0
                else f"{letter} {'+' if shift[0] > 0 else '-'} " + str(abs(int(shift[0])))
            )
    return str(int(values[0])) if (values == values[0]).all() else None


def _signed_sum(summands: list[tuple[int, str]]) -> str:
    if not summands:
        return "0"
    words = [("-" if summands[0][0] < 0 else "") + summands[0][1]]
    words += [f"{'-' if sign < 0 else '+'} {text}" for sign, text in summands[1:]]
    return " ".join(words)


def _scientific(text: str) -> str:
    mantissa, _, exponent = text.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else text
