"""Multipliers mended: what columns without a bound must not cost, they cost exactly nothing."""

from fractions import Fraction

import numpy as np
import pytest

from optsched.model import Model
from optsched.proof.exact_model import ExactModel
from optsched.proof.mending import mended
from optsched.proof.verifying import combined, verify

INF = np.inf
BOUNDS = {"free": (-INF, INF), "from below": (0.0, INF), "from above": (-INF, 0.0), "in": (0, 1)}


def priced(model: ExactModel, leaf: dict) -> list[Fraction]:
    """The reduced cost of every column."""
    terms, _ = combined(model.rows, (), leaf["rows"], leaf["y"])
    counted = leaf.get("cost", 1)
    return [
        Fraction(counted * model.cost.get(j, 0) * leaf["over"] - terms.get(j, 0),
                 leaf["over"] * model.unit)
        for j in range(len(model.columns))
    ]  # fmt: skip


def one(cost: float, bounds: str, rows: int = 1) -> ExactModel:
    """A single column that each row asks to be at least 1, 2, ..."""
    m = Model()
    low, high = BOUNDS[bounds]
    x = m.continuous("x", lower=low, upper=high)
    m.minimize(cost * x)
    m.add("rows", x * np.arange(1.0, rows + 1) >= 1)
    return ExactModel(m.compile())


@pytest.mark.parametrize("seed", range(20))
def test_free_columns_cost_nothing_after_the_multipliers_moved_a_little(seed):
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(3, 6), rng.integers(1, 5)
    matrix = rng.integers(-3, 4, (rows, columns)) / 2
    truth = rng.integers(1, 9, rows)
    m = Model()
    x = m.continuous("x", columns, lower=-INF)
    z = m.continuous("z", 2, upper=1)
    m.minimize(x @ (truth @ matrix) + z.sum())
    m.add("rows", matrix @ x + rng.integers(0, 3, (rows, 2)) @ z >= 1)
    model = ExactModel(m.compile())
    near = [int(y * 10**9 + rng.integers(-500, 500)) for y in truth]
    leaf = {"rows": list(range(rows)), "y": near, "over": 10**9}
    found = mended(model, model.rows, leaf)
    assert found is not None
    assert found["rows"] == leaf["rows"]
    assert priced(model, found)[:columns] == [0] * columns
    assert all(
        abs(Fraction(y, found["over"]) - t) < 1e-3 for y, t in zip(found["y"], truth, strict=True)
    )


def test_multipliers_that_leave_nothing_to_mend_stay():
    model = one(1.0, "in")
    leaf = {"rows": [0], "y": [7], "over": 8}
    assert mended(model, model.rows, leaf) == leaf
    free = one(1.5, "free")
    assert mended(free, free.rows, {"rows": [0], "y": [6], "over": 4}) == {
        "rows": [0], "y": [3], "over": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("bounds", "off", "moves"),
    [
        ("free", 0.5, True), ("free", -0.5, True), ("free", 1e-7, True),
        ("from below", 0.5, False), ("from below", -0.5, True),
        ("from below", 0.99e-6, True), ("from below", 1.01e-6, False),
        ("from above", -0.5, False), ("from above", 0.5, True),
        ("from above", -0.99e-6, True), ("from above", -1.01e-6, False),
        ("in", 0.5, False), ("in", -0.5, False), ("in", 1e-7, False),
    ],
)  # fmt: skip
def test_a_reduced_cost_is_taken_off_where_it_is_small_or_no_bound_pays_for_it(bounds, off, moves):
    model = one(1.0, bounds)
    over = 10**9
    leaf = {"rows": [0], "y": [over - round(off * over)], "over": over}
    found = mended(model, model.rows, leaf)
    assert found is not None
    assert priced(model, found) == [0 if moves else Fraction(round(off * over), over)]


def test_a_millionth_itself_is_small():
    model = one(1.0, "from below")
    size, over = (1e-6).as_integer_ratio()
    for off, left in ((size, 0), (size + 1, Fraction(size + 1, over))):
        found = mended(model, model.rows, {"rows": [0], "y": [over - off], "over": over})
        assert found is not None
        assert priced(model, found) == [left]


def test_columns_that_cost_nothing_and_stand_in_no_row_need_no_mending():
    m = Model()
    m.continuous("idle", lower=-INF)
    x = m.continuous("x", 3, lower=-INF)
    m.minimize(x.sum())
    m.add("pair", x[0] + x[1] >= 1)
    m.add("last", x[2] >= 1)
    model = ExactModel(m.compile())
    found = mended(model, model.rows, {"rows": [0, 1], "y": [3, 5], "over": 4})
    assert found == {"rows": [0, 1], "y": [1, 1], "over": 1}


def test_of_a_contradiction_the_rows_alone_count():
    model = one(5.0, "free", rows=2)
    leaf = {"rows": [0, 1], "y": [1, 1], "over": 1, "cost": 0}
    assert mended(model, model.rows, leaf) is None  # 1 and 2 of one sign never add up to nothing
    m = Model()
    x = m.continuous("x", lower=-INF)
    m.minimize(5 * x)
    m.add("low", x >= 1)
    m.add("high", x <= 0)
    model = ExactModel(m.compile())
    near = {"rows": [0, 1], "y": [1001, -999], "over": 1000, "cost": 0}
    found = mended(model, model.rows, near)
    assert found is not None
    assert found["cost"] == 0
    assert priced(model, found) == [0]


def test_rows_that_do_not_reach_a_column_cannot_mend_it():
    model = one(1.0, "free")
    assert mended(model, model.rows, {"rows": [], "y": [], "over": 1}) is None
    m = Model()
    x = m.continuous("x", 2, lower=-INF)
    m.minimize(x.sum())
    m.add("row", x.sum() >= 1)
    m.add("half", 0.5 * x.sum() >= 1)
    consistent = ExactModel(m.compile())
    leaf = {"rows": [0, 1], "y": [1, 1], "over": 4}
    found = mended(consistent, consistent.rows, leaf)
    assert found is not None
    assert priced(consistent, found) == [0, 0]
    m.minimize(x[0] + 2 * x[1])
    torn = ExactModel(m.compile())
    assert mended(torn, torn.rows, leaf) is None


def test_a_multiplier_never_changes_to_the_other_side_of_its_row():
    model = one(-1.0, "free")
    assert mended(model, model.rows, {"rows": [0], "y": [1], "over": 4}) is None


def test_a_row_that_counts_nothing_is_not_taken_in():
    m = Model()
    x = m.continuous("x", lower=-INF)
    m.minimize(x)
    m.add("row", x == 1)
    model = ExactModel(m.compile())
    assert mended(model, model.rows, {"rows": [0], "y": [0], "over": 1}) is None


def test_a_row_whose_multiplier_becomes_nothing_is_left_out():
    m = Model()
    x = m.continuous("x", lower=-INF)
    m.minimize(x)
    m.add("row", x >= 1)
    m.add("other", m.continuous("y", lower=-INF) >= 1)
    model = ExactModel(m.compile())
    found = mended(model, model.rows, {"rows": [0, 1], "y": [4, 1], "over": 4})
    assert found == {"rows": [0], "y": [1], "over": 1}
    assert verify(m.compile(), {
        "format": "optsched/proof", "version": 1, "bound": [1, 1], "extra": [], "nodes": [found],
    }) == 1  # fmt: skip
