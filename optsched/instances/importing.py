"""Tables of one's own as instances: what a column becomes follows from the declared fields."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from optsched.errors import FieldProblem, InputError
from optsched.instances.declared import Declared
from optsched.instances.document import parse
from optsched.instances.fields import Field, fields_of
from optsched.instances.text_files import table_rows, text_file

I = TypeVar("I", bound=Declared)  # noqa: E741

COUNT = "count"
"""Column of a table, or key of an entry, that stands for so many equal entries."""

LONGEST = 100_000
"""Most entries of a list, those that counts stand for among them: what a file holds one by one."""

_SOURCE = re.compile(r"(?P<column>.+?)(?:\s*(?P<sign>[*/])\s*(?P<factor>[0-9.eE+-]+))?")


def instance_from(
    cls: type[I],
    table: pd.DataFrame,
    columns: Mapping[str, str] | None = None,
    *,
    entries: str = "jobs",
    **rest: Any,
) -> I:
    """An instance from a table with a line per job, and what else a file of it says.

    A column gives the field of its name, or that which ``columns`` says. An empty cell leaves the
    field to its default. A field with several values per job is given by columns ``field[0]``,
    ``field[1]``, ..., by cells such as "[1, 2]", or by one value for all.

    Args:
        cls: the type of instances.
        table: a line per entry.
        columns: field -> column, with a factor to its unit where it has another:
            ``{"release_time": "submit_s / 3600"}``. Fields of other lists: ``workers.server``.
        entries: the list that the table holds.
        rest: other lists, as tables, lists of entries or a number of entries that say nothing,
            and single fields. An entry with a count stands for that many.

    Raises:
        InputError: a column or field is not known, or the instance is refused.
    """
    given = {entries: table, **rest}
    sources = dict(columns or {})
    lists = _lists(cls)
    problems = list(_unknown(cls, lists, given, sources, entries))
    if problems:
        raise InputError(problems)
    document: dict[str, Any] = {"format": cls.format, "version": 1}
    sizes: dict[str, int] = {}
    for name in sorted(given, key=lambda name: name == entries):  # the table last
        value = given[name]
        if name not in lists:
            document[name] = value
            continue
        listed = _listed(cls, name, lists[name], value, _of(name, sources, entries), sizes)
        sizes[name] = len(listed)
        if any(field.file == field.name for field in lists[name].values()):  # lists of a file
            document |= {key: [one[key] for one in listed] for key in (listed or [{}])[0]}
        else:
            document[name] = listed
    return parse(cls, document)


def read_table(path: str | Path) -> pd.DataFrame:
    """A CSV file; words such as "None" stay words, an empty cell is nothing.

    Raises:
        InputError: it cannot be read, or a row has not one value per column; it names the line.
    """
    for _ in table_rows(path):  # pandas moves the cells of a row that has too many
        pass
    try:
        with text_file(path) as text:
            return pd.read_csv(text, keep_default_na=False, na_values=[""], skipinitialspace=True)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise InputError.of("file", str(path), f"cannot be read as CSV ({error})") from None


def typed(text: str) -> Any:
    """What is typed for a list or a field: the name of a CSV file, JSON, or a word."""
    if text.endswith(".csv"):
        return read_table(text)
    try:
        return json.loads(text)
    except ValueError:
        return text


def _lists(cls: type[Declared]) -> dict[str, dict[str, Field]]:
    """The fields of the entries of every list of a file, by the names a file has."""
    found: dict[str, dict[str, Field]] = {}
    for field in fields_of(cls):
        if field.dims and field.file and not field.derived and field.file.count("[]") < 2:
            name, _, leaf = field.file.rpartition("[].")
            if name or "[]" not in field.file:
                found.setdefault(name or field.dims[0], {})[leaf] = field
    return found


def _unknown(
    cls: type[Declared],
    lists: Mapping[str, Mapping[str, Field]],
    given: Mapping[str, Any],
    sources: Mapping[str, str],
    entries: str,
) -> Iterator[FieldProblem]:
    single = {field.file for field in fields_of(cls) if not field.dims and field.file}
    for name in given:
        if name not in lists and name not in single:
            allowed = "not one of " + ", ".join(sorted({*lists, *single}))
            yield FieldProblem(name, "(given)", allowed)
    for target in sources:
        name, dot, leaf = target.rpartition(".")
        known = lists.get(name if dot else entries, {})
        if _plain(leaf) not in known and leaf != COUNT:
            yield FieldProblem("column", target, "a field: " + ", ".join(known))
        elif not isinstance(given.get(name if dot else entries), pd.DataFrame):
            yield FieldProblem("column", target, "of a list that is given as a table")


def _of(name: str, sources: Mapping[str, str], entries: str) -> dict[str, str]:
    """The columns of one list."""
    placed = ((target.rpartition("."), source) for target, source in sources.items())
    return {leaf: source for (owner, _, leaf), source in placed if (owner or entries) == name}


def _listed(
    cls: type[Declared],
    name: str,
    fields: Mapping[str, Field],
    value: Any,
    sources: Mapping[str, str],
    sizes: Mapping[str, int],
) -> list[dict[str, Any]]:
    """Entries of a list from a table, entries, or their number."""
    if isinstance(value, pd.DataFrame):
        entries = _rows(fields, value, sources, sizes)
    elif isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LONGEST:
        return [{}] * value
    elif isinstance(value, list) and all(isinstance(one, dict) for one in value):
        entries = value
    else:
        allowed = f"a table, a list of entries, or a number of them up to {LONGEST}"
        raise InputError.of(name, value, allowed)
    if COUNT in fields:  # a field of its own
        return entries
    found: list[dict[str, Any]] = []
    for index, entry in enumerate(entries):
        times, left = entry.get(COUNT, 1), LONGEST - len(found)
        if not isinstance(times, int) or isinstance(times, bool) or not 0 <= times <= left:
            allowed = f"an integer >= 0 and <= {left}: a list has at most {LONGEST} entries"
            raise InputError.of(f"{name}[{index}].{COUNT}", times, allowed)
        found += [{key: one for key, one in entry.items() if key != COUNT}] * times
    return found


def _rows(
    fields: Mapping[str, Field],
    table: pd.DataFrame,
    sources: Mapping[str, str],
    sizes: Mapping[str, int],
) -> list[dict[str, Any]]:
    """A line's cells as the fields of an entry."""
    named = {column: column for column in map(str, table) if _plain(column) in {*fields, COUNT}}
    cells = {target: _column(table, source) for target, source in (named | dict(sources)).items()}
    rows: list[dict[str, Any]] = []
    for index in range(len(table)):
        row: dict[str, Any] = {}
        for target, values in cells.items():
            value, field = _value(values, index), fields.get(_plain(target))
            if value is None:
                continue
            if target.endswith("]"):
                row.setdefault(_plain(target), []).append(value)
            elif field is not None and len(field.dims) > 1 and not isinstance(value, list):
                row[target] = [value] * sizes.get(field.dims[1], 1)
            else:
                row[target] = value
        rows.append(row)
    return rows


