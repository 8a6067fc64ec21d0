"""What MPS and LP files say beyond rows and bounds, taken from a model: see :func:`split`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optsched.errors import UnsupportedError
from optsched.model import Model
from optsched.model.base import Block
from optsched.model.blocks import Indicator, RotatedCone, SemiContinuous, SpecialOrdered
from optsched.model.expression import Expression, Floats, Shape
from optsched.model.lowering import lower, lower_block
from optsched.model.matrix_form import CompiledIndicator, MatrixForm, Rows
from optsched.model.ranges import affine, range_of

_NATIVE = frozenset({"indicator", "semicontinuous", "special_ordered"})
_CONE = frozenset({"rotated_cone"})


@dataclass(frozen=True)
class BeyondRows:
    """By row and column of the compiled model it goes with."""

    products: dict[tuple[int, int], float] = field(default_factory=dict)
    """Coefficient of ``x[i] * x[j]`` in the objective, i <= j."""
    guards: dict[int, tuple[int, bool]] = field(default_factory=dict)
    """The column, and its value, that switches a row on."""
    semi: frozenset[int] = frozenset()
    """Columns that are 0 or within their bounds."""
    sets: tuple[tuple[int, list[int]], ...] = ()
    """Order and columns of each special ordered set."""
    set_blocks: dict[str, tuple[int, Shape]] = field(default_factory=dict)
    """First set and shape of each block of sets, by name."""


NOTHING = BeyondRows()


def split(model: Model, *, native: bool) -> tuple[MatrixForm, BeyondRows]:
    """Rows and bounds, and what a file says beside them.

    A sum of squares that is only minimised is a quadratic objective, and its variable is left out.

    Args:
        model: to be said.
        native: keep indicators of one literal, special ordered sets of single variables and
            semi-continuous variables that are not negative as they are; everything else, and
            without it these too, is lowered to rows.

    Raises:
        ModelError: a block that must be lowered lacks the bounds for it.
        UnsupportedError: a rotated cone that is no quadratic objective.
    """
    kinds = _CONE | _NATIVE if native else _CONE
    lowered = lower(model, kinds)
    if unsaid := [block for block in lowered.blocks.values() if not _sayable(lowered, block)]:
        lowered = lowered.copy()
        for block in unsaid:
            lower_block(lowered, block)
    compiled = lowered.compile(kinds)
    compiled, guards = _with_guarded_rows(compiled)
    semi: set[int] = set()
    sets: list[tuple[int, list[int]]] = []
    set_blocks, cones = {}, []
    low = compiled.lower.copy()
    for block in compiled.nonlinear:
        if isinstance(block, SemiContinuous):
            columns = block.result.terms[0].columns
            low[columns] = block.least.ravel()
            semi.update(columns.tolist())
        elif isinstance(block, SpecialOrdered):
            set_blocks[block.name] = len(sets), block.shape
            matrix, _ = affine(block.values, lowered.columns)
            places = matrix.indices.reshape(-1, block.values.shape[-1])
            sets += [(block.order, columns) for columns in places.tolist()]
        elif isinstance(block, RotatedCone):
            cones.append(block)
    beyond = BeyondRows({}, guards, frozenset(semi), tuple(sets), set_blocks)
    compiled = replace(compiled, lower=low, nonlinear=())
    return _with_squares(lowered, compiled, beyond, cones) if cones else (compiled, beyond)


def _sayable(model: Model, block: Block) -> bool:
    """Whether a file can say it, of the kinds that stay."""
    if isinstance(block, Indicator):
        return len(block.literals) == 1
    if isinstance(block, SemiContinuous):
        lower, upper, _ = model.domains()
        columns = block.result.terms[0].columns
        most = block.most.ravel()
        own = [b for b in model.blocks.values() if isinstance(b, SemiContinuous) and b is not block]
        shared = [t.columns for b in own for t in b.result.terms]
        return bool(
            (block.least >= 0).all() and (block.least <= block.most).all()
            and (lower[columns] == 0).all()
            and (upper[columns] == most).all() and (most > 0).all()
            and not np.isin(columns, np.concatenate([*shared, np.zeros(0)])).any()
        )  # fmt: skip
    if isinstance(block, SpecialOrdered):
        matrix, constant = affine(block.values, model.columns)
        single = bool((np.diff(matrix.indptr) == 1).all()) and not constant.any()
        width = block.values.shape[-1]
        return single and width > 0 and all(
            len(set(columns)) == width for columns in matrix.indices.reshape(-1, width).tolist()
        )  # fmt: skip
    return True


def _with_guarded_rows(compiled: MatrixForm) -> tuple[MatrixForm, dict[int, tuple[int, bool]]]:
    """The rows of indicators below the others; one of two sides becomes two."""
    guards: dict[int, tuple[int, bool]] = {}
    blocks, parts = dict(compiled.row_blocks), [compiled.rows]
    count = compiled.rows.count
    for indicator in compiled.indicators:
        for name, rows, shape, chosen in _one_sided(indicator):
            blocks[name] = count, shape
            for column in indicator.literals[chosen, 0].tolist():
                guards[count] = column, bool(indicator.active[0])
                count += 1
            parts.append(rows)
    rows = Rows(
        sp.csr_array(sp.vstack([part.matrix for part in parts])),
        np.concatenate([part.lower for part in parts]),
        np.concatenate([part.upper for part in parts]),
    )
    return replace(compiled, rows=rows, row_blocks=blocks, indicators=()), guards


def _one_sided(
    indicator: CompiledIndicator,
) -> Iterator[tuple[str, Rows, Shape, NDArray[np.intp]]]:
    """Name, rows, shape and entries of what has one side, or is an equation."""
    rows, every = indicator.rows, np.arange(indicator.rows.count)
    two = np.isfinite(rows.lower) & np.isfinite(rows.upper) & (rows.lower != rows.upper)
    first = Rows(rows.matrix, np.where(two, -np.inf, rows.lower), rows.upper)
    yield indicator.name, first, indicator.shape, every
    if two.any():
        low = np.flatnonzero(two)
        second = Rows(rows.matrix[low], rows.lower[low], np.full(len(low), np.inf))
        yield f"{indicator.name}:low", second, (len(low),), low


# quadratic objectives


def _with_squares(
    model: Model, compiled: MatrixForm, beyond: BeyondRows, cones: list[RotatedCone]
) -> tuple[MatrixForm, BeyondRows]:
    """The cones as squares in the objective, without the variables that bound them."""
    total = sp.csr_array((model.columns, model.columns))
    cost, offset = compiled.cost.copy(), compiled.offset
    kept = np.ones(model.columns, dtype=bool)
    dropped = set()
    for cone in cones:
        name, weight = _weights(model, compiled, beyond, cones, cone)
        matrix, constant = affine(cone.w, model.columns)
        weights = np.repeat(weight, cone.w.shape[-1])
        scaled = sp.csr_array(sp.diags_array(weights) @ matrix)
        total = total + matrix.T @ scaled
        cost += 2 * (scaled.T @ constant)
        offset += float(weights @ constant**2)
        kept[cone.u.terms[0].columns] = False
        dropped.add(name)
    upper = sp.coo_array(sp.triu(total))
    place = np.cumsum(kept) - 1
    products = {
        (int(place[i]), int(place[j])): float(v if i == j else 2 * v)
        for i, j, v in zip(*upper.coords, upper.data, strict=True)
        if v
    }
    blocks, first = {}, 0
    for name, (_, shape) in compiled.column_blocks.items():
        if name not in dropped:
            blocks[name] = first, shape
            first += math.prod(shape)
    rows = compiled.rows
    return replace(
        compiled, cost=cost[kept], offset=offset, column_blocks=blocks,
        integer=compiled.integer[kept], lower=compiled.lower[kept],
        upper=compiled.upper[kept], rows=Rows(rows.matrix[:, kept], rows.lower, rows.upper),
    ), replace(
        beyond, products=products,
        guards={row: (int(place[c]), on) for row, (c, on) in beyond.guards.items()},
        semi=frozenset(int(place[c]) for c in beyond.semi),
        sets=tuple((order, place[columns].tolist()) for order, columns in beyond.sets),
    )  # fmt: skip


def _weights(
    model: Model,
    compiled: MatrixForm,
    beyond: BeyondRows,
    cones: list[RotatedCone],
    cone: RotatedCone,
) -> tuple[str, Floats]:
    """Return the name of the bounded variable and the weights of the squares in the objective.

    Raises:
        UnsupportedError: that variable means more than its cost.
    """
    columns, v = _columns(cone.u), np.ravel(cone.v.constant)
    owner = [x for x in model.variables.values() if len(columns) and x.start == columns[0]]
    elsewhere = np.zeros(model.columns, dtype=int)
    matrix = compiled.rows.matrix
    elsewhere += np.bincount(matrix.indices, minlength=model.columns)
    mentioned = [_columns(e) for other in cones for e in (other.u, other.v, other.w)]
    mentioned += [np.array(one) for _, one in beyond.sets]
    mentioned += [np.array([column for column, _ in beyond.guards.values()], dtype=int)]
    for one in mentioned:
        elsewhere += np.bincount(one, minlength=model.columns)
    cost = compiled.cost[columns]
    with np.errstate(over="ignore"):
        most = (np.maximum(*np.abs(range_of(cone.w, model.domains()))) ** 2).sum(axis=-1)
    free = (
        any(x.size == len(columns) == cone.u.size for x in owner)
        and not cone.v.terms and (v > 0).all()
        and np.equal(cone.u.terms[0].coefficients, 1.0).all()
        and np.equal(cone.u.constant, 0.0).all()
        and (elsewhere[columns] == 1).all()
        and (compiled.lower[columns] <= 0).all()
        and (compiled.upper[columns] * v >= np.ravel(most)).all()
        and not compiled.integer[columns].any()
        and ((cost < 0) if compiled.maximise else (cost > 0)).all()
    )  # fmt: skip
    if not free:
        raise UnsupportedError(
            f"block {cone.name!r}: a rotated cone has no exact linear form; of squares, files say "
            "only those in the objective: a sum of squares in no row, where less is better"
        )
    weight: Floats = cost / v
    return next(x.name for x in owner if x.size == len(columns)), weight


def _columns(expression: Expression) -> NDArray[np.int32]:
    return np.concatenate([*(t.columns for t in expression.terms), np.zeros(0, dtype=np.int32)])
