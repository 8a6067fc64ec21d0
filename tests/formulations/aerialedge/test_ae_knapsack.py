"""The pricing problem against enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.aerialedge.exact.knapsack import Knapsack, ThresholdValue


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
