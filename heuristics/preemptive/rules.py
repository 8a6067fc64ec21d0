"""The choices that make up one variant of A_online."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from pydantic import Field

from optsched.errors import FieldProblem, InputError

Priority = Literal["static", "residual"]
"""Highest density w_j / p^0_j first, or highest residual density w_j / (work left) first."""

PendingRule = Literal["arrived", "exact"]
"""Price by (5), which counts the chunks at the worker when the new one arrives, or by the exact
increase of the planned weighted flow time."""

Margin = Annotated[float, Field(gt=0, le=1)]
"""Share of the cloud's price up to which the edge is taken."""

PsPolicy = Literal["lowest_index", "random"]
"""Which of the free parameter servers a job takes."""


@dataclass(frozen=True)
class Rules:
    """One variant of A_online.

    Raises:
        InputError: an option outside its range, or two that contradict each other.
    """

    priority: Priority = "static"
    pending_rule: PendingRule = "arrived"
    epsilon: float = 0.0
    """Speed augmentation: chunks take their time divided by 1 + epsilon, uploads do not."""
    edge_only: bool = False
    """A_online-E: the cloud takes only jobs that no edge worker may serve."""
    no_spill: bool = False
    """A_online-NS: a job of which any chunk would go to the cloud goes there whole."""
    ps_policy: PsPolicy = "lowest_index"
    printed: bool = False
    """Algorithms 2, 4 and 5 line by line, errors included."""
    edge_margin: float = 1.0
    """Share of the cloud's price up to which the edge is taken: what arrives later can delay a
    chunk at the edge, and none in the cloud."""

    def __post_init__(self) -> None:
        problems = [
            FieldProblem(name, getattr(self, name), "one of " + ", ".join(get_args(allowed)))
            for name, allowed in (
                ("priority", Priority),
                ("pending_rule", PendingRule),
                ("ps_policy", PsPolicy),
            )
            if getattr(self, name) not in get_args(allowed)
        ]
        if not (self.epsilon >= 0 and math.isfinite(self.epsilon)):
            problems.append(FieldProblem("epsilon", self.epsilon, "a finite number >= 0"))
        if not 0 < self.edge_margin <= 1:
            problems.append(FieldProblem("edge_margin", self.edge_margin, "a number in (0, 1]"))
        if self.edge_only and self.no_spill:
            problems.append(FieldProblem("no_spill", True, "false where edge_only is true"))
        meant = (self.priority, self.pending_rule, self.no_spill)
        if self.printed and meant != ("static", "arrived", False):
            allowed = 'false where priority is not "static", pending_rule not "arrived" or '
            allowed += "no_spill true"
            problems.append(FieldProblem("printed", True, allowed))
        if problems:
            raise InputError(problems)

    @property
    def speed(self) -> float:
        """1 + epsilon."""
        return 1.0 + self.epsilon
