"""Products, tables, maxima, minima and absolute values."""

from __future__ import annotations

import numpy as np

from optsched.model import Model
from optsched.solvers.solution import Status
from optsched.testing.case import case

INF = np.inf


@case(6.0)
def a_binary_times_an_integer() -> Model:
    m = Model()
    b, x = m.binary("b", 2), m.integer("x", 2, lower=-3, upper=3)
    m.maximize((m.product(b, x)).sum())
    return m


@case(-3.0)
def a_binary_times_an_integer_of_either_sign() -> Model:
    m = Model()
    b, x = m.binary("b", 2), m.integer("x", 2, lower=-3, upper=3)
    z = m.product(b, x)
    m.minimize(z[0] - x[1] + z[1])  # -3 with x_1 taken, and nothing to gain from the rest
    m.add("on", b[1] == 1)
    return m


@case(7.5)
def a_binary_times_a_real() -> Model:
    m = Model()
    b, x = m.binary("b", 3), m.continuous("x", 3, lower=-1, upper=2.5)
    m.maximize(m.product(x, b).sum())
    return m


@case(12.0)
def an_integer_times_an_integer() -> Model:
    m = Model()
    x = m.integer("x", 2, upper=6)
    m.maximize(m.product(x[0], x[1]))
    m.add("sum", x.sum() <= 7)
    return m


@case(-12.0)
def integers_of_either_sign_multiplied() -> Model:
    m = Model()
    x = m.integer("x", 2, lower=-3, upper=4)
    m.minimize(m.product(x[0], x[1]))
    return m


@case(7.0)
def an_integer_times_a_real() -> Model:
    m = Model()
    n, x = m.integer("n", lower=-2, upper=5), m.continuous("x", lower=-1, upper=3)
    m.maximize(m.product(n, x))
    m.add("sum", 3 * n + 3 * x <= 16)  # 3 * 7/3 beats 2 * 3 and 4 * 4/3
    return m


@case(4.0)
def a_square() -> Model:
    m = Model()
    x = m.integer("x", lower=-3, upper=3)
    m.minimize(m.product(x, x))
    m.add("far", 2 * x <= -3)
    return m


@case(9.0)
def factors_that_are_expressions() -> Model:
    m = Model()
    x, b = m.integer("x", upper=4), m.binary("b")
    m.maximize(m.product(1 - b, 2 * x + 1))
    return m


@case(6.0)
def a_factor_that_is_fixed() -> Model:
    m = Model()
    x, y = m.integer("x", lower=3, upper=3), m.integer("y", upper=2)
    m.maximize(m.product(x, y))
    return m


@case(4.0, needs="product", countable=False)
def a_real_times_a_real() -> Model:
    m = Model()
    x = m.continuous("x", 2, upper=4)
    m.maximize(m.product(x[0], x[1]))
    m.add("sum", x.sum() <= 4)
    return m


@case(-12.0)
def a_power_of_an_integer() -> Model:
    m = Model()
    x = m.integer("x", lower=-3, upper=3)
    m.minimize(m.power(x, 3) - 3 * x + m.power(1 - x, 2) - 10)  # -27 + 9 + 16 - 10
    m.add("not the last", x <= 2)
    return m


@case(-2.0, needs="product", countable=False)
def a_polynomial_of_a_real() -> Model:
    m = Model()
    x = m.continuous("x", lower=-2, upper=1.5)
    m.minimize(m.power(x, 3) - 3 * x)  # -2 at 1, and again at -2
    m.add("right", x >= -1)
    return m


@case(1.75)
def a_ratio_over_an_integer() -> Model:
    m = Model()
    x, y = m.integer("x", upper=7), m.integer("y", lower=1, upper=4)
    m.maximize(m.ratio(x, y))
    m.add("row", x <= 2 * y - 1)
    return m


@case(0.5, needs="product", countable=False)
def a_ratio_of_reals() -> Model:
    m = Model()
    x, y = m.continuous("x", upper=4), m.continuous("y", lower=-5, upper=-1)
    m.minimize(m.ratio(x - 6, y))  # both as far as the row lets them
    m.add("row", x - y <= 8)
    return m


