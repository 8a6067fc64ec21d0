"""All different, circuits, elements, piecewise-linear functions."""

from __future__ import annotations

import numpy as np

from optsched.model import Model
from optsched.solvers.solution import Status
from optsched.testing.case import case


@case(7.0)
def three_different_numbers_of_least_weight() -> Model:
    m = Model()
    x = m.integer("x", 3, lower=-1, upper=4)
    m.all_different(x)
    m.add("most", x[0] >= 1)
    m.minimize(x @ np.array([3.0, -2.0, 2.0]) + 14)  # 1, 4, -1 cost 3 - 8 - 2
    return m


@case(status=Status.INFEASIBLE)
def more_values_than_numbers() -> Model:
    m = Model()
    x = m.integer("x", (2, 3), upper=np.array([[3, 3, 3], [1, 1, 1]]))
    m.all_different(x)
    m.minimize(x.sum())
    return m


@case(9.0)
def different_sums_of_variables() -> Model:
    m = Model()
    x = m.integer("x", 3, upper=2)
    m.all_different(m.stack(x[0] + x[1], x[1] + x[2], x[0] + x[2]))
    m.maximize(x.sum() * 2 + x[0] + x[1] - x[2])  # 2, 1, 0: sums 3, 1, 2
    m.add("apart", x[2] >= 0)
    return m


@case(8.0)
def a_tour_of_four_nodes() -> Model:
    m = Model()
    tails, heads = np.nonzero(~np.eye(4, dtype=bool))
    go = m.binary("go", len(tails))
    m.circuit(go, tails, heads)
    length = np.array([[0, 1, 5, 5], [1, 0, 3, 5], [5, 5, 0, 1], [3, 5, 1, 0]])
    m.minimize(go @ length[tails, heads])  # two tours of two would cost 4
    return m


@case(5.0)
def a_tour_that_may_leave_nodes_out() -> Model:
    m = Model()
    tails, heads = np.array([0, 1, 1, 2, 0, 1, 2, 2]), np.array([1, 0, 2, 0, 0, 1, 2, 1])
    go = m.binary("go", 8)
    m.circuit(go, tails, heads)
    m.maximize(go @ np.array([2, 2, 3, -1, 0, 0, 1, 0]))  # 0 1 0 and a loop; all three give 4
    return m


@case(status=Status.INFEASIBLE)
def two_tours_are_no_circuit() -> Model:
    m = Model()
    tails, heads = np.array([0, 1, 2, 3]), np.array([1, 0, 3, 2])
    go = m.binary("go", 4)
    m.circuit(go, tails, heads)
    m.maximize(go.sum())
    return m


@case(7.0)
def an_element_of_variables() -> Model:
    m = Model()
    x, n = m.integer("x", 3, lower=-2, upper=np.array([3, 5, 4])), m.integer("n", upper=2)
    z = m.element(2 * x - 1, n)
    m.add("all", x.sum() <= 2)
    m.maximize(z - 2 * n)
    return m


@case(status=Status.INFEASIBLE)
def an_index_beyond_its_elements() -> Model:
    m = Model()
    x, n = m.integer("x", 2, upper=3), m.integer("n", lower=2, upper=3)
    m.maximize(m.element(x, n))
    return m


@case(4.25)
def a_piecewise_linear_function_that_is_not_convex() -> Model:
    m = Model()
    x = m.continuous("x", upper=6)
    m.minimize(m.piecewise(x, [0, 2, 4, 6], [4, 3, 5, 1]) + 0.5 * x + 0.25)
    m.add("before", x <= 4.5)
    return m


@case(status=Status.INFEASIBLE)
def an_argument_beyond_the_last_point() -> Model:
    m = Model()
    x = m.continuous("x", lower=5, upper=6)
    m.minimize(m.piecewise(x, [0, 2, 4], [4, 3, 5]))
    return m
