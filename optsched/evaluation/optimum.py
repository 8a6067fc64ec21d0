"""The interval of one optimum, from the schedules and bounds of all methods."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from optsched.errors import InputError
from optsched.evaluation.runs import MethodRun
from optsched.problem import COST_TOLERANCE, Sense
from optsched.solvers.registry import family
from optsched.solvers.solution import Status

PROOF_TOLERANCE = 1e-9
"""Distance between a schedule's cost and a bound, relative to max(1, |cost|), at which the
schedule counts as optimal."""

_DOUBTFUL = (Status.ERROR, Status.DISAGREEMENT)
"""Ends of a solve after which its dual bound is not built upon."""

_TELLING = (
    Status.DISAGREEMENT,
    Status.INFEASIBLE,
    Status.OPTIMAL,
    Status.UNBOUNDED,
    Status.INFEASIBLE_OR_UNBOUNDED,
    Status.FEASIBLE,
    Status.NO_SOLUTION,
    Status.INTERRUPTED,
)
"""Ends of solves of one problem, the most telling first."""


@dataclass(frozen=True)
class OptimumInterval:
    """The optimum of one instance, as far as it is known."""

    status: Status
    """"optimal" exactly if the optimum is proven; "disagreement" where nothing is to be
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


def optimum_interval(
    sense: Sense,
    status: Status,
    schedules: Mapping[str, float],
    bounds: Mapping[str, float],
) -> OptimumInterval:
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
        return OptimumInterval(open_status, None, bound)
    if status == Status.INFEASIBLE:
        message = f"no schedule is said to exist, yet that of {maker} passes the checker"
        return OptimumInterval(Status.DISAGREEMENT, incumbent, bound, message)
    if bound is None or status == Status.DISAGREEMENT:
        return OptimumInterval(open_status, incumbent, bound)

    scale = max(1.0, abs(incumbent))
    surplus = (bound - incumbent if sense == "minimise" else incumbent - bound) / scale
    if surplus > COST_TOLERANCE:
        message = (
            f"{prover} bounds the optimum by {bound:g}, "
            f"yet the schedule of {maker} costs {incumbent:g} and passes the checker"
        )
        return OptimumInterval(Status.DISAGREEMENT, incumbent, bound, message)
    if surplus >= -PROOF_TOLERANCE:
        return OptimumInterval(Status.OPTIMAL, incumbent, incumbent)
    return OptimumInterval(open_status, incumbent, bound)


def known_optimum(
    sense: Sense,
    solves: Mapping[str, MethodRun],
    bounds: Mapping[str, MethodRun],
    trials: Mapping[str, MethodRun],
) -> OptimumInterval:
    """The optimum of an instance by what has been run on it.

    Args:
        sense: of the problem.
        solves: exact runs, by name.
        bounds: runs of bounds that are proven.
        trials: runs of heuristics.
    """
    schedules = {
        text: run.cost
        for text, run in {**trials, **solves}.items()
        if run.offline and run.cost is not None
    }
    claims = {name: run.bound for name, run in bounds.items() if run.bound is not None}
    for text, run in solves.items():
        proven = run.status == Status.OPTIMAL and run.cost is not None
        claim = run.cost if proven else run.bound
        if claim is not None and math.isfinite(claim) and run.status not in _DOUBTFUL:
            claims[text] = claim
    return optimum_interval(sense, _ended(solves), schedules, claims)


def known_by(
    optimum: float | None, solves: Sequence[MethodRun], proofs: Sequence[MethodRun]
) -> str:
    """Why an optimum is believed, the best reason there is; see ``Row.known_by``."""
    if optimum is None:
        return ""
    allowed = COST_TOLERANCE * max(1.0, abs(optimum))
    for proof in proofs:
        near = proof.bound is not None and abs(proof.bound - optimum) <= allowed
        if proof.status == Status.OPTIMAL and near:
            return "proven"
    families = {_family(run.solver) for run in solves if run.status == Status.OPTIMAL}
    return ("bound", "solver", "two solvers")[min(2, len(families))]


def _family(solver: str) -> str:
    """Whose code a solver of a record runs; its own if it is not known here."""
    name = solver.partition(" ")[0]
    try:
        return family(name)
    except InputError:
        return name


def _ended(solves: Mapping[str, MethodRun]) -> Status:
    """How the solves ended, taken together; without any, there is nothing but schedules."""
    if not solves:
        return Status.FEASIBLE
    ends = {run.status for run in solves.values()}
    return next((status for status in _TELLING if status in ends), Status.ERROR)
