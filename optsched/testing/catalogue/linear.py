"""Linear and mixed-integer linear models: statuses, senses, offsets, odd numbers."""

from __future__ import annotations

import numpy as np

from optsched.model import Model
from optsched.solvers.solution import Status
from optsched.testing.case import case

INF = np.inf


@case(19.0)
def a_linear_program_with_an_offset() -> Model:
    m = Model()
    x = m.continuous("x", 2, upper=4)
    m.maximize(x @ np.array([1.0, 2.0]) + 10)
    m.add("row", x.sum() <= 5)
    return m


@case(-7.0)
def a_linear_program_in_free_variables() -> Model:
    m = Model()
    x = m.continuous("x", 2, lower=-INF)
    m.minimize(x @ np.array([2.0, 1.0]))
    m.add("least", x >= np.array([-2.0, -4.0]))
    m.add("apart", x[0] - x[1] == 2.5)  # -1.5 and -4
    return m


@case(-4.5)
def a_variable_bounded_from_above_only() -> Model:
    m = Model()
    x = m.continuous("x", lower=-INF, upper=-1.5)
    m.maximize(3 * x)
    return m


@case(9.5)
def a_knapsack_with_an_offset() -> Model:
    m = Model()
    take = m.binary("take", 3)
    m.maximize(take @ np.array([6.0, 5.0, 4.0]) + 0.5)
    m.add("weight", take @ np.array([3.0, 2.0, 2.0]) <= 4)
    return m


@case(-8.0)
def integers_of_either_sign() -> Model:
    m = Model()
    x = m.integer("x", 2, lower=-3, upper=3)
    m.minimize(2 * x[0] + x[1])
    m.add("level", x.sum() >= -5)
    return m


@case(2.0)
def fractional_bounds_of_integers_round_inwards() -> Model:
    m = Model()
    x = m.integer("x", 2, lower=[-1.5, 0.2], upper=[3.7, 1.9])
    m.maximize(x[0] - x[1])
    return m


@case(5.75)
def integers_and_reals_together() -> Model:
    m = Model()
    n, x = m.integer("n", upper=3), m.continuous("x", upper=4)
    m.maximize(n + x)
    m.add("use", 2 * n + x <= 7.75)
    m.add("tie", x - n <= 2)  # n = 2 leaves 3.75, n = 1 leaves 3
    return m


@case(0.0)
def nothing_to_optimise() -> Model:
    m = Model()
    x = m.integer("x", 2, lower=-3, upper=3)
    m.add("sum", x.sum() == 5)
    return m


@case(4.0)
def a_constant_to_maximise() -> Model:
    m = Model()
    x = m.binary("x", 2)
    m.maximize(4)
    m.add("one", x.sum() == 1)
    return m


@case(6.0)
def bounds_alone() -> Model:
    m = Model()
    m.maximize(m.integer("x", (2, 3), upper=1).sum())
    return m


@case(0.6)
def decimals_whose_sums_are_not_exact() -> Model:
    m = Model()
    x = m.integer("x", 3, upper=1)
    m.maximize(0.1 * x[0] + 0.2 * x[1] + 0.3 * x[2])
    m.add("exact", 0.1 * x[0] + 0.2 * x[1] - 0.3 * x[2] == 0)
    return m


@case(7 / 3)
def thirds() -> Model:
    m = Model()
    x = m.integer("x", 2, upper=5)
    m.maximize(x[0] / 3 + x[1] / 3)
    m.add("row", x[0] / 7 + x[1] / 7 <= 1)
    return m


@case(1_000_003.0)
def large_and_small_coefficients_together() -> Model:
    m = Model()
    x = m.integer("x", 2, upper=10)
    m.maximize(1_000_000 * x[0] + x[1])
    m.add("row", 1000 * x[0] + x[1] <= 1003)
    return m


@case(6.0)
def terms_that_meet_on_one_variable() -> Model:
    m = Model()
    x = m.integer("x", 2, upper=4)
    m.maximize((x + x).sum())
    m.add("row", x[0] + x[0] + x[1] - x[0] + x[1] <= 3)
    m.add("cancel", x[0] - x[0] <= 0)
    return m


