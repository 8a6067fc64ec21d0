"""A model: named blocks, variants that share variables, one matrix for the solvers."""

import copy
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import InputError, Model, ModelError, solve

INF = np.inf


def shop() -> Model:
    """Two products from one machine, at most three of the second."""
    m = Model("shop")
    x = m.integer("x", 2, upper=np.array([9.0, 3.0]))
    m.maximize(np.array([2.0, 3.0]) @ x + 1.0)
    m.add("hours", x @ np.array([1.0, 2.0]) <= 8)
    m.add("hours:overtime", x.sum() <= 100)
    m.add("demand", x >= np.array([0.0, 1.0]))
    return m


def dense(model: Model) -> np.ndarray:
    return model.compile().rows.matrix.toarray()


# names and data


def test_names_are_unique_and_missing_ones_are_named():
    m = shop()
    with pytest.raises(ModelError, match="'x' exists"):
        m.binary("x")
    with pytest.raises(ModelError, match="'hours' exists"):
        m.add("hours", m["x"] <= 1)
    with pytest.raises(ModelError, match=r"no variable 'y'; there are: x"):
        m["y"]
    with pytest.raises(ModelError, match="no block 'hour'; there are: hours"):
        m.without("hour")


@pytest.mark.parametrize(
    ("lower", "upper", "said"),
    [
        (2.0, 1.0, "exceeds"),
        (np.nan, 1.0, "'x': a bound is NaN"),
        (0.0, np.nan, "'x': a bound is NaN"),
        ([0.0, np.nan], 1.0, "'x': a bound is NaN"),
        (np.zeros(3), 1.0, r"\(3,\) does not fit \(2,\)"),
        (INF, INF, "no finite value"),
        (-INF, -INF, "no finite value"),
    ],
)
def test_bounds_that_make_no_domain_are_refused(lower, upper, said):
    with pytest.raises(ModelError, match=said):
        Model().continuous("x", 2, lower=lower, upper=upper)


def test_an_objective_is_one_expression_and_a_block_is_a_relation():
    m = shop()
    with pytest.raises(ModelError, match=r"\(2,\)"):
        m.minimize(m["x"])
    with pytest.raises(ModelError, match="expected a relation"):
        m.add("new", m["x"])
    with pytest.raises(ModelError, match="expected a relation"):
        m.add("new", 3 <= 4)


@pytest.mark.parametrize("bad", [INF, -INF, np.nan])
def test_data_that_are_not_finite_are_refused_naming_the_block(bad):
    m = shop()
    m.add("ok", m["x"] <= INF)
    m.add("worse", np.array([1.0, bad]) * m["x"] <= 1)
    with pytest.raises(ModelError, match="'worse': a coefficient"):
        m.compile()
    m = m.without("worse")
    m.add("side", m["x"] == bad)
    with pytest.raises(ModelError, match="'side': a right-hand side"):
        m.compile()
    m = m.without("side")
    b = m.binary("b")
    m.indicator(b, bad * m["x"] <= 1, name="when")
    with pytest.raises(ModelError, match="'when"):
        m.compile({"indicator"})


@pytest.mark.parametrize("bad", [INF, -INF])
def test_an_infinite_objective_is_refused_naming_the_column(bad):
    m = shop()
    m.minimize(m["x"] @ np.array([0.0, bad]))
    with pytest.raises(ModelError, match=r"objective: the coefficient of x\[1\]"):
        m.compile()
    m.minimize(m["x"].sum() + bad)
    with pytest.raises(ModelError, match="objective: its constant"):
        m.compile()


@pytest.mark.parametrize(
    "say",
    [
        lambda m, x: m.minimize(x.sum() * np.nan),
        lambda m, x: m.maximize(x @ np.array([0.0, np.nan])),
        lambda m, x: m.minimize(x.sum() + np.nan),
        lambda m, x: m.minimize(np.nan),
    ],
)
def test_an_objective_that_is_no_number_is_refused_at_once(say):
    m = shop()
    with pytest.raises(ModelError, match="objective: a coefficient or constant is NaN"):
        say(m, m["x"])


