"""Labelled arrays: numbers meet by label whatever their order, or are refused naming both."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest

from optsched import Model, ModelError, solve
from optsched.errors import NoMeaningError
from optsched.model import Expression, Labelled

JOBS, SERVERS, SLOTS = pd.Index(["a", "b", "c"]), pd.Index(["fast", "slow"]), pd.Index([10, 20])
COST = pd.DataFrame([[4.0, 1.0], [2.0, 3.0], [5.0, 9.0]], index=JOBS, columns=SERVERS)
SIZE = pd.Series([3.0, 2.0, 1.0], index=JOBS)
SPACE = pd.Series([3.0, 3.0], index=SERVERS)


def assignment(
    cost: pd.DataFrame = COST, size: pd.Series = SIZE, space: pd.Series = SPACE
) -> Model:
    m = Model("assignment")
    x = m.binary("x", coords={"job": JOBS, "server": SERVERS})
    m.add("once", x.sum("server") == 1)
    m.add("space", (x * size).sum("job") <= space)
    m.minimize((x * cost).sum())
    return m


def unlabelled() -> Model:
    m = Model("assignment")
    x = m.binary("x", (3, 2))
    m.add("once", x.sum(axis=1) == 1)
    m.add("space", SIZE.to_numpy() @ x <= SPACE.to_numpy())
    m.minimize((x * COST.to_numpy()).sum())
    return m


@pytest.mark.parametrize("seed", range(5))
def test_data_in_any_order_makes_the_matrix_that_positions_make(seed):
    rng = np.random.default_rng(seed)
    mixed = [COST, SIZE, SPACE]
    mixed = [one.sample(frac=1, random_state=rng) for one in mixed]
    mixed[0] = mixed[0][rng.permutation(SERVERS)]
    found, expected = assignment(*mixed).compile(), unlabelled().compile()
    np.testing.assert_array_equal(found.rows.matrix.toarray(), expected.rows.matrix.toarray())
    np.testing.assert_array_equal(found.rows.upper, expected.rows.upper)
    np.testing.assert_array_equal(found.cost, expected.cost)


@pytest.mark.parametrize("solver", ["highs", "cpsat"])
def test_a_solution_over_two_dimensions_is_a_data_frame(solver):
    solution = solve(assignment(), solver)
    chosen = solution["x"]
    assert isinstance(chosen, pd.DataFrame)
    assert list(chosen.index) == list(JOBS)
    assert chosen.index.name == "job"
    assert chosen.columns.name == "server"
    assert float((chosen * COST).to_numpy().sum()) == solution.objective == 8.0
    assert chosen.loc["a", "slow"] == 1
    assert isinstance(solution.values["x"], np.ndarray)


def test_a_solution_and_duals_over_one_dimension_are_series():
    m = Model()
    x = m.continuous("x", coords={"job": JOBS}, upper=SIZE[::-1])
    m.add("all", x.sum() <= 5)
    m.add("each", x <= 2.5)
    m.maximize((x * pd.Series({"c": 1.0, "a": 3.0, "b": 2.0})).sum())
    solution = solve(m)
    assert solution["x"].to_dict() == {"a": 2.5, "b": 2.0, "c": 0.5}
    assert solution.dual("each").index.equals(JOBS)
    assert solution.dual("each")["a"] == 2.0
    assert solution.dual("all").shape == ()


def test_three_dimensions_come_back_as_a_data_array_that_may_be_put_in_again():
    xarray = pytest.importorskip("xarray", reason="optsched[labels] is not installed")
    m = Model()
    x = m.integer("x", coords={"job": JOBS, "server": SERVERS, "slot": SLOTS}, upper=4)
    weight = xarray.DataArray(
        np.arange(12.0).reshape(2, 2, 3), dims=("slot", "server", "job"),
        coords={"slot": [20, 10], "server": ["slow", "fast"], "job": ["c", "a", "b"]},
    )  # fmt: skip
    m.add("few", x.sum(["job", "slot"]) <= 5)
    m.maximize((x * weight).sum())
    found = solve(m)["x"]
    assert isinstance(found, xarray.DataArray)
    assert found.dims == ("job", "server", "slot")
    assert float((found * weight).sum()) == solve(m).objective == 4 * 11 + 10 + 4 * 8 + 7
    assert m.violations({"x": found.transpose("slot", "job", "server")}) == []
    with pytest.raises((ModelError, TypeError)):
        weight * x


def test_new_dimensions_of_a_factor_are_added_after_the_own_ones():
    m = Model()
    x = m.continuous("x", coords={"job": JOBS})
    product = x * COST.rename_axis(index="job", columns="server")
    assert product.dims == ("job", "server")
    assert product.sum("job").dims == ("server",)
    y = m.continuous("y", coords={"server": SERVERS})
    both = x + 2 * y - 1
    assert both.dims == ("job", "server")
    np.testing.assert_array_equal(
        both.array.at(np.array([1.0, 2, 3, 10, 20])), [[20, 40], [21, 41], [22, 42]]
    )


def test_a_series_over_two_levels_is_taken_where_it_has_every_combination():
    m = Model()
    x = m.continuous("x", coords={"job": JOBS, "server": SERVERS})
    long = COST.rename_axis(index="job", columns="server").stack().sample(frac=1, random_state=3)
    np.testing.assert_array_equal((x * long).array.at(np.ones(6)), COST)
    with pytest.raises(ModelError, match="5 entries, not one for each of the 6"):
        x * long.iloc[:5]


def test_selection_sums_by_group_and_ranges_go_by_label():
    m = Model()
    x = m.continuous("x", coords={"job": JOBS, "server": SERVERS})
    point = np.arange(6.0)
    assert x.sel(job="b").dims == ("server",)
    np.testing.assert_array_equal(x.sel(job="b").array.at(point), [2, 3])
    np.testing.assert_array_equal(x.sel(job=["c", "a"], server="slow").array.at(point), [5, 1])
    assert isinstance(x.sel(job="a", server="fast"), Expression)
    team = pd.Series({"c": "red", "a": "red", "b": "blue"}, name="team").rename_axis("job")
    grouped = x.sum_by(team)
    assert grouped.dims == ("team", "server")
    np.testing.assert_array_equal(grouped.sel(team="red").array.at(point), [4, 6])
    relation = x.sum("server").between(SIZE[::-1], SIZE + 1)
    np.testing.assert_array_equal(relation.lower, SIZE)
    np.testing.assert_array_equal(x.sel(job=["c", "b"]).labels["job"], ["c", "b"])


def test_start_and_points_are_aligned_by_label():
    m = assignment()
    best = solve(m)["x"]
    mixed = best.iloc[::-1, ::-1]
    assert m.violations({"x": mixed}) == []
    assert m.value({"x": mixed}) == 8.0
    assert solve(m, warm_start={"x": mixed}).objective == 8.0


def test_a_labelled_model_is_found_by_name_and_pickled_with_its_labels():
    m = assignment()
    assert isinstance(m["x"], Labelled)
    assert m["x"].shape == (3, 2)
    assert repr(m["x"]) == "<Variable over job: 3, server: 2>"
    assert solve(pickle.loads(pickle.dumps(m)))["x"].columns.name == "server"


REFUSED = {
    "other labels": (lambda x: x * pd.Series([1.0, 2, 3], pd.Index(["a", "b", "d"], name="job")),
                     r"'job' differ: \['a', 'b', 'c'\] \(3\) and \['a', 'b', 'd'\]"),
    "too few": (lambda x: x * pd.Series([1.0, 2], pd.Index(["a", "b"], name="job")),
                r"differ: .*'c'\] \(3\) and \['a', 'b'\] \(2\)"),
    "no name, no match": (lambda x: x * pd.Series([1.0, 2, 3]), "no dimension has the labels"),
    "by size": (lambda x: x * np.ones(2), r"shape \(2,\) without labels"),
    "by size, compared": (lambda x: x <= [1, 2, 3], "without labels"),
    "a plain expression": (lambda x: x + Model().continuous("y", 2), "without labels"),
    "twice the same": (lambda x: x + pd.DataFrame(np.eye(3), JOBS, JOBS), "name them"),
    "no such dimension": (lambda x: x.sum("slot"), "no dimension 'slot', only job, server"),
    "no such label": (lambda x: x.sel(job="z"), "'job' has no 'z', only"),
    "truth": (lambda x: bool(x), "only arithmetic, sums, sel"),
    "numpy": (lambda x: np.sum(x), "x.array is the same without labels"),
    "product": (lambda x: x * x, "not linear"),
    "position": (lambda x: x[0], "only arithmetic, sums, sel"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_meet_by_label_is_refused_naming_both_sides(case):
    operation, said = REFUSED[case]
    x = Model().continuous("x", coords={"job": JOBS, "server": SERVERS})
    with pytest.raises(ModelError, match=said):
        operation(x)


def test_two_dimensions_of_the_same_labels_need_a_named_index():
    m = Model()
    x = m.binary("x", coords={"from": JOBS, "to": JOBS})
    with pytest.raises(ModelError, match="several dimensions have"):
        x * SIZE
    assert (x * SIZE.rename_axis("to")).dims == ("from", "to")


def test_a_declaration_is_refused_before_anything_is_added(monkeypatch):
    m = Model()
    with pytest.raises(ModelError, match="has the label 'a' twice"):
        m.binary("x", coords={"job": ["a", "a"]})
    with pytest.raises(ModelError, match="name no dimension"):
        m.binary("x", coords={})
    with pytest.raises(ModelError, match="bounds of 'x'"):
        m.integer("x", coords={"job": JOBS}, upper=pd.Series([1.0, 2, 3], ["a", "b", "d"]))
    with pytest.raises(ModelError, match="no dimension 'server', only job"):
        m.integer("x", coords={"job": JOBS}, upper=SPACE.rename_axis("server"))
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ModelError, match=r"optsched\[labels\]"):
        m.binary("x", coords={"job": JOBS, "server": SERVERS, "slot": SLOTS})
    assert not m.variables


def test_labels_are_no_part_of_what_has_none():
    m = unlabelled()
    compiled = m.compile()
    assert compiled.labels == compiled.row_labels == {}
    assert type(solve(m)["x"]) is np.ndarray
    with pytest.raises(NoMeaningError):
        Labelled(m["x"], {"job": JOBS, "server": SERVERS}) ** 2
