"""Nobody waits for the compiler on small work; machine code is never older than its source."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from optsched.jit import always, clock, stopwatch
from optsched.jit import dispatcher as jit

INNER = (
    "from optsched.jit import njit_cached\nSTEP = 1\n"
    "@njit_cached\ndef step(x):\n    return x + {}\n"
)
OUTER = (
    "from optsched.jit import njit_cached\nfrom parts.inner import STEP, step\n"
    "@njit_cached\ndef twice(x):\n    return step(step(x)) * STEP\n"
)


@pytest.fixture
def package(tmp_path):
    """Two modules, one of which calls the other's compiled function."""
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "inner.py").write_text(INNER.format(1))
    (folder / "outer.py").write_text(OUTER)
    return folder


def printed(package: Path, code: str) -> list[str]:
    """The words that a new process beside the package prints."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", code],
        cwd=package.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def called(
    package: Path, module: str = "outer", call: str = "twice.machine(10)", loop: str = "twice"
) -> tuple[int, int]:
    """What a call gives in a new process, and how often the loop's machine code was found."""
    code = (
        f"from parts.{module} import {loop}\n"
        f"print({call}, sum({loop}.machine.stats.cache_hits.values()))"
    )
    value, hits = printed(package, code)
    return int(value), int(hits)


def test_machine_code_is_kept_and_follows_what_it_calls_in_another_file(package):
    assert called(package) == (12, 0)
    assert called(package) == (12, 1)
    (package / "inner.py").write_text(INNER.format(5))
    assert called(package) == (20, 0)
    assert called(package) == (20, 1)


def test_machine_code_follows_constants_of_another_file(package):
    assert called(package) == (12, 0)
    (package / "inner.py").write_text(INNER.format(1).replace("STEP = 1", "STEP = 3"))
    assert called(package) == (36, 0)


POINT = "from typing import NamedTuple\nclass Point(NamedTuple):\n    {}: int\n    {}: int\n"
NESTED = (
    "from typing import NamedTuple\nfrom low.point import Point\n"
    "class Line(NamedTuple):\n    start: Point\n"
)
READING = (
    "from low.line import Line\nfrom optsched.jit import njit_cached\n"
    "@njit_cached\ndef step(line: Line):\n    return line.start.x\n"
)


def test_machine_code_follows_the_fields_of_named_tuples_in_named_tuples_of_other_packages(package):
    low = package.parent / "low"
    low.mkdir()
    for name, text in {"__init__": "", "line": NESTED, "point": POINT.format("x", "y")}.items():
        (low / f"{name}.py").write_text(text)
    (package / "inner.py").write_text(READING)
    line = "__import__('low.line').line.Line(__import__('low.point').point.Point(1, 2))"
    assert called(package, "inner", f"step.machine({line})", "step") == (1, 0)
    assert called(package, "inner", f"step.machine({line})", "step") == (1, 1)
    (low / "point.py").write_text(POINT.format("y", "x"))
    assert called(package, "inner", f"step.machine({line})", "step") == (2, 0)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("STEP = np.array([1, 2])", "STEP = np.array([3, 2])"),
        ("STEP = (1, np.array([1]))", "STEP = (3, np.array([1]))"),
        ("class STEP(IntEnum):\n    A = 1", "class STEP(IntEnum):\n    A = 3"),
    ],
)
def test_machine_code_follows_arrays_and_classes_of_other_files(package, before, after):
    source = "import numpy as np\nfrom enum import IntEnum\n"
    (package / "values.py").write_text(source + before)
    read = "STEP.A" if "Enum" in before else "STEP[0]"
    outer = "from optsched.jit import njit_cached\nfrom parts.values import STEP\n"
    (package / "outer.py").write_text(
        outer + f"@njit_cached\ndef twice(x):\n    return x * {read}\n"
    )
    assert called(package) == (10, 0)
    assert called(package) == (10, 1)
    (package / "values.py").write_text(source + after)
    assert called(package) == (30, 0)


def test_of_two_processes_one_compiles_and_the_other_waits_for_it(package):
    with ThreadPoolExecutor(2) as both:
        found = list(both.map(called, [package, package]))
    assert sorted(found) == [(12, 0), (12, 1)]


