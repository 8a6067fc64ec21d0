"""Answers of solvers that were once believed and false: each is right, or said to be unproven."""

import numpy as np
import pytest

from optsched import Model, explain, solve
from optsched.solvers.backend import SolverResult
from optsched.solvers.highs import backend as highs
from optsched.solvers.mathopt import backend as mathopt
from optsched.solvers.mathopt.call import call as mathopt_call
from optsched.solvers.registry import available
from optsched.solvers.solution import Status

INF = np.inf
LINEAR = [name for name in available() if name not in ("cpsat", "exact", "pdlp", "tree-search")]
MIXED = [name for name in LINEAR if name != "glop"]


def is_right(solution, optimum):
    """Nothing false is said: what counts as optimal is."""
    if solution.status is Status.OPTIMAL:
        assert solution.objective == pytest.approx(optimum, rel=1e-6, abs=1e-9)
    else:
        assert solution.status in (Status.FEASIBLE, Status.NO_SOLUTION), solution


@pytest.mark.parametrize("solver", [*LINEAR, "pulp:PULP_CBC_CMD"])
def test_a_coefficient_of_nought_hides_no_endless_column(solver):
    m = Model()
    x = m.continuous("x", 2, lower=-INF)
    m.add("r", x @ [1, 0] >= 1)
    m.minimize(x.sum())
    assert solve(m, solver).status in (Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED)


@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("solver", MIXED)
def test_small_costs_count(solver, integer):
    m = Model()
    x = m.integer("x", 2, upper=1e9) if integer else m.continuous("x", 2, upper=1e9)
    m.add("first", x @ [1, 2] <= 4e5)
    m.add("second", x @ [3, 1] <= 6e5)
    m.maximize(1e-7 * x.sum())
    solution = solve(m, solver)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(0.028, rel=1e-6)
    assert solution.bound == pytest.approx(0.028, rel=1e-6)


@pytest.mark.parametrize("solver", LINEAR)
def test_duals_that_prove_less_than_the_value_prove_no_optimum(solver):
    """Costs of 1e-9 beside one of 1 lie within a solver's tolerance on reduced costs."""
    m = Model()
    x, y = m.continuous("x", upper=1e9), m.continuous("y", upper=1)
    m.add("apart", x + y <= 1e9)
    m.maximize(1e-9 * x + 1e3 * y)
    is_right(solve(m, solver), 1001 - 1e-9)


@pytest.mark.parametrize("large", [1e4, 1e6, 1e8])
@pytest.mark.parametrize("solver", MIXED)
def test_a_row_switched_off_by_a_large_constant_is_kept_where_it_is_on(solver, large):
    m = Model()
    x, y = m.continuous("x", upper=large), m.binary("y")
    m.add("a", x <= large * (1 - y))
    m.add("on", y >= 0.5)
    m.maximize(x)
    solution = solve(m, solver)
    is_right(solution, 0.0)
    if solution.has_point:
        assert solution["x"] <= 1e-6


def test_what_whole_numbers_contribute_to_a_row_is_exact():
    m = Model()
    x, y = m.continuous("x", upper=1e6), m.binary("y")
    m.add("a", x <= 1e6 * (1 - y))
    assert [v.block for v in m.violations({"x": np.array(0.9), "y": np.array(1.0)})] == ["a"]
    assert m.violations({"x": np.array(9e-7), "y": np.array(1.0)}) == []
    assert m.violations({"x": np.array(1e6 + 0.5), "y": np.array(0.0)}, 1e-6)
    n = Model()
    z = n.integer("z", 2, upper=10**7)
    n.add("whole", z @ [1.0, 1.0] <= 1e7)
    assert n.violations({"z": np.array([1e7, 1.0])})
    assert n.violations({"z": np.array([1e7, 0.0])}) == []


