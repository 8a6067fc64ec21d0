"""Products, powers and ratios of reals: small classics with known optima, and who refuses them."""

import numpy as np
import pytest

from optsched import Model, ModelError, UnsupportedError, solve
from optsched.solvers.registry import available
from optsched.solvers.solution import Status

GLOBAL = [name for name in ("scip", "gurobi") if name in available()]
"""Solvers that take products of reals."""

every_solver = pytest.mark.parametrize("solver", GLOBAL)


def haverly(demand: float) -> Model:
    """Haverly's pooling problem (1978): two crudes share a tank, a third is blended in later.

    Sulphur in percent: 3 and 1 in the tank, 2 in what is added; at most 2.5 and 1.5 in what is
    sold, of which the first has this demand.
    """
    m = Model("pooling")
    crude = m.continuous("crude", 2, upper=800)
    sold = m.continuous("sold", 2, upper=[demand, 200])
    pool, added = m.continuous("pool", 2, upper=600), m.continuous("added", 2, upper=600)
    sulphur = m.continuous("sulphur", lower=1, upper=3)
    m.add("tank", crude.sum() == pool.sum())
    m.add("content", np.array([3, 1]) @ crude == m.product(sulphur, pool).sum())
    m.add("blend", pool + added == sold)
    limit = np.array([2.5, 1.5])
    m.add("quality", m.product(sulphur, pool, name="in") + 2 * added <= sold * limit)
    m.maximize(sold @ [9, 15] - crude @ [6, 16] - 10 * added.sum())
    return m


@every_solver
@pytest.mark.parametrize(("demand", "profit"), [(100, 400), (600, 600)])
def test_haverlys_pools_earn_what_is_known(solver, demand, profit):
    solution = solve(haverly(demand), solver)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(profit, rel=1e-5)


@every_solver
def test_rosenbrocks_valley_has_its_floor_at_one_and_one(solver):
    m = Model()
    x, y = m.continuous("x", lower=-2, upper=2), m.continuous("y", lower=-2, upper=2)
    m.minimize(m.power(1 - x, 2) + 100 * m.power(y - m.power(x, 2), 2))
    solution = solve(m, solver)
    assert solution.objective == pytest.approx(0, abs=1e-5)
    # a square below the tolerance leaves its argument free up to the root of the tolerance
    assert (solution["x"], solution["y"]) == pytest.approx((1, 1), abs=5e-3)


@every_solver
def test_the_six_hump_camel_is_found_at_its_lowest(solver):
    m = Model()
    x, y = m.continuous("x", lower=-2, upper=2), m.continuous("y", lower=-1, upper=1)
    bends = 4 * m.power(x, 2) - 2.1 * m.power(x, 4) + m.power(x, 6) / 3
    m.minimize(bends + m.product(x, y) - 4 * m.power(y, 2) + 4 * m.power(y, 4))
    assert solve(m, solver).objective == pytest.approx(-1.0316284535, abs=1e-5)


@every_solver
def test_a_ratio_is_greatest_where_the_substitution_of_charnes_and_cooper_says(solver):
    rng = np.random.default_rng(5)
    gain, spend, use = rng.uniform(1, 5, (3, 4))
    m = Model()
    x = m.continuous("x", 4, upper=2)
    m.add("room", use @ x <= 6)
    m.maximize(m.ratio(gain @ x + 1, spend @ x + 2))
    linear = Model()
    scaled, unit = linear.continuous("scaled", 4), linear.continuous("unit", upper=1)
    linear.add("upper", scaled <= 2 * unit)
    linear.add("room", use @ scaled <= 6 * unit)
    linear.add("divisor", spend @ scaled + 2 * unit == 1)
    linear.maximize(gain @ scaled + unit)
    assert solve(m, solver).objective == pytest.approx(solve(linear).objective, rel=1e-6)


@every_solver
def test_a_small_divisor_leaves_the_ratio_right(solver):
    m = Model()
    x, y = m.continuous("x", lower=1e-4, upper=1), m.continuous("y", lower=5e-3, upper=0.05)
    m.minimize(m.ratio(x, y, name="z") + y)  # twice the root of x, at y the root
    solution = solve(m, solver)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(0.02, abs=1e-6)


@every_solver
@pytest.mark.parametrize("seed", range(6))
def test_whole_points_of_a_polynomial_agree_with_all_of_them(solver, seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(-4, 5, 5).astype(float)
    m = Model()
    x, y = m.integer("x", lower=-3, upper=4), m.integer("y", lower=-2, upper=3)
    terms = m.stack(m.power(x, 3), m.power(y, 4), m.product(x, y), m.product(m.power(x, 2), y), x)
    m.add("circle", m.power(x, 2) + m.power(y, 2) <= 12)
    m.maximize(terms @ weights)
    a, b = np.meshgrid(np.arange(-3, 5), np.arange(-2, 4))
    value = np.tensordot(weights, np.array([a**3, b**4, a * b, a**2 * b, a]), 1)
    best = value[a**2 + b**2 <= 12].max()
    for name in (solver, "highs", "cpsat"):
        assert solve(m, name).objective == pytest.approx(best, abs=1e-4), name


def curve(m: Model) -> None:
    m.power(m.continuous("x", lower=-1, upper=1), 3)


def square(m: Model) -> None:
    m.power(m.continuous("x", lower=-1, upper=1), 2)


def pair(m: Model) -> None:
    m.product(m.continuous("x", upper=1), m.continuous("y", upper=1))


def share(m: Model) -> None:
    m.ratio(m.continuous("x", upper=1), m.continuous("y", lower=1, upper=2))


@pytest.mark.parametrize(
    ("state", "helps"),
    [
        (curve, "m.piecewise"),
        (square, "m.sum_of_squares"),
        (pair, "binary or whole steps"),
        (share, r"x <= c \* y"),
    ],
)
@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_other_solvers_say_who_takes_it_and_what_would_help(solver, state, helps):
    m = Model()
    state(m)
    m.minimize(m["x"])
    with pytest.raises(ModelError, match=rf"such as scip; elsewhere.*{helps}"):
        solve(m, solver)


def test_cpsat_names_the_variable_that_is_no_integer():
    m = Model()
    pair(m)
    m.minimize(m["x"])
    with pytest.raises(UnsupportedError, match="x is continuous: declare it integer"):
        solve(m, "cpsat")
