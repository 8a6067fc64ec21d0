"""Rows as two runs of the same study must have them."""

from dataclasses import replace

CLOCKS = ("seconds", "compile_seconds", "interpreted_seconds", "solver_seconds")


def untimed(row):
    """A row of ratios without what the clock says."""
    return replace(row, **dict.fromkeys(CLOCKS, 0.0))
