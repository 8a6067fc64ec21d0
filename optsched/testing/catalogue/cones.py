"""Rotated cones: u v >= |w|^2."""

from __future__ import annotations

import numpy as np

from optsched.model import Model
from optsched.solvers.solution import Status
from optsched.testing.case import case


@case(3.0)
def whole_numbers_on_a_cone() -> Model:
    m = Model()
    u, v = m.integer("u", upper=5), m.integer("v", upper=5)
    w = m.integer("w", lower=-4, upper=4)
    m.rotated_cone(u, v, w)
    m.maximize(w)
    m.add("sum", u + v <= 6)
    return m


@case(9.0, countable=False)
def a_square_from_above() -> Model:
    m = Model()
    u, w = m.continuous("u", upper=20), m.continuous("w", lower=-3, upper=4)
    m.rotated_cone(u, 1, w)
    m.minimize(u)
    m.add("far", w <= -3)
    return m


@case(2.0, countable=False)
def a_geometric_mean() -> Model:
    m = Model()
    u, w = m.continuous("u", 2, upper=4), m.continuous("w", upper=9)
    m.rotated_cone(u[0], u[1], w)
    m.maximize(w)
    m.add("sum", u.sum() <= 4)
    return m


@case(5.0, countable=False)
def a_norm() -> Model:
    m = Model()
    t, w = m.continuous("t", upper=10), m.continuous("w", 2, upper=9)
    m.rotated_cone(t, t, w)
    m.minimize(t)
    m.add("w", w >= np.array([3.0, 4.0]))
    return m


@case(3.0, countable=False)
def a_cone_with_whole_and_real_parts() -> Model:
    m = Model()
    n, w = m.integer("n", upper=9), m.continuous("w", upper=3)
    m.rotated_cone(n, 1, w)
    m.minimize(n)
    m.add("far", w >= 1.5)
    return m


@case(status=Status.INFEASIBLE)
def a_cone_out_of_reach() -> Model:
    m = Model()
    u, w = m.integer("u", 2, upper=2), m.integer("w", lower=3, upper=4)
    m.rotated_cone(u[0], u[1], w)
    return m


@case(status=Status.INFEASIBLE)
def a_cone_wants_both_sides_non_negative() -> Model:
    m = Model()
    u = m.integer("u", 2, lower=-2, upper=-1)
    m.rotated_cone(u[0], u[1], m.integer("w", upper=1))
    return m
