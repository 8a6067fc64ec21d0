"""Read text files, also compressed, and the rows of the tables in them."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from optsched.errors import InputError

LARGEST_UNPACKED = 2**29
"""Bytes that a compressed file may hold: one of a few megabytes could hold thousands of times so
many. A larger one must be unpacked first."""

SHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
"""Endings of tables that pandas reads as sheets."""

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


@contextmanager
def text_file(path: str | Path) -> Iterator[TextIO]:
    """A file's text in UTF-8; files ending in .gz, .bz2 and .xz are unpacked.

    Raises:
        InputError: it cannot be read, is damaged or no text, or holds too much once unpacked.
    """
    opener = _OPENERS.get(Path(path).suffix.lower())
    try:
        with opener(path) if opener else Path(path).open("rb") as packed:
            raw = io.BufferedReader(_Unpacked(packed, str(path))) if opener else packed
            with io.TextIOWrapper(raw, encoding="utf-8-sig") as text:
                yield text
    except (OSError, EOFError, UnicodeDecodeError, zlib.error, lzma.LZMAError) as error:
        said = getattr(error, "strerror", None) or error
        raise InputError.of("file", str(path), f"cannot be read ({said})") from None


class _Unpacked(io.RawIOBase):
    """The bytes of a compressed file, as long as they are not too many."""

    def __init__(self, packed: Any, path: str) -> None:
        self.packed, self.path, self.held = packed, path, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.packed.read(len(buffer))
        self.held += len(data)
        if self.held > LARGEST_UNPACKED:
            allowed = f"a file that holds at most {LARGEST_UNPACKED} bytes; unpack it first"
            raise InputError.of("file", self.path, allowed)
        buffer[: len(data)] = data
        return len(data)


def table_rows(
    path: str | Path, *, may_lack: Collection[str] = ()
) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file with the number of their line, the names of its columns first.

    Between cells stand commas, semicolons, tabs or bars, whichever the first line has most of.
    Cells are stripped of blanks around them. A blank line is a row of empty cells.

    Args:
        path: the file.
        may_lack: columns whose cells a short row may lack; they are empty then.

    Raises:
        InputError: it cannot be read, a column is there twice, or a row has not one value per
            column; it names the line.
    """
    with text_file(path) as text:
        first = text.readline()
        lines = chain([first], text) if first else text
        rows = csv.reader(lines, delimiter=delimiter(first), skipinitialspace=True, strict=True)
        header: list[str] = []
        try:
            for row in rows:
                cells = [cell.strip() for cell in row]
                if not header:
                    header = cells
                    _refuse_twice(path, header)
                elif not any(cells):
                    cells = [""] * len(header)
                elif len(cells) != len(header):
                    lacking = header[len(cells) :]
                    if not lacking or not set(lacking) <= set(may_lack):
                        raise _uneven(f"{path}, line {rows.line_num}", cells, header)
                    cells += [""] * len(lacking)
                yield rows.line_num, cells
        except csv.Error as error:
            allowed = f"cannot be read as CSV ({error} in line {rows.line_num})"
            raise InputError.of("file", str(path), allowed) from None
    if not header:
        allowed = "a line of column names, then a line per entry: cannot be read, it is empty"
        raise InputError.of("file", str(path), allowed)


def delimiter(header: str) -> str:
    """Return what stands between the names of columns: a comma, a semicolon, a tab or a bar."""
    bare = re.sub(r'"[^"]*"', "", header)
    return max(",;\t|", key=bare.count)


def _refuse_twice(path: str | Path, header: list[str]) -> None:
    twice = [name for name in dict.fromkeys(header) if name and header.count(name) > 1]
    if twice:
        raise InputError.of(f"{path}, header", twice[0], "must be the name of one column")


def _uneven(line: str, cells: list[str], header: list[str]) -> InputError:
    """A row with too few values, or with too many."""
    if len(cells) < len(header):
        return InputError.of(f"{line}, {header[len(cells)]}", "(missing)", "must be given")
    allowed = f"cannot be read: {len(cells)} values in {len(header)} columns"
    return InputError.of(line, cells[len(header) :], allowed)


def is_table(name: str | Path) -> bool:
    """Whether a file's name ends like a table's."""
    path = Path(name)
    plain = path.stem if path.suffix.lower() in (".gz", ".bz2", ".xz") else path.name
    return plain.lower().endswith((".csv", ".tsv")) or path.suffix.lower() in SHEETS
