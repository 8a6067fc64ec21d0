"""Explanations of infeasibility: what is named cannot hold, and nothing in it is superfluous."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import InputError, Model, explain, solve
from optsched.analysis.explain import Member

INF = np.inf
POINTS = np.array(list(itertools.product(range(-25, 26), repeat=3)), dtype=float)


def satisfied(model: Model, member: Member, points: np.ndarray) -> np.ndarray:
    """Whether one statement of a model in x alone holds, at each of many points."""
    if member.kind == "bound":
        word, side = member.text.removeprefix("bound: ").split(" ")[1:]
        value = points[:, member.index[0]]
        return value <= float(side) if word == "<=" else value >= float(side)
    relation = model.blocks[member.block].relation
    compiled = model.without(*(name for name in model.blocks if name != member.block)).compile()
    row = np.ravel_multi_index(member.index, relation.expression.shape)
    activity = points @ compiled.rows.matrix.toarray()[row]
    return (activity >= compiled.rows.lower[row] - 1e-9) & (
        activity <= compiled.rows.upper[row] + 1e-9
    )


def random_rows(seed: int) -> Model:
    rng = np.random.default_rng(seed)
    m = Model()
    x = m.integer("x", 3, lower=rng.integers(-3, 1, 3), upper=rng.integers(0, 3, 3))
    for name in range(int(rng.integers(1, 4))):
        rows = int(rng.integers(1, 4))
        expression = rng.integers(-2, 3, (rows, 3)).astype(float) @ x
        side = rng.integers(-5, 6, rows).astype(float)
        sort = int(rng.integers(3))
        relation = [expression <= side, expression >= side, expression == side][sort]
        m.add(f"rows {name}", relation)
    return m


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6))
def test_members_cannot_all_hold_and_all_but_one_can(seed):
    model = random_rows(seed)
    everything = [
        Member(b.name, "linear", (i,), "") for b in model.blocks.values() for i in range(b.shape[0])
    ] + [
        Member("x", "bound", (i,), f"bound: x[{i}] {word} {bound[i]}")
        for word, bound in ((">=", model["x"].lower), ("<=", model["x"].upper))
        for i in range(3)
    ]
    whole = np.all([satisfied(model, member, POINTS) for member in everything], axis=0)
    found = explain(model)
    if whole.any():
        assert (found.status, found.members) == ("feasible", ())
        return
    assert found.status == "infeasible"
    assert found.irreducible
    holds = np.array([satisfied(model, member, POINTS) for member in found.members])
    assert not holds.all(axis=0).any()
    for i in range(len(holds)):
        assert np.delete(holds, i, axis=0).all(axis=0).any(), found.members[i]
    assert solve(found.core).status == "infeasible"


def test_some_random_models_are_infeasible_in_more_than_one_statement():
    found = [explain(random_rows(seed)) for seed in range(12)]
    assert sum(one.status == "infeasible" and len(one.members) > 1 for one in found) > 2


def capacity() -> Model:
    m = Model("capacity")
    y = m.binary("y", 5)
    z = m.continuous("z", 3, upper=10)
    m.add("2b", y.sum() >= 2)
    m.add("2d", y[:4] + y[4] <= 1)
    m.add("2e", y[4] >= 1)
    m.add("2f", z <= 9)
    return m


@pytest.mark.parametrize("solver", ["highs", "cpsat"])
def test_a_conflict_is_told_in_names_indices_and_numbers(solver):
    model = capacity()
    if solver == "cpsat":
        model = model.without("2f")
        model.variables = {"y": model["y"]}
        model.columns = 5
    found = explain(model, solver)
    assert found.blocks == ("2b", "2d", "2e")
    assert [m.index for m in found.members] == [(), (0,), (1,), (2,), (3,), ()]
    shown = str(found)
    assert "2d[3]: y[3] + y[4] <= 1" in shown
    assert "2b: y[0] + y[1] + y[2] + y[3] + y[4] >= 2" in shown
    assert "Irreducible" in shown
    assert found.core.name == "capacity (conflict)"
    assert list(model.blocks) == [b for b in ("2b", "2d", "2e", "2f") if b in model.blocks]


def test_a_feasible_model_is_said_to_be_feasible_whatever_its_objective():
    m = Model()
    x = m.continuous("x", lower=-INF)
    m.maximize(x)  # unbounded, and that is not the question
    m.add("row", x >= 3)
    found = explain(m)
    assert (found.status, found.members, found.core) == ("feasible", (), None)
    assert "feasible" in str(found)


def test_without_time_nothing_is_claimed_to_be_minimal():
    found = explain(capacity(), time_limit=1e-9)
    assert found.status in ("infeasible", "no_solution")
    assert not found.irreducible
    if found.status == "infeasible":
        assert "Not proven minimal" in str(found)
    with pytest.raises(InputError, match="time_limit"):
        explain(capacity(), time_limit=0)
    with pytest.raises(InputError, match="solver"):
        explain(capacity(), "none")


def test_an_integer_without_a_whole_number_between_its_bounds_is_found():
    m = Model()
    m.integer("x", 3, lower=0.25, upper=np.array([3, 0.75, 3]))
    m.add("row", m["x"] <= 2)
    found = explain(m)
    assert [member.text for member in found.members] == [
        "bound: x[1] >= 0.25",
        "bound: x[1] <= 0.75",
    ]


def test_rows_whose_own_sides_exclude_each_other_stand_alone():
    m = Model()
    x = m.continuous("x", 2)
    m.add("rows", x.between([1, 2], [2, 1]))
    m.add("constants", (x - x).sum() >= 1)
    found = explain(m)
    assert len(found.members) == 1
    assert found.irreducible


NONLINEAR = {
    "product": lambda m, y: m.add("need", m.product(y[0], y[1]) >= 10),
    "indicator": lambda m, y: (
        m.indicator(m["b"], y[:2] >= 2, name="when"),
        m.add("on", m["b"][1] >= 1),
        m.add("need", y[1] <= 1),
    ),
    "table": lambda m, y: m.add("need", m.table([1, 5, 2, 7], y[2]) == 4),
    "maximum": lambda m, y: (
        m.add("need", m.maximum(y[:2], 1) <= np.array([0.5, 3])),
        m.add("other", y <= 2),
    ),
    "active_slot": lambda m, y: (
        m.add("need", m.last_active(m["b"]) <= 0),
        m.add("on", m["b"][1] >= 1),
    ),
    "cumulative": lambda m, y: (
        m.cumulative(m.interval(y[:2], 2, y[:2] + 2), 1, 1, name="resource"),
        m.add("need", y <= 1),
    ),
    "cumulative_profile": lambda m, y: (
        m.cumulative_profile(m.interval(y[:2], 2, y[:2] + 2), [1, 2], 2, name="resource"),
        m.add("need", y <= 1),
    ),
}


@pytest.mark.parametrize("solver", ["highs", "cpsat"])
@pytest.mark.parametrize("kind", NONLINEAR)
def test_nonlinear_blocks_take_part_entry_by_entry(kind, solver):
    m = Model(kind)
    y = m.integer("y", 3, upper=3)
    m.binary("b", 2)
    m.add("idle", y.sum() <= 9)
    assert explain(m, solver).status == "feasible"
    NONLINEAR[kind](m, y)
    found = explain(m, solver)
    assert found.status == "infeasible"
    assert found.irreducible
    assert "idle" not in found.blocks
    assert "need" in found.blocks
    assert solve(found.core).status == "infeasible"  # cpsat would miss the bounds left out
    for name in found.blocks:
        assert solve(found.core.without(name)).has_point


def test_a_lone_conflict_is_found_among_thousands_of_rows_by_few_solves():
    m = Model()
    n = 2000
    x = m.continuous("x", 5 * n, upper=1)
    m.add("capacity", x.sum_by(np.arange(5 * n) // 5, n) <= 3)
    need = np.where(np.arange(n) == 777, 3.5, 1.0)
    m.add("need", x.reshape(n, 5)[:, :4].sum(axis=1) >= need)
    found = explain(m)
    assert {(member.block, member.index) for member in found.members} == {
        ("capacity", (777,)), ("need", (777,)), ("x", (3889,)),
    }  # fmt: skip
    assert found.solves < 40


def test_a_vector_may_choose_from_itself():
    m = Model()
    x = m.integer("x", 3, upper=2)
    m.element(x, x, name="again")
    m.add("a", m["again"] == [0, 1, 2])
    m.add("b", x[0] == 1)
    m.add("c", x[1] == 2)
    found = explain(m)
    assert found.status == "infeasible"
    assert found.blocks == ("again", "a", "b", "c")
