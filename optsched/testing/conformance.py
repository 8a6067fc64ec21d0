"""One call that tests whether a back end does what it declares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from optsched.errors import ModelError
from optsched.solve import solve
from optsched.solvers.backend import Feature, Solver
from optsched.solvers.registry import backend
from optsched.solvers.solution import Status
from optsched.testing.capabilities import excluded, may_refuse, refusal, tolerance
from optsched.testing.case import (
    ConformanceCase,
    ConformanceReport,
    ConformanceResult,
    Word,
    complaint,
)
from optsched.testing.catalogue import conformance_cases
from optsched.testing.endings import check_endings

TIME_LIMIT = 60.0
"""Seconds for one case, beyond which it counts as not proven."""


def check_backend(
    solver: Solver,
    *,
    cases: Sequence[ConformanceCase] | None = None,
    endings: bool = True,
    exclude: Iterable[str] = (),
) -> ConformanceReport:
    """Run every case on one back end.

    Args:
        solver: name of a back end that is announced, or a back end of your own.
        cases: by default the whole catalogue.
        endings: whether to see how it ends when it is cut short; takes some seconds.
        exclude: patterns of names of cases to leave out, such as "circuit*", or "circuit*@1.2.*"
            for versions of the solver.

    Example:
        >>> from optsched.testing import check_backend
        >>> check_backend("highs", endings=False).passed
        True
    """
    engine = backend(solver)
    chosen = conformance_cases() if cases is None else cases
    results = [check_case(one, engine) for one in chosen if not excluded(one.name, engine, exclude)]
    if endings:
        results += check_endings(engine, exclude)
    return ConformanceReport(engine.name, engine.native, tuple(results))


def check_case(case: ConformanceCase, solver: Solver) -> ConformanceResult:
    """One case on one back end."""
    engine = backend(solver)
    name, model = engine.name, case.build()
    expected = refusal(model, case.needs, engine)
    try:
        answer = solve(model, engine, time_limit=TIME_LIMIT)
    except ModelError as refused:
        if str(refused) and (expected or may_refuse(model, engine)):
            return ConformanceResult(case.name, name, Word.REFUSED, str(refused))
        return ConformanceResult(case.name, name, Word.WRONG, f"refused without need: {refused}")
    said = complaint(model, case.status, case.optimum, answer, tolerance(engine), case.scale)
    if said:
        return ConformanceResult(case.name, name, Word.WRONG, said)
    proven = (case.status, Status.INFEASIBLE_OR_UNBOUNDED)
    if answer.status in proven:
        return ConformanceResult(case.name, name, Word.RIGHT)
    word = Word.WRONG if Feature.PROOF in engine.features and case.must_prove else Word.UNPROVEN
    return ConformanceResult(case.name, name, word, f"ended {answer.status} ({answer.message})")
