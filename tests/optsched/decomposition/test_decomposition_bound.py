"""The Lagrangian bound of a set of prices, by hand."""

import math
from typing import Any

import numpy as np
import pytest

from optsched.decomposition.bound import ENDLESS, Smoothing, lagrangian_value
from optsched.decomposition.columns import ColumnBlock

EPS = float(np.finfo(np.float64).eps)
INF = math.inf
ONCE = ((1.0,), (1.0,))


def value(
    least: tuple[float, ...],
    numbers: tuple[tuple[float, ...], tuple[float, ...]] = ONCE,
    *,
    duals: tuple[float, ...] = (2.0,),
    sides: tuple[tuple[float, ...], tuple[float, ...]] = ((3.0,), (INF,)),
    costs: tuple[float | None, ...] | None = None,
    **rest: Any,
) -> float:
    blocks = [
        ColumnBlock(few, many, cost)
        for few, many, cost in zip(*numbers, costs or (None,) * len(least), strict=True)
    ]
    arrays = [np.array(v, dtype=float) for v in (duals, *sides, least, *numbers)]
    y, lower, upper, price, few, many = arrays
    return lagrangian_value(y, (lower, upper), price, (few, many), blocks, **rest)


def test_rows_at_their_prices_and_blocks_at_their_least_less_four_units_of_rounding() -> None:
    assert value((-1.0,)) == 5 - 4 * EPS * (6 + 1)
    assert value((1.0,)) == 7 - 4 * EPS * (6 + 1)


def test_a_price_counts_the_side_its_sign_says() -> None:
    for dual, sides, expected in (
        (2, ((3,), (INF,)), 6), (-2, ((-INF,), (4,)), -8), (2, ((3,), (4,)), 6),
        (0.5, ((3,), (4,)), 1.5), (-0.5, ((3,), (4,)), -2), (-2, ((3,), (4,)), -8),
        (0, ((-INF,), (INF,)), 0),
    ):  # fmt: skip
        found = value((0.0,), duals=(dual,), sides=sides)
        assert found == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("least", "numbers", "expected"),
    [
        (2.0, (1, 5), 6 + 2),
        (-2.0, (1, 5), 6 - 10),
        (2.0, (0, 5), 6),
        (-2.0, (0, 5), 6 - 10),
        (0.0, (1, INF), 6),
        (INF, (0, 5), 6),
        (INF, (1, 5), INF),
        (-2.0, (0, 0), 6),
        (-INF, (0, 0), 6),
        (-INF, (0, 1), -INF),
    ],
)
def test_a_block_takes_as_many_columns_as_make_it_least(
    least: float, numbers: tuple[float, float], expected: float
) -> None:
    few, many = numbers
    assert value((least,), ((few,), (many,))) == pytest.approx(expected, rel=1e-14)


def test_no_limit_means_a_billion_columns_where_least_costs_are_missing_or_not_positive() -> None:
    assert ENDLESS == 1e9
    endless = ((0.0,), (INF,))
    for cost in (None, 0.0, -1.0):
        assert value((-1.0,), endless, costs=(cost,)) == pytest.approx(6 - 1e9, rel=1e-14)
    assert value((-1.0,), endless, costs=(1.0,), weight=0.0) == pytest.approx(6 - 1e9, rel=1e-14)
    assert value((-1.0,), ((0.0,), (2e9,))) == pytest.approx(6 - 1e9, rel=1e-14)
    assert value((-INF,), endless, costs=(1.0,)) == -INF


def test_prices_are_scaled_until_a_block_without_limit_costs_nothing() -> None:
    """At half the prices a column of cost 1 and price -1 has price 0."""
    endless = ((0.0,), (INF,))
    assert value((-1.0,), endless, costs=(1.0,)) == pytest.approx(3, rel=1e-14)
    assert value((-3.0,), endless, costs=(1.0,)) == pytest.approx(6 / 4, rel=1e-14)
    assert value((-3.0,), endless, costs=(1.0,), weight=2.0) == pytest.approx(6 * 0.4, rel=1e-14)
    assert value((1.0,), endless, costs=(1.0,)) == pytest.approx(6, rel=1e-14)
    assert value((-1.0,), ((2.0,), (INF,)), costs=(1.0,)) == pytest.approx(3, rel=1e-14)


def test_the_strictest_block_scales_and_the_others_follow() -> None:
    numbers = ((0.0, 0.0, 1.0), (INF, INF, 1.0))
    costs = (1.0, 1.0, 4.0)
    # a quarter of the prices: the last block's column costs 3/4 * 4 + 1/4 * least
    for least, expected in ((-8.0, 1.5 + 3 - 2), (-16.0, 1.5 + 3 - 4), (8.0, 1.5 + 3 + 2)):
        found = value((-1.0, -3.0, least), numbers, costs=costs)
        assert found == pytest.approx(expected, rel=1e-14)
    # a least cost that is missing anywhere rules it out
    found = value((-1.0, -3.0, 0.0), numbers, costs=(1.0, 1.0, None))
    assert found == pytest.approx(6 - 4e9, rel=1e-14)
    # blocks whose prices are not negative need no positive one
    found = value((-1.0, 0.0, 0.0), numbers, costs=(1.0, 0.0, 0.0))
    assert found == pytest.approx(3, rel=1e-14)


def test_smoothing_steps_from_the_best_prices_to_the_masters() -> None:
    steps = Smoothing(0.75)
    master, best = np.array([4.0]), np.array([0.0])
    assert steps.trial(master) == (master, True)
    steps.learn(best, 1.0, missed=False)
    seen = []
    for _ in range(6):
        point, own = steps.trial(master)
        seen.append((point.tolist(), own))
        steps.learn(point, None, missed=True)
    assert seen == [([1.0], False), ([2.0], False), ([3.0], False)] + [([4.0], True)] * 3
    steps.learn(master, None, missed=False)
    assert steps.trial(master)[0].tolist() == [1.0]


def test_smoothing_keeps_the_prices_of_the_largest_value() -> None:
    steps = Smoothing(0.5)
    for price, got, best in ((0.0, 1.0, 1.0), (8.0, 1.0, 1.0), (8.0, 0.5, 1.0), (6.0, 2.0, 2.0)):
        steps.learn(np.array([price]), got, missed=False)
        assert steps.best == best
        centre = 6.0 if best == 2 else 0.0
        assert steps.trial(np.array([2.0]))[0].tolist() == [(centre + 2) / 2]
    steps.learn(np.array([9.0]), None, missed=False)
    assert steps.best == 2.0


def test_prices_without_smoothing_are_the_masters_own() -> None:
    steps = Smoothing(0.0)
    steps.learn(np.array([1.0]), 1.0, missed=False)
    assert steps.trial(np.array([3.0])) == (np.array([3.0]), True)
