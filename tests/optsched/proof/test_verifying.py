"""Proofs written by hand, and everything that must not pass for one."""

import itertools
import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import optsched.proof.verifying
from optsched.model import Model
from optsched.proof import ProofError, verify
from optsched.proof.exact_model import ExactModel
from optsched.proof.verifying import Branch, children, rounding, tangent
from optsched.solvers.scaling import integer_bounds


def packing() -> Model:
    """Two binaries of which each pair of three covers one: the relaxation says 1.5, the truth 2."""
    m = Model("odd cycle")
    x = m.binary("x", 3)
    m.minimize(x.sum())
    m.add("edges", x[[0, 1, 0]] + x[[1, 2, 2]] >= 1)
    return m


HALF = {"rows": [0, 1, 2], "y": [1, 1, 1], "over": 2}


def document(nodes: list, bound: object = (2, 1), extra: list | None = None) -> dict:
    return {
        "format": "optsched/proof",
        "version": 1,
        "bound": None if bound is None else list(bound),
        "extra": extra or [],
        "nodes": nodes,
    }


def test_a_bound_is_rounded_up_where_costs_are_whole() -> None:
    assert verify(packing().compile(), document([HALF])) == 2


def test_a_bound_is_not_rounded_up_where_a_column_that_costs_is_continuous() -> None:
    m = packing()
    m.minimize(m["x"].sum() + m.continuous("z", upper=1))
    form = m.compile()
    assert verify(form, document([HALF], (3, 2))) == Fraction(3, 2)
    with pytest.raises(ProofError, match="leaf 0 does not reach the bound"):
        verify(form, document([HALF]))


def test_values_lie_on_a_grid_that_starts_at_the_constant() -> None:
    m = packing()
    m.minimize(4 * m["x"].sum() + 0.5)
    form = m.compile()
    leaf = {"rows": [0, 1, 2], "y": [2, 2, 2], "over": 1}
    assert verify(form, document([leaf], (17, 2))) == Fraction(17, 2)
    with pytest.raises(ProofError):
        verify(form, document([leaf], (18, 2)))


def test_of_a_maximum_the_bound_is_from_above() -> None:
    m = Model()
    x = m.binary("x", 3)
    m.maximize(x.sum())
    m.add("edges", x[[0, 1, 0]] + x[[1, 2, 2]] <= 1)
    leaf = {"rows": [0, 1, 2], "y": [-1, -1, -1], "over": 2}
    assert verify(m.compile(), document([leaf], (1, 1))) == 1
    with pytest.raises(ProofError):
        verify(m.compile(), document([leaf], (0, 1)))


def test_a_split_halves_the_work_and_both_halves_must_close() -> None:
    free = {"rows": [], "y": [], "over": 1}
    m = packing()
    m.minimize(m["x"].sum() + 0.3 * m.continuous("z"))
    form = m.compile()
    split = {"split": [[0], [1], 0]}
    low = {"rows": [0, 2], "y": [1, 1], "over": 1}
    high = {"rows": [1], "y": [1], "over": 1}
    assert verify(form, document([split, low, high])) == 2
    for broken in ([split, high, low], [split, low, free], [split, low], [split, low, high, high]):
        with pytest.raises(ProofError):
            verify(form, document(broken))


def test_a_split_may_be_on_an_expression() -> None:
    m = packing()
    m.minimize(m["x"].sum() + 0.3 * m.continuous("z"))
    form = m.compile()
    split = {"split": [[0, 1, 2], [1, 1, 1], 1]}
    low = {"rows": [0, 1, 2, -1], "y": [1, 1, 1, -2], "over": 1, "cost": 0}
    high = {"rows": [-1], "y": [1], "over": 1}
    assert verify(form, document([split, low, high])) == 2
    with pytest.raises(ProofError, match="no such side"):
        verify(form, document([split, low, {"rows": [-1], "y": [-1], "over": 1}]))


def test_a_contradiction_proves_that_there_is_no_point() -> None:
    m = packing()
    m.add("few", m["x"].sum() <= 1)
    leaf = {"rows": [0, 1, 2, 3], "y": [1, 1, 1, -2], "over": 1, "cost": 0}
    assert verify(m.compile(), document([leaf], None)) is None
    with pytest.raises(ProofError):
        verify(m.compile(), document([HALF], None))


NOTHING = {"rows": [], "y": [], "over": 1}


def test_zero_is_no_contradiction() -> None:
    for constant in (0, 2):
        m = packing()
        m.minimize(m["x"].sum() + constant)
        with pytest.raises(ProofError, match="leaf 0 does not reach the bound"):
            verify(m.compile(), document([{**NOTHING, "cost": 0}], None))