def test_a_limit_that_passes_while_the_compiler_is_imported_leaves_it_whole(package):
    call = "twice.machine(10)"
    code = (
        "import threading\nfrom optsched.solvers.threads import ended_by\n"
        f"from parts.outer import twice\nended = ended_by(lambda: {call}, threading.Event(), 0.1)\n"
        f"print(ended, {call})"
    )
    assert printed(package, code) == ["None", "12"]


LOOP = (
    "from optsched.jit import njit_cached\n"
    "@njit_cached\n"
    "def count(total, turns):\n"
    "    for _ in range(turns):\n"
    "        total[0] += 1\n"
    "    return total[0]\n"
)


@pytest.fixture
def count(tmp_path, monkeypatch):
    """A compiled function that changes its argument in a loop; no machine code is on disk."""
    (tmp_path / "counting.py").write_text(LOOP)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "counting", raising=False)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "machine"))
    import counting

    return counting.count


@pytest.fixture
def other(count, tmp_path, monkeypatch):
    """The same in another file."""
    (tmp_path / "beside.py").write_text(LOOP)
    monkeypatch.delitem(sys.modules, "beside", raising=False)
    import beside

    return beside.count


@pytest.fixture
def still(monkeypatch):
    """No time passes for the loops, so that limits are compared with nothing but themselves."""
    monkeypatch.setattr(jit, "time", SimpleNamespace(perf_counter=lambda: 0.0))


def test_a_small_call_runs_without_the_compiler(count, tmp_path):
    total = np.zeros(1, dtype=np.int64)
    with stopwatch() as watch:
        found = count(total, 10)
    assert (found, type(found)) == (10, int)
    assert watch.compile_seconds == 0
    assert 0 < watch.interpreted_seconds <= watch.seconds
    assert not (tmp_path / "machine").exists()


def test_a_long_call_is_given_up_put_back_and_compiled(count):
    total = np.zeros(1, dtype=np.int64)
    with stopwatch() as watch:
        assert count(total, 1_000_000) == 1_000_000
    assert total[0] == 1_000_000
    assert watch.compile_seconds > 0.01
    assert watch.interpreted_seconds == 0
    assert watch.seconds < watch.compile_seconds


def test_a_function_is_compiled_after_a_stated_number_of_its_loop_turns(count, tmp_path):
    for turns in (jit.PLAIN_TURNS - 10, 10):
        with stopwatch() as watch:
            count(np.zeros(1, dtype=np.int64), turns)
        assert watch.compile_seconds == 0
    with stopwatch() as watch:
        count(np.zeros(1, dtype=np.int64), 1)
    assert watch.compile_seconds > 0
    assert (tmp_path / "machine").exists()


def test_what_one_function_has_run_compiles_no_other(count, other):
    count(np.zeros(1, dtype=np.int64), jit.PLAIN_TURNS)
    with stopwatch() as watch:
        other(np.zeros(1, dtype=np.int64), 10)
    assert watch.compile_seconds == 0


def test_a_function_is_compiled_later_if_it_calls_another(count, tmp_path, monkeypatch):
    source = "from counting import count\nfrom optsched.jit import njit_cached\n"
    source += "@njit_cached\ndef twice(total, turns):\n    return 2 * count(total, turns)\n"
    (tmp_path / "calling.py").write_text(source)
    monkeypatch.delitem(sys.modules, "calling", raising=False)
    import calling

    calling.twice(np.zeros(1, dtype=np.int64), 2 * jit.PLAIN_TURNS)
    assert not (tmp_path / "machine").exists()
    calling.twice(np.zeros(1, dtype=np.int64), 1)
    assert (tmp_path / "machine").exists()


def test_machine_code_on_disk_is_loaded_after_the_work_of_all_functions(count, other, monkeypatch):
    other.machine(np.zeros(1, dtype=np.int64), 1)
    monkeypatch.delitem(sys.modules, "numba")
    monkeypatch.setattr(jit._Way, "turns", 0)
    monkeypatch.delitem(sys.modules, "beside")
    from beside import count as again

    with stopwatch() as watch:
        again(np.zeros(1, dtype=np.int64), 10)
    assert watch.interpreted_seconds > 0
    count(np.zeros(1, dtype=np.int64), jit.PLAIN_TURNS - 10)
    with stopwatch() as watch:
        again(np.zeros(1, dtype=np.int64), 1)
    assert watch.interpreted_seconds == 0


