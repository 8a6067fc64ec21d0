"""Nonlinear and logical statements: what they mean at a point, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.enumeration import enumerate_optimum

from optsched import Model, ModelError, solve
from optsched.model import VariableType, blocks
from optsched.testing import project

INF = np.inf
EVERY_KIND = {
    getattr(blocks, name).kind for name in blocks.__all__ if name not in ("Block", "Linear")
}


def broken(m: Model, **values) -> set[str]:
    return {v.block for v in m.violations(values)}


# the meaning of each statement, by the words of its definition


def test_a_product_equals_its_factors_multiplied():
    m = Model()
    m.product(m.integer("a", 2, upper=9), m.continuous("b", 2, upper=9), name="z")
    a, b = np.array([3.0, 2.0]), np.array([2.5, 4.0])
    assert broken(m, a=a, b=b, z=a * b) == set()
    assert broken(m, a=a, b=b, z=a * b + [0, 0.01]) == {"z"}


def test_a_table_is_looked_up_and_nothing_lies_outside_it():
    m = Model()
    m.table([4.0, 7.0], m.integer("n", 2, lower=-1, upper=2), name="f")
    assert broken(m, n=[0, 1], f=[4, 7]) == set()
    assert broken(m, n=[1, 1], f=[4, 7]) == {"f"}
    for outside in (-1, 2):
        (found,) = m.violations({"n": [0, outside], "f": [4, 7]})
        assert (found.block, found.index, found.amount) == ("f", (1,), INF)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_first_and_last_are_the_first_and_the_last(seed):
    rng = np.random.default_rng(seed)
    m = Model()
    x = m.binary("x", (2, 3))
    m.last_active(x, [1, 4, 6], empty=0, name="last")
    m.first_active(x, [1, 4, 6], empty=9, name="first")
    on = rng.integers(0, 2, (2, 3))
    last = [max([t for t, v in zip((1, 4, 6), row, strict=True) if v], default=0) for row in on]
    first = [min([t for t, v in zip((1, 4, 6), row, strict=True) if v], default=9) for row in on]
    assert broken(m, x=on, last=last, first=first) == set()
    assert broken(m, x=on, last=np.array(last) - 1, first=first) >= {"last"}
    assert "first" in broken(m, x=on, last=last, first=np.array(first) + 1)


def test_extrema_and_absolute_values_are_what_they_say():
    m = Model()
    x = m.integer("x", (2, 2), lower=-5, upper=5)
    m.maximum(x, name="top")
    m.minimum(x, 0, name="low")
    m.absolute(x[0] - x[1], name="apart")
    at = np.array([[1, -2], [4, 3]])
    right = {"top": [1, 4], "low": np.minimum(at, 0), "apart": [3, 5]}
    assert broken(m, x=at, **right) == set()
    for name, value in right.items():
        assert broken(m, x=at, **right | {name: np.array(value) + 1}) >= {name}


@settings(deadline=None, max_examples=60)
@given(
    u=st.integers(-2, 6),
    v=st.integers(-2, 6),
    w=st.tuples(st.integers(-4, 4), st.integers(-4, 4)),
)
def test_a_rotated_cone_holds_where_its_inequality_does(u, v, w):
    m = Model()
    free = {"lower": -9, "upper": 9}
    m.rotated_cone(m.integer("u", **free), m.integer("v", **free), m.integer("w", 2, **free),
                   name="cone")  # fmt: skip
    inside = u >= 0 and v >= 0 and u * v >= sum(part**2 for part in w)
    assert (broken(m, u=u, v=v, w=w) == set()) == inside


def test_an_interval_binds_where_its_task_is_present():
    m = Model()
    s, d, e = (m.integer(name, 2, lower=-9, upper=9) for name in ("s", "d", "e"))
    m.interval(s, d, e, presence=m.binary("there", 2), name="job")
    assert broken(m, s=[1, 1], d=[2, 2], e=[3, 3], there=[1, 1]) == set()
    assert broken(m, s=[1, 1], d=[2, 2], e=[4, 3], there=[1, 1]) == {"job"}
    assert broken(m, s=[1, 1], d=[2, 2], e=[4, 3], there=[0, 1]) == set()
    assert broken(m, s=[1, 1], d=[-1, 2], e=[0, 3], there=[1, 0]) == {"job"}


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6))
def test_a_cumulative_holds_where_the_load_fits_at_every_moment(seed):
    rng = np.random.default_rng(seed)
    m = Model()
    s, d = m.integer("s", 3, upper=4), m.integer("d", 3, upper=3)
    there, ask = m.binary("there", 3), m.integer("ask", 3, upper=3)
    tasks = m.interval(s, d, s + d, presence=there)
    m.cumulative(tasks, ask, m.integer("room", upper=6), name="use")
    at = {"s": rng.integers(0, 5, 3), "d": rng.integers(0, 4, 3), "there": rng.integers(0, 2, 3),
          "ask": rng.integers(0, 4, 3), "room": rng.integers(0, 7)}  # fmt: skip
    load = [
        sum(at["ask"][i] for i in range(3)
            if at["there"][i] and at["s"][i] <= t < at["s"][i] + at["d"][i])
        for t in range(8)
    ]  # fmt: skip
    assert (broken(m, **at) == set()) == (max(load) <= at["room"])


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6))
def test_a_cumulative_profile_holds_where_demands_by_age_fit_in_every_slot(seed):
    rng = np.random.default_rng(seed)
    m = Model()
    s, d, there = m.integer("s", 3, upper=4), m.integer("d", 3, upper=4), m.binary("there", 3)
    tasks = m.interval(s, d, s + d, presence=there)
    demand = rng.integers(0, 5, (3, 4))
    m.cumulative_profile(tasks, demand, m.integer("room", upper=12), name="use")
    at = {"s": rng.integers(0, 5, 3), "d": rng.integers(0, 5, 3), "there": rng.integers(0, 2, 3)}
    load = [
        sum(demand[i, t - at["s"][i]] for i in range(3)
            if at["there"][i] and at["s"][i] <= t < at["s"][i] + at["d"][i])
        for t in range(9)
    ]  # fmt: skip
    assert broken(m, **at, room=max(load)) == set()
    for less in range(1, max(load) + 1):
        (found,) = m.violations(at | {"room": max(load) - less})
        assert (found.block, found.amount) == ("use", less)


def test_a_cumulative_without_tasks_asks_for_room_for_nothing():
    m = Model()
    never = np.zeros(0)
    m.cumulative(m.interval(never, never, never), 1, m.integer("room", lower=-1), name="use")
    assert broken(m, room=0) == set()
    assert broken(m, room=-1) == {"use"}


def test_first_and_last_are_taken_along_the_last_axis_whatever_stands_before_it():
    m = Model()
    x = m.binary("x", (2, 2, 3))
    m.last_active(x, name="last")
    m.first_active(x, name="first")
    on = np.zeros((2, 2, 3))
    on[0, 0, [0, 1]] = on[0, 1, 2] = on[1, 0, 1] = 1
    assert broken(m, x=on, last=[[1, 2], [1, -1]], first=[[0, 2], [1, 3]]) == set()


@pytest.mark.parametrize(("value", "allowed"), [(0.5, 0.25), (1.0, 0.25), (8.0, 2.0)])
@pytest.mark.parametrize("sign", [1, -1])
def test_results_forgive_the_tolerance_times_their_value_where_it_is_above_one(
    value, allowed, sign
):
    """Products, extrema and tables, at the tolerance itself and just beyond."""
    value *= sign
    m = Model()
    n, x = m.integer("n", upper=1), m.continuous("x", lower=-9, upper=9)
    m.product(n, x, name="product")
    m.maximum(x, -9, name="maximum")
    m.table([0.0, value], n, name="table")
    at = {"n": 1, "x": value}
    for off in (allowed, -allowed):
        values = dict.fromkeys(("product", "maximum", "table"), value + off)
        assert {v.kind for v in m.violations(at | values, 0.25)} <= {"bound"}
        values = dict.fromkeys(values, value + 1.01 * off)
        assert {v.kind for v in m.violations(at | values, 0.25)} >= set(values)


@pytest.mark.parametrize(("u", "v", "allowed"), [(0.25, 0.25, 0.25), (0.75, 0.25, 0.25),
                                                (4, 4, 2.0), (6, 2, 2.0)])  # fmt: skip
def test_a_rotated_cone_forgives_the_tolerance_times_u_plus_v_where_it_is_above_one(u, v, allowed):
    """Its measure is ``|(2 w, u - v)| - (u + v)``, per entry."""
    m = Model()
    m.rotated_cone(*(m.continuous(name, 2, upper=9) for name in "uv"),
                   m.continuous("w", (2, 3), lower=-9, upper=9), name="cone")  # fmt: skip
    for share, outside in ((0.99, 0), (1.01, 1)):
        size = np.sqrt((u + v + share * allowed) ** 2 - (u - v) ** 2) / 2
        w = np.array([[0, 0, 0], [2 / 3 * size, -1 / 3 * size, 2 / 3 * size]])
        found = m.violations({"u": [u, u], "v": [v, v], "w": w}, 0.25)
        assert [one.entries for one in found] == [1] * outside


def test_an_indicator_is_outside_by_its_row_where_its_literals_are_true_only():
    m = Model()
    a, b, x = m.binary("a", 3), m.binary("b", 3), m.continuous("x", 3, upper=9)
    m.indicator([a, b], x <= 3, active=[True, False], name="when")
    point = np.array([1, 1, 0, 0, 1, 0, 6, 6, 6.0])
    np.testing.assert_array_equal(m.blocks["when"].excess(point), [1, 0, 0])


# results: kind, bounds, names


def test_a_result_is_integer_exactly_where_its_parts_are():
    m = Model()
    n, x = m.integer("n", upper=4), m.continuous("x", upper=4)
    whole = [m.product(n, n), m.maximum(n, 2), m.absolute(n - 3), m.table([1, 2, 3, 4, 5], n)]
    whole += [m.last_active(m.binary("b", 2))]
    real = [m.product(n, x), m.product(n, 0.5 * n), m.maximum(n, 2.5), m.minimum(n, x)]
    real += [m.table([1, 2, 3, 4, 5.5], n), m.first_active(m.binary("c", 2), [0.5, 1])]
    assert {made.type for made in whole} == {VariableType.INTEGER}
    assert {made.type for made in real} == {VariableType.CONTINUOUS}


def test_default_names_count_up_and_never_collide():
    m = Model()
    n = m.integer("n", upper=2)
    m.integer("product_2")
    names = [m.product(n, n).name for _ in range(3)]
    assert names == ["product_1", "product_3", "product_4"]
    with pytest.raises(ModelError, match="exists already"):
        m.product(n, n, name="product_1")


@pytest.mark.parametrize(
    "state",
    [
        lambda m, x: m.product(x[:2], x),
        lambda m, x: m.maximum(x[:2], x),
        lambda m, x: m.rotated_cone(x[:2], x, x),
        lambda m, x: m.interval(x[:2], x, x),
    ],
)
def test_shapes_that_do_not_fit_are_an_error_that_names_both(state):
    m = Model()
    with pytest.raises(ModelError, match=r"\(2,\) and \(3,\)"):
        state(m, m.integer("x", 3, upper=2))


@pytest.mark.parametrize(
    "state",
    [
        lambda m, x: m.product(x, m.integer("y", upper=1)),
        lambda m, x: m.table([1, 2], x),
        lambda m, x: m.maximum(x, m.integer("y", upper=1)),
        lambda m, x: m.rotated_cone(m.integer("y"), 1, x),
        lambda m, x: m.interval(x, 1, m.integer("y")),
        lambda m, x: m.indicator(m.binary("y"), x <= 1),
    ],
)
def test_variables_of_another_model_are_refused(state):
    with pytest.raises(ModelError, match=r"different models|another model"):
        state(Model(), Model().integer("x", upper=1))


# nesting and variants


def test_statements_about_results_of_statements_allow_the_same_points_when_lowered():
    m = Model()
    x, b = m.integer("x", 2, upper=1), m.binary("b")
    top = m.maximum(x, name="top")
    z = m.product(top, b, name="z")
    f = m.table([2, 0], z, name="f")
    m.indicator(b, f + x[0] <= 1, name="when")
    found = project(m)
    assert found.stated == found.lowered
    assert len(found.stated) == 7  # b with x = (0, 0) would need f = 2


def test_a_copy_without_a_block_frees_its_result():
    m = Model()
    n = m.integer("n", upper=3)
    z = m.product(n, n, name="z")
    m.maximize(z - 3 * n)
    assert solve(m).objective == 0.0
    assert solve(m.without("z")).objective == 9.0
    assert enumerate_optimum(m.without("z")).value == 9.0


def test_the_relaxation_contains_every_point_of_the_model():
    m = Model()
    x, b = m.integer("x", lower=-1, upper=2), m.binary("b", 3)
    z = m.product(x, b[0], name="z")
    top = m.maximum(z, 2 * b[1], name="top")
    last = m.last_active(b, name="last")
    m.indicator(b[2], top <= 1, name="when")
    rng = np.random.default_rng(3)
    parts = [x, b[0], b[1], b[2], z, top, last]
    for _ in range(20):
        weights = rng.integers(-4, 5, len(parts))
        m.minimize(sum((float(w) * part for w, part in zip(weights, parts, strict=True)), x * 0.0))
        truth = enumerate_optimum(m)
        assert solve(m.relax()).objective <= truth.value + 1e-6


def test_every_kind_of_block_is_kept_as_it_is_for_a_solver_that_takes_it():
    m = Model()
    x, b = m.integer("x", 3, upper=2), m.binary("b", 3)
    m.indicator(b, x <= 1)
    m.product(x, b)
    m.power(x, 3)
    m.ratio(x, x + 1)
    m.table([0, 1, 4], x)
    m.last_active(b)
    m.maximum(x)
    m.rotated_cone(x, x, x)
    m.cumulative(m.interval(x, 1, x + 1), 1, 2)
    m.cumulative_profile(m.interval(x, 2, x + 2), [1, 2], 3)
    m.all_different(x)
    m.circuit(b, [0, 1, 2], [1, 2, 0])
    m.element(x, m.integer("at", upper=2))
    m.piecewise(m.continuous("amount", upper=2), [0, 1, 2], [0, 1, 4])
    m.sos2(x)
    m.semicontinuous("lot", lower=2, upper=5)
    m.routes(b, [0, 1, 2], [1, 2, 0])
    kept = m.compile(m.kinds)
    assert {block.kind for block in kept.nonlinear} | {"indicator"} == EVERY_KIND
    assert len(kept.cost) == m.columns
    assert kept.rows.count == 0
    others, rng = sorted(EVERY_KIND - {"rotated_cone"}), np.random.default_rng(0)
    for _ in range(150):  # any number of the others; each three of them appear in most ways
        native = frozenset({*rng.choice(others, rng.integers(len(others))), "rotated_cone"})
        assert {block.kind for block in m.compile(native).nonlinear} <= native


def test_rounding_noise_in_bounds_leaves_no_coefficient_behind():
    m = Model()
    x, b = m.integer("x", 2, lower=[1, 1], upper=[1, 2]), m.binary("b")
    m.indicator(b, 0.1 * x[0] + 0.2 <= 0.3, name="when")
    m.maximum(0.1 * x[0] + 0.2, 0.3 * x[1], name="top")
    m.product(b, 0.1 * x[0] + 0.2 - 0.3, name="z")
    size = np.abs(m.compile().rows.matrix.data)
    assert size[size > 0].min() > 1e-9
