"""The choices that make up one variant of A_online."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from optsched.errors import FieldProblem, InputError

Selection = Literal["paper", "earliest"]
"""Least cost first and only at a positive utility, or earliest completion without prices'
veto."""

StartRule = Literal["interval_start", "any"]
"""Every job of a round starts with its window, or in any slot of it."""

ReleaseTest = Literal["printed", "exact"]
"""a_j + Delta_js < tau_i as printed, or at most the start, which is (2i)."""

ValueRule = Literal["one", "weight", "scaled"]
"""What a job is worth: 1 as printed, w_j, or F_1 per worker-slot of its work."""

JobOrder = Literal["arrival", "shortest_work", "weight_per_cost"]
"""Order inside a round: (a_j, j), least work first, or largest w_j over present cost."""

CostD = Literal["exact", "printed"]
"""COST_D as the exact minimum, or line by line as printed."""

CostC = Literal["exact", "printed"]
"""COST_C as the exact minimum, or the server that is cheapest at tau_i, as printed."""


@dataclass(frozen=True)
class Rules:
    """One variant of A_online.

    Raises:
        InputError: an option outside its range.
    """

    selection: Selection = "paper"
    start_rule: StartRule = "interval_start"
    release_test: ReleaseTest = "printed"
    value_rule: ValueRule = "one"
    job_order: JobOrder = "arrival"
    cost_d: CostD = "exact"
    cost_c: CostC = "exact"
    one_server: bool = True
    """Whether COST_C is tried; False: spread placements at the slow speed only (BatchSche)."""
    printed: bool = False
    """Algorithm 2 line by line, errors included, with COST_C and COST_D as printed."""

    def __post_init__(self) -> None:
        allowed = {
            "selection": Selection,
            "start_rule": StartRule,
            "release_test": ReleaseTest,
            "value_rule": ValueRule,
            "job_order": JobOrder,
            "cost_d": CostD,
            "cost_c": CostC,
        }
        problems = [
            FieldProblem(name, getattr(self, name), "one of " + ", ".join(get_args(kind)))
            for name, kind in allowed.items()
            if getattr(self, name) not in get_args(kind)
        ]
        meant = (self.selection, self.start_rule, self.value_rule)
        if self.printed and meant != ("paper", "interval_start", "one"):
            said = "false where selection, start_rule or value_rule is not its default"
            problems.append(FieldProblem("printed", True, said))
        if problems:
            raise InputError(problems)
