"""MPS and LP files as models."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from optsched.errors import InputError, ModelError
from optsched.files.contents import Contents, FilePosition
from optsched.files.lp_reader import read_lp
from optsched.files.mps_reader import read_mps
from optsched.files.names import NAMED
from optsched.instances.text_files import text_file
from optsched.model import Model
from optsched.model.expression import Expression, Floats, Relation, Shape, Terms
from optsched.model.labels import labels_of

_READERS = {".mps": read_mps, ".qps": read_mps, ".lp": read_lp}
_MOST_BLOCKS = 200
"""With more stems than this among the names, a file's rows or columns are one block each kind."""
_ROUNDING = 1e-9
"""Share of the largest eigenvalue: a squared part no further below 0 than this is convex."""


def read(path: str | Path) -> Model:
    """Read an MPS or LP file, also gzipped, as a model.

    Columns whose names differ in trailing numbers only, such as ``x_0`` and ``x_1``, form a block,
    in the order of the file; each kind of column has its own block. If the numbers are the indices
    of a shape, the block has this shape. Otherwise it has one axis, ``name``, labelled by the names
    of the file, and a solution gives its values as a pandas Series.

    The reader takes linear rows, integers, semi-continuous and semi-integer columns, indicators,
    special ordered sets and a quadratic objective. A convex objective becomes a sum of squares in a
    new variable ``squares``. In another one, each product must have a bounded integer factor.

    A number of 1e20 or more is infinite: no bound, or no side of a row.

    Raises:
        InputError: no such file, another ending, a line that cannot be read (naming the line, the
            value and what is allowed), a column whose bounds contradict each other, an objective
            that a model cannot state, or more than 512 MiB once unpacked.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from optsched import Model, read, solve
        >>> m = Model("small")
        >>> x = m.integer("x", 2, upper=3)
        >>> m.maximize(x.sum())
        >>> with TemporaryDirectory() as folder:
        ...     _ = m.write(f"{folder}/small.lp")
        ...     again = read(f"{folder}/small.lp")
        >>> solve(again).objective
        6.0
    """
    file = Path(path)
    if not file.is_file():
        raise InputError.of("path", str(path), "a file that exists")
    packed = file.suffix.lower() == ".gz"
    ending = Path(file.stem).suffix.lower() if packed else file.suffix.lower()
    if ending not in _READERS:
        endings = ", ".join(_READERS)
        raise InputError.of("path", str(path), f"must end in {endings}, or in one of them and .gz")
    place = FilePosition(file.name)
    with text_file(file) as lines:
        contents = _READERS[ending](lines, place)
    contents.check_bounds(place)
    try:
        return _model(file.name.split(".")[0], contents)
    except ModelError as error:
        raise InputError.of("path", str(path), f"a model that can be said: {error}") from None


def _model(name: str, found: Contents) -> Model:
    model = Model(name)
    place = _columns(model, found)
    rows, sides = len(found.rows), (np.array(found.row_lower), np.array(found.row_upper))
    pairs = np.array(list(found.entries), dtype=np.int64).reshape(-1, 2)
    data = np.array(list(found.entries.values()), dtype=np.float64)
    matrix = sp.csr_array((data, (pairs[:, 0], place[pairs[:, 1]])), shape=(rows, model.columns))

    def relation(members: NDArray[np.int64], shape: Shape) -> Relation:
        part = matrix[members].tocoo()
        terms = Terms(part.row.astype(np.int32), part.col.astype(np.int32), part.data)
        left = Expression(model, shape, (terms,))
        low, high = (side[members].reshape(shape) for side in sides)
        return Relation(left, low, high)

    names = list(found.rows)
    kinds = [f"if {found.guards[i][1]}" if i in found.guards else "" for i in range(rows)]
    for block, shape, members, kind in _blocks(names, kinds):
        if not kind:
            row = relation(members, (len(members),) if shape is None else shape)
            labels = _labels(block, shape, names, members)
            model.add(_free(block, model.blocks), row.labelled(labels) if labels else row)
            continue
        groups = [(block, shape, members)]
        if shape is None:  # a block each, under its own name
            groups = [(names[i], (), np.array([i])) for i in members.tolist()]
        for own, form, those in groups:
            literals = place[[found.guards[i][0] for i in those.tolist()]].reshape(form or ())
            row, on = relation(those, form or ()), kind == "if True"
            own = _free(own, model.blocks)
            model.indicator(_plain(model, literals), row, active=on, name=own)
    for own, (order, members_) in found.sets.items():
        if members_:
            columns = place[[column for _, column in sorted(members_)]]
            say = model.sos1 if order == 1 else model.sos2
            say(_plain(model, columns), name=_free(own, model.blocks))
    _objective(model, found, place)
    return model


def _free(name: str, taken: Collection[str]) -> str:
    """The name; if it is taken, with as many colons after it as make it new."""
    while name in taken:
        name += ":"
    return name


def _plain(model: Model, columns: NDArray[np.int32]) -> Expression:
    """Columns as an array of variables."""
    return Expression(model, columns.shape, (Terms(None, columns.ravel(), 1.0),))


# columns


def _columns(model: Model, found: Contents) -> NDArray[np.int32]:
    """Declare all; from the file's columns to the model's."""
    lower, upper = np.array(found.lower), np.array(found.upper)
    place, names = np.empty(len(lower), dtype=np.int32), list(found.columns)
    kinds = [_kind(found, i) for i in range(len(lower))]
    for block, form, members, kind in _blocks(names, kinds):
        shape = (len(members),) if form is None else form
        place[members] = model.columns + np.arange(len(members))
        low, high = (side[members].reshape(shape) for side in (lower, upper))
        if kind == "binary":
            made = model.binary(block, shape)
        else:
            made = getattr(model, kind)(block, shape, lower=low, upper=high)
        made.labels = _labels(block, form, names, members) or None
    return place


