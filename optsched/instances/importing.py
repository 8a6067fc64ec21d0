"""Make instances from a user's tables; the declared fields say what a column becomes."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from zipfile import BadZipFile

import pandas as pd

from optsched.errors import FieldProblem, InputError, needs_extra
from optsched.instances.columns import Scale, as_in_file, cell, column_values, meant
from optsched.instances.declared import Declared
from optsched.instances.document import parse
from optsched.instances.fields import fields_of
from optsched.instances.nesting import Entries, ListFields, joined, lists_of, places
from optsched.instances.text_files import SHEETS, delimiter, is_table, table_rows, text_file

I = TypeVar("I", bound=Declared)  # noqa: E741

COUNT = "count"
"""Column of a table, or key of an entry, that stands for so many equal entries."""

_LINE = ", line"
"""End of the name of an index that counts the lines of a file, whatever is done to its rows."""
_COMMA = re.compile(r"\s*[+-]?\d+(,\d+)?\s*")

LONGEST = 100_000
"""Most entries of a list, those that counts stand for among them: what a file holds one by one."""


def instance_from(
    cls: type[I],
    table: pd.DataFrame,
    columns: Mapping[str, str] | None = None,
    *,
    entries: str = "jobs",
    unit: str = "",
    origin: str = "",
    **rest: Any,
) -> I:
    """Make an instance from a table with a line per job, and from what else a file of it says.

    A column gives the field of its name, or that which ``columns`` says. An empty cell leaves the
    field to its default. A field with several values per job is given by columns ``field[0]``,
    ``field[1]``, ..., by cells such as "[1, 2]", or by one value for all. Dates such as
    "2024-01-31 08:15" and times such as "08:15" become numbers in the unit of a field of time.
    "inf" is unlimited.

    An entry that stands inside another names it in a column such as ``job``, by the key that the
    column ``job`` of the table of jobs has, or by position. If no jobs are given, every key that
    is named makes one. All fields that hold positions take keys in the same way, several with
    blanks between them.

    Args:
        cls: the type of instances.
        table: a line per entry; an index with a name is a column too.
        columns: field -> column, with a factor to the field's unit or with the column's own unit:
            ``{"release_time": "submitted / 3600"}`` or ``{"release_time": "submitted in ms"}``.
            Fields of other lists: ``workers.server``.
        entries: the list that the table holds.
        unit: of all fields of time that a column gives without a factor or a unit, such as "ms";
            empty: each field's own.
        origin: the date that is time 0; empty: the first date of each column.
        rest: other lists, as tables, lists of entries or a number of entries that say nothing,
            and single fields. An entry with a count stands for that many.

    Raises:
        InputError: a column or field is not known, or the instance is refused.
    """
    given = {entries: table, **rest}
    given = {name: _flat(value) for name, value in given.items()}
    scale = Scale(unit, origin, _slot(cls, rest))
    lists = lists_of(cls)
    sources = _sources(columns or {}, lists, entries)
    problems = list(_unknown(cls, lists, given, sources))
    if problems:
        raise InputError(problems)
    document: dict[str, Any] = {"format": cls.format, "version": 1}
    sizes: dict[str, int] = {}
    found: dict[str, Entries] = {}
    for name in sorted(given, key=lambda name: name == entries):  # the table last
        if name not in lists:
            document[name] = given[name]
            continue
        own = {leaf: source for (owner, leaf), source in sources.items() if owner == name}
        table_of = partial(_rows, lists[name], sources=own, scale=scale, sizes=sizes)
        found[name] = _listed(lists[name], given[name], table_of)
        sizes[name] = len(found[name].rows)
    document |= joined(lists, found)
    try:
        return parse(cls, document)
    except InputError as error:
        lines = places(lists, found)
        raise InputError([_by_line(problem, lines) for problem in error.problems]) from None


def _flat(value: Any) -> Any:
    """A table with the names of its index among its columns."""
    if not isinstance(value, pd.DataFrame) or _lines(value):
        return value
    return value.reset_index() if any(name is not None for name in value.index.names) else value


def _lines(table: pd.DataFrame) -> list[str]:
    """How messages call the rows of a table that is a file's; nothing if it is not."""
    name = str(table.index.name)
    return [f"{name} {line}" for line in table.index] if name.endswith(_LINE) else []


