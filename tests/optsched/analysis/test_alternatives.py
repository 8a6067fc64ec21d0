"""All solutions that are as good: enumeration says which there are."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import InputError, Model, solve
from optsched.analysis.solution_pool import alternatives


def box(weights, least, maximise=False) -> Model:
    """Whole numbers from -1 to 2 whose sum is at least ``least``."""
    m = Model()
    x = m.integer("x", len(weights), lower=-1, upper=2)
    m.add("sum", x.sum() >= least)
    (m.maximize if maximise else m.minimize)(x @ np.array(weights, dtype=float))
    return m


@pytest.mark.parametrize("maximise", [True, False])
def test_a_bound_that_is_whole_but_for_rounding_loses_none(maximise):
    m = Model()
    x = m.integer("x", lower=0.1 * 3 / 0.1 - 3, upper=0.3 / 0.1)
    m.binary("y")
    (m.maximize if maximise else m.minimize)(x)
    found = alternatives(m)
    assert found.complete
    assert sorted((s["x"].item(), s["y"].item()) for s in found.solutions) == [
        (3.0 * maximise, 0.0), (3.0 * maximise, 1.0),
    ]  # fmt: skip


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.integers(-2, 3), min_size=1, max_size=3),
    st.integers(-3, 3),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.booleans(),
)
def test_all_that_are_as_good_are_found_each_once(weights, least, worse, maximise):
    sign = -1 if maximise else 1
    points = [p for p in itertools.product(range(-1, 3), repeat=len(weights)) if sum(p) >= least]
    values = {p: sum(w * v for w, v in zip(weights, p, strict=True)) for p in points}
    found = alternatives(box(weights, least, maximise), worse=worse)
    assert found.complete
    best = sign * min((sign * v for v in values.values()), default=0)
    kept = {p for p, v in values.items() if sign * (v - best) <= worse * max(1, abs(best))}
    listed = [tuple(np.rint(s["x"]).astype(int).tolist()) for s in found.solutions]
    assert sorted(listed) == sorted(kept)
    costs = [sign * s.objective for s in found.solutions]
    assert costs == sorted(costs)


def test_the_most_best_are_in_order():
    found = alternatives(box([1, 2, 4], 3), most=4, worse=math.inf)
    assert [s.objective for s in found.solutions] == sorted(
        1 * a + 2 * b + 4 * c for a, b, c in itertools.product(range(-1, 3), repeat=3)
        if a + b + c >= 3
    )[:4]  # fmt: skip
    assert not found.complete


def test_without_a_solution_there_is_none():
    found = alternatives(box([1], 3))
    assert (found.solutions, found.complete, found.last.status) == ((), True, "infeasible")


@pytest.mark.parametrize(("more", "count"), [(5e-10, 2), (5e-9, 1)])
def test_a_difference_of_a_billionth_is_none(more, count):
    m = Model()
    x = m.binary("x", 2)
    m.add("one", x.sum() == 1)
    m.minimize(x @ np.array([1.0, 1.0 + more]))
    assert len(alternatives(m, solver="cpsat").solutions) == count


def test_a_limit_leaves_it_incomplete():
    m = Model("market split, which no solver ends in a moment (Cornuejols and Dawande, 1999)")
    x = m.binary("x", 50)
    sold = np.random.default_rng(0).integers(0, 100, (6, 50))
    m.add("half", (sold * x).sum(axis=1) == sold.sum(axis=1) // 2)
    found = alternatives(m, time_limit=0.2)
    assert (found.complete, found.last.limit) == (False, "time")


def test_continuous_variables_make_no_other_solution():
    m = box([1, 1], 1)
    spare = m.continuous("spare", upper=1)
    m.add("loose", spare <= 1)
    assert len(alternatives(m).solutions) == len(alternatives(box([1, 1], 1)).solutions)


@pytest.mark.parametrize(
    ("model", "asked", "said"),
    [
        (box([1], 0), {"most": 0}, "most"),
        (box([1], 0), {"worse": -0.1}, "worse"),
        (box([1], 0), {"worse": math.nan}, "worse"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_by_name(model, asked, said):
    with pytest.raises(InputError, match=said):
        alternatives(model, **asked)


def test_models_without_bounded_integers_are_refused():
    m = Model()
    m.minimize(m.continuous("x"))
    with pytest.raises(InputError, match="with integer variables"):
        alternatives(m)
    m.integer("y")
    with pytest.raises(InputError, match="y = inf"):
        alternatives(m)


def test_the_model_is_left_alone():
    m = box([1, 1], 1)
    before = repr(m)
    alternatives(m)
    assert repr(m) == before
    assert solve(m).objective == 1
