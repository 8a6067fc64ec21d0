"""Classical MPS and LP files as models."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optsched.errors import InputError
from optsched.model import Model
from optsched.model.expression import Expression, Relation, Terms

_MOST_BLOCKS = 200
"""With more stems than this among the names, a file's rows or columns are one block each kind."""


def from_mps(path: str | Path) -> Model:
    """Read a file (MPS or LP, also gzipped) by HiGHS.

    Names that differ in their trailing numbers only, such as ``x_1`` and ``x_2``, form a block,
    in the order of the file. Columns of a block that differ in kind form blocks of their own.

    Raises:
        InputError: no such file, or HiGHS cannot read it, or it holds more than linear rows and
            integer or continuous columns.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from optsched import Model, from_mps, solve
        >>> m = Model("small")
        >>> x = m.integer("x", 2, upper=3)
        >>> m.maximize(x.sum())
        >>> with TemporaryDirectory() as folder:
        ...     _ = m.write(f"{folder}/small.mps")
        ...     again = from_mps(f"{folder}/small.mps")
        >>> solve(again).objective
        -6.0
    """
    import highspy

    file = Path(path)
    if not file.is_file():
        raise InputError.of("path", str(path), "a file that exists")
    engine = highspy.Highs()
    engine.setOptionValue("output_flag", False)
    if engine.readModel(str(file)) == highspy.HighsStatus.kError:
        raise InputError.of("path", str(path), "an MPS or LP file that HiGHS can read")
    lp = engine.getLp()
    if engine.getModel().hessian_.dim_:
        raise InputError.of("path", str(path), "a file without quadratic terms")
    return _model(file.name.split(".")[0], lp, path)


def _model(name: str, lp: Any, path: str | Path) -> Model:
    columns, rows = lp.num_col_, lp.num_row_
    lower, upper = np.array(lp.col_lower_), np.array(lp.col_upper_)
    kinds = np.array([int(kind) for kind in lp.integrality_] or [0] * columns)
    if (kinds > 1).any():
        raise InputError.of("path", str(path), "a file without semi-continuous columns")
    words = np.where(kinds == 0, "continuous", "integer")
    words[(kinds == 1) & (lower == 0) & (upper == 1)] = "binary"
    model = Model(name)
    place = np.empty(columns, dtype=np.int32)  # from the file's column to the model's
    for block, members, word in _blocks(list(lp.col_names_), words):
        place[members] = model.columns + np.arange(len(members))
        if word == "binary":
            model.binary(block, len(members))
        elif word == "integer":
            model.integer(block, len(members), lower=lower[members], upper=upper[members])
        else:
            model.continuous(block, len(members), lower=lower[members], upper=upper[members])
    matrix = lp.a_matrix_
    data = (np.array(matrix.value_), np.array(matrix.index_), np.array(matrix.start_))
    rowwise = sp.csr_array(
        data if "Row" in str(matrix.format_) else sp.csc_array(data, shape=(rows, columns)),
        shape=(rows, columns),
    )
    sides = np.array(lp.row_lower_), np.array(lp.row_upper_)
    for block, members, _ in _blocks(list(lp.row_names_), np.full(rows, "")):
        part = rowwise[members].tocoo()
        terms = Terms(part.row.astype(np.int32), place[part.col], part.data)
        left = Expression(model, (len(members),), (terms,))
        model.add(block, Relation(left, sides[0][members], sides[1][members]))
    cost = np.array(lp.col_cost_)
    used = np.flatnonzero(cost).astype(np.int32)
    goal = Expression(
        model, (), (Terms(np.zeros(len(used), dtype=np.int32), place[used], cost[used]),),
        float(lp.offset_),
    )  # fmt: skip
    if "Max" in str(lp.sense_):
        model.maximize(goal)
    else:
        model.minimize(goal)
    return model


def _blocks(names: list[str], kinds: NDArray[np.str_]) -> list[tuple[str, NDArray[np.int64], str]]:
    """Name, members and kind of each block, in the order of first appearance."""
    stems = [re.sub(r"[\W_\d]+$", "", name) or "block" for name in names]
    if len(set(stems)) > _MOST_BLOCKS or not stems:
        stems = ["all"] * len(kinds)
    pairs: dict[tuple[str, str], list[int]] = {}
    for i, key in enumerate(zip(stems, kinds.tolist(), strict=True)):
        pairs.setdefault(key, []).append(i)
    mixed = {stem for stem, _ in pairs if sum(other == stem for other, _ in pairs) > 1}
    return [
        (f"{stem}:{kind}" if stem in mixed else stem, np.array(members), kind)
        for (stem, kind), members in pairs.items()
    ]