@case(8.0, needs="product", countable=False)
def a_product_over_a_variable_without_a_bound() -> Model:
    m = Model()
    b, x = m.binary("b"), m.continuous("x")
    m.maximize(m.product(b, x))
    m.add("row", x <= 8)
    return m


@case(7.0)
def a_table() -> Model:
    m = Model()
    n = m.integer("n", upper=4)
    m.maximize(m.table([3, 1, 7, 2, 5], n))
    return m


@case(-1.0)
def tables_over_expressions() -> Model:
    m = Model()
    n = m.integer("n", 2, lower=1, upper=3)
    f = m.table([4, 0, -1, 2, 6], 2 * n - 2)
    m.minimize(f.sum() - 4)  # 4, -1 or 6
    m.add("apart", n[0] + n[1] == 3)
    return m


@case(6.0)
def a_table_bounds_its_index() -> Model:
    m = Model()
    n = m.integer("n", lower=-5, upper=9)
    f = m.table([0, 3, 1], n)
    m.maximize(f + 2 * n + 1)
    return m


@case(status=Status.INFEASIBLE)
def an_index_outside_its_table() -> Model:
    m = Model()
    m.table([1, 2], m.integer("n", lower=2, upper=5))
    return m


@case(0.5)
def a_table_of_fractions() -> Model:
    m = Model()
    n = m.integer("n", upper=2)
    m.maximize(m.table([0.25, 0.5, -1.5], n))
    return m


@case(3.0)
def a_table_of_one_entry() -> Model:
    m = Model()
    m.minimize(m.table([3], m.integer("n", upper=4)))
    return m


@case(3.0)
def a_maximum_made_small() -> Model:
    m = Model()
    x = m.integer("x", 3, upper=9)
    m.minimize(m.maximum(x))
    m.add("sum", x.sum() >= 7)
    return m


@case(9.0)
def a_maximum_made_large() -> Model:
    m = Model()
    x = m.integer("x", 3, upper=9)
    m.maximize(m.maximum(x))
    m.add("sum", x.sum() <= 12)
    return m


@case(4.0)
def a_minimum_made_large() -> Model:
    m = Model()
    x = m.integer("x", 2, upper=9)
    m.maximize(m.minimum(x[0], x[1], 4))
    m.add("sum", x.sum() <= 12)
    return m


@case(-3.0)
def a_minimum_made_small() -> Model:
    m = Model()
    x = m.integer("x", (2, 2), lower=-2, upper=3)
    m.minimize(m.minimum(x).sum())
    m.add("sum", x.sum(axis=1) >= np.array([1, 2]))
    return m


@case(2.5)
def maxima_of_reals() -> Model:
    m = Model()
    x = m.continuous("x", 2, lower=-1, upper=4)
    m.minimize(m.maximum(x[0], x[1]))
    m.add("sum", x.sum() >= 5)
    return m


@case(4.25)
def maxima_of_reals_made_large() -> Model:
    m = Model()
    x = m.continuous("x", 2, lower=-1, upper=4)
    m.maximize(m.maximum(x[0] + 0.25, 2 * x[1] - 6))
    return m


@case(5.0)
def an_absolute_value_made_large() -> Model:
    m = Model()
    x = m.integer("x", lower=-5, upper=3)
    m.maximize(m.absolute(x))
    return m


@case(1.0)
def absolute_values_made_small() -> Model:
    m = Model()
    x = m.integer("x", 2, lower=-5, upper=3)
    m.minimize(m.absolute(2 * x - 1).sum() - 1)
    return m


@case(0.0)
def an_absolute_value_of_a_real() -> Model:
    m = Model()
    x, b = m.continuous("x", lower=-1, upper=1), m.binary("b")
    m.minimize(m.absolute(x - 0.5 * b))
    m.add("on", b == 1)
    return m


@case(4.0)
def the_greatest_of_one() -> Model:
    m = Model()
    x = m.integer("x", 1, lower=-2, upper=4)
    m.maximize(m.maximum(x))
    return m


@case(7.0, needs="maximum", countable=False)
def a_maximum_over_a_variable_without_a_bound() -> Model:
    m = Model()
    x = m.continuous("x", 2)
    m.minimize(m.maximum(x))
    m.add("least", x >= np.array([3.0, 7.0]))
    return m
