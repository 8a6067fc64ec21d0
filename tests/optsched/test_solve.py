"""solve(): every answer is checked, and no failure is lost."""

import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import optsched
from optsched import InputError, Model, ModelError, UnsupportedError, solve
from optsched.solvers import registry
from optsched.solvers.backend import MIXED_INTEGER, SolverResult
from optsched.solvers.options import Options
from optsched.solvers.registry import GROUP, announced, available, backend, family
from optsched.solvers.solution import Limit, Status


def knapsack() -> Model:
    m = Model("knapsack")
    take = m.integer("take", 3, upper=1)
    m.maximize(take @ np.array([6.0, 5.0, 4.0]))
    m.add("weight", take @ np.array([3.0, 2.0, 2.0]) <= 4)
    return m


BEST = np.array([0.0, 1.0, 1.0])


class Fake:
    """A back end that answers what it is told to."""

    native, features = frozenset[str](), MIXED_INTEGER

    def __init__(self, name: str, answer: SolverResult | BaseException) -> None:
        self.name = self.family = name
        self.answer = answer
        self.options: Options | None = None

    def version(self) -> str:
        return "0.1"

    def solve(self, compiled, options, start) -> SolverResult:
        self.options = options
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@pytest.fixture
def fake(monkeypatch):
    """Announce a fake back end under a name."""
    module = ModuleType("fake_back_ends")
    monkeypatch.setitem(sys.modules, module.__name__, module)

    def register(answer: SolverResult | BaseException, name: str = "fake") -> Fake:
        engine = Fake(name, answer)
        factory = f"{name}_{len(vars(module))}"
        setattr(module, factory, lambda: engine)
        entry = EntryPoint(name, f"{module.__name__}:{factory}", GROUP)
        monkeypatch.setitem(announced(), name, entry)
        return engine

    yield register
    registry._factory.cache_clear()


# the check


def test_a_right_answer_passes(fake):
    fake(SolverResult(Status.OPTIMAL, BEST, 9.0, nodes=4))
    solution = solve(knapsack(), "fake")
    assert (solution.status, solution.objective, solution.bound) == (Status.OPTIMAL, 9.0, 9.0)
    assert solution.checked
    assert (solution.solver, solution.version, solution.nodes) == ("fake", "0.1", 4)


@pytest.mark.parametrize(
    ("x", "broken"),
    [
        ([1, 1, 1], "row 'weight' by 3"),
        ([0, 2, 0], "bound 'take' by 1"),
        ([np.nan, 0, 0], "'take' by inf"),
        ([np.inf, 0, 0], "'take' by inf"),
    ],
)
def test_a_point_that_breaks_the_model_is_an_error_and_not_returned(fake, x, broken):
    fake(SolverResult(Status.OPTIMAL, np.array(x, dtype=float), 9.0))
    solution = solve(knapsack(), "fake")
    assert solution.status is Status.ERROR
    assert broken in solution.message
    assert not solution.checked
    assert not solution.has_point


def test_whole_values_are_rounded_before_anything_is_said_of_them(fake):
    fake(SolverResult(Status.OPTIMAL, BEST + np.array([4e-7, -4e-7, 3e-7]), 9.0000001))
    solution = solve(knapsack(), "fake")
    np.testing.assert_array_equal(solution["take"], BEST)
    assert (solution.status, solution.objective, solution.bound) == (Status.OPTIMAL, 9.0, 9.0000001)


def test_rounding_that_breaks_a_row_is_an_error(fake):
    m = Model()
    b, x = m.binary("b"), m.continuous("x", upper=1e6)
    m.maximize(x)
    m.add("switch", x <= 1e6 * b)
    fake(SolverResult(Status.OPTIMAL, np.array([1e-7, 0.1]), 0.1))
    solution = solve(m, "fake")
    assert solution.status is Status.ERROR
    assert "'switch'" in solution.message


def test_a_bound_beyond_a_checked_point_is_an_error(fake):
    fake(SolverResult(Status.OPTIMAL, BEST, 8.0))
    solution = solve(knapsack(), "fake")
    assert solution.status is Status.ERROR
    assert "bound 8 lies beyond the value 9" in solution.message


