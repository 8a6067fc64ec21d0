"""Nonlinear and logical statements: each says in one call what the paper writes in one line.

Those that have a value return a new variable block that equals it; the others are constraints.
A solver gets them as they are where it can take them, and as exact linear rows otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from optsched.errors import ModelError
from optsched.model.base import Kind, ModelBase, Variable
from optsched.model.blocks import (
    ActiveSlot,
    Cumulative,
    Indicator,
    Intervals,
    Maximum,
    Product,
    RotatedCone,
    Table,
)
from optsched.model.expression import Expression, Floats, Relation, Shape
from optsched.model.ranges import is_binary, is_integral, range_of


class NonlinearModel(ModelBase):
    """The statements; ``Model`` adds what is linear.

    Everywhere, ``name`` is the name of the block, and of the variable block if there is one; by
    default the kind and a number. ``formula`` is LaTeX, as in the paper.

    The examples begin with ``import numpy as np`` and ``from optsched import Model, solve``.
    """

    # logic

    def indicator(
        self,
        literals: Expression | Sequence[Expression],
        relation: Relation,
        *,
        active: bool | Sequence[bool] = True,
        name: str | None = None,
        formula: str = "",
    ) -> None:
        """Require a relation only where all literals are true.

        Args:
            literals: binary variables (single entries, no arithmetic), broadcast to the shape
                of the relation.
            relation: what must hold.
            active: the value that makes each literal true.
            name: of the block.
            formula: LaTeX.

        Example:
            >>> m = Model()
            >>> on, load = m.binary("on"), m.continuous("load", upper=5)
            >>> m.indicator(on, load >= 2, name="least load")
            >>> m.minimize(load - on)
            >>> solve(m).objective
            0.0
        """
        name = self._name(name, "indicator")
        self._check_relation(name, relation)
        listed = (literals,) if isinstance(literals, Expression) else tuple(literals)
        values = (active,) * len(listed) if isinstance(active, bool) else tuple(active)
        if not listed or len(values) != len(listed):
            raise ModelError(f"block {name!r}: one active value per literal, and at least one")
        spread = tuple(one.broadcast_to(relation.expression.shape) for one in listed)
        for one in spread:
            self._check_literal(name, one)
        self._put(Indicator(name, formula, spread, values, relation))

    def last_active(
        self,
        activity: Expression,
        slots: ArrayLike | None = None,
        *,
        empty: float | None = None,
        name: str | None = None,
        formula: str = "",
    ) -> Variable:
        """The last slot whose binary is 1.

        Args:
            activity: binary, the last axis is time.
            slots: ascending values of that axis; by default 0, 1, ...
            empty: value where no slot is active, at most the first slot; by default one less.
            name: of the new variable block.
            formula: LaTeX.

        Example:
            >>> m = Model()
            >>> runs = m.binary("runs", shape=4)
            >>> completion = m.last_active(runs, slots=[1, 2, 3, 4])
            >>> m.add("work", runs.sum() >= 2)
            >>> m.add("busy", runs[0] == 0)
            >>> m.minimize(completion)
            >>> solve(m).objective
            3.0
        """
        return self._active_slot(activity, slots, empty, name, formula, last=True)

    def first_active(
        self,
        activity: Expression,
        slots: ArrayLike | None = None,
        *,
        empty: float | None = None,
        name: str | None = None,
        formula: str = "",
    ) -> Variable:
        """The first slot whose binary is 1.

        Args:
            activity: binary, the last axis is time.
            slots: ascending values of that axis; by default 0, 1, ...
            empty: value where no slot is active, at least the last slot; by default one more.
            name: of the new variable block.
            formula: LaTeX.
        """
        return self._active_slot(activity, slots, empty, name, formula, last=False)

    def _active_slot(
        self,
        activity: Expression,
        slots: ArrayLike | None,
        empty: float | None,
        name: str | None,
        formula: str,
        *,
        last: bool,
    ) -> Variable:
        name = self._name(name, "last_active" if last else "first_active")
        self._check_own(name, activity)
        if activity.ndim == 0 or activity.shape[-1] == 0:
            raise ModelError(f"block {name!r}: activity needs an axis of slots")
        if not is_binary(activity, self.domains()):
            raise ModelError(f"block {name!r}: activity must be binary")
        width = activity.shape[-1]
        time = np.asarray(np.arange(width) if slots is None else slots, dtype=np.float64)
        if time.shape != (width,) or not np.all(np.diff(time) > 0):
            raise ModelError(f"block {name!r}: slots must ascend, one per entry of the last axis")
        outside = time[0] - 1 if last else time[-1] + 1
        if empty is not None:
            outside = np.float64(empty)
        if (outside > time[0]) if last else (outside < time[-1]):
            raise ModelError(f"block {name!r}: the value for no active slot lies among the slots")
        least, most = (outside, time[-1]) if last else (time[0], outside)
        whole = bool(np.all(time == np.round(time)) and outside == np.round(outside))
        kind = Kind.INTEGER if whole else Kind.CONTINUOUS
        result = self._variable(name, activity.shape[:-1], kind, (least, most), formula)
        self._put(ActiveSlot(name, formula, result, activity, time, float(outside), last))
        return result

    # values

    def product(
        self, left: Expression, right: Expression, *, name: str | None = None, formula: str = ""
    ) -> Variable:
        """The product of two expressions, entry by entry.

        Args:
            left: an expression; it or ``right`` must be integer and both bounded, unless the
                solver takes quadratic constraints.
            right: an expression whose shape fits.
            name: of the new variable block.
            formula: LaTeX.

        Example:
            >>> m = Model()
            >>> open_, workers = m.binary("open"), m.integer("workers", lower=2, upper=4)
            >>> m.maximize(3 * m.product(open_, workers) - 2 * workers)
            >>> solve(m).objective
            4.0
        """
        name = self._name(name, "product")
        self._check_own(name, left, right)
        shape = _common(name, left, right)
        left, right = left.broadcast_to(shape), right.broadcast_to(shape)
        domains = self.domains()
        with np.errstate(invalid="ignore"):  # zero times an infinite bound
            corners = np.array(
                [a * b for a in range_of(left, domains) for b in range_of(right, domains)]
            )
        corners = np.nan_to_num(corners, nan=0.0, posinf=np.inf, neginf=-np.inf)
        result = self._result(name, (left, right), corners.min(axis=0), corners.max(axis=0))
        self._put(Product(name, formula, result, left, right))
        return result

    def table(
        self, values: ArrayLike, index: Expression, *, name: str | None = None, formula: str = ""
    ) -> Variable:
        """``values[index]`` for an integer expression that takes values 0..n-1.

        Args:
            values: shape (n,).
            index: integer, of any shape.
            name: of the new variable block.
            formula: LaTeX.

        Example:
            >>> m = Model()
            >>> workers = m.integer("workers", upper=3)
            >>> m.maximize(m.table([0, 1, 1.8, 2.4], workers) - 0.7 * workers)
            >>> round(solve(m).objective, 9)
            0.4
        """
        name = self._name(name, "table")
        self._check_own(name, index)
        table = np.array(values, dtype=np.float64)
        if table.ndim != 1 or not len(table) or not np.isfinite(table).all():
            raise ModelError(f"block {name!r}: a table is a vector of finite numbers")
        if not is_integral(index, self.domains()).all():
            raise ModelError(f"block {name!r}: the index of a table must be integer")
        kind = Kind.INTEGER if np.all(table == np.round(table)) else Kind.CONTINUOUS
        result = self._variable(name, index.shape, kind, (table.min(), table.max()), formula)
        self._put(Table(name, formula, result, index, table))
        return result

    def maximum(
        self, *arguments: Expression | ArrayLike, name: str | None = None, formula: str = ""
    ) -> Variable:
        """The greatest of several expressions, entry by entry; of one, along its last axis.

        Example:
            >>> m = Model()
            >>> load = m.continuous("load", shape=2, upper=5)
            >>> m.add("work", load.sum() == 5)
            >>> m.minimize(m.maximum(load))
            >>> solve(m).objective
            2.5
        """
        return self._extremum(arguments, self._name(name, "maximum"), formula, 1)

    def minimum(
        self, *arguments: Expression | ArrayLike, name: str | None = None, formula: str = ""
    ) -> Variable:
        """The least of several expressions, entry by entry; of one, along its last axis."""
        return self._extremum(arguments, self._name(name, "minimum"), formula, -1)

    def absolute(
        self, expression: Expression, *, name: str | None = None, formula: str = ""
    ) -> Variable:
        """The absolute value, entry by entry."""
        both = (expression, -expression)
        return self._extremum(both, self._name(name, "absolute"), formula, 1, least=0.0)

    def _extremum(
        self,
        arguments: tuple[Expression | ArrayLike, ...],
        name: str,
        formula: str,
        sign: int,
        least: float = -np.inf,
    ) -> Variable:
        first = arguments[0] if arguments else None
        stacked = first if len(arguments) == 1 and isinstance(first, Expression) else (
            self.stack(*arguments))  # fmt: skip
        self._check_own(name, stacked)
        if stacked.ndim == 0 or stacked.shape[-1] == 0:
            raise ModelError(f"block {name!r}: there is nothing to choose from")
        low, high = range_of(stacked, self.domains())
        pick = np.max if sign > 0 else np.min
        lower, upper = np.maximum(least, pick(low, axis=-1)), pick(high, axis=-1)
        result = self._result(name, (stacked,), lower, upper, stacked.shape[:-1])
        self._put(Maximum(name, formula, result, stacked, sign))
        return result

    def stack(self, *expressions: Expression | ArrayLike) -> Expression:
        """Expressions and numbers side by side along a new last axis, shapes broadcast."""
        parts = [self._expression(e) for e in expressions]
        if not parts:
            raise ModelError("nothing to stack")
        shape, width = _common("stack", *parts), len(parts)
        spread = [part.broadcast_to(shape).reshape(-1) for part in parts]
        placed = [
            part.sum_by(np.arange(part.size) * width + i, part.size * width)
            for i, part in enumerate(spread)
        ]
        total = placed[0]
        for part in placed[1:]:
            total = total + part
        return total.reshape(*shape, width)

    # cones

    def rotated_cone(
        self,
        u: Expression | ArrayLike,
        v: Expression | ArrayLike,
        w: Expression,
        *,
        name: str | None = None,
        formula: str = "",
    ) -> None:
        """Require ``u * v >= sum(w ** 2)`` with ``u, v >= 0``.

        Args:
            u: of any shape.
            v: of the same shape.
            w: of the same shape, or with one more axis over which squares are summed.
            name: of the block.
            formula: LaTeX.

        Example:
            >>> m = Model()
            >>> share = m.continuous("share", upper=1)
            >>> time = m.continuous("time")
            >>> work = m.continuous("work", lower=2)
            >>> m.rotated_cone(share, time, work)
            >>> m.minimize(time)
            >>> round(solve(m).objective, 4)
            4.0
        """
        name = self._name(name, "rotated_cone")
        left, right = self._expression(u), self._expression(v)
        shape = _common(name, left, right)
        if w.ndim <= len(shape):
            shape = _common(name, left, right, w)
            w = w.broadcast_to(shape).reshape(*shape, 1)
        elif w.shape[:-1] != shape:
            raise ModelError(f"block {name!r}: w has shape {w.shape}, u and v {shape}")
        left, right = left.broadcast_to(shape), right.broadcast_to(shape)
        self._put(RotatedCone(name, formula, left, right, w))

    # tasks in time

    def interval(
        self,
        start: Expression | ArrayLike,
        duration: Expression | ArrayLike,
        end: Expression | ArrayLike,
        *,
        presence: Expression | None = None,
        name: str | None = None,
        formula: str = "",
    ) -> Intervals:
        """Tasks with ``start + duration = end`` and ``duration >= 0``, where present.

        Args:
            start: integer, of any shape.
            duration: integer, of that shape.
            end: integer, of that shape.
            presence: binary; by default all tasks are present.
            name: of the block.
            formula: LaTeX.
        """
        name = self._name(name, "interval")
        there = self._expression(1.0 if presence is None else presence)
        parts = [self._expression(e) for e in (start, duration, end)]
        self._check_own(name, *parts, there)
        shape = _common(name, *parts, there)
        begin, length, finish, there = (e.broadcast_to(shape) for e in (*parts, there))
        domains = self.domains()
        if not all(is_integral(part, domains).all() for part in (begin, length, finish)):
            raise ModelError(f"block {name!r}: starts, durations and ends must be integer")
        if presence is not None:
            self._check_literal(name, there)
        block = Intervals(name, formula, begin, length, finish, there)
        self._put(block)
        return block

    def cumulative(
        self,
        tasks: Intervals,
        demand: Expression | ArrayLike,
        capacity: Expression | ArrayLike,
        *,
        name: str | None = None,
        formula: str = "",
    ) -> None:
        """Keep the demand of the tasks under way within the capacity, at every moment.

        Args:
            tasks: what ``interval`` gave, shape (tasks,).
            demand: integer and non-negative, one per task or one for all.
            capacity: a single integer expression or number.
            name: of the block.
            formula: LaTeX.

        Example:
            >>> m = Model()
            >>> start = m.integer("start", shape=3, upper=10)
            >>> length = np.array([3, 2, 2])
            >>> tasks = m.interval(start, length, start + length)
            >>> m.cumulative(tasks, demand=[2, 1, 1], capacity=2)
            >>> m.minimize(m.maximum(start + length))
            >>> solve(m, solver="cpsat").objective
            5.0
        """
        name = self._name(name, "cumulative")
        if len(tasks.shape) != 1:
            raise ModelError(f"block {name!r}: tasks must form one axis, not shape {tasks.shape}")
        asked = self._expression(demand).broadcast_to(tasks.shape)
        room = self._expression(capacity)
        self._check_own(name, asked, room, tasks.start)
        if room.size != 1:
            raise ModelError(f"block {name!r}: one capacity, not shape {room.shape}")
        domains = self.domains()
        if (range_of(asked, domains)[0] < 0).any():
            raise ModelError(f"block {name!r}: a demand may be negative")
        if not (is_integral(asked, domains).all() and is_integral(room, domains).all()):
            raise ModelError(f"block {name!r}: demands and capacity must be integer")
        self._put(
            Cumulative(name, formula, tasks.start, tasks.end, tasks.presence, asked, room.reshape())
        )

    # checks

    def _result(
        self,
        name: str,
        parts: tuple[Expression, ...],
        lower: Floats,
        upper: Floats,
        shape: Shape | None = None,
    ) -> Variable:
        """The variable block that stands for a value: integer if all its parts are."""
        domains = self.domains()
        whole = all(bool(is_integral(part, domains).all()) for part in parts)
        kind = Kind.INTEGER if whole else Kind.CONTINUOUS
        shape = parts[0].shape if shape is None else shape
        return self._variable(name, shape, kind, (lower, upper), "")

    def _check_own(self, name: str, *expressions: Expression) -> None:
        """Before anything is said of their ranges, or added to the model."""
        for expression in expressions:
            self.check_own(f"block {name!r}", expression)

    def _check_relation(self, name: str, relation: Relation) -> None:
        if not isinstance(relation, Relation):
            raise ModelError(f"block {name!r}: expected a relation such as x <= 1, got {relation}")
        if name in self.blocks:
            raise ModelError(f"block {name!r} exists already")
        self.check_own(f"block {name!r}", relation.expression)

    def _check_literal(self, name: str, literal: Expression) -> None:
        self.check_own(f"block {name!r}", literal)
        plain = len(literal.terms) == 1 and literal.terms[0].entries is None
        if not (
            plain
            and np.all(np.equal(literal.terms[0].coefficients, 1.0))
            and np.all(np.equal(literal.constant, 0.0))
        ):
            raise ModelError(f"block {name!r}: a literal must be a plain binary variable")
        columns = literal.terms[0].columns
        lower, upper, integer = self.domains()
        if not np.all(integer[columns] & (lower[columns] >= 0) & (upper[columns] <= 1)):
            raise ModelError(f"block {name!r}: a literal must be a binary variable")


def _common(name: str, *parts: Expression) -> Shape:
    try:
        return np.broadcast_shapes(*(part.shape for part in parts))
    except ValueError:
        shapes = " and ".join(str(part.shape) for part in parts)
        raise ModelError(f"block {name!r}: shapes {shapes} do not fit") from None
