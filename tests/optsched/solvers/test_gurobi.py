"""The back end "gurobi", beside what every back end must do."""

import threading

import numpy as np
import pytest
from solver_models import with_time_for_a_point

from optsched import InputError, Model, UnsupportedError, solve
from optsched.solvers.solution import Limit, Status

pytest.importorskip("gurobipy", reason="comes with the extra gurobi only")


def mix(maximise=False) -> Model:
    """Ten units of two goods, the first within a range."""
    m = Model("mix")
    x = m.continuous("x", 2)
    m.add("some", x[0].between(2, 6))
    m.add("all", x.sum() == 10)
    (m.maximize if maximise else m.minimize)(x @ [3.0, 1.0])
    return m


@pytest.mark.parametrize(("maximise", "optimum"), [(False, 14), (True, 22)])
def test_duals_say_what_a_unit_more_changes(maximise, optimum):
    solution = solve(mix(maximise), "gurobi")
    assert solution.objective == optimum
    assert solution.duals["some"] == pytest.approx(2)  # of the side that binds
    assert solution.duals["all"] == pytest.approx(1)
    assert solution.reduced_costs["x"] == pytest.approx([0, 0])


def test_a_cone_is_solved_as_a_cone():
    m = Model()
    share = m.continuous("share", 2, upper=1)
    time, work = m.continuous("time", 2), m.continuous("work", (2, 2), lower=[[3, 4], [1, 0]])
    m.rotated_cone(share, time, work)
    m.add("shared", share.sum() <= 1)
    m.minimize(time.sum())
    # 25 / s + 1 / (1 - s) is least at s = 5 / 6: 36
    assert solve(m, "gurobi").objective == pytest.approx(36, rel=1e-6)


def test_a_model_beyond_its_licence_is_refused():
    m = Model()
    m.minimize(m.continuous("x", 2001, lower=1).sum())
    with pytest.raises(UnsupportedError, match="2,000 columns"):
        solve(m, "gurobi")


@pytest.mark.parametrize("extra", [{"no such parameter": 1}, {"MIPFocus": "much"}, {"MIPFocus": 9}])
def test_a_parameter_it_does_not_take_is_refused_by_name(extra):
    with pytest.raises(InputError, match=next(iter(extra))):
        solve(mix(), "gurobi", extra=extra)


def hard() -> Model:
    rng = np.random.default_rng(7)
    m = Model("market split")
    weights = rng.integers(1, 100, (6, 50)).astype(float)
    x = m.binary("x", 50)
    over, under = m.integer("over", 6, upper=5000), m.integer("under", 6, upper=5000)
    m.add("split", weights @ x + under - over == weights.sum(axis=1) // 2)
    m.minimize((over + under).sum())
    return m


def test_a_time_limit_ends_it_with_a_point_and_a_bound():
    solution = with_time_for_a_point(lambda t: solve(hard(), "gurobi", time_limit=t), 0.3)
    assert (solution.status, solution.limit) == (Status.FEASIBLE, Limit.TIME)
    assert 0 <= solution.bound <= solution.objective


def test_a_stop_event_ends_it():
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    assert solve(hard(), "gurobi", stop=stop).status is Status.INTERRUPTED


def test_a_start_counts_where_there_is_no_time_to_search():
    m = hard()
    best = with_time_for_a_point(lambda t: solve(m, "gurobi", time_limit=t), 1.0)
    start = {name: best[name] for name in ("x", "over", "under")}
    again = solve(m, "gurobi", warm_start=start, extra={"NodeLimit": 0, "Heuristics": 0})
    assert again.objective <= best.objective
