"""A program whose columns and rows come and go, beside SciPy's answers."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from formulations.drp.exact.set_tree.packing_program import PackingProgram, Ranges


@st.composite
def programs(draw):
    """Worth of columns and a matrix in which every column has an entry."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, columns = rng.integers(2, 8), rng.integers(3, 12)
    matrix = rng.uniform(0.2, 1, (rows, columns)) * (rng.random((rows, columns)) < 0.6)
    matrix[rng.integers(rows, size=columns), np.arange(columns)] = 0.5
    return rng.uniform(0.5, 2, columns), matrix, rng


def optimum(worth, matrix):
    return -linprog(-worth, A_ub=matrix, b_ub=np.ones(len(matrix))).fun


def entered(worth, matrix, basis=None):
    program = PackingProgram()
    program.enter(worth, sp.csc_array(matrix), basis)
    return program


@given(programs())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_prices_prove_the_optimum(case):
    worth, matrix, _ = case
    point = entered(worth, matrix).solve()
    best = optimum(worth, matrix)
    assert point.optimal
    assert point.value == pytest.approx(best)
    assert (matrix @ point.weights <= 1 + 1e-6).all()
    assert (matrix.T @ point.duals >= worth - 1e-6).all()
    assert point.duals.sum() == pytest.approx(best)


@given(programs())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_columns_and_rows_that_come_later_count_as_if_they_had_been_there(case):
    worth, matrix, rng = case
    rows, columns = (rng.integers(1, n) for n in matrix.shape)
    first = np.maximum(matrix[:rows, :columns], 0.1)
    whole = np.maximum(matrix, 0.1)
    program = entered(worth[:columns], first)
    assert program.solve().value == pytest.approx(optimum(worth[:columns], first))
    program.add_columns(worth[columns:], sp.csc_array(whole[:rows, columns:]))
    assert program.solve().value == pytest.approx(optimum(worth, whole[:rows]))
    program.add_rows(sp.csr_array(whole[rows:]))
    assert program.solve().value == pytest.approx(optimum(worth, whole))


@given(programs())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_part_of_a_basis_starts_another_program(case):
    worth, matrix, rng = case
    program = entered(worth, matrix)
    program.solve()
    basis = program.basis
    tight = np.flatnonzero(~basis.loose())
    same = entered(worth, matrix[tight], basis.part(np.arange(len(worth)), tight)).solve()
    assert same.value == pytest.approx(optimum(worth, matrix))  # loose rows say nothing
    kept = np.flatnonzero(rng.random(len(worth)) < 0.6)
    rows = np.arange(len(matrix))
    part = entered(worth[kept], matrix[:, kept], basis.part(kept, rows)).solve()
    assert part.value == pytest.approx(optimum(worth[kept], matrix[:, kept]) if len(kept) else 0)


@given(programs())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_trial_leaves_the_program_as_it_was(case):
    worth, matrix, rng = case
    program = entered(worth, matrix)
    before = program.solve().value
    forbidden = np.flatnonzero(rng.random(len(worth)) < 0.4)
    dearer = np.setdiff1d(np.arange(len(worth)), forbidden)[:2]
    changed = worth.copy()
    changed[dearer] = 3.0
    left = np.setdiff1d(np.arange(len(worth)), forbidden)
    tried = program.tried(program.basis, forbidden, dearer, 3.0, -np.inf, 10_000)
    wanted = optimum(changed[left], matrix[:, left]) if len(left) else 0.0
    assert tried == pytest.approx(wanted)
    assert program.solve().value == pytest.approx(before)


PENALTY = 5.0


def drawn_ranges(rng, rows):
    most = rng.uniform(0.2, 2.0, rows)
    return Ranges(rng.uniform(0.0, 1.0, rows) * most, most)


def optimum_within(worth, matrix, ranges, row=None, low=0.0, high=0.0):
    """What ranges lack of their least is a column each, at a price; one row more has limits."""
    n = len(ranges.least)
    lacking = np.vstack([np.eye(n), np.zeros((len(matrix) - n, n))])
    whole = np.hstack([lacking, matrix])
    rows = np.vstack([whole, -whole[:n]])
    most = np.concatenate([ranges.most, np.ones(len(matrix) - n), -ranges.least])
    cost = np.concatenate([np.full(n, PENALTY), -worth])
    if row is not None:
        wider = np.concatenate([np.zeros(n), row])
        rows = np.vstack([rows, wider, -wider])
        most = np.append(most, [high, -low])
    found = linprog(cost, A_ub=rows, b_ub=most)
    return -np.inf if found.status == 2 else -found.fun