def test_a_bound_never_passes_the_point_in_hand_by_rounding(fake):
    fake(SolverResult(Status.OPTIMAL, BEST, 9.0 - 1e-9))
    solution = solve(knapsack(), "fake")
    assert (solution.status, solution.bound) == (Status.OPTIMAL, 9.0)


def test_optimal_with_an_open_gap_is_only_feasible(fake):
    fake(SolverResult(Status.OPTIMAL, BEST, 9.5))
    solution = solve(knapsack(), "fake")
    assert (solution.status, solution.limit) == (Status.FEASIBLE, Limit.GAP)


@pytest.mark.parametrize("status", [Status.OPTIMAL, Status.FEASIBLE])
def test_a_claim_without_a_point_is_an_error(fake, status):
    fake(SolverResult(status, None, 9.0))
    solution = solve(knapsack(), "fake")
    assert solution.status is Status.ERROR
    assert f"{status} without a point" in solution.message


@pytest.mark.parametrize("bound", [np.inf, -np.inf, np.nan])
def test_a_bound_that_says_nothing_is_no_bound(fake, bound):
    fake(SolverResult(Status.FEASIBLE, BEST, bound, Limit.TIME))
    solution = solve(knapsack(), "fake")
    assert (solution.status, solution.bound, solution.gap) == (Status.FEASIBLE, None, None)


# failures


@pytest.mark.parametrize("failure", [RuntimeError("out of luck"), MemoryError("too big")])
def test_a_solver_that_raises_is_an_error_with_its_words(fake, failure):
    fake(failure)
    solution = solve(knapsack(), "fake")
    assert solution.status is Status.ERROR
    assert solution.message == f"{type(failure).__name__}: {failure}"
    assert (solution.solver, solution.version) == ("fake", "0.1")
    assert solution.values == {}


@pytest.mark.parametrize(
    "failure",
    [
        UnsupportedError("no"),
        ModelError("no"),
        InputError.of("extra", 1, "no"),
        KeyboardInterrupt(),
        SystemExit(),
    ],
)
def test_what_the_caller_must_mend_or_asked_for_is_raised(fake, failure):
    fake(failure)
    with pytest.raises(type(failure)):
        solve(knapsack(), "fake")


def test_unknown_names_and_values_are_input_errors_before_anything_runs(fake):
    engine = fake(SolverResult(Status.OPTIMAL, BEST, 9.0))
    for settings, named in (
        ({"time_limits": 3}, "time_limits"),
        ({"time_limit": 0}, "time_limit"),
        ({"gap": -1}, "gap"),
        ({"threads": 0}, "threads"),
        ({"seed": -1}, "seed"),
        ({"warm_start": {"y": 1}}, "warm_start"),
        ({"warm_start": {"take": [1, 2]}}, r"\(3,\)"),
        ({"warm_start": {"take": "all"}}, "warm_start"),
        ({"confirm": "no such"}, "solver"),
    ):
        with pytest.raises(InputError, match=named):
            solve(knapsack(), "fake", **settings)
    with pytest.raises(InputError, match="must be one of"):
        solve(knapsack(), "gurobbi")
    assert engine.options is None


def test_a_solver_that_is_not_installed_is_an_input_error(fake, monkeypatch):
    engine = fake(SolverResult(Status.OPTIMAL, BEST, 9.0))

    def missing() -> str:
        raise ImportError("no package of that name")

    engine.version = missing
    with pytest.raises(InputError, match="not installed"):
        solve(knapsack(), "fake")
    assert "fake" not in available()
    monkeypatch.setitem(announced(), "gone", EntryPoint("gone", "no_such_module:Gone", GROUP))
    with pytest.raises(InputError, match="not installed"):
        solve(knapsack(), "gone")
    assert "highs" in available()


def test_single_settings_override_the_options_given(fake):
    engine = fake(SolverResult(Status.OPTIMAL, BEST, 9.0))
    solve(knapsack(), "fake", options=Options(seed=4, threads=2), threads=3)
    assert engine.options == Options(seed=4, threads=3)


def test_a_model_without_variables_needs_no_solver(fake):
    fake(RuntimeError("never asked"))
    m = Model()
    m.minimize(3)
    solution = solve(m, "fake")
    assert (solution.status, solution.objective, solution.bound) == (Status.OPTIMAL, 3.0, 3.0)


