"""Limits and the wish to stop hold, whatever a model's building or a search makes of them."""

import threading
import time

import pytest

from optsched import Model
from optsched.problem.methods import ExactMethod, Formulation
from optsched.solvers.answer import Answer, answering
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Solution, Status

KNOWN = Answer(Solution(Status.INTERRUPTED, 7.0, 5.0, checked=True), "the best so far")
MOST = 20.0
"""Seconds in which work ends that is ended at all, however busy the machine is."""


def turns(*_: object) -> None:
    """A loop of Python's that asks no clock."""
    while True:
        sum(range(1000))


def one_call(*_: object) -> None:
    """A call of C's that nothing interrupts."""
    time.sleep(60)


def searching(work):
    """A search that has found something, and does not look up from its work."""

    def search(instance, options):
        with answering(lambda: KNOWN):
            work()

    return ExactMethod("endless", search, "", "", frozenset({"time_limit"}))


def building(work):
    """A model that takes for ever to build."""
    return Formulation("large", work, "", "")


def ended(method, **limits) -> Answer:
    """What came of it."""
    began = time.perf_counter()
    answer = method.solve(None, options=Options(**limits))
    assert time.perf_counter() - began < MOST
    return answer


@pytest.fixture
def stop():
    """An event that is set before long."""
    event = threading.Event()
    threading.Timer(0.1, event.set).start()
    return event


@pytest.mark.parametrize("work", [turns, one_call])
def test_a_search_that_does_not_support_stop_is_asked_for_what_it_has(work, stop):
    assert ended(searching(work), stop=stop).schedule == KNOWN.schedule


@pytest.mark.parametrize("work", [turns, one_call])
def test_a_search_that_overruns_its_limit_is_asked_for_what_it_has(work):
    answer = ended(searching(work), time_limit=0.1)
    assert answer.schedule == KNOWN.schedule
    assert (answer.solution.status, answer.solution.limit) == (Status.FEASIBLE, Limit.TIME)


def test_a_search_that_takes_its_limit_for_an_interrupt_was_not_interrupted():
    def caught(instance, options):
        try:
            turns()
        except KeyboardInterrupt:
            return Answer(Solution(Status.INTERRUPTED))

    method = ExactMethod("caught", caught, "", "", frozenset({"time_limit"}))
    answer = ended(method, time_limit=0.1)
    assert (answer.solution.status, answer.solution.limit) == (Status.NO_SOLUTION, Limit.TIME)
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    answer = ended(method, stop=stop)
    assert (answer.solution.status, answer.solution.limit) == (Status.INTERRUPTED, None)


@pytest.mark.parametrize("work", [turns, one_call])
def test_a_model_is_built_no_longer_than_its_limit(work, stop):
    answer = ended(building(work), time_limit=0.1)
    assert (answer.solution.status, answer.solution.limit) == (Status.NO_SOLUTION, Limit.TIME)
    answer = ended(building(work), stop=stop)
    assert (answer.solution.status, answer.solution.limit) == (Status.INTERRUPTED, None)


def test_a_search_that_says_nothing_of_what_it_has_ends_without_it(stop):
    answer = ended(ExactMethod("silent", turns, "", ""), stop=stop)
    assert (answer.solution.status, answer.schedule) == (Status.INTERRUPTED, None)


def test_a_search_within_another_is_not_asked_in_its_stead(stop):
    def outer(instance, options):
        with answering(lambda: KNOWN), answering(lambda: Answer(Solution(Status.INFEASIBLE))):
            turns()

    assert ended(ExactMethod("outer", outer, "", ""), stop=stop).schedule == KNOWN.schedule


def test_of_searches_one_after_the_other_the_last_is_asked(stop):
    def two(instance, options):
        with answering(lambda: Answer(Solution(Status.INFEASIBLE))):
            pass
        with answering(lambda: KNOWN):
            turns()

    assert ended(ExactMethod("two", two, "", ""), stop=stop).schedule == KNOWN.schedule


def test_what_a_search_or_a_model_raises_is_raised():
    def wrong(*_):
        raise ZeroDivisionError

    for method in (ExactMethod("wrong", wrong, "", ""), building(wrong)):
        with pytest.raises(ZeroDivisionError):
            method.solve(None)


def test_a_model_that_is_built_in_time_is_solved_to_its_optimum(stop):
    def build(instance):
        model = Model()
        model.minimize(model.integer("x", lower=3, upper=5))
        return model

    solution = building(build).solve(None, options=Options(time_limit=60, stop=stop)).solution
    assert (solution.status, solution.objective) == (Status.OPTIMAL, 3.0)


@pytest.mark.parametrize("solver", ["scipy", "pulp:PULP_CBC_CMD"])
def test_a_solver_that_cannot_be_stopped_solves_a_formulation(solver):
    def build(instance):
        m = Model()
        m.maximize(m.integer("x", 2, upper=3).sum())
        return m

    method = Formulation("pick", build, "nowhere", "none")
    for options in (Options(), Options(stop=threading.Event())):
        answer = method.solve(None, solver=solver, options=options)
        assert (answer.solution.status, answer.solution.objective) == ("optimal", 6)