def test_under_a_limit_too_short_for_the_compiler_a_loop_is_interpreted_to_its_end(
    count, tmp_path, still
):
    turns = 2 * jit.PLAIN_TURNS
    with clock.limited(0.9 * clock.COMPILE_SECONDS):
        assert count(np.zeros(1, dtype=np.int64), turns) == turns
    assert not (tmp_path / "machine").exists()
    assert count(np.zeros(1, dtype=np.int64), turns) == turns  # without a limit
    assert (tmp_path / "machine").exists()


def test_a_loop_that_goes_on_after_the_limit_is_ended_and_leaves_its_arguments(count):
    total = np.zeros(1, dtype=np.int64)
    with (
        stopwatch() as watch,
        clock.limited(0.05),
        pytest.raises(TimeoutError, match="machine code"),
    ):
        count(total, 10**9)
    assert total[0] == 0
    assert watch.compile_seconds > 0
    assert watch.interpreted_seconds == 0
    assert clock.clock.latest == np.inf


def test_machine_code_is_made_of_the_constants_that_it_was_written_with(
    count, tmp_path, monkeypatch
):
    source = "from optsched.jit import njit_cached\n\nSTEP = 1\n\n\n@njit_cached\ndef step():\n"
    (tmp_path / "stepping.py").write_text(source + "    return STEP\n")
    import stepping

    monkeypatch.setattr(stepping, "STEP", 2)
    assert stepping.step.machine() == 1  # so it is no other code that is kept on disk for it
    assert stepping.step.py_func() == 2


def test_what_is_given_up_has_drawn_nothing(count, tmp_path, monkeypatch):
    """Random numbers are those of numpy, however often a call is begun anew."""
    source = "from optsched.jit import njit_cached\n@njit_cached\ndef draw(rng, turns):\n"
    source += "    last = 0.0\n    for _ in range(turns):\n        last = rng.random()\n"
    (tmp_path / "drawing.py").write_text(source + "    return last\n")
    monkeypatch.delitem(sys.modules, "drawing", raising=False)
    from drawing import draw

    rng, same = np.random.default_rng(1), np.random.default_rng(1)
    with stopwatch() as watch:
        assert draw(rng, 500_000) == same.random(500_000)[-1]
    assert watch.compile_seconds > 0.01
    assert rng.bit_generator.state == same.bit_generator.state
    monkeypatch.setattr(draw, "_compiled", False)
    with clock.limited(0.05), pytest.raises(TimeoutError):
        draw(rng, 10**9)
    assert rng.bit_generator.state == same.bit_generator.state


def test_an_inner_limit_does_not_outlast_an_outer_one(count):
    with clock.limited(0.05), clock.limited(1e9), clock.limited(None), pytest.raises(TimeoutError):
        count(np.zeros(1, dtype=np.int64), 10**9)


def test_the_compiler_is_given_more_time_for_functions_that_call_others(
    count, tmp_path, monkeypatch, still
):
    source = "from counting import count\nfrom optsched.jit import njit_cached\n"
    for k in range(11):
        called = f"many_{k - 1}" if k else "count"
        source += f"@njit_cached\ndef many_{k}(total, turns):\n"
        source += f"    return {called}(total, turns) + 1\n"
    (tmp_path / "calling.py").write_text(source)
    monkeypatch.delitem(sys.modules, "calling", raising=False)
    import calling

    turns, seconds = jit.PLAIN_TURNS + 10, 11.5 * clock.COMPILE_SECONDS_EACH
    assert seconds > clock.COMPILE_SECONDS
    for loop, compiled in ((calling.many_10, False), (count, True)):
        with clock.limited(seconds):
            loop(np.zeros(1, dtype=np.int64), turns)
        assert (tmp_path / "machine").exists() == compiled


def test_a_loop_that_always_runs_plain_ends_at_the_limit_too(count, tmp_path):
    with always(compiled=False), clock.limited(0.05), pytest.raises(TimeoutError):
        count(np.zeros(1, dtype=np.int64), 10**9)
    assert not (tmp_path / "machine").exists()


def test_machine_code_that_is_there_is_used_at_once(count, monkeypatch):
    count.machine(np.zeros(1, dtype=np.int64), 1)
    monkeypatch.delitem(sys.modules, "counting")
    import counting

    assert counting.count is not count
    with stopwatch() as watch:
        assert counting.count(np.zeros(1, dtype=np.int64), 5) == 5
    assert watch.interpreted_seconds == 0


