"""Goals in order, the least that must be given up, and what the package offers by name."""

import itertools

import numpy as np
import pytest

from optsched import InputError, Model, solve
from optsched.analysis.elastic import least_given_up
from optsched.analysis.lexicographic import solve_in_order


def model(rng: np.random.Generator) -> Model:
    m = Model()
    x = m.integer("x", 3, upper=3)
    m.add("work", x @ rng.integers(1, 4, 3).astype(float) >= 5)
    return m


@pytest.mark.parametrize("solver", ["highs", "cpsat"])
@pytest.mark.parametrize("seed", range(5))
def test_goals_in_order_give_the_first_point_of_the_sorted_list(solver, seed):
    rng = np.random.default_rng(seed)
    m = model(rng)
    x, weights = m["x"], rng.integers(-2, 3, (3, 3)).astype(float)
    goals = [("min", weights[0] @ x), ("max", weights[1] @ x), ("min", weights[2] @ x + 1)]
    points = [np.array(p, float) for p in itertools.product(range(4), repeat=3)]
    signs = np.array([1.0, -1.0, 1.0])
    best = min(tuple(signs * (weights @ p)) for p in points if not m.violations({"x": p}))
    found = solve_in_order(m, goals, solver)
    assert [s.objective for s in found] == [best[0], -best[1], best[2] + 1]
    assert m.objective is None
    assert len(m.blocks) == 1


def test_slack_lets_a_goal_be_worse_for_those_after_it():
    m = Model()
    x = m.continuous("x", 2, upper=10)
    m.add("all", x.sum() >= 10)
    goals = [("min", x[0] + 2 * x[1]), ("max", x[1])]
    assert solve_in_order(m, goals)[-1].objective == pytest.approx(0.0, abs=1e-6)
    assert solve_in_order(m, goals, slack=0.2)[-1].objective == pytest.approx(2.0)


def test_an_end_that_is_not_optimal_is_the_last_of_goals():
    m = Model()
    x = m.continuous("x")
    found = solve_in_order(m, [("max", x), ("min", x)])
    assert [s.status for s in found] == ["unbounded"]


def test_goals_that_say_nothing_are_refused():
    m = Model()
    x = m.continuous("x", upper=1)
    with pytest.raises(InputError, match="at least one"):
        solve_in_order(m, [])
    with pytest.raises(InputError, match=r"goals\[0\] = 'least': 'min' or 'max'"):
        solve_in_order(m, [("least", x)])
    with pytest.raises(InputError, match="slack"):
        solve_in_order(m, [("min", x)], slack=-1)


@pytest.mark.parametrize("seed", range(5))
def test_the_least_given_up_is_what_listing_every_point_finds(seed):
    rng = np.random.default_rng(seed)
    m = Model()
    x = m.integer("x", 3, upper=3)
    rows, sides = rng.integers(-2, 3, (4, 3)).astype(float), rng.integers(-3, 2, 4).astype(float)
    m.add("rows", rows @ x <= sides)
    m.add("all", x.sum() == 6)
    m.add("kept", x[0] >= 1)
    weight = rng.integers(1, 5, 4).astype(float)
    costs = [
        weight @ np.maximum(0, rows @ p - sides) + 2 * abs(p.sum() - 6)
        for p in map(np.array, itertools.product(range(4), repeat=3)) if p[0] >= 1
    ]  # fmt: skip
    found = least_given_up(m, {"rows": weight, "all": 2.0})
    assert found.solution.objective == pytest.approx(min(costs))
    point = found.solution["x"]
    np.testing.assert_allclose(found.amounts.get("rows", np.zeros(4)),
                               np.maximum(0, rows @ point - sides), atol=1e-6)  # fmt: skip


def test_nothing_is_given_up_where_the_model_has_a_solution():
    m = model(np.random.default_rng(0))
    m.minimize(m["x"].sum())
    found = least_given_up(m)
    assert found.solution.objective == 0.0
    assert found.amounts == {}
    assert solve(m).status == "optimal"


def test_weights_of_what_is_no_row_are_refused():
    m = model(np.random.default_rng(0))
    m.absolute(m["x"], name="size")
    with pytest.raises(InputError, match=r"weights\['size'\] = 1: a linear block: work"):
        least_given_up(m, {"size": 1})
    with pytest.raises(InputError, match="above 0"):
        least_given_up(m, {"work": 0.0})
