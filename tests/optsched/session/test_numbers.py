"""Numbers of a session change in place: what building every model anew gives, checked alike."""

import threading

import highspy
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import InputError, Model, ModelError, Session, Status, UnsupportedError, solve
from optsched.solvers.highs import session as highs_session
from optsched.solvers.highs.backend import load

INF = np.inf


def model(data: dict[str, np.ndarray], *, integer: bool, maximise: bool) -> Model:
    m = Model("item")
    variable = m.integer if integer else m.continuous
    x = variable("x", (2, 3), upper=data["upper"])
    b = m.binary("b") if integer else m.continuous("b", upper=1)
    goal = (x * data["cost"]).sum() + 2 * b + data["offset"]
    m.maximize(goal) if maximise else m.minimize(goal)
    m.add("4a", (x * data["weight"]).sum(axis=1) + 3 <= data["side"] + 3)
    m.add("4b", x.sum(axis=0) + b >= data["need"])
    m.add("4c", (x[0] - x[1]).between(-data["apart"], data["apart"]))
    return m


def draw(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {
        "upper": rng.integers(0, 5, (2, 3)).astype(float),
        "cost": rng.integers(-9, 10, (2, 3)).astype(float),
        "offset": float(rng.integers(-3, 4)),
        "weight": rng.integers(1, 5, (2, 3)).astype(float),
        "side": rng.integers(0, 12, 2).astype(float),
        "need": rng.integers(0, 3, 3).astype(float),
        "apart": rng.integers(0, 4, 3).astype(float),
    }


def changes(data: dict[str, np.ndarray], *, sparse: bool) -> dict:
    weight = np.kron(np.eye(2), np.ones(3)) * data["weight"].reshape(-1)
    return {
        "cost": {"x": data["cost"]},
        "offset": data["offset"],
        "upper": {"x": data["upper"]},
        "rhs": {"4a": data["side"], "4b": data["need"], "4c": (-data["apart"], data["apart"])},
        "coefficients": {("4a", "x"): sp.csr_array(weight) if sparse else weight},
    }


@pytest.mark.parametrize("integer", [True, False])
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6), maximise=st.booleans(), sparse=st.booleans())
def test_a_batch_finds_the_optimum_of_every_item(integer, seed, maximise, sparse):
    rng = np.random.default_rng(seed)
    items = [draw(rng) for _ in range(5)]
    batch = Session(model(draw(rng), integer=integer, maximise=maximise))
    for item in items:
        one = solve(model(item, integer=integer, maximise=maximise))
        other = batch.solve(**changes(item, sparse=sparse))
        assert other.status is one.status
        assert other.objective == (
            None if one.objective is None else pytest.approx(one.objective, abs=1e-6)
        )
        assert other.checked is one.checked
        if one.bound is not None:
            assert other.bound == pytest.approx(one.bound, abs=1e-6)


def test_items_are_drawn_feasible_and_infeasible():
    rng = np.random.default_rng(0)
    found = [solve(model(draw(rng), integer=True, maximise=False)).status for _ in range(20)]
    assert {Status.OPTIMAL, Status.INFEASIBLE} == set(found)


@pytest.mark.parametrize("part", ["cost", "upper", "rhs", "coefficients", "offset"])
@pytest.mark.parametrize("integer", [True, False])
def test_every_sort_of_change_reaches_the_solver_on_its_own(part, integer):
    rng = np.random.default_rng(5)
    data = draw(rng) | {"need": np.zeros(3), "upper": np.full((2, 3), 3.0)}
    batch = Session(model(data, integer=integer, maximise=True))
    batch.solve()
    for _ in range(3):
        new = draw(rng)
        keys = {"coefficients": "weight", "rhs": "side"}
        data = data | {keys.get(part, part): new[keys.get(part, part)]}
        change = changes(data, sparse=False)[part]
        solution = batch.solve(**{part: {"4a": data["side"]} if part == "rhs" else change})
        assert solution.objective == pytest.approx(
            solve(model(data, integer=integer, maximise=True)).objective
        )