def test_the_least_value_counts_constants_and_columns_that_no_row_prices() -> None:
    m = Model()
    m.minimize(3 * m.continuous("x", lower=2) + 0.25)
    form = m.compile()
    assert verify(form, document([NOTHING], (25, 4))) == Fraction(25, 4)
    with pytest.raises(ProofError):
        verify(form, document([NOTHING], (26, 4)))


def test_a_split_is_a_bound_where_an_integer_column_has_none() -> None:
    m = Model()
    m.minimize(m.integer("x", lower=-np.inf))
    m.add("row", 2 * m["x"] >= 1)
    form = m.compile()
    split = {"split": [[0], [1], 0]}
    low = {"rows": [0], "y": [1], "over": 1, "cost": 0}
    assert verify(form, document([split, low, NOTHING], (1, 1))) == 1
    with pytest.raises(ProofError, match="leaf 2"):
        verify(form, document([split, low, NOTHING], (2, 1)))


def test_a_second_split_of_a_column_tightens_the_first() -> None:
    m = Model()
    x = m.integer("x", lower=-9, upper=9)
    m.minimize(-x)
    form = m.compile()
    outer, inner = {"split": [[0], [1], 3]}, {"split": [[0], [1], 5]}
    for nodes in ([outer, inner, *3 * [NOTHING]], [inner, outer, *3 * [NOTHING]]):
        assert verify(form, document(nodes, (-9, 1))) == -9
    branch = children(ExactModel(form), Branch({}, ()), [0], [1], 3)
    ends = [
        [child.columns[0] for child in children(ExactModel(form), one, [0], [1], 5)]
        for one in branch
    ]
    assert ends == [[(-9, 3), (6, 3)], [(4, 5), (6, 9)]]


def test_both_sides_of_a_split_on_an_expression_leave_nothing_between() -> None:
    m = packing()
    m.minimize(0.5 * m["x"].sum())
    model = ExactModel(m.compile())
    low, high = children(model, Branch({}, ()), [0, 2], [1, -3], 1)
    terms = {0: model.unit, 2: -3 * model.unit}
    assert low.rows == ((terms, None, model.unit),)
    assert high.rows == ((terms, 2 * model.unit, None),)


def test_a_combination_is_rounded_from_the_bounds_of_its_columns() -> None:
    m = Model()
    n, x = m.integer("n", 2, lower=[0, -2], upper=9), m.continuous("x", 2, lower=-3, upper=[2, 5])
    free = m.integer("free", lower=-np.inf, upper=9)
    m.add("row", 1.5 * n[0] + 2.5 * n[1] + 3 * x[0] - 0.5 * x[1] + 2 * free >= 2)
    model = ExactModel(m.compile())
    row = rounding(model, model.rows, {"rows": [0], "y": [1], "over": 1})
    # 2 n0 + 3 n1 + 2 free >= 2 + 0.5 (-2) - 3 (2) + 0.5 (-3) = -6.5, all times the unit of 2
    assert row == ({0: 4, 1: 6, 4: 4}, -12, None)
    with pytest.raises(ProofError, match="no lower bound to round from"):
        rounding(model, model.rows, {"rows": [0], "y": [1], "over": 4})


@pytest.mark.parametrize("sign", [1, -1])
def test_a_continuous_column_without_the_bound_that_counts_is_not_rounded_away(sign) -> None:
    m = Model()
    x = m.continuous("x", **({"lower": 0} if sign > 0 else {"lower": -np.inf, "upper": 0}))
    m.add("row", m.integer("n", upper=9) + sign * x >= 1)
    model = ExactModel(m.compile())
    with pytest.raises(ProofError, match="no bound to replace it by"):
        rounding(model, model.rows, {"rows": [0], "y": [1], "over": 1})


def test_a_combination_of_rows_may_be_rounded() -> None:
    m = packing()
    m.minimize(m["x"].sum() + m.continuous("z", upper=1))
    extra = [{"rows": [0, 1, 2], "y": [1, 1, 1], "over": 2}]
    leaf = {"rows": [3], "y": [1], "over": 1}
    assert verify(m.compile(), document([leaf], extra=extra)) == 2


def test_what_is_rounded_holds_at_every_point() -> None:
    rng = np.random.default_rng(5)
    cut = 0
    for _ in range(60):
        m = Model()
        x = m.integer("x", 3, lower=rng.integers(-3, 1, 3), upper=3)
        m.add("rows", rng.integers(-3, 4, (2, 3)) @ x >= rng.integers(-4, 3, 2))
        model = ExactModel(m.compile())
        extra = {"rows": [0, 1], "y": rng.integers(1, 5, 2).tolist(), "over": 4}
        row = rounding(model, model.rows, extra)
        assert row.lower is not None
        weakest = math.inf
        ranges = [range(int(c.lower), int(c.upper) + 1) for c in model.columns]
        for point in itertools.product(*ranges):
            value = sum(a * point[j] for j, a in row.terms.items())
            if all(sum(a * point[j] for j, a in r.terms.items()) >= r.lower for r in model.rows):
                assert value >= row.lower
            weakest = min(weakest, value)
        cut += weakest < row.lower
    assert cut > 20


