"""A column of a table as the values of a field: factors, units in words, dates and times."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from optsched.errors import InputError
from optsched.instances.fields import Field

_SOURCE = re.compile(
    r"(?P<column>.+?)"
    r"(?:\s*(?P<sign>[*/])\s*(?P<factor>[0-9.eE+-]+)|\s+in\s+(?P<unit>\S+(?: \S+)?))?"
)
_DATE = re.compile(r"\s*\d{4}-\d\d-\d\d([T ].*)?")
_TIME = re.compile(r"\s*\d+:\d\d(:\d\d(\.\d+)?)?\s*")


@dataclass(frozen=True)
class Scale:
    """How times of a table become numbers, if a column does not say so itself."""

    unit: str = ""
    """Unit of the columns of times that name neither unit nor factor; empty: the field's unit."""
    origin: str = ""
    """Date that is time 0; empty: the first date of the column."""
    slot: Fraction | None = None
    """Seconds of a slot, if they are known."""


def column_values(table: pd.DataFrame, source: str, field: Field | None, scale: Scale) -> Any:
    """Return the values of a column in the unit of the field.

    Args:
        table: with that column.
        source: a column, ``COLUMN*NUMBER``, ``COLUMN/NUMBER`` or ``COLUMN in UNIT``.
        field: what the values are for; None: a count.
        scale: what the table as a whole says of times.

    Raises:
        InputError: there is no such column; a cell is not a number although a factor or a unit
            is named; or dates stand if the field is not a time.
    """
    parts = None if source in table else _SOURCE.fullmatch(source.strip())
    name = parts["column"] if parts else source
    if name not in table:
        raise _no_column(table, source)
    column = table[name]
    if field and field.kind is str and not parts:
        return column
    target = field.unit if field else ""
    if (dates := _seconds(column, scale.origin)) is not None:
        if parts and (parts["sign"] or parts["unit"]):
            raise InputError.of("column", source, "no factor and no unit: its cells are times")
        return _times(dates, factor("s", target, slot=scale.slot))
    if parts and parts["unit"]:
        return _times(_numbers(column, source), factor(parts["unit"], target, slot=scale.slot))
    if parts and parts["sign"]:
        return _scaled(column, parts["sign"], parts["factor"], source)
    if scale.unit and (target == "slots" or canonical(target) in TIME):
        return _times(_numbers(column, source), factor(scale.unit, target, slot=scale.slot))
    return column


def cell(column: pd.Series[Any], row: int, line: str) -> Any:
    """Return a cell as JSON has it; None if it is empty.

    Args:
        column: the column.
        row: its place from 0.
        line: how messages call the row.

    Raises:
        InputError: it is a list in brackets, or a text in quotes, that is not JSON.
    """
    found = column.iloc[row]
    value = found.item() if isinstance(found, np.generic) else found
    if isinstance(value, str):
        if not re.fullmatch(r"\s*(\[.*\]|\".*\")\s*", value):
            return value
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            allowed = f"a list such as [1, 2], or a text in quotes, in JSON ({error})"
            raise InputError.of(f"{line}, {column.name}", value, allowed) from None
    if isinstance(value, float):
        if value != value:
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value


def as_in_file(value: Any, field: Field) -> Any:
    """Return a cell as a file has the field: null for what is unlimited, a text that looks like
    a number as a text, and a number that stands among lists as a number.
    """
    if isinstance(value, str) and field.kind is not str and not field.index_of:
        with suppress(ValueError):
            number = float(value)
            value = int(number) if number.is_integer() else number
    if field.unlimited and value == math.inf:
        return None
    return str(value) if field.kind is str and isinstance(value, int | float) else value


def meant(name: str, known: list[str]) -> str:
    """Return "; did you mean ...?" if one of the names is like it, and nothing otherwise."""
    lower = {one.lower(): one for one in known}
    near = get_close_matches(name.lower(), lower, 1)
    return f"; did you mean {lower[near[0]]}?" if near else ""


def _no_column(table: pd.DataFrame, source: str) -> InputError:
    known = list(map(str, table))
    allowed = "a column, COLUMN*NUMBER, COLUMN/NUMBER or COLUMN in UNIT; there are "
    return InputError.of("column", source, allowed + ", ".join(known) + meant(source, known))


