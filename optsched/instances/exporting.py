"""Instances as the flat tables that they can be made of: ``importing`` the other way round."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from optsched.instances.declared import Declared
from optsched.instances.document import dumps, write_text
from optsched.instances.mapping import TableMapping
from optsched.instances.nesting import ListFields, lists_of

MAPPING = "mapping.toml"
"""File beside the tables that says which list each holds, and the single fields."""

_PLAIN = re.compile(r"(?!(inf|infinity|nan|true|false)$)[a-z]\w*( \w+)*|\d+/\d+", re.I)
"""Texts that a table cannot mistake for numbers, truth values or dates."""


def tables_of(instance: Declared) -> dict[str, Any]:
    """Return the lists of an instance as tables, and its single fields, by name.

    They are what ``Problem.instance_from`` takes. Every table has a column with the keys of its
    entries, which count from 0. An entry that stands inside another names it by its key. Fields
    that have their default in all entries are left out.
    """
    document = json.loads(dumps(instance))
    known = lists_of(type(instance))
    found: dict[str, Any] = {}
    for name, listed in known.items():
        rows = _rows(listed, document)
        if rows or (listed.path and not listed.outer and name in document):
            columns = dict.fromkeys([listed.key, *(leaf for row in rows for leaf in row)])
            cells = [[row.get(column) for column in columns] for row in rows]
            found[name] = pd.DataFrame(cells, columns=list(columns), dtype=object)
    inside = {leaf for listed in known.values() for leaf in listed.fields if listed.beside(leaf)}
    single = document.keys() - known.keys() - inside - {"format", "version"}
    return found | {name: document[name] for name in document if name in single}


def save_tables(given: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write what ``tables_of`` returns as CSV files, and the mapping that reads them again.

    Returns:
        The files.
    """
    tables = {name: value for name, value in given.items() if isinstance(value, pd.DataFrame)}
    files = {name: folder / f"{name}.csv" for name in tables}
    entries = "jobs" if "jobs" in tables else next(iter(tables))
    fields = {name: str(file) for name, file in files.items() if name != entries}
    fields |= {name: value for name, value in given.items() if name not in tables}
    for name, table in tables.items():
        write_text(files[name], table.map(_text).to_csv(index=False))
    TableMapping(entries=entries, fields=fields).save(folder / MAPPING)
    return [*files.values(), folder / MAPPING]


def _rows(listed: ListFields, document: dict[str, Any]) -> list[dict[str, Any]]:
    """The entries of a list, each with its key, and with that of the entry it stands in."""
    if listed.outer:
        outer = document.get(listed.outer, ())
        return [
            {listed.outer_key: at, listed.key: key} | _flat(listed, one)
            for at, owner in enumerate(outer)
            for key, one in enumerate(owner.get(listed.name, ()))
        ]
    rows = [_flat(listed, one) for one in document.get(listed.name, ())] if listed.path else []
    for leaf in filter(listed.beside, listed.fields):
        values = document.get(leaf) or ()
        rows = rows or [{} for _ in values]
        for row, value in zip(rows, values, strict=bool(values)):
            row[leaf] = _cell(listed, leaf, value)
    return [{listed.key: key} | row for key, row in enumerate(rows)]


def _flat(listed: ListFields, entry: dict[str, Any]) -> dict[str, Any]:
    """An entry as a line of a table; what stands in an object inside it has its own column."""
    return dict(_cells(listed, entry, ""))


def _cells(listed: ListFields, entry: dict[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for name, value in entry.items():
        leaf = f"{before}{name}"
        if leaf in listed.fields:
            yield leaf, _cell(listed, leaf, value)
        elif isinstance(value, dict):
            yield from _cells(listed, value, f"{leaf}.")


def _cell(listed: ListFields, leaf: str, value: Any) -> Any:
    if value is None and listed.fields[leaf].unlimited:
        return float("inf")
    if isinstance(value, str) and value.lstrip().startswith(("[", '"')):
        return json.dumps(value)  # which is read as this text, and not as a list
    return value


def _text(value: Any) -> str:
    """A value as a cell of a CSV file that is read as just this value."""
    text = isinstance(value, str) and not value.startswith('"')
    if isinstance(value, list) or (text and not _PLAIN.fullmatch(value)):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else str(value)