@pytest.mark.parametrize(
    "given",
    [
        *("1", ["1", "2"], np.array(["1", "2"]), np.array(["1", 2], dtype=object)),
        *(np.ma.array([1.0, 2.0], mask=[True, False]), np.ma.masked, [np.ma.masked, 1.0]),
        *(np.datetime64("2026-01-01"), np.array([1j, 0j]), [None, 1.0], [Decimal(1), None]),
    ],
)
@pytest.mark.parametrize(
    "take",
    [
        *(lambda x, given: x * given, lambda x, given: given * x, lambda x, given: x + given),
        *(lambda x, given: x <= given, lambda x, given: x.between(0, given)),
        *(lambda x, given: x / given, lambda x, given: x @ given, lambda x, given: x - given),
        lambda x, given: Model().continuous("y", 2, upper=given),
        lambda x, given: Model().integer("y", 2, lower=given),
        lambda x, given: x.model.semicontinuous("y", 2, lower=1, upper=given),
        lambda x, given: x.model.table(given, x[0]),
        lambda x, given: x.model.piecewise(x, [0, 1], given),
        lambda x, given: x.model.maximum(x, given),
        lambda x, given: x.model.vector({"x": given}),
    ],
)
def test_what_is_no_number_is_refused_where_it_is_given(take, given):
    x = Model().integer("x", 2, upper=9)
    with pytest.raises((ModelError, TypeError)):
        take(x, given)


def test_a_masked_array_without_a_masked_entry_and_python_numbers_are_numbers():
    m = Model()
    x = m.integer("x", 2, upper=np.ma.array([3.0, 4.0], mask=False))
    m.maximize(x @ [Fraction(1, 2), Decimal("0.25")])
    assert solve(m).objective == 2.5


def test_a_copy_by_the_copy_module_is_a_copy_like_any_other():
    m = shop()
    twin = copy.copy(m)
    twin.add("most", twin["x"].sum() <= 1)
    twin.maximize(m["x"].sum())
    assert "most" not in m.blocks
    assert solve(twin).objective == 1


def test_opposite_infinite_coefficients_do_not_cancel_unseen():
    m = Model()
    x = m.continuous("x", 2)
    m.add("row", np.array([INF, -INF]) @ x <= 1)
    with pytest.raises(ModelError, match="'row'"):
        m.compile()


def test_more_columns_than_32_bits_count_are_refused_before_any_memory_is_taken():
    m = Model()
    with pytest.raises(ModelError, match="2147483647 columns"):
        m.binary("huge", (50_000, 50_000))
    assert m.columns == 0
    assert not m.variables


# compiling


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10_000), maximise=st.booleans())
def test_the_compiled_rows_are_those_of_a_dense_reference(seed, maximise):
    rng = np.random.default_rng(seed)
    m = Model()
    sizes = rng.integers(0, 5, 3)
    blocks = [m.integer(f"v{i}", int(n), upper=7) for i, n in enumerate(sizes)]
    ends = np.cumsum(sizes)
    n = int(ends[-1])
    rows, lower, upper = np.zeros((0, n)), np.zeros(0), np.zeros(0)
    for name in range(3):
        count = int(rng.integers(0, 5))
        part = rng.integers(-2, 3, (count, n)).astype(float)
        constant = rng.integers(-3, 4, count).astype(float)
        expression = sum(
            (sp.csr_array(part[:, e - len(b.terms[0].columns) : e]) @ b
             for b, e in zip(blocks[1:], ends[1:], strict=True)),
            start=part[:, : ends[0]] @ blocks[0] + constant,
        )  # fmt: skip
        low = rng.integers(-9, 0, count).astype(float)
        m.add(str(name), expression.between(low, -low))
        rows = np.vstack([rows, part])
        lower, upper = np.r_[lower, low - constant], np.r_[upper, -low - constant]
    cost = rng.integers(-5, 6, n).astype(float)
    goal = sum(
        (b @ cost[e - len(b.terms[0].columns) : e] for b, e in zip(blocks, ends, strict=True)),
        start=blocks[0].sum() * 0.0 + 2.5,
    )
    m.maximize(goal) if maximise else m.minimize(goal)
    compiled = m.compile()
    np.testing.assert_array_equal(compiled.rows.matrix.toarray(), rows)
    np.testing.assert_array_equal(compiled.rows.lower, lower)
    np.testing.assert_array_equal(compiled.rows.upper, upper)
    np.testing.assert_array_equal(compiled.cost, cost)
    assert (compiled.offset, compiled.maximise) == (2.5, maximise)
    x = rng.integers(0, 8, n).astype(float)
    assert compiled.objective(x) == cost @ x + 2.5 == m.value(compiled.split(x))


def test_a_term_said_many_times_is_stored_once():
    m = Model()
    x = m.continuous("x", 3)
    m.add("row", x[[0, 0, 1]].sum() + x.sum() + 2 * x[0] <= 1)
    m.minimize((x + x)[0] + x[0])
    matrix = m.compile().rows.matrix
    assert matrix.nnz == 3
    assert matrix.has_canonical_format
    np.testing.assert_array_equal(matrix.toarray(), [[5, 2, 1]])
    np.testing.assert_array_equal(m.compile().cost, [3, 0, 0])


