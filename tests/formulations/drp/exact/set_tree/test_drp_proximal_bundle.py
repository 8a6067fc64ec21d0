"""Prices at which a sum of maxima is least, beside linear programs over all vertices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from formulations.drp.exact.set_tree.proximal_bundle import MOST, ProximalBundle, Vertices


def listed(parts, values, rows):
    """Vertices whose coefficients are the entries of rows."""
    rows = np.asarray(rows)
    vertex, price = np.nonzero(rows)
    start = np.searchsorted(vertex, np.arange(len(parts) + 1))
    return Vertices(
        np.array(parts, dtype=np.int64), np.array(values), start, price, rows[vertex, price]
    )


@st.composite
def sums(draw):
    """Vertices of some parts, the least prices, and a bound on the sum that there is."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    parts, prices = rng.integers(1, 5), rng.integers(1, 5)
    part = np.sort(np.concatenate([np.arange(parts), rng.integers(parts, size=12)]))
    rows = rng.integers(-2, 3, (len(part), prices)).astype(float)
    value = rng.uniform(-1, 1, len(part))
    least = np.where(rng.random(prices) < 0.7, 0.0, -np.inf)
    # a vertex of all parts that asks what another gives: the sum has a least value
    extra = np.concatenate([rows, -rows])
    return np.tile(part, 2), np.tile(value, 2), extra, least, rng


def least_sum(part, value, rows, least):
    """The least sum, by a linear program over all vertices."""
    parts, prices = part.max() + 1, rows.shape[1]
    held = np.eye(parts)[part]
    found = linprog(
        np.concatenate([np.zeros(prices), np.ones(parts)]),
        A_ub=np.hstack([rows, -held]), b_ub=-value,
        bounds=[(low if np.isfinite(low) else None, None) for low in least]
        + [(None, None)] * parts,
    )  # fmt: skip
    assert found.status == 0
    return found.fun


def asked(case, questions):
    """The bundle after some questions, and all sums it was told."""
    part, value, rows, least, rng = case
    nothing = listed([], [], rows[:0])
    bundle = ProximalBundle(part.max() + 1, rng.uniform(0, 1, len(least)), least, nothing)
    told = []
    for _ in range(questions):
        assert (bundle.prices >= least).all()
        worth = value + rows @ bundle.prices
        best = [np.flatnonzero(part == p)[worth[part == p].argmax()] for p in range(part.max() + 1)]
        told.append(worth[best].sum())
        bundle.told(told[-1], listed(part[best], value[best], rows[best]))
    return bundle, told


@given(sums())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_the_best_sum_comes_down_to_the_least_one_and_never_below(case):
    part, value, rows, least, _ = case
    optimum = least_sum(part, value, rows, least)
    bundle, told = asked(case, 150)
    assert bundle.best >= optimum - 1e-9
    assert bundle.best == pytest.approx(optimum, abs=2e-3)
    assert min(told) <= bundle.best <= told[0]


@given(sums())
@settings(max_examples=20, deadline=None, derandomize=True)
def test_the_best_prices_are_those_of_the_best_sum(case):
    part, value, rows, _, _ = case
    bundle, _ = asked(case, 20)
    worth = value + rows @ bundle.best_prices
    total = sum(worth[part == p].max() for p in range(part.max() + 1))
    assert total == pytest.approx(bundle.best)


@pytest.mark.parametrize("begin", [0.5, -0.5])
def test_parts_whose_vertices_are_all_known_need_no_answer(begin):
    # the price of a count from 1 to 2, and a part worth 1 - 1.5 p or 0.3 + 0.2 p
    known = listed([0, 0], [0.0, 0.0], np.array([[2.0], [1.0]]))
    bundle = ProximalBundle(2, np.array([begin]), np.array([-np.inf]), known, step=0.2)
    for _ in range(60):
        price = bundle.prices[0]
        rises = 1 - 1.5 * price > 0.3 + 0.2 * price
        found = listed([1], [1.0 if rises else 0.3], np.array([[-1.5 if rises else 0.2]]))
        bundle.told(max(2 * price, price) + max(1 - 1.5 * price, 0.3 + 0.2 * price), found)
    # 2 p + ... rises above 0 and p + 1 - 1.5 p falls below: least at 0
    assert bundle.best == pytest.approx(1.0, abs=1e-4)


def test_more_vertices_than_are_kept_of_a_part_do_no_harm():
    # a circle's tangents: max over angles of cos, sin at prices, least at 0
    bundle = ProximalBundle(1, np.array([2.0, 1.0]), np.full(2, -np.inf),
                            listed([], [], np.zeros((0, 2))), step=1.0)  # fmt: skip
    for _ in range(4 * MOST):
        angle = np.arctan2(*bundle.prices[::-1])
        row = np.array([[np.cos(angle), np.sin(angle)]])
        bundle.told(float(np.linalg.norm(bundle.prices)), listed([0], [0.0], row))
    assert bundle.best <= 2e-2
