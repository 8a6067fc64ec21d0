"""What a solve tells on its way: to a listener, as a table, as a picture."""

import threading

import numpy as np
import pytest
from matplotlib.figure import Figure
from solver_models import knapsack, market_split

from optsched import InputError, Model, UnsupportedError, solve
from optsched.decomposition import solve_with_cuts
from optsched.report.plots import gap_over_time
from optsched.solvers.backend import MIXED_INTEGER, Feature, SolverResult
from optsched.solvers.registry import available
from optsched.solvers.solution import Progress, Status

TELLING = [name for name in ("highs", "cpsat", "gurobi") if name in available()]


@pytest.fixture(params=TELLING)
def solver(request):
    """A back end that tells how far it is."""
    return request.param


def stops_at_once(heard):
    def on_progress(progress):
        heard.append(progress)
        return progress.objective is not None

    return on_progress


def test_a_listener_that_says_so_ends_the_solve_with_its_best_point(solver):
    heard = []
    solution = solve(market_split(), solver, on_progress=stops_at_once(heard), time_limit=60)
    assert solution.status is Status.INTERRUPTED
    assert solution.checked
    assert solution.objective <= heard[-1].objective


def test_points_told_are_points_of_the_model_at_the_value_told(solver):
    model, heard = market_split(rows=2, items=16), []
    solution = solve(model, solver, on_progress=heard.append, time_limit=60)
    points = [one for one in heard if one.values]
    assert points
    assert all(0 <= one.seconds <= solution.seconds for one in heard)
    for one in points:
        assert not model.violations(one.values)
        spread = one.values["over"].sum() + one.values["under"].sum()
        assert spread == pytest.approx(one.objective)
    assert min(one.objective for one in points) == pytest.approx(solution.objective)


def test_bounds_told_hold_for_the_optimum(solver):
    solution = solve(market_split(rows=2, items=16), solver, time_limit=60)
    table = solution.progress
    assert list(table.columns) == ["seconds", "bound", "objective", "gap"]
    assert (table["bound"].dropna() <= solution.objective + 1e-6).all()
    assert table["seconds"].is_monotonic_increasing
    assert table["gap"].iloc[-1] == pytest.approx(solution.gap)


def test_small_costs_are_told_in_the_units_of_the_model(solver):
    m, heard = Model(), []
    x = m.binary("x", 12)
    m.add("weight", np.arange(3.0, 15.0) @ x <= 40)
    m.maximize((np.arange(2.0, 14.0) * 2.0**-20) @ x + 1)
    solution = solve(m, solver, on_progress=heard.append)
    told = [one.objective for one in heard if one.values]
    assert told[-1] == pytest.approx(solution.objective, abs=1e-12)
    assert all(one.bound is None or one.bound >= solution.objective - 1e-9 for one in heard)
    assert [moment.objective for moment in solution.trajectory][-1] == solution.objective


def test_an_error_of_a_listener_is_an_error_of_the_solve_that_names_it(solver):
    def fail(progress):
        raise ValueError("no such thing")

    solution = solve(market_split(), solver, on_progress=fail, time_limit=60)
    assert solution.status is Status.ERROR
    assert "on_progress raised ValueError: no such thing" in solution.message


def test_the_caller_s_own_stop_event_is_obeyed_and_not_touched(solver):
    stop = threading.Event()
    solve(market_split(), solver, stop=stop, on_progress=lambda _: True, time_limit=60)
    assert not stop.is_set()
    stop.set()
    assert solve(market_split(), solver, stop=stop, time_limit=60).status is Status.INTERRUPTED


def test_a_solver_that_tells_nothing_refuses_a_listener_and_has_its_end_alone():
    with pytest.raises(UnsupportedError, match="scipy reports no progress"):
        solve(knapsack(), "scipy", on_progress=print)
    solution = solve(knapsack(), "scipy")
    assert [(m.bound, m.objective) for m in solution.trajectory] == [(9.5, 9.5)]


def test_a_second_solver_that_confirms_is_not_listened_to():
    alone, heard = [], []
    solve(market_split(rows=2, items=12), on_progress=alone.append)
    solution = solve(market_split(rows=2, items=12), on_progress=heard.append, confirm="scipy")
    assert "scipy" in solution.message
    assert len(heard) == len(alone) > 0


def test_what_mends_an_answer_tells_nothing_of_its_part_of_the_model():
    class Coarse:
        name, native, solves = "coarse", frozenset[str](), 0
        features = MIXED_INTEGER | {Feature.PROGRESS}

        def version(self):
            return "0.1"

        def solve(self, compiled, options, start):
            options.on_progress(Progress(float(self.solves), None))
            self.solves += 1
            x = np.array([1e-7, 0.1]) if self.solves == 1 else np.zeros(2)
            return SolverResult(Status.OPTIMAL, x, bound=0.1 if self.solves == 1 else 0.0)

    m, engine, heard = Model(), Coarse(), []
    n, y = m.integer("n", upper=1), m.continuous("y", upper=1e6)
    m.add("off", y <= 1e6 * n)
    m.maximize(y - 2e6 * n)
    solution = solve(m, engine, on_progress=heard.append)
    assert engine.solves > 1
    assert [one.bound for one in heard] == [0.0]
    assert [moment.bound for moment in solution.trajectory] == [0.0, solution.bound]


@pytest.mark.parametrize("settings", [{"isolate": True}, {"profile": "tiny"}])
def test_where_nobody_could_be_told_a_listener_is_refused(settings):
    with pytest.raises(InputError, match="on_progress"):
        solve(knapsack(), on_progress=print, **settings)


def test_beside_cuts_that_come_later_bounds_are_told_and_points_that_nothing_cuts():
    m, heard = Model(), []
    x = m.integer("x", 2, upper=5)
    m.add("some", x.sum() <= 7.5)
    m.maximize(x @ np.array([2.0, 1.0]))

    def apart(values):
        return [("apart", x[0] <= 2.0)] if values["x"][0] > 2 + 1e-6 else []

    solution = solve_with_cuts(m, apart, on_progress=heard.append).solution
    assert solution.objective == 9
    assert [one.objective for one in heard][-1] == 9
    assert {one.objective for one in heard} == {None, 9.0}
    bounds = [moment.bound for moment in solution.trajectory]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > bounds[-1] == 9


def test_a_process_of_its_own_brings_its_trajectory_along():
    solution = solve(market_split(rows=2, items=14), isolate=True)
    table = solution.progress
    assert len(table) > 1
    assert 0 < table["seconds"].iloc[0] <= table["seconds"].iloc[-1]


def test_the_picture_has_a_line_for_points_and_one_for_bounds():
    ax = Figure().subplots()
    solution = solve(market_split(rows=2, items=14))
    assert gap_over_time(ax, solution) is ax
    lines = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
    assert lines["objective"][-1] == lines["bound"][-1] == solution.objective
