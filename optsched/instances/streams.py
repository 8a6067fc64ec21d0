"""Separate random streams for separate columns, so that instances stay comparable.

A column with its own stream does not depend on how other columns are drawn. numpy draws one value
after the other, so a longer column begins with the shorter one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def streams(rng: np.random.Generator, count: int) -> list[np.random.Generator]:
    """Independent generators, decided by the next draw of ``rng``.

    The first few are the same however many there are.
    """
    return np.random.default_rng(rng.integers(2**63, size=2)).spawn(count)


def integer_columns(
    rng: np.random.Generator, bounds: tuple[int, int], rows: int, columns: int
) -> NDArray[np.int64]:
    """Whole numbers, both bounds included, shape (rows, columns), every column from a stream.

    More rows or more columns leave the others as they are.
    """
    drawn: Sequence[NDArray[np.int64]] = [
        own.integers(*bounds, rows, endpoint=True) for own in streams(rng, columns)
    ]
    return np.array(drawn).reshape(columns, rows).T


def integer_table(
    rng: np.random.Generator, bounds: tuple[int, int], rows: int, columns: int
) -> NDArray[np.int64]:
    """The same from one stream, row by row."""
    return rng.integers(*bounds, (rows, columns), endpoint=True)