def test_bounds_and_kinds_stand_at_their_columns():
    m = Model()
    m.binary("b", (1, 2))
    m.continuous("c", lower=-INF)
    m.integer("i", 2, lower=np.array([1, 2]), upper=5)
    compiled = m.compile()
    np.testing.assert_array_equal(compiled.lower, [0, 0, -INF, 1, 2])
    np.testing.assert_array_equal(compiled.upper, [1, 1, INF, 5, 5])
    np.testing.assert_array_equal(compiled.integer, [1, 1, 0, 1, 1])
    assert [m.column_name(i) for i in range(5)] == ["b[0, 0]", "b[0, 1]", "c", "i[0]", "i[1]"]
    with pytest.raises(ModelError):
        m.column_name(5)


def test_models_without_variables_rows_or_entries_compile_and_solve():
    empty = Model()
    assert empty.compile().rows.matrix.shape == (0, 0)
    assert empty.violations({}) == []
    assert (solve(empty).status, solve(empty).objective) == ("optimal", 0.0)
    m = Model()
    x, none = m.continuous("x", 2, upper=1), m.binary("none", (0, 3))
    m.maximize(x.sum() + none.sum() + 5)
    assert solve(m).objective == 7
    m.add("none", none <= 1)
    m.add("empty sums", none.sum(axis=0) <= 1)
    assert dense(m).shape == (3, 2)
    solution = solve(m)
    assert solution.objective == 7
    assert solution["none"].shape == (0, 3)
    m.add("impossible", none.sum() >= 1)
    assert solve(m).status == "infeasible"


def test_a_model_of_constants_alone_is_optimal_or_infeasible():
    m = Model()
    none = m.continuous("none", 0)
    m.minimize(none.sum() + 4)
    m.add("true", none.sum() + 1 <= 2)
    solution = solve(m)
    assert (solution.status, solution.objective, solution.bound) == ("optimal", 4.0, 4.0)
    m.add("false", none.sum() + 3 <= 2)
    assert solve(m).status == "infeasible"


# variants


def test_a_copy_shares_variables_but_not_what_is_added_later():
    m = shop()
    c = m.copy("variant")
    c.add("new", m["x"] <= 5)  # an expression of the original
    y = c.binary("y")
    c.add("mixed", c["x"][0] + y <= 5)
    c.minimize(m["x"].sum())
    assert c.name == "variant"
    assert "new" not in m.blocks
    assert "y" not in m.variables
    assert m.maximise
    assert not c.maximise
    assert dense(m).shape == (4, 2)
    assert dense(c).shape == (7, 3)
    m.add("later", m["x"] <= 8)
    assert "later" not in c.blocks


def test_variables_of_another_model_are_refused():
    m, other = shop(), shop()
    for use in (
        lambda: m.add("row", other["x"] <= 1),
        lambda: m.minimize(other["x"].sum()),
        lambda: m["x"] + other["x"],
        lambda: m["x"] <= other["x"],
        lambda: m.indicator(other["x"], m["x"] <= 1, name="when"),
    ):
        with pytest.raises(ModelError):
            use()


def test_what_a_model_and_its_copy_add_on_their_own_is_never_taken_for_each_other():
    m = shop()
    c = m.copy()
    z, w = m.binary("z"), c.binary("w")  # the same column number in two models
    for use in (
        lambda: z + w,
        lambda: w - z,
        lambda: (z + m["x"][0]) + w,
        lambda: c.add("row", z <= 1),
        lambda: m.add("row", w <= 1),
        lambda: c.minimize(z),
    ):
        with pytest.raises(ModelError):
            use()
    c.add("fine", m["x"][0] + w <= 3)
    with pytest.raises(ModelError):
        m.copy().add("sibling", w <= 1)


def test_a_copy_of_a_copy_takes_expressions_of_both_ancestors():
    m = shop()
    c = m.copy()
    y = c.binary("y")
    d = c.copy()
    d.add("row", m["x"].sum() + y + d.continuous("z") <= 1)
    np.testing.assert_array_equal(d.compile().rows.matrix.toarray()[-1], [1, 1, 1, 1])


def test_without_drops_a_block_and_its_parts_only():
    m = shop()
    assert list(m.without("hours").blocks) == ["demand"]
    assert list(m.without("hours:overtime").blocks) == ["hours", "demand"]
    assert list(m.without("hours", "demand").blocks) == []
    assert list(m.blocks) == ["hours", "hours:overtime", "demand"]


