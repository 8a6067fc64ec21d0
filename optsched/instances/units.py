"""Units by name, and exact factors between them."""

from __future__ import annotations

from fractions import Fraction

from optsched.errors import InputError

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
