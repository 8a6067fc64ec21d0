"""The knapsack against enumeration, and as the pricer of cutting stock."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Status
from optsched.decomposition import Column, ColumnBlock, ColumnGeneration, Duals, Priced
from optsched.decomposition.knapsack import Knapsack, ThresholdValue


def enumerated(knapsack: Knapsack, value: np.ndarray, terms: list[ThresholdValue]) -> float:
    """Best value of a pattern by trying all."""
    best = -np.inf
    most = knapsack.number[knapsack.type_of_option]
    for units in product(*(range(m + 1) for m in most)):
        u = np.array(units)
        used = np.bincount(knapsack.type_of_option, weights=u, minlength=len(knapsack.number))
        if (used <= knapsack.number).all() and (u @ knapsack.size <= knapsack.capacity).all():
            worth = float(u @ value)
            worth += sum(t.value for t in terms if all(u[k] >= a for k, a in t.least.items()))
            best = max(best, worth)
    return best


@st.composite
def knapsacks(draw: st.DrawFn) -> tuple[Knapsack, np.ndarray, list[ThresholdValue]]:
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    types, width = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    options = types + int(rng.integers(0, 3))
    owner = np.sort(np.concatenate([np.arange(types), rng.integers(0, types, options - types)]))
    knapsack = Knapsack(
        rng.integers(0, 9, (options, width)), owner, rng.integers(1, 4, types),
        rng.integers(5, 20, width),
    )  # fmt: skip
    terms = [
        ThresholdValue(
            {int(k): int(rng.integers(1, 3)) for k in rng.choice(options, rng.integers(1, 3))},
            float(rng.normal()),
        )
        for _ in range(int(rng.integers(0, 4)))
    ]
    return knapsack, rng.normal(0.4, 0.5, options), terms


@given(case=knapsacks())
@settings(max_examples=150, deadline=None)
def test_the_best_pattern_is_found_with_alternatives_and_terms(case) -> None:
    knapsack, value, terms = case
    best = enumerated(knapsack, value, terms)
    found = knapsack.solve(value, beat=-10.0, terms=terms, nodes=10**6)
    assert found.value[0] == pytest.approx(best)
    assert found.most == pytest.approx(best)
    assert (found.units @ knapsack.size <= knapsack.capacity).all()


@given(case=knapsacks())
@settings(max_examples=60, deadline=None)
def test_little_room_for_partial_patterns_costs_the_optimum_but_not_the_bound(case) -> None:
    knapsack, value, terms = case
    best = enumerated(knapsack, value, terms)
    found = knapsack.solve(value, beat=-10.0, terms=terms, nodes=2)
    assert found.most >= best - 1e-9
    assert found.value.max(initial=-np.inf) <= best + 1e-9


@given(case=knapsacks())
@settings(max_examples=60, deadline=None)
def test_nothing_is_returned_that_does_not_beat_what_was_asked(case) -> None:
    knapsack, value, terms = case
    best = enumerated(knapsack, value, terms)
    found = knapsack.solve(value, beat=best + 0.01, terms=terms)
    assert len(found.units) == 0
    assert found.most >= best
    assert found.most <= best + 0.01 + 1e-9


def test_a_pattern_may_hold_many_units_of_one_option() -> None:
    knapsack = Knapsack(
        np.ones((1, 1), np.int64), np.zeros(1, np.int64), np.array([40]), np.array([50])
    )
    value = np.ones(1)
    assert knapsack.solve(value, beat=0.0, keep=1).units.tolist() == [[40]]
    listed = knapsack.listed(value, least=1.0, most=10)
    assert listed is not None
    assert listed.toarray().tolist() == [[40]]


def test_cutting_stock_priced_by_the_knapsack_needs_73_rolls() -> None:
    """The textbook's paper mill, whose optimum is 73 rolls; its relaxation rounds up to 73 too."""
    width = np.array([1380, 1520, 1560, 1710, 1820, 1880, 1930, 2000, 2050, 2100, 2140, 2150, 2200])
    ordered = np.array([22, 25, 12, 14, 18, 18, 20, 10, 12, 14, 16, 18, 20])
    roll = Knapsack(width[:, None], np.arange(13), ordered, np.array([5600]))

    def price(block: int, duals: Duals) -> Priced:
        terms = []
        for term in duals.terms:
            least = {int(c.feature): c.at_least for c in term.conditions}  # type: ignore[call-overload]
            terms.append(ThresholdValue(least, term.price))
        found = roll.solve(duals.rows, beat=0.0, terms=terms, keep=4)
        columns = [
            Column(
                0,
                1.0,
                k := np.flatnonzero(u),
                u[k].astype(float),
                dict(zip(k.tolist(), u[k].tolist(), strict=True)),
            )
            for u in found.units
        ]
        return Priced(columns, bound=1.0 - found.most)

    rolls = ColumnBlock(lower=0, upper=np.inf, least_cost=1.0)
    problem = ColumnGeneration(ordered.astype(float), np.full(13, np.inf), [rolls], price)
    found = problem.solve(integral_objective=True)
    assert (found.status, found.objective) == (Status.OPTIMAL, pytest.approx(73))
