"""A limit is a promise: the answer is there in time, whatever the solver does.

Times are not performance claims: margins are those of the promise, 1.2 times the limit and 2 s.
"""

import os
import signal
import sys
import threading
import time
from importlib import import_module

import numpy as np
import pytest

from optsched import InputError, Model, solve
from optsched.problem import problem
from optsched.problem.methods import ExactMethod, Formulation
from optsched.solvers import threads
from optsched.solvers.answer import Answer
from optsched.solvers.backend import MIXED_INTEGER, SolverResult
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Solution, Status

LIMIT = 0.5

ENGINES = """
import os, time
import numpy as np
from optsched.problem import ExactMethod
from optsched.solvers.backend import MIXED_INTEGER, SolverResult
from optsched.solvers.solution import Status

class Sleeps:
    name = "sleeps"
    features = MIXED_INTEGER
    native = frozenset()
    def version(self):
        return "0"
    def solve(self, compiled, options, start):
        with open(os.environ["OPTSCHED_TEST_FILE"], "w") as file:
            file.write(str(os.getpid()))
        time.sleep(30)
        return SolverResult(Status.INFEASIBLE)

def sleep(instance, options):
    time.sleep(30)

def devour(instance, options):
    hoard = []
    while True:
        hoard.append(np.ones(1_000_000))

def load(instance, options):
    raise ImportError("some.so: failed to map segment from shared object")

DEVOURS = ExactMethod("devour", devour, "nowhere", "none")
LOADS = ExactMethod("load", load, "nowhere", "none")
METHOD = ExactMethod("sleep", sleep, "nowhere", "none", frozenset({"time_limit"}))
"""


