"""HiGHS as a back end: every status, every option, duals, and what it refuses."""

import itertools
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import highspy
import numpy as np
import pytest
import solver_models
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from solver_models import interrupted, knapsack, with_time_for_a_point

from optsched import InputError, Model, UnsupportedError, solve
from optsched.solvers.highs import backend as highs
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Solution, Status
from optsched.testing.endings import large_linear_program

INF = np.inf


def market_split(rows: int = 5, items: int = 40, *, elastic: bool = True) -> Model:
    """Split every row's sum as planted: easy to miss by a little, out of reach to prove."""
    rng = np.random.default_rng(7)
    weights = rng.integers(1, 100, (rows, items)).astype(float)
    m = Model("market split")
    x = m.binary("x", items)
    target = weights @ planted(items)
    if not elastic:
        m.add("split", weights @ x == target)
        return m
    over = m.continuous("over", rows)
    under = m.continuous("under", rows)
    m.add("split", weights @ x + under - over == target - 0.5)
    m.minimize((over + under).sum())
    return m


def planted(items: int = 40) -> np.ndarray:
    return np.random.default_rng(8).integers(0, 2, items).astype(float)


# statuses


def test_a_linear_program_is_solved_to_its_optimum():
    m = Model()
    x = m.continuous("x", 2, upper=4)
    m.maximize(x @ np.array([1.0, 2.0]) + 10)
    m.add("row", x.sum() <= 5)
    solution = solve(m)
    assert solution.status is Status.OPTIMAL
    assert (solution.objective, solution.bound, solution.gap) == (19.0, 19.0, 0.0)
    np.testing.assert_allclose(solution["x"], [1, 4])
    assert solution.checked
    assert solution.nodes is None
    assert (solution.solver, solution.limit) == ("highs", None)


def test_an_integer_program_is_solved_to_its_optimum():
    solution = solve(knapsack())
    assert solution.status is Status.OPTIMAL
    assert (solution.objective, solution.bound) == (9.5, 9.5)
    np.testing.assert_array_equal(solution["take"], [0, 1, 1])
    assert solution.checked
    assert solution.duals == {}


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6), maximise=st.booleans())
def test_the_optimum_is_that_of_enumeration(seed, maximise):
    rng = np.random.default_rng(seed)
    m = Model()
    lower, width = rng.integers(-3, 1, 4), rng.integers(0, 4, 4)
    x = m.integer("x", 4, lower=lower, upper=lower + width)
    a, c = rng.integers(-4, 5, (3, 4)).astype(float), rng.integers(-5, 6, 4).astype(float)
    side = rng.integers(-4, 8, 3).astype(float)
    m.add("rows", a @ x <= side)
    m.maximize(c @ x) if maximise else m.minimize(c @ x)
    points = itertools.product(*(range(s, s + w + 1) for s, w in zip(lower, width, strict=True)))
    values = [float(c @ p) for p in map(np.array, points) if (a @ p <= side).all()]
    solution = solve(m)
    if not values:
        assert solution.status is Status.INFEASIBLE
    else:
        assert solution.status is Status.OPTIMAL
        assert solution.objective == (max(values) if maximise else min(values))


def test_a_time_limit_with_a_point_reads_feasible_with_both_values():
    solution = with_time_for_a_point(lambda t: solve(market_split(), time_limit=t), 0.3)
    assert solution.status is Status.FEASIBLE
    assert solution.limit is Limit.TIME
    assert solution.checked
    assert solution.bound <= 2.5 <= solution.objective  # half a unit is missed in every row
    assert solution.gap > 0


def test_a_time_limit_without_a_point_proves_nothing():
    solution = solve(market_split(elastic=False), time_limit=0.3)
    assert solution.status is Status.NO_SOLUTION
    assert solution.limit is Limit.TIME
    assert not solution.has_point
    assert solution.values == {}
    with pytest.raises(KeyError, match="no_solution"):
        solution["x"]


def test_a_linear_program_stopped_by_the_time_limit_has_neither_point_nor_bound():
    solution = solve(large_linear_program(), time_limit=0.05)
    assert solution.status is Status.NO_SOLUTION
    assert solution.limit is Limit.TIME
    assert (solution.objective, solution.bound, solution.duals) == (None, None, {})


@pytest.mark.parametrize("whole", [False, True])
def test_infeasible_and_unbounded_are_told_apart(whole):
    m = Model()
    x = (m.integer if whole else m.continuous)("x", 2)
    m.maximize(x.sum())
    m.add("row", x[0] - x[1] <= 1)
    unbounded = solve(m)
    assert unbounded.status is Status.UNBOUNDED
    assert (unbounded.objective, unbounded.bound) == (None, None)
    m.add("contradiction", x[0] - x[1] >= 2)
    infeasible = solve(m)
    assert infeasible.status is Status.INFEASIBLE
    assert infeasible.values == {}


