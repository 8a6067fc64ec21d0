"""Branch-and-price against the integer program over all columns, and how it ends."""

import itertools
import math

import numpy as np
import pytest
from decomposition_cases import SINGLES, TRIANGLE, cover, listed, sets
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Model, Status, solve
from optsched.decomposition import (
    Column,
    ColumnBlock,
    Condition,
    Duals,
    Term,
    bound,
    branching,
)
from optsched.decomposition.limits import Limits, Restriction
from optsched.decomposition.pool import ColumnPool
from optsched.solvers.solution import Limit


def direct_model(columns, lower, upper, blocks) -> Model:
    m = Model("all columns")
    number = m.integer("number", len(columns), upper=50)
    matrix = np.zeros((len(lower), len(columns)))
    for k, column in enumerate(columns):
        matrix[column.rows, k] = column.values
    m.minimize(number @ np.array([c.cost for c in columns]))
    m.add("rows", (matrix @ number).between(lower, upper))
    per_block = number.sum_by(np.array([c.block for c in columns]), len(blocks))
    few, many = [b.lower for b in blocks], [b.upper for b in blocks]
    m.add("blocks", per_block.between(few, many))
    return m


@st.composite
def problems(draw):
    """Small problems of every kind of block and row; features tell a block's columns apart."""
    kinds = [
        ColumnBlock(least_cost=-5),
        ColumnBlock(lower=0, least_cost=-5),
        ColumnBlock(lower=1, upper=3, least_cost=-5),
        ColumnBlock(lower=0, upper=math.inf, least_cost=1),
    ]
    blocks = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3))
    rows = draw(st.integers(1, 3))
    columns = []
    for b, block in enumerate(blocks):
        features = draw(
            st.lists(st.tuples(*[st.integers(0, 2)] * 2), min_size=1, max_size=7, unique=True)
        )
        for units in features:
            values = np.array(draw(st.tuples(*[st.integers(0, 3)] * rows)), dtype=float)
            cost = draw(st.integers(1 if block.upper > 3 else -5, 20))
            used = np.flatnonzero(values)
            columns.append(Column(b, cost, used, values[used], dict(enumerate(units))))
    lower, upper = np.full(rows, -np.inf), np.full(rows, np.inf)
    for row in range(rows):
        side = draw(st.integers(0, 8))
        kind = draw(st.sampled_from(["at least", "at most", "between"]))
        if kind != "at most":
            lower[row] = side
        if kind != "at least":
            upper[row] = side + (draw(st.integers(0, 2)) if kind == "between" else 0)
    return columns, lower, upper, blocks


@settings(deadline=None, max_examples=80)
@given(
    problems(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0.0, 0.5, 0.8]),
    st.sampled_from([None, 1]),
)
def test_the_optimum_is_that_over_all_columns(problem, whole, heuristic, smoothing, every):
    model = direct_model(*problem)
    direct, relaxed = solve(model), solve(model.relax())
    solution = listed(*problem, heuristic=heuristic, branching=2).solve(
        integral_objective=whole,
        smoothing=smoothing,
        dive_every=every,
        master_every=every,
        time_limit=20,
    )
    unlimited = any(math.isinf(block.upper) for block in problem[3])
    if direct.status is Status.INFEASIBLE and unlimited and solution.limit is Limit.TIME:
        assert solution.status is Status.NO_SOLUTION  # such a tree may have no end, see below
    else:
        assert solution.status is direct.status
    if direct.status is Status.OPTIMAL:
        assert solution.objective == pytest.approx(direct.objective)
        assert solution.bound == pytest.approx(direct.objective)
        for step in solution.iterations:
            at_root = step.node == 0 and step.bound is not None
            assert not at_root or step.bound <= relaxed.objective + 1e-6