def presolved_away() -> Model:
    """HiGHS calls it infeasible (its issue 2585)."""
    m = Model()
    x = m.continuous("x", 2, lower=-100, upper=100)
    z = m.integer("z", 2, lower=-100, upper=100)
    rows = np.array([[96.55, 0, -32.45, 88.78], [-3.14, -78.02, 0, 0], [0, 11.8, -21.94, 0],
                     [0, 0, 91.59, -10.58], [79.17, 1.73, 0, -73.23],
                     [-10.61, -94.66, 0, 76.88]])  # fmt: skip
    sides = np.array([1216.06, -50.5404, 3.422, -35.25, 411.403, 195.69])
    m.add("rows", rows[:, :2] @ x + rows[:, 2:] @ z <= sides)
    m.minimize(-24 * x[0] + 5 * x[1] + 7.4 * z[0] + 9 * z[1])
    return m


@pytest.mark.parametrize("solver", MIXED)
def test_infeasible_is_said_on_a_second_look_only(solver):
    solution = solve(presolved_away(), solver)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(-175.91, abs=0.01)


def test_there_is_no_conflict_in_a_feasible_model():
    assert explain(presolved_away()).status == "feasible"


@pytest.mark.parametrize("solver", [*MIXED, "cpsat"])
@pytest.mark.parametrize(("upper", "most"), [(3 - 1e-7, 2), (3 - 1e-13, 3), (2.5, 2), (3.0, 3)])
def test_bounds_of_whole_numbers_are_rounded_inward(solver, upper, most):
    m = Model()
    x = m.integer("x", upper=upper)
    m.maximize(x)
    solution = solve(m, solver)
    assert (solution.status, solution.objective, solution["x"]) == (Status.OPTIMAL, most, most)
    assert solution.checked


@pytest.mark.parametrize("solver", [*MIXED, "cpsat"])
def test_no_whole_number_between_bounds_is_infeasible(solver):
    m = Model()
    m.minimize(m.integer("x", lower=0.2, upper=0.8))
    assert solve(m, solver).status is Status.INFEASIBLE


def called_infeasible(monkeypatch, second: SolverResult, **options):
    """What is made of HiGHS's "infeasible" and of what a second look says."""
    limits = []

    def again(_form, _options, seconds):
        limits.append(seconds)
        return second

    monkeypatch.setattr(highs, "_without_presolve", again)
    m = Model()
    x = m.integer("x", 2, upper=3)
    m.add("first", x.sum() >= 4)
    m.add("second", x @ [1, 1] <= 3)
    return solve(m, "highs", **options), limits


@pytest.mark.parametrize("status", [Status.NO_SOLUTION, Status.ERROR])
def test_a_second_look_that_does_not_end_decides_nothing(monkeypatch, status):
    solution, _ = called_infeasible(monkeypatch, SolverResult(status, message="gave up"))
    assert solution.status is status
    assert "a second look with other settings did not decide; gave up" in solution.message


def test_a_second_look_has_the_time_the_user_left_and_no_other_limit(monkeypatch):
    second = SolverResult(Status.INFEASIBLE)
    solution, limits = called_infeasible(monkeypatch, second)
    assert (solution.status, limits) == (Status.INFEASIBLE, [INF])
    _, limits = called_infeasible(monkeypatch, second, time_limit=50.0)
    assert limits == [pytest.approx(50.0, abs=5.0)]


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_infeasible_stands_if_a_second_look_need_not_end(solver):
    """Presolve sees that both sides differ in parity; branch and bound goes on for ever."""
    m = Model()
    x = m.integer("x", 2, lower=-INF)
    m.add("parity", x @ [2, -2] == 1)
    solution = solve(m, solver)
    assert solution.status is Status.INFEASIBLE


@pytest.mark.parametrize("limit", [None, 60.0])
def test_scip_looks_again_under_the_users_limit_alone(monkeypatch, limit):
    from ortools.math_opt import result_pb2

    infeasible, limits = result_pb2.SolveResultProto(), []
    infeasible.termination.reason = result_pb2.TERMINATION_REASON_INFEASIBLE

    def call(code, proto, parameters, *others):
        limits.append(parameters.HasField("time_limit"))
        first = len(limits) == 1
        return infeasible if first else mathopt_call(code, proto, parameters, *others)

    monkeypatch.setattr(mathopt, "call", call)
    m = Model()
    m.minimize(m.integer("x", lower=1, upper=3))
    solution = solve(m, "scip", time_limit=limit)
    assert (solution.status, solution.objective) == (Status.OPTIMAL, 1.0)
    assert limits == [limit is not None] * 2
