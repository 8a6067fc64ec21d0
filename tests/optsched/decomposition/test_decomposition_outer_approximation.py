"""Outer approximation of rotated cones against closed forms and brute force."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Model, Status, solve
from optsched.decomposition import solve_with_cuts
from optsched.decomposition.cones import TOLERANCE, tangents
from optsched.model.blocks import RotatedCone
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit

CLOSE = 2e-6  # relative: a point may lie outside its cones by the tolerance


def cone_of(model: Model) -> RotatedCone:
    return next(b for b in model.blocks.values() if isinstance(b, RotatedCone))


def shares(work: np.ndarray, capacity: float) -> Model:
    """Split a capacity among tasks, each taking work / share: a sum of hyperbolas."""
    m = Model("shares")
    share = m.continuous("share", len(work), upper=capacity)
    time = m.continuous("time", len(work))
    m.rotated_cone(time, share, 0 * share + np.sqrt(work))
    m.add("capacity", share.sum() <= capacity)
    m.minimize(time.sum())
    return m


def nearest(target: np.ndarray, most: int, total: int) -> Model:
    """The integer point nearest to a target: a sum of squares."""
    m = Model("nearest point")
    x = m.integer("x", len(target), upper=most)
    square = m.continuous("square", len(target))
    m.rotated_cone(square, 1.0, x - target)
    m.add("total", x.sum() <= total)
    m.minimize(square.sum())
    return m


def random_cone() -> tuple[Model, RotatedCone]:
    m = Model("cone")
    u, v, w = m.continuous("u", 4), m.continuous("v", 4), m.continuous("w", (4, 2), lower=-np.inf)
    m.rotated_cone(u, v, w)
    return m, cone_of(m)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**6))
def test_a_tangent_cuts_off_its_point_and_no_point_of_the_cone(seed):
    rng = np.random.default_rng(seed)
    _, cone = random_cone()
    w = rng.normal(0, 2, (4, 2))
    v = rng.exponential(1.0, 4) + 1e-3
    outside = np.concatenate([0.5 * (w**2).sum(axis=1) / v, v, w.reshape(-1)])
    rows = tangents(cone, outside)
    assert rows is not None
    broken = rows.expression.at(outside) - rows.upper
    assert (broken > 0).sum() == (cone.excess(outside) > TOLERANCE).sum() > 0
    for _ in range(20):
        w = rng.normal(0, 3, (4, 2))
        v = rng.exponential(1.0, 4) + 1e-3
        slack = rng.choice([0.0, 1.0], 4) * rng.exponential(1.0, 4)
        inside = np.concatenate([(w**2).sum(axis=1) / v + slack, v, w.reshape(-1)])
        assert (rows.expression.at(inside) <= rows.upper + 1e-9 * np.abs(inside).max()).all()
    assert tangents(cone, inside) is None


def test_a_tangent_has_no_coefficient_that_solvers_refuse():
    m = Model()
    u, v, w = m.continuous("u", upper=9), m.continuous("v", upper=9), m.continuous("w", 2)
    m.rotated_cone(u, v, w, name="cone")
    cone = cone_of(m)
    for point in ([4.0, 0.0, 1e-13, 1.0], [9.0, 0.0, 1e-2, 1e-13], [1e-14, 1.0, 1e-2, 0.0]):
        relation = tangents(cone, np.array(point))
        assert relation is not None
        m.add("tangent", relation)
        row = m.compile(m.kinds).rows.matrix[[-1]].toarray()
        del m.blocks["tangent"]
        assert np.abs(row[row != 0]).min() > 1e-11


def test_the_apex_and_points_below_it_have_no_tangent():
    m, cone = random_cone()
    assert tangents(cone, np.zeros(m.columns)) is None
    below = np.concatenate([-np.ones(8), np.zeros(8)])
    assert tangents(cone, below) is None


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_farthest_point_of_a_ball_lies_along_the_objective(n):
    direction = np.arange(1.0, n + 1)
    m = Model("ball")
    x = m.continuous("x", n, lower=-np.inf)
    m.maximize(x @ direction)
    m.rotated_cone(2.0, 4.5, x)  # radius 3
    solution = solve(m)
    assert solution.status is Status.OPTIMAL
    assert solution.checked
    assert solution.objective == pytest.approx(3 * np.linalg.norm(direction), rel=CLOSE)
    assert solution.bound >= 3 * np.linalg.norm(direction) * (1 - 1e-9)
    assert m.violations(solution.values) == []


@settings(deadline=None, max_examples=10)
@given(st.lists(st.floats(0.5, 20), min_size=1, max_size=6), st.floats(1, 10))
def test_shares_of_a_capacity_follow_square_roots(work, capacity):
    work = np.array(work)
    solution = solve(shares(work, capacity))
    optimum = np.sqrt(work).sum() ** 2 / capacity
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(optimum, rel=1e-5)  # small shares are steep
    assert solution.bound <= optimum * (1 + 1e-7)
    assert "tangents" in solution.message


@settings(deadline=None, max_examples=15)
@given(
    st.lists(st.floats(-1, 4).map(lambda v: round(v, 2)), min_size=1, max_size=4),
    st.integers(0, 8),
)
def test_the_nearest_integer_point_is_that_of_brute_force(target, total):
    goal = np.array(target)
    best = min(
        ((np.array(p) - goal) ** 2).sum()
        for p in itertools.product(range(4), repeat=len(goal))
        if sum(p) <= total
    )
    solution = solve(nearest(goal, 3, total))
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(best, rel=CLOSE, abs=CLOSE)
    assert solution.bound <= best + 1e-7 * max(1.0, best)
    assert np.array_equal(solution["x"], np.round(solution["x"]))


@pytest.mark.parametrize("solver", ["highs", "cpsat"])
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_integer_points_of_a_paraboloid_are_those_of_brute_force(solver, seed):
    rng = np.random.default_rng(seed)
    matrix, offset = rng.integers(-2, 3, (2, 3)), rng.integers(-3, 4, 2)
    slope, room, cost = rng.integers(0, 3, 3), rng.integers(1, 7), rng.integers(-4, 5, 3)
    m = Model("paraboloid")
    x = m.integer("x", 3, upper=3)
    m.rotated_cone(x @ slope + 1.0, float(room) - 0.5, matrix @ x + offset)
    m.minimize(x @ cost)
    points = np.array(list(itertools.product(range(4), repeat=3)))
    square = ((points @ matrix.T + offset) ** 2).sum(axis=1)
    inside = square <= (points @ slope + 1) * (room - 0.5)
    solution = solve(m, solver)
    if inside.any():
        best = (points[inside] @ cost).min()
        assert solution.status is Status.OPTIMAL
        assert solution.objective == best
        assert solution.bound == pytest.approx(best)
    else:
        assert solution.status is Status.INFEASIBLE


def test_choosing_and_sharing_at_once_agrees_with_every_choice_in_turn():
    work, charge = np.array([1.0, 4.0, 2.0, 6.0, 3.0]), np.array([0.9, 2.0, 1.2, 2.4, 2.1])
    m = Model("choose and share")
    chosen = m.binary("chosen", 5)
    share = m.continuous("share", 5, upper=6)
    time = m.continuous("time", 5)
    m.rotated_cone(time, share, chosen * np.sqrt(work))
    m.add("capacity", share.sum() <= 6)
    m.minimize(time.sum() + (1 - chosen) @ charge)
    best = min(
        (np.sqrt(work) * z).sum() ** 2 / 6 + ((1 - z) * charge).sum()
        for z in map(np.array, itertools.product((0, 1), repeat=5))
    )
    solution = solve(m)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(best, rel=CLOSE)


def test_an_objective_that_runs_off_without_the_cone_is_held_by_it():
    m = Model("held")
    u, v, w = m.continuous("u"), m.continuous("v"), m.continuous("w")
    m.rotated_cone(u, v, w)
    m.add("sum", u + v == 6)
    m.maximize(w)
    assert solve(m).objective == pytest.approx(3, rel=CLOSE)
    free = m.without("sum")
    free.minimize(u + v - w)  # u + v >= 2 w on the cone
    assert solve(free).objective == pytest.approx(0, abs=CLOSE)
    free.minimize(u + v - 3 * w)
    assert solve(free).status is Status.INFEASIBLE_OR_UNBOUNDED


def test_a_cone_that_nothing_satisfies_is_infeasible():
    m = Model("too little room")
    u = m.continuous("u", upper=1)
    w = m.continuous("w", lower=2, upper=3)
    m.rotated_cone(u, 1.0, w)
    assert solve(m).status is Status.INFEASIBLE


def test_a_limit_leaves_a_true_bound():
    work = np.linspace(1, 5, 30)
    optimum = np.sqrt(work).sum() ** 2 / 10
    solution = solve(shares(work, 10.0), time_limit=0.02)
    assert (solution.status, solution.limit) == (Status.NO_SOLUTION, Limit.TIME)
    assert solution.bound is None or solution.bound <= optimum


def test_cuts_of_ones_own_and_tangents_of_cones_are_found_side_by_side():
    m = Model("disc and half-plane")
    x = m.continuous("x", 2, upper=4)
    m.rotated_cone(2.0, 2.0, x)  # radius 2
    m.maximize(x.sum())

    def half(values):
        return [("half", x[0] <= 1)] if values["x"][0] > 1 + 1e-9 else []

    result = solve_with_cuts(m, half, "highs")
    solution = result.solution
    assert solution.status is Status.OPTIMAL
    assert solution.checked
    assert solution.objective == pytest.approx(1 + np.sqrt(3), rel=CLOSE)
    assert m.violations(solution.values) == result.model.violations(solution.values) == []
    assert "rotated_cone" in {block.kind for block in result.model.blocks.values()}
    by_scip = solve_with_cuts(m, half, "scip").solution  # which takes cones
    assert by_scip.objective == pytest.approx(solution.objective, rel=1e-5)


def test_a_model_without_cones_is_solved_as_it_is():
    m = Model("linear")
    x = m.integer("x", upper=3.5)
    m.maximize(x)
    solution = solve_with_cuts(m, options=Options()).solution
    assert (solution.status, solution.objective) == (Status.OPTIMAL, 3)


def test_a_model_that_was_cut_can_be_solved_and_cut_again():
    m = Model()
    x = m.continuous("x", 2)
    m.add("s", x.sum() == 1)
    m.minimize(m.sum_of_squares(x, name="square"))
    cut = solve_with_cuts(m).model
    assert solve(cut).objective == pytest.approx(0.5, abs=CLOSE)
    assert solve_with_cuts(cut).solution.objective == pytest.approx(0.5, abs=CLOSE)


def least_norm(n: int) -> Model:
    """Half the sum of squares of free columns less what the rows let the last column be."""
    rng = np.random.default_rng(60001)
    a = rng.integers(-5, 6, (20, n)).astype(float)
    slope, side = (rng.integers(low, 6, 20).astype(float) for low in (1, 0))
    m = Model()
    x, z = m.continuous("x", n, lower=-np.inf), m.continuous("z")
    m.add("rows", a @ x + slope * z <= side)
    m.minimize(0.5 * m.sum_of_squares(x) - z)
    return m


@pytest.mark.parametrize(("n", "optimum"), [(20, -0.9992979), (60, -1.1837031)])
def test_squares_of_free_columns_have_their_optimum_in_few_rounds(n, optimum):
    solution = solve(least_norm(n))
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(optimum, rel=1e-6)
    assert set(solution.values) == set(least_norm(n).variables)
    assert int(re.search(r"(\d+) rounds", solution.message)[1]) <= 20


def test_a_large_sum_of_squares_is_met_to_a_millionth_of_itself():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(30, 20)), 50 * rng.normal(size=30)
    m = Model()
    x = m.continuous("x", 20, lower=-np.inf)
    m.minimize(m.sum_of_squares(a @ x - b))
    residual = float(np.linalg.lstsq(a, b)[1][0])
    assert solve(m).objective == pytest.approx(residual, rel=1e-6)


def test_a_relaxation_still_unbounded_when_time_ends_is_no_answer():
    """The rows that bound it were to come."""
    m = Model()
    x = m.continuous("x", lower=-np.inf)
    v = m.continuous("v", lower=1, upper=2)
    m.rotated_cone(m.continuous("u", upper=1), v, x)
    m.maximize(x)
    for limit, status in ((None, Status.OPTIMAL), (1e-3, Status.NO_SOLUTION)):
        solution = solve(m, time_limit=limit)
        assert solution.status is status
    assert solution.limit is Limit.TIME
