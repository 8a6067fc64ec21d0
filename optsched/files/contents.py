"""What an MPS or LP file says, as its reader finds it: by name, in the order of the file."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NoReturn

from optsched.errors import InputError

_INFINITE = 1e20
"""Numbers from here on mean infinity in files, as HiGHS, SCIP and CPLEX have it."""


@dataclass
class Contents:
    """minimise (or maximise) cost, products and offset, over rows, bounds and what columns are."""

    maximise: bool = False
    offset: float = 0.0
    cost: dict[int, float] = field(default_factory=dict)
    """By column."""
    products: dict[tuple[int, int], float] = field(default_factory=dict)
    """Coefficient of ``x[i] * x[j]`` in the objective, i <= j."""
    columns: dict[str, int] = field(default_factory=dict)
    """Position by name; likewise the rows."""
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    integer: set[int] = field(default_factory=set)
    semi: set[int] = field(default_factory=set)
    """Columns that are 0 or within their bounds."""
    bounded_in: dict[int, int] = field(default_factory=dict)
    """Line of each column's last bound."""
    rows: dict[str, int] = field(default_factory=dict)
    row_lower: list[float] = field(default_factory=list)
    row_upper: list[float] = field(default_factory=list)
    entries: dict[tuple[int, int], float] = field(default_factory=dict)
    """Coefficient by row and column."""
    guards: dict[int, tuple[int, bool]] = field(default_factory=dict)
    """The column, and its value, that switches a row on."""
    sets: dict[str, tuple[int, list[tuple[float, int]]]] = field(default_factory=dict)
    """Order (1 or 2), and weights with columns, by name."""

    def add_column(self, name: str) -> int:
        """Position of a new column, continuous in [0, inf)."""
        self.columns[name] = len(self.lower)
        self.lower.append(0.0)
        self.upper.append(math.inf)
        return len(self.lower) - 1

    def add_row(self, name: str, lower: float, upper: float) -> int:
        """Position of a new row."""
        self.rows[name] = len(self.row_lower)
        self.row_lower.append(lower)
        self.row_upper.append(upper)
        return len(self.row_lower) - 1

    def check_bounds(self, place: FilePosition) -> None:
        """Refuse a column without a value between its bounds, naming the line of the last."""
        for name, column in self.columns.items():
            low, high = self.lower[column], self.upper[column]
            if low > high or low == math.inf or high == -math.inf:
                place.line = self.bounded_in.get(column, place.line)
                place.refuse(name, f"a column with a value: its bounds are {low:g} and {high:g}")

    def add_product(self, one: int, other: int, value: float) -> None:
        """Add ``value * x[one] * x[other]`` to the objective."""
        pair = min(one, other), max(one, other)
        self.products[pair] = self.products.get(pair, 0.0) + value


@dataclass
class FilePosition:
    """Where in which file, for messages."""

    file: str
    line: int = 0

    def refuse(self, value: str, allowed: str) -> NoReturn:
        """Raise what names file, line, value and what is allowed."""
        raise InputError.of(f"{self.file}, line {self.line}", value, allowed)

    def number(self, word: str) -> float:
        """A number, also an infinite one: files have it as 1e20 or more."""
        try:
            value = float(word)
        except ValueError:
            self.refuse(word, "a number")
        if math.isnan(value):
            self.refuse(word, "a number")
        return math.copysign(math.inf, value) if abs(value) >= _INFINITE else value

    def finite(self, word: str) -> float:
        """A number below what counts as infinite."""
        value = self.number(word)
        return value if math.isfinite(value) else self.refuse(word, "a finite number, below 1e20")
