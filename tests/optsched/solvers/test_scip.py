"""What SCIP takes as it is: products, indicators, rotated cones, and its tolerances beside them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.enumeration import enumerate_optimum

from optsched import Model, solve
from optsched.solvers.mathopt.parameters import parameters
from optsched.solvers.mathopt.writer import build
from optsched.solvers.options import Options
from optsched.solvers.registry import backend
from optsched.solvers.solution import Status


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6))
def test_scip_finds_the_optimum_of_products_and_indicators(seed):
    rng = np.random.default_rng(seed)
    m = Model()
    n = int(rng.integers(1, 3))
    b = m.binary("b", n)
    y = m.integer("y", n, lower=-2, upper=rng.integers(0, 3, n))
    u = m.continuous("u", n, lower=-1, upper=rng.integers(1, 5, n))
    total = (y * rng.integers(-3, 4, n)).sum() + (u * (rng.integers(-6, 7, n) / 2)).sum()
    whole = m.product(y + float(rng.integers(-1, 2)), b + y[::-1])
    mixed = m.product(y, u * 0.5 + 1.0)
    total = total + (whole * rng.integers(-2, 3, n)).sum() + (mixed * 1.5).sum()
    m.indicator(b, y + u <= float(rng.integers(-2, 3)), active=bool(rng.integers(2)))
    m.indicator((b, b[::-1]), (u - y).between(-0.5, 1.5), active=(True, bool(rng.integers(2))))
    m.add("row", (b + y).sum() <= float(rng.integers(0, 6)))
    (m.minimize if rng.random() < 0.5 else m.maximize)(total)
    truth = enumerate_optimum(m)
    solution = solve(m, "scip", time_limit=20)
    assert solution.status is truth.status
    if truth.value is not None:
        assert solution.objective == pytest.approx(truth.value, rel=1e-6, abs=1e-6)


def test_scip_gets_a_product_as_rows_where_a_factor_is_binary():
    m = Model()
    b, n, c = m.binary("b", 2), m.integer("n", 2, upper=3), m.continuous("c", 2, upper=2)
    m.product(c, 1 - b, name="switched")
    proto = build(m.compile(backend("scip").native))
    assert len(proto.quadratic_constraints) == 0
    assert len(proto.linear_constraints.ids) == 2 * 4
    m.product(n, c, name="wide")
    proto = build(m.compile(backend("scip").native))
    assert len(proto.quadratic_constraints) == 2


def test_scip_gets_a_binary_product_as_it_is_where_the_other_factor_lacks_a_bound():
    m = Model()
    b, c = m.binary("b"), m.continuous("c")
    m.product(b, c, name="z")
    assert len(build(m.compile(backend("scip").native)).quadratic_constraints) == 1
    m.maximize(m["z"] - 2 * c + 3 * b)
    m.add("some", c >= 1)
    solution = solve(m, "scip")
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(2.0)


def test_the_tolerance_of_scip_is_above_its_zero_beside_quadratic_constraints():
    m = Model()
    n = m.integer("n", 2, upper=3)
    m.add("sum", n[0] + n[1] <= 4)
    scip = backend("scip")
    linear = parameters(scip, m.compile(scip.native), Options()).gscip.real_params
    m.product(n[0], n[1], name="z")
    quadratic = parameters(scip, m.compile(scip.native), Options()).gscip.real_params
    assert linear["numerics/feastol"] == 1e-9
    assert quadratic["numerics/feastol"] == 1e-7


def test_scip_takes_products_of_two_continuous_variables():
    m = Model()
    x = m.continuous("x", 2, upper=[3, 5])
    area = m.product(x[0], x[1])
    m.add("fence", 2 * x.sum() <= 8)
    m.maximize(area)
    assert solve(m, "scip").objective == pytest.approx(4, abs=1e-5)


def test_scip_takes_indicators_on_variables_without_bounds():
    m = Model()
    b, x = m.binary("b"), m.continuous("x")
    m.indicator(b, x <= 2)
    m.maximize(3 * b - x)
    m.add("least", x >= 1)
    assert solve(m, "scip").objective == pytest.approx(2)
    m.maximize(3 * b + x)
    m.add("most", x <= 4)
    assert solve(m, "scip").objective == pytest.approx(5)


@pytest.mark.parametrize("constant", [False, True])
def test_scip_solves_rotated_cones(constant):
    m = Model()
    u, w = m.continuous("u"), m.continuous("w", 2)
    v = 2.0 if constant else m.continuous("v", upper=2)
    m.rotated_cone(u, v, w)
    m.add("w", w == np.array([1.0, 3.0]))
    m.minimize(u)
    assert solve(m, "scip").objective == pytest.approx(5, rel=1e-6)


def test_a_cone_between_two_negative_numbers_is_infeasible():
    m = Model()
    w = m.continuous("w", upper=1)
    m.rotated_cone(-1.0, -2.0, w)
    m.minimize(w)
    assert solve(m, "scip").status is Status.INFEASIBLE


def test_a_large_constant_leaves_scip_no_room_below_the_integrality_tolerance():
    m = Model()
    on, use = m.binary("on"), m.continuous("use", upper=1e5)
    m.add("switch", use <= 1e5 * on)
    m.add("need", use >= 0.05)
    m.minimize(on)
    solution = solve(m, "scip")
    assert (solution.status, solution.objective) == (Status.OPTIMAL, 1)
