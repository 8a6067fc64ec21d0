"""All jobs slot by slot: optima, cutoffs on either side of them, giving up."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from okita_cases import listed_optimum, random_terms, tiny, worked_example

from formulations.okita import PROBLEM
from formulations.okita.check import check, cost
from formulations.okita.exact import joint_moves as job_moves
from formulations.okita.exact import joint_states
from formulations.okita.exact.joint_moves import PricedJob, TooManyError
from formulations.okita.exact.joint_states import JointSearch, JointStates
from formulations.okita.exact.method import Search, SearchParams
from formulations.okita.exact.pricing import Pricing
from formulations.okita.horizon import windows
from formulations.okita.one_job.lattice import Levels, build_lattice, cheapest_paths
from formulations.okita.one_job.paths import free_terms, path_cost
from formulations.okita.one_job.planner import Planner
from optsched.solvers.options import Options

MOST = SearchParams().states


def pricing_of(instance, known):
    """Pricing in the slots of schedules that cost no more."""
    planner = Planner(instance)
    span = windows(instance, known_cost=known, job_bounds=planner.floors)
    return Pricing.of(planner, span)


def states_of(instance, known, price=0.0, most=MOST):
    """The search, with one price for every capacity in every slot."""
    pricing, lattices = pricing_of(instance, known), Planner(instance).lattices
    return JointStates(lattices, pricing, np.full(len(pricing.room()), -price), most)


def relaxed():
    """A search that has the prices of its relaxation, and five jobs that crowd three slots."""
    instance = PROBLEM.generate(np.random.default_rng(1), jobs=5, sites=4, horizon=3)
    search = Search(instance, Options(), None, "safe", SearchParams())
    search.plan()
    search.relax(1.0)
    return search


def followed(job, path, spare):
    """What a path costs by the moves that lead along it."""
    point, cost = 0, job.least
    left = spare + 1e-6
    for t, site in enumerate(path.server):
        moves = job.moves(t, np.array([point]), np.array([left]))
        assert (moves.point == point).all()
        assert -1e-9 <= moves.reduced_cost.min() <= moves.reduced_cost.max() <= left + 1e-9
        assert (np.diff(moves.reduced_cost) >= 0).all()
        same = (moves.server == site) & (moves.workers == path.workers[t]).all(axis=1)
        same &= (moves.to == job.done) == (t == path.last)
        (move,) = np.flatnonzero(same)
        cost, left = cost + moves.reduced_cost[move], left - moves.reduced_cost[move]
        point = int(moves.to[move])
        if point == job.done:
            return cost
    raise AssertionError


def comes_to(states, optimum):
    """Whether jobs planned together come to the optimum, and to nothing below it."""
    instance = states.instance
    bound, schedule = states.search(optimum * (1 + 1e-9), lambda: True)
    assert states.bound <= optimum * (1 + 1e-9)
    assert check(instance, schedule) == []
    assert cost(instance, schedule) == pytest.approx(optimum)
    assert optimum * (1 - 1e-8) <= bound <= optimum
    below = optimum * (1 - 1e-8)
    return states.search(below, lambda: True) == (below, None)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_moves_lead_to_the_least_price_of_the_lattice(seed):
    """Two ways to the least price of a job, and the cheapest schedule is made of moves."""
    instance, rng = tiny(seed, jobs=3, sites=2, whole_rates=True), np.random.default_rng(seed)
    i = int(rng.integers(instance.jobs))
    terms = random_terms(instance, i, rng)
    lattice, spare = build_lattice(instance, Levels.of(instance, i)), float(rng.exponential(2.0))
    path = next(cheapest_paths(instance, lattice, terms))
    job = PricedJob(instance, lattice, terms, path.price).within(path.price + spare)
    assert job.least == pytest.approx(path.price)
    assert followed(job, path.trimmed(), spare) == pytest.approx(path.price)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.1, 1.0]))
def test_whatever_the_prices_it_comes_to_the_optimum_and_to_none_below(seed, price):
    instance = tiny(seed)
    expected = PROBLEM.solve("problem_2_columns", instance).solution.objective
    assert comes_to(states_of(instance, expected, price), expected)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.sampled_from([0.1, 1.0, 10.0]))
@example(6918, 1.0)
def test_at_random_prices_jobs_planned_together_come_to_the_optimum_and_to_none_below(seed, price):
    instance, rng = tiny(seed, jobs=3, sites=2, whole_rates=True), np.random.default_rng(seed)
    # the schedule's own cost: HiGHS's may be below it by its tolerance, as with seed 6918
    optimum = cost(instance, PROBLEM.solve("problem_2_aggregated", instance).schedule)
    pricing = pricing_of(instance, optimum)
    rows = -price * rng.exponential(1.0, len(pricing.room()))
    assert comes_to(JointStates(Planner(instance).lattices, pricing, rows, MOST), optimum)


def test_the_worked_example_costs_12_and_no_less():
    states = states_of(worked_example(), 15.0)
    assert states.bound == pytest.approx(12.0)  # of both jobs alone
    assert states.search(12.0, lambda: True)[1] is not None
    assert states.search(12.0 - 1e-6, lambda: True) == (12.0 - 1e-6, None)


@pytest.mark.parametrize("seed", range(4))
def test_it_agrees_with_the_listing_of_all_deployments(seed):
    instance = tiny(seed, jobs=2, sites=2, most_chunks=2)
    expected = listed_optimum(instance, 4)
    _, schedule = states_of(instance, expected).search(expected, lambda: True)
    assert cost(instance, schedule) == pytest.approx(expected)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 1.0, 5.0]))
def test_every_schedule_within_a_limit_is_made_of_the_moves_listed(seed, spare):
    instance = tiny(seed, jobs=1)
    lattice, terms = build_lattice(instance, Levels.of(instance, 0)), free_terms(instance, 0, 3)
    paths = list(cheapest_paths(instance, lattice, terms))
    assume(paths)
    job = PricedJob(instance, lattice, terms, paths[0].price).within(paths[0].price + spare)
    assert job.least <= paths[0].price + 1e-9
    for path in paths:
        price = path_cost(instance, 0, path)  # the slot it was asked for may be a later one
        if price <= paths[0].price + spare:
            assert price == pytest.approx(followed(job, path, spare))


def test_a_slot_in_which_a_job_may_not_run_has_no_moves():
    instance = worked_example()
    lattice = build_lattice(instance, Levels.of(instance, 0))
    job = PricedJob(instance, lattice, free_terms(instance, 0, 3), 0.0).within(100.0)
    for slot in (-1, 3):
        assert not len(job.moves(slot, np.array([0]), np.array([100.0])).to)
    assert len(job.moves(2, np.array([0]), np.array([100.0])).to)


def test_moves_that_become_many_are_all_listed_and_too_many_are_not(monkeypatch):
    instance = worked_example()
    lattice = build_lattice(instance, Levels.of(instance, 0))
    job = PricedJob(instance, lattice, free_terms(instance, 0, 3), 0.0).within(100.0)
    start = 0, np.array([0]), np.array([100.0])
    plain = job.moves(*start)
    monkeypatch.setattr(job_moves, "FIRST_MOVES", 1)
    monkeypatch.setattr(job_moves, "MOST_MOVES", len(plain.to))
    grown = job.moves(*start)
    assert (grown.workers == plain.workers).all()
    assert (grown.reduced_cost == plain.reduced_cost).all()
    monkeypatch.setattr(job_moves, "MOST_MOVES", len(plain.to) - 1)
    with pytest.raises(TooManyError):
        job.moves(*start)


def test_too_many_points_are_not_begun_with(monkeypatch):
    monkeypatch.setattr(joint_states, "MOST_POINTS", 1)
    with pytest.raises(TooManyError):
        states_of(worked_example(), 15.0)


def test_it_ends_when_it_is_told_to():
    with pytest.raises(TooManyError):
        states_of(worked_example(), 15.0).search(15.0, lambda: False)


def test_states_that_become_many_are_all_found_again(monkeypatch):
    instance = tiny(3, jobs=2, sites=2)
    expected = PROBLEM.solve("problem_2_columns", instance).solution.objective
    plain = states_of(instance, 2 * expected).search(2 * expected, lambda: True)
    monkeypatch.setattr(joint_states, "FIRST_STATES", 1)
    grown = states_of(instance, 2 * expected).search(2 * expected, lambda: True)
    assert grown[0] == plain[0]
    assert cost(instance, grown[1]) == pytest.approx(expected)


def test_a_crowd_that_fractions_leave_open_is_proven():
    search = relaxed()
    assert search.best.bound < 700.9
    search.decide()
    assert search.best.closed
    assert search.best.value == pytest.approx(700.9471645959146)
    assert check(search.instance, search.best.schedule) == []


FEW = [(joint_states, "STEPS"), (job_moves, "MOST_MOVES")]


@pytest.mark.parametrize(("room", "name"), [*FEW, (None, "most states")])
@pytest.mark.parametrize("few", [1, 3, 10])
def test_if_not_all_is_kept_nothing_is_proven(monkeypatch, room, name, few):
    instance = tiny(3, jobs=2, sites=2)
    expected = PROBLEM.solve("problem_2_columns", instance).solution.objective
    if room is not None:
        monkeypatch.setattr(room, name, few)
    monkeypatch.setattr(joint_states, "FIRST_STATES", 1)
    monkeypatch.setattr(joint_states, "KEPT", 1)
    monkeypatch.setattr(job_moves, "FIRST_MOVES", 1)
    with suppress(TooManyError):
        states = states_of(instance, 2 * expected, most=MOST if room else few)
        bound, schedule = states.search(2 * expected, lambda: True)
        assert bound <= expected  # with room enough it is proven
        assert schedule is None or check(instance, schedule) == []
        assert schedule is None or expected - 1e-9 <= cost(instance, schedule) <= 2 * expected


def test_a_search_that_ends_lets_the_next_go_further_and_one_that_does_not_keeps_it_near(
    monkeypatch,
):
    search = relaxed()
    instance, value = search.instance, search.best.value
    joint = JointSearch(search.planner.lattices, lambda: True)
    duals = search.pricing, search._relaxed.prices
    bound, schedule = joint.search(*duals, value * (1 + 1e-6), MOST)
    assert search.best.bound <= bound <= cost(instance, schedule) <= value * (1 + 1e-6)
    first, found = joint.reach, cost(instance, schedule) * (1 - 1e-8)
    assert joint.search(*duals, found, MOST) == (found, None)
    assert joint.reach >= first
    monkeypatch.setattr(joint_states, "FIRST_STATES", 1)
    last = joint.reach
    assert joint.search(*duals, found, 1) == (-np.inf, None)
    assert joint.reach < last
