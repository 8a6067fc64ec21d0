"""How a back end ends when it is cut short: a limit, a gap asked for, a word from outside."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from optsched.errors import ModelError
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.backend import Backend, Feature, Solver
from optsched.solvers.registry import backend
from optsched.solvers.solution import Limit, Solution, Status
from optsched.testing.capabilities import excluded, tolerance
from optsched.testing.case import ConformanceResult, Word, complaint

_CUT = (Status.FEASIBLE, Status.NO_SOLUTION)


@dataclass(frozen=True)
class LimitCase:
    """A model out of reach within the limit, and how a solve of it may end."""

    name: str
    build: Callable[[], Model]
    settings: Callable[[], dict[str, Any]]
    ends: tuple[Status, ...]
    limit: Limit | None
    optimum: float | None = 0.0


def market_split(*, elastic: bool) -> Model:
    """Choose half of the weight in every row: a planted split exists and is hard to find.

    All variables are integer and bounded, so that every integer solver takes it.
    """
    rng = np.random.default_rng(7)
    rows, items = 5, 40
    weights = rng.integers(1, 100, (rows, items)).astype(float)
    target = weights @ rng.integers(0, 2, items).astype(float)
    m = Model("market split")
    x = m.binary("x", items)
    if not elastic:
        m.add("split", weights @ x == target)
        return m
    over, under = (m.integer(name, rows, upper=5000) for name in ("over", "under"))
    m.add("split", weights @ x + under - over == target)
    m.minimize((over + under).sum())
    return m


def large_linear_program(columns: int = 20_000, rows: int = 400) -> Model:
    """A linear program that takes seconds."""
    rng = np.random.default_rng(0)
    m = Model("large linear program")
    x = m.continuous("x", columns, upper=5)
    m.maximize(rng.integers(1, 50, columns).astype(float) @ x)
    where = rng.integers(0, rows, 6 * columns)
    weights = rng.integers(1, 10, 6 * columns).astype(float)
    use = (weights * x[np.repeat(np.arange(columns), 6)]).sum_by(where, rows)
    m.add("capacity", use <= np.bincount(where, weights=weights, minlength=rows))
    return m


def _stopped() -> dict[str, Any]:
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    return {"stop": stop, "time_limit": 60.0}


def _stopped_before() -> dict[str, Any]:
    stop = threading.Event()
    stop.set()
    return {"stop": stop, "time_limit": 60.0}


ENDINGS = (
    LimitCase("a time limit with a point at hand", lambda: market_split(elastic=True),
           lambda: {"time_limit": 0.5}, _CUT, Limit.TIME),
    LimitCase("a time limit before any point", lambda: market_split(elastic=False),
           lambda: {"time_limit": 0.3}, _CUT, Limit.TIME),
    LimitCase("a gap asked for", lambda: market_split(elastic=True),
           lambda: {"absolute_gap": 5000.0, "time_limit": 10.0}, (Status.FEASIBLE,), Limit.GAP),
    LimitCase("a word from outside", lambda: market_split(elastic=True),
           _stopped, (Status.INTERRUPTED,), None),
    LimitCase("a word from outside before the start", lambda: market_split(elastic=False),
           _stopped_before, (Status.INTERRUPTED,), None),
    LimitCase("a time limit on a linear program", large_linear_program,
           lambda: {"time_limit": 0.05}, _CUT, Limit.TIME, None),
    LimitCase("a word from outside on a linear program", large_linear_program,
           _stopped_before, (Status.INTERRUPTED,), None, None),
)  # fmt: skip
"""Whatever ends otherwise must have solved the model, and truly."""


def check_ending(ending: LimitCase, solver: Solver) -> ConformanceResult:
    """Solve under the limit: how it ended, and whether everything it said is true."""
    engine = backend(solver)
    name, model = engine.name, ending.build()
    whole = bool(model.domains()[2].all())
    foreign = (Feature.INTEGERS if whole else Feature.CONTINUOUS) not in engine.features
    settings = ending.settings()
    try:
        answer = solve(model, engine, **settings)
    except ModelError as refused:
        # an option that is not supported may be refused, as a model may
        word = Word.REFUSED if foreign or set(settings) - {"time_limit"} else Word.WRONG
        return ConformanceResult(ending.name, name, word, str(refused))
    said = _false_ending(ending, model, answer, engine)
    return ConformanceResult(
        ending.name, name, Word.WRONG if said else Word.RIGHT, said or answer.status
    )


def check_endings(solver: Solver, exclude: Iterable[str] = ()) -> list[ConformanceResult]:
    """Every ending on one back end; takes some seconds. ``exclude`` is as in ``check_backend``."""
    engine = backend(solver)  # unknown names are refused at once
    chosen = [one for one in ENDINGS if not excluded(one.name, engine, exclude)]
    return [check_ending(one, engine) for one in chosen]


def _false_ending(ending: LimitCase, model: Model, answer: Solution, engine: Backend) -> str:
    said = complaint(model, Status.OPTIMAL, ending.optimum, answer, tolerance(engine))
    if said or answer.status is Status.OPTIMAL:
        return said
    if answer.status not in ending.ends or answer.limit is not ending.limit:
        return f"ended {answer.status} by limit {answer.limit}, expected {ending.ends[0]}"
    if answer.has_point != (answer.objective is not None and answer.checked):
        return "its point is not checked"
    if answer.status is Status.NO_SOLUTION and answer.values:
        return "no_solution with values"
    return ""
