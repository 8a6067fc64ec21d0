"""Tasks as CP-SAT's own intervals: what they occupy, and how a schedule's solve ends."""

import numpy as np
import pytest
from solver_models import with_time_for_a_point

from optsched import Model, solve
from optsched.solvers.cpsat.backend import CpSat
from optsched.solvers.cpsat.integer import integer_model
from optsched.solvers.cpsat.proto import build
from optsched.solvers.solution import Status


def two_tasks(length: float) -> Model:
    """A task of three slots from 0 on, and one within it, on a machine for one."""
    m = Model()
    start = m.integer("start", 2, lower=[0, 1], upper=[0, 1])
    lengths = np.array([3.0, length])
    m.cumulative(m.interval(start, lengths, start + lengths), 1.0, 1.0)
    return m


def test_a_task_of_no_length_takes_nothing_even_within_another():
    assert solve(two_tasks(0), solver="cpsat").status is Status.OPTIMAL
    assert solve(two_tasks(1), solver="cpsat").status is Status.INFEASIBLE


@pytest.mark.parametrize("count", [0, 1])
def test_a_capacity_is_never_negative_even_with_nothing_to_do(count):
    m = Model()
    room = m.integer("room", lower=-5, upper=5)
    start = m.integer("start", count, upper=3)
    m.cumulative(m.interval(start, 0.0, start), 1.0, room)
    m.minimize(room)
    assert solve(m, solver="cpsat").objective == 0.0


def test_absent_tasks_bind_nothing():
    m = Model()
    start, end = m.integer("start", lower=2, upper=3), m.integer("end", upper=1)
    there = m.binary("there")
    m.interval(start, 1.0, end, presence=there)
    m.maximize(there)
    assert solve(m, solver="cpsat").objective == 0.0


def test_absent_tasks_that_are_present_together_ask_for_nothing():
    m = Model()
    b, there = m.binary("b"), m.binary("there")
    start, length = np.array([0.0, 1.0]), np.array([2.0, 1.0])
    tasks = m.interval(start, length, start + length, presence=there)
    m.cumulative(tasks, m.stack(b * 2, 1.0), 0.0)
    m.maximize(b)
    assert solve(m, solver="cpsat").objective == 1.0


def test_an_absent_task_may_have_a_length_that_no_task_has():
    m = Model()
    start, length = m.integer("start", upper=3), m.integer("length", lower=-2, upper=-1)
    there = m.binary("there")
    m.interval(start, length, start + length, presence=there)
    m.maximize(there)
    assert solve(m, solver="cpsat").objective == 0.0


def test_tasks_on_several_machines_share_their_intervals():
    m = Model()
    start = m.integer("start", 4, upper=9)
    tasks = m.interval(start, 2.0, start + 2)
    for _ in range(3):
        m.cumulative(tasks, 1.0, 2.0)
    proto = build(integer_model(m.compile(CpSat.native), CpSat()))
    assert sum(c.has_interval() for c in proto.constraints) == 4
    assert sum(c.has_cumulative() for c in proto.constraints) == 3


@pytest.mark.parametrize(("late", "rows"), [(0.0, 0), (1.0, 2)])
def test_tasks_whose_end_is_written_as_start_and_duration_need_no_row(late, rows):
    m = Model()
    start, length = m.integer("start", 2, upper=9), m.integer("length", 2, upper=3)
    m.interval(start, length, length + start + late)
    assert len(build(integer_model(m.compile(CpSat.native), CpSat())).constraints) == rows


def proto_of(m: Model):
    return build(integer_model(m.compile(CpSat.native), CpSat()))


def test_a_demand_by_age_is_an_interval_per_run_of_equal_demands():
    m = Model()
    start, length = m.integer("start", 2, upper=9), np.array([5.0, 3.0])
    tasks = m.interval(start, length, start + length)
    m.cumulative_profile(tasks, [[2, 2, 0, 3, 3], [1, 2, 3]], 4.0)
    proto = proto_of(m)
    intervals = [c.interval for c in proto.constraints if c.has_interval()]
    assert [i.size.offset for i in intervals] == [2, 2, 1, 1, 1]
    assert [i.start.offset for i in intervals] == [0, 3, 0, 1, 2]
    assert len(proto.variables) == m.columns


def test_each_age_that_a_task_may_not_reach_is_an_interval_apart():
    m = Model()
    start, length = m.integer("start", 1, upper=9), m.integer("length", 1, lower=2, upper=4)
    m.cumulative_profile(m.interval(start, length, start + length), [2, 2, 2, 2, 2], 4.0)
    proto = proto_of(m)
    intervals = [c.interval for c in proto.constraints if c.has_interval()]
    assert [(i.start.offset, i.size.offset) for i in intervals] == [(0, 2), (2, 0), (3, 0)]


# how a solve ends


def hard(rng: np.random.Generator) -> Model:
    m = Model()
    length, demand = rng.integers(3, 21, 30).astype(float), rng.integers(1, 8, 30).astype(float)
    start = m.integer("start", 30, upper=400)
    m.cumulative(m.interval(start, length, start + length), demand, 10.0)
    m.minimize(m.maximum(start + length) * 3 + start @ rng.integers(1, 10, 30).astype(float))
    return m


def test_a_time_limit_leaves_a_checked_schedule_and_a_bound():
    m = hard(np.random.default_rng(1))
    found = with_time_for_a_point(lambda t: solve(m, solver="cpsat", time_limit=t), 1.5)
    assert (found.status, found.limit) == (Status.FEASIBLE, "time")
    assert found.checked
    assert found.bound < found.objective


def test_a_feasible_start_is_never_lost():
    m = hard(np.random.default_rng(2))
    start = with_time_for_a_point(lambda t: solve(m, solver="cpsat", time_limit=t), 1.0)
    again = solve(m, solver="cpsat", time_limit=1e-6, warm_start=start.values)
    assert again.status is Status.FEASIBLE
    assert again.objective <= start.objective
