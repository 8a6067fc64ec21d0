"""What the command line prints: answers on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from optsched.errors import InputError

YES, NO, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit statuses."""

WIDE = 200
"""Columns of text that goes to a file or a pipe."""

PICTURES = (".png", ".pdf", ".svg")
"""Endings of pictures that can be drawn."""


def option(help: str, *names: str, **more: Any) -> Any:
    """Return an option whose help says its own default."""
    return typer.Option(*names, help=help, show_default=False, **more)


def argument(help: str, **more: Any) -> Any:
    """Return an argument whose help says its own default."""
    return typer.Argument(help=help, show_default=False, **more)


Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines, and nothing else.")]
Output = Annotated[Path | None, option("File to write.", "--output", "-o")]
InstanceFile = Annotated[Path, argument("Instance file (JSON).", metavar="INSTANCE")]
MappingFile = Annotated[
    Path | None,
    option('How tables become instances: a file that "optsched import --save-mapping" wrote.'),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the random generator.")]
TimeLimit = Annotated[float | None, option("Limit per solve.", metavar="SECONDS")]
Solver = Annotated[str | None, option("Solver; default: the one that suits the formulation.")]


def console(*, error: bool = False) -> Console:
    """Standard output, or standard error; wide enough for tables if it is no terminal."""
    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else WIDE
    return Console(file=stream, width=width, highlight=False, soft_wrap=False)


def say(text: str) -> None:
    """A message for people, on standard error."""
    console(error=True).print(text, markup=False, soft_wrap=True)


def print_json(data: Any) -> None:
    """The machine-readable answer."""
    from optsched.evaluation.plain import plain

    typer.echo(json.dumps(plain(data), indent=1, allow_nan=False))


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str | None = None, keys: int = 1
) -> None:
    """A table on standard output; see ``tables``.

    Args:
        columns: their headings.
        rows: a cell for each column.
        title: above the table.
        keys: first columns, which say what a row is.
    """
    output = console()
    if title:
        output.print(f"\n{title}", style="bold", markup=False)
    for table in tables(columns, rows, keys, output.width):
        output.print(table, markup=False)


def tables(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], keys: int, width: int
) -> Iterator[Table]:
    """A table for the screen; numbers to the right.

    Names and numbers stay whole: if the screen is too narrow for all columns, those left over
    follow in a second table under the same keys.

    Args:
        columns: their headings.
        rows: a cell for each column.
        keys: first columns, which say what a row is.
        width: of the screen, in letters.
    """
    lines = [[cell(value) for value in row] for row in rows]
    every = [_Column(name, [row[i] for row in lines]) for i, name in enumerate(columns)]
    part = every[:keys]
    for column in every[keys:]:
        if len(part) > keys and sum(one.least + GAP for one in (*part, column)) - GAP > width:
            yield _table(part, len(lines))
            part = every[:keys]
        part.append(column)
    yield _table(part, len(lines))


GAP = 2
"""Columns of the screen between two columns of a table."""

PHRASE = 24
"""Room that a text of several words asks for if it is longer."""


class _Column:
    """A column of a table, and the least room it takes; only phrases may be broken."""

    def __init__(self, name: str, cells: list[str]) -> None:
        self.name, self.cells = name, cells
        self.phrases = any(" " in text for text in cells)
        self.least = max(map(cell_len, (name, *cells)))
        if self.phrases:
            words = [cell_len(word) for text in (name, *cells) for word in text.split()]
            self.least = max(*words, min(self.least, PHRASE))


def _table(columns: list[_Column], rows: int) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for one in columns:
        numeric = rows > 0 and all(map(_is_number, one.cells))
        table.add_column(
            one.name,
            justify="right" if numeric else "left",
            overflow="fold",
            no_wrap=not one.phrases,
            min_width=one.least,
        )
    for row in range(rows):
        table.add_row(*(Text(one.cells[row]) for one in columns))
    return table


def print_facts(facts: dict[str, Any]) -> None:
    """Names and values, one per line; what is not known is left out."""
    shown = {name: value for name, value in facts.items() if value not in (None, "")}
    width = max(map(len, shown), default=0)
    room = max(width + PHRASE, console().width) - width - GAP
    for name, value in shown.items():
        lines = wrap(cell(value), room, break_long_words=False, break_on_hyphens=False) or [""]
        typer.echo(f"{name:<{width}}  " + f"\n{'':<{width}}  ".join(lines))


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
        InputError: it is a folder, or its folder, or what is no regular file, cannot be written.
    """
    if path is None:
        return
    from optsched.instances.document import is_special

    if is_special(path):
        writable = os.access(path, os.W_OK)
    elif path.is_dir():
        writable = False
    else:
        folders = Path(os.path.realpath(path)).parents  # of a link's file, as that is replaced
        existing = next(folder for folder in folders if folder.exists())
        writable = existing.is_dir() and os.access(existing, os.W_OK)
    if not writable:
        raise InputError.of("file", str(path), "a file in a folder that can be written")


def check_apart(outputs: Mapping[str, Path | None], inputs: Mapping[str, Path | None]) -> None:
    """Refuse a file to be written that is another one, or one that is read, before anything runs.

    Args:
        outputs: files to be written, by what they are called on the command line.
        inputs: files that are read.

    Raises:
        InputError: naming both.
    """
    from optsched.instances.document import is_special

    taken = {os.path.realpath(path): name for name, path in inputs.items() if path is not None}
    for name, path in outputs.items():
        if path is None or is_special(path):  # which holds nothing that could be lost
            continue
        other = taken.setdefault(os.path.realpath(path), name)
        if other != name:
            raise InputError.of(name, str(path), f"another file than that of {other}")


def check_picture(path: Path | None) -> None:
    """Refuse a picture that could not be drawn before anything runs.

    Raises:
        InputError: another ending, or a file that cannot be written.
    """
    check_target(path)
    if path is not None and path.suffix not in PICTURES:
        raise InputError.of("--plot", str(path), "a file ending in " + ", ".join(PICTURES))