@given(programs())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_ranges_bound_a_program_from_both_sides(case):
    worth, matrix, rng = case
    n = int(rng.integers(1, len(matrix) + 1))
    ranges = drawn_ranges(rng, n)
    program = PackingProgram()
    program.enter(worth, sp.csc_array(matrix), None, ranges, PENALTY)
    point, best = program.solve(), optimum_within(worth, matrix, ranges)
    assert point.value == pytest.approx(best)
    amount = matrix[:n] @ point.weights
    assert (amount <= ranges.most + 1e-6).all()
    assert max(0.0, (ranges.least - amount).max()) == pytest.approx(point.short, abs=1e-6)
    fee = point.duals[:n]
    proven = fee @ np.where(fee > 0, ranges.most, ranges.least) + point.duals[n:].sum()
    assert proven == pytest.approx(best)
    row, limits = rng.uniform(0.0, 1.0, len(worth)), [(-1e3, 0.3), (0.1, 1e3)]
    tried = program.tried_beside(program.basis, row, limits, -np.inf, 10_000)
    assert tried == pytest.approx(
        [optimum_within(worth, matrix, ranges, row, *limit) for limit in limits]
    )
    assert program.solve().value == pytest.approx(best)
    dearer = worth + 1.0
    program.price(dearer, PENALTY)
    assert program.solve().value == pytest.approx(optimum_within(dearer, matrix, ranges))


@given(programs())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_a_basis_goes_on_in_a_program_with_more_ranges(case):
    worth, matrix, rng = case
    n = int(rng.integers(1, len(matrix)))
    ranges, program = drawn_ranges(rng, n), PackingProgram()
    few = Ranges(ranges.least[:-1], ranges.most[:-1])
    program.enter(worth, sp.csc_array(np.delete(matrix, n - 1, axis=0)), None, few, PENALTY)
    program.solve()
    basis = program.basis
    program.enter(worth, sp.csc_array(matrix), basis, ranges, PENALTY)
    assert program.basis.loose().shape == (len(matrix),)
    assert program.solve().value == pytest.approx(optimum_within(worth, matrix, ranges))


@pytest.mark.parametrize("least", [-np.inf, 0.5])
def test_limits_that_nothing_keeps_are_worth_what_is_of_no_interest(least):
    program = entered(np.array([1.0]), np.array([[1.0]]))
    program.solve()
    ones = np.ones(1)
    assert program.tried_beside(program.basis, ones, [(2.0, np.inf)], least, 100) == [least]
    assert program.solve().value == pytest.approx(1.0)


@given(programs())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_columns_rows_and_trials_are_the_same_beside_ranges(case):
    worth, matrix, rng = case
    n, columns = int(rng.integers(1, len(matrix))), int(rng.integers(1, len(worth)))
    ranges, whole = drawn_ranges(rng, n), np.maximum(matrix, 0.1)
    program = PackingProgram()
    first = sp.csc_array(whole[:n, :columns])
    program.enter(worth[:columns], first, None, ranges, PENALTY)
    program.solve()
    program.add_columns(worth[columns:], sp.csc_array(whole[:n, columns:]))
    program.add_rows(sp.csr_array(whole[n:]))
    best = optimum_within(worth, whole, ranges)
    assert program.solve().value == pytest.approx(best)
    basis = program.basis
    again = PackingProgram()
    again.enter(worth, sp.csc_array(whole), basis, ranges, PENALTY)
    assert again.solve(steps=0).value == pytest.approx(best)
    forbidden = np.flatnonzero(rng.random(len(worth)) < 0.4)
    left = np.setdiff1d(np.arange(len(worth)), forbidden)
    dearer = left[:2]
    changed = worth.copy()
    changed[dearer] = 3.0
    tried = program.tried(basis, forbidden, dearer, 3.0, -np.inf, 10_000)
    assert tried == pytest.approx(optimum_within(changed[left], whole[:, left], ranges))
    assert program.solve().value == pytest.approx(best)


@pytest.mark.parametrize(("least", "optimal"), [(1.9, True), (2.1, False)])
def test_a_worth_of_no_interest_ends_a_solve(least, optimal):
    program = entered(np.array([1.0, 1.0, 1.0]), np.array([[1, 0, 1], [0, 1, 1]]))
    point = program.solve(least)
    assert point.optimal or not optimal
    assert point.value == pytest.approx(2.0 if point.optimal else least)


@given(programs())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_a_twin_has_the_same_program_and_goes_its_own_way(case):
    worth, matrix, rng = case
    n, whole = int(rng.integers(1, len(matrix) + 1)), np.maximum(matrix, 0.1)
    ranges, program = drawn_ranges(rng, n), PackingProgram()
    program.enter(worth, sp.csc_array(whole), None, ranges, PENALTY)
    best, twin = program.solve().value, program.twin()
    row, limits = rng.uniform(0.0, 1.0, len(worth)), [(-1e3, 0.3), (0.1, 1e3)]
    asked = program.basis, row, limits, -np.inf, 10_000
    assert twin.tried_beside(*asked) == pytest.approx(program.tried_beside(*asked))
    twin.price(worth + 1.0, PENALTY)
    assert twin.solve().value == pytest.approx(optimum_within(worth + 1.0, whole, ranges))
    assert program.solve().value == pytest.approx(best)