def test_an_unbounded_relaxation_without_whole_points_is_infeasible():
    m = Model()
    x, y = m.integer("x"), m.continuous("y")
    m.maximize(y)
    m.add("between wholes", (2 * x).between(0.9, 1.1))
    assert solve(m).status is Status.INFEASIBLE
    assert solve(m.relax()).status is Status.UNBOUNDED


def test_sides_that_leave_no_value_are_infeasible():
    m = Model()
    x = m.continuous("x", upper=4)
    m.add("crossed", x.between(3, 2))
    assert solve(m).status is Status.INFEASIBLE


def test_a_node_limit_reads_as_a_limit():
    solution = solve(market_split(), extra={"mip_max_nodes": 1})
    assert solution.status is Status.FEASIBLE
    assert solution.limit is Limit.NODES


# interruption


def start_of(solution: Solution) -> None:
    assert solution.status is Status.INTERRUPTED
    assert solution.seconds < 15
    assert solution.objective >= 2.5
    assert solution.bound <= 2.5
    assert solution.checked


def test_the_stop_event_ends_a_solve_with_its_incumbent():
    start_of(interrupted(lambda stop: solve(market_split(), stop=stop, time_limit=30), 0.3))


def test_a_stop_event_already_set_ends_the_solve_at_once():
    stop = threading.Event()
    stop.set()
    solution = solve(market_split(elastic=False), stop=stop, time_limit=30)
    assert solution.status is Status.INTERRUPTED
    assert not solution.has_point


@pytest.mark.parametrize("where", ["main", "other"])
def test_the_stop_event_ends_a_linear_program(where):
    stop = threading.Event()
    model = large_linear_program()
    threading.Timer(0.2, stop.set).start()
    with ThreadPoolExecutor(1) as pool:
        solution = (
            solve(model, stop=stop, time_limit=60)
            if where == "main"
            else pool.submit(solve, model, stop=stop, time_limit=60).result()
        )
    assert solution.status is Status.INTERRUPTED
    assert solution.duals == {}


def test_ctrl_c_ends_a_solve_with_its_incumbent_and_the_next_one_runs():
    start_of(interrupted(lambda _: solve(market_split(), time_limit=30), 0.3, by_signal=True))
    assert solve(knapsack()).status is Status.OPTIMAL


def test_a_process_survives_ctrl_c_from_outside():
    script = (
        f"import sys; sys.path.insert(0, {os.path.dirname(solver_models.__file__)!r})\n"
        "from optsched import solve\n"
        "from solver_models import market_split\n"
        "searches = lambda course: print('searches', flush=True)\n"
        "print(solve(market_split(), time_limit=30, on_progress=searches).status)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "searches\n"
        run.send_signal(signal.SIGINT)
        said, _ = run.communicate(timeout=60)
    assert said.splitlines()[-1] == "interrupted"
    assert run.returncode == 0


# duals


def random_lp(rng: np.random.Generator, maximise: bool, *, row=None, shift=None, by=0.0) -> Model:
    """A bounded linear program; one right-hand side or one variable's bounds moved by a bit."""
    a = rng.integers(-4, 5, (4, 3)).astype(float)
    inside = rng.uniform(0.5, 2.5, 3)
    side = a @ inside + np.array([1.0, -1.0, 0.0, 2.0]) * rng.uniform(0, 1, 4)
    cost = rng.integers(-9, 10, 3) + rng.uniform(0, 0.5, 3)
    lower, upper = np.zeros(3), np.full(3, 3.0)
    if row is not None:
        side[row] += by
    if shift is not None:
        lower[shift] += by
        upper[shift] += by
    m = Model()
    x = m.continuous("x", 3, lower=lower, upper=upper)
    m.maximize(cost @ x) if maximise else m.minimize(cost @ x)
    m.add("most", a[0] @ x <= side[0])
    m.add("least", a[1] @ x >= side[1])
    m.add("exact", a[2] @ x == side[2])
    m.add("between", (a[3] @ x).between(-INF, side[3]))
    return m


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6), maximise=st.booleans(), which=st.integers(0, 6))
def test_duals_and_reduced_costs_are_the_change_of_the_optimum(seed, maximise, which):
    """The optimum is convex (concave when maximising) in the data moved, so a difference
    quotient to either side bounds its slope, at any distance."""

    def solved(by: float) -> Solution:
        moved = {"row": which} if which < 4 else {"shift": which - 4}
        return solve(random_lp(np.random.default_rng(seed), maximise, **moved, by=by))

    here = solved(0.0)
    assume(here.status is Status.OPTIMAL)
    names = ("most", "least", "exact", "between")
    slope = float(here.dual(names[which]) if which < 4 else here.reduced_costs["x"][which - 4])
    sign = -1.0 if maximise else 1.0
    step = 0.25
    ahead, behind = solved(step), solved(-step)
    if ahead.has_point:
        assert sign * slope <= sign * (ahead.objective - here.objective) / step + 1e-6
    if behind.has_point:
        assert sign * slope >= sign * (here.objective - behind.objective) / step - 1e-6