def test_a_first_run_on_a_fresh_machine_does_not_call_the_compiler(tmp_path):
    code = (
        "import sys\nfrom optsched.problem import problem\n"
        "from optsched.evaluation.runs import instance_rng, run_heuristic\n"
        "found = problem('preemptive')\n"
        "instance = found.generate(instance_rng(1), jobs=3, servers=3)\n"
        "run = run_heuristic(found, instance, 'a_online', 0)\n"
        "print(run.status or 'done', run.time.compile_seconds, 'numba' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["done", "0.0", "False"]


def test_watches_within_a_watch_count_once(count):
    with always(compiled=True), stopwatch() as outer, stopwatch() as inner:
        count(np.zeros(1, dtype=np.int64), 1)
    assert inner.compile_seconds > 0
    assert outer.compile_seconds == pytest.approx(inner.compile_seconds)
    assert outer.seconds >= inner.seconds


def test_all_loops_can_be_told_to_run_one_way(count):
    with always(compiled=True), stopwatch() as watch:
        count(np.zeros(1, dtype=np.int64), 10)
    assert watch.compile_seconds > 0
    assert watch.interpreted_seconds == 0
    with always(compiled=False), stopwatch() as watch:
        count(np.zeros(1, dtype=np.int64), 10)
    assert watch.compile_seconds == 0
    assert watch.interpreted_seconds > 0


def test_constants_of_a_type_share_machine_code(count, tmp_path, monkeypatch):
    source = "from counting import count\nfrom optsched.jit import njit_cached\n"
    source += "@njit_cached\ndef thrice(total, turns):\n    count(total, 1)\n    count(total, 2)\n"
    source += "    return count(total, turns)\n"
    (tmp_path / "calling.py").write_text(source)
    monkeypatch.delitem(sys.modules, "calling", raising=False)
    import calling

    assert calling.thrice.machine(np.zeros(1, dtype=np.int64), 4) == 7
    assert len(count.machine.signatures) == 1


def test_a_compiled_function_takes_a_list_of_another(tmp_path, monkeypatch):
    source = "from optsched.jit import njit_cached\n"
    source += "@njit_cached\ndef put(log, x):\n    log.append(x)\n"
    source += "@njit_cached\ndef listed(x):\n    log = [0]\n    put(log, x)\n"
    source += "    return len(log)\n"
    (tmp_path / "listing.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "machine"))
    monkeypatch.delitem(sys.modules, "listing", raising=False)
    import listing

    assert listing.listed.machine(3) == 2


def test_a_limit_is_handed_on_to_other_threads():
    assert clock.limit_left() is None
    with clock.limited(60.0), clock.limited(100.0):
        left = clock.limit_left()
        assert left is not None
        assert 0 < left <= 60.0
    assert clock.limit_left() is None


def test_no_other_thread_sees_machine_code_that_does_not_know_yet_what_it_calls(
    count, tmp_path, monkeypatch
):
    source = "from counting import count\nfrom optsched.jit import njit_cached\n"
    source += "@njit_cached\ndef twice(total, turns):\n    return 2 * count(total, turns)\n"
    (tmp_path / "calling.py").write_text(source)
    monkeypatch.delitem(sys.modules, "calling", raising=False)
    import calling

    seen, named = [], jit._in

    def spied(names, function):
        seen.append("machine" in vars(calling.twice) or "machine" in vars(count))
        return named(names, function)

    monkeypatch.setattr(jit, "_in", spied)
    assert calling.twice.machine(np.zeros(1, dtype=np.int64), 4) == 8
    assert seen == [False, False]


def test_another_thread_works_under_the_limit_and_on_the_watch_of_the_one_that_waits(count):
    found = []
    with stopwatch() as watch, clock.limited(60.0), clock.continued() as there:
        work = lambda: (clock.limit_left(), count(np.zeros(1, dtype=np.int64), 10))  # noqa: E731
        thread = threading.Thread(target=lambda: found.append(there(work)))
        thread.start()
        thread.join()
    left, turns = found[0]
    assert 0 < left <= 60.0
    assert turns == 10
    assert watch.interpreted_seconds > 0
