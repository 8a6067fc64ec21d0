"""Small models with known answers, by kind of block."""

from __future__ import annotations

from optsched.testing.case import CASES, ConformanceCase
from optsched.testing.catalogue import choices, cones, linear, logic, nested, orders, tasks, values

__all__ = ["conformance_cases"]

_MODULES = (
    linear,
    logic,
    values,
    nested,
    orders,
    tasks,
    choices,
    cones,
)  # importing them fills CASES


def conformance_cases(kind: str | None = None) -> list[ConformanceCase]:
    """Every case, or those whose model holds a block of that kind; print as their names."""
    return [
        one
        for one in CASES.values()
        if kind is None or any(b.kind == kind for b in one.build().blocks.values())
    ]
