"""Read MPS files: words between blanks or, if that fails, fields in fixed columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from optsched.errors import InputError
from optsched.files.contents import Contents, FilePosition

_IGNORED = -1
"""Position of a row of sort N that is not the objective."""
_GOAL = -2
_FIELDS = (slice(1, 3), slice(4, 12), slice(14, 22), slice(24, 36), slice(39, 47), slice(49, 61))
"""Fields of a line in fixed format; what lies between them is blank."""


def read_mps(lines: Iterable[str], place: FilePosition) -> Contents:
    """Contents of a file; the first row of sort N is the objective.

    A column between markers of integers that is given no bound is binary, and an upper bound
    below 0 of a column without a lower one takes its lower bound away, as most readers have it.

    Raises:
        InputError: naming line, value and what is allowed.
    """
    kept = list(lines)
    try:
        return _Reader(place, str.split).read(kept)
    except InputError:
        try:
            return _Reader(FilePosition(place.file), _fields).read(kept)
        except InputError:
            pass
        raise


def _fields(line: str) -> list[str]:
    """What stands in the columns of fixed format, where names may hold blanks."""
    fields = [line[field].strip() for field in _FIELDS]
    beside = "".join(line[a.stop : b.start] for a, b in pairwise((*_FIELDS, slice(None, None))))
    return [line.strip()] if beside.strip() else [field for field in fields if field]


class _Reader:
    def __init__(self, place: FilePosition, cut: Callable[[str], list[str]]) -> None:
        self._place = place
        self._cut = cut
        self._found = Contents()
        self._rows: dict[str, int] = {}  # all of them, those of sort N included
        self._side: dict[int, float] = {}
        self._ranges: dict[int, float] = {}
        self._bounded: set[int] = set()
        self._whole, self._set = False, ""
        self._sections: dict[str, Callable[[list[str]], None] | None] = {
            "NAME": None, "ENDATA": None, "OBJSENSE": self._sense, "ROWS": self._row,
            "COLUMNS": self._column, "RHS": self._rhs, "RANGES": self._range,
            "BOUNDS": self._bound, "QUADOBJ": self._quadobj, "QSECTION": self._quadobj,
            "QMATRIX": self._qmatrix, "SOS": self._member, "INDICATORS": self._guard,
        }  # fmt: skip

    def read(self, lines: Iterable[str]) -> Contents:
        section = "NAME"
        for number, line in enumerate(lines, 1):
            words = line.split()
            if not words or line[0] == "*":
                continue
            self._place.line = number
            if not line[0].isspace():
                section = words[0].upper()
                if section not in self._sections:
                    self._place.refuse(words[0], f"a section of {', '.join(self._sections)}")
                if section == "ENDATA":
                    break
                if section == "OBJSENSE" and words[1:]:
                    self._sense(words[1:])
                if section == "QSECTION" and self._rows.get(words[-1]) != _GOAL:
                    self._place.refuse(line.strip(), "squares in the objective only")
                continue
            take = self._sections[section]
            if take is None:
                self._place.refuse(line.strip(), "a section before any data")
            take(self._cut(line))
        else:
            self._place.refuse("", "ENDATA at the end")
        return self._finished()

    def _finished(self) -> Contents:
        found = self._found
        for column in found.integer - self._bounded:
            found.upper[column] = 1.0
        for row in range(len(found.row_lower)):
            side, low, high = self._side.get(row, 0.0), found.row_lower, found.row_upper
            width = self._ranges.get(row)
            if width is not None and low[row] == high[row]:  # an equation: the sign says where
                low[row], high[row] = min(side, side + width), max(side, side + width)
            elif width is not None:
                up = high[row] < math.inf
                low[row] = side - abs(width) if up else side
                high[row] = side if up else side + abs(width)
            else:
                low[row] += side if low[row] > -math.inf else 0.0
                high[row] += side if high[row] < math.inf else 0.0
        return found

    def _known(self, names: dict[str, int], name: str, what: str) -> int:
        if name not in names:
            self._place.refuse(name, f"a {what} named before")
        return names[name]

    def _count(self, words: list[str], *allowed: int) -> None:
        if len(words) not in allowed:
            counts = " or ".join(map(str, allowed))
            self._place.refuse(" ".join(words), f"{counts} words, or fields in fixed columns")

    # sections

    def _sense(self, words: list[str]) -> None:
        if words[0].upper() not in ("MAX", "MAXIMIZE", "MIN", "MINIMIZE"):
            self._place.refuse(words[0], "MIN or MAX")
        self._found.maximise = words[0].upper().startswith("MAX")

    def _row(self, words: list[str]) -> None:
        self._count(words, 2)
        sort, name = words[0].upper(), words[1]
        if name in self._rows:
            self._place.refuse(name, "each row once")
        if sort == "N":
            self._rows[name] = _IGNORED if _GOAL in self._rows.values() else _GOAL
        elif sort in ("L", "G", "E"):
            low, high = -math.inf if sort == "L" else 0.0, math.inf if sort == "G" else 0.0
            self._rows[name] = self._found.add_row(name, low, high)
        else:
            self._place.refuse(words[0], "N, L, G or E")

    def _column(self, words: list[str]) -> None:
        if len(words) == 3 and words[1].strip("'") == "MARKER":
            kind = words[2].strip("'")
            if kind not in ("INTORG", "INTEND"):
                self._place.refuse(words[2], "'INTORG' or 'INTEND'")
            self._whole = kind == "INTORG"
            return
        self._count(words, 3, 5)
        found = self._found
        column = found.columns.get(words[0], _IGNORED)
        if column == _IGNORED:
            column = found.add_column(words[0])
            if self._whole:
                found.integer.add(column)
        for name, word in zip(words[1::2], words[2::2], strict=True):
            row, value = self._known(self._rows, name, "row"), self._place.finite(word)
            if row == _GOAL:
                found.cost[column] = found.cost.get(column, 0.0) + value
            elif row >= 0 and (row, column) in found.entries:
                self._place.refuse(name, "each row once in a column")
            elif row >= 0 and value:
                found.entries[row, column] = value

    def _pairs(self, words: list[str]) -> Iterator[tuple[int, str]]:
        """Rows and numbers, with or without the name of a set before them."""
        self._count(words, 2, 3, 4, 5)
        pairs = words[len(words) % 2 :]
        for name, word in zip(pairs[::2], pairs[1::2], strict=True):
            yield self._known(self._rows, name, "row"), word

    def _rhs(self, words: list[str]) -> None:
        for row, word in self._pairs(words):
            if row == _GOAL:
                self._found.offset = -self._place.finite(word)
            elif row >= 0:
                open_side = self._found.row_lower[row] + self._found.row_upper[row]
                value = self._place.number(word)  # 1e20: no limit on a side that has one else
                open_ = value == -open_side and math.isfinite(float(word))  # the word inf is none
                self._side[row] = value if open_ else self._place.finite(word)

    def _range(self, words: list[str]) -> None:
        for row, word in self._pairs(words):
            self._ranges[row] = self._place.number(word)

    def _bound(self, words: list[str]) -> None:
        self._count(words, 2, 3, 4)
        sort, found = words[0].upper(), self._found
        if sort in ("FR", "MI", "PL", "BV"):
            name, value = words[min(2, len(words) - 1)], 0.0
        elif sort in ("UP", "LO", "FX", "LI", "UI", "SC", "SI"):
            self._count(words, 3, 4)
            name, value = words[-2], self._place.number(words[-1])
        else:
            self._place.refuse(words[0], "FR, MI, PL, BV, UP, LO, FX, LI, UI, SC or SI")
        column = self._known(found.columns, name, "column")
        if sort in ("UP", "UI") and value < 0 and column not in self._bounded:
            found.lower[column] = -math.inf
        self._bounded.add(column)
        found.bounded_in[column] = self._place.line
        if sort in ("BV", "LI", "UI", "SI"):
            found.integer.add(column)
        if sort in ("FR", "MI", "LO", "LI", "FX", "BV"):
            found.lower[column] = -math.inf if sort in ("FR", "MI") else value
        if sort in ("FR", "PL", "UP", "UI", "FX", "SC", "SI", "BV"):
            found.upper[column] = {"FR": math.inf, "PL": math.inf, "BV": 1.0}.get(sort, value)
        if sort in ("SC", "SI"):
            found.semi.add(column)

    def _product(self, words: list[str], scale: float) -> None:
        self._count(words, 3)
        one, other = (self._known(self._found.columns, name, "column") for name in words[:2])
        half = 0.5 if one == other else scale
        self._found.add_product(one, other, half * self._place.finite(words[2]))

    def _quadobj(self, words: list[str]) -> None:
        self._product(words, 1.0)  # one triangle of the matrix in x' Q x / 2

    def _qmatrix(self, words: list[str]) -> None:
        self._product(words, 0.5)  # both

    def _member(self, words: list[str]) -> None:
        found = self._found
        if words[0] in ("S1", "S2"):
            self._count(words, 2, 3, 4)  # S1 [SOS] name [priority]
            self._set = words[2] if words[1].upper() == "SOS" and len(words) > 2 else words[1]
            if self._set in found.sets:
                self._place.refuse(self._set, "each set once")
            found.sets[self._set] = int(words[0][1]), []
            return
        self._count(words, 2, 3)
        if not self._set:
            self._place.refuse(" ".join(words), "S1 or S2 and a name before the columns of a set")
        column = self._known(found.columns, words[-2], "column")
        found.sets[self._set][1].append((self._place.finite(words[-1]), column))

    def _guard(self, words: list[str]) -> None:
        self._count(words, 4)
        if words[0].upper() != "IF" or words[3] not in ("0", "1"):
            self._place.refuse(" ".join(words), "IF, a row, a column, and 0 or 1")
        row = self._known(self._found.rows, words[1], "row with sides")
        literal = self._known(self._found.columns, words[2], "column")
        self._found.guards[row] = literal, words[3] == "1"