def test_a_relaxed_model_takes_blocks_and_names_duals():
    m = shop()
    b = m.binary("b")
    m.indicator(b, m["x"][0] <= 2, name="when")
    m.add("on", b >= 0.5)
    relaxed = m.relax()
    assert not relaxed.compile().integer.any()
    assert m.compile().integer.all()
    relaxed.add("cut", relaxed["x"][0] + m["x"][1] <= 7.5)
    solution = solve(relaxed)
    assert solution.status == "optimal"
    # 2 x0 + 3 x1 + 1 with x1 = (8 - x0) / 2 and x0 <= 2 + 7 (1 - b), b = 1/2
    assert solution.objective == pytest.approx(2 * 5.5 + 3 * 1.25 + 1)
    assert solution.dual("hours").shape == ()
    assert solution.dual("hours") == pytest.approx(1.5)
    assert solution.dual("when:upper") == pytest.approx(0.5)
    assert solution.dual("on") == pytest.approx(-3.5)
    assert solution.dual("demand").shape == (2,)
    assert solve(relaxed.without("when")).objective > solution.objective


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_model_survives_pickling_and_deep_copying(clone):
    original = shop().copy()
    b = original.binary("b", 2)
    original.indicator(b, original["x"] <= 2, name="when")
    other = clone(original)
    other.add("new", other["x"] + other["b"] <= 6)
    assert solve(other).objective == solve(original).objective
    np.testing.assert_array_equal(dense(other)[:-2], dense(original))
    with pytest.raises(ModelError):
        other.add("foreign", original["x"] <= 1)


def test_a_model_shows_its_blocks():
    m = shop()
    m.indicator(m.binary("b"), m["x"][0] <= 2, name="when")
    shown = repr(m)
    for word in ("shop", "3 variables", "maximise", "integer", "(hours)", "indicator"):
        assert word in shown


def test_values_must_be_complete_and_fit():
    m = shop()
    with pytest.raises(ModelError, match="no value for variable 'x'"):
        m.value({})
    with pytest.raises(ModelError, match=r"\(2,\), its value \(3,\)"):
        m.value({"x": np.zeros(3)})


def test_what_decimals_leave_over_when_they_cancel_is_no_coefficient():
    m = Model()
    x = m.continuous("x", upper=1)
    m.add("row", 0.1 * x + 0.2 * x - 0.3 * x <= 1)
    assert m.compile().rows.matrix.nnz == 0


def test_rows_without_a_name_are_numbered_past_names_that_are_taken():
    m = Model()
    x = m.binary("x", 3)
    m.add("rows_2", x[0] <= 1)
    for _ in range(3):
        m.add(x <= 1, formula="x")
    assert list(m.blocks) == ["rows_2", "rows_1", "rows_3", "rows_4"]
    assert m.blocks["rows_4"].formula == "x"
    other = m.without("rows_1")
    other.add(x >= 0)
    assert list(other.blocks) == ["rows_2", "rows_3", "rows_4", "rows_1"]


def test_a_name_behind_its_relation_and_what_is_no_objective_are_refused_in_words():
    m = Model()
    x = m.binary("x", 3)
    with pytest.raises(ModelError, match="block 'all': the name comes first"):
        m.add(x.sum() <= 1, "all")
    with pytest.raises(ModelError, match="not of type list"):
        m.minimize([x[0], x[1]])


def test_a_solution_knows_the_values_of_expressions():
    m, jobs = Model(), pd.Index(["a", "b"], name="job")
    x, y = m.integer("x", 2, upper=[3, 4]), m.binary("y", coords={"job": jobs})
    m.maximize(x.sum() + y.sum())
    s = solve(m)
    assert s[x].tolist() == s["x"].tolist() == [3, 4]
    assert s[x @ [10, 1] + 0.5] == 34.5
    pd.testing.assert_series_equal(s[2 * y], 2 * s["y"])
    later = m.binary("later")
    with pytest.raises(ModelError, match="no value for variable 'later'"):
        s[x + later]
    m.add("never", x >= 9)
    with pytest.raises(KeyError, match="ended infeasible"):
        solve(m)[x]


def test_a_model_solves_itself_as_solve_does():
    m = Model()
    m.maximize(m.integer("x", upper=3.5))
    own = m.solve("cpsat", time_limit=60)
    assert (own.objective, own.solver) == (3.0, "cpsat")
    with pytest.raises(InputError, match="time_limit"):
        m.solve(time_limit=-1)


@pytest.mark.parametrize(
    ("word", "meant"),
    [("addd", "add"), ("addConstrs", "add"), ("addVars", "binary, integer or continuous"),
     ("optimize", "solve"), ("setObjective", "minimize or maximize"), ("maximum_", "maximum")],
)  # fmt: skip
def test_a_word_that_a_model_does_not_have_leads_to_the_one_it_has(word, meant):
    with pytest.raises(AttributeError, match=rf"no attribute '{word}'; did you mean {meant}"):
        getattr(Model(), word)
    assert not hasattr(Model(), "colour")