def _numbers(column: pd.Series[Any], source: str) -> pd.Series[Any]:
    try:
        return column.astype(float)
    except (TypeError, ValueError):
        raise InputError.of("column", source, "numbers, of which there is a unit") from None


def _scaled(column: pd.Series[Any], sign: str, by: str, source: str) -> pd.Series[Any]:
    try:
        number, values = float(by), column.astype(float)
        if not number and sign == "/":
            raise ValueError
    except (TypeError, ValueError):
        raise InputError.of("column", source, "numbers, and a factor that is one") from None
    return values * number if sign == "*" else values / number


def _times(values: pd.Series[Any], ratio: Fraction) -> pd.Series[Any]:
    """Values times a ratio of whole numbers, so that a third of three is one."""
    return values * ratio.numerator / ratio.denominator


def _seconds(column: pd.Series[Any], origin: str) -> pd.Series[Any] | None:
    """Dates as seconds since the origin, times such as 08:15 in seconds; None: neither.

    Raises:
        InputError: one of them, or the origin, cannot be read, or some have a zone and some not.
    """
    if not pd.api.types.is_datetime64_any_dtype(column):
        texts = column.dropna()
        if texts.empty or not all(isinstance(text, str) for text in texts):
            return None
        if all(_TIME.fullmatch(text) for text in texts):
            padded = column.map(lambda t: f"{t}:00" if str(t).count(":") == 1 else t)
            return pd.to_timedelta(padded).dt.total_seconds()
        if not all(_DATE.fullmatch(text) for text in texts):
            return None
    try:
        dates = pd.to_datetime(column, format="ISO8601")
        first = pd.Timestamp(origin) if origin else dates.min()
        return (dates - first).dt.total_seconds()
    except (TypeError, ValueError, AttributeError) as error:
        allowed = f"dates such as 2024-01-31 08:15, the origin too ({error})"
        raise InputError.of(f"column {column.name}", origin or column.iloc[0], allowed) from None


_SECONDS: dict[str, int | Fraction] = {
    "us": Fraction(1, 10**6), "ms": Fraction(1, 1000), "s": 1, "min": 60, "h": 3600, "d": 86_400,
    "week": 604_800,
}  # fmt: skip
_BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}  # fmt: skip
_RATES = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9}
_WORK = {"FLOP": 1, "MFLOP": 10**6, "GFLOP": 10**9, "TFLOP": 10**12}
_SPEED = {f"{name}/s": size for name, size in _WORK.items()}
_KINDS: tuple[dict[str, int | Fraction], ...] = tuple(
    {name: Fraction(size) for name, size in kind.items()}
    for kind in (_SECONDS, _BYTES, _RATES, _WORK, _SPEED)
)
TIME = _KINDS[0]
"""Units of time in seconds."""
_WORDS = {
    "microseconds": "us", "milliseconds": "ms", "millis": "ms", "msec": "ms",
    "seconds": "s", "second": "s", "sec": "s", "minutes": "min", "minute": "min",
    "hours": "h", "hour": "h", "hr": "h", "days": "d", "day": "d", "weeks": "week",
    "bytes": "B", "10^6 bytes": "MB", "kB": "KB", "bps": "bit/s", "kbps": "kbit/s",
    "Mbps": "Mbit/s", "Gbps": "Gbit/s",
}  # fmt: skip


def canonical(unit: str) -> str:
    """Return the short name of a unit."""
    return _WORDS.get(unit, unit)


def factor(unit: str, target: str, *, slot: Fraction | None = None) -> Fraction:
    """Return how many of the target unit one of the unit is.

    Args:
        unit: a name such as "ms", "minutes", "GiB" or "Mbit/s".
        target: another of the same kind, or "slots".
        slot: seconds of a slot, if they are known.

    Raises:
        InputError: no such unit, or the target is of another kind.
    """
    known, wanted = canonical(unit), canonical(target)
    for kind in _KINDS:
        sizes = kind | {"slots": slot} if kind is TIME and slot else kind
        if wanted in sizes:
            if known in sizes:
                return Fraction(sizes[known]) / sizes[wanted]
            raise InputError.of("unit", unit, f"{', '.join(sizes)}: the field is in {target}")
    allowed = f"a factor in its place, such as COLUMN/60: the field is in {target or 'no unit'}"
    if wanted == "slots":
        allowed = "a factor in its place, such as COLUMN/60: the length of a slot is not known"
    raise InputError.of("unit", unit, allowed)
