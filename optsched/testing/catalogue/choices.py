"""Special ordered sets, semi-continuous and semi-integer variables, routes, ways of a task."""

from __future__ import annotations

import numpy as np

from optsched.model import Model
from optsched.solvers.solution import Status
from optsched.testing.case import case


@case(8.0)
def one_entry_of_a_set_of_type_one() -> Model:
    m = Model()
    x = m.continuous("x", (2, 3), lower=-1, upper=np.array([[2, 5, 4], [3, 1, 2]]))
    m.sos1(x)
    m.add("row", x[0, 1] + x[1, 0] <= 7.5)
    m.maximize(x[0].sum() + 1.0 * x[1].sum() + 0.5)  # 5 and 2.5, or 4 and 3
    return m


@case(7.0)
def neighbours_of_a_set_of_type_two() -> Model:
    m = Model()
    x = m.integer("x", 4, upper=np.array([4, 1, 3, 3]))
    m.sos2(x)
    m.maximize(x @ np.array([1.0, 1.0, 1.0, 4 / 3]))  # the last two
    return m


@case(status=Status.INFEASIBLE)
def two_entries_that_must_not_be_nought() -> Model:
    m = Model()
    x = m.integer("x", 3, lower=np.array([1, 0, 1]), upper=4)
    m.sos2(x)
    m.minimize(x.sum())
    return m


@case(4.0)
def sums_in_a_set_of_type_one() -> Model:
    m = Model()
    x = m.integer("x", 3, upper=2)
    m.sos1(m.stack(x[0] - x[1], x[1] - x[2]))
    m.maximize(x @ np.array([1.0, -1.0, 2.0]) + 2 - 2 * x[1])  # 0 0 2 would need no equality: 6
    m.add("some", x[1] + x[0] >= 1)  # 2 2 2 costs 2, 2 0 0: 4, 1 1 2: 2
    return m


@case(13.0)
def a_unit_that_runs_well_or_not_at_all() -> Model:
    m = Model()
    power = m.semicontinuous("power", 3, lower=np.array([2.0, 2.5, 4.0]), upper=8.0)
    m.add("demand", power.sum() == 9)
    m.minimize(power @ np.array([1.0, 3.0, 2.0]))  # 5 and 4 beat 8 and 1, which is none
    return m


@case(7.0)
def lots_of_at_least_three() -> Model:
    m = Model()
    lot = m.semi_integer("lot", 2, lower=3, upper=np.array([4, 9]))
    m.add("need", lot.sum() >= 6.5)
    m.add("even", lot[0] * 2 >= lot[1])
    m.minimize(lot.sum())
    return m


@case(-6.0)
def a_semi_integer_below_nought() -> Model:
    m = Model()
    x = m.semi_integer("x", 2, lower=-5, upper=-2)
    m.add("some", x.sum() >= -6)
    m.minimize(x @ np.array([1.0, 0.5]) + 0.5 * x[1])
    m.add("one", x[0] >= -3)  # -2 and -4
    m.add("other", x[1] - x[0] <= -2)
    return m


@case(14.0, countable=False)
def two_routes_of_four_customers() -> Model:
    m = Model()
    tails, heads = np.nonzero(~np.eye(5, dtype=bool))
    go = m.binary("go", len(tails))
    m.routes(go, tails, heads)
    m.add("vans", go[tails == 0].sum() == 2)
    place = np.array([0, 2, 3, -1, -4])
    m.minimize(go @ np.abs(place[tails] - place[heads]).astype(float))
    return m


@case(12.0)
def routes_that_may_leave_customers_out() -> Model:
    m = Model()
    tails, heads = np.array([0, 1, 1, 2, 0, 1, 2, 2]), np.array([1, 0, 2, 0, 2, 1, 2, 1])
    go = m.binary("go", 8)
    m.routes(go, tails, heads)
    m.maximize(go @ np.array([2, 2, 9, -4, 1, 0, 4, 9]))  # 0 2 1 0, as 1 2 costs 4 to get back
    return m


@case(status=Status.INFEASIBLE)
def customers_among_themselves_are_no_route() -> Model:
    m = Model()
    tails, heads = np.array([0, 1, 2, 3]), np.array([1, 0, 3, 2])
    go = m.binary("go", 4)
    m.routes(go, tails, heads)
    m.maximize(go.sum())
    return m


@case(6.0)
def a_task_on_one_of_two_machines() -> Model:
    m = Model()
    start, end = m.integer("start", upper=9), m.integer("end", upper=9)
    on, begin = m.binary("on", 2), m.integer("begin", 2, lower=np.array([0, 4]), upper=9)
    task = m.interval(start, end - start, end)
    ways = m.interval(begin, np.array([7, 2]), begin + np.array([7, 2]), presence=on)
    m.alternative(task, ways)
    m.minimize(end)
    return m


@case(4.0)
def tasks_one_after_the_other_where_present() -> Model:
    m = Model()
    start, on = m.integer("start", 3, upper=9), m.binary("on", 2)
    first = m.interval(start[0], 3, start[0] + 3)
    rest = m.interval(start[1:], 2, start[1:] + 2, presence=on)
    m.precedence(first, rest, lag=1)
    m.precedence(first, rest, 6, from_="start", to="end")
    m.add("one", on.sum() == 1)
    m.minimize(start[1] + start[2] + 2 * on[1])
    return m