def _kind(found: Contents, column: int) -> str:
    """The model's method for it."""
    whole = column in found.integer
    if column in found.semi:
        return "semi_integer" if whole else "semicontinuous"
    unit = found.lower[column] == 0 and found.upper[column] == 1
    return "binary" if whole and unit else "integer" if whole else "continuous"


def _labels(
    block: str, shape: Shape | None, names: list[str], members: NDArray[np.int64]
) -> dict[str, Any]:
    return {} if shape is not None else labels_of(block, {NAMED: [names[i] for i in members]})


def _blocks(
    names: list[str], kinds: Sequence[str]
) -> list[tuple[str, Shape | None, NDArray[np.int64], str]]:
    """Name, shape (None if the names tell none), members and kind of each block."""
    stems = [re.sub(r"[\W_\d]+$", "", name) or "block" for name in names]
    if len(set(stems)) > _MOST_BLOCKS:
        stems = ["all"] * len(names)
    pairs: dict[tuple[str, str], list[int]] = {}
    for i, key in enumerate(zip(stems, kinds, strict=True)):
        pairs.setdefault(key, []).append(i)
    ordered = sorted(stem for stem, _ in pairs)
    mixed = {stem for stem, group in groupby(ordered) if len(list(group)) > 1}
    return [
        (
            f"{stem}:{kind}" if stem in mixed else stem,
            None if stem in mixed else _shape(stem, [names[i] for i in members]),
            np.array(members),
            kind,
        )
        for (stem, kind), members in pairs.items()
    ]


def _shape(stem: str, names: list[str]) -> Shape | None:
    """The shape whose indices, in C order, follow the stem in the names."""
    last = re.fullmatch(r"((?:_\d+)*)", names[-1][len(stem) :])
    if last is None or not re.fullmatch(r"[A-Za-z]\w*", stem, re.ASCII):
        return None  # a block's name would not be spelled so
    shape = tuple(int(i) + 1 for i in last[1].split("_")[1:])
    if math.prod(shape) != len(names):
        return None
    spelled = ("_".join((stem, *map(str, index))) for index in np.ndindex(shape))
    return shape if all(a == b for a, b in zip(spelled, names, strict=True)) else None


# the objective


def _objective(model: Model, found: Contents, place: NDArray[np.int32]) -> None:
    used = place[list(found.cost)]
    terms = Terms(np.zeros(len(used), dtype=np.int32), used, np.array(list(found.cost.values())))
    goal = Expression(model, (), (terms,), found.offset)
    pairs = {pair: value for pair, value in found.products.items() if value}
    if pairs:
        goal = goal + _squares(model, pairs, place, -1.0 if found.maximise else 1.0)
    (model.maximize if found.maximise else model.minimize)(goal)


def _squares(
    model: Model, pairs: dict[tuple[int, int], float], place: NDArray[np.int32], sign: float
) -> Expression:
    """The quadratic part: sums of squares if it is convex, products elsewhere."""
    columns, ends = np.unique(place[np.array(list(pairs))], return_inverse=True)
    one, other = ends.reshape(-1, 2).T
    weights, size = np.array(list(pairs.values())), len(columns)
    half = sp.csr_array((weights / 2, (one, other)), shape=(size, size))
    matrix = sp.csr_array(half + half.T)  # x' matrix x
    _, part = connected_components(matrix, directed=False)
    own, every = sign * matrix.diagonal(), sp.eye_array(size, format="csr")
    alone = np.bincount(part)[part] == 1
    left = alone & (own < 0)
    roots = [sp.diags_array(np.sqrt(np.abs(own)), format="csr")[alone & ~left]]
    for group in np.unique(part[~alone]):
        joined = np.flatnonzero(part == group)
        root = _root(sign * matrix[joined][:, joined].toarray())
        left[joined] = root is None
        if root is not None:
            roots.append(sp.csr_array(root) @ every[joined])
    x = _plain(model, columns.astype(np.int32))
    total = model.as_expression(0.0)
    factor = sp.csr_array(sp.vstack(roots))
    if factor.shape[0]:
        name = _free("squares", {*model.variables, *model.blocks})
        total = sign * model.sum_of_squares(factor @ x, name=name)
    if left.any():
        i, j, values = (each[left[one]] for each in (one, other, weights))
        lower, upper, integer = (side[columns] for side in model.domains())
        bounded = np.isfinite(lower) & np.isfinite(upper)
        name = _free("products", {*model.variables, *model.blocks})
        fit = (integer[i] | integer[j]) & bounded[i] & bounded[j]
        if not fit.all():
            pair = [model.column_name(int(columns[k[np.argmin(fit)]])) for k in (i, j)]
            raise ModelError(
                f"its quadratic objective is not {'concave' if sign < 0 else 'convex'}, and of the "
                f"product of {' and '.join(pair)} no factor is integer, or one has no bounds"
            )
        total = total + model.product(x[i], x[j], name=name) @ values
    return total


def _root(matrix: Floats) -> Floats | None:
    """``R`` with ``R' R = matrix``; None if there is none."""
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < -_ROUNDING * max(values[-1], 0.0):
        return None
    kept = values > _ROUNDING * values[-1]
    return np.asarray((vectors[:, kept] * np.sqrt(values[kept])).T)
