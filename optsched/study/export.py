"""Tables of a study as files that other programs read."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from optsched.errors import InputError, needs_extra
from optsched.evaluation.plain import plain
from optsched.instances.document import write_text, written_whole

TABLES = (".csv", ".parquet")
"""Endings of files that tables can be written to."""


def check_table_file(path: Path, *others: str) -> None:
    """Refuse a file that no table can be written to.

    Args:
        path: of the file.
        others: further endings that the caller takes.

    Raises:
        InputError: another ending, or the extra that Parquet needs is not installed.
    """
    if path.suffix not in TABLES:
        raise InputError.of("file", str(path), "a file ending in " + ", ".join((*TABLES, *others)))
    if path.suffix == ".parquet" and find_spec("pyarrow") is None:
        raise InputError.of("file", str(path), needs_extra("Parquet", "parquet"))


def write(table: pd.DataFrame, path: Path) -> None:
    """Write a table whole or not at all, as CSV or Parquet by the path's ending.

    Parquet knows one type per column: a column of mixed values, or of lists, is written as text.

    Raises:
        InputError: see ``check_table_file``.
    """
    check_table_file(path)
    if path.suffix == ".csv":
        write_text(path, table.to_csv(index=False))
        return
    with written_whole(path) as place:
        _of_one_type(table).to_parquet(place, index=False)


def _of_one_type(table: pd.DataFrame) -> pd.DataFrame:
    mixed = [
        name
        for name in table.columns
        if table[name].dtype == object and not _same_type(table[name].dropna().tolist())
    ]
    return table.assign(**{name: table[name].map(_text, na_action="ignore") for name in mixed})


def _same_type(values: list[Any]) -> bool:
    kinds = {type(value) for value in values}
    return len(kinds) <= 1 and not kinds & {list, tuple, dict}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(plain(value))