def test_a_tangent_of_a_cone_is_a_row() -> None:
    m = Model()
    u, w = m.continuous("u", upper=9), m.continuous("w", 1, lower=3, upper=9)
    m.rotated_cone(u, u * 0 + 1, w, name="cone")  # u >= w^2
    m.minimize(u)
    form = m.compile({"rotated_cone"})
    extra = [{"cone": 0, "s": 1, "t": 9, "a": [3]}]
    leaf = {"rows": [0], "y": [1], "over": 1}
    assert verify(form, document([leaf], (9, 1), extra)) == 9
    for wrong in ({"s": 1, "t": 8, "a": [3]}, {"s": -1, "t": -9, "a": [3]}):
        with pytest.raises(ProofError, match="tangent"):
            verify(form, document([leaf], (9, 1), [{"cone": 0, **wrong}]))


@pytest.mark.parametrize("entry", [0, 1])
def test_a_tangent_says_of_affine_parts_what_it_says_of_the_cone(entry) -> None:
    m = Model()
    u, v, w = (m.continuous(name, 2, upper=9) for name in "uvw")
    parts = np.array([[0.5, 1.0], [0.5, 1.0]])
    m.rotated_cone(u + 1, 2 * v, w[:, None] * parts + u[:, None] + 0.25, name="cone")
    model = ExactModel(m.compile({"rotated_cone"}))
    row = tangent(model, {"cone": entry, "s": 5, "t": 2, "a": [3, -1]})
    # 5 (u + 1) + 2 (2 v) - 6 (0.5 w + u + 0.25) + 2 (w + u + 0.25) >= 0, times the unit of 4
    assert {j: a for j, a in row.terms.items() if a} == {0 + entry: 4, 2 + entry: 16, 4 + entry: -4}
    assert (row.lower, row.upper) == (-16, None)
    with pytest.raises(ProofError, match="there is no number 2"):
        tangent(model, {"cone": 2, "s": 5, "t": 2, "a": [3, -1]})


@pytest.mark.parametrize(("s", "t", "holds"), [(0, 1, True), (1, 0, True), (-1, 0, False),
                                              (0, -1, False)])  # fmt: skip
def test_the_factors_of_a_tangent_may_be_nothing_and_not_less(s, t, holds) -> None:
    m = Model()
    m.rotated_cone(m.continuous("u"), m.continuous("v"), m.continuous("w", 1))
    model = ExactModel(m.compile({"rotated_cone"}))
    if holds:
        row = tangent(model, {"cone": 0, "s": s, "t": t, "a": [0]})
        assert {j: a for j, a in row.terms.items() if a} == {0 if s else 1: 1}
    else:
        with pytest.raises(ProofError, match="a tangent needs"):
            tangent(model, {"cone": 0, "s": s, "t": t, "a": [0]})


def test_a_model_without_variables_costs_its_constant() -> None:
    m = Model()
    m.minimize(3)
    assert verify(m.compile(), document([NOTHING], (3, 1))) == 3


def test_bounds_are_the_numbers_they_are_and_whole_inside_for_integer_columns() -> None:
    m = Model()
    m.continuous("x", 2, lower=[0.25, -2], upper=[2.5, np.inf])
    m.integer("n", lower=-1.5, upper=1.5)
    columns = ExactModel(m.compile()).columns
    assert columns == [(Fraction(1, 4), Fraction(5, 2)), (-2, None), (-1, 1)]


@pytest.mark.parametrize(("end", "value"), [("lower", np.inf), ("upper", -np.inf)])
def test_a_bound_that_is_infinite_on_the_wrong_side_is_refused(end, value) -> None:
    form = packing().compile()
    getattr(form, end)[1] = value
    with pytest.raises(ProofError, match="wrong side"):
        verify(form, document([HALF]))


def test_doubles_are_the_numbers_they_are() -> None:
    m = Model()
    x = m.continuous("x", upper=1)
    m.minimize(x)
    m.add("row", 10 * x >= 0.1 + 0.2)  # a little more than 3/10
    leaf = {"rows": [0], "y": [1], "over": 10}
    exact = Fraction(0.1 + 0.2) / 10
    form = m.compile()
    assert verify(form, document([leaf], exact.as_integer_ratio())) == exact > Fraction(3, 100)
    above = exact + Fraction(1, 10**30)
    with pytest.raises(ProofError):
        verify(form, document([leaf], above.as_integer_ratio()))