@pytest.mark.parametrize("integer", [True, False])
@pytest.mark.parametrize("few", [0, 200])
def test_one_engine_serves_all_items(monkeypatch, integer, few):
    made = []
    monkeypatch.setattr(highs_session, "_FEW_ROWS", few)
    monkeypatch.setattr(highs_session, "load", lambda *given: made.append(1) or load(*given))
    rng = np.random.default_rng(11)
    data = draw(rng) | {"need": np.zeros(3)}
    batch = Session(model(data, integer=integer, maximise=True))
    for part in ("cost", "upper", "rhs", "coefficients", "offset", "rhs", "cost"):
        new = changes(draw(rng) | {"need": np.zeros(3)}, sparse=False)
        assert batch.solve(**{part: new[part]}).status == "optimal"
    assert made == [1]


def test_linear_programs_keep_their_duals():
    rng = np.random.default_rng(3)
    data = draw(rng) | {"need": np.zeros(3)}
    batch = Session(model(data, integer=False, maximise=True))
    new = draw(rng) | {"need": np.zeros(3)}
    one = solve(model(new, integer=False, maximise=True))
    other = batch.solve(**changes(new, sparse=True))
    assert other.dual("4a").shape == (2,)
    assert other.objective == pytest.approx(one.objective)


@pytest.mark.parametrize("solver", ["highs", "cpsat"])
def test_blocks_that_are_lowered_or_native_stay_true(solver):
    m = Model()
    x, b = m.integer("x", 3, upper=5), m.binary("b")
    z = m.product(b, x[0], name="z")
    m.add("limit", x.sum() <= 7)
    m.maximize(3 * z + x.sum())
    batch = Session(m, solver)
    for limit in (7, 2, 0):
        solution = batch.solve(rhs={"limit": limit}, cost={"b": -4.0 if limit == 2 else 0.0})
        own = m.copy().without("limit")
        own.add("limit", x.sum() <= limit)
        own.maximize(3 * z + x.sum() - (4 if limit == 2 else 0) * b)
        assert solution.objective == solve(own).objective
        assert solution.checked
        assert set(solution.values) == {"x", "b", "z"}
    with pytest.raises(ModelError, match="made from them"):
        batch.update(upper={"x": 4})


def test_what_is_changed_stays_changed_and_the_model_is_left_alone():
    m = Model()
    x = m.continuous("x", 2, upper=4)
    m.minimize(x.sum())
    m.add("need", x >= 1)
    batch = Session(m)
    assert [s.objective for s in batch.run([{}, {"rhs": {"need": [2, 3]}}, {}])] == [2, 5, 5]
    m.add("later", x.sum() >= 8)
    assert batch.solve(lower={"x": 3.5}).objective == 7
    assert solve(m).objective == 8


def test_contradictory_sides_are_infeasible_and_the_next_item_is_not():
    m = Model()
    x = m.continuous("x", upper=4)
    m.add("both", x.between(1, 2))
    batch = Session(m)
    found = batch.run([{"rhs": {"both": (2, 1)}}, {"rhs": {"both": (1, 3)}}])
    assert [s.status for s in found] == ["infeasible", "optimal"]