def _plain(target: str) -> str:
    """A field's name without the place in it."""
    return re.sub(r"\[\d+\]$", "", target)


def _column(table: pd.DataFrame, source: str) -> pd.Series[Any]:
    """A column, times a factor if one is named.

    Raises:
        InputError: there is no such column, or no numbers in it where there is a factor.
    """
    if source in table:
        return table[source]
    parts = _SOURCE.fullmatch(source.strip())
    if parts is None or parts["column"] not in table:
        allowed = "a column, or COLUMN*NUMBER or COLUMN/NUMBER; there are "
        raise InputError.of("column", source, allowed + ", ".join(map(str, table)))
    column = table[parts["column"]]
    if parts["sign"] is None:
        return column
    try:
        factor = float(parts["factor"])
        return column.astype(float) * factor if parts["sign"] == "*" else column / factor
    except (TypeError, ValueError, ZeroDivisionError):
        raise InputError.of("column", source, "numbers, and a factor that is one") from None


def _value(column: pd.Series[Any], row: int) -> Any:
    """A cell as JSON has it; None where it is empty.

    Raises:
        InputError: it is a list in brackets that is not JSON.
    """
    cell = column.iloc[row]
    value = cell.item() if isinstance(cell, np.generic) else cell
    if isinstance(value, str):
        if not re.fullmatch(r"\s*\[.*\]\s*", value):
            return value
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            allowed = f'a list such as "[1, 2]" in JSON ({error})'
            raise InputError.of(f"{column.name} in row {row + 1}", value, allowed) from None
    if isinstance(value, float):
        if value != value:
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value
