"""Statements about the results of other statements."""

from __future__ import annotations

import numpy as np

from optsched.model import Model
from optsched.solvers.solution import Status
from optsched.testing.case import case


@case(8.0)
def a_product_of_a_maximum_and_a_binary() -> Model:
    m = Model()
    x, b = m.integer("x", 2, upper=4), m.binary("b")
    top = m.maximum(x, name="top")
    m.maximize(m.product(top, b) + 4 * b)
    return m


@case(5.0)
def an_indicator_on_the_value_of_a_table() -> Model:
    m = Model()
    n, b = m.integer("n", upper=3), m.binary("b")
    f = m.table([2, 9, 4, 6], n)
    m.indicator(b, f <= 4)
    m.maximize(f + 10 * b - 9)  # 4 + 10, or 9
    return m


@case(3.0)
def a_literal_that_is_the_product_of_binaries() -> Model:
    m = Model()
    b, x = m.binary("b", 2), m.integer("x", upper=5)
    both = m.product(b[0], b[1], name="both")
    m.indicator(both, x <= 1)
    m.maximize(x + b.sum())
    m.add("on", b >= 1)
    return m


@case(10.0)
def a_table_of_the_last_active_slot() -> Model:
    m = Model()
    x = m.binary("x", 3)
    last = m.last_active(x, name="last")
    m.maximize(m.table([1, 8, 10, 3], last + 1))
    m.add("work", x.sum() >= 2)
    m.add("idle", x[2] == 0)
    return m


@case(18.0)
def a_product_of_three_factors() -> Model:
    m = Model()
    x = m.integer("x", 3, upper=4)
    m.maximize(m.product(m.product(x[0], x[1]), x[2]))
    m.add("sum", x.sum() <= 8)
    return m


@case(6.0)
def an_absolute_difference_of_products() -> Model:
    m = Model()
    x, y = m.integer("x", 2, upper=3), m.binary("y", 2)
    z = m.product(x, y)
    m.maximize(m.absolute(2 * z[0] - z[1]))
    return m


@case(5.0)
def the_spread_between_a_maximum_and_a_minimum() -> Model:
    m = Model()
    x = m.integer("x", 3, lower=-2, upper=4)
    m.maximize(m.maximum(x) - m.minimum(x))
    m.add("sum", x.sum() == 5)
    m.add("least", x >= -1)
    return m


@case(2.0)
def a_makespan_weighed_against_rent() -> Model:
    m = Model()
    x = m.binary("x", (2, 3))
    last = m.last_active(x, [1, 2, 3], empty=0, name="last")
    m.minimize(m.maximum(last))
    m.add("work", x.sum(axis=1) >= np.array([2, 1]))
    m.add("one at a time", x.sum(axis=0) <= np.array([2, 1, 1]))
    return m


@case(status=Status.INFEASIBLE)
def a_product_that_its_factors_cannot_reach() -> Model:
    m = Model()
    x = m.integer("x", 2, lower=2, upper=4)
    m.add("prime", m.product(x[0], x[1]) == 7)
    return m


@case(4.5)
def a_real_product_within_a_maximum() -> Model:
    m = Model()
    b, x = m.binary("b"), m.continuous("x", lower=-1, upper=3)
    z = m.product(b, x)
    m.maximize(m.maximum(z, -x) + 1.5 * b)
    return m