def _slot(cls: type[Declared], rest: Mapping[str, Any]) -> Fraction | None:
    """Seconds of a slot, if the instances have a field ``slot_hours``."""
    for field in fields_of(cls):
        if field.file == "slot_hours":
            hours = rest.get("slot_hours", field.default)
            known = isinstance(hours, (int, float)) and 0 < hours < math.inf
            return 3600 * Fraction(str(hours)) if known else None
    return None


def _by_line(problem: FieldProblem, lines: Mapping[str, str]) -> FieldProblem:
    """A refusal that names the line of the table in place of the position in the list."""
    ends = [found.end() for found in re.finditer(r"\]", problem.field)]
    for end in reversed(ends):  # the innermost first
        if line := lines.get(problem.field[:end]):
            rest = problem.field[end:].lstrip(".")
            return replace(problem, field=f"{line}, {rest}".removesuffix(", "))
    return problem


def read_table(path: str | Path) -> pd.DataFrame:
    """Return the table in a CSV file, or in the first sheet of an Excel file.

    Commas, semicolons, tabs or bars stand between the cells of a CSV file, and with semicolons a
    number may have a decimal comma. Words such as "None" stay words, an empty cell is nothing, and
    a line of empty cells is no entry.

    Raises:
        InputError: it cannot be read, or a row has not one value per column; it names the line.
    """
    if Path(path).suffix.lower() in SHEETS:
        return _sheet(path)
    (_, header), *rows = table_rows(path)
    filled = [(line, cells) for line, cells in rows if any(cells)]
    text = io.StringIO()
    csv.writer(text).writerows([header, *(cells for _, cells in filled)])
    text.seek(0)
    table = pd.read_csv(text, keep_default_na=False, na_values=[""], skip_blank_lines=False)
    for place, kind in enumerate(table.dtypes):
        if kind.kind == "f":  # pandas 2 may miss the last digit
            exact = [float(cells[place] or "nan") for _, cells in filled]
            table.isetitem(place, exact)
    with text_file(path) as file:
        if delimiter(file.readline()) == ";":
            table = table.apply(_with_points)
    table.index = pd.Index([line for line, _ in filled], name=f"{path}{_LINE}")
    return table