@pytest.mark.parametrize(("maximise", "dual"), [(True, 1.0), (False, -1.0)])
def test_a_scarce_resource_has_a_dual_in_the_sense_of_the_objective(maximise, dual):
    m = Model()
    x = m.continuous("x", 2, upper=np.array([INF, 4.0]))
    profit = x @ np.array([1.0, 2.0])
    m.maximize(profit) if maximise else m.minimize(-profit)
    m.add("hours", x.sum() <= 5)
    solution = solve(m)
    assert solution.dual("hours") == dual
    np.testing.assert_array_equal(solution.reduced_costs["x"], [0, dual])


def test_duals_exist_for_linear_programs_only():
    with pytest.raises(KeyError, match="solved linear programs"):
        solve(knapsack()).dual("weight")


# options


def test_a_gap_that_is_asked_for_reads_feasible():
    for gap in ({"gap": 0.9}, {"absolute_gap": 1e4}):
        m = market_split()
        m.minimize(m.objective + 1000)
        solution = solve(m, time_limit=30, **gap)
        assert solution.status is Status.FEASIBLE
        assert solution.limit is Limit.GAP
        assert solution.bound < solution.objective


def test_threads_may_change_from_solve_to_solve_and_side_by_side():
    for threads in (1, 2, 1, 3):
        assert solve(knapsack(), threads=threads).status is Status.OPTIMAL
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(solve, knapsack(), threads=1 + i % 3) for i in range(24)]
        assert {job.result().objective for job in jobs} == {9.5}


def test_the_same_seed_gives_the_same_run():
    runs = [solve(market_split(3, 14), seed=s) for s in (5, 5)]
    assert runs[0].nodes == runs[1].nodes
    assert runs[0].status is Status.OPTIMAL
    np.testing.assert_array_equal(runs[0]["x"], runs[1]["x"])


def test_a_feasible_start_is_taken_up():
    m = market_split(elastic=False)
    solution = solve(m, warm_start={"x": planted()}, time_limit=20)
    assert solution.status is Status.OPTIMAL  # any point is: there is no objective
    np.testing.assert_array_equal(solution["x"], planted())


def test_a_start_may_leave_out_blocks_and_entries():
    m = market_split()  # x alone settles what is over and under
    partial = solve(m, warm_start={"x": planted()}, time_limit=1)
    assert partial.objective == pytest.approx(2.5)
    x = planted()
    x[:5] = np.nan
    assert solve(m, warm_start={"x": x}, time_limit=1).objective == pytest.approx(2.5)


@pytest.mark.parametrize(
    "start", [[1, 1, 1], [7, -7, 0.5], [INF, np.nan, 0], [np.nan] * 3, 1.0, [0, 1, 1]]
)
def test_a_start_is_a_hint_that_harms_nothing(start):
    solution = solve(knapsack(), warm_start={"take": start})
    assert (solution.status, solution.objective) == (Status.OPTIMAL, 9.5)


def test_a_linear_program_takes_a_start_too():
    m = knapsack().relax()
    assert solve(m, warm_start={"take": [1, 0, 0]}).objective == solve(m).objective


def test_an_option_under_the_solvers_own_name_counts():
    solution = solve(market_split(), extra={"time_limit": 0.2})
    assert solution.limit is Limit.TIME


@pytest.mark.parametrize("extra", [{"no_such_option": 1}, {"mip_rel_gap": -1.0}, {"presolve": 3}])
def test_an_option_that_the_solver_does_not_take_is_an_input_error(extra):
    with pytest.raises(InputError, match=next(iter(extra))):
        solve(knapsack(), extra=extra)


@pytest.mark.parametrize("log", [False, True])
def test_the_log_is_shown_only_on_demand(log, capfd):
    solve(knapsack(), log=log)
    assert ("HiGHS" in capfd.readouterr().out) == log


# numbers and versions


@pytest.mark.parametrize("coefficient", [1e15, -1e16, 1e-12, -1e-13])
def test_coefficients_that_would_be_changed_are_refused(coefficient):
    m = Model()
    m.add("row", np.array([1.0, coefficient]) @ m.continuous("x", 2) <= 1)
    with pytest.raises(UnsupportedError, match="rescale"):
        solve(m)