def test_bounds_of_integer_columns_are_whole() -> None:
    m = Model()
    x = m.integer("x", lower=0.2, upper=0.8)
    m.minimize(x)
    split = {"split": [[0], [1], 0]}
    empty = {"rows": [], "y": [], "over": 1, "cost": 0}
    assert verify(m.compile(), document([split, empty, empty], None)) is None


def test_a_column_without_a_bound_must_cost_nothing() -> None:
    m = Model()
    x = m.continuous("x", 2)
    m.minimize(x.sum())
    m.add("row", x.sum() >= 1)
    form = m.compile()
    assert verify(form, document([{"rows": [0], "y": [1], "over": 1}], (1, 1))) == 1
    with pytest.raises(ProofError):
        verify(form, document([{"rows": [0], "y": [2], "over": 1}], (1, 1)))


@pytest.mark.parametrize(
    "change",
    [
        {"format": "optsched/schedule"},
        {"version": 2},
        {"bound": [2, 0]},
        {"bound": [2, -1]},
        {"bound": [2.0, 1]},
        {"bound": [True, 1]},
        {"bound": "2"},
        {"nodes": []},
        {"nodes": [{}]},
        {"nodes": None},
        {"nodes": [{**HALF, "over": 0}]},
        {"nodes": [{**HALF, "over": -2}]},
        {"nodes": [{**HALF, "y": [1, 1]}]},
        {"nodes": [{**HALF, "y": [0.5, 1, 1]}]},
        {"nodes": [{**HALF, "y": [float("nan"), 1, 1]}]},
        {"nodes": [{**HALF, "rows": [0, 1, 3]}]},
        {"nodes": [{**HALF, "rows": [0, 1, -1]}]},
        {"nodes": [{**HALF, "cost": 2}]},
        {"nodes": [{**HALF, "cost": -1}]},
        {"nodes": [{"split": [[7], [1], 0]}, HALF, HALF]},
        {"nodes": [{"split": [[-1], [1], 0]}, HALF, HALF]},
        {"nodes": [{"split": [[0, 0], [1, 1], 0]}, HALF, HALF]},
        {"nodes": [{"split": [[0], [0.5], 0]}, HALF, HALF]},
        {"extra": [{"rows": [3], "y": [1], "over": 1}]},
        {"extra": [{"cone": 0, "s": 1, "t": 1, "a": [1]}]},
        {"extra": [{}]},
    ],
)
def test_what_is_malformed_proves_nothing(change: dict) -> None:
    proof = {**document([HALF]), **change}
    with pytest.raises(ProofError):
        verify(packing().compile(), proof)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"over": 0}, "a denominator must be positive"),
        ({"over": -2}, "a denominator must be positive"),
        ({"rows": [0, 1, 3]}, "there is no number 3"),
    ],
)
def test_what_is_malformed_is_said(change: dict, why: str) -> None:
    with pytest.raises(ProofError, match=why):
        verify(packing().compile(), document([{**HALF, **change}]))


def test_a_split_on_a_continuous_column_is_refused() -> None:
    m = packing()
    m.minimize(m["x"].sum() + m.continuous("z", upper=1))
    nodes = [{"split": [[3], [1], 0]}, HALF, HALF]
    with pytest.raises(ProofError, match="integer columns"):
        verify(m.compile(), document(nodes, (3, 2)))


def test_a_model_with_blocks_that_are_not_linear_is_refused() -> None:
    m = packing()
    m.indicator(m["x"][0], m["x"][1] <= 0)
    with pytest.raises(ProofError, match="neither linear nor rotated cones"):
        verify(m.compile({"indicator"}), document([HALF]))


def test_the_verifier_is_small_and_imports_nothing_but_the_exact_matrix() -> None:
    folder = Path(optsched.proof.verifying.__file__).parent
    for name, ours in (("verifying.py", {"optsched.proof.exact_model"}), ("exact_model.py", set())):
        text = (folder / name).read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 300
        lines = [line.split() for line in text.splitlines()]
        imported = {line[1] for line in lines if line[:1] in (["import"], ["from"])}
        foreign = {one for one in imported if one.split(".")[0] not in sys.stdlib_module_names}
        assert foreign == ours


@given(
    whole=st.integers(-(10**12), 10**12),
    off=st.floats(-1.0, 1.0),
    size=st.sampled_from([1e-12, 3e-10, 3e-9, 3e-7, 1e-6, 1e-3, 1.0]),
)
def test_bounds_of_integers_are_read_as_every_solve_reads_them(whole, off, size) -> None:
    value = whole + off * size
    m = Model()
    m.integer("low", lower=value, upper=2e12)
    m.integer("high", lower=-2e12, upper=value)
    low, high = ExactModel(m.compile()).columns
    lower, upper = integer_bounds(np.array([value]), np.array([value]))
    assert (low.lower, high.upper) == (lower.item(), upper.item())
