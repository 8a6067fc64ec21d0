"""Solves in a process of their own: what a solver does there harms nothing here."""

import os
import re
import subprocess
import sys
import textwrap
import threading
import time
from importlib import import_module

import numpy as np
import psutil
import pytest

from optsched import InputError, Model, UnsupportedError, solve
from optsched.solvers import isolation
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Status

ENGINES = """
import ctypes, os, signal, subprocess, sys, time
import numpy as np
from optsched.errors import InputError
from optsched.solvers.backend import MIXED_INTEGER, Backend, Feature, SolverResult
from optsched.solvers.solution import Status

class Engine(Backend):
    name = "engine"
    features = MIXED_INTEGER | {Feature.STOP}
    native = frozenset()
    def version(self):
        return "0"

class Exits(Engine):
    def solve(self, compiled, options, start):
        print("a last word", file=sys.stderr, flush=True)
        os._exit(7)

class Crashes(Engine):
    def solve(self, compiled, options, start):
        ctypes.string_at(0)

class IsKilled(Engine):
    def solve(self, compiled, options, start):
        os.kill(os.getpid(), signal.SIGKILL)

class Hangs(Engine):
    def solve(self, compiled, options, start):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(77)"])
        time.sleep(60)

class Devours(Engine):
    def solve(self, compiled, options, start):
        hoard = []
        while True:
            hoard.append(np.ones(1_000_000))

class Waits(Engine):
    def solve(self, compiled, options, start):
        options.stop.wait(30)
        return SolverResult(Status.INTERRUPTED, np.zeros(len(compiled.cost)))

class Raises(Engine):
    def solve(self, compiled, options, start):
        raise RuntimeError("something odd")

class Echoes(Engine):
    def solve(self, compiled, options, start):
        print("a line of log")
        assert options.seed == 5 and not options.isolate
        return SolverResult(Status.FEASIBLE, start)
"""


