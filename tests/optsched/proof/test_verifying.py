"""Proofs written by hand, and everything that must not pass for one."""

import itertools
import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import optsched.proof.verifying
from optsched.model import Model
from optsched.proof import ProofError, verify
from optsched.proof.exact_model import ExactModel
from optsched.proof.verifying import rounding


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
