"""Tasks in time, and the resource they share."""

from __future__ import annotations

import numpy as np

from optsched.model import Model
from optsched.solvers.solution import Status
from optsched.testing.case import case


@case(5.0)
def tasks_one_after_another() -> Model:
    m = Model()
    start = m.integer("start", 2, upper=5)
    length = np.array([2.0, 3.0])
    tasks = m.interval(start, length, start + length)
    m.cumulative(tasks, 1, 1)
    m.minimize(m.maximum(start + length))
    return m


@case(3.0)
def tasks_side_by_side() -> Model:
    m = Model()
    start = m.integer("start", 2, upper=5)
    length = np.array([2.0, 3.0])
    tasks = m.interval(start, length, start + length)
    m.cumulative(tasks, [1, 2], 3)
    m.minimize(m.maximum(start + length))
    return m


@case(7.0)
def the_most_valuable_of_optional_tasks() -> Model:
    m = Model()
    there, start = m.binary("there", 3), m.integer("start", 3, upper=2)
    end = start + np.array([3.0, 2.0, 1.0])
    tasks = m.interval(start, [3, 2, 1], end, presence=there)
    m.cumulative(tasks, [2, 1, 2], 2)
    m.add("deadline", end <= 3)  # the first takes everything, the others fit together
    m.maximize(there @ np.array([6.0, 3.0, 4.0]))
    return m


@case(0.0)
def an_absent_task_binds_nothing() -> Model:
    m = Model()
    start, length, end = (m.integer(name, upper=3) for name in ("start", "length", "end"))
    there = m.binary("there")
    m.interval(start, length, end, presence=there)
    m.minimize(end - start - length + 6 + 6 * there)
    return m


@case(6.0)
def a_present_task_ends_when_it_is_over() -> Model:
    m = Model()
    start, length, end = (m.integer(name, upper=3) for name in ("start", "length", "end"))
    there = m.binary("there")
    m.interval(start, length, end, presence=there)
    m.minimize(end - start - length + 6)
    m.add("there", there == 1)
    return m


@case(3.0)
def lengths_to_be_chosen() -> Model:
    m = Model()
    start, length = m.integer("start", 2, upper=3), m.integer("length", 2, upper=3)
    tasks = m.interval(start, length, start + length)
    m.cumulative(tasks, 1, 1)
    m.maximize(length.sum())
    m.add("deadline", start + length <= 3)
    return m


@case(2.0)
def a_capacity_to_be_chosen() -> Model:
    m = Model()
    start, room = m.integer("start", 3, upper=1), m.integer("room", upper=9)
    tasks = m.interval(start, 1, start + 1)
    m.cumulative(tasks, 1, room)
    m.minimize(room)
    return m


@case(3.0)
def demands_to_be_chosen() -> Model:
    m = Model()
    start, ask = m.integer("start", 2, upper=1), m.integer("ask", 2, upper=2)
    tasks = m.interval(start, 2, start + 2)
    m.cumulative(tasks, ask, 3)  # they meet wherever they start
    m.maximize(ask.sum())
    return m


@case(0.0)
def tasks_of_no_length_need_no_room() -> Model:
    m = Model()
    start = m.integer("start", 2, upper=2)
    length = np.array([0.0, 2.0])
    tasks = m.interval(start, length, start + length)
    m.cumulative(tasks, [5, 1], 1)
    m.minimize(start.sum())
    return m


@case(status=Status.INFEASIBLE)
def a_length_below_zero() -> Model:
    m = Model()
    start, end = m.integer("start", upper=3), m.integer("end", upper=3)
    m.interval(start, end - start, end)
    m.add("backwards", end - start <= -1)
    return m


@case(-3.0)
def an_absent_task_may_have_a_length_below_zero() -> Model:
    m = Model()
    start, end, there = m.integer("start", upper=3), m.integer("end", upper=3), m.binary("there")
    tasks = m.interval(start.reshape(1), (end - start).reshape(1), end.reshape(1),
                       presence=there.reshape(1))  # fmt: skip
    m.cumulative(tasks, 1, 0)
    m.minimize(end - start + 7 * there)
    return m


@case(status=Status.INFEASIBLE)
def more_work_than_room() -> Model:
    m = Model()
    start = m.integer("start", 3, upper=2)
    tasks = m.interval(start, 2, start + 2)
    m.cumulative(tasks, 1, 1)
    m.add("deadline", start <= 2)
    return m


@case(status=Status.INFEASIBLE)
def a_capacity_below_zero_holds_not_even_nothing() -> Model:
    m = Model()
    start = m.integer("start", 1, upper=2)
    m.cumulative(m.interval(start, 0, start), 1, -1)
    return m


@case(6.0)
def ramps_whose_peaks_must_not_meet() -> Model:
    m = Model()
    start, length = m.integer("start", 2, upper=6), np.array([3.0, 3.0])
    tasks = m.interval(start, length, start + length)
    m.cumulative_profile(tasks, [1, 2, 3], 3)  # age 2 fills it
    m.minimize(m.maximum(start + length))
    return m


@case(4.0)
def a_ramp_that_fills_what_a_decay_frees() -> Model:
    m = Model()
    start, length = m.integer("start", 2, upper=6), np.array([4.0, 4.0])
    tasks = m.interval(start, length, start + length)
    m.cumulative_profile(tasks, [[4, 3, 2, 1], [0, 1, 2, 3]], 4)
    m.minimize(m.maximum(start + length))
    return m


@case(9.0)
def a_ramp_that_starts_late_to_be_small_when_another_peaks() -> Model:
    m = Model()
    start, length = m.integer("start", 3, lower=[0, 2, 0], upper=7), np.array([5.0, 2.0, 5.0])
    tasks = m.interval(start, length, start + length)
    m.cumulative_profile(tasks, 2 + np.arange(5), 7)  # starts 1, 2, 6; from 0 on it costs more
    m.minimize(start.sum())
    return m


@case(5.0)
def ages_that_demand_nothing_leave_room() -> Model:
    m = Model()
    start, length = m.integer("start", 2, upper=6), np.array([5.0, 3.0])
    tasks = m.interval(start, length, start + length)
    m.cumulative_profile(tasks, [[2, 0, 0, 0, 2], [2, 2, 2]], 2)  # one within the other
    m.minimize(m.maximum(start + length))
    return m


@case(6.0)
def durations_to_be_chosen_under_a_ramp() -> Model:
    m = Model()
    start, length = m.integer("start", 2, upper=4), m.integer("length", 2, upper=4)
    tasks = m.interval(start, length, start + length)
    m.cumulative_profile(tasks, [1, 2, 3, 4], 5)
    m.add("deadline", start + length <= 4)
    m.maximize(length.sum())
    return m


@case(5.0)
def an_absent_task_has_no_demand_at_any_age() -> Model:
    m = Model()
    there, start = m.binary("there", 2), m.integer("start", 2, upper=1)
    tasks = m.interval(start, 2, start + 2, presence=there)
    m.cumulative_profile(tasks, [[1, 3], [3, 1]], m.integer("room", upper=3))
    m.add("together", start == 0)
    m.maximize(there @ np.array([5.0, 4.0]))
    return m


@case(status=Status.INFEASIBLE)
def a_peak_above_the_capacity() -> Model:
    m = Model()
    start = m.integer("start", 1, upper=3)
    m.cumulative_profile(m.interval(start, 3, start + 3), [1, 3, 1], 2)
    return m
