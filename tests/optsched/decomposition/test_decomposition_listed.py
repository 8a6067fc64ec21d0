"""Listed columns, cut rows and splits: whole trees against the enumeration of all choices."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Status
from optsched.decomposition import (
    ColumnBlock,
    ColumnGeneration,
    CutRow,
    Duals,
    ListedColumns,
    Split,
)
from optsched.decomposition.bound import lagrangian_value
from optsched.errors import InputError

BARE = {"dive_every": None, "master_every": None}
"""Without heuristics, the tree finds the optimum by itself."""


@dataclass
class Case:
    """Columns, coupling rows, blocks, and rows that only separation knows."""

    block: np.ndarray
    cost: np.ndarray
    rows: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    blocks: list[ColumnBlock]
    hidden: np.ndarray
    most: np.ndarray

    @property
    def choices(self):
        """Every choice of columns that satisfies everything, and its cost."""
        few = [range(int(self.blocks[b].upper) + 1) for b in self.block]
        x = np.array(list(itertools.product(*few)))
        used = np.stack([x[:, self.block == b].sum(axis=1) for b in range(len(self.blocks))], 1)
        held = x @ self.rows.T
        kept = ((held >= self.lower) & (held <= self.upper)).all(axis=1)
        kept &= (used >= [b.lower for b in self.blocks]).all(axis=1)
        kept &= (used <= [b.upper for b in self.blocks]).all(axis=1)
        kept &= (x @ self.hidden.T <= self.most).all(axis=1)
        return x[kept], x[kept] @ self.cost

    @property
    def optimum(self):
        _, costs = self.choices
        return costs.min() if len(costs) else None

    def separate(self, solution, clock):
        """The hidden rows that a point violates."""
        weights = np.zeros(len(self.cost))
        for column, number in solution.chosen:
            weights[column.number] += number
        held = self.hidden @ weights
        return [self.cuts[k] for k in np.flatnonzero(held > self.most + 1e-9)]

    def problem(self, features=None, **options) -> ColumnGeneration:
        """With the list as its pricing."""
        self.cuts = [CutRow(m, row) for m, row in zip(self.most, self.hidden, strict=True)]
        listed = ListedColumns(self.block, self.cost, self.rows, features)
        if len(self.hidden):
            options["separate"] = self.separate
        return ColumnGeneration(self.lower, self.upper, self.blocks, listed, **options)

    def singles(self):
        """Each column's own number as something to branch on."""
        return [Split(row) for row in np.eye(len(self.cost))]


@st.composite
def cases(draw, hidden=False, single=False):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    number, blocks = draw(st.integers(3, 7)), draw(st.integers(1, 3))
    height = draw(st.integers(1, 3))
    rows = rng.integers(0, 4, (height, number)).astype(float)
    lower = np.where(rng.random(height) < 0.6, rng.integers(1, 5, height), -np.inf)
    upper = np.where(rng.random(height) < 0.6, rng.integers(4, 7, height), np.inf)
    many = 1 if single else 2
    hidden_rows = rng.integers(-1, 3, (2 if hidden else 0, number)).astype(float)
    sizes = [ColumnBlock(rng.integers(0, 2), rng.integers(1, many + 1)) for _ in range(blocks)]
    most = rng.integers(-1, 4, len(hidden_rows)).astype(float)
    cost = rng.integers(-2, 10, number).astype(float)
    return Case(rng.integers(0, blocks, number), cost, rows, upper, lower, sizes, hidden_rows, most)


def agrees(case, found):
    """The tree's answer is that of the enumeration."""
    best = case.optimum
    if best is None:
        assert found.status is Status.INFEASIBLE
        return
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(best)
    assert found.bound == pytest.approx(best)


@settings(deadline=None, max_examples=60)
@given(cases(hidden=True), st.booleans())
def test_splits_and_cuts_on_a_list_find_the_best_of_all_choices(case, whole):
    splits = case.singles()
    problem = case.problem(splits=lambda _: splits)
    agrees(case, problem.solve(integral_objective=whole, **BARE))


@settings(deadline=None, max_examples=40)
@given(cases(hidden=True))
def test_heuristics_offer_no_choice_that_a_hidden_row_cuts_off(case):
    splits = case.singles()
    agrees(case, case.problem(splits=lambda _: splits).solve(dive_every=1, master_every=1))


@settings(deadline=None, max_examples=40)
@given(cases(single=True, hidden=True))
def test_features_of_listed_columns_are_branched_on_in_blocks_of_one(case):
    problem = case.problem(np.arange(len(case.cost))[None, :], branching=1)
    agrees(case, problem.solve(**BARE))