def test_unbounded_items_are_told_and_forgotten():
    m = Model()
    x = m.continuous("x", upper=INF)
    m.maximize(x)
    m.add("limit", x <= 3)
    batch = Session(m)
    found = [batch.solve(coefficients={("limit", "x"): [[a]]}) for a in (1, 0, 2)]
    assert [s.status for s in found] == ["optimal", "unbounded", "optimal"]
    assert found[2].objective == 1.5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"cost": {"z": 1}}, "no variable 'z'; there are: x, b"),
        ({"cost": {"x": np.zeros(7)}}, r"\(7,\) does not fit \(2, 3\)"),
        ({"cost": {"x": np.nan}}, r"x\[0, 0\] is not finite"),
        ({"rhs": {"5": 1}}, "no linear block '5'; there are: 4a, 4b, 4c"),
        ({"rhs": {"4c": 1}}, "two sides"),
        ({"rhs": {"4a": INF}}, "'4a': a number is not finite"),
        ({"rhs": {"4a": (1, 2, 3)}}, "pair"),
        ({"lower": {"x": 9}}, r"bounds of x\[0, 0\] cross"),
        ({"coefficients": {("4a", "x"): np.ones((2, 6))}}, "not 0 where the model has none"),
        ({"coefficients": {("4a", "x"): np.ones((2, 3))}}, r"\(2, 3\), not \(2, 6\)"),
        ({"coefficients": {("4a", "x"): sp.csr_array(np.ones((2, 6)))}}, "not 0 where"),
    ],
)
def test_changes_that_do_not_fit_are_refused_by_name(change, said):
    rng = np.random.default_rng(1)
    data = draw(rng) | {"need": np.zeros(3)}
    batch = Session(model(data, integer=True, maximise=True))
    with pytest.raises(ModelError, match=said):
        batch.solve(**change)
    # the batch goes on, once told better numbers
    good = changes(data, sparse=False) | {"lower": {"x": 0}}
    expected = solve(model(data, integer=True, maximise=True)).objective
    assert batch.solve(**good).objective == pytest.approx(expected)


@pytest.mark.parametrize(
    ("change", "better"),
    [
        ({"cost": {"x": np.nan}}, {"cost": {"x": 1}}),
        ({"offset": INF}, {"offset": 0}),
        ({"rhs": {"4b": (-INF, np.nan)}}, {"rhs": {"4b": (0, 9)}}),
        ({"lower": {"x": 9}}, {"lower": {"x": 0}}),
    ],
)
def test_numbers_that_were_refused_never_reach_the_solver(change, better):
    rng = np.random.default_rng(1)
    batch = Session(model(draw(rng) | {"need": np.zeros(3)}, integer=True, maximise=True))
    with pytest.raises(ModelError):
        batch.update(**change)
    for item in ({}, {"upper": {"b": 1}}):
        with pytest.raises(ModelError):
            batch.solve(**item)
    assert batch.solve(**better).checked
    assert batch.solve().checked


def test_options_and_models_a_batch_cannot_take_are_refused():
    m = Model()
    u = m.continuous("u", upper=3)
    with pytest.raises(InputError, match="warm_start"):
        Session(m, warm_start={"u": np.zeros(())})
    with pytest.raises(InputError, match="profile"):
        Session(m, threads=2)
    with pytest.raises(InputError, match="solver"):
        Session(m, "none")
    assert Session(m, threads=2, profile="default").solve().status == "optimal"
    m.rotated_cone(u, 1, u)
    with pytest.raises(UnsupportedError, match="rotated cone"):
        Session(m)


def test_a_time_limit_counts_for_every_item_anew():
    m = Model()
    x = m.binary("x", 30)
    rng = np.random.default_rng(0)
    weight = rng.integers(20, 60, 30).astype(float)
    m.maximize(weight @ x)
    m.add("room", (weight + 3) @ x <= 300)
    batch = Session(m, time_limit=20)
    assert all(batch.solve(rhs={"room": r}).status == "optimal" for r in range(280, 320, 4))


@pytest.mark.parametrize("profile", ["default", "tiny"])
def test_the_tiny_profile_changes_no_answer(profile):
    rng = np.random.default_rng(7)
    for _ in range(10):
        data = draw(rng)
        m = model(data, integer=True, maximise=False)
        assert solve(m, profile=profile).status is solve(m).status
        assert solve(m, profile=profile).objective == solve(m).objective
    with pytest.raises(InputError, match="profile"):
        solve(m, profile="huge")


def test_the_tiny_profile_gets_on_with_a_thread_that_used_more_threads():
    found = []

    def work() -> None:
        engine = highspy.Highs()
        engine.setOptionValue("output_flag", False)
        engine.setOptionValue("threads", 2)
        engine.addVar(0.0, 1.0)
        engine.run()
        m = Model()
        x = m.binary("x", 3)
        m.maximize(x.sum())
        m.add("room", x.sum() <= 2)
        found.append(solve(m, profile="tiny").objective)
        found.append(Session(m).solve(rhs={"room": 1}).objective)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [2, 1]
