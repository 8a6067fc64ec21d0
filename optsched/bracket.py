"""What is known of an optimum: the best known schedule on one side, the best bound on the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from optsched.problem import COST_TOLERANCE, Sense
from optsched.solvers import Status

PROOF_TOLERANCE = 1e-9
"""Distance between a schedule's cost and a bound, relative to max(1, |cost|), at which the
schedule counts as optimal."""


@dataclass(frozen=True)
class Bracket:
    """The optimum of one instance, as far as it is known."""

    status: Status
    """"optimal" exactly where the optimum is proven; "disagreement" where nothing is to be
    believed, because a checked schedule contradicts what was said to be proven."""
    incumbent: float | None
    """Cost of the best known schedule."""
    bound: float | None
    """Best proven bound, the optimum itself where that is proven."""
    message: str = ""

    @property
    def optimum(self) -> float | None:
        """The proven optimum."""
        return self.incumbent if self.status == Status.OPTIMAL else None


def bracket(
    sense: Sense,
    status: Status,
    schedules: Mapping[str, float],
    bounds: Mapping[str, float],
) -> Bracket:
    """Put together what several methods say of one optimum.

    Args:
        sense: of the problem.
        status: how the exact method ended; its claim to optimality stands in ``bounds``.
        schedules: cost of each schedule that passed the checker, by who made it.
        bounds: proven bounds on the optimum, by who proved them.
    """
    best, tightest = (min, max) if sense == "minimise" else (max, min)
    maker = best(schedules, key=schedules.__getitem__, default=None)
    prover = tightest(bounds, key=bounds.__getitem__, default=None)
    incumbent = None if maker is None else schedules[maker]
    bound = None if prover is None else bounds[prover]
    open_status = Status.FEASIBLE if status == Status.OPTIMAL else status
    if incumbent is None:
        return Bracket(open_status, None, bound)
    if status == Status.INFEASIBLE:
        message = f"no schedule is said to exist, yet that of {maker} passes the checker"
        return Bracket(Status.DISAGREEMENT, incumbent, bound, message)
    if bound is None or status == Status.DISAGREEMENT:
        return Bracket(open_status, incumbent, bound)

    scale = max(1.0, abs(incumbent))
    surplus = (bound - incumbent if sense == "minimise" else incumbent - bound) / scale
    if surplus > COST_TOLERANCE:
        message = (
            f"{prover} bounds the optimum by {bound:g}, "
            f"yet the schedule of {maker} costs {incumbent:g} and passes the checker"
        )
        return Bracket(Status.DISAGREEMENT, incumbent, bound, message)
    if surplus >= -PROOF_TOLERANCE:
        return Bracket(Status.OPTIMAL, incumbent, incumbent)
    return Bracket(open_status, incumbent, bound)