@pytest.fixture(autouse=True)
def engines(tmp_path, monkeypatch):
    """A back end that ignores its limit, importable here and elsewhere, and says where it runs."""
    (tmp_path / "sleeping_engines.py").write_text(ENGINES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("OPTSCHED_TEST_FILE", str(tmp_path / "process"))
    yield
    sys.modules.pop("sleeping_engines", None)


def sleeps():
    return import_module("sleeping_engines").Sleeps()


def few() -> Model:
    m = Model("a few")
    x = m.binary("x", 3)
    m.maximize(x.sum())
    m.add("side", x.sum() <= 2)
    return m


def many(n: int = 400) -> Model:
    """An assignment: presolve alone takes longer than the limit."""
    m = Model("many")
    x = m.binary("x", (n, n))
    m.add("row", x.sum(axis=1) == 1)
    m.add("column", x.sum(axis=0) == 1)
    m.minimize((np.random.default_rng(0).uniform(1, 100, (n, n)) * x).sum())
    return m


def kept_by(began: float, limit: float = LIMIT) -> bool:
    return time.perf_counter() - began <= 1.2 * limit + 2.0


@pytest.mark.parametrize("model", [few, many])
def test_a_solver_that_ignores_its_limit_is_left_or_killed_in_time(model):
    began, m = time.perf_counter(), model()
    solution = solve(m, sleeps(), time_limit=LIMIT)
    assert kept_by(began)
    assert (solution.status, solution.limit) == (Status.NO_SOLUTION, Limit.TIME)
    assert "overran its time limit of" in solution.message


def test_a_solver_of_a_large_model_does_not_run_on(tmp_path, monkeypatch):
    monkeypatch.setattr(threads, "RESERVE", 5.0)  # the process may be slow to start
    solve(many(), sleeps(), time_limit=LIMIT)
    process = (tmp_path / "process").read_text()
    with pytest.raises(FileNotFoundError):
        os.stat(f"/proc/{process}")


def test_a_start_is_the_answer_where_the_solver_gives_none():
    start = {"x": np.array([1.0, 0, 1])}
    solution = solve(few(), sleeps(), time_limit=LIMIT, warm_start=start)
    assert (solution.status, solution.limit, solution.checked) == ("feasible", "time", True)
    assert solution.objective == 2
    bad = {"x": np.array([1.0, 1, 1])}
    assert not solve(few(), sleeps(), time_limit=LIMIT, warm_start=bad).has_point


class Interrupted:
    """A solver that is stopped before it has a point."""

    name, native, features = "interrupted", frozenset(), MIXED_INTEGER

    def version(self):
        return "0"

    def solve(self, compiled, options, start):
        return SolverResult(Status.INTERRUPTED, bound=3.0)


def test_a_start_is_the_answer_where_a_solve_is_stopped_before_its_first_point():
    start = {"x": np.array([1.0, 0, 1])}
    solution = solve(few(), Interrupted(), warm_start=start)
    assert (solution.status, solution.objective, solution.bound) == ("interrupted", 2, 3)
    assert solution.checked
    assert not solve(few(), Interrupted()).has_point


@pytest.mark.parametrize("solver", ["highs", "cpsat", "scipy", "scip", "cbc"])
def test_every_back_end_keeps_a_limit_on_a_large_model(solver):
    began, m = time.perf_counter(), many()
    solution = solve(m, solver, time_limit=LIMIT)
    assert kept_by(began)
    assert solution.status in ("feasible", "no_solution", "optimal")
    if solution.status is not Status.OPTIMAL:
        assert solution.limit is Limit.TIME


def test_a_back_end_that_cannot_be_sent_to_another_process_is_left_behind():
    class Local:
        lock = threading.Lock()
        name = "local"
        features = MIXED_INTEGER
        native = frozenset()

        def version(self):
            return "0"

        def solve(self, compiled, options, start):
            time.sleep(30)

    began = time.perf_counter()
    solution = solve(many(), Local(), time_limit=LIMIT)
    assert kept_by(began)
    assert "runs on behind" in solution.message


def test_a_large_model_without_time_left_is_not_handed_over(tmp_path):
    solution = solve(many(), sleeps(), time_limit=0.01)
    assert (solution.status, solution.limit) == (Status.NO_SOLUTION, Limit.TIME)
    assert not (tmp_path / "process").exists()


def test_what_a_solver_raises_under_a_limit_is_raised():
    with pytest.raises(InputError, match="no_such"):
        solve(few(), "highs", time_limit=5, extra={"no_such": 1})


def test_a_watched_call_within_its_limit_gives_its_result():
    result = SolverResult(Status.INFEASIBLE, message="mine")
    assert threads.watched(lambda: result, 5.0) is result


def test_a_second_solve_for_the_same_point_has_only_the_time_that_is_left():
    told = []

    class Slow:
        """Its first point breaks a row once its integers are whole."""

        name = "slow"
        features = MIXED_INTEGER
        native = frozenset()

        def version(self):
            return "0"

        def solve(self, compiled, options, start):
            told.append(options.time_limit)
            time.sleep(0.3)
            return SolverResult(Status.FEASIBLE, np.array([1.0, 9.0]))

    m = Model()
    y, x = m.binary("y"), m.continuous("x", upper=10)
    m.add("most", x <= 5 * y)
    m.maximize(x)
    solve(m, Slow(), time_limit=3.0)
    assert told[0] <= 3.0
    assert told[1] < told[0] - 0.29  # of which 0.3 s were slept


# whole methods


@pytest.mark.parametrize("method", ["DEVOURS", "LOADS"])
def test_a_method_above_its_memory_limit_ends_with_a_status(method):
    method = getattr(import_module("sleeping_engines"), method)
    solution = method.solve(None, options=Options(memory_limit=0.5)).solution
    assert (solution.status, solution.limit) == (Status.ERROR, Limit.MEMORY)
    assert (solution.bound, solution.objective) == (None, None)


def test_a_method_in_a_process_of_its_own_gives_the_same_answer():
    found = problem("aerialedge")
    instance = found.generate(np.random.default_rng(1), tasks=6)
    here = found.solve("packing", instance)
    there = found.solve("packing", instance, options=Options(memory_limit=4.0))
    assert there.solution.objective == here.solution.objective
    assert there.schedule is not None


def test_building_counts_for_the_limit():
    told = []

    def build(instance):
        time.sleep(0.3)
        return few()

    class Tells:
        name = "tells"
        features = MIXED_INTEGER
        native = frozenset()

        def version(self):
            return "0"

        def solve(self, compiled, options, start):
            told.append(options.time_limit)
            return SolverResult(Status.NO_SOLUTION, limit=Limit.TIME)

    formulation = Formulation("slow", build, "nowhere", "slow to build")
    formulation.solve(None, solver=Tells(), options=Options(time_limit=2.0))
    assert told[0] < 1.75


def test_a_method_whose_process_overruns_is_killed_with_a_status():
    method = import_module("sleeping_engines").METHOD
    began = time.perf_counter()
    solution = method.solve(None, options=Options(isolate=True, time_limit=LIMIT)).solution
    assert kept_by(began)
    assert (solution.status, solution.limit) == (Status.NO_SOLUTION, Limit.TIME)


def test_a_search_goes_to_another_process_wherever_it_was_written():
    found = Answer(Solution(Status.OPTIMAL, objective=1.0, bound=1.0))
    method = ExactMethod("local", lambda instance, options: found, "nowhere", "none")
    assert method.solve(None, options=Options(isolate=True)).solution.objective == 1.0
    lock = threading.Lock()
    held = ExactMethod("held", lambda instance, options: lock, "nowhere", "none")
    solution = held.solve(None, options=Options(isolate=True)).solution
    assert solution.status is Status.ERROR
    assert "pickle" in solution.message


def test_a_package_that_is_being_imported_at_the_limit_is_not_left_half_imported(
    tmp_path, monkeypatch
):
    name = "slow_to_import"
    package = tmp_path / name
    package.mkdir()
    (package / "__init__.py").write_text("from . import first\nfrom . import last\n")
    (package / "first.py").write_text("")
    (package / "last.py").write_text("import time\nfor _ in range(20):\n    time.sleep(0.1)\n")
    monkeypatch.syspath_prepend(tmp_path)
    done = threading.Event()

    def work():
        import_module(name)
        done.set()

    assert threads.ended_by(work, threading.Event(), 0.3) is None
    assert done.wait(60)
    assert import_module(name).first.__name__ == f"{name}.first"


def test_ctrl_c_ends_a_watched_call_once_it_has_imported_what_it_imports(tmp_path, monkeypatch):
    (tmp_path / "slow_at_first.py").write_text("import time\ntime.sleep(1.0)\n")
    monkeypatch.syspath_prepend(tmp_path)

    def work():
        import_module("slow_at_first")
        while True:
            time.sleep(0.01)

    main = threading.get_ident()
    asked = threading.Timer(0.5, signal.pthread_kill, [main, signal.SIGINT])
    asked.start()
    with pytest.raises(KeyboardInterrupt):
        threads.watched(work, 60.0)
    assert "slow_at_first" in sys.modules
