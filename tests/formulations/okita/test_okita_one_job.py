"""One job: its lattice, units of work and greedy schedules, and jobs inserted one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from okita_cases import listed_optimum, random_terms, tiny

from formulations.okita import PROBLEM
from formulations.okita.check import check, cost
from formulations.okita.horizon import affordable, flow_cut_off
from formulations.okita.one_job import planner as planning
from formulations.okita.one_job.greedy import in_turn
from formulations.okita.one_job.labels import cheapest_by_labels
from formulations.okita.one_job.lattice import Levels, build_lattice, cheapest_paths, lattice_points
from formulations.okita.one_job.paths import (
    FreeCapacity,
    free_terms,
    path_cost,
    path_of,
    path_schedule,
)
from formulations.okita.one_job.planner import Planner
from formulations.okita.one_job.units import ByUnits

SEEDS = st.integers(0, 10_000)


@pytest.mark.parametrize("seed", range(8))
def test_the_lattice_finds_the_optimum_that_listing_finds(seed):
    instance = tiny(seed, jobs=1, sites=2, most_chunks=2)
    slots = 3 - int(instance.release_slot[0]) + 1
    lattice = build_lattice(instance, Levels.of(instance, 0))
    path = next(cheapest_paths(instance, lattice, free_terms(instance, 0, slots)), None)
    found = np.inf if path is None else path.price
    assert found == pytest.approx(listed_optimum(instance, 3))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(SEEDS)
def test_a_limit_just_above_the_optimum_finds_it_and_one_just_below_finds_none_as_cheap(seed):
    instance, rng = tiny(seed), np.random.default_rng(seed)
    lattice, terms = build_lattice(instance, Levels.of(instance, 0)), random_terms(instance, 0, rng)
    price = next(cheapest_paths(instance, lattice, terms)).price
    above, below = price * (1 + 1e-6) + 1e-6, price * (1 - 1e-6) - 1e-6
    found = next(cheapest_paths(instance, lattice, terms, below=above))
    assert found.price == pytest.approx(price)
    none = next(cheapest_paths(instance, lattice, terms, below=below), None)
    assert none is None or none.price > below


def test_without_a_lattice_units_of_work_bound_a_job_from_both_sides(monkeypatch):
    instance = PROBLEM.generate(np.random.default_rng(2), jobs=4, sites=3, horizon=2)
    exact = [path.price for path, _ in Planner(instance).alone]
    monkeypatch.setattr(planning, "LARGEST_LATTICE", 1)
    planner = Planner(instance)
    assert not any(planner.lattices)
    for (path, bound), price in zip(planner.alone, exact, strict=True):
        assert bound <= price * (1 + 1e-9) <= path.price * (1 + 2e-9)


def test_all_lattices_are_built_if_they_have_few_points_together(monkeypatch):
    instance = PROBLEM.generate(np.random.default_rng(2), jobs=4, sites=3, horizon=2)
    points = [lattice_points(Levels.of(instance, i)) for i in range(instance.jobs)]
    largest, together = min(points), sum(points)
    assert largest < max(points)
    monkeypatch.setattr(planning, "LARGEST_LATTICE", largest)
    monkeypatch.setattr(planning, "TOGETHER", together / largest)
    assert all(Planner(instance).lattices)
    monkeypatch.setattr(planning, "TOGETHER", (together - 1) / largest)
    built = [lattice is not None for lattice in Planner(instance).lattices]
    assert built == [own <= largest for own in points]


def test_a_schedule_is_held_only_if_sites_have_as_much():
    instance = tiny(3, jobs=2)
    path, room = Planner(instance).optimum(0, None), FreeCapacity(instance)
    while room.hold_if_fits(0, path):
        pass
    assert room.between(1, room.end).min() >= 0
    before = room.copy()
    assert not room.hold_if_fits(0, path)
    assert (before.between(1, room.end) == room.between(1, room.end)).all()


@settings(max_examples=40, deadline=None, derandomize=True)
@given(SEEDS)
def test_the_optimum_of_one_job_lies_between_bound_and_schedule_of_its_units(seed):
    instance, rng = tiny(seed), np.random.default_rng(seed)
    for i in range(instance.jobs):
        terms = random_terms(instance, i, rng)
        exact = next(
            cheapest_paths(instance, build_lattice(instance, Levels.of(instance, i)), terms)
        )
        for by_server in (False, True):
            paths, bound = ByUnits(instance, i, by_server).cheapest(terms, steps=50)
            assert bound <= exact.price + 1e-7
            for path in paths:
                assert exact.price <= path.price + 1e-7
                alone = instance.select_jobs([i])
                assert check(alone, path_schedule(alone, 0, path)) == []


@settings(max_examples=20, deadline=None, derandomize=True)
@given(SEEDS)
def test_labels_find_the_optimum_of_one_job_and_prove_it(seed):
    instance, rng = tiny(seed), np.random.default_rng(seed)
    for i in range(instance.jobs):
        terms, lattice = (
            random_terms(instance, i, rng),
            build_lattice(instance, Levels.of(instance, i)),
        )
        price = next(cheapest_paths(instance, lattice, terms)).price
        for by_server, share in ((False, np.inf), (True, np.inf), (True, 1.01), (True, 0.9)):
            below = share * max(price, 1.0)
            paths, bound = cheapest_by_labels(ByUnits(instance, i, by_server), terms, below)
            assert min(below, price) - 1e-6 <= bound <= price + 1e-6
            if below > price:
                assert paths[0].price == pytest.approx(price)
                alone = instance.select_jobs([i])
                assert check(alone, path_schedule(alone, 0, paths[0])) == []
            else:
                assert paths == []


def test_with_too_few_labels_the_optimum_lies_between_bound_and_schedules(monkeypatch):
    monkeypatch.setattr("formulations.okita.one_job.labels.MOST_LABELS", (4, 8))
    dropped = 0
    for seed in range(20):
        instance, rng = tiny(seed), np.random.default_rng(seed)
        for i in range(instance.jobs):
            terms = random_terms(instance, i, rng)
            lattice = build_lattice(instance, Levels.of(instance, i))
            price = next(cheapest_paths(instance, lattice, terms)).price
            paths, bound = cheapest_by_labels(ByUnits(instance, i, True), terms, 2 * price + 1)
            assert bound <= price + 1e-6
            assert all(path.price >= price - 1e-6 for path in paths)
            dropped += bound < price - 1e-6
    assert dropped > 0


def test_the_bound_by_units_is_within_five_per_cent_at_the_papers_ranges():
    instance = PROBLEM.generate(np.random.default_rng(0), jobs=6, sites=4, horizon=3)
    for i in range(instance.jobs):
        terms = free_terms(instance, i, 8)
        exact = next(
            cheapest_paths(instance, build_lattice(instance, Levels.of(instance, i)), terms)
        ).price
        _, bound = ByUnits(instance, i).cheapest(terms, steps=100)
        assert 0.95 * exact <= bound <= exact + 1e-6


def test_a_part_of_a_schedule_read_back_is_the_schedule_it_was():
    instance = PROBLEM.generate(np.random.default_rng(2), jobs=4, sites=3, horizon=2)
    for i, (path, _) in enumerate(Planner(instance).alone):
        again = path_of(instance, i, path_schedule(instance, i, path))
        assert again.price == pytest.approx(path_cost(instance, i, path))
        assert np.array_equal(again.workers, path.workers[: len(again.workers)])
        assert np.array_equal(again.flow, path.flow)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(SEEDS)
def test_a_deployment_reaches_an_end_of_the_lattice_or_does_not(seed):
    instance, rng = tiny(seed), np.random.default_rng(seed)
    for i in range(instance.jobs):
        levels = Levels.of(instance, i)
        lattice = build_lattice(instance, levels)
        ends = {row.tobytes() for row in lattice.level[lattice.ends]}
        workers = rng.integers(0, 4, (3, instance.sites))
        gained = [[dict(zip(levels.option_workers, levels.option_levels, strict=True)).get(y, 0)
                   for y in row] for row in workers.tolist()]  # fmt: skip
        idle = ~np.isin(workers, np.append(0, levels.option_workers))
        level = np.array(gained).sum(axis=0)
        assert levels.reaches(workers) == (not idle.any() and level.tobytes() in ends)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_slot_by_slot_every_job_is_done_within_what_is_left(seed):
    instance = tiny(seed, jobs=4)
    assert check(instance, Planner(instance).greedy()) == []


def test_insertion_that_has_had_enough_goes_on_slot_by_slot():
    instance = PROBLEM.generate(np.random.default_rng(2), jobs=6, sites=4, horizon=2)
    order, planner = list(range(6)), Planner(instance)
    whole, none = planner.insert(order), planner.insert(order, lambda: True)
    answers = iter([False, False, True])  # not asked again
    part = planner.insert(order, lambda: next(answers))
    assert check(instance, part) == check(instance, none) == []
    same = part.worker_job < 2
    assert part.worker_slot[same].tolist() == whole.worker_slot[whole.worker_job < 2].tolist()
    assert cost(instance, none) == cost(instance, planner.greedy())


def test_what_a_schedule_holds_can_be_given_back():
    instance = tiny(3, jobs=2)
    path = Planner(instance).optimum(0, None)
    by_rows, by_path = FreeCapacity(instance), FreeCapacity(instance)
    by_rows.take(path_schedule(instance, 0, path))
    by_path.hold(0, path)
    slots = len(path.server)
    first = int(instance.release_slot[0])
    assert (by_rows.between(first, slots) == by_path.between(first, slots)).all()
    other = by_path.copy()
    other.hold(0, path, -1)
    assert (other.between(first, slots) == instance.capacity).all()
    assert by_path.end >= first > other.end == 0


@given(seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_jobs_one_after_another_are_a_schedule(seed):
    instance = tiny(seed)
    assert check(instance, in_turn(instance)) == []


def test_a_greedy_schedule_looks_at_the_clock_for_every_job_and_as_slots_become_more():
    instance = PROBLEM.generate(np.random.default_rng(6), jobs=1, sites=4, horizon=20)
    looks = Turns()
    with pytest.raises(TimeoutError):
        Planner(instance, lambda: looks() > 1).greedy()


class Turns:
    """A clock that is a second later whenever it is looked at."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


def test_a_planner_for_another_thread_knows_as_much_and_writes_elsewhere():
    planner = Planner(tiny(3, jobs=3))
    assert "alone" not in planner.apart().__dict__
    floors, other = planner.floors, planner.apart()
    assert (other.floors == floors).all()
    assert other.alone is planner.alone
    assert other.lattices is planner.lattices
    pairs = zip(planner.searches, other.searches, strict=True)
    assert not any(a is b or np.shares_memory(a.alpha, b.alpha) for a, b in pairs)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.integers(0, 12), st.floats(0.0, 50.0))
def test_the_slots_a_job_may_take_for_a_price_are_those_of_the_cut_off(seed, limit, price):
    instance = tiny(seed)
    planner, jobs = Planner(instance), instance.jobs
    most = np.full(jobs, limit - 1)
    flow = flow_cut_off(instance, np.full(jobs, price), most)
    assert [planner._reach(i, price, limit) for i in range(jobs)] == (flow + 1).tolist()


def test_a_price_that_is_met_but_for_rounding_is_affordable():
    for price in (0.0, 3.0, 1e6):
        assert price + 0.9e-9 * max(1.0, price) <= affordable(price) < price + 1e-6 * (1 + price)
