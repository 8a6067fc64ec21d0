"""The incumbent of a search: what is taken, when it is closed, and the answer it ends in."""

import math
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optsched.decomposition import Incumbent
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Progress, Status

NUMBERS = st.floats(-100, 100)


def minimising(options=None, **more):
    return Incumbent(options or Options(), cost=float, **more)


@given(st.lists(NUMBERS, min_size=1), st.lists(NUMBERS, min_size=1), st.booleans())
def test_value_and_bound_are_the_best_offered(values, bounds, maximise):
    best = Incumbent(Options(), cost=float, maximise=maximise)
    for value in values:
        best.offer(value)
    for bound in bounds:
        best.raise_bound(bound)
    if maximise:
        assert best.value == max(values)
        assert best.bound == max(min(bounds), best.value)
    else:
        assert best.value == min(values)
        assert best.bound == min(max(bounds), best.value)


def test_a_schedule_that_violates_something_is_refused():
    best = minimising(check=lambda schedule: ["too small"] if schedule < 2 else [])
    assert not best.offer(1.0)
    assert best.offer(2.0)
    assert best.answer("highs").schedule == 2.0


def test_without_a_schedule_nothing_is_closed_unless_none_exists():
    best = minimising()
    best.raise_bound(5.0)
    assert not best.closed
    best.infeasible = True
    assert best.closed
    assert best.answer("highs").solution.status is Status.INFEASIBLE


@pytest.mark.parametrize(
    ("options", "bound", "closed"),
    [
        (Options(), 10.0 - 9e-9, True),  # within 1e-9 of 10
        (Options(), 10.0 - 11e-9, False),
        (Options(gap=0.1), 9.01, True),
        (Options(gap=0.1), 8.99, False),
        (Options(absolute_gap=2.0), 8.01, True),
        (Options(absolute_gap=2.0), 7.99, False),
    ],
)
def test_it_is_closed_within_the_gaps_that_are_asked_for(options, bound, closed):
    best = minimising(options, start=10.0)
    best.raise_bound(bound)
    assert best.closed is closed


@pytest.mark.parametrize(
    ("bound", "rounded"), [(7.0 + 2e-6, 8.0), (7.0 + 5e-7, 7.0), (6.2, 7.0), (math.inf, math.inf)]
)
def test_bounds_on_whole_values_are_rounded_but_for_rounding_errors(bound, rounded):
    best = minimising(whole=True)
    best.raise_bound(bound)
    assert best.bound == rounded


def test_bounds_from_above_are_rounded_down():
    best = minimising(whole=True, maximise=True)
    best.raise_bound(7.9)
    assert best.bound == 7.0


@pytest.mark.parametrize(("bound", "status"), [(9e-6, Status.OPTIMAL), (11e-6, Status.ERROR)])
@pytest.mark.parametrize("maximise", [False, True])
def test_a_schedule_better_than_a_proven_bound_is_an_error(bound, status, maximise):
    best = Incumbent(Options(), cost=float, maximise=maximise, start=10.0)
    best.raise_bound(10.0 - bound if maximise else 10.0 + bound)  # within 1e-6 of 10, or not
    assert best.answer("highs").solution.status is status


def test_a_closed_gap_is_no_proof():
    best = minimising(Options(gap=0.5), start=10.0)
    best.raise_bound(6.0)
    solution = best.answer("highs").solution
    assert (solution.status, solution.limit) == (Status.FEASIBLE, Limit.GAP)
    assert (solution.objective, solution.bound) == (10.0, 6.0)


def test_who_asked_for_an_end_gets_what_there_is():
    stop = threading.Event()
    best = minimising(Options(stop=stop), start=10.0)
    stop.set()
    assert best.over
    assert best.answer("highs").solution.status is Status.INTERRUPTED


def test_a_limit_that_passed_is_named():
    best = minimising(Options(time_limit=1e-9))
    solution = best.answer("highs").solution
    assert (solution.status, solution.limit) == (Status.NO_SOLUTION, Limit.TIME)


def test_a_listener_hears_of_every_better_value_and_bound():
    heard = []
    best = minimising(Options(on_progress=lambda p: heard.append((p.bound, p.objective))))
    best.offer(9.0)
    best.offer(9.5)
    best.on_progress(Progress(4.0, None))
    best.offer(8.0)
    assert heard == [(None, 9.0), (4.0, 9.0), (4.0, 8.0)]


def test_a_part_of_the_time_is_shared_by_solves_within():
    best = minimising(Options(time_limit=100.0, gap=0.1))
    assert best.part(0.5).seconds == pytest.approx(50.0, abs=1.0)
    assert best.part(0.5, most=2.0).seconds == 2.0
    within = best.within(0.1)
    assert within.time_limit == pytest.approx(10.0, abs=0.2)
    assert within.gap == 0.0


def test_threads_that_offer_at_once_leave_the_best():
    best = minimising()
    offers = [
        threading.Thread(target=lambda k=k: [best.offer(float(v)) for v in range(200, k, -1)])
        for k in range(1, 9)
    ]
    for thread in offers:
        thread.start()
    for thread in offers:
        thread.join()
    assert best.value == 2.0
