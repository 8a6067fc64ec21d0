"""What the command line prints: answers on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from optsched.errors import InputError

YES, NO, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit statuses."""

WIDE = 200
"""Columns of text that goes to a file or a pipe."""

PICTURES = (".png", ".pdf", ".svg")
"""Endings of pictures that can be drawn."""

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines, and nothing else.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="File to write.", show_default=False)
]
InstanceFile = Annotated[
    Path, typer.Argument(metavar="INSTANCE", help="Instance file (JSON).", show_default=False)
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the random generator.")]
TimeLimit = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Limit per solve.", show_default=False)
]
Solver = Annotated[
    str | None,
    typer.Option(help="Solver; default: the one that suits the formulation.", show_default=False),
]


def console(*, error: bool = False) -> Console:
    """Standard output, or standard error; wide enough for tables where it is no terminal."""
    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else WIDE
    return Console(file=stream, width=width, highlight=False, soft_wrap=False)


def say(text: str) -> None:
    """A message for people, on standard error."""
    console(error=True).print(text, markup=False, soft_wrap=True)


def print_json(data: Any) -> None:
    """The machine-readable answer."""
    from optsched.evaluation.tables import plain

    typer.echo(json.dumps(plain(data), indent=1, allow_nan=False))


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str | None = None
) -> None:
    """A table on standard output; numbers to the right."""
    rows = [[cell(value) for value in row] for row in rows]
    table = Table()
    for index, name in enumerate(columns):
        numeric = bool(rows) and all(_is_number(row[index]) for row in rows)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    output = console()
    if title:
        output.print(f"\n{title}", style="bold", markup=False)
    output.print(table, markup=False)


def print_facts(facts: dict[str, Any]) -> None:
    """Names and values, one per line; what is not known is left out."""
    shown = {name: value for name, value in facts.items() if value not in (None, "")}
    width = max(map(len, shown), default=0)
    for name, value in shown.items():
        typer.echo(f"{name:<{width}}  {cell(value)}")


def cell(value: Any) -> str:
    """A value as a person wants to read it."""
    if value is None or value != value:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text == "-"
    return True


def check_target(path: Path | None) -> None:
    """Refuse a file that cannot be written before anything runs.

    Raises:
        InputError: it is a folder, or its folder cannot be written.
    """
    if path is None:
        return
    existing = next(folder for folder in path.absolute().parents if folder.exists())
    if path.is_dir() or not existing.is_dir() or not os.access(existing, os.W_OK):
        raise InputError.of("file", str(path), "a file in a folder that can be written")


def check_picture(path: Path | None) -> None:
    """Refuse a picture that could not be drawn before anything runs.

    Raises:
        InputError: another ending, or a file that cannot be written.
    """
    check_target(path)
    if path is not None and path.suffix not in PICTURES:
        raise InputError.of("--plot", str(path), "a file ending in " + ", ".join(PICTURES))
