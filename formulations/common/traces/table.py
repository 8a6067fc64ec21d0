"""Tables of traces: columns by name, each row with the number of its line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optsched.errors import FieldProblem, InputError
from optsched.instances.text_files import table_rows

_LISTED = 5  # bad values named in one error
_LARGEST = 2**53
"""Whole numbers up to here are exact."""


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of a CSV file as text."""

    path: Path
    line: NDArray[np.int64]
    """Number of each row's line in the file, shape (rows,)."""
    columns: dict[str, NDArray[np.object_]]
    """Text by name, each of shape (rows,)."""
    blank: int
    """Blank lines left out."""

    def numbers(self, column: str, *, kept: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """A column of finite numbers >= 0.

        Args:
            column: its name.
            kept: which rows must have one; others are 0.

        Raises:
            InputError: a value is none; it names line and column.
        """
        return self._numbers(column, kept, whole=False)

    def whole(self, column: str, *, kept: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """The same of whole numbers."""
        return self._numbers(column, kept, whole=True).astype(np.int64)

    def _numbers(
        self, column: str, kept: NDArray[np.bool_] | None, *, whole: bool
    ) -> NDArray[np.float64]:
        text: NDArray[np.object_] = self.columns[column]
        if kept is not None:
            text = np.where(kept, text, "0")
        values = pd.to_numeric(pd.Series(text, dtype=object), errors="coerce").to_numpy(np.float64)
        bad = ~(np.isfinite(values) & (values >= 0))
        if whole:
            bad |= ~bad & ((values != np.round(values)) | (values > _LARGEST))
        self.refuse(column, bad, f"a {'whole' if whole else 'finite'} number >= 0")
        return values

    def refuse(self, column: str, bad: NDArray[np.bool_], allowed: str) -> None:
        """Refuse values of a column.

        Raises:
            InputError: there is one; it names the line, the value and what is allowed.
        """
        if bad.any():
            raise InputError(
                [
                    FieldProblem(
                        f"{self.path}, line {self.line[at]}, {column}",
                        self.columns[column][at],
                        allowed,
                    )
                    for at in np.flatnonzero(bad)[:_LISTED].tolist()
                ]
            )


def read_table(path: Path, wanted: tuple[str, ...], *, may_lack: tuple[str, ...] = ()) -> Table:
    """The wanted columns of a CSV file, also compressed.

    Args:
        path: the file; others of its columns are left alone.
        wanted: names.
        may_lack: those whose value a row may lack, at its end; it is empty then.

    Raises:
        InputError: the file cannot be read, lacks a column, or has a row with too few values or
            too many.
    """
    rows = table_rows(path, may_lack=may_lack)
    _, header = next(rows)
    missing = [name for name in wanted if name not in header]
    if missing:
        allowed = "must have " + ", ".join(map(repr, missing))
        raise InputError.of(f"{path}, header", header, allowed)
    places = [header.index(name) for name in wanted]
    listed = list(rows)
    kept = [(line, [cells[k] for k in places]) for line, cells in listed if any(cells)]
    columns = np.array([cells for _, cells in kept], dtype=object).reshape(-1, len(wanted)).T
    return Table(
        path,
        np.array([line for line, _ in kept], dtype=np.int64),
        dict(zip(wanted, columns, strict=True)),
        len(listed) - len(kept),
    )
