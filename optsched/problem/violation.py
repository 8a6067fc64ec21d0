"""What a checker finds: which constraint a schedule violates, where, and by how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Violation:
    """A constraint of the paper that a schedule violates.

    Example:
        >>> import optsched as osd
        >>> broken = osd.Violation("2a", {"job": 3}, 1.5)
        >>> describe([broken])
        'breaks (2a) at job 3 by 1.5; violations in all: 1'
    """

    constraint: str
    """The paper's number, such as "2a"."""
    index: Mapping[str, int | float]
    """Where it is violated, such as {"job": 3, "worker": 7, "time": 12.0}."""
    amount: float
    """By how much, in the unit of the constraint."""


def no_options(schedule: Any) -> Mapping[str, Any]:
    """Return no options: the check treats every schedule alike."""
    return {}


def describe(violations: Sequence[Violation]) -> str:
    """Describe the worst violation in words, and say how many there are."""
    worst = max(violations, key=lambda violation: violation.amount)
    where = ", ".join(f"{key} {value:g}" for key, value in worst.index.items())
    return (
        f"breaks ({worst.constraint}){f' at {where}' if where else ''} by {worst.amount:g}"
        f"; violations in all: {len(violations)}"
    )