# a second opinion


def opinion(fake, first: SolverResult | BaseException, second: SolverResult | BaseException):
    fake(first, "one")
    fake(second, "two")
    return solve(open_knapsack(), "one", confirm="two")


def open_knapsack() -> Model:
    """Nothing in it rules out a claim that it is unbounded; zero is no point of it."""
    m = Model("open knapsack")
    take = m.integer("take", 3)
    m.maximize(take @ np.array([6.0, 5.0, 4.0]))
    m.add("some", take.sum() >= 1)
    return m


RIGHT = SolverResult(Status.OPTIMAL, BEST, 9.0)
WORSE = SolverResult(Status.OPTIMAL, np.array([1.0, 0.0, 0.0]), 6.0)
INFEASIBLE, UNBOUNDED = SolverResult(Status.INFEASIBLE), SolverResult(Status.UNBOUNDED)
NEITHER = SolverResult(Status.INFEASIBLE_OR_UNBOUNDED)
STOPPED = SolverResult(Status.NO_SOLUTION, limit=Limit.TIME)


def test_two_proofs_that_agree_confirm_each_other(fake):
    solution = opinion(fake, RIGHT, RIGHT)
    assert solution.status is Status.OPTIMAL
    assert solution.message == "confirmed: two 0.1 ended optimal"
    assert opinion(fake, INFEASIBLE, INFEASIBLE).message.startswith("confirmed")
    assert opinion(fake, NEITHER, UNBOUNDED).message.startswith("confirmed")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (WORSE, RIGHT),
        (INFEASIBLE, RIGHT),
        (INFEASIBLE, SolverResult(Status.FEASIBLE, BEST, limit=Limit.TIME)),
        (UNBOUNDED, RIGHT),
        (UNBOUNDED, INFEASIBLE),
        (NEITHER, RIGHT),
        (UNBOUNDED, SolverResult(Status.FEASIBLE, BEST, 10.0, Limit.TIME)),
        (SolverResult(Status.NO_SOLUTION, None, 8.0, Limit.TIME), RIGHT),
    ],
)
def test_proofs_that_contradict_each_other_are_a_disagreement_in_either_order(fake, first, second):
    for pair in ((first, second), (second, first)):
        solution = opinion(fake, *pair)
        assert solution.status is Status.DISAGREEMENT
        assert "one" in solution.message
        assert "two" in solution.message


def test_a_witness_that_proves_nothing_leaves_the_answer_unconfirmed(fake):
    solution = opinion(fake, RIGHT, STOPPED)
    assert solution.status is Status.OPTIMAL
    assert "not contradicted" in solution.message
    solution = opinion(fake, STOPPED, STOPPED)
    assert solution.status is Status.NO_SOLUTION
    assert "neither" in solution.message


def test_a_failure_on_either_side_keeps_its_words_and_confirms_nothing(fake):
    solution = opinion(fake, RuntimeError("first fell"), RIGHT)
    assert solution.status is Status.ERROR
    assert "first fell" in solution.message
    solution = opinion(fake, RIGHT, RuntimeError("second fell"))
    assert solution.status is Status.OPTIMAL
    assert "second fell" in solution.message
    assert "nothing to confirm by" in solution.message


def test_options_under_a_solvers_own_names_go_to_that_solver_only(fake):
    first, second = fake(RIGHT, "one"), fake(RIGHT, "two")
    solve(knapsack(), "one", confirm="two", time_limit=5, extra={"own": 1})
    assert first.options.extra == {"own": 1}
    assert second.options == Options(time_limit=5)


def test_a_witness_of_the_same_family_is_told_from_one_of_another():
    said = solve(knapsack(), "highs", confirm="scipy").message
    assert said.startswith("confirmed within one family, highs, whose faults both may have")
    assert solve(knapsack(), "scip", confirm="scipy").message.startswith("confirmed: ")


