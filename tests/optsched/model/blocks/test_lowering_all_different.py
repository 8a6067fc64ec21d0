"""Values that differ, as rows: by value where numbers are few, by order where ranges are wide."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from optsched import Model, ModelError, solve


@pytest.mark.parametrize("solver", ["highs", "cpsat"])
def test_two_values_in_a_wide_range_differ(solver: str) -> None:
    m = Model()
    x = m.integer("x", 2, upper=10_000)
    m.all_different(x)
    m.maximize(x @ [3, 2])
    answer = solve(m, solver=solver)
    assert answer.objective == 3 * 10_000 + 2 * 9_999
    assert len(m.compile().lower) == 3


def test_values_in_a_range_beyond_all_memory_differ() -> None:
    m = Model()
    x = m.integer("x", 3, lower=-(10**9), upper=10**9)
    m.all_different(x)
    m.add("close", x.max() - x.min() <= 2)
    m.add("sum", x.sum() == 9)
    assert sorted(solve(m)["x"].tolist()) == [2, 3, 4]


def test_an_order_and_an_assignment_leave_the_same_points(monkeypatch: pytest.MonkeyPatch) -> None:
    lower, upper = np.array([[0, 1, 2], [0, 3, 0]]), np.array([[1, 3, 2], [0, 4, 1]])
    m = Model()
    x = m.integer("x", (2, 3), lower=lower, upper=upper)
    m.all_different(x, name="differ")
    spans = [range(a, b + 1) for a, b in zip(lower.flat, upper.flat, strict=True)]
    few = "optsched.model.blocks.all_different"
    for limit in (2_000, 0):
        monkeypatch.setattr(f"{few}._FEW", limit)
        monkeypatch.setattr(f"{few}._TIGHTER", limit)
        assert ("differ:less" in m.compile().row_blocks) == (limit == 0)
        for point in product(*spans):
            fixed = m.copy()
            fixed.add("point", x == np.reshape(point, (2, 3)))
            rows = np.reshape(point, (2, 3)).tolist()
            differ = all(len(set(row)) == 3 for row in rows)
            assert (solve(fixed, solver="highs").objective is not None) == differ


def test_few_numbers_are_assigned_whatever_their_pairs() -> None:
    m = Model()
    m.all_different(m.integer("x", 8, upper=7), name="queens")
    assert "queens:once" in m.compile().row_blocks


def test_what_cannot_be_built_is_refused_by_its_size() -> None:
    m = Model()
    m.all_different(m.integer("x", 3_000, upper=10**6), name="differ")
    with pytest.raises(ModelError, match=r"'differ': as rows it takes 4498500 binaries, more than"):
        m.compile()
