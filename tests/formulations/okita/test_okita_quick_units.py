"""Jobs planned quickly: against planning by units, exact search and listing."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from okita_cases import drawn_prices, tiny

from formulations.okita import PROBLEM, construct, neighbourhoods
from formulations.okita.by_units import ByUnits
from formulations.okita.check import check
from formulations.okita.construct import Planner
from formulations.okita.free_capacity import FreeCapacity
from formulations.okita.job_prices import free_terms, priced_terms
from formulations.okita.lattice import Levels, build_lattice
from formulations.okita.neighbourhoods import Neighbourhoods
from formulations.okita.one_job import cheapest_paths, path_cost, path_schedule
from formulations.okita.quick_units import QUICK_STEPS, QuickUnits
from formulations.okita.windows import least_slots, slots_needed
from optsched.clock import Clock

SEEDS = st.integers(0, 10_000)


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
    planner, room = crowded(instance, rng)
    for i in range(instance.jobs):
        first, slots = int(instance.release_slot[i]), int(slots_needed(instance)[i]) + room.end
        prices = drawn_prices(instance, rng, first + 3)
        paid = float(rng.choice([0.25, 0.5, 1.0, 2.0]))  # exact: what ties is not to hang on it
        left = room.between(first, slots).copy()
        left[rng.random(left.shape[:2]) < 0.3] = instance.ps_demand[i]  # just enough for a server
        quick = QuickUnits(planner.searches[i]).beside(left, slots, prices.of_jobs[i], paid)
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
        charges = prices.of_jobs[i], (np.zeros((0, instance.sites)),) * 2
        free = [QuickUnits(ByUnits(instance, i)).beside(left, slots, one, 0.0) for one in charges]
        assert len({None if path is None else path.price for path in free}) == 1
        assert (quick is None) == (not expected)
        if quick is not None:
            assert quick.price == pytest.approx(path_cost(instance, i, expected[0]))
            assert np.array_equal(quick.workers, expected[0].workers)
            assert np.array_equal(quick.server, expected[0].server)
            assert np.array_equal(quick.flow, expected[0].flow)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(SEEDS)
def test_no_schedule_within_some_slots_costs_less_than_its_quick_bound(seed):
    instance, rng = tiny(seed), np.random.default_rng(seed)
    _, room = crowded(instance, rng)
    for i in range(instance.jobs):
        left = room.between(int(instance.release_slot[i]), int(rng.integers(1, 9)))
        bound = QuickUnits(ByUnits(instance, i)).bound(left)
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
            quick = planner.quickly(i, room, int(rng.integers(1, 9)), prices, paid)
            assert planner.optimum(i, room).price <= quick.price + 1e-9
            assert room.lacking(i, quick) is None
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


def test_jobs_pay_a_part_of_the_prices_or_none():
    instance = PROBLEM.generate(np.random.default_rng(2), jobs=6, sites=3, horizon=2)
    planner, asked = Planner(instance), set()

    def quickly(i, room, slots, prices, paid):
        asked.add((prices is near.prices, paid))
        return planner.quickly(i, room, slots, prices, paid)

    near = Neighbourhoods(planner, [own for own, _ in planner.alone], planner.floors)
    near.prices = drawn_prices(instance, np.random.default_rng(2), 9)
    near.planner = SimpleNamespace(
        quickly=quickly, cheaper=planner.cheaper, beyond=False, instance=instance
    )
    near.search(Clock(None), 40)
    assert asked == {(paid > 0.0, paid) for paid in neighbourhoods.PAID}


def test_planning_quickly_pays_no_prices_where_jobs_are_planned_by_servers(monkeypatch):
    instance = PROBLEM.generate(np.random.default_rng(2), jobs=4, sites=3, horizon=2)
    monkeypatch.setattr(construct, "LARGEST_LATTICES", 0)
    monkeypatch.setattr(construct, "FEW_SITES", 0)
    planner, prices = Planner(instance), drawn_prices(instance, np.random.default_rng(2), 9)
    assert planner.beyond
    for i in range(4):
        room = FreeCapacity(instance)
        dear = planner.quickly(i, room, 1, prices, 1e6)
        assert dear.price == planner.optimum(i, room).price


def test_slots_become_more_until_a_schedule_is_found():
    """Of most jobs that one slot is too short for: the search is quick, and may find none."""
    asked = found = 0
    for instance in map(tiny, range(60)):
        nothing, needed = np.zeros((0, instance.sites)), slots_needed(instance)
        for i in np.flatnonzero(least_slots(instance) > 1).tolist():
            left = np.repeat(instance.capacity[None], int(needed[i]), axis=0)
            quick = QuickUnits(ByUnits(instance, i)).beside(left, 1, (nothing, nothing), 0.0)
            asked, found = asked + 1, found + (quick is not None)
    assert 2 * found > asked > 0