@settings(deadline=None, max_examples=40)
@given(cases())
def test_features_of_listed_columns_are_counted_in_blocks_of_many(case):
    problem = case.problem(np.eye(len(case.cost)), branching=1)
    agrees(case, problem.solve(**BARE))


@settings(deadline=None, max_examples=40)
@given(cases(), st.integers(0, 10**6))
def test_splits_over_columns_of_several_blocks_with_any_whole_amounts(case, seed):
    amounts = np.random.default_rng(seed).integers(-2, 3, (2, len(case.cost)))
    splits = [Split(row, rank=1.0) for row in amounts.astype(float)] + case.singles()
    agrees(case, case.problem(splits=lambda _: splits).solve(**BARE))


@settings(deadline=None, max_examples=60)
@given(cases(hidden=True), st.sampled_from([-1.0, 0.0, 0.5, 3.0]), st.booleans())
def test_below_a_cutoff_the_best_choice_is_found_or_none_is_proven_to_be(case, above, whole):
    best, splits = case.optimum, case.singles()
    cutoff = (5.0 if best is None else best) + above
    problem = case.problem(splits=lambda _: splits)
    found = problem.solve(cutoff=cutoff, integral_objective=whole, **BARE)
    if best is not None and best < cutoff:
        assert (found.status, found.objective) == (Status.OPTIMAL, pytest.approx(best))
    else:
        assert (found.status, found.objective) == (Status.NO_SOLUTION, None)
        assert found.bound == pytest.approx(cutoff)


@settings(deadline=None, max_examples=40)
@given(cases(hidden=True))
def test_cuts_raise_the_bound_of_the_relaxation_and_leave_it_true(case):
    plain = Case(**{**vars(case), "hidden": case.hidden[:0], "most": case.most[:0]})
    found, before = case.problem().solve_relaxation(), plain.problem().solve_relaxation()
    best = case.optimum
    if found.bound is not None and before.bound is not None:
        assert found.bound >= before.bound - 1e-6
        assert best is None or found.bound <= best + 1e-9
    else:
        assert best is None


@settings(deadline=None, max_examples=60)
@given(cases(), st.integers(0, 10**6), st.floats(0, 20))
def test_a_list_within_a_gap_has_every_column_of_a_solution_that_costs_less(case, seed, gap):
    rng = np.random.default_rng(seed)
    sign = np.where(np.isfinite(case.lower), 1.0, 0.0) - np.where(np.isfinite(case.upper), 1.0, 0.0)
    rows = rng.random(len(sign)) * 3 * sign
    listed = case.problem().price
    duals = Duals(rows=rows)
    least = np.array([listed(b, duals).bound for b in range(len(case.blocks))])
    few = np.array([b.lower for b in case.blocks])
    numbers = few, np.array([b.upper for b in case.blocks])
    value = lagrangian_value(rows, (case.lower, case.upper), least, numbers, case.blocks)
    choices, costs = case.choices
    for number in (None, few):
        kept = listed.within(duals, gap, number).number
        used = choices[costs <= value + gap] if math.isfinite(value) else choices[:0]
        assert set(np.flatnonzero(used.any(axis=0))) <= set(kept)


def test_a_list_whose_parts_do_not_fit_is_refused():
    with pytest.raises(InputError, match="block"):
        ListedColumns([0], [1.0, 2.0], [[1, 1]])
    with pytest.raises(InputError, match="features"):
        ListedColumns([0, 0], [1.0, 2.0], [[1, 1]], [[1]])


@settings(deadline=None, max_examples=40)
@given(cases(single=True), st.integers(0, 10**6))
def test_a_list_prices_as_columns_do(case, seed):
    """Rows, cuts, and bounds on features; the bound is that of the cheapest column allowed."""
    rng = np.random.default_rng(seed)
    units = rng.integers(0, 3, (2, len(case.cost)))
    listed = case.problem(units).price
    cut = CutRow(1.0, rng.integers(-1, 2, len(case.cost)).astype(float))
    split = Split(lambda column: float(column.number % 2))
    duals = Duals(
        rows=rng.normal(size=len(case.lower)),
        added=((cut, rng.normal()), (split, rng.normal())),
        lower={0: 1},
        upper={1: 1},
    )
    columns = [listed.column(k) for k in range(len(listed))]
    for b in range(len(case.blocks)):
        mine = [c for c in columns if c.block == b and duals.allows(c)]
        answer = listed(b, duals)
        if not mine:
            assert (answer.bound, list(answer.columns)) == (math.inf, [])
            continue
        best = min(map(duals.price_of, mine))
        assert best - 1e-9 <= answer.bound <= best
        assert duals.price_of(answer.columns[0]) == pytest.approx(best)
