"""Dual feasible functions and their rows, against all packings."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched.decomposition.dual_feasible import rounded, rounded_rows, stepped

SEEDS = st.integers(0, 10_000)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(SEEDS, st.integers(1, 8))
def test_what_a_capacity_holds_counts_no_more_than_it_rounded(seed, q):
    rng = np.random.default_rng(seed)
    demand, capacity = rng.integers(1, 8, 3), int(rng.integers(1, 13))
    value = rounded(demand, capacity, q)
    for v in itertools.product(*(range(capacity // d + 1) for d in demand)):
        if demand @ v <= capacity:
            assert value @ v <= 1 + 1e-12


@pytest.mark.parametrize(
    ("demand", "capacity", "q", "value"),
    [(2, 4, 1, 0.5), (3, 5, 1, 1.0), (2, 5, 1, 0.0), (1, 3, 2, 1 / 3), (1, 4, 2, 0.0),
     (3, 8, 2, 0.5), (5, 5, 3, 1.0), (0, 5, 3, 0.0)],
)  # fmt: skip
def test_a_demand_is_rounded_on_either_side_of_its_share(demand, capacity, q, value):
    assert rounded(np.array([demand]), capacity, q)[0] == pytest.approx(value, abs=0)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(SEEDS)
def test_items_counted_by_steps_of_a_threshold_fit_where_they_fit(seed):
    rng = np.random.default_rng(seed)
    size, capacity = rng.integers(1, 8, 3), int(rng.integers(2, 13))
    value = stepped(size, capacity, int(rng.integers(1, capacity // 2, endpoint=True)))
    for v in itertools.product(*(range(capacity // s + 1) for s in size)):
        if size @ v <= capacity:
            assert value @ v <= capacity


@settings(max_examples=60, deadline=None, derandomize=True)
@given(SEEDS)
def test_no_packing_breaks_a_rounded_row_and_no_row_is_within_another(seed):
    rng = np.random.default_rng(seed)
    size, capacity = rng.integers(0, 8, (3, 2)), rng.integers(1, 13, 2)
    rows = rounded_rows(size, capacity)
    for v in itertools.product(range(9), repeat=3):
        if (np.array(v) @ size <= capacity).all() and not np.any(v * (size > capacity).any(axis=1)):
            assert (rows @ v <= 1 + 1e-9).all()
    for one, other in itertools.permutations(rows, 2):
        assert (one > other).any()
