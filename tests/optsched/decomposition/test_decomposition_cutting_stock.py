"""Column generation on cutting stock: patterns of one roll, all rolls alike."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Model, Status, solve
from optsched.decomposition import Column, ColumnBlock, ColumnGeneration, Duals, Priced
from optsched.solvers.solution import Limit

PAPER_MILL = {  # width in mm -> rolls ordered, of a 5600 mm parent roll; a textbook case
    1380: 22, 1520: 25, 1560: 12, 1710: 14, 1820: 18, 1880: 18, 1930: 20,
    2000: 10, 2050: 12, 2100: 14, 2140: 16, 2150: 18, 2200: 20,
}  # fmt: skip


def pattern(counts: np.ndarray) -> Column:
    used = np.flatnonzero(counts)
    units = {int(i): int(counts[i]) for i in used}
    return Column(0, 1.0, used, counts[used].astype(float), units, payload=counts)


def best_pattern(capacity: int, sizes: np.ndarray, most: np.ndarray, duals: Duals) -> np.ndarray:
    """The pattern of the largest worth: a knapsack by dynamic programming.

    A term with one condition makes the worth of an item's copies a step function.
    """
    steps: dict[int, list[tuple[int, float]]] = {}
    for term in duals.terms:
        (condition,) = term.conditions
        steps.setdefault(condition.feature, []).append((condition.at_least, term.price))
    best, choices = np.zeros(capacity + 1), []
    for i, size in enumerate(sizes):
        options = [best]
        for k in range(1, most[i] + 1):
            worth = k * duals.rows[i] + sum(p for least, p in steps.get(i, ()) if k >= least)
            reach = capacity + 1 - k * size
            options.append(np.concatenate([np.full(k * size, -np.inf), best[:reach] + worth]))
        table = np.array(options)
        choices.append(table.argmax(axis=0))
        best = table.max(axis=0)
    counts, room = np.zeros(len(sizes), dtype=int), capacity
    for i in reversed(range(len(sizes))):
        counts[i] = choices[i][room]
        room -= counts[i] * sizes[i]
    return counts


def cutting_stock(capacity: int, sizes, demands, **options) -> ColumnGeneration:
    sizes, demands = np.asarray(sizes), np.asarray(demands)
    most = np.minimum(capacity // sizes, demands)

    def price(block: int, duals: Duals) -> Priced:
        column = pattern(best_pattern(capacity, sizes, most, duals))
        return Priced([column], bound=duals.price_of(column))

    rolls = ColumnBlock(lower=0, upper=math.inf, least_cost=1.0)
    no_limit = np.full(len(sizes), np.inf)
    return ColumnGeneration(demands, no_limit, [rolls], price, branching=1, **options)


def assignment_model(capacity: int, sizes: np.ndarray, demands: np.ndarray, rolls: int) -> Model:
    """The textbook model: how many of each item are cut from each roll."""
    m = Model("cutting stock")
    cut = m.integer("cut", (rolls, len(sizes)), upper=demands)
    opened = m.binary("opened", rolls)
    m.minimize(opened.sum())
    m.add("demand", cut.sum(axis=0) >= demands)
    m.add("capacity", cut @ sizes.astype(float) <= capacity * opened)
    m.add("order", opened[1:] <= opened[:-1])
    return m


def first_fit_decreasing(capacity: int, sizes: np.ndarray, demands: np.ndarray) -> int:
    room: list[int] = []
    for size in sorted(np.repeat(sizes, demands), reverse=True):
        for roll, left in enumerate(room):
            if left >= size:
                room[roll] -= size
                break
        else:
            room.append(capacity - size)
    return len(room)


@st.composite
def small_orders(draw):
    capacity = draw(st.integers(8, 20))
    items = draw(st.integers(1, 4))
    sizes = draw(st.lists(st.integers(2, capacity), min_size=items, max_size=items, unique=True))
    demands = draw(st.lists(st.integers(1, 3), min_size=items, max_size=items))
    return capacity, np.array(sizes), np.array(demands)


def test_the_paper_mill_needs_73_rolls():
    widths, orders = np.array(list(PAPER_MILL)) // 10, np.array(list(PAPER_MILL.values()))
    solution = cutting_stock(560, widths, orders).solve(integral_objective=True)
    assert (solution.status, solution.objective, solution.bound) == (Status.OPTIMAL, 73, 73)
    made = sum(times * column.payload for column, times in solution.chosen)
    assert (made >= orders).all()
    assert all(column.payload @ widths <= 560 for column, _ in solution.chosen)


@settings(deadline=None, max_examples=25)
@given(small_orders())
def test_the_optimum_equals_that_of_the_assignment_model(order):
    capacity, sizes, demands = order
    heuristic = first_fit_decreasing(capacity, sizes, demands)
    direct = solve(assignment_model(capacity, sizes, demands, heuristic))
    solution = cutting_stock(capacity, sizes, demands).solve(integral_objective=True)
    assert solution.status is direct.status is Status.OPTIMAL
    assert solution.objective == direct.objective
    assert math.ceil(sizes @ demands / capacity) <= solution.bound == solution.objective
    assert solution.objective <= heuristic


@settings(deadline=None, max_examples=25)
@given(small_orders(), st.sampled_from([0.0, 0.5, 0.9]))
def test_the_bound_of_no_iteration_exceeds_the_relaxation(order, smoothing):
    problem = cutting_stock(*order)
    solution = problem.solve_relaxation(smoothing=smoothing)
    assert solution.status is Status.OPTIMAL
    bounds = [step.bound for step in solution.iterations if step.bound is not None]
    assert bounds
    assert max(bounds) <= solution.objective + 1e-9
    assert solution.objective == pytest.approx(solution.bound)


@pytest.mark.parametrize("gap", [{"absolute_gap": 2.0}, {"gap": 0.02}])
def test_a_relaxation_may_end_when_its_bound_is_near_and_then_says_so(gap):
    rng = np.random.default_rng(0)
    problem = cutting_stock(300, rng.integers(30, 150, 30), rng.integers(1, 40, 30))
    exact, near = problem.solve_relaxation(), problem.solve_relaxation(**gap)
    assert (exact.status, exact.limit) == (Status.OPTIMAL, None)
    assert (near.status, near.limit) == (Status.FEASIBLE, Limit.GAP)
    assert len(near.iterations) < len(exact.iterations)
    most = gap.get("absolute_gap", 0.02 * near.objective)
    assert near.objective - near.bound <= most
    assert near.bound <= exact.objective <= near.objective
    before = [step for step in near.iterations[:-1] if step.bound is not None]
    best = np.maximum.accumulate([step.bound for step in before])
    assert all(step.value - known > most for step, known in zip(before[1:], best, strict=False))


@pytest.mark.parametrize("seed", range(3))
def test_twenty_items_are_cut_to_proven_optimality(seed):
    rng = np.random.default_rng(seed)
    sizes, demands = rng.integers(15, 75, 20), rng.integers(1, 40, 20)
    solution = cutting_stock(150, sizes, demands).solve(integral_objective=True)
    assert solution.status is Status.OPTIMAL
    made = sum(times * column.payload for column, times in solution.chosen)
    assert (made >= demands).all()
    # the round-up property: the optimum is the relaxation rounded up, or one more
    assert solution.objective - solution.root_bound in (0, 1)


def test_triplets_that_fill_their_bins_are_packed_without_waste():
    rng = np.random.default_rng(3)
    first, second = rng.integers(250, 380, 8), rng.integers(250, 370, 8)
    sizes, demands = np.unique(
        np.concatenate([first, second, 1000 - first - second]), return_counts=True
    )
    solution = cutting_stock(1000, sizes, demands).solve(integral_objective=True, time_limit=60)
    assert (solution.status, solution.objective) == (Status.OPTIMAL, 8)


@pytest.mark.parametrize("rounds", [1, 3, 10])
def test_stopping_early_leaves_a_true_bound(rounds):
    rng = np.random.default_rng(0)
    sizes, demands = rng.integers(30, 150, 30), rng.integers(1, 40, 30)
    optimum = 174
    solution = cutting_stock(300, sizes, demands).solve(iteration_limit=rounds)
    assert solution.status in (Status.FEASIBLE, Status.NO_SOLUTION)
    assert solution.limit is Limit.NODES
    assert solution.bound is not None
    assert solution.bound <= optimum


def test_smoothing_misprices_and_still_converges():
    rng = np.random.default_rng(1)
    sizes, demands = rng.integers(15, 75, 20), rng.integers(1, 40, 20)
    values = [
        cutting_stock(150, sizes, demands).solve_relaxation(smoothing=factor)
        for factor in (0.0, 0.5, 0.95)
    ]
    assert any(step.columns == 0 for step in values[2].iterations[:-1])
    assert [v.objective for v in values] == pytest.approx([values[0].objective] * 3)