def test_the_witness_by_default_is_of_another_family_and_takes_the_model():
    assert solve(knapsack(), "highs", confirm=True).message.startswith("confirmed: cpsat")
    assert solve(knapsack(), "cpsat", confirm=True).message.startswith("confirmed: scip")
    m = Model()
    x = m.continuous("x", upper=2.5)
    m.maximize(x)
    assert solve(m, "scipy", confirm=True).message.startswith("confirmed: scip")
    assert solve(m, "scip", confirm=True).message.startswith("confirmed: glop")


def test_back_ends_of_one_engine_are_of_one_family():
    assert {name for name in available() if family(name) == "highs"} == {"highs", "scipy"}
    assert family("pulp:PULP_CBC_CMD") == family("pulp:COIN_CMD") == family("cbc")
    assert family("pulp:SCIP_PY") == family("scip")
    assert family("pulp:GUROBI_CMD") == family("pulp:GUROBI")


def test_real_solvers_confirm_each_other():
    solution = solve(knapsack(), "highs", confirm="cpsat")
    assert (solution.status, solution.objective) == (Status.OPTIMAL, 9.0)
    assert solution.message.startswith("confirmed: cpsat")
    assert backend("cpsat").name == "cpsat"


def test_integers_that_are_not_quite_whole_are_rounded_and_the_rest_follows():
    m = Model()
    x, b = m.continuous("x", upper=1e6), m.binary("b")
    m.add("only if", x <= 1e6 * b)
    m.maximize(x - 10 * b)
    m.add("never", b <= 0.5)

    class AlmostWhole(Fake):
        def solve(self, compiled, options, start) -> SolverResult:
            if compiled.integer.any():  # feasible to within a millionth, and worth half a unit
                return SolverResult(Status.OPTIMAL, np.array([0.5, 5e-7]), 0.5)
            return backend("highs").solve(compiled, options, start)

    solution = solve(m, AlmostWhole("fake", SolverResult(Status.ERROR)))
    assert solution.checked
    assert solution["x"] == 0
    assert (solution.status, solution.objective, solution.bound) == (Status.FEASIBLE, 0.0, 0.5)


@pytest.mark.parametrize(
    ("beyond", "status"), [(0.9e-6, Status.OPTIMAL), (1.1e-6, Status.DISAGREEMENT)]
)
def test_a_witness_whose_bound_lies_a_millionth_beyond_the_point_contradicts_it(
    fake, beyond, status
):
    fake(SolverResult(Status.OPTIMAL, BEST, 9.0))
    fake(SolverResult(Status.NO_SOLUTION, bound=9.0 * (1 - beyond)), "witness")
    assert solve(knapsack(), "fake", confirm="witness").status is status
    assert solve(knapsack(), "witness", confirm="fake").status is (
        Status.NO_SOLUTION if status is Status.OPTIMAL else status
    )


@pytest.mark.parametrize("maximise", [True, False])
@pytest.mark.parametrize("value", [0.0, 0.5, 9.0])
def test_what_a_witness_may_be_beyond_a_point_is_relative_to_values_above_one(
    fake, maximise, value
):
    m = Model()
    x = m.continuous("x", upper=9)
    (m.maximize if maximise else m.minimize)(x)
    fake(SolverResult(Status.FEASIBLE, np.array([value]), limit=Limit.TIME))
    inside = 1.0 if value == 0 else 0.9  # at the tolerance itself where numbers are exact
    for share, status in ((inside, Status.FEASIBLE), (1.5, Status.DISAGREEMENT)):
        beyond = share * 1e-6 * max(1.0, value)
        bound = value - beyond if maximise else value + beyond
        fake(SolverResult(Status.NO_SOLUTION, bound=bound), "witness")
        assert solve(m, "fake", confirm="witness").status is status


@pytest.mark.parametrize(("settings", "most"), [({"profile": "tiny"}, 60), ({}, 80)])
def test_a_tiny_solve_takes_few_calls(settings, most):
    """Functions of this package that are entered; a thread's polling adds a few by default."""
    solve(knapsack(), **settings)  # what only the first solve does
    model, here, entered = knapsack(), str(Path(optsched.__file__).parent), []

    def count(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(here) and "<" not in code.co_name:
            entered.append(code.co_name)

    sys.setprofile(count)
    try:
        solution = solve(model, **settings)
    finally:
        sys.setprofile(None)
    assert solution.status is Status.OPTIMAL
    assert len(entered) <= most, entered
