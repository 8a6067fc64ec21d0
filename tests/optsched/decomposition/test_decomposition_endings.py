"""How branch-and-price ends: without an answer, at limits, and on what it cannot accept."""

import itertools
import math
import threading

import numpy as np
import pytest
from decomposition_cases import TRIANGLE, cover, listed

from optsched import InputError, Status
from optsched.decomposition import (
    Column,
    ColumnBlock,
    ColumnGeneration,
    Condition,
    Duals,
    GenerationOptions,
    Priced,
    PricingError,
)
from optsched.decomposition.generation import Generator
from optsched.decomposition.limits import Limits, Restriction
from optsched.decomposition.master import RestrictedMaster
from optsched.decomposition.nodes import Budget
from optsched.solvers.solution import Limit


def test_a_block_that_must_have_a_column_and_has_none_is_infeasible():
    problem = listed([], [0], [1], [ColumnBlock()])
    assert problem.solve().status is Status.INFEASIBLE
    assert problem.solve_relaxation().status is Status.INFEASIBLE


def test_nothing_to_choose_is_an_optimal_choice_of_nothing():
    solution = listed([], [-np.inf], [1], [ColumnBlock(lower=0)]).solve()
    assert (solution.status, solution.objective, solution.chosen) == (Status.OPTIMAL, 0.0, ())


def test_profit_without_end_has_no_optimum():
    columns = [Column(0, -1.0, np.zeros(0, dtype=int), np.zeros(0))]
    problem = listed(columns, [], [], [ColumnBlock(lower=0, upper=math.inf)])
    assert problem.solve().status is Status.INFEASIBLE_OR_UNBOUNDED


def test_the_stop_event_ends_the_search_with_what_is_known():
    stop = threading.Event()
    calls = itertools.count()

    def price(block: int, duals: Duals) -> Priced:
        if next(calls) == 3:
            stop.set()
        value = np.zeros(6)
        best = np.argsort(-duals.rows)[:2]
        value[best] = 1.0
        column = Column(0, 1.0, np.sort(best), np.ones(2))
        return Priced([column], bound=duals.price_of(column))

    blocks = [ColumnBlock(lower=0, upper=math.inf, least_cost=1.0)]
    solution = ColumnGeneration([1] * 6, [1] * 6, blocks, price).solve(stop=stop)
    assert solution.status is Status.INTERRUPTED
    assert solution.bound is None or solution.bound <= 3


def test_no_block_is_priced_once_the_search_is_to_end():
    stop, asked = threading.Event(), []

    def price(block: int, duals: Duals) -> Priced:
        asked.append(block)
        stop.set()
        return Priced(bound=0.0)

    solution = ColumnGeneration([1], [1], [ColumnBlock() for _ in range(5)], price).solve(stop=stop)
    assert asked == [0]
    assert solution.status is Status.INTERRUPTED


def test_a_time_limit_is_kept_between_pricing_calls():
    def price(block: int, duals: Duals) -> Priced:
        assert duals.seconds <= 0.5
        threading.Event().wait(0.2)
        return Priced([Column(0, 1.0, np.array([0]), np.ones(1), payload=duals)])

    problem = ColumnGeneration([2, 1], [2, 1], [ColumnBlock(lower=0, upper=9)], price)
    solution = problem.solve(time_limit=0.5)
    assert (solution.status, solution.limit) == (Status.NO_SOLUTION, Limit.TIME)


def test_pricing_without_proof_gives_solutions_and_no_bound():
    columns = [Column(0, 1.0, np.array([i]), np.ones(1)) for i in range(3)]

    def price(block: int, duals: Duals) -> Priced:
        return Priced([min(columns, key=duals.price_of)])

    blocks = [ColumnBlock(lower=0, upper=5)]
    solution = ColumnGeneration([1] * 3, [np.inf] * 3, blocks, price).solve()
    assert (solution.status, solution.objective) == (Status.FEASIBLE, 3.0)
    assert solution.bound is None
    assert "did not prove" in solution.message


def test_a_bound_above_a_known_price_is_caught():
    columns = [Column(0, float(c), np.array([0]), np.ones(1)) for c in (3, 2)]

    def price(block: int, duals: Duals) -> Priced:
        return Priced([columns[0]], bound=duals.price_of(columns[0]))  # forgets the cheaper one

    problem = ColumnGeneration([1], [1], [ColumnBlock()], price, initial=columns[1:])
    solution = problem.solve()
    assert (solution.status, solution.bound) == (Status.ERROR, None)
    assert "exceeds the price" in solution.message


def test_a_column_that_branching_forbids_is_caught():
    columns = [Column(0, 1.0, np.array(p), np.ones(2), dict.fromkeys(p, 1)) for p in TRIANGLE]

    def price(block: int, duals: Duals) -> Priced:
        best = min(columns, key=duals.price_of)  # whatever duals.lower and duals.upper say
        return Priced([best], bound=duals.price_of(best))

    blocks, none_of_it = [ColumnBlock()], frozenset([Condition(0, 1)])
    master = RestrictedMaster(np.array([1.0, 0, 0]), np.full(3, np.inf), blocks)
    generator = Generator(master, blocks, price, Budget(), 0.5, False)
    assert generator.solve(Limits.of(blocks)).bound == pytest.approx(1.0)
    with pytest.raises(PricingError, match="not one of those allowed"):
        generator.solve(Limits.of(blocks, [Restriction(0, none_of_it, 0, 0)]))


def test_errors_in_pricing_reach_the_caller():
    def price(block: int, duals: Duals) -> Priced:
        raise ZeroDivisionError("a mistake in a notebook")

    with pytest.raises(ZeroDivisionError, match="notebook"):
        ColumnGeneration([1], [1], [ColumnBlock()], price).solve()


@pytest.mark.parametrize(
    ("lower", "upper", "blocks", "initial", "field"),
    [
        ([1], [0], [ColumnBlock()], [], "row 0"),
        ([1], [1, 1], [ColumnBlock()], [], "upper"),
        ([np.nan], [1], [ColumnBlock()], [], "lower"),
        ([1], [1], [], [], "blocks"),
        ([1], [1], [ColumnBlock()], [(1, 1.0, [0], [1.0])], "column.block"),
        ([1], [1], [ColumnBlock()], [(0, math.inf, [0], [1.0])], "column.cost"),
        ([1], [1], [ColumnBlock()], [(0, 1.0, [1], [1.0])], "column.rows"),
        ([1], [1], [ColumnBlock()], [(0, 1.0, [0], [1.0, 2.0])], "column.values"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(lower, upper, blocks, initial, field):
    columns = [Column(b, c, np.array(r), np.array(v)) for b, c, r, v in initial]
    for where in ("initial", "known"):
        with pytest.raises(InputError, match=field):
            ColumnGeneration(lower, upper, blocks, lambda b, d: Priced(), **{where: columns})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("time_limit", 0),
        ("gap", -1),
        ("smoothing", 1.0),
        ("node_limit", 0),
        ("dive_every", 0),
    ],
)
def test_options_out_of_range_are_refused_by_name(name, value):
    with pytest.raises(InputError, match=name):
        GenerationOptions(**{name: value})
    with pytest.raises(InputError, match=name):
        cover(TRIANGLE).solve(**{name: value})


def test_unknown_options_are_refused():
    with pytest.raises(InputError, match="patience"):
        cover(TRIANGLE).solve(patience=3)


def test_blocks_refuse_numbers_out_of_order():
    with pytest.raises(InputError, match="block"):
        ColumnBlock(lower=2, upper=1)
    with pytest.raises(InputError, match="least_cost"):
        ColumnBlock(least_cost=math.nan)
