"""Jobs planned quickly: against planning by units, exact search and listing."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from okita_cases import drawn_prices, fits, quickly, tiny

from formulations.okita import PROBLEM
from formulations.okita.check import check, cost
from formulations.okita.exact import improve as neighbourhoods
from formulations.okita.exact import repair as rounds
from formulations.okita.exact.improve import Neighbourhoods
from formulations.okita.exact.quick_units import (
    QUICK_STEPS,
    QuickJobs,
    Rent,
    planned_quickly,
    quick_bound,
)
from formulations.okita.horizon import least_slots, slots_needed
from formulations.okita.one_job import planner as construct
from formulations.okita.one_job.free_capacity import FreeCapacity
from formulations.okita.one_job.lattice import Levels, build_lattice
from formulations.okita.one_job.planner import Planner
from formulations.okita.one_job.prices import free_terms, priced_terms
from formulations.okita.one_job.terms import cheapest_paths, path_cost, path_of, path_schedule
from formulations.okita.one_job.units import ByUnits
from optsched.solvers.deadline import Deadline

SEEDS = st.integers(0, 10_000)


def fresh(instance):
    """Its jobs, at the prices of chunks that searches begin with."""
    return QuickJobs.of([ByUnits(instance, i) for i in range(instance.jobs)])


def crowded(instance, rng):
    """What is left where some jobs, planned one after the other, hold what they need."""
    planner, room = Planner(instance), FreeCapacity(instance)
    for i in rng.permutation(instance.jobs)[: instance.jobs // 2]:
        room.hold(int(i), planner.optimum(int(i), room))
    return planner, room


@settings(max_examples=40, deadline=None, derandomize=True)
@given(SEEDS)
def test_planning_quickly_is_planning_by_units_on_the_same_terms(seed):
    """At one price of a chunk per site."""
    instance, rng = tiny(seed), np.random.default_rng(seed)
    _, room = crowded(instance, rng)
    for i in range(instance.jobs):
        first, slots = int(instance.release_slot[i]), int(slots_needed(instance)[i]) + room.end
        prices = drawn_prices(instance, rng, first + 3)
        paid = float(rng.choice([0.25, 0.5, 1.0, 2.0]))  # exact: what ties is not to hang on it
        left = room.between(first, slots).copy()
        left[rng.random(left.shape[:2]) < 0.3] = instance.ps_demand[i]  # just enough for a server
        latency = instance.latency.of_slots(i, slots)
        nothing = (np.zeros((0, instance.sites)),) * 2
        quick, free, none = (
            planned_quickly(fresh(instance), i, left, latency, Rent(*charges, part), slots)
            for charges, part in [
                (prices.of_jobs[i], paid),
                (prices.of_jobs[i], 0.0),
                (nothing, 0.0),
            ]
        )
        search = ByUnits(instance, i)
        search.alpha = search.alpha.mean(axis=0, keepdims=True)
        known = [one[:slots] for one in prices.of_jobs[i]]
        padded = (paid * np.pad(one, ((0, slots - len(one)), (0, 0))) for one in known)
        terms = priced_terms(free_terms(instance, i, slots, left), *padded, 1.0)
        part = replace(prices, price=paid * prices.price)
        charged = part.charged(i, free_terms(instance, i, slots, left))
        assert terms.worker_price == pytest.approx(charged.worker_price)
        assert terms.server_price == pytest.approx(charged.server_price)
        expected = search.cheapest(terms, steps=QUICK_STEPS)[0]
        assert free[0] == none[0]
        assert (quick[0] == np.inf) == (not expected)
        if expected:
            assert quick[0] == pytest.approx(path_cost(instance, i, expected[0]))
            assert np.array_equal(quick[1], expected[0].workers)
            assert np.array_equal(quick[2], expected[0].server)
            assert np.array_equal(quick[3], expected[0].flow)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(SEEDS)
def test_no_schedule_within_some_slots_costs_less_than_its_quick_bound(seed):
    instance, rng = tiny(seed), np.random.default_rng(seed)
    _, room = crowded(instance, rng)
    for i in range(instance.jobs):
        left = room.between(int(instance.release_slot[i]), int(rng.integers(1, 9)))
        latency = instance.latency.of_slots(i, len(left))
        bound = quick_bound(fresh(instance), i, left, latency)
        lattice = build_lattice(instance, Levels.of(instance, i))
        terms = free_terms(instance, i, len(left), left)
        assert bound == pytest.approx(ByUnits(instance, i).cheapest(terms)[1])
        for path in cheapest_paths(instance, lattice, terms):
            assert bound <= path.price + 1e-7


@settings(max_examples=40, deadline=None, derandomize=True)
@given(SEEDS)
def test_planning_quickly_finds_a_schedule_that_fits_and_is_no_better_than_the_best(seed):
    instance, rng = tiny(seed), np.random.default_rng(seed)
    planner, room = crowded(instance, rng)
    for i in range(instance.jobs):
        paid = float(rng.uniform(0.0, 2.0))
        for prices in (None, drawn_prices(instance, rng, 5)):
            quick = quickly(planner, i, room, int(rng.integers(1, 9)), prices, paid)
            if quick is None:
                continue
            assert planner.optimum(i, room).price <= quick.price + 1e-9
            assert fits(room, i, quick)
            alone = instance.select_jobs([i])
            assert check(alone, path_schedule(alone, 0, quick)) == []


@settings(max_examples=40, deadline=None, derandomize=True)
@given(SEEDS)
def test_a_schedule_is_cheaper_than_a_little_more_than_the_optimum_and_than_no_less(seed):
    instance = tiny(seed)
    planner, room = crowded(instance, np.random.default_rng(seed))
    for i in range(instance.jobs):
        best = planner.optimum(i, room).price
        found = planner.cheaper(i, room, best + 1e-6 * best)
        assert found is not None
        assert found.price == pytest.approx(best)
        assert planner.cheaper(i, room, best - 1e-6 * best) is None


def test_jobs_pay_a_part_of_the_prices_or_none(monkeypatch):
    instance = PROBLEM.generate(np.random.default_rng(2), jobs=6, sites=3, horizon=2)
    planner, asked, known = Planner(instance), set(), set()
    plan, quickly_but_one = rounds._plan, rounds._but_the_last

    def noted(around, jobs, i, now, then, paid):
        asked.add(paid)
        known.add(around.worker_rent.any(axis=(1, 2)).all())
        return plan(around, jobs, i, now, then, paid)

    monkeypatch.setattr(rounds, "_plan", noted)
    monkeypatch.setattr(rounds, "_but_the_last", quickly_but_one.py_func)
    monkeypatch.setattr(neighbourhoods, "rounds", rounds.rounds.py_func)
    near = Neighbourhoods(planner, [own for own, _ in planner.alone], planner.floors)
    near.prices = drawn_prices(instance, np.random.default_rng(2), 9)
    near.search(Deadline(None), 40)
    assert asked == set(rounds.PAID)
    assert known == {True}
    for i, (worker, server) in enumerate(near.prices.of_jobs):
        assert near._around.worker_rent[i, : len(worker)] == pytest.approx(worker)
        assert near._around.server_rent[i, : len(server)] == pytest.approx(server)
        assert not near._around.worker_rent[i, len(worker) :].any()
        assert not near._around.server_rent[i, len(server) :].any()


def test_jobs_that_are_planned_by_servers_pay_no_prices(monkeypatch):
    instance = PROBLEM.generate(np.random.default_rng(2), jobs=4, sites=3, horizon=2)
    monkeypatch.setattr(construct, "LARGEST_LATTICES", 0)
    monkeypatch.setattr(construct, "FEW_SITES", 0)
    planner, prices = Planner(instance), drawn_prices(instance, np.random.default_rng(2), 9)
    assert planner.beyond
    made, ends = planner.greedy(), []
    for known in (None, prices):
        paths = [path_of(instance, i, made) for i in range(4)]
        near = Neighbourhoods(planner, paths, planner.floors)
        near.prices = known
        near.search(Deadline(None), 20)
        ends.append((near.best_cost, [path.server.tolist() for path in near.best]))
    assert ends[0] == ends[1]
    assert ends[0][0] < cost(instance, made)


def test_slots_become_more_until_a_schedule_is_found():
    """Of most jobs that one slot is too short for: the search is quick, and may find none."""
    asked = found = 0
    for instance in map(tiny, range(60)):
        planner = Planner(instance)
        for i in np.flatnonzero(least_slots(instance) > 1).tolist():
            quick = quickly(planner, i, FreeCapacity(instance), 1)
            asked, found = asked + 1, found + (quick is not None)
    assert 2 * found > asked > 0
