"""How tables of one kind become instances, kept in a file: what ``optsched import`` is told."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, Self

import pandas as pd
from pydantic import Field

from optsched.errors import InputError
from optsched.instances.document import Document, validated, write_text
from optsched.instances.importing import typed
from optsched.instances.text_files import is_table


class Imports(Protocol):
    """A problem whose instances come from tables."""

    def instance_from(
        self, table: pd.DataFrame, columns: Mapping[str, str] | None = None, **rest: Any
    ) -> Any: ...


class TableMapping(Document):
    """What a table does not say of the instance that it holds."""

    columns: dict[str, str] = Field(
        default_factory=dict, description="column of a field, as after --column"
    )
    entries: str = Field("jobs", description="what a line of the table is")
    unit: str = Field("", description="of times without a factor or unit of their own")
    origin: str = Field("", description="time 0 of columns of dates")
    fields: dict[str, Any] = Field(
        default_factory=dict,
        description="other lists and single fields; a text is read as on the command line",
    )

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a mapping; files that it names are relative to its folder.

        Raises:
            InputError: it cannot be read, or says something else.
        """
        try:
            data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError.of("mapping", str(path), f"cannot be read ({error})") from None
        try:
            mapping = validated(cls, data)
        except InputError as error:
            raise InputError(
                [replace(one, field=f"{path}, {one.field}") for one in error.problems]
            ) from None
        folder = os.path.dirname(path)
        return mapping.model_copy(
            update={"fields": {n: _moved(v, folder, "") for n, v in mapping.fields.items()}}
        )

    def save(self, path: str | Path) -> None:
        """Write it whole or not at all; files that it names stay where they are."""
        folder = os.path.dirname(os.path.abspath(path))
        fields = {n: _moved(v, os.getcwd(), folder) for n, v in self.fields.items()}
        single = {"entries": self.entries, "unit": self.unit, "origin": self.origin}
        lines = [f"{name} = {_toml(value)}" for name, value in single.items() if value]
        for title, table in (("columns", self.columns), ("fields", fields)):
            if table:
                lines += ["", f"[{title}]"]
                lines += [f"{_key(name)} = {_toml(value)}" for name, value in table.items()]
        write_text(path, "\n".join(lines) + "\n")

    def instance(self, problem: Imports, table: pd.DataFrame) -> Any:
        """Return the instance that a table holds.

        Raises:
            InputError: a table that the mapping names cannot be read, or the instance is refused.
        """
        rest = {
            name: typed(value) if isinstance(value, str) else value
            for name, value in self.fields.items()
        }
        single = {"entries": self.entries, "unit": self.unit, "origin": self.origin}
        return problem.instance_from(table, self.columns, **single, **rest)

    def tables(self) -> list[str]:
        """Return the tables that it names."""
        return [v for v in self.fields.values() if isinstance(v, str) and is_table(v)]


def _moved(value: Any, folder: str, start: str) -> Any:
    """Return the path of a table in a folder, seen from another one; any other value as it is."""
    if not (isinstance(value, str) and is_table(value)):
        return value
    path = os.path.join(folder, value)
    return os.path.relpath(path, start) if start else path


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)


def _toml(value: Any) -> str:
    """Return a text, or the number that it spells, as TOML has it; a list as JSON in a text."""
    text = value if isinstance(value, str) else json.dumps(value)
    plain = re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?|true|false", text)
    return text if plain else json.dumps(text, ensure_ascii=False)
