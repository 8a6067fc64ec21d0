"""The restricted master problem: which rows HiGHS is given, and what it says of all of them."""

import math

import numpy as np
import pytest
from decomposition_cases import listed
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Model, solve
from optsched.decomposition import Column, ColumnBlock
from optsched.decomposition.master import RestrictedMaster


def one_of_each(rng, blocks, columns, rows):
    """A block's columns, each with something in every row."""
    return [
        Column(b, float(rng.integers(1, 20)), np.arange(rows), rng.integers(0, 4, rows) * 1.0)
        for b in range(blocks)
        for _ in range(columns)
    ]


def given_to_highs(master):
    return master._engine.getNumRow() - len(master.limits.lower)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_its_value_is_that_with_every_row_and_rows_it_was_not_given_are_free_and_satisfied(seed):
    rng = np.random.default_rng(seed)
    blocks, rows = int(rng.integers(1, 5)), int(rng.integers(1, 7))
    columns = one_of_each(rng, blocks, 5, rows)
    room = rng.integers(1, 3 * blocks + 1, rows).astype(float)
    asked = np.where(rng.random(rows) < 0.2, np.minimum(room, 1.0), -np.inf)
    gain = rng.integers(5, 25, blocks)  # what a block earns by its one column
    master = RestrictedMaster(asked, room, [ColumnBlock(lower=0)] * blocks)
    master.add([Column(c.block, c.cost - gain[c.block], c.rows, c.values) for c in columns])
    point = master.solve()
    m = Model("all rows")
    weight = m.continuous("weight", len(columns))
    owner = np.array([c.block for c in columns])
    matrix = np.array([c.values for c in columns]).T
    m.minimize(weight @ (np.array([c.cost for c in columns]) - gain[owner]))
    m.add("rows", (matrix @ weight).between(asked, room))
    m.add("blocks", weight.sum_by(owner, blocks) <= 1)
    direct = solve(m)
    if not direct.has_point:
        assert point.shortfall > 0
        return
    assert point.shortfall == pytest.approx(0, abs=1e-9)
    assert point.value == pytest.approx(direct.objective, abs=1e-6)
    held = master.pool.held(point.weights)
    known = np.array([c.values for c in master.pool.columns]).T
    assert held == pytest.approx(known @ point.weights)
    assert (held <= room + 1e-6).all()
    assert (held >= asked - 1e-6).all()
    absent = rows - given_to_highs(master)
    assert (point.duals == 0).sum() >= absent


def test_a_row_comes_with_what_columns_have_in_it_once_an_optimum_breaks_it():
    master = RestrictedMaster(np.full(2, -np.inf), np.array([1.0, 9.0]), [ColumnBlock()] * 2)
    both = np.arange(2)
    master.add([Column(b, 1.0, both, np.array([0.4, 1.0])) for b in range(2)])
    assert master.solve().value == pytest.approx(2.0)
    assert given_to_highs(master) == 0
    master.add([Column(b, 0.0, both, np.array([0.6, 1.0])) for b in range(2)])
    point = master.solve()
    assert given_to_highs(master) == 1
    assert point.value == pytest.approx(1.0)
    assert point.duals == pytest.approx([-5.0, 0.0])
    master.add([Column(0, -1.0, both, np.array([0.4, 1.0]))])  # it counts in that row too
    assert master.solve().value == pytest.approx(-1.0)


@pytest.mark.parametrize(("beyond", "rows"), [(0.9e-7, 0), (1.1e-7, 1)])
def test_a_row_counts_as_broken_from_where_highs_too_would_say_so(beyond, rows):
    master = RestrictedMaster(np.full(1, -np.inf), np.ones(1), [ColumnBlock()])
    master.add([Column(0, 1.0, np.zeros(1, dtype=int), np.array([1.0 + beyond]))])
    master.solve()
    assert given_to_highs(master) == rows


def test_what_only_a_row_yet_to_come_holds_back_is_not_unbounded():
    columns = [Column(0, -1.0, np.zeros(1, dtype=int), np.ones(1), {"x": 1})]
    blocks = [ColumnBlock(lower=0, upper=math.inf)]
    found = listed(columns, [-np.inf], [3.0], blocks, initial=columns).solve()
    assert (found.status, found.objective) == ("optimal", -3.0)
