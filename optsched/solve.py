"""The entry point to every solver: lower, solve, check, and report what is proven."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

from optsched.errors import InputError, ModelError, UnsupportedError
from optsched.model import Model
from optsched.solvers.backend import Backend, Solver
from optsched.solvers.check import AGREEMENT
from optsched.solvers.direct import solve_on
from optsched.solvers.options import Options, merged
from optsched.solvers.registry import available, family, installed
from optsched.solvers.solution import Solution, Status

_DEFAULTS = Options()
_PARTNERS = ("cpsat", "scip", "glop", "highs", "cbc")
"""Who confirms where nobody is named, in this order."""

_PROVES = {
    Status.OPTIMAL: {Status.OPTIMAL},
    Status.INFEASIBLE: {Status.INFEASIBLE},
    Status.UNBOUNDED: {Status.UNBOUNDED},
    Status.INFEASIBLE_OR_UNBOUNDED: {Status.INFEASIBLE, Status.UNBOUNDED},
}
"""What may be true of a model when a solve ends so; other ways to end prove nothing of it."""


def solve(
    model: Model,
    solver: Solver = "highs",
    *,
    options: Options | None = None,
    confirm: Solver | bool | None = None,
    proof: bool = False,
    **settings: Any,
) -> Solution:
    """Solve a model and check the answer.

    The model evaluates the point that the solver returns, with integers rounded. If the point
    violates a row, the status is "error", never "optimal". If the solver fails in another way, the
    status is "error" too, and ``message`` has the reason.

    Args:
        model: what to solve.
        solver: name of a back end, or one of your own.
        options: limits and tolerances.
        confirm: a second back end to solve with, under the same limits but without ``extra``;
            True: the first of another family that takes the model. If the two contradict each
            other, the status is "disagreement"; the message says if they are of one family.
        proof: search for a proof in exact arithmetic, with the same time limit again. The solution
            keeps the proof; if there is none, the message says why. If the proof contradicts the
            solver, the status is "disagreement".
        settings: single fields of ``Options``, such as ``time_limit=60``.

    Raises:
        InputError: an option out of range, or a solver that is unknown or not installed.
        UnsupportedError: the solver cannot take what the model contains.
        ModelError: the model cannot be compiled.

    Example:
        >>> from optsched import Model, solve
        >>> m = Model("two machines")
        >>> fast = m.integer("fast", upper=3)
        >>> slow = m.integer("slow", upper=5)
        >>> m.add("work", 2 * fast + slow >= 8)
        >>> m.minimize(3 * fast + slow)
        >>> solution = solve(m, solver="highs", confirm="cpsat", time_limit=60)
        >>> solution.status.value, solution.objective, solution.bound, solution.checked
        ('optimal', 10.0, 10.0, True)
        >>> solution["fast"].item(), solution["slow"].item()
        (2.0, 4.0)
    """
    if settings or options is None:
        options = merged(options, settings) if settings else _DEFAULTS
    engine, version = installed(solver)
    if not confirm:
        solution = _solve_once(model, engine, version, options)
        return _proven(model, solution, options) if proof else solution
    others = [installed(one) for one in (_witnesses(engine) if confirm is True else [confirm])]
    solution = _solve_once(model, engine, version, options)
    second, witness = _witnessed(model, others, replace(options, extra={}, on_progress=None))
    shared = engine.family if engine.family == second.family else ""
    solution = _confirmed(solution, witness, model.maximise, shared)
    return _proven(model, solution, options) if proof else solution


def _witnesses(engine: Backend) -> list[str]:
    """Back ends installed of another family than this, in the order they are asked.

    Raises:
        InputError: there is none.
    """
    there = available()
    others = [name for name in _PARTNERS if name in there and family(name) != engine.family]
    if not others:
        raise InputError.of("confirm", True, "a back end of another family, which is not installed")
    return others


def _witnessed(
    model: Model, others: list[tuple[Backend, str]], options: Options
) -> tuple[Backend, Solution]:
    """The first of some back ends that takes the model, and what it says.

    Raises:
        UnsupportedError: none of them does.
    """
    for engine, version in others[:-1]:
        with suppress(UnsupportedError):
            return engine, _solve_once(model, engine, version, options)
    engine, version = others[-1]
    return engine, _solve_once(model, engine, version, options)


def _solve_once(model: Model, engine: Backend, version: str, options: Options) -> Solution:
    if "rotated_cone" in model.kinds - engine.native:
        from optsched.decomposition.cuts import solve_with_cuts  # takes long to load

        solution = solve_with_cuts(model, solver=engine, options=options).solution
        own = {name: x for name, x in solution.values.items() if name in model.variables}
        return replace(solution, values=own)
    return solve_on(engine, version, model, options)


def _proven(model: Model, solution: Solution, options: Options) -> Solution:
    """The solution with a proof of it or against it, or with why there is none."""
    from optsched.proof import NoPointError, NotProvenError, ProofError, find, verify

    if solution.status not in (Status.OPTIMAL, Status.INFEASIBLE):
        return solution
    seconds = math.inf if options.time_limit is None else options.time_limit
    found: dict[str, Any] | None = None
    status: Status = solution.status
    try:
        form = model.compile({"rotated_cone"})
        try:
            found = find(form, solution.objective, seconds=seconds)
        except NoPointError:
            found = find(form, None, seconds=seconds)
        bound = verify(form, found)
        said = f"proven in exact arithmetic, {len(found['nodes'])} nodes"
        if not _agree(bound, solution.objective, form.maximise):
            status = Status.DISAGREEMENT
            fact = "there is no point" if bound is None else f"no point is better than {bound}"
            said = f"contradicted in exact arithmetic: {fact}"
    except (NotProvenError, ProofError, ModelError) as why:
        found, said = None, f"not proven in exact arithmetic: {why}"
    message = f"{solution.message}; {said}".removeprefix("; ")
    return replace(solution, status=status, proof=found, message=message)


def _agree(bound: Fraction | None, objective: float | None, maximise: bool) -> bool:
    """Whether a point of that value is no better than what is proven; None: there is no point."""
    if bound is None or objective is None:
        return bound is None and objective is None
    better = (objective - bound) if maximise else (bound - objective)
    return better <= AGREEMENT * max(1.0, abs(objective))


def _confirmed(first: Solution, second: Solution, maximise: bool, family: str) -> Solution:
    """The first answer, unless the second contradicts it; ``family`` is the one both are of."""
    witness = f"{second.solver} {second.version} ended {second.status}"
    proofs = [one.status in _PROVES for one in (first, second)]
    if Status.ERROR in (first.status, second.status):
        said = f"nothing to confirm by: {witness}: {second.message}"
    elif complaint := (
        _contradiction(first, second, maximise) or _contradiction(second, first, maximise)
    ):
        return replace(first, status=Status.DISAGREEMENT, message=complaint)
    elif all(proofs):
        said = f"confirmed: {witness}"
        if family:
            said = f"confirmed within one family, {family}, whose faults both may have: {witness}"
    elif any(proofs):
        said = f"proven by one solver, not contradicted by the other: {witness}"
    else:
        said = f"proven by neither solver: {witness}"
    return replace(first, message=f"{first.message}; {said}".removeprefix("; "))


def _contradiction(a: Solution, b: Solution, maximise: bool) -> str:
    """In words, what ``a`` proves and ``b`` shows to be false."""
    if a.status is Status.INFEASIBLE and b.has_point:
        return f"{a.solver} proves infeasible what {b.solver} has a checked point for"
    if a.bound is not None and b.objective is not None:
        over = (b.objective - a.bound) if maximise else (a.bound - b.objective)
        if over > AGREEMENT * max(1.0, abs(b.objective)):
            return (
                f"{a.solver} bounds the optimum by {a.bound:g}, "
                f"{b.solver} has a checked point of value {b.objective:g}"
            )
    if a.bound is not None and b.status is Status.UNBOUNDED:
        return f"{a.solver} bounds the optimum by {a.bound:g}, {b.solver} ends {b.status}"
    if a.status in _PROVES and b.status in _PROVES and not _PROVES[a.status] & _PROVES[b.status]:
        return f"{a.solver} ends {a.status}, {b.solver} ends {b.status}"
    return ""
