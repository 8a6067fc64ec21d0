"""ChangedNumbers of a compiled model that change while its structure stays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from optsched.errors import ModelError
from optsched.model import Model, Rows
from optsched.model.blocks import Linear
from optsched.model.expression import Floats, Shape
from optsched.model.matrix_form import MatrixForm

Values = Mapping[str, ArrayLike]
Sides = ArrayLike | tuple[ArrayLike, ArrayLike]
Place = tuple[str, str]
"""A block of rows and a variable."""


class Structure:
    """What of a model is compiled: whose numbers can change, and where they are."""

    def __init__(self, model: Model) -> None:
        self.blocks, self.objective = dict(model.blocks), (model.objective, model.maximise)
        self.columns = model.columns
        self.linear = {name for name, b in model.blocks.items() if isinstance(b, Linear)}
        self.bound_to = _in_nonlinear_blocks(model)
        """By variable, a nonlinear block that mentions it."""
        self.places: dict[tuple[int, Place], _CoefficientPlaces] = {}
        """By rows of a compiled model and place, kept as they are found."""

    @property
    def plain(self) -> bool:
        """Whether all blocks are linear rows."""
        return len(self.linear) == len(self.blocks)


@dataclass
class ChangedNumbers:
    """ChangedNumbers that differ from the model's, by what they are of."""

    cost: dict[str, ArrayLike] = field(default_factory=dict)
    offset: float | None = None
    rhs: dict[str, Sides] = field(default_factory=dict)
    lower: dict[str, ArrayLike] = field(default_factory=dict)
    upper: dict[str, ArrayLike] = field(default_factory=dict)
    coefficients: dict[Place, Any] = field(default_factory=dict)

    def parts(self) -> set[str]:
        """The words by which compiled models know what changed."""
        given = {
            "cost": self.cost, "rows": self.rhs, "columns": self.lower or self.upper,
            "matrix": self.coefficients, "offset": self.offset is not None,
        }  # fmt: skip
        return {word for word, values in given.items() if values}

    def put(self, structure: Structure, compiled: MatrixForm) -> None:
        """Put the numbers in their places; right-hand sides become pairs.

        Raises:
            ModelError: a name, shape or place that the model does not have.
        """
        for name, value in self.cost.items():
            part, shape = columns_of(compiled, name)
            compiled.cost[part] = spread(name, value, shape)
        for bound, values in ((compiled.lower, self.lower), (compiled.upper, self.upper)):
            for name, value in values.items():
                part, shape = columns_of(compiled, name)
                if name in structure.bound_to:
                    raise ModelError(
                        f"bounds of {name!r} cannot change: rows of block "
                        f"{structure.bound_to[name]!r} are made from them"
                    )
                bound[part] = spread(name, value, shape)
        for name, side in list(self.rhs.items()):
            self.rhs[name] = _set_sides(structure, compiled, name, side)
        for place, matrix in self.coefficients.items():
            _set_coefficients(structure, compiled, place, matrix)

    def take(self, other: ChangedNumbers) -> None:
        """What is newer stands in the place of what was there."""
        for name in ("cost", "rhs", "lower", "upper", "coefficients"):
            getattr(self, name).update(getattr(other, name))
        if other.offset is not None:
            self.offset = other.offset

    def forget_block(self, name: str) -> None:
        """A block is gone, and its numbers with it."""
        self.rhs.pop(name, None)
        self.coefficients = {p: m for p, m in self.coefficients.items() if p[0] != name}


def _rows(structure: Structure, compiled: MatrixForm, name: str) -> tuple[slice, Shape]:
    if name not in structure.linear:
        known = ", ".join(n for n in compiled.row_blocks if n in structure.linear)
        raise ModelError(f"no linear block {name!r}; there are: {known}")
    first, shape = compiled.row_blocks[name]
    return slice(first, first + math.prod(shape)), shape


def _set_sides(
    structure: Structure, compiled: MatrixForm, name: str, side: Sides
) -> tuple[Floats, Floats]:
    """Set the sides of a block, and say both."""
    part, shape = _rows(structure, compiled, name)
    low, high = compiled.rows.lower[part], compiled.rows.upper[part]
    if isinstance(side, tuple):
        if len(side) != 2:
            raise ModelError(f"rhs of {name!r}: a pair (lower, upper), or one number a row")
        low[:], high[:] = spread(name, side[0], shape), spread(name, side[1], shape)
    else:
        below, above = np.isfinite(low), np.isfinite(high)
        if (below & above & (low != high)).any():
            raise ModelError(f"rhs of {name!r}: its rows have two sides, give (lower, upper)")
        value = spread(name, side, shape)
        if not np.isfinite(value).all():
            raise ModelError(f"rhs of {name!r}: a number is not finite")
        low[below], high[above] = value[below], value[above]
    return low.reshape(shape).copy(), high.reshape(shape).copy()


