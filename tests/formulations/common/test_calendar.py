"""What is computed depends on durations, never on dates: releases may be Unix time stamps."""

import tracemalloc
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from formulations.common.calendar import NEAR
from optsched.problem import problem
from optsched.problem.methods import ExactMethod, Formulation
from optsched.solvers.options import Options
from optsched.solvers.solution import Progress

SMALL = {
    "batch": {"jobs": 4, "servers": 4, "types": 2, "time_scale": 0.05},
    "okita": {"jobs": 2, "sites": 3, "horizon": 20},
    "preemptive": {"jobs": 4, "servers": 3, "types": 2, "span": 6, "time_scale": 0.03},
    "preemptive_storage": {"jobs": 3, "servers": 3, "types": 2, "span": 6, "time_scale": 0.03},
}
LIKE = {"batch_completion": "batch"}
PROBLEMS = [*SMALL, *LIKE]
DATES = [10**8, 1_700_000_000]
MOST = 100e6
"""Bytes: what a calendar as an index would take is a hundred times as many."""


def release(instance):
    name = "release_time" if hasattr(instance, "release_time") else "release_slot"
    return name, getattr(instance, name)


@cache
def instance(name):
    found = problem(name)
    options = SMALL[LIKE.get(name, name)]
    made = found.generate(np.random.default_rng(1), **found.generator_call(options))
    field, at = release(made)
    return replace(made, **{field: at - np.floor(at.min()).astype(at.dtype) + 1})


def moved(made, by):
    """The same instance with jobs released so much later: a number, or one for each."""
    field, at = release(made)
    later = {field: at + np.asarray(by, dtype=at.dtype)}
    if "okita" in made.format:
        later["horizon"] = made.horizon + int(np.max(by))
    return replace(made, **later)


def kinds(kind):
    return [
        (name, key)
        for name in PROBLEMS
        for key, card in problem(name).formulations.items()
        if isinstance(card, kind) and "tau" not in card.takes()  # a round is a date
    ]


@contextmanager
def traced():
    """How many bytes Python and numpy took at most so far.

    Compiling takes several times as long within, so tests compute what they compare with before.
    """
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("date", DATES)
@pytest.mark.parametrize(("name", "key"), kinds(Formulation))
def test_a_model_is_the_same_at_any_date(name, key, date):
    card, made = problem(name).formulations[key], instance(name)
    with traced() as taken:
        here = card.build(made).compile(set())
        usual = taken()
        there = card.build(moved(made, date)).compile(set())
        assert taken() < 2 * usual + MOST
    for part in ("cost", "lower", "upper", "integer"):
        assert np.array_equal(getattr(here, part), getattr(there, part))
    assert (here.rows.matrix != there.rows.matrix).nnz == 0
    assert np.array_equal(here.rows.lower, there.rows.lower)
    assert np.array_equal(here.rows.upper, there.rows.upper)
    added = date * made.weight.sum() if name == "batch_completion" else 0.0
    assert there.offset == pytest.approx(here.offset + added, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("preemptive", "offline"),
        ("preemptive", "problem_2_compact"),
        ("preemptive", "problem_4_flow"),
        ("batch", "problem_2_columns"),
        ("batch", "problem_2_offline"),
        ("batch_completion", "problem_2_columns"),
        ("okita", "problem_2_columns"),
    ],
)
def test_an_optimum_is_the_same_at_any_date_and_its_schedule_is_at_that_date(name, method):
    found, made = problem(name), instance(name)
    here = found.solve(method, made)
    later = moved(made, DATES[1])
    told: list[Progress] = []
    listens = "on_progress" in found.formulations[method].supports
    options = Options(on_progress=told.append) if listens else Options()
    with traced() as taken:
        there = found.solve(method, later, options=options)
        assert taken() < MOST
    added = DATES[1] * made.weight.sum() if name == "batch_completion" else 0.0
    assert there.solution.status == here.solution.status == "optimal"
    assert there.solution.objective == pytest.approx(here.solution.objective + added)
    assert there.solution.bound == pytest.approx(here.solution.bound + added)
    near = 1e-9 * there.solution.objective
    for moment in (*told, *there.solution.trajectory):
        assert moment.bound is None or moment.bound <= there.solution.objective + near
        assert moment.objective is None or moment.objective >= there.solution.objective - near
    if here.schedule is not None:
        shifted = here.schedule.later(np.full(made.jobs, DATES[1]))
        assert found.cost(later, shifted) == pytest.approx(found.cost(later, there.schedule))
        assert found.check(later, there.schedule) == []
        assert found.check(later, shifted) == []


@pytest.mark.parametrize(
    ("name", "key"), [(name, key) for name in PROBLEMS for key in problem(name).heuristics]
)
def test_a_heuristic_does_the_same_at_any_date(name, key):
    found, made = problem(name), instance(name)

    def cost_at(by):
        later = moved(made, by)
        schedule = found.run(key, later, np.random.default_rng(0))
        assert found.check(later, schedule, **found.check_options(schedule)) == []
        added = by * made.weight.sum() if name == "batch_completion" else 0.0
        return found.cost(later, schedule) - added

    here = cost_at(0)
    with traced() as taken:
        for date in DATES:
            assert cost_at(date) == pytest.approx(here, rel=1e-6)
        assert taken() < MOST


@pytest.mark.parametrize(
    ("name", "key"), [(name, key) for name in PROBLEMS for key in problem(name).bounds]
)
def test_a_bound_is_the_same_at_any_date(name, key):
    bound, made = problem(name).bounds[key], instance(name)
    added = DATES[1] * made.weight.sum() if name == "batch_completion" else 0.0
    here = bound.compute(made)
    with traced() as taken:
        there = bound.compute(moved(made, DATES[1]))
        assert taken() < MOST
    assert there == pytest.approx(here + added, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "method"), [("preemptive", "problem_2_compact"), ("batch", "problem_2_columns")]
)
def test_years_between_two_jobs_cost_no_memory(name, method):
    found, made = problem(name), instance(name)
    by = np.zeros(made.jobs, dtype=np.int64)
    by[np.argmax(release(made)[1])] = DATES[1]
    near = found.solve(method, moved(made, by // DATES[1] * 200))  # far enough to be alone
    with traced() as taken:
        far = found.solve(method, moved(made, by))
        assert taken() < MOST
    assert far.solution.status == "optimal"
    assert far.solution.objective == pytest.approx(near.solution.objective)


def test_early_releases_and_short_gaps_are_left_as_they_are():
    found, made = problem("preemptive"), instance("preemptive")
    by = np.zeros(made.jobs, dtype=np.int64)
    by[np.argmax(made.release_time)] = NEAR // 2
    assert not found.calendar.off(moved(made, by), gaps=True).any()


def test_an_exact_method_says_what_it_takes_whatever_the_calendar():
    for name, key in kinds(ExactMethod):
        card = problem(name).formulations[key]
        assert "options" not in (card.takes() or {})
