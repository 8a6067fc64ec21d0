"""Rows, columns and objectives of a session come and go: what a rebuild of it gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Model, ModelError, Session, Status, solve
from optsched.solvers.highs import session as highs_session
from optsched.solvers.highs.backend import load


class Edited:
    """A session and, side by side, what a rebuild of it would say."""

    def __init__(self, rng: np.random.Generator, *, integer: bool, solver: str = "highs") -> None:
        self.rng, self.integer, self.number = rng, integer, 0
        m = Model("edited")
        variable = m.integer if integer else m.continuous
        x = variable("x", 5, upper=4)
        m.minimize(x @ rng.integers(-5, 6, 5).astype(float) + 1.5)
        m.add("room", x @ rng.integers(1, 5, 5).astype(float) <= 12)
        m.add("need", x[:3] + x[2:] >= -3)
        self.session = Session(m, solver)
        self.x = x
        self.cost: dict[str, np.ndarray] = {}
        self.sides: dict[str, float | np.ndarray] = {}
        self.bounds: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def edit(self, word: str) -> None:
        rng, s = self.rng, self.session
        names = list(s.model.variables)
        name = str(rng.choice(names))
        size = s.model.variables[name].size
        if word == "cost":
            self.cost[name] = rng.integers(-5, 6, size).astype(float)
            s.update(cost={name: self.cost[name]})
        elif word == "bounds":
            self.bounds[name] = (np.zeros(size), rng.integers(0, 6, size).astype(float))
            s.update(lower={name: 0}, upper={name: self.bounds[name][1]})
        elif word == "fix":
            value = rng.integers(0, 3, size).astype(float)
            self.bounds[name] = (value, value)
            s.fix(**{name: value})
        elif word == "free":
            self.bounds.pop(name, None)
            s.free(name)
        elif word == "sides":
            block = str(rng.choice(list(s.model.blocks)))
            self.sides[block] = float(rng.integers(-4, 13))
            s.update(rhs={block: self.sides[block]})
        elif word == "row":
            self.number += 1
            columns = [s.model.variables[n] for n in names]
            total = sum(v @ rng.integers(-3, 4, v.size).astype(float) for v in columns)
            s.add(f"row {self.number}", total <= float(rng.integers(-2, 9)))
        elif word == "gone" and len(s.model.blocks) > 1:
            block = str(rng.choice(list(s.model.blocks)))
            self.sides.pop(block, None)
            s.remove(block)
        elif word == "column":
            self.number += 1
            variable = s.model.integer if self.integer else s.model.continuous
            variable(f"y {self.number}", 2, upper=3)
        elif word == "objective":
            self.cost.clear()
            s.model.minimize(self.x @ rng.integers(-5, 6, 5).astype(float))
        elif word == "sense":
            self.cost.clear()
            s.model.maximize(self.x.sum())

    def rebuilt(self) -> Model:
        old = self.session.model
        m = Model("rebuilt")
        columns = {}
        for name, v in old.variables.items():
            low, high = self.bounds.get(name, (v.lower, v.upper))
            variable = m.integer if self.integer else m.continuous
            columns[name] = variable(name, v.shape, lower=low, upper=high)
        compiled = old.compile()
        every = np.concatenate([columns[n] for n in old.variables])
        cost = compiled.cost.copy()
        for name, value in self.cost.items():
            first = old.variables[name].start
            cost[first : first + len(value)] = value
        goal = cost @ every + compiled.offset
        (m.maximize if compiled.maximise else m.minimize)(goal)
        rows = compiled.rows
        for name, (first, shape) in compiled.row_blocks.items():
            part = slice(first, first + int(np.prod(shape)))
            left = rows.matrix[np.arange(part.start, part.stop)] @ every
            low, high = rows.lower[part], rows.upper[part]
            if name in self.sides:
                value = np.full(len(low), self.sides[name])
                low, high = (
                    np.where(np.isfinite(low), value, low),
                    np.where(np.isfinite(high), value, high),
                )
            m.add(name, left.between(low, high))
        return m

    def agrees(self) -> Status:
        one, other = self.session.solve(), solve(self.rebuilt())
        assert other.status is one.status
        assert one.checked is other.checked
        if other.objective is not None:
            assert one.objective == pytest.approx(other.objective, abs=1e-6)
            assert one.bound == pytest.approx(other.bound, abs=1e-6)
        return one.status


WORDS = ["cost", "bounds", "fix", "free", "sides", "row", "gone", "column", "objective", "sense"]


@pytest.mark.parametrize("integer", [True, False])
@pytest.mark.parametrize("few", [0, 200])
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6), words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=8))
def test_any_edits_give_what_a_rebuild_gives(integer, few, seed, words):
    old, highs_session._FEW_ROWS = highs_session._FEW_ROWS, few
    try:
        edited = Edited(np.random.default_rng(seed), integer=integer)
        for number, word in enumerate(words):
            edited.edit(word)
            if (seed >> number) % 3:
                edited.agrees()
        edited.agrees()
    finally:
        highs_session._FEW_ROWS = old


@pytest.mark.parametrize("solver", ["cpsat", "scipy"])
def test_edits_reach_other_back_ends(solver):
    edited = Edited(np.random.default_rng(4), integer=True, solver=solver)
    for word in WORDS:
        edited.edit(word)
        edited.agrees()


def test_one_engine_serves_all_edits_of_a_linear_program(monkeypatch):
    made = []
    monkeypatch.setattr(highs_session, "load", lambda *given: made.append(1) or load(*given))
    edited = Edited(np.random.default_rng(2), integer=False)
    for word in ("cost", "row", "bounds", "row", "gone", "column", "row", "sides", "objective"):
        edited.edit(word)
        edited.session.solve()
    assert made == [1]


def cutting(session: Session) -> list[int]:
    """Simplex iterations of each solve while rows come in."""
    x = session.model["x"]
    rng, found = np.random.default_rng(0), []
    for cut in range(6):
        session.solve()
        found.append(session._session._engine.getInfo().simplex_iteration_count)
        session.add(f"cut {cut}", x @ rng.uniform(0, 1, x.size) <= 14.0)
    return found


def test_a_linear_program_starts_from_its_last_basis_when_rows_come_in():
    m = Model()
    rng = np.random.default_rng(1)
    x = m.continuous("x", 60, upper=1)
    m.add("rows", rng.uniform(0, 1, (40, 60)) @ x <= 10)
    m.maximize(x @ rng.uniform(1, 2, 60))
    first, *later = cutting(Session(m))
    assert max(later) < first / 2


def test_a_point_is_kept_as_a_start_where_it_is_still_feasible(monkeypatch):
    m = Model()
    x = m.binary("x", 12)
    weight = np.random.default_rng(3).integers(10, 40, 12).astype(float)
    m.maximize(weight @ x)
    m.add("room", (weight + 2) @ x <= 100)
    starts = []
    kept = highs_session.HighsSession.solve

    def listening(self, compiled, changed, rows=None, start=None):
        starts.append(start)
        return kept(self, compiled, changed, rows, start)

    monkeypatch.setattr(highs_session.HighsSession, "solve", listening)
    with Session(m) as s:
        best = s.solve()["x"]
        s.solve(rhs={"room": 120})
        s.solve(rhs={"room": 20})
    assert starts[0] is None
    np.testing.assert_array_equal(starts[1], best)
    assert starts[2] is None


def test_edits_of_a_model_with_lowered_blocks_compile_it_anew_with_the_numbers_changed():
    m = Model()
    x, b = m.integer("x", 3, upper=5), m.binary("b")
    z = m.product(b, x[0], name="z")
    m.add("limit", x.sum() <= 7)
    m.maximize(3 * z + x.sum())
    s = Session(m)
    assert s.solve(rhs={"limit": 4}).objective == 16.0
    s.add("few", x[0] <= 2)
    y = s.model.integer("y", upper=2)
    s.add("tied", y <= b)
    s.model.maximize(3 * z + x.sum() + 0.5 * y)
    assert s.solve().objective == 10.5
    s.remove("few")
    s.model.absolute(x[1] - x[2], name="apart")
    assert s.solve().objective == 16.5
    assert set(s.solve().values) == {"x", "b", "z", "y", "apart"}


def test_the_end_of_a_session_lets_the_engine_go_and_it_may_begin_again():
    m = Model()
    x = m.continuous("x", upper=3)
    m.maximize(x)
    with Session(m) as s:
        assert s.solve().objective == 3.0
        assert s._session._engine is not None
    assert s._session._engine is None
    assert s.solve(upper={"x": 2}).objective == 2.0


def test_edits_that_cannot_be_are_refused_by_name():
    m = Model()
    x = m.continuous("x", 2, upper=3)
    m.maximize(x.sum())
    m.add("room", x <= 2)
    s = Session(m)
    with pytest.raises(ModelError, match="no block 'door'; there are: room"):
        s.remove("door")
    with pytest.raises(ModelError, match="'room' exists already"):
        s.add("room", x <= 1)
    with pytest.raises(ModelError, match="no variable 'y'"):
        s.fix(y=1)
    with pytest.raises(ModelError, match="no variable 'y'"):
        s.free("y")
    s.add("wild", x[0] * np.inf <= 1)
    with pytest.raises(ModelError, match="'wild': a coefficient is not finite"):
        s.solve()
    with pytest.raises(ModelError, match="'wild': a coefficient is not finite"):
        s.solve()
    s.remove("wild")
    assert s.solve().objective == 4.0
    s.fix(x=[1, np.nan])
    assert s.solve().objective == 3.0
