"""One call that tells the author of a back end whether it keeps its word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from optsched.errors import ModelError
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.backend import Solver
from optsched.solvers.registry import backend
from optsched.solvers.solution import Status
from optsched.testing.capabilities import Capabilities, known_capabilities, refusal
from optsched.testing.case import ConformanceCase, complaint
from optsched.testing.catalogue import conformance_cases
from optsched.testing.endings import check_endings
from optsched.testing.enumeration import enumerate_optimum
from optsched.testing.random_models import random_model
from optsched.testing.results import ConformanceReport, ConformanceResult, Word

TIME_LIMIT = 60.0
"""Seconds for one case, beyond which it counts as not proven."""


def check_backend(
    solver: Solver,
    *,
    cases: Sequence[ConformanceCase] | None = None,
    random_models: int = 100,
    seed: int = 0,
    endings: bool = True,
    capabilities: Capabilities | None = None,
) -> ConformanceReport:
    """Run every case, and random models judged by enumeration, on one back end.

    Args:
        solver: name of a back end that is announced, or a back end of your own.
        cases: by default the whole catalogue.
        random_models: how many on top; each is drawn with continuous variables, with
            fractional numbers, both or neither in turn.
        seed: of the random models.
        endings: whether to see how it ends when it is cut short; takes some seconds.
        capabilities: what it refuses; by default what is known of it, or nothing.

    Example:
        >>> from optsched.testing import check_backend
        >>> check_backend("highs", random_models=2, endings=False).passed
        True
    """
    engine = backend(solver)
    chosen = conformance_cases() if cases is None else cases
    results = [check_case(one, engine, capabilities) for one in chosen]
    for number in range(random_models):
        rng = np.random.default_rng((seed, number))
        one = random_case(rng, f"random model {number} of seed {seed}",
                          continuous=number % 2 == 1, fractional=number % 4 >= 2)  # fmt: skip
        results.append(check_case(one, engine, capabilities))
    if endings:
        results += check_endings(engine, capabilities)
    return ConformanceReport(engine.name, engine.native, tuple(results))


def check_case(
    case: ConformanceCase, solver: Solver, capabilities: Capabilities | None = None
) -> ConformanceResult:
    """One case on one back end."""
    engine = backend(solver)
    name, known = engine.name, known_capabilities(engine, capabilities)
    model = case.build()
    expected = refusal(model, case.needs, engine, known)
    try:
        answer = solve(model, engine, time_limit=TIME_LIMIT)
    except ModelError as refused:
        if expected and str(refused):
            return ConformanceResult(case.name, name, Word.REFUSED, str(refused))
        return ConformanceResult(case.name, name, Word.WRONG, f"refused without need: {refused}")
    if expected:
        return ConformanceResult(
            case.name, name, Word.WRONG, f"ended {answer.status}, should refuse {expected}"
        )
    said = complaint(model, case.status, case.optimum, answer, known.tolerance, case.scale)
    if said:
        return ConformanceResult(case.name, name, Word.WRONG, said)
    proven = (case.status, Status.INFEASIBLE_OR_UNBOUNDED)
    if answer.status in proven:
        return ConformanceResult(case.name, name, Word.RIGHT)
    word = Word.WRONG if known.proves and case.must_prove else Word.UNPROVEN
    return ConformanceResult(case.name, name, word, f"ended {answer.status} ({answer.message})")


def random_case(rng: np.random.Generator, name: str, **settings: Any) -> ConformanceCase:
    """A random model and its answer by enumeration; settings as for ``random_recipe``."""
    return counted_case(name, random_model(rng, **settings))


def counted_case(name: str, model: Model, scale: float | None = None) -> ConformanceCase:
    """A model and its answer by enumeration; with a scale, it need not be proven."""
    truth = enumerate_optimum(model)
    if scale is None:
        return ConformanceCase(name, lambda: model, truth.status, truth.value)
    return ConformanceCase(
        name, lambda: model, truth.status, truth.value, scale=scale, must_prove=False
    )
