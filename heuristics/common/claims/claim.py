"""What a claim is: what is stated, how it is measured, what came of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from optsched.study.sweep import Scale

ClaimVerdict = Literal[
    "holds",
    "direction holds, size does not",
    "undecided",
    "fails",
    "not comparable",
    "not in the paper",
    "not measured",
]
"""``undecided``: measured, and the instances leave it open. ``not measured``: nothing was.
``not comparable``: another test-bed, another quantity."""

DIRECTION: ClaimVerdict = "direction holds, size does not"
UNDECIDED: ClaimVerdict = "undecided"
NOTHING: ClaimVerdict = "not measured"

Printed = float | tuple[float, float]
"""A number, or both ends of a range."""

Value = str | int | float | bool


@dataclass(frozen=True)
class Finding:
    """What was measured for a claim."""

    verdict: ClaimVerdict
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
class Interpretation:
    """Something that a paper leaves open, and what it may mean."""

    name: str
    """Name of an argument of the sweeps' ``measure``, or of the judge's where it is ``judged``."""
    values: tuple[Value, ...]
    """The default first."""
    open: str
    """Where in the text it is open, and how."""
    judged: bool = False
    """Whether what is measured holds every value already, so that only the judge need know."""

    @property
    def default(self) -> Value:
        """What is read where nothing else is said."""
        return self.values[0]


@dataclass(frozen=True)
class Under:
    """What was found of a claim under one combination of interpretations."""

    combination: Mapping[str, Value]
    finding: Finding


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
    """Scale -> measurements, shared between claims by being the same function or sweep; of a
    function, what JSON can say."""
    judge: Callable[..., Finding]
    """Measurements -> finding; with the values of interpretations that are only judged, by name."""
    printed: Printed | None = None
    """The printed number or range; None where the claim is an order or a trend."""
    unit: str = ""
    """Unit of ``printed`` and of what is measured; "" for a plain ratio."""
    interpretations: tuple[Interpretation, ...] = ()
    """What can move it."""
    standing: Literal["not comparable", "not in the paper"] | None = None
    """What is said of it whatever is measured."""
    remark: str = ""
    """Why it comes out as it does, in a line; settled by measurement, which the line names."""
    paper: str = ""
    """Whose claim it is, if not of the problem's paper; it is counted apart."""


@dataclass(frozen=True)
class Judged:
    """A claim with what came of it."""

    problem: str
    claim: Claim
    finding: Finding
    scale: Scale = "full"
    """At which it was measured; what is found at quick scale is provisional."""
    under: tuple[Under, ...] = ()
    """What was found under every combination of its interpretations, where they were measured."""

    @property
    def measured(self) -> tuple[Under, ...]:
        """The combinations of interpretations under which there is a verdict."""
        return tuple(one for one in self.under if one.finding.verdict != NOTHING)

    @property
    def agreeing(self) -> int:
        """Under how many of ``measured`` the verdict is the one of the claim."""
        return sum(one.finding.verdict == self.finding.verdict for one in self.measured)

    @property
    def hangs(self) -> bool:
        """Whether the verdict changes with an interpretation."""
        return 0 < self.agreeing < len(self.measured)
