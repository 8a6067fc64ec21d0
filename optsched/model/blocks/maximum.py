"""Maxima, minima and absolute values: the result equals one argument and bounds all others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from optsched.errors import ModelError
from optsched.model.base import Block, Entries, Linear, ModelBase, result_excess
from optsched.model.expression import Expression, Floats, Shape
from optsched.model.latex import FormulaWriter, letters_of
from optsched.model.ranges import are_integral, finite_range, is_binary, range_of, without_noise
from optsched.model.variables import Variable
from optsched.model.words import Writer

_WIDEST_LIST = 4
"""Arguments that a formula spells out."""


def maximum(
    model: ModelBase,
    *arguments: Expression | ArrayLike,
    name: str | None = None,
    formula: str = "",
) -> Variable:
    """Return the largest of several expressions, entry by entry; of one, along its last axis.

    Example:
        >>> m = Model()
        >>> load = m.continuous("load", shape=2, upper=5)
        >>> m.add("work", load.sum() == 5)
        >>> m.minimize(m.maximum(load))
        >>> solve(m).objective
        2.5
    """
    return _extremum(model, arguments, model.free_name(name, "maximum"), formula, 1)


def minimum(
    model: ModelBase,
    *arguments: Expression | ArrayLike,
    name: str | None = None,
    formula: str = "",
) -> Variable:
    """Return the least of several expressions, entry by entry; of one, along its last axis.

    Example:
        >>> m = Model()
        >>> rate = m.continuous("rate", 2, upper=[2, 5])
        >>> m.maximize(m.minimum(rate))
        >>> solve(m).objective
        2.0
    """
    return _extremum(model, arguments, model.free_name(name, "minimum"), formula, -1)


def absolute(
    model: ModelBase, expression: Expression, *, name: str | None = None, formula: str = ""
) -> Variable:
    """Return the absolute value, entry by entry.

    Example:
        >>> m = Model()
        >>> x = m.integer("x", upper=9)
        >>> m.minimize(m.absolute(x - 2.5))
        >>> solve(m).objective
        0.5
    """
    both, name = (expression, -expression), model.free_name(name, "absolute")
    return _extremum(model, both, name, formula, 1, least=0.0)


def _extremum(
    model: ModelBase,
    arguments: tuple[Expression | ArrayLike, ...],
    name: str,
    formula: str,
    sign: int,
    least: float = -np.inf,
) -> Variable:
    first = arguments[0] if arguments else None
    alone = len(arguments) == 1 and isinstance(first, Expression)
    stacked = first if alone and isinstance(first, Expression) else model.stack(*arguments)
    model.check_own(f"block {name!r}", stacked)
    if stacked.ndim == 0 or stacked.shape[-1] == 0:
        raise ModelError(f"block {name!r}: there is nothing to choose from")
    domains = model.domains()
    low, high = range_of(stacked, domains)
    pick = np.max if sign > 0 else np.min
    bounds = np.maximum(least, pick(low, axis=-1)), pick(high, axis=-1)
    whole = are_integral(domains, stacked)
    result = model.result(name, stacked.shape[:-1], bounds, whole=whole)
    model.add_block(Maximum(name, formula, result, stacked, sign))
    return result


@dataclass(frozen=True, eq=False)
class Maximum(Block):
    """``result = max(arguments)``; with ``sign = -1``, the minimum."""

    result: Expression
    arguments: Expression
    """Shape (*shape, n)."""
    sign: int
    kind = "maximum"
    becomes = (Linear,)
    how = "a binary per argument says which one the result equals; of binaries, rows alone"

    @property
    def shape(self) -> Shape:
        return self.result.shape

    def excess(self, x: Floats) -> Floats:
        value = self.sign * (self.sign * self.arguments.at(x)).max(axis=-1)
        return result_excess(self.result, value, x)

    def lower(self, model: ModelBase) -> None:
        """A choice of the argument that the result equals.

        An argument that can never be the greatest, as another always exceeds it, is not chosen.

        Raises:
            ModelError: an argument lacks a bound; the message names the variable.
        """
        if is_binary(self.arguments, model.domains()):
            self._lower_binary(model)
            return
        arguments = self.arguments * float(self.sign)
        least, most = finite_range(self.name, arguments, model.domains(), model.column_name)
        floor = least.max(axis=-1, keepdims=True)
        may_win = (most >= floor).astype(float)
        result = (self.result * float(self.sign)).reshape(*self.shape, 1)
        wins = model.integer(f"{self.name}:wins", arguments.shape, upper=may_win)
        model.add(f"{self.name}:above", result >= arguments)
        # where the argument does not win, another is the result: it lies this far above at most
        slack = np.maximum(0.0, without_noise(_greatest_other(most) - least, least))
        model.add(f"{self.name}:meets", result <= arguments + slack - wins * slack)
        model.add(f"{self.name}:one", wins.sum(axis=-1) == 1)

    def _lower_binary(self, model: ModelBase) -> None:
        """Of binaries, or: at least each, at most all together; and: not or of what is not."""
        some, result = self.arguments, self.result
        if self.sign < 0:
            some, result = 1.0 - some, 1.0 - result
        model.add(f"{self.name}:above", result.reshape(*self.shape, 1) >= some)
        model.add(f"{self.name}:meets", result <= some.sum(axis=-1))

    def words(self, writer: Writer, entries: Entries) -> list[str]:
        word = "max" if self.sign > 0 else "min"
        results, listed = writer.sums(self.result, entries), writer.lists(self.arguments, entries)
        return [f"{z} = {word}{x}" for z, x in zip(results, listed, strict=True)]

    def latex(self, writer: FormulaWriter) -> str:
        word, width = r"\max" if self.sign > 0 else r"\min", self.arguments.shape[-1]
        result = writer.expression(self.result)
        if width <= _WIDEST_LIST:
            each = [writer.expression(self.arguments[..., i]) for i in range(width)]
            return rf"{result} = {word}\bigl({', '.join(each)}\bigr)"
        axis = letters_of(self.arguments.shape)[-1]
        return rf"{result} = {word}_{{{axis}}} {writer.factor(self.arguments)}"


def _greatest_other(most: Floats) -> Floats:
    """Greatest value along the last axis without the entry itself; its own if it is alone."""
    if most.shape[-1] == 1:
        return most
    ranked = np.sort(most, axis=-1)
    first, second = ranked[..., -1:], ranked[..., -2:-1]
    return np.where(most == first, second, first)
