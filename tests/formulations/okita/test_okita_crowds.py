"""Far more jobs than the sites can do in time: slot by slot, the volume bound, dear latencies."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from okita_cases import fits, quickly, tiny

from formulations.okita import PROBLEM, Instance
from formulations.okita.bounds import job_bounds
from formulations.okita.check import check, completion_slots, cost
from formulations.okita.exact.destroy import (
    Demands,
    Offers,
    Standing,
    by_share,
    lacking,
    take_offer,
)
from formulations.okita.horizon import LARGEST_COEFFICIENT
from formulations.okita.latency import Latencies
from formulations.okita.one_job.free_capacity import FreeCapacity
from formulations.okita.one_job.planner import Planner
from formulations.okita.one_job.terms import path_schedule
from formulations.okita.volume import volume_bound
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

FLOORS = np.array([5.0, 5.0, 5.0])


def queue(**changed):
    """Three jobs of four worker-slots at one site of two units; f(x) = 5 + 2 x."""
    return Instance.build(
        **{
            "capacity": [2], "unit_bandwidth_cost": [[0]], "release_slot": [1, 1, 1],
            "num_chunks": [[4], [4], [4]], "worker_rate": 1, "epochs": 1, "chunk_size_mb": 1,
            "exchange_size_mb": 1, "worker_demand": 1, "ps_demand": 0,
            "latency": Latencies.build("linear", [2.0] * 3, offset=[5.0] * 3),
        } | changed
    )  # fmt: skip


def test_what_cannot_be_done_by_a_slot_is_late_by_hand():
    # 12 worker-slots, 2 a slot. By slot 5 two are missing, half a job that costs 10 more; by slot
    # 4 four: a job that costs 8 more; by slot 3 six, 1.5 times 6 more; by slot 2 two jobs, 4 each
    assert volume_bound(queue(), FLOORS) == pytest.approx(15 + 9)


def test_a_release_later_than_the_first_one_is_later_in_flow_time_too():
    late = queue(release_slot=[1, 1, 3])  # as above, but the last job costs 2 x 2 less
    assert volume_bound(late, FLOORS) == pytest.approx(15 + 2 + 0.5 * 6)


def test_a_resource_that_has_room_for_all_in_a_slot_adds_nothing():
    assert volume_bound(queue(capacity=[12]), FLOORS) == pytest.approx(15.0)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_the_volume_bound_is_never_above_the_optimum(seed):
    instance = tiny(seed)
    optimum = PROBLEM.solve("problem_2_columns", instance).solution.objective
    floors = job_bounds(instance)
    assert floors.sum() * (1 - 1e-8) <= volume_bound(instance, floors) <= optimum * (1 + 1e-9)


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


def just_enough(seed):
    """A schedule of one of two jobs, and sites with what it uses and no more."""
    instance = tiny(seed, jobs=2)
    path = Planner(instance).optimum(0, None)
    slots = int(instance.release_slot[0]) - 1 + len(path.server)
    then = Standing.of(instance, [path, path], int(instance.release_slot.max()) + slots)
    beside = FreeCapacity(instance)
    beside.hold(0, path)
    then.left[:] = instance.capacity - beside.between(1, len(then.left))
    return instance, path, then


def offered(instance, paths, then):
    """What is to be chosen of the first of two jobs."""
    return Offers.of({0: [(path, 0.3) for path in paths]}, 2, len(then.left), instance.sites)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.integers(-1, 1))
def test_a_schedule_is_held_if_the_sites_have_just_as_much_and_not_one_unit_less(seed, more):
    (instance, path, then), rng = just_enough(seed), np.random.default_rng(seed)
    used = then.left.copy()
    place = np.argwhere(used > 0)
    then.left[tuple(place[rng.integers(len(place))])] += more
    before, demands = then.left.copy(), Demands.of(instance)
    assert take_offer(rng, demands, offered(instance, [path], then), then, 0) == (more >= 0)
    assert (before - then.left == (used if more >= 0 else 0)).all()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_of_several_schedules_the_first_is_held_that_there_is_room_for(seed):
    instance = tiny(seed, jobs=2)
    planner, room = Planner(instance), FreeCapacity(instance)
    alone = planner.optimum(0, None)
    room.hold(0, alone)
    room.hold(1, planner.optimum(1, room))
    quick = quickly(planner, 0, room, 9)
    paths = [alone, planner.optimum(0, room), quick or alone]
    slots = 40 + max(len(path.server) for path in paths)
    then = Standing.of(instance, [alone, alone], slots)
    then.left[:] = room.between(1, slots)
    offers, demands = offered(instance, paths, then), Demands.of(instance)
    order = by_share(np.random.default_rng(seed), offers.share)
    assert sorted(order) == [0, 1, 2]
    found = [paths[n] for n in order if fits(room, 0, paths[n])]
    assert take_offer(np.random.default_rng(seed), demands, offers, then, 0)
    held = then.paths.one(0)
    assert held.price == found[0].price
    assert np.array_equal(held.workers, found[0].workers[: found[0].last + 1])
    room.hold(0, found[0])
    assert (room.between(1, slots) == then.left).all()


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_the_first_slot_and_site_with_too_little_is_named(seed):
    (instance, _, then), rng = just_enough(seed), np.random.default_rng(seed)
    used, demands = then.left.copy(), Demands.of(instance)
    assert lacking(then.left, demands, 0, then.paths, 0) == (-1, -1)
    place = np.argwhere(used > 0)
    short = place[np.sort(rng.choice(len(place), min(2, len(place)), replace=False))]
    then.left[tuple(short.T)] -= 1
    assert lacking(then.left, demands, 0, then.paths, 0) == tuple(short[0][:2])


def test_latencies_that_no_solver_may_see_leave_a_schedule_and_a_bound():
    grows = replace(
        queue(),
        latency=Latencies.build("exponential", [20.0] * 3, rate=4.0),
    )  # the last of three in six slots costs 20 exp(20)
    assert float(grows.latency.cost(0, 5)) > LARGEST_COEFFICIENT
    start = Planner(grows).best_insertion()  # waits for machine code, which a limit does not
    limit = Options(time_limit=0.5)
    answer = PROBLEM.solve("problem_2_columns", grows, start=start, options=limit)
    assert check(grows, answer.schedule) == []
    assert completion_slots(grows, answer.schedule).max() == 6
    assert answer.solution.status is Status.FEASIBLE
    assert "latency" in answer.solution.message
    # four worker-slots are done by slot 2; that of the last two is half of what slot 6 costs
    assert answer.solution.objective / 4 < answer.solution.bound <= answer.solution.objective
