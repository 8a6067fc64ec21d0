"""Indicators, and the first and last active slot."""

from __future__ import annotations

import numpy as np

from optsched.model import Model
from optsched.solvers.solution import Status
from optsched.testing.case import case


@case(7.0)
def an_indicator_on_an_upper_side() -> Model:
    m = Model()
    x, b = m.integer("x", 2, upper=5), m.binary("b")
    m.indicator(b, x.sum() <= 3)
    m.maximize(x.sum() + 4 * b)  # 10 without, 7 with
    m.add("choose", b >= 1)
    return m


@case(10.0)
def an_indicator_that_is_off_binds_nothing() -> Model:
    m = Model()
    x, b = m.integer("x", 2, upper=5), m.binary("b")
    m.indicator(b, x.sum() <= 3)
    m.maximize(x.sum() + 4 * b)
    return m


@case(-1.0)
def an_indicator_on_a_lower_side_active_at_zero() -> Model:
    m = Model()
    x, b = m.integer("x", lower=-4, upper=4), m.binary("b")
    m.indicator(b, x >= -1, active=False)
    m.minimize(x + 4 * b)  # -1, or -4 at a price of 4
    return m


@case(6.0)
def an_indicator_on_an_equality() -> Model:
    m = Model()
    x, b = m.integer("x", 2, upper=4), m.binary("b", 2)
    m.indicator(b, x == np.array([1.0, 3.0]))
    m.maximize(x.sum() + b @ np.array([1.0, 2.0]) - 3)  # 5, 3, 6 or 4
    return m


@case(3.0)
def an_indicator_on_both_sides() -> Model:
    m = Model()
    x, b = m.integer("x", lower=-4, upper=4), m.binary("b")
    m.indicator(b, (2 * x).between(3, 7))
    m.maximize(x)
    m.add("on", b == 1)
    return m


@case(4.0)
def an_indicator_with_several_literals_of_either_value() -> Model:
    m = Model()
    x, b, c = m.integer("x", 4, upper=2), m.binary("b", 4), m.binary("c", 4)
    m.indicator([b, c], x <= 0, active=[True, False])
    m.add("b", b == np.array([0, 0, 1, 1]))
    m.add("c", c == np.array([0, 1, 0, 1]))
    m.maximize(x.sum() - 2)
    return m


@case(2.0)
def one_literal_for_a_whole_block() -> Model:
    m = Model()
    x, b = m.integer("x", (2, 2), upper=3), m.binary("b")
    m.indicator(b, x <= np.array([[0.0, 1.0], [1.0, 0.0]]))
    m.maximize(x.sum())
    m.add("on", b >= 0.5)
    return m


@case(status=Status.INFEASIBLE)
def indicators_that_contradict_each_other() -> Model:
    m = Model()
    x, b = m.integer("x", upper=5), m.binary("b")
    m.indicator(b, x <= 1)
    m.indicator(b, x >= 2)
    m.indicator(b, x >= 6, active=False)
    return m


@case(3.0)
def an_indicator_on_a_continuous_row() -> Model:
    m = Model()
    x, b = m.continuous("x", upper=4), m.binary("b")
    m.indicator(b, 2 * x <= 5)
    m.maximize(x + 0.5 * b)  # 2.5 + 0.5, or 4
    m.add("on", b >= 1)
    return m


@case(0.0, countable=False)
def an_indicator_with_a_wide_range_binds_exactly() -> Model:
    """A tolerance measured on the large constant would let x be 1 if it must be 0."""
    m = Model()
    x, b = m.integer("x", upper=1_000_000), m.binary("b")
    m.indicator(b, x <= 0)
    m.maximize(x - 2_000_000 * (1 - b))
    return m


@case(8.0, needs="indicator", countable=False)
def an_indicator_over_a_variable_without_a_bound() -> Model:
    m = Model()
    x, b = m.continuous("x"), m.binary("b")
    m.indicator(b, x <= 8)
    m.maximize(x)
    m.add("on", b >= 1)
    return m


@case(2.0)
def the_last_active_slot() -> Model:
    m = Model()
    x = m.binary("x", 5)
    last = m.last_active(x, name="last")
    m.minimize(last)
    m.add("work", x.sum() >= 3)
    return m


@case(4.0)
def the_last_active_slot_made_late() -> Model:
    m = Model()
    x = m.binary("x", 5)
    m.maximize(m.last_active(x) - 3 * (x.sum() - 1))
    return m


@case(2.0)
def the_first_active_slot() -> Model:
    m = Model()
    x = m.binary("x", 5)
    m.maximize(m.first_active(x))
    m.add("work", x.sum() >= 3)
    return m


@case(4.0)
def no_active_slot_has_the_value_for_none() -> Model:
    m = Model()
    x = m.binary("x", (2, 3))
    last, first = m.last_active(x, name="last"), m.first_active(x, name="first")
    m.minimize(first.sum() + last.sum())
    m.add("none", x.sum() == 0)  # 3 and -1, twice
    return m


@case(17.0)
def slots_and_the_value_for_none_of_ones_own() -> Model:
    m = Model()
    x = m.binary("x", (2, 3))
    last = m.last_active(x, [2, 5, 9], empty=0)
    first = m.first_active(x, [2, 5, 9], empty=20)
    m.add("x", x == np.array([[0, 1, 0], [1, 1, 1]]))
    m.maximize(last.sum() + first.sum() - 4)  # 5 + 9 + 5 + 2
    return m


@case(0.75)
def slots_that_are_not_whole() -> Model:
    m = Model()
    x = m.binary("x", 3)
    m.minimize(m.last_active(x, [0.25, 0.75, 1.5], empty=0.0))
    m.add("work", x.sum() >= 2)
    return m


@case(3.0)
def activity_that_is_an_expression() -> Model:
    m = Model()
    x = m.binary("x", 4)
    m.maximize(m.last_active(1 - x) + m.first_active(x))  # 0 idle is not the last, 3 is active
    m.add("some", x.sum() <= 2)
    m.add("chain", x[1:] >= x[:-1])
    m.add("tie", x[2] + x[3] >= 1)
    m.add("even", x[2] == x[3])
    return m
