"""A session is edited: numbers, rows, columns and objectives; it gives what a rebuild gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import InputError, Model, ModelError, Status, solve
from optsched.session import Session


class Edited:
    """A session and, side by side, what a rebuild of it would say."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.number = rng, 0
        m = Model("edited")
        x = m.continuous("x", 5, upper=4)
        m.minimize(x @ rng.integers(-5, 6, 5).astype(float) + 1.5)
        m.add("room", x @ rng.integers(1, 5, 5).astype(float) <= 12)
        m.add("need", x[:3] + x[2:] >= -3)
        self.session = Session(m)
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
            s.model.continuous(f"y {self.number}", 2, upper=3)
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
            columns[name] = m.continuous(name, v.shape, lower=low, upper=high)
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


WORDS = ["cost", "bounds", "sides", "row", "gone", "column", "objective", "sense"]


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 10**6), words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=8))
def test_any_edits_give_what_a_rebuild_gives(seed, words):
    edited = Edited(np.random.default_rng(seed))
    for number, word in enumerate(words):
        edited.edit(word)
        if (seed >> number) % 3:
            edited.agrees()
    edited.agrees()


def test_many_sides_change_at_once():
    m, rng = Model(), np.random.default_rng(0)
    x = m.continuous("x", 300, upper=9)
    m.maximize(x @ rng.uniform(1, 2, 300))
    m.add("room", x <= rng.uniform(1, 3, 300))
    s = Session(m)
    s.solve()
    room = rng.uniform(1, 3, 300)
    np.testing.assert_allclose(s.solve(rhs={"room": room})["x"], room)


def cutting(session: Session) -> list[int]:
    """Simplex iterations of each solve while rows come in."""
    x = session.model["x"]
    rng, found = np.random.default_rng(0), []
    for cut in range(6):
        session.solve()
        found.append(session._live._engine.getInfo().simplex_iteration_count)
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
        s.update(lower={"y": 1})
    s.add("wild", x[0] * np.inf <= 1)
    with pytest.raises(ModelError, match="'wild': a coefficient is not finite"):
        s.solve()
    with pytest.raises(ModelError, match="'wild': a coefficient is not finite"):
        s.solve()
    s.remove("wild")
    assert s.solve().objective == 4.0
    assert s.solve(upper={"x": [1, 2]}).objective == 3.0


def test_what_is_changed_stays_changed_and_the_model_is_left_alone():
    m = Model()
    x = m.continuous("x", 2, upper=4)
    m.minimize(x.sum())
    m.add("need", x >= 1)
    s = Session(m)
    items = [{}, {"rhs": {"need": [2, 3]}}, {}]
    assert [s.solve(**item).objective for item in items] == [2, 5, 5]
    m.add("later", x.sum() >= 8)
    assert s.solve(lower={"x": 3.5}).objective == 7
    assert solve(m).objective == 8


def test_duals_are_kept_and_the_offset_changes():
    m = Model()
    x = m.continuous("x", 2, upper=4)
    m.maximize(x @ [2.0, 1.0])
    m.add("room", x.sum() <= 5)
    solution = Session(m).solve(offset=3.0, rhs={"room": 6.0})
    assert (solution.objective, solution.dual("room")) == (13.0, 1.0)


def test_contradictory_sides_are_infeasible_and_the_next_item_is_not():
    m = Model()
    x = m.continuous("x", upper=4)
    m.add("both", x.between(1, 2))
    s = Session(m)
    found = [s.solve(rhs={"both": sides}) for sides in ((2, 1), (1, 3))]
    assert [one.status for one in found] == ["infeasible", "optimal"]


def test_unbounded_items_are_reported_and_forgotten():
    m = Model()
    x = m.continuous("x")
    m.maximize(x)
    m.add("limit", x <= 3)
    s = Session(m)
    found = [s.solve(rhs={"limit": (-np.inf, most)}) for most in (3, np.inf, 2)]
    assert [one.status for one in found] == ["optimal", "unbounded", "optimal"]
    assert found[2].objective == 2


def three_blocks() -> Session:
    m = Model()
    x, b = m.continuous("x", (2, 3), upper=3), m.continuous("b", upper=1)
    m.maximize(x.sum() + 2 * b)
    m.add("4a", x.sum(axis=1) <= 5)
    m.add("4b", x.sum(axis=0) + b >= 0)
    m.add("4c", (x[0] - x[1]).between(-2, 2))
    return Session(m)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"cost": {"z": 1}}, "no variable 'z'; there are: x, b"),
        ({"cost": {"x": np.zeros(7)}}, r"\(7,\) does not fit \(2, 3\)"),
        ({"rhs": {"5": 1}}, "no linear block '5'; there are: 4a, 4b, 4c"),
        ({"rhs": {"4c": 1}}, "two sides"),
        ({"rhs": {"4a": np.inf}}, "'4a': a number is not finite"),
        ({"rhs": {"4a": (1, 2, 3)}}, "pair"),
    ],
)
def test_changes_that_do_not_fit_are_refused_by_name(change, said):
    s = three_blocks()
    with pytest.raises(ModelError, match=said):
        s.solve(**change)
    assert s.solve().objective == 12


@pytest.mark.parametrize(
    ("change", "better"),
    [
        ({"cost": {"x": np.nan}}, {"cost": {"x": 1}}),
        ({"offset": np.inf}, {"offset": 0}),
        ({"rhs": {"4b": (-np.inf, np.nan)}}, {"rhs": {"4b": (0, 9)}}),
        ({"lower": {"x": 9}}, {"lower": {"x": 0}}),
    ],
)
def test_numbers_that_were_refused_never_reach_the_solver(change, better):
    s = three_blocks()
    with pytest.raises(ModelError):
        s.update(**change)
    for item in ({}, {"upper": {"b": 1}}):
        with pytest.raises(ModelError):
            s.solve(**item)
    assert s.solve(**better).objective == 12


def test_options_and_models_a_session_cannot_take_are_refused():
    m = Model()
    u = m.continuous("u", upper=3)
    with pytest.raises(InputError, match="warm_start"):
        Session(m, warm_start={"u": np.zeros(())})
    with pytest.raises(InputError, match="profile"):
        Session(m, threads=2)
    with pytest.raises(InputError, match="on_progress"):
        Session(m, profile="default", on_progress=print)
    s = Session(m, threads=2, profile="default")
    assert s.solve().status == "optimal"
    s.model.absolute(u, name="size")
    with pytest.raises(ModelError, match="'size' is not linear"):
        s.solve()
    m.integer("n", upper=3)
    with pytest.raises(ModelError, match="a variable is integer"):
        Session(m)