@pytest.mark.parametrize("most", [3, math.inf])
def test_a_tree_over_numbers_without_limit_may_have_no_end_and_says_which_limit_ended_it(most):
    half = Column(0, 1.0, np.array([0]), np.array([2.0]), {0: 0})  # 1 in twos, by no number of them
    other = Column(0, 1.0, np.array([], dtype=np.int64), np.array([]), {0: 1})
    block = ColumnBlock(lower=0, upper=most, least_cost=1.0)
    problem = listed([half, other], np.array([1.0]), np.array([1.0]), [block], branching=1)
    solution = problem.solve(node_limit=100)
    if math.isfinite(most):
        assert (solution.status, solution.limit) == (Status.INFEASIBLE, None)
    else:
        assert (solution.status, solution.limit) == (Status.NO_SOLUTION, Limit.NODES)
        assert solution.bound > 10  # it only shows that they would cost more and more


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_of_an_optimum_is_its_cost(seed):
    """Nodes are closed at a cutoff just below the cost, which is not to show in the bound."""
    rng = np.random.default_rng(seed)
    blocks = [ColumnBlock(0, math.inf, least_cost=1.0), ColumnBlock(0, 1, least_cost=-5.0)]
    columns = []
    for block, number in itertools.product(range(2), range(3)):
        values = rng.integers(1, 4, 2).astype(float)
        cost = int(rng.integers(-5 if block else 1, 20))
        columns.append(Column(block, cost, np.arange(2), values, {0: number}))
    problem = listed(columns, np.array([1.0, 2.0]), np.full(2, np.inf), blocks, branching=2)
    solution = problem.solve(dive_every=1, master_every=1)
    assert solution.status is Status.OPTIMAL
    assert solution.bound == pytest.approx(solution.objective, rel=1e-12, abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(problems(), st.integers(1, 12), st.integers(1, 3))
def test_a_search_cut_short_leaves_true_bounds(problem, iterations, nodes):
    direct = solve(direct_model(*problem))
    solution = listed(*problem, branching=2).solve(
        iteration_limit=iterations, node_limit=nodes, dive_every=None, master_every=None
    )
    if direct.status is Status.OPTIMAL:
        assert solution.bound is None or solution.bound <= direct.objective + 1e-6
        assert solution.objective is None or solution.objective >= direct.objective - 1e-6
        assert solution.status is not Status.INFEASIBLE
    else:
        assert not solution.chosen


@settings(deadline=None, max_examples=60)
@given(problems(), st.integers(0, 10**6))
def test_the_lagrangian_value_of_any_prices_bounds_the_relaxation(problem, seed):
    columns, lower, upper, blocks = problem
    relaxed = solve(direct_model(*problem).relax())
    duals = np.random.default_rng(seed).normal(0, 3, len(lower))
    duals = np.clip(
        duals, np.where(np.isinf(upper), 0, -np.inf), np.where(np.isinf(lower), 0, np.inf)
    )
    prices = Duals(rows=duals)
    least = [
        min((prices.price_of(c) for c in columns if c.block == b), default=math.inf)
        for b in range(len(blocks))
    ]
    numbers = np.array([[b.lower for b in blocks], [b.upper for b in blocks]])
    value = bound.lagrangian_value(duals, (lower, upper), np.array(least), numbers, blocks)
    assert value < math.inf
    if relaxed.status is Status.OPTIMAL:
        assert value <= relaxed.objective + 1e-9 * max(1, abs(value))


def test_prices_of_unlimited_columns_are_scaled_down_until_they_are_fair():
    rolls = [ColumnBlock(lower=0, upper=math.inf, least_cost=1.0)]
    sides, numbers = (np.array([10.0]), np.array([np.inf])), (np.zeros(1), np.full(1, np.inf))
    value = bound.lagrangian_value(np.array([2.0]), sides, np.array([-3.0]), numbers, rolls)
    # a column worth 4 at a cost of 1: prices may be a quarter, 10 * 2 / 4
    assert value == pytest.approx(5.0)


# branching


def test_the_triangle_is_covered_by_halves_and_by_no_whole_sets():
    relaxed = cover(TRIANGLE).solve_relaxation()
    assert (relaxed.status, relaxed.objective) == (Status.OPTIMAL, pytest.approx(1.5))
    assert sorted(times for _, times in relaxed.chosen) == pytest.approx([0.5] * 3)
    assert cover(TRIANGLE, branching=2).solve().status is Status.INFEASIBLE


ALONE = {"dive_every": None, "master_every": None}


def test_a_solution_known_is_the_answer_until_it_is_beaten():
    problem = cover(TRIANGLE | SINGLES, branching=2, known=sets(SINGLES))
    assert problem.solve(iteration_limit=1, **ALONE).objective == 6.0
    beaten = problem.solve(**ALONE)
    assert (beaten.status, beaten.objective) == (Status.OPTIMAL, 3.0)


def test_columns_known_that_solve_nothing_are_not_a_solution():
    problem = cover(TRIANGLE | SINGLES, branching=2, known=sets({(0,): 2.0, (1,): 2.0}))
    assert problem.solve(iteration_limit=1, **ALONE).objective is None
    assert problem.solve(**ALONE).objective == 3.0


def test_a_triangle_with_single_sets_is_solved_by_branching():
    solution = cover(TRIANGLE | SINGLES, branching=2).solve(dive_every=None, master_every=None)
    assert (solution.status, solution.objective) == (Status.OPTIMAL, 3.0)
    assert solution.nodes > 1
    assert sorted(len(c.rows) for c, _ in solution.chosen) == [1, 2]


def test_pairs_of_conditions_are_counted_where_single_ones_are_whole():
    pool = ColumnPool(3)
    pool.extend(
        Column(0, 1.0, np.array(p), np.ones(2), features=dict.fromkeys(p, 1)) for p in TRIANGLE
    )
    weights, blocks = np.full(3, 0.5), [ColumnBlock(lower=0, upper=4)]
    pool.extend([Column(0, 1.0, np.zeros(0, dtype=int), np.zeros(0), {"none": 1})])
    whole_total = np.append(weights, 0.5)
    found = branching.find_branchings(pool, whole_total, blocks, 2)[0]
    assert found.conditions == {Condition("none", 1)}
    pool = ColumnPool(3)
    pool.extend(
        Column(0, 1.0, np.array(p), np.ones(2), features=dict.fromkeys(p, 1)) for p in TRIANGLE
    )
    pool.extend([Column(0, 1.0, np.zeros(0, dtype=int), np.zeros(0))])
    assert branching.find_branchings(pool, whole_total, blocks, 1) == []
    found = branching.find_branchings(pool, whole_total, blocks, 2)[0]
    assert len(found.conditions) == 2
    assert found.number == pytest.approx(0.5)


def test_without_branching_the_search_says_what_it_could_not_prove():
    solution = cover(TRIANGLE | SINGLES, single_sets_known=True).solve()
    assert (solution.status, solution.objective) == (Status.FEASIBLE, 3.0)
    assert solution.bound == pytest.approx(1.5)
    assert "no branching" in solution.message


def test_restrictions_on_single_columns_become_bounds_on_their_features():
    blocks = [ColumnBlock(lower=0), ColumnBlock(lower=0, upper=5)]
    at_least_two = frozenset([Condition("x", 2)])
    limits = Limits.of(
        blocks,
        [
            Restriction(0, at_least_two, 1, math.inf),
            Restriction(0, frozenset([Condition("y", 1)]), 0, 0),
            Restriction(1, at_least_two, 2, math.inf),
            Restriction(1, at_least_two, 0, 3),
            Restriction(1, frozenset(), 0, 4),
        ],
    )
    assert limits.lower.tolist() == [1, 0]
    assert limits.upper.tolist() == [1, 4]
    assert (limits.least, limits.most) == ({0: {"x": 2}}, {0: {"y": 0}})
    assert limits.rows == {(1, at_least_two): (2, 3)}
    assert not limits.empty
    contradiction = Restriction(0, at_least_two, 0, 0)
    assert Limits.of(blocks, [Restriction(0, at_least_two, 1, 1), contradiction]).empty


def test_a_term_applies_where_all_its_conditions_hold():
    both = Term(frozenset([Condition("x", 1), Condition("y", 2)]), price=5.0)
    duals = Duals(rows=np.array([2.0]), terms=(both,))
    row, one = np.array([0]), np.ones(1)
    assert duals.price_of(Column(0, 10.0, row, one, {"x": 1, "y": 2})) == 3.0
    assert duals.price_of(Column(0, 10.0, row, one, {"x": 1, "y": 1})) == 8.0