@case(3.0)
def rows_between_two_sides() -> Model:
    m = Model()
    x = m.integer("x", 2, upper=4)
    m.minimize(x.sum())
    m.add("band", (2 * x[0] + 3 * x[1]).between(7, 8.5))
    return m


@case(2.0)
def rows_without_variables_that_hold() -> Model:
    m = Model()
    x = m.integer("x", upper=2)
    m.maximize(x)
    m.add("true", (x - x) + 1 >= 0)
    return m


@case(status=Status.INFEASIBLE)
def rows_without_variables_that_do_not_hold() -> Model:
    m = Model()
    x = m.integer("x", upper=2)
    m.maximize(x)
    m.add("false", (x - x) + 1 <= 0)
    return m


@case(5.0)
def groups_of_an_array() -> Model:
    m = Model()
    x = m.integer("x", (2, 3), upper=2)
    m.maximize(x.sum())
    m.add("groups", x.sum_by(np.array([[0, 1, 0], [1, 0, 1]]), 2) <= np.array([3, 2]))
    return m


@case(1.0)
def fixed_and_empty_blocks() -> Model:
    m = Model()
    x = m.integer("x", lower=3, upper=3)
    m.integer("none", 0, upper=1)
    m.minimize(x - 2)
    return m


@case(status=Status.INFEASIBLE)
def an_infeasible_linear_program() -> Model:
    m = Model()
    x = m.continuous("x", 2, upper=4)
    m.minimize(x.sum())
    m.add("row", x.sum() >= 9)
    return m


@case(status=Status.INFEASIBLE)
def sides_that_cross() -> Model:
    m = Model()
    m.add("crossed", m.integer("x", upper=4).between(3, 2))
    return m


@case(status=Status.INFEASIBLE)
def no_whole_number_between_the_sides() -> Model:
    m = Model()
    x = m.integer("x", 2, upper=4)
    m.maximize(x.sum())
    m.add("odd", 2 * x[0] + 2 * x[1] == 7)
    return m


@case(status=Status.INFEASIBLE)
def no_whole_number_between_the_bounds() -> Model:
    m = Model()
    m.minimize(m.integer("x", lower=0.25, upper=0.75))
    return m


@case(status=Status.UNBOUNDED)
def an_unbounded_linear_program() -> Model:
    m = Model()
    x = m.continuous("x", 2)
    m.maximize(x.sum())
    m.add("row", x[0] - x[1] <= 1)
    return m


@case(status=Status.UNBOUNDED)
def an_unbounded_linear_program_with_a_free_variable() -> Model:
    m = Model()
    x = m.continuous("x", 3, lower=[-INF, -1, -INF], upper=[0, INF, 0])
    m.maximize(x @ np.array([-1.0, 4.0, -1.0]))
    a = np.array([[1.0, -3.0, -3.0], [2.0, 2.0, 1.0], [0.0, 0.0, 3.0]])
    m.add("rows", (a @ x).between([-INF, 2, -INF], [2, 3, 0]))
    return m


@case(status=Status.UNBOUNDED, countable=False)
def an_unbounded_integer_program() -> Model:
    m = Model()
    x = m.integer("x", 2)
    m.maximize(x.sum())
    m.add("row", x[0] - x[1] <= 1)
    return m


@case(status=Status.INFEASIBLE, countable=False)
def an_unbounded_relaxation_without_whole_points() -> Model:
    m = Model()
    x, y = m.integer("x"), m.continuous("y")
    m.maximize(y)
    m.add("between wholes", (2 * x).between(0.9, 1.1))
    return m


@case(4.0, countable=False)
def integers_bounded_by_rows_only() -> Model:
    m = Model()
    x = m.integer("x", 2)
    m.maximize(x.sum())
    m.add("rows", np.array([[2.0, 1.0], [1.0, 2.0]]) @ x <= 6.5)
    return m