def _set_coefficients(
    structure: Structure, compiled: MatrixForm, place: Place, matrix: Any
) -> None:
    key = (id(compiled.rows), place)
    if key not in structure.places:
        rows, _ = _rows(structure, compiled, place[0])
        columns, _ = columns_of(compiled, place[1])
        structure.places[key] = _CoefficientPlaces.find(compiled.rows.matrix, rows, columns)
    known = structure.places[key]
    given: Any = matrix if sp.issparse(matrix) else np.asarray(matrix, dtype=np.float64)
    if given.shape != known.shape:
        raise ModelError(f"coefficients of {place}: shape {given.shape}, not {known.shape}")
    values = known.values(given)
    # NaN counts as nonzero on both sides, and is refused with the other numbers
    dense = isinstance(given, np.ndarray)
    nonzeros = np.count_nonzero(given) if dense else given.count_nonzero()
    if nonzeros != np.count_nonzero(values):
        raise ModelError(f"coefficients of {place}: one is not 0 where the model has none")
    compiled.rows.matrix.data[known.position] = values


class _CoefficientPlaces:
    """Where the coefficients of a block and a variable are stored."""

    def __init__(
        self,
        shape: Shape,
        position: NDArray[np.int64],
        row: NDArray[np.int64],
        column: NDArray[np.int64],
    ) -> None:
        self.shape, self.position, self.row, self.column = shape, position, row, column

    @classmethod
    def find(cls, matrix: sp.csr_array, rows: slice, columns: slice) -> _CoefficientPlaces:
        start, end = int(matrix.indptr[rows.start]), int(matrix.indptr[rows.stop])
        column = matrix.indices[start:end]
        inside = np.flatnonzero((column >= columns.start) & (column < columns.stop))
        lengths = np.diff(matrix.indptr[rows.start : rows.stop + 1])
        row = np.repeat(np.arange(len(lengths)), lengths)[inside]
        shape = (rows.stop - rows.start, columns.stop - columns.start)
        return cls(shape, inside + start, row, column[inside].astype(np.int64) - columns.start)

    def values(self, matrix: Any) -> Floats:
        if isinstance(matrix, np.ndarray):
            return np.asarray(matrix[self.row, self.column])
        return np.asarray(matrix.tocsr()[self.row, self.column]).reshape(-1)


def own(compiled: MatrixForm) -> MatrixForm:
    """A copy whose arrays may be written to."""
    rows = compiled.rows
    return replace(
        compiled,
        cost=compiled.cost.copy(),
        lower=compiled.lower.copy(),
        upper=compiled.upper.copy(),
        rows=Rows(rows.matrix.copy(), rows.lower.copy(), rows.upper.copy()),
    )


def _in_nonlinear_blocks(model: Model) -> dict[str, str]:
    """By variable, a nonlinear block that mentions it."""
    found: dict[str, str] = {}
    variables = list(model.variables.values())
    starts = np.array([v.start for v in variables])
    for block in model.blocks.values():
        if isinstance(block, Linear):
            continue
        for expression in block.expressions():
            for terms in expression.terms:
                places = np.unique(np.searchsorted(starts, terms.columns, side="right") - 1)
                for place in places.tolist():
                    found.setdefault(variables[place].name, block.name)
    return found


def columns_of(compiled: MatrixForm, name: str) -> tuple[slice, Shape]:
    """Columns and shape of a variable block."""
    if name not in compiled.column_blocks:
        raise ModelError(f"no variable {name!r}; there are: {', '.join(compiled.column_blocks)}")
    first, shape = compiled.column_blocks[name]
    return slice(first, first + math.prod(shape)), shape


def spread(name: str, value: ArrayLike, shape: Shape) -> Floats:
    """ChangedNumbers in the shape of a block, flat."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape == shape:
        return array.reshape(-1)
    try:
        return np.broadcast_to(array, shape).reshape(-1)
    except ValueError:
        raise ModelError(f"{name!r}: shape {array.shape} does not fit {shape}") from None
