"""What a claim is: what is stated, how it is measured, what came of it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from optsched.errors import InputError

Verdict = Literal["holds", "partly", "fails", "not measured"]
Scale = Literal["quick", "full"]

DATA = "OPTSCHED_DATA"
"""Environment variable: the folder of the traces that some claims are measured on."""


class UnmeasuredError(Exception):
    """Raised by an experiment that has nothing to measure at this scale, with the reason.

    Unlike any other exception it is no failure: a test-bed that nobody has, a trace that was not
    asked for.
    """


@dataclass(frozen=True)
class Finding:
    """What was measured for a claim."""

    verdict: Verdict
    value: float = math.nan
    """Mean over the instances, in the claim's unit."""
    low: float = math.nan
    """Lower end of the interval; what kind of interval is said by ``note`` where it is not the
    95 % interval of the mean."""
    high: float = math.nan
    instances: int = 0
    note: str = ""
    failed: bool = False
    """Whether something went wrong, so that the claim, or a part of it, could not be measured."""


@dataclass(frozen=True)
class Claim:
    """A number, or an order, that a paper's evaluation states."""

    name: str
    """Unique in its paper: "figure_9_cost"."""
    source: str
    """Section, figure or table."""
    text: str
    """What is claimed, in a sentence."""
    how: str
    """How it is measured here, and at which sizes."""
    experiment: Callable[[Scale], Any]
    """Scale -> measurements; shared between claims by being the same function or sweep."""
    judge: Callable[[Any], Finding]
    """Measurements -> finding."""
    printed: float | None = None
    """The printed number; None where the claim is an order or a trend."""
    unit: str = ""
    """Unit of ``printed`` and of what is measured; "" for a plain ratio."""


@dataclass(frozen=True)
class Judged:
    """A claim with what came of it."""

    problem: str
    claim: Claim
    finding: Finding


@dataclass(frozen=True)
class Sweep:
    """An experiment on many instances, each measured by itself: in parallel, and kept one by one.

    An instance that cannot be measured costs the others nothing. Called with a scale, a sweep
    measures all instances here and now.
    """

    name: str
    """Unique among the sweeps of a package."""
    tasks: Callable[[Scale], Sequence[Mapping[str, Any]]]
    """Scale -> the arguments of ``measure``, numbers and texts, one mapping per instance."""
    measure: Callable[..., Sequence[Mapping[str, Any]]]
    """Arguments -> rows of numbers and texts; a function of a module, for other processes."""
    overview: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    """Measurements -> a table of them by setting, for people."""

    def __call__(self, scale: Scale) -> pd.DataFrame:
        """One line per row: the arguments and what was measured."""
        return self.frame([(task, self.measure(**task)) for task in self.tasks(scale)])

    @staticmethod
    def frame(
        measured: Sequence[tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]],
    ) -> pd.DataFrame:
        """Tasks and their rows as one table."""
        return pd.DataFrame([{**task, **row} for task, rows in measured for row in rows])


def data_folder(*parts: str) -> Path:
    """A folder of traces below the one that ``--data`` or ``OPTSCHED_DATA`` names.

    Raises:
        UnmeasuredError: none is named.
        InputError: the one named has no such folder.
    """
    root = os.environ.get(DATA)
    if not root:
        raise UnmeasuredError(f"needs {'/'.join(parts)}: give its folder by --data or {DATA}")
    folder = Path(root).joinpath(*parts)
    if not folder.is_dir():
        raise InputError.of(DATA, root, f"a folder that holds {'/'.join(parts)}")
    return folder