def _with_points(column: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers, if all cells of a column are numbers of which some have a decimal comma."""
    texts = column.dropna()
    if not all(isinstance(text, str) and _COMMA.fullmatch(text) for text in texts):
        return column
    return column.str.replace(",", ".").astype(float)


def _sheet(path: str | Path) -> pd.DataFrame:
    try:
        table = pd.read_excel(path, keep_default_na=False, na_values=[""])
    except ImportError as error:
        if Path(path).suffix.lower() in (".xlsx", ".xlsm"):
            allowed = needs_extra("Excel", "excel")
        else:
            allowed = f"a CSV or .xlsx file, as pandas cannot read this one here ({error})"
        raise InputError.of("file", str(path), allowed) from None
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise InputError.of("file", str(path), f"cannot be read as Excel ({error})") from None
    table.index = pd.RangeIndex(2, len(table) + 2, name=f"{path}{_LINE}")
    return table


def typed(text: str) -> Any:
    """What is typed for a list or a field: the name of a CSV file, JSON, or a word."""
    if is_table(text):
        return read_table(text)
    try:
        return json.loads(text)
    except ValueError:
        return text


def _sources(
    columns: Mapping[str, str], lists: Mapping[str, ListFields], entries: str
) -> dict[tuple[str, str], str]:
    """The column of every list and field that is said to have one."""
    placed = {}
    for target, source in columns.items():
        name, dot, leaf = target.partition(".")
        placed[(name, leaf) if dot and name in lists else (entries, target)] = source
    return placed


def _unknown(
    cls: type[Declared],
    lists: Mapping[str, ListFields],
    given: Mapping[str, Any],
    sources: Mapping[tuple[str, str], str],
) -> Iterator[FieldProblem]:
    single = {field.file for field in fields_of(cls) if not field.dims and field.file}
    for name in given:
        if name not in lists and name not in single:
            known = sorted({*lists, *single})
            allowed = "not one of " + ", ".join(known) + meant(name, known)
            yield FieldProblem(name, "(given)", allowed)
    for name, leaf in sources:
        columns = lists[name].columns if name in lists else []
        if _plain(leaf) not in columns and leaf != COUNT:
            allowed = "a field: " + ", ".join(columns) + meant(leaf, columns)
            yield FieldProblem("column", leaf, allowed)
        elif not isinstance(given.get(name), pd.DataFrame):
            yield FieldProblem("column", f"{name}.{leaf}", "of a list that is given as a table")


def _listed(
    listed: ListFields, value: Any, rows: Callable[[pd.DataFrame], list[dict[str, Any]]]
) -> Entries:
    """Entries of a list from a table, entries, or their number."""
    name = listed.name
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LONGEST:
        return Entries([{} for _ in range(value)])
    if isinstance(value, pd.DataFrame):
        given = Entries(rows(value), _lines(value))
    elif isinstance(value, list) and all(isinstance(one, dict) for one in value):
        given = Entries([dict(one) for one in value])
    else:
        allowed = f"a table, a list of entries, or a number of them up to {LONGEST}"
        raise InputError.of(name, value, allowed)
    if COUNT in listed.fields:  # a field of its own
        return given
    found = Entries([])
    for index, entry in enumerate(given.rows):
        times, left = entry.pop(COUNT, 1), LONGEST - len(found.rows)
        if not isinstance(times, int) or isinstance(times, bool) or not 0 <= times <= left:
            dot = ", " if given.lines else "."
            allowed = f"an integer >= 0 and <= {left}: a list has at most {LONGEST} entries"
            raise InputError.of(f"{given.place(name, index)}{dot}{COUNT}", times, allowed)
        found.rows += [dict(entry) for _ in range(times)]
        found.lines += given.lines[index : index + 1] * times
    return found


def _rows(
    listed: ListFields,
    table: pd.DataFrame,
    *,
    sources: Mapping[str, str],
    sizes: Mapping[str, int],
    scale: Scale,
) -> list[dict[str, Any]]:
    """A line's cells as the fields of an entry."""
    fields, known = listed.fields, {*listed.columns, COUNT}
    named = {column: column for column in map(str, table) if _plain(column) in known}
    given = named | dict(sources)
    cells = {
        target: column_values(table, given[target], fields.get(_plain(target)), scale)
        for target in _by_place(given)
    }
    lines = _lines(table) or [f"row {index + 1}" for index in range(len(table))]
    rows: list[dict[str, Any]] = []
    for index in range(len(table)):
        row: dict[str, Any] = {}
        for target, values in cells.items():
            value, field = cell(values, index, lines[index]), fields.get(_plain(target))
            if value is None:
                continue
            if field is not None:
                value = as_in_file(value, field)
            inside, _, leaf = _plain(target).rpartition(".")
            entry = row.setdefault(inside, {}) if inside else row
            if target.endswith("]"):
                held = entry.setdefault(leaf, [])
                if (place := f"{_plain(target)}[{len(held)}]") != target:
                    allowed = f"a value, as {target} has one"
                    raise InputError.of(f"{lines[index]}, {place}", "(empty)", allowed)
                held.append(value)
            elif field is not None and len(field.dims) > 1 and not isinstance(value, list):
                entry[leaf] = [value] * sizes.get(field.dims[1], 1)
            else:
                entry[leaf] = value
        rows.append(row)
    return rows


def _by_place(targets: Iterable[str]) -> list[str]:
    """Return the fields that have columns, the places of each in their order.

    Raises:
        InputError: a place is left out, or a field has columns with and without a place.
    """
    found: dict[str, list[str]] = {}
    for target in targets:
        found.setdefault(_plain(target), []).append(target)
    ordered = []
    for name, own in found.items():
        if own != [name]:
            own = [f"{name}[{place}]" for place in range(len(own))]
            for odd in sorted({*found[name]}.difference(own)):
                raise InputError.of("column", odd, "one of " + ", ".join(own))
        ordered += own
    return ordered


def _plain(target: str) -> str:
    """A field's name without the place in it."""
    return re.sub(r"\[\d+\]$", "", target)