@pytest.mark.parametrize("big", [1e20, -1e25])
@pytest.mark.parametrize("place", ["side", "bound", "cost"])
def test_finite_numbers_that_would_be_taken_for_infinite_are_refused(big, place):
    m = Model()
    x = m.continuous("x", lower=-abs(big) if place == "bound" else 0)
    m.minimize(big * x if place == "cost" else x)
    m.add("row", x >= (big if place == "side" else 1))
    with pytest.raises(UnsupportedError, match="infinite"):
        solve(m)


def test_small_coefficients_are_kept():
    m = Model()
    x = m.continuous("x")
    m.minimize(x)
    m.add("row", 1e-10 * x >= 1)
    assert solve(m).objective == pytest.approx(1e10)


@pytest.fixture
def forget_version():
    def clear() -> None:
        highs._refuse_bad_version.cache_clear()

    clear()
    yield
    clear()


@pytest.mark.parametrize(
    "version", ["1.13.0", "1.13.1", "1.14.0", "1.15.1", "1.11.0", "2.0.0", "1.9"]
)
def test_versions_known_to_answer_wrongly_are_refused(version, monkeypatch, forget_version):
    monkeypatch.setattr(highs, "package_version", lambda _: version)
    with pytest.raises(UnsupportedError, match=version):
        solve(knapsack())


@pytest.mark.parametrize("version", ["1.12.0", "1.12.1"])
def test_other_versions_are_accepted(version, monkeypatch, forget_version):
    monkeypatch.setattr(highs, "package_version", lambda _: version)
    assert solve(knapsack()).version == version


def test_a_version_that_fails_its_self_check_is_refused(monkeypatch, forget_version):
    monkeypatch.setattr(highs, "_run", lambda *_: False)  # an engine that solves nothing
    with pytest.raises(UnsupportedError, match="self-check"):
        solve(knapsack())


def test_what_highs_cannot_end_properly_is_an_error_with_its_words(monkeypatch):
    assert solve(knapsack()).status is Status.OPTIMAL  # after which the version is known good
    monkeypatch.setattr(highs, "_run", lambda *_: False)
    solution = solve(knapsack())
    assert solution.status is Status.ERROR
    assert "HiGHS ended with" in solution.message


def option(m: Model, name: str, **settings) -> object:
    """An option of the engine that would solve a model."""
    return highs.load(m.compile(), Options(**settings)).getOptionValue(name)[1]


def test_parallel_columns_are_left_alone_only_beside_continuous_variables():
    mixed, whole, linear = knapsack(), knapsack(), Model()
    mixed.continuous("c", upper=1)
    linear.continuous("c", upper=1)
    rules = [option(m, "presolve_rule_off") for m in (mixed, whole, linear)]
    assert rules == [1 << 13, 0, 0]
    assert option(mixed, "presolve_rule_off", extra={"presolve_rule_off": 0}) == 0


def test_the_tiny_profile_solves_no_models_within_the_model():
    for name in ("rins", "rens", "root_reduced_cost"):
        key = f"mip_heuristic_run_{name}"
        assert option(knapsack(), key)
        assert not option(knapsack(), key, profile="tiny")


@pytest.mark.parametrize(("least", "presolve"), [(1e-6, "off"), (1.0, "choose")])
def test_presolve_is_off_where_small_costs_stand_beside_large_ones(least, presolve):
    """It lost the optimum of such a model, HiGHS's own check instance 3173-1."""
    m = Model()
    x, z = m.continuous("x", 2, upper=9), m.integer("z", 2, upper=3)
    m.add("rows", x + z >= 1)
    m.minimize(x @ [1e6, least] + z.sum())
    engine = highs.load(m.compile(set()), Options())
    assert engine.getOptionValue("presolve")[1] == presolve


def test_a_model_handed_over_by_columns_is_the_one_handed_over_by_rows(monkeypatch):
    form, held = market_split().compile(), []
    for turned in (0, form.rows.matrix.nnz):
        monkeypatch.setattr(highs, "_TURNED", turned)
        held.append(highs.load(form, Options()).getLp())
    for part in ("start_", "index_", "value_"):
        by_columns, by_rows = (list(getattr(lp.a_matrix_, part)) for lp in held)
        assert by_columns == by_rows
    for part in ("col_cost_", "col_lower_", "col_upper_", "row_lower_", "row_upper_"):
        assert list(getattr(held[0], part)) == list(getattr(held[1], part))


def test_a_coefficient_changed_in_a_matrix_kept_by_columns_reaches_the_engine():
    m = Model()
    m.add("each", m.continuous("x", 2001) <= 1)
    form = m.compile()
    before = highs.load(form, Options()).getLp().a_matrix_.value_
    form.rows.matrix.data[1000] = 7.0
    after = highs.load(form, Options()).getLp().a_matrix_.value_
    assert (before[1000], after[1000], sum(after) - sum(before)) == (1.0, 7.0, 6.0)


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

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [2]
