"""Rounds of neighbourhoods: who is in the way, what a last job may cost, what waits and is kept."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from okita_cases import tiny

from formulations.okita import PROBLEM
from formulations.okita.check import check, cost
from formulations.okita.exact.destroy import CHOSEN, _in_the_way
from formulations.okita.exact.improve import LOOK, Neighbourhoods
from formulations.okita.exact.repair import FLAT, _but_the_last, _plan, settle
from formulations.okita.one_job import planner as construct
from formulations.okita.one_job.free_capacity import FreeCapacity
from formulations.okita.one_job.planner import Planner
from formulations.okita.one_job.terms import path_of, path_schedule
from optsched.solvers.deadline import Deadline

SEEDS = st.integers(0, 10_000)


def greedy_neighbourhoods(instance):
    """Of the schedule made slot by slot."""
    planner = Planner(instance)
    made = planner.greedy()
    paths = [path_of(instance, i, made) for i in range(instance.jobs)]
    return Neighbourhoods(planner, paths, planner.floors)


def test_what_a_relaxation_chooses_by_rounding_alone_is_not_offered():
    near = greedy_neighbourhoods(tiny(1))
    path = near.best[0]
    shares = [-1e-12, 0.0, 0.5 * CHOSEN, 2.0 * CHOSEN, 1.0]
    near.chosen = {0: [(path, share) for share in shares]}
    near._stand(near.paths)
    assert near._around.offers.share.tolist() == shares[3:]
    assert near._around.offers.begin.tolist() == [0, *(2,) * near.instance.jobs]
    assert (near._around.offers.paths.price == path.price).all()


def test_each_of_those_in_the_way_is_as_likely_to_be_taken_out():
    instance = PROBLEM.generate(np.random.default_rng(2), jobs=6, sites=3, horizon=2)
    near = greedy_neighbourhoods(instance)
    demands, paths, rng = near._around.demands, near._now.paths, np.random.default_rng(0)
    slot = int(demands.first.max())
    runs = np.array([True, True, True, True, False, False])
    paths.slots[:] = slot - demands.first + runs
    paths.workers[:], paths.server[:] = 1, 0  # also in slots after their ends: left from before
    there = {0, 1, 2, 3}
    gone = np.zeros(6, dtype=bool)
    gone[min(there)] = True
    drawn = [_in_the_way(rng, demands, paths, slot, 1, gone) for _ in range(3000)]
    assert set(drawn) == there - {min(there)}
    shares = np.bincount(drawn)[sorted(set(drawn))] / 3000
    assert shares == pytest.approx(1 / len(shares), abs=0.05)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(SEEDS)
def test_a_last_job_is_left_to_be_planned_wherever_it_may_cost_as_little(seed):
    instance = tiny(seed)
    near = greedy_neighbourhoods(instance)
    around, now, then, jobs = near._around, near._now, near._then, near._jobs
    for i in range(instance.jobs):
        room = FreeCapacity(instance, now.left.copy())
        room.hold(i, near.best[i], -1)
        then.left[:] = room.between(1, len(then.left))
        best = near.planner.optimum(i, room).price
        last = np.array([i])
        more = best + 1e-6 * best
        assert _but_the_last(near._rng, around, jobs, last, now, then, more) == more
        floor = near.floors[i] - 1e-6 * near.floors[i]
        assert _but_the_last(near._rng, around, jobs, last, now, then, floor) == -np.inf
        assert (then.left == room.between(1, len(then.left))).all()


def test_a_job_that_finds_no_room_waits_for_it():
    waited = 0
    for seed in range(40):
        instance = tiny(seed)
        near = greedy_neighbourhoods(instance)
        around, now, then = near._around, near._now, near._then
        for i in range(instance.jobs):
            first, needed = int(around.demands.first[i]), int(around.needed[i])
            if first + 2 * needed > len(then.left):
                continue
            then.left[:] = instance.capacity
            then.left[first : first + needed] = 0
            price = _plan(around, near._jobs, i, now, then, 0.0)
            if price < np.inf:
                waited += 1
                path = then.paths.one(i)
                assert (path.server[:needed] < 0).all()
                assert not path.workers[:needed].any()
                alone = instance.select_jobs([i])
                assert check(alone, path_schedule(alone, 0, path)) == []
                assert cost(alone, path_schedule(alone, 0, path)) == pytest.approx(price)
    assert waited > 20


@pytest.mark.parametrize(("more", "moves"), [(0.5 * FLAT, False), (2.0 * FLAT, True)])
def test_a_cost_stays_where_the_difference_is_rounding(more, moves):
    near = greedy_neighbourhoods(tiny(1))
    now, then = near._now, near._then
    then.left[:] = now.left
    then.paths.price[0] += more * near.cost
    after = settle(now, then, np.array([0]), near.cost)
    assert (after != near.cost) == moves
    assert after == pytest.approx(near.cost)


def test_what_ends_after_all_slots_laid_out_is_not_kept():
    near = greedy_neighbourhoods(tiny(1))
    before, cost_before = near.paths, near.cost
    path = before[0]
    slots = len(near._then.left)
    late = SimpleNamespace(last=slots, price=0.0)
    near.planner = SimpleNamespace(cheaper=lambda *of: late, instance=near.instance)
    near._out[0] = 0
    near._then.left[:] = near._now.left
    near._finish(0, 1, 1, path.price, Deadline(None))
    assert near.cost == cost_before
    assert [one.price for one in near.paths] == [one.price for one in before]


@pytest.mark.parametrize(("each", "most"), [(LOOK / 10, 10), (LOOK / 2, 2), (3 * LOOK, 1)])
def test_the_clock_is_looked_at_as_often_whatever_a_round_takes(each, most):
    near, asked = greedy_neighbourhoods(tiny(1)), []
    clock = SimpleNamespace(seconds=None, spent=0.0, over=lambda: False)

    def rounds(warmth, count, clock):
        asked.append(count)
        clock.spent += count * each * (1 + 1e-9)
        return count

    near._rounds = rounds
    near.search(clock, 100)
    assert asked[0] == 1
    assert sum(asked) == 100
    assert all(most - 1 <= count <= most for count in asked[1:-1])


@settings(max_examples=10, deadline=None, derandomize=True)
@given(SEEDS)
def test_jobs_that_are_planned_by_servers_are_kept_only_if_they_cost_less_together(seed):
    instance = tiny(seed, jobs=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(construct, "LARGEST_LATTICES", 0)
        patch.setattr(construct, "FEW_SITES", 0)
        near = greedy_neighbourhoods(instance)
        before = near.cost
        for _ in range(30):
            near._rounds(0.0, 1, Deadline(None))
            assert near.cost <= before * (1 + 2 * FLAT)
            before = near.cost
            assert near.cost == pytest.approx(sum(path.price for path in near.paths))
    parts = [path_schedule(instance, i, path) for i, path in enumerate(near.paths)]
    assert check(instance, type(parts[0]).merged(parts)) == []
