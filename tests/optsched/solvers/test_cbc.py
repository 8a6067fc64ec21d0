"""CBC and the solvers PuLP drives: what they say is weighed, not believed."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solver_models import interrupted, knapsack, market_split, unbounded, with_time_for_a_point

from optsched import InputError, Model, UnsupportedError, explain, solve
from optsched.solvers.pulp.cbc import _mps
from optsched.solvers.registry import backend
from optsched.solvers.solution import Limit, Status

INF = np.inf
BOTH = ["cbc", "pulp:PULP_CBC_CMD"]


def infeasible(*, integer: bool) -> Model:
    m = Model()
    x = m.integer("x", 2) if integer else m.continuous("x", 2)
    m.minimize(-x.sum())
    m.add("low", x[0] - x[1] <= 1)
    m.add("high", x[0] - x[1] >= 2)
    return m


# how a solve ends


@pytest.mark.parametrize("integer", [True, False])
@pytest.mark.parametrize("solver", BOTH)
def test_an_optimum_is_proven_with_its_bound(solver, integer):
    solution = solve(knapsack(integer=integer), solver)
    assert solution.status is Status.OPTIMAL
    assert solution.checked
    assert solution.objective == pytest.approx(9.5)
    assert solution.bound == pytest.approx(9.5)


@pytest.mark.parametrize("integer", [True, False])
@pytest.mark.parametrize("solver", BOTH)
def test_no_objective_without_end_is_an_optimum(solver, integer):
    assert solve(unbounded(integer=integer), solver).status is Status.UNBOUNDED


@pytest.mark.parametrize("integer", [True, False])
@pytest.mark.parametrize("solver", BOTH)
def test_infeasible_is_told_from_unbounded(solver, integer):
    assert solve(infeasible(integer=integer), solver).status is Status.INFEASIBLE


@pytest.mark.parametrize("solver", BOTH)
def test_an_integer_without_bounds_is_not_taken_for_a_binary(solver):
    m = Model()
    x = m.integer("x")
    m.add("most", 2 * x <= 15)
    m.maximize(x)
    assert solve(m, solver).objective == 7


@pytest.mark.parametrize("solver", BOTH)
def test_a_free_variable_that_only_costs_has_no_optimum(solver):
    # CBC alone answers 0 and "Optimal"
    m = Model()
    x = m.continuous("x", 2, lower=-INF)
    m.add("first", x[0] >= 1)
    m.minimize(x[0] - 3 * x[1])
    assert solve(m, solver).status is Status.UNBOUNDED


@pytest.mark.parametrize("solver", BOTH)
def test_sides_that_exclude_each_other_and_rows_without_variables_are_infeasible(solver):
    m = Model()
    x = m.continuous("x", 2, upper=1)
    m.add("impossible", x.sum().between(2, 1))
    assert solve(m, solver).status is Status.INFEASIBLE
    m = Model()
    x = m.continuous("x", 2, upper=1)
    m.add("empty", 0 * x.sum() >= 1)
    m.minimize(x.sum())
    assert solve(m, solver).status is Status.INFEASIBLE


@pytest.mark.parametrize("solver", BOTH)
def test_a_time_limit_never_reads_as_optimal(solver):
    solution = with_time_for_a_point(lambda t: solve(market_split(), solver, time_limit=t), 0.4)
    assert solution.status is Status.FEASIBLE
    assert solution.limit is Limit.TIME
    assert solution.objective > 0


def test_a_bound_is_known_when_time_runs_out():
    solution = with_time_for_a_point(lambda t: solve(market_split(), "cbc", time_limit=t), 0.4)
    assert solution.bound == pytest.approx(0, abs=1e-3)
    assert solution.bound <= 0
    assert solution.nodes is not None


def test_a_limit_on_nodes_reads_as_such():
    solution = solve(market_split(), "cbc", extra={"maxNodes": 1}, time_limit=30)
    assert solution.status in (Status.FEASIBLE, Status.NO_SOLUTION)
    assert solution.limit is Limit.NODES


@pytest.mark.parametrize("solver", BOTH)
def test_a_gap_asked_for_ends_the_search_without_a_claim_of_optimality(solver):
    solution = solve(market_split(rows=1), solver, absolute_gap=300.0, time_limit=30)
    assert solution.status is Status.FEASIBLE
    assert solution.limit is Limit.GAP


def test_the_stop_event_ends_cbc_with_what_it_has():
    solution = interrupted(lambda stop: solve(market_split(), "cbc", stop=stop, time_limit=60), 0.5)
    assert solution.status is Status.INTERRUPTED
    assert solution.has_point
    assert solution.limit is None


# numbers


@pytest.mark.parametrize("maximise", [True, False])
def test_duals_are_what_the_optimum_changes_by(maximise):
    costs, width = np.array([3.0, 1.0, 2.5]), 1e-3

    def program(shift: float = 0.0, column: float = 0.0) -> Model:
        m = Model()
        x = m.continuous("x", 3, lower=np.array([column, 0, 0]), upper=[column, 4, 4])
        m.add("free", x.sum().between(-INF, INF))
        m.add("most", x @ np.array([1.0, 2.0, 1.0]) <= 5 + shift)
        m.add("least", x.sum() >= 1 + shift)
        m.add("same", x[1] - x[2] == 0.5 + shift)
        (m.maximize if maximise else m.minimize)(x @ costs)
        return m

    base = solve(program(), "cbc")
    change = (solve(program(shift=width), "cbc").objective - base.objective) / width
    total = base.dual("most") + base.dual("least") + base.dual("same")
    assert float(total) == pytest.approx(change, abs=1e-6)
    assert abs(change) > 0.1
    assert base.dual("free") == 0
    change = (solve(program(column=width), "cbc").objective - base.objective) / width
    assert float(base.reduced_costs["x"][0]) == pytest.approx(change, abs=1e-6)


def test_values_come_back_with_all_their_digits():
    m = Model()
    x = m.continuous("x", upper=123456.78901234567)
    y = m.binary("y")
    m.add("row", x + y <= 1e6)
    m.maximize(x + y)
    assert solve(m, "cbc")["x"] == 123456.78901234567


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6))
def test_cbc_agrees_with_another_solver(seed):
    rng = np.random.default_rng(seed)
    n, rows = int(rng.integers(1, 7)), int(rng.integers(1, 6))
    m = Model()
    upper = np.where(rng.random(n) < 0.3, INF, rng.integers(1, 9, n))
    lower = np.where(rng.random(n) < 0.1, -INF, rng.integers(-3, 1, n))
    x = m.integer("x", n, lower=lower, upper=upper)
    y = m.continuous("y", n, lower=lower, upper=upper)
    a = rng.integers(-4, 9, (rows, n)) * (rng.random((rows, n)) < 0.6)
    m.add("le", a @ x + y[0] <= rng.integers(1, 20, rows).astype(float))
    m.add("range", (x + y).between(-3.0, 4.5))
    m.add("same", x[0] - 2 * y[-1] == 1)
    (m.minimize if rng.random() < 0.5 else m.maximize)(
        (x * rng.integers(-5, 9, n)).sum() + 1 - y[0]
    )
    ours, theirs = solve(m, "cbc", time_limit=10), solve(m, "scip")
    assert ours.status is theirs.status
    if ours.has_point:
        assert ours.objective == pytest.approx(theirs.objective, rel=1e-6, abs=1e-6)


def test_an_mps_file_states_every_bound_and_side():
    m = Model()
    x = m.integer("x", 3, lower=[0, -INF, 2], upper=[INF, 5, 2])
    y = m.continuous("y", lower=-INF)
    m.add("free", x.sum().between(-INF, INF))
    m.add("range", (x[0] + 0.1 * y).between(-1, 3))
    compiled = m.compile()
    text = _mps(compiled, compiled.cost)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    stated = """L R1; C3 R1 0.1; RHS R1 3.0; RNG R1 4.0; LO BND C0 0.0; PL BND C0; MI BND C1;
        UP BND C1 5.0; FX BND C2 2.0; MI BND C3; PL BND C3"""
    for line in stated.split(";"):
        assert line.strip() in lines
    assert not any("R0" in line for line in lines)


# what CBC calls infeasible, and optimal


def ordered() -> Model:
    """Two whole numbers, the second the greater: a = 1, b = 2 and f = 1 is a point."""
    m = Model()
    large = 1e8
    a, b = (m.integer(name, lower=1, upper=8) for name in "ab")
    f = m.binary("f")
    m.add("on", b - a - large * f >= 1 - large)
    m.add("off", b - a - large * f <= 0)
    m.add("after", b - a >= 1)
    m.minimize(b)
    return m


def filled() -> Model:
    """As much as fits, nothing being allowed."""
    m = Model()
    size = np.array([52586982.0, 56063946, 77965075, 95541732])
    k = m.integer("k", 4, upper=4)
    m.add("room", k @ size <= 694027227)
    m.maximize(k @ size)
    return m


@pytest.mark.parametrize(("model", "optimum"), [(ordered(), 2), (filled(), 694020019)])
def test_what_has_a_point_is_not_called_infeasible(model, optimum):
    solution = solve(model, "cbc")
    assert (solution.status, solution.objective) == (Status.OPTIMAL, optimum)


def test_there_is_no_conflict_in_a_feasible_model():
    assert explain(ordered(), "cbc").status == "feasible"


def sequenced(seed: int, large: float) -> Model:
    """Whole times of jobs on one machine, the order of each pair chosen behind a constant."""
    rng = np.random.default_rng(seed)
    m = Model()
    start, length = m.integer("start", 3, upper=9), rng.integers(1, 4, 3)
    first = m.binary("first", (3, 3))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        m.add(f"{i} before {j}", start[j] - start[i] - large * first[i, j] >= length[i] - large)
        m.add(f"{j} before {i}", start[i] - start[j] + large * first[i, j] >= length[j])
    m.minimize(start @ rng.integers(1, 5, 3))
    return m


@pytest.mark.parametrize("large", [1e3, 1e6, 1e8])
def test_large_constants_among_whole_numbers_lose_neither_points_nor_optima(large):
    for seed in range(6):
        found, true = solve(sequenced(seed, large), "cbc"), solve(sequenced(seed, 12.0), "cpsat")
        assert (found.status, found.objective) == (Status.OPTIMAL, true.objective)


@pytest.mark.parametrize(("factor", "status"), [(4.9e8, Status.OPTIMAL), (5e8, Status.FEASIBLE)])
def test_a_factor_that_the_tolerance_hides_half_a_unit_of_proves_nothing(factor, status):
    m = Model()
    k, x = m.integer("k", upper=4), m.continuous("x", upper=1)
    m.add("room", factor * k + x <= 2.5 * factor)
    m.maximize(k + x)
    solution = solve(m, "cbc")
    assert (solution.status, solution.objective) == (status, 3.0)
    m.add("more", k >= 3)
    impossible = Status.INFEASIBLE if status is Status.OPTIMAL else Status.ERROR
    assert solve(m, "cbc").status is impossible


def test_an_unbounded_program_is_not_called_optimal():
    # with its presolve it is, at 2.2
    m = Model()
    x = m.continuous("x", 4, lower=[-INF, -2, -INF, 0], upper=[INF, 2, INF, INF])
    m.add("first", x[1] <= 20)
    m.add("second", x @ [-1, 0, -2, -1] <= 10)
    m.add("third", 7 * x[3] <= 17)
    m.add("fourth", x @ [4, 5, -1, 0] <= 17)
    m.add("same", x @ [3, 6, 5, 5] == -1)
    m.maximize(x @ [-8, 0, 1, -5])
    assert solve(m, "cbc").status is Status.UNBOUNDED


# options


def test_a_warm_start_may_be_partial_and_wrong():
    for take in ([0, 1, 1], [1, 1, 1], [np.nan, 1, np.nan]):
        solution = solve(knapsack(), "cbc", warm_start={"take": np.array(take, dtype=float)})
        assert (solution.status, solution.objective) == (Status.OPTIMAL, 9.5)


def test_an_increment_of_the_users_leaves_the_gap_in_force():
    # CBC keeps both in one place, and what is said last counts
    extra = {"increment": 0.5}
    solution = solve(market_split(), "cbc", absolute_gap=300.0, extra=extra, time_limit=20)
    assert (solution.status, solution.limit) == (Status.FEASIBLE, Limit.GAP)


def test_preprocessing_is_off_unless_asked_for(capsys):
    solve(knapsack(), "cbc", log=True)
    assert "preprocess changed from sos to off" in capsys.readouterr().out
    solve(knapsack(), "cbc", log=True, extra={"preprocess": "on"})
    assert "preprocess changed from off to on" in capsys.readouterr().out


def test_parameters_go_to_cbc():
    assert solve(knapsack(), "cbc", extra={"cuts": "off"}).objective == 9.5
    assert solve(knapsack(), "cbc", seed=3, threads=2).objective == 9.5


@pytest.mark.parametrize("extra", [{"nosuch": 1}, {"cuts": "sideways"}, {"ratioGap": "small"}])
def test_parameters_cbc_does_not_know_are_refused(extra):
    with pytest.raises(InputError, match=next(iter(extra))):
        solve(knapsack(), "cbc", extra=extra)


def test_arguments_pulp_does_not_know_are_refused():
    with pytest.raises(InputError, match="nosuch"):
        solve(knapsack(), "pulp:PULP_CBC_CMD", extra={"nosuch": 1})


@pytest.mark.parametrize("settings_", [{"seed": 1}, {"stop": threading.Event()}])
def test_options_pulp_does_not_hand_on_are_refused(settings_):
    with pytest.raises(UnsupportedError, match=next(iter(settings_))):
        solve(knapsack(), "pulp:PULP_CBC_CMD", **settings_)


def test_numbers_cbc_would_change_are_refused():
    m = Model()
    x = m.continuous("x", upper=1e28)
    m.add("row", x >= 1)
    with pytest.raises(UnsupportedError, match="infinite"):
        solve(m, "cbc")


def test_a_solver_pulp_does_not_find_is_refused_with_those_it_does():
    with pytest.raises(InputError, match=r"PuLP finds: .*CBC.*HiGHS is the solver"):
        solve(knapsack(), "pulp:NO_SUCH_CMD")


def test_the_log_is_shown_on_request(capsys):
    solve(knapsack(), "cbc", log=True)
    assert "CBC MILP Solver" in capsys.readouterr().out
    solve(knapsack(), "cbc")
    assert capsys.readouterr().out == ""


def test_a_program_that_answers_nothing_is_an_error(tmp_path, monkeypatch):
    from optsched.solvers.pulp import cbc

    broken = tmp_path / "cbc"
    broken.write_text("#!/bin/sh\necho Segmentation fault\nexit 139\n")
    broken.chmod(0o755)
    monkeypatch.setattr(cbc, "_binary", lambda: broken)
    solution = solve(knapsack(), "cbc")
    assert solution.status is Status.ERROR
    assert "Segmentation fault" in solution.message


def test_cbc_runs_without_importing_pulp():
    program = (
        "import sys\n"
        "from optsched import Model, solve\n"
        "m = Model(); x = m.binary('x', 3); m.maximize(x.sum()); m.add('w', x.sum() <= 2)\n"
        "assert solve(m, 'cbc').objective == 2\n"
        "assert 'pulp' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_versions_are_known():
    assert backend("cbc").version()[0].isdigit()
    assert backend("pulp:PULP_CBC_CMD").version()[0].isdigit()
    assert backend("pulp:PULP_CBC_CMD").name == "pulp:PULP_CBC_CMD"


@pytest.mark.parametrize(
    ("solver", "extra"),
    [("cbc", {"ratio": 0.5}), ("cbc", {"allowableGap": 5}), ("pulp:PULP_CBC_CMD", {"gapRel": 0.5})],
)
def test_a_gap_in_the_solvers_own_words_is_no_proof_of_optimality_either(solver, extra):
    assert solve(knapsack(), solver, extra=extra).status is Status.FEASIBLE


@pytest.mark.parametrize("solver", BOTH)
def test_a_relative_gap_counts_the_constant_of_the_objective(solver):
    m = market_split()
    m.minimize(m["over"].sum() + m["under"].sum() + 1000)
    solution = solve(m, solver, gap=0.5, time_limit=20)
    assert solution.status is Status.FEASIBLE
    assert solution.limit is Limit.GAP
    assert solution.objective >= 1000


@pytest.mark.parametrize("solver", ["cbc", "pulp:PULP_CBC_CMD"])
def test_optima_that_differ_by_less_than_cbcs_own_increment_are_told_apart(solver):
    # left alone, CBC is off by up to 1e-5 here and says "Optimal"
    for seed in range(4):
        rng = np.random.default_rng(seed)
        m = Model()
        b = m.binary("b", 24)
        weights = 1 + np.round(rng.random(24) * 2e-5, 10)
        sizes = rng.integers(1, 30, (3, 24)).astype(float)
        m.add("enough", sizes @ b >= sizes.sum(axis=1) * 0.35)
        m.minimize((b * weights).sum())
        found, other = solve(m, solver, time_limit=20), solve(m, "scip", time_limit=20)
        assert found.objective == pytest.approx(other.objective, abs=1e-6)
