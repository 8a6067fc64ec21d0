"""Pricing by units of work, neighbourhoods: against exact search and listing."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from okita_cases import drawn_prices, fits, quickly, random_terms, tiny

from formulations.okita import PROBLEM
from formulations.okita.check import check, cost
from formulations.okita.exact import improve as neighbourhoods
from formulations.okita.exact.destroy import led, take_offer, taken_out
from formulations.okita.exact.improve import GUIDED, Neighbourhoods
from formulations.okita.horizon import last_slot, slots_needed
from formulations.okita.one_job import planner as construct
from formulations.okita.one_job.by_servers import cheapest_by_servers
from formulations.okita.one_job.free_capacity import FreeCapacity
from formulations.okita.one_job.lattice import Levels, build_lattice
from formulations.okita.one_job.planner import Planner
from formulations.okita.one_job.prices import free_terms
from formulations.okita.one_job.terms import cheapest_paths, path_cost, path_of, path_schedule
from formulations.okita.one_job.units import ByUnits
from optsched.solvers.deadline import Deadline
from optsched.solvers.options import Options

SEEDS = st.integers(0, 10_000)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(SEEDS)
def test_the_optimum_of_one_job_lies_between_bound_and_schedule_of_its_units(seed):
    instance, rng = tiny(seed), np.random.default_rng(seed)
    for i in range(instance.jobs):
        terms = random_terms(instance, i, rng)
        exact = next(
            cheapest_paths(instance, build_lattice(instance, Levels.of(instance, i)), terms)
        )
        paths, bound = ByUnits(instance, i).cheapest(terms, steps=50)
        assert bound <= exact.price + 1e-7
        for path in paths:
            assert exact.price <= path.price + 1e-7
            alone = instance.select_jobs([i])
            assert check(alone, path_schedule(alone, 0, path)) == []


@settings(max_examples=60, deadline=None, derandomize=True)
@given(SEEDS)
def test_a_schedule_by_its_servers_is_one_and_costs_what_it_says(seed):
    instance = tiny(seed)
    for i in range(instance.jobs):
        terms = free_terms(instance, i, int(slots_needed(instance)[i]))
        path = cheapest_by_servers(instance, i, terms)
        exact = next(
            cheapest_paths(instance, build_lattice(instance, Levels.of(instance, i)), terms)
        )
        assert path is not None
        alone = instance.select_jobs([i])
        schedule = path_schedule(alone, 0, path)
        assert check(alone, schedule) == []
        assert cost(alone, schedule) == pytest.approx(path.price)
        assert exact.price <= path.price + 1e-7


def test_schedules_by_servers_are_within_a_fifth_of_the_optimum_at_the_papers_ranges():
    instance = PROBLEM.generate(np.random.default_rng(0), jobs=6, sites=4, horizon=3)
    for i in range(instance.jobs):
        terms = free_terms(instance, i, 8)
        exact = next(
            cheapest_paths(instance, build_lattice(instance, Levels.of(instance, i)), terms)
        ).price
        path = cheapest_by_servers(instance, i, terms)
        assert path is not None
        assert path.price <= 1.2 * exact


def test_the_bound_by_units_is_within_two_per_cent_at_the_papers_ranges_the_schedule_within_ten():
    instance = PROBLEM.generate(np.random.default_rng(0), jobs=6, sites=4, horizon=3)
    for i in range(instance.jobs):
        terms = free_terms(instance, i, 8)
        exact = next(
            cheapest_paths(instance, build_lattice(instance, Levels.of(instance, i)), terms)
        ).price
        paths, bound = ByUnits(instance, i).cheapest(terms, steps=100)
        assert 0.98 * exact <= bound <= exact + 1e-6
        assert paths[0].price <= 1.1 * exact


@settings(max_examples=8, deadline=None, derandomize=True)
@given(SEEDS)
@pytest.mark.parametrize("few", [0, construct.FEW_SITES])
def test_without_lattices_bound_and_schedule_still_hold_the_optimum_between_them(few, seed):
    instance = tiny(seed, sites=2, most_chunks=2)
    start = Planner(instance).best_insertion()  # where there is no machine code yet, it is this
    limit = Options(time_limit=0.3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(construct, "LARGEST_LATTICE", 0)
        patch.setattr(construct, "LARGEST_LATTICES", 0)
        patch.setattr(construct, "FEW_SITES", few)
        answer = PROBLEM.solve("problem_2_columns", instance, start=start, options=limit)
    exact = PROBLEM.solve("problem_2_columns", instance).solution.objective
    assert answer.solution.bound <= exact + 1e-7
    assert exact <= answer.solution.objective + 1e-7
    assert check(instance, answer.schedule) == []


def half_chosen(instance):
    """Of each job half of its best schedule alone, and half of one beside the others."""
    planner = Planner(instance)
    made = planner.greedy()
    return {
        i: [(path, 0.5), (path_of(instance, i, made), 0.5)]
        for i, (path, _) in enumerate(planner.alone)
    }


@pytest.mark.parametrize("guided", [False, True])
@pytest.mark.parametrize("priced", [False, True])
@pytest.mark.parametrize("warmth", [0.0, 0.02, 10.0])
def test_neighbourhoods_never_make_a_schedule_dearer(monkeypatch, priced, warmth, guided):
    instance = PROBLEM.generate(np.random.default_rng(2), jobs=6, sites=3, horizon=2)
    monkeypatch.setattr(neighbourhoods, "WARMTH", warmth)
    planner = Planner(instance)
    made = planner.insert(range(6))
    near = Neighbourhoods(planner, [path_of(instance, i, made) for i in range(6)], planner.floors)
    if priced:
        near.prices = drawn_prices(instance, np.random.default_rng(0), 3)
    if guided:
        near.chosen = half_chosen(instance)
    before = near.best_cost
    near.search(Deadline(None), 40)
    assert check(instance, near.schedule) == []
    assert near.best_cost <= before + 1e-9
    assert near.best_cost <= near.cost + 1e-9
    assert cost(instance, near.schedule) == pytest.approx(near.best_cost)
    assert near.cost == pytest.approx(sum(path.price for path in near.paths))
    if not warmth:
        assert near.cost == near.best_cost


@settings(max_examples=20, deadline=None, derandomize=True)
@given(SEEDS)
def test_jobs_that_may_follow_an_optimum_come_to_cost_no_more(seed):
    instance = tiny(seed, jobs=4)
    best = PROBLEM.solve("problem_2_columns", instance).schedule
    planner = Planner(instance)
    made = planner.greedy()
    near = Neighbourhoods(planner, [path_of(instance, i, made) for i in range(4)], planner.floors)
    near.chosen = {i: [(path_of(instance, i, best), 1.0)] for i in range(4)}
    near.search(Deadline(None), 200)
    assert near.best_cost == pytest.approx(cost(instance, best))


def test_jobs_take_what_a_relaxation_chooses_as_often_as_it_does_and_only_what_fits():
    instance = PROBLEM.generate(np.random.default_rng(2), jobs=6, sites=3, horizon=2)
    planner = Planner(instance)
    made = planner.insert(range(6))
    paths = [path_of(instance, i, made) for i in range(6)]
    other = replace(paths[0], price=paths[0].price + 1.0)
    near = Neighbourhoods(planner, paths, planner.floors)
    near.chosen = {0: [(paths[0], 0.8), (other, 0.2)]}
    near._stand(paths)
    demands, offers, now, then = near._around.demands, near._around.offers, near._now, near._then
    took, prices, out = [], [], np.zeros(6, dtype=np.int64)
    for _ in range(6000):
        rest, count, spare = taken_out(near._rng, demands, offers, now, then, GUIDED, out)
        planned, taken = set(out[:rest].tolist()), set(out[rest:count].tolist())
        assert len(planned | taken) == count
        assert spare == pytest.approx(
            sum(paths[i].price for i in planned | taken) - then.paths.price[list(taken)].sum()
        )
        if count > 1 and 0 in planned | taken:  # else a job leads, in whose way is none
            took.append(0 in taken)
            assert taken <= {0}
            prices.extend(then.paths.price[0] for _ in taken)
    assert np.mean(took) == pytest.approx(0.5, abs=0.05)
    assert np.mean(np.isclose(prices, paths[0].price)) == pytest.approx(0.8, abs=0.05)
    then.left[:] = 0
    assert not any(take_offer(near._rng, demands, offers, then, i) for i in [*range(6)] * 20)
    assert not then.left.any()


@settings(max_examples=20, deadline=None, derandomize=True)
@given(SEEDS)
def test_a_job_that_leads_takes_its_schedule_and_nobody_leaves_who_is_not_in_its_way(seed):
    instance = tiny(seed, jobs=4)
    planner = Planner(instance)
    made = planner.insert([3, 2, 1, 0])
    near = Neighbourhoods(planner, [path_of(instance, i, made) for i in range(4)], planner.floors)
    near.chosen = {i: [(path, 1.0)] for i, (path, _) in enumerate(planner.alone)}
    near._stand(near.paths)
    rng, slots = np.random.default_rng(seed), last_slot(instance, "safe")
    around, now, then = near._around, near._now, near._then
    for _ in range(10):
        then.left[:] = now.left
        places = np.zeros(4, dtype=np.int64)
        count = led(rng, around.demands, around.offers, now, then, places)
        out = places[:count].tolist()
        lead, path = out[0], planner.alone[out[0]][0]
        held, used = then.paths.one(lead), path.last + 1
        assert held.price == path.price
        assert np.array_equal(held.workers, path.workers[:used])
        assert np.array_equal(held.server, path.server[:used])
        assert np.array_equal(held.flow, path.flow)
        assert len(set(out)) == len(out)
        expected = FreeCapacity(instance, now.left.copy())
        for i in out:
            expected.hold(i, near.paths[i], -1)
        assert fits(expected, lead, path)
        expected.hold(lead, path)
        room = FreeCapacity(instance, then.left.copy())
        assert (room.between(1, slots) == expected.between(1, slots)).all()
        alone = FreeCapacity(instance)
        alone.hold(lead, path)
        theirs = instance.capacity - alone.between(1, slots)
        for i in set(out) - {lead}:
            own = FreeCapacity(instance)
            own.hold(i, near.paths[i])
            both = (instance.capacity - own.between(1, slots) > 0) & (theirs > 0)
            assert both.any(axis=2).any()


@pytest.mark.parametrize(("more", "kept"), [(-1e-3, True), (1e-3, False)])
def test_what_all_jobs_take_is_kept_if_it_is_just_cheaper_and_not_if_just_dearer(
    monkeypatch, more, kept
):
    instance = PROBLEM.generate(np.random.default_rng(2), jobs=6, sites=3, horizon=2)
    planner = Planner(instance)
    made = planner.greedy()
    paths = [path_of(instance, i, made) for i in range(6)]
    near = Neighbourhoods(planner, paths, planner.floors)
    dearer = [replace(own, price=own.price + more) for own in paths]
    near.chosen = {i: [(path, 1.0)] for i, path in enumerate(dearer)}
    monkeypatch.setattr(neighbourhoods, "GUIDED", 1.0)
    before = near.cost
    near._rounds(0.0, 1, Deadline(None))
    assert near.cost < before if kept else near.cost == before
    assert near.cost == pytest.approx(sum(path.price for path in near.paths))


def test_only_what_is_kept_is_told_to_the_columns(monkeypatch):
    instance = PROBLEM.generate(np.random.default_rng(2), jobs=6, sites=3, horizon=2)
    planner, asked = Planner(instance), []
    made = planner.greedy()
    near = Neighbourhoods(planner, [path_of(instance, i, made) for i in range(6)], planner.floors)
    before = list(near.planned)
    near.chosen = half_chosen(instance)
    monkeypatch.setattr(Planner, "cheaper", lambda *of: asked.append(of))
    near.search(Deadline(None), 60)
    assert asked
    assert near.planned == before  # whoever was planned was planned in vain
    monkeypatch.undo()
    near.search(Deadline(None), 60)
    more = near.planned[len(before) :]
    assert more
    for i, path in more:
        assert path.price == pytest.approx(path_cost(instance, i, path))


def test_neighbourhoods_make_nothing_where_there_is_no_time():
    instance = PROBLEM.generate(np.random.default_rng(2), jobs=6, sites=3, horizon=2)
    planner = Planner(instance)
    made = planner.insert(range(6))
    near = Neighbourhoods(planner, [path_of(instance, i, made) for i in range(6)], planner.floors)
    near.search(Deadline(0.0), 40)
    assert near.best_cost == pytest.approx(cost(instance, made))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(SEEDS)
def test_prices_of_sites_are_paid_where_they_stand_and_are_not_part_of_what_a_job_costs(seed):
    instance, rng = tiny(seed), np.random.default_rng(seed)
    planner = Planner(instance)
    for i in range(instance.jobs):
        first = int(instance.release_slot[i]) - 1
        prices = drawn_prices(instance, rng, int(rng.integers(0, first + 4)))
        path = quickly(planner, i, FreeCapacity(instance), 1, prices, 1.0)
        path = planner.alone[i][0] if path is None else path
        assert path.price == pytest.approx(path_cost(instance, i, path))
        slots = len(path.server)
        charged = prices.charged(i, free_terms(instance, i, slots))
        free = free_terms(instance, i, slots)
        known = np.zeros((slots, prices.price.shape[1]))
        known[: len(prices.price[first : first + slots])] = prices.price[first : first + slots]
        by_site = known.reshape(slots, instance.sites, -1)
        worker, server = by_site @ instance.worker_demand[i], by_site @ instance.ps_demand[i]
        assert charged.worker_price - free.worker_price == pytest.approx(
            np.broadcast_to(worker[:, None, :], free.worker_price.shape)
        )
        runs = np.isfinite(free.server_price)
        assert (charged.server_price - server)[runs] == pytest.approx(free.server_price[runs])
        alone = planner.optimum(i, None)
        assert alone.price <= path.price + 1e-9
        assert planner.optimum(i, None, slots=7).price == pytest.approx(alone.price)


def test_a_part_of_a_schedule_read_back_is_the_schedule_it_was():
    instance = PROBLEM.generate(np.random.default_rng(2), jobs=4, sites=3, horizon=2)
    for i, (path, _) in enumerate(Planner(instance).alone):
        again = path_of(instance, i, path_schedule(instance, i, path))
        assert again.price == pytest.approx(path_cost(instance, i, path))
        assert np.array_equal(again.workers, path.workers[: len(again.workers)])
        assert np.array_equal(again.flow, path.flow)


def test_a_lattice_too_large_to_be_searched_at_every_turn_still_finds_the_optimum(monkeypatch):
    instance = PROBLEM.generate(np.random.default_rng(2), jobs=4, sites=3, horizon=2)
    quick = [path.price for path, _ in Planner(instance).alone]
    monkeypatch.setattr(construct, "LARGEST_LATTICE", 1)
    assert [path.price for path, _ in Planner(instance).alone] == pytest.approx(quick)
    monkeypatch.setattr(construct, "LARGEST_LATTICES", 1)
    assert Planner(instance).lattices is None
