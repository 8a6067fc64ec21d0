"""Statements of a paper, checked on one instance and one schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from optsched.problem.violation import Violation

StatementVerdict = Literal["holds", "fails", "undecided", "not_applicable"]


@dataclass(frozen=True)
class Certificate:
    """What one statement comes to here: ``left`` against ``right``, as its claim says."""

    statement: str
    """Its name, such as "Lemma 4, corrected"."""
    source: str
    """Paper, number."""
    claim: str
    """What it says, in one line; "left <= right" where it compares two numbers."""
    verdict: StatementVerdict
    expected: bool = False
    """Whether it is proven for this instance and schedule, so that its failure refutes one of
    them; False for what a paper claims without a proof that holds, or if it does not apply."""
    left: float | None = None
    right: float | None = None
    where: Mapping[str, int | float] = field(default_factory=dict)
    """Where it fails worst, or is tightest."""
    detail: str = ""
    """What a person needs to know beyond the verdict, such as why it does not apply."""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    """What proves it, such as dual variables; for machines."""

    @property
    def refuted(self) -> bool:
        """Whether it fails although it should hold."""
        return self.expected and self.verdict == "fails"


def at_most(left: float, right: float, tolerance: float = 1e-9) -> StatementVerdict:
    """Whether left <= right, up to a tolerance relative to the greater of both and 1."""
    slack = tolerance * max(1.0, abs(left), abs(right))
    return "holds" if left <= right + slack else "fails"


def feasibility(
    source: str,
    violations: Sequence[Violation],
    *,
    statement: str = "Feasibility",
    claim: str = "the schedule breaks no constraint",
) -> Certificate:
    """What a checker found, as a statement: without it none of the others means anything."""
    worst = max(violations, key=lambda v: v.amount, default=None)
    return Certificate(
        statement,
        source,
        claim,
        "fails" if violations else "holds",
        expected=True,
        left=float(len(violations)),
        right=0.0,
        where={} if worst is None else dict(worst.index),
        detail="" if worst is None else f"the worst breaks ({worst.constraint})",
    )


def all_expected_hold(certificates: Sequence[Certificate]) -> bool:
    """Whether nothing that should hold fails."""
    return not any(certificate.refuted for certificate in certificates)
