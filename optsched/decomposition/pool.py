"""Every column generated so far, in arrays that grow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optsched.decomposition.columns import Column, Condition, Feature
from optsched.decomposition.rows import CutRow, Split
from optsched.model.expression import Floats

RowKey: TypeAlias = tuple[int, frozenset[Condition]] | CutRow | Split
"""What a row after the coupling rows sums: the columns of a block that meet all of some
conditions, or any coefficients."""


class _Growing:
    """An array with room at its end, so that appending costs little on average."""

    def __init__(self, dtype: type) -> None:
        self._room: NDArray[Any] = np.empty(256, dtype=dtype)
        self._used = 0

    def extend(self, values: NDArray[Any]) -> None:
        end = self._used + len(values)
        if end > len(self._room):
            room = np.empty(max(end, 2 * len(self._room)), dtype=self._room.dtype)
            room[: self._used] = self._room[: self._used]
            self._room = room
        self._room[self._used : end] = values
        self._used = end

    @property
    def values(self) -> NDArray[Any]:
        return self._room[: self._used]


class ColumnPool:
    """Columns without duplicates, their prices and their features.

    Rows are numbered as in the master problem's duals: coupling rows first, then one row per
    (block, conditions) that branching counts, per cut and per split.
    """

    def __init__(self, rows: int) -> None:
        self.columns: list[Column] = []
        self.added: list[RowKey] = []
        """What each row after the coupling rows sums."""
        self.coupling = rows
        self._position: dict[tuple[object, ...], int] = {}
        self._units: dict[tuple[int, Feature], tuple[list[int], list[int]]] = {}
        self._cost, self._block = _Growing(np.float64), _Growing(np.int64)
        self._entry_row, self._entry_column = _Growing(np.int64), _Growing(np.int64)
        self._entry_value = _Growing(np.float64)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def cost(self) -> Floats:
        """Shape (columns,)."""
        return self._cost.values

    @property
    def block(self) -> NDArray[np.int64]:
        """Shape (columns,)."""
        return self._block.values

    @property
    def height(self) -> int:
        """Coupling rows and rows added."""
        return self.coupling + len(self.added)

    def extend(self, columns: Iterable[Column]) -> list[Column]:
        """Take in what is new; returns it."""
        new = []
        for column in columns:
            key = _key(column)
            if key not in self._position:
                self._position[key] = len(self._position)
                new.append(column)
        first = len(self.columns)
        self.columns += new
        self._cost.extend(np.array([c.cost for c in new], dtype=np.float64))
        self._block.extend(np.array([c.block for c in new], dtype=np.int64))
        for position, column in enumerate(new, start=first):
            for feature, units in column.features.items():
                if units:
                    where, how_many = self._units.setdefault((column.block, feature), ([], []))
                    where.append(position)
                    how_many.append(units)
        for position, (rows, values) in enumerate(map(self.entries, new), start=first):
            self._entry_row.extend(rows)
            self._entry_column.extend(np.full(len(rows), position))
            self._entry_value.extend(values)
        return new

    def entries(self, column: Column) -> tuple[NDArray[np.int64], Floats]:
        """Rows and coefficients of a column, rows added included."""
        extra = np.array([coefficient(key, column) for key in self.added], dtype=np.float64)
        there = np.flatnonzero(extra)
        rows = np.concatenate([np.asarray(column.rows), self.coupling + there]).astype(np.int64)
        return rows, np.concatenate([column.values, extra[there]])

    def add_row(self, key: RowKey) -> tuple[NDArray[np.int64], Floats]:
        """Begin a row; returns the columns that have coefficients in it, and these."""
        if isinstance(key, tuple):
            values = self.meeting(*key).astype(np.float64)
        else:
            values = np.array([key.of(column) for column in self.columns], dtype=np.float64)
        members = np.flatnonzero(values)
        self._entry_row.extend(np.full(len(members), self.height))
        self._entry_column.extend(members)
        self._entry_value.extend(values[members])
        self.added.append(key)
        return members, values[members]

    def meeting(self, block: int, conditions: Iterable[Condition]) -> NDArray[np.bool_]:
        """Which columns belong to the block and meet all conditions."""
        chosen = np.asarray(self.block == block)
        for condition in conditions:
            chosen &= self.units(block, condition.feature) >= condition.at_least
        return chosen

    def units(self, block: int, feature: Feature) -> NDArray[np.int64]:
        """Units of a feature in each column; 0 in columns of other blocks."""
        units = np.zeros(len(self), dtype=np.int64)
        where, how_many = self._units.get((block, feature), ((), ()))
        units[list(where)] = how_many
        return units

    def prices(self, weight: float, duals: Floats) -> Floats:
        """Price of every column, the block's own convexity row left out; shape (columns,)."""
        worth = self._entry_value.values * duals[self._entry_row.values]
        paid = np.bincount(self._entry_column.values, weights=worth, minlength=len(self))
        return np.asarray(weight * self.cost - paid)

    def numbers(self, chosen: Iterable[Column]) -> Floats:
        """How often each column is among some of those known, shape (columns,)."""
        at = np.array([self._position[_key(column)] for column in chosen], dtype=np.int64)
        return np.bincount(at, minlength=len(self)).astype(float)

    def held(self, weights: Floats) -> Floats:
        """What a choice of columns has in each coupling row, shape (rows,)."""
        worth = self._entry_value.values * weights[self._entry_column.values]
        rows = np.bincount(self._entry_row.values, weights=worth, minlength=self.coupling)
        return np.asarray(rows[: self.coupling], dtype=np.float64)

    def matrix(self) -> sp.csr_array:
        """Coefficients of the coupling rows, shape (rows, columns)."""
        return self._entries()[: self.coupling]

    def cuts(self) -> tuple[sp.csr_array, Floats]:
        """Coefficients of the cuts, shape (cuts, columns), and their right-hand sides."""
        cuts = [(r, key.upper) for r, key in enumerate(self.added) if isinstance(key, CutRow)]
        rows = [self.coupling + r for r, _ in cuts]
        return self._entries()[rows], np.array([upper for _, upper in cuts], dtype=np.float64)

    def _entries(self) -> sp.csr_array:
        at = self._entry_row.values, self._entry_column.values
        return sp.csr_array((self._entry_value.values, at), shape=(self.height, len(self)))


def coefficient(key: RowKey, column: Column) -> float:
    """What a column has in a row that was added."""
    if not isinstance(key, tuple):
        return key.of(column)
    block, conditions = key
    return float(block == column.block and all(c.holds(column) for c in conditions))


def _key(column: Column) -> tuple[object, ...]:
    """Two columns of one key are the same to the master problem and to branching."""
    order = np.argsort(column.rows, kind="stable")
    rows = np.asarray(column.rows, dtype=np.int64)[order]
    values = np.asarray(column.values, dtype=np.float64)[order]
    features = frozenset((f, units) for f, units in column.features.items() if units)
    return column.block, column.cost, rows.tobytes(), values.tobytes(), features, column.number
