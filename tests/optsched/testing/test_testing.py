"""The judges themselves: exact linear programs, enumeration, recipes and shrinking."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.enumeration import enumerate_optimum
from support.exact_lp import maximise
from support.random_models import random_model, random_recipe
from support.recipe import build
from support.shrink import shrink

from optsched import InputError, Model, ModelError
from optsched.model.blocks import Block
from optsched.solvers.solution import Status

F = Fraction


@st.composite
def programs(draw):
    n, m = draw(st.integers(1, 3)), draw(st.integers(0, 4))
    number = st.integers(-4, 4).map(F)
    end = st.none() | number
    rows = [
        (draw(st.lists(number, min_size=n, max_size=n)), *_ordered(draw(end), draw(end)))
        for _ in range(m)
    ]
    bounds = [_ordered(draw(end), draw(end)) for _ in range(n)]
    cost = draw(st.lists(number, min_size=n, max_size=n))
    return cost, rows, [b[0] for b in bounds], [b[1] for b in bounds]


def _ordered(a, b):
    return (b, a) if a is not None and b is not None and a > b else (a, b)


@settings(deadline=None, max_examples=300)
@given(program=programs())
def test_an_exact_optimum_is_proven_by_its_dual(program):
    """A point of the primal and one of the dual of equal value prove each other best; the dual
    of an infeasible or unbounded program has no such point."""
    cost, rows, lower, upper = program
    found = maximise(cost, rows, lower, upper)
    dual = maximise(*_dual(cost, rows, lower, upper))
    if found.status is not Status.OPTIMAL:
        assert dual.status is not Status.OPTIMAL
        feasible = maximise([F(0)] * len(cost), rows, lower, upper).status is Status.OPTIMAL
        assert feasible == (found.status is Status.UNBOUNDED)
        return
    x = found.point
    for coefficients, low, high in rows:
        activity = sum(a * v for a, v in zip(coefficients, x, strict=True))
        assert low is None or activity >= low
        assert high is None or activity <= high
    for value, low, high in zip(x, lower, upper, strict=True):
        assert low is None or value >= low
        assert high is None or value <= high
    assert found.value == sum(c * v for c, v in zip(cost, x, strict=True))
    assert dual.status is Status.OPTIMAL
    assert found.value == -dual.value


def _dual(cost, rows, lower, upper):
    """max -b y over A^T y = c, y >= 0, for the program written as max c x over A x <= b."""
    n = len(cost)
    a, b = [], []
    unit = [[F(int(i == j)) for j in range(n)] for i in range(n)]
    for coefficients, low, high in [*rows, *zip(unit, lower, upper, strict=True)]:
        if high is not None:
            a.append(coefficients)
            b.append(high)
        if low is not None:
            a.append([-v for v in coefficients])
            b.append(-low)
    columns = [([row[j] for row in a], cost[j], cost[j]) for j in range(n)]
    return [-v for v in b], columns, [F(0)] * len(b), [None] * len(b)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_enumeration_finds_the_best_point_that_the_model_accepts(seed):
    """Against a search of its own, over all columns, by nothing but ``Model.violations``."""
    rng = np.random.default_rng(seed)
    m = Model()
    x = m.integer("x", 2, lower=-1, upper=1)
    b = m.binary("b", 2)
    z = m.product(x[0], b[0] + float(rng.integers(-1, 2)), name="z")
    m.maximum(x[1], z, name="top")
    m.indicator(b[1], x[0] + m["top"] <= float(rng.integers(-1, 2)), name="when")
    weights = rng.integers(-3, 4, 4)
    m.maximize(weights[:2].astype(float) @ x + float(weights[2]) * z + float(weights[3]) * b[1])
    best = None
    for point in np.ndindex(3, 3, 2, 2, 5, 5):
        values = {"x": np.array(point[:2]) - 1.0, "b": np.array(point[2:4]), "z": point[4] - 2.0,
                  "top": point[5] - 2.0}  # fmt: skip
        if best is not None and m.value(values) <= best:
            continue
        if not m.violations(values):
            best = m.value(values)
    truth = enumerate_optimum(m)
    assert truth.value == best
    assert truth.status is (Status.INFEASIBLE if best is None else Status.OPTIMAL)


def test_enumeration_finds_optima_between_whole_numbers():
    m = Model()
    b, x = m.binary("b"), m.continuous("x", 2, lower=-1, upper=2)
    top = m.maximum(x[0], 2 * x[1], name="top")
    m.product(b, x[0], name="z")
    m.add("row", 3 * x[0] + x[1] <= 1)
    m.minimize(top + 2 * m["z"] - x.sum())  # b = 1 and x = (-1, -1/2)
    truth = enumerate_optimum(m)
    assert truth.status is Status.OPTIMAL
    assert truth.value == pytest.approx(-1.5)
    np.testing.assert_allclose(truth.values["x"], [-1, -0.5])


def test_what_cannot_be_enumerated_is_refused():
    m = Model()
    m.integer("n")
    with pytest.raises(ModelError, match="integer points"):
        enumerate_optimum(m)
    m = Model()
    x = m.continuous("x", 2, upper=1)
    m.product(x[0], x[1], name="z")
    with pytest.raises(ModelError, match="'z' multiplies"):
        enumerate_optimum(m)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6), continuous=st.booleans(), fractional=st.booleans())
def test_recipes_survive_json_and_build_the_same_model(seed, continuous, fractional):
    settings_ = {"continuous": continuous, "fractional": fractional}
    recipe = random_recipe(np.random.default_rng(seed), **settings_)
    again = json.loads(json.dumps(recipe))
    a, b = build(recipe).compile(), build(again).compile()
    for left, right in (
        (a.cost, b.cost),
        (a.lower, b.lower),
        (a.rows.matrix.data, b.rows.matrix.data),
    ):
        np.testing.assert_array_equal(left, right)
    drawn = random_model(np.random.default_rng(seed), **settings_)
    np.testing.assert_array_equal(drawn.compile().cost, a.cost)


def test_only_the_kinds_asked_for_are_drawn():
    found: set[str] = set()
    for seed in range(30):
        m = random_model(np.random.default_rng(seed), kinds=["table", "rotated_cone"])
        found |= {block.kind for block in m.blocks.values()}
    assert found == {"table", "rotated_cone", "linear"}
    with pytest.raises(InputError, match="kinds"):
        random_recipe(np.random.default_rng(0), kinds=["sphere"])


def test_most_random_models_have_a_point_and_some_have_none():
    ends = [enumerate_optimum(random_model(np.random.default_rng(s))).status for s in range(120)]
    assert ends.count(Status.OPTIMAL) > 80
    assert ends.count(Status.INFEASIBLE) > 3


def test_shrinking_keeps_what_it_is_told_to_keep_and_little_else():
    rng = np.random.default_rng(5)
    recipe = random_recipe(rng, kinds=["product"], statements=3)
    while sum(s["kind"] == "product" for s in recipe["statements"]) < 3:
        recipe = random_recipe(rng, kinds=["product"], statements=3)

    def has_a_product(r) -> bool:
        blocks: list[Block] = list(build(r).blocks.values())
        return any(block.kind == "product" for block in blocks)

    small = shrink(recipe, has_a_product)
    assert has_a_product(small)
    assert [s["kind"] for s in small["statements"]] == ["product"]
    assert len(json.dumps(small)) < len(json.dumps(recipe)) / 2
