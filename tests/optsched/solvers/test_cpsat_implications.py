"""Rows over two binaries that CP-SAT gets as implications."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Model, solve
from optsched.solvers.cpsat.backend import CpSat
from optsched.solvers.cpsat.implications import implications, rows_over_two_binaries
from optsched.solvers.cpsat.integer import integer_model
from optsched.solvers.cpsat.proto import build
from optsched.solvers.scaling import scale_rows

COLUMNS = 5


def true(literal: int, point: np.ndarray) -> bool:
    """Whether a literal, as the solver writes it, holds at a 0/1 point."""
    return bool(point[literal] if literal >= 0 else 1 - point[-literal - 1])


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 6))
def test_implications_allow_the_points_that_the_rows_allow(seed, count):
    rng = np.random.default_rng(seed)
    m = Model()
    x = m.integer("x", COLUMNS, upper=rng.integers(0, 2, COLUMNS) if seed % 3 else 1)
    pairs = np.array([rng.choice(COLUMNS, 2, replace=False) for _ in range(count)])
    weights = rng.integers(-3, 4, (count, 2)) + 0.1 * (seed % 2)
    least, most = np.sort(rng.integers(-4, 5, (2, count)).astype(float), axis=0)
    least[rng.random(count) < 0.3] = -np.inf
    most[rng.random(count) < 0.3] = np.inf
    m.add("rows", (weights * x[pairs]).sum(axis=1).between(least, most))
    compiled = m.compile()
    chosen = rows_over_two_binaries(compiled.rows, compiled.lower, compiled.upper)
    scaled = scale_rows(compiled.rows, compiled.lower, compiled.upper)
    said = implications(compiled.rows, scaled, chosen)
    left = np.flatnonzero(~chosen)  # a weight of 0 leaves one column
    for values in itertools.product(*(range(int(u) + 1) for u in compiled.upper)):
        point = np.array(values)
        held = all(
            all(true(c, point) for c in conclusions)
            for premise, conclusions in said
            if true(premise, point)
        )
        activity = compiled.rows.matrix @ point
        fits = (activity >= compiled.rows.lower - 1e-9) & (activity <= compiled.rows.upper + 1e-9)
        assert held == fits[chosen].all()
        assert len(left) + chosen.sum() == count


def test_rows_that_share_a_variable_are_one_implication():
    m = Model()
    x, y = m.binary("x", 100), m.binary("y", 2)
    m.add("placed", x <= y[np.arange(100) % 2])
    proto = build(integer_model(m.compile(), CpSat()))
    assert len(proto.constraints) == 2
    assert sorted(list(c.enforcement_literal) for c in proto.constraints) == [[-102], [-101]]
    assert all(len(c.bool_and.literals) == 50 for c in proto.constraints)


def test_rows_that_hold_anyway_say_nothing():
    m = Model()
    x = m.binary("x", 100)
    m.add("loose", x[:-1] + x[1:] <= 2)
    assert len(build(integer_model(m.compile(), CpSat())).constraints) == 0


def test_rows_that_nothing_satisfies_leave_no_point():
    m = Model()
    x = m.binary("x", 100)
    m.add("torn", x[:-1] + x[1:] >= 3)
    assert solve(m, "cpsat").status == "infeasible"


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_many_rows_over_two_binaries_have_the_optimum_that_highs_finds(seed):
    rng = np.random.default_rng(seed)
    m = Model()
    x, n = m.binary("x", 12), m.integer("n", 3, upper=3)
    a, b = rng.integers(0, 12, (2, 80))
    b = np.where(a == b, (b + 1) % 12, b)
    m.add("pairs", rng.choice([-1.0, 1.0], 80) * x[a] + x[b] <= rng.integers(1, 3, 80))
    m.add("wide", x[:3] + n <= 3)
    m.maximize(rng.integers(-5, 9, 12) @ x + n.sum())
    answers = [solve(m, solver) for solver in ("cpsat", "highs")]
    assert {one.status for one in answers} == {"optimal"}
    assert answers[0].objective == answers[1].objective