@pytest.fixture(autouse=True)
def engines(tmp_path, monkeypatch):
    """Back ends that misbehave, importable here and in the worker."""
    (tmp_path / "misbehaving_engines.py").write_text(ENGINES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(isolation, "GRACE", 0.3)
    yield
    sys.modules.pop("misbehaving_engines", None)


def engine(name: str):
    return getattr(import_module("misbehaving_engines"), name)()


def knapsack() -> Model:
    m = Model("knapsack")
    take = m.binary("take", 3)
    m.maximize(take @ np.array([6.0, 5.0, 4.0]) + 0.5)
    m.add("weight", take @ np.array([3.0, 2.0, 2.0]) <= 4)
    return m


def hard() -> Model:
    """Easy to begin with, out of reach to prove."""
    rng = np.random.default_rng(7)
    weights = rng.integers(1, 100, (5, 40)).astype(float)
    m = Model()
    x = m.binary("x", 40)
    over, under = (m.integer(name, 5, upper=5000) for name in ("over", "under"))
    m.add("split", weights @ x + under - over == np.floor(weights.sum(axis=1) / 2))
    m.minimize((over + under).sum())
    return m


@pytest.mark.parametrize("solver", ["cpsat", "scipy"])
def test_an_isolated_solve_gives_the_same_answer(solver):
    solution = solve(knapsack(), solver, isolate=True)
    assert (solution.status, solution.objective, solution.bound) == (Status.OPTIMAL, 9.5, 9.5)
    assert solution.solver == solver


def test_nonlinear_blocks_go_along():
    m = Model()
    x, y = m.integer("x", 2, upper=4), m.continuous("y", 2, upper=3)
    area = m.product(x, y)
    m.add("sum", x + y <= 5)
    m.maximize(area.sum())
    assert solve(m, "scip", isolate=True).objective == pytest.approx(12, abs=1e-5)


@pytest.mark.parametrize(
    ("solver", "words"), [("Exits", "exit code 7.*a last word"), ("Crashes", "SIGSEGV|exit code")]
)
def test_a_crash_is_an_error_with_its_words(solver, words):
    solution = solve(knapsack(), engine(solver), isolate=True)
    assert solution.status is Status.ERROR
    assert solution.limit is None
    assert re.search(words, solution.message)


def test_a_process_killed_from_outside_is_an_error_of_memory():
    solution = solve(knapsack(), engine("IsKilled"), isolate=True)
    assert solution.status is Status.ERROR
    assert solution.limit is Limit.MEMORY


def test_a_memory_limit_ends_a_solve_with_a_status():
    solution = solve(knapsack(), engine("Devours"), isolate=True, memory_limit=0.5)
    assert solution.status is Status.ERROR
    assert solution.limit is Limit.MEMORY
    assert solve(knapsack(), "highs", isolate=True, memory_limit=1.0).objective == 9.5


def test_a_solver_that_overruns_its_time_limit_is_killed_with_all_it_started():
    solution = solve(knapsack(), engine("Hangs"), isolate=True, time_limit=0.3)
    assert solution.status is Status.NO_SOLUTION
    assert solution.limit is Limit.TIME
    assert "killed" in solution.message
    left = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    assert not any("time.sleep(77)" in argument for command in left for argument in command)


def test_the_stop_event_reaches_the_process(monkeypatch):
    monkeypatch.setattr(isolation, "GRACE", 20.0)  # the process may be slow to start
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    solution = solve(knapsack(), engine("Waits"), isolate=True, stop=stop)
    assert solution.status is Status.INTERRUPTED
    assert solution.has_point


@pytest.mark.parametrize("solver", ["Hangs", "scipy"])
def test_a_solver_that_does_not_support_the_stop_event_is_killed(solver):
    stop = threading.Event()
    threading.Timer(0.8, stop.set).start()
    chosen = engine(solver) if solver == "Hangs" else solver
    solution = solve(hard(), chosen, isolate=True, stop=stop)
    assert solution.status is Status.INTERRUPTED
    assert not solution.has_point


def test_what_a_solver_refuses_is_refused_here():
    m = Model()
    m.continuous("x", upper=1)
    with pytest.raises(UnsupportedError, match="continuous"):
        solve(m, "cpsat", isolate=True)
    with pytest.raises(InputError, match="no_such"):
        solve(knapsack(), "highs", isolate=True, extra={"no_such": 1})


def test_an_exception_in_the_process_is_an_error():
    solution = solve(knapsack(), engine("Raises"), isolate=True)
    assert solution.status is Status.ERROR
    assert "something odd" in solution.message


def test_options_start_and_log_go_along(capsys):
    start = {"take": np.array([0.0, 1, 0])}
    solution = solve(knapsack(), engine("Echoes"), isolate=True, warm_start=start, seed=5, log=True)
    assert solution["take"].tolist() == [0, 1, 0]
    assert "a line of log" in capsys.readouterr().out


def test_what_cannot_be_sent_is_an_error():
    solution = solve(knapsack(), "highs", isolate=True, extra={"a": threading.Lock()})
    assert solution.status is Status.ERROR
    assert "pickle" in solution.message


def test_a_memory_limit_brings_a_process_of_its_own():
    solution = solve(knapsack(), engine("Devours"), memory_limit=0.5)
    assert (solution.status, solution.limit) == (Status.ERROR, Limit.MEMORY)


def test_a_system_that_would_not_hold_a_memory_limit_is_no_place_for_one(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(UnsupportedError, match="held by Linux only, not by darwin"):
        solve(knapsack(), "highs", memory_limit=1.0)


def test_a_memory_limit_is_positive():
    with pytest.raises(InputError, match="memory_limit"):
        Options(isolate=True, memory_limit=0.0)


def test_a_second_solver_is_isolated_too():
    solution = solve(knapsack(), "highs", confirm="scip", isolate=True)
    assert "confirmed" in solution.message
    assert (solution.status, solution.objective, solution.bound) == (Status.OPTIMAL, 9.5, 9.5)


@pytest.mark.parametrize("how", ["script", "-c", "stdin"])
def test_it_works_without_a_guarded_main_module(how, tmp_path):
    program = textwrap.dedent(
        """
        from optsched import Model, solve
        print("once")
        m = Model(); x = m.binary("x", 3); m.maximize(x.sum()); m.add("w", x.sum() <= 2)
        print(solve(m, "highs", isolate=True).objective)
        """
    )
    script = tmp_path / "script.py"
    script.write_text(program)
    command = {"script": [str(script)], "-c": ["-c", program], "stdin": ["-"]}[how]
    done = subprocess.run(
        [sys.executable, *command],
        input=program if how == "stdin" else None,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.split() == ["once", "2.0"]


def test_ctrl_c_reaches_the_process(tmp_path):
    program = textwrap.dedent(
        f"""
        import os, signal, sys, threading
        sys.path.insert(0, {str(tmp_path)!r})
        from misbehaving_engines import Waits
        from optsched import Model, solve
        m = Model(); x = m.binary("x", 3); m.maximize(x.sum()); m.add("w", x.sum() <= 2)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        solution = solve(m, Waits(), isolate=True)
        print(solution.status, solution.has_point)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["interrupted", "True"]


def test_a_worker_does_not_outlive_its_caller(tmp_path):
    mark = f"orphan-{os.getpid()}-{time.time_ns()}"
    program = textwrap.dedent(
        f"""
        import os, sys
        os.environ["OPTSCHED_TEST_MARK"] = {mark!r}
        sys.path.insert(0, {str(tmp_path)!r})
        from misbehaving_engines import Hangs
        from optsched import Model, solve
        m = Model(); x = m.binary("x", 3); m.maximize(x.sum()); m.add("w", x.sum() <= 2)
        print("ready", flush=True)
        solve(m, Hangs(), isolate=True)
        """
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout.readline().strip() == "ready"
        deadline = time.monotonic() + 20
        while len(_marked(mark)) < 2 and time.monotonic() < deadline:  # worker and its child
            time.sleep(0.05)
        assert len(_marked(mark)) == 2
        child.kill()
    while _marked(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _marked(mark)


def _marked(mark: str) -> list[str]:
    """Processes whose environment holds a mark; a caller that sets its own does not count."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environment:
                if mark.encode() in environment.read():
                    found.append(pid)
        except OSError:
            continue
    return found
