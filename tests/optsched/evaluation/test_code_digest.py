"""What counts as already computed: by what code a result was made."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from importlib import import_module

import pytest

from optsched.evaluation import code_digest
from optsched.evaluation.code_digest import digest, generator_versions, method_versions
from optsched.evaluation.runs import MethodSpec
from optsched.problem import problem

GREEDY = MethodSpec("heuristic", "greedy")


@pytest.fixture
def write(monkeypatch, tmp_path):
    """Write a file that can be imported; what is written is forgotten after the test."""
    known = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)

    def put(name, text):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    yield put
    for name in set(sys.modules) - known:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def notebook(*cells):
    """What cells of a notebook define."""
    space = {"__name__": "__main__"}
    for cell in cells:
        exec(compile(cell, "<cell>", "exec"), space)
    return space


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("mine.py", True),
        ("helper.py", True),
        ("below/deep/helper.py", True),
        ("rows.csv", False),
        (".hidden/helper.py", False),
        ("environment/lib/helper.py", False),
    ],
)
def test_a_script_counts_by_all_python_files_below_its_folder(file, counts, write):
    text = "def run(instance, rng): return 1\n"
    write("environment/pyvenv.cfg", "")
    write("mine.py", text)
    write(file, text)
    run = import_module("mine").run
    before = digest([run])
    write(file, text + "CHANGED = True\n")
    assert (digest([run]) != before) == counts
    write(file, text)
    assert digest([run]) == before


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("algorithms/part/mine.py", True),
        ("algorithms/rule.py", True),
        ("algorithms/other/unused.py", True),
        ("elsewhere.py", False),
    ],
)
def test_a_function_of_a_package_counts_by_all_python_files_below_it(file, counts, write):
    text = "def run(instance, rng): return 1\n"
    for name in ("__init__", "rule", "part/__init__", "part/mine", "other/unused"):
        write(f"algorithms/{name}.py", text)
    write("elsewhere.py", text)
    run = import_module("algorithms.part.mine").run
    before = digest([run])
    write(file, text + "CHANGED = True\n")
    assert (digest([run]) != before) == counts


def test_an_installed_module_that_is_no_package_counts_alone(write, monkeypatch, tmp_path):
    write("site-packages/single.py", "def run(instance, rng): return 1\n")
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    run = import_module("single").run
    before = digest([run])
    write("site-packages/other.py", "")
    assert digest([run]) == before
    write("site-packages/single.py", "def run(instance, rng): return 2\n")
    assert digest([run]) != before


def test_a_problems_code_counts_with_every_method_and_every_instance(write):
    write("checking.py", "def check(instance, schedule): return []\ndef generate(rng): ...\n")
    own = import_module("checking")
    covering = replace(problem("covering"), check=own.check, generate=own.generate)
    before = method_versions(covering, GREEDY), generator_versions(covering)
    write("helper.py", "")
    after = method_versions(covering, GREEDY), generator_versions(covering)
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_another_release_of_a_library_or_of_optsched_is_another_run(monkeypatch):
    before = method_versions(problem("covering"), GREEDY)
    code_digest._libraries.cache_clear()
    monkeypatch.setattr(code_digest, "version", lambda name: "99.0")
    after = method_versions(problem("covering"), GREEDY)
    code_digest._libraries.cache_clear()
    assert {"optsched 99.0", "numpy 99.0"} <= set(after["libraries"].split(", "))
    assert after != before


def test_a_digest_costs_less_than_a_small_solve():
    exact = MethodSpec("exact", "problem_2_compact")
    method_versions(problem("preemptive"), exact)
    began = time.process_time()
    method_versions(problem("preemptive"), exact)
    assert time.process_time() - began < 0.1  # 4 ms if nothing else runs


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("def run(i, r): return 1", "def run(i, r): return 2"),
        ("def run(i, r, scale=1): return scale", "def run(i, r, scale=2): return scale"),
        (
            "def run(i, r): return [j for j in i if j > 1]",
            "def run(i, r): return [j for j in i if j > 2]",
        ),
        ("S = 1\ndef run(i, r): return S", "S = 2\ndef run(i, r): return S"),
        ("S = [1]\ndef run(i, r): return S", "S = [2]\ndef run(i, r): return S"),
        ("S = {'a': 1}\ndef run(i, r): return S", "S = {'a': 2}\ndef run(i, r): return S"),
        (
            "import numpy as np\nS = np.arange(3)\ndef run(i, r): return S",
            "import numpy as np\nS = np.ones(3)\ndef run(i, r): return S",
        ),
        (
            "def helper(): return 1\ndef run(i, r): return helper()",
            "def helper(): return 2\ndef run(i, r): return helper()",
        ),
        (
            "def helper(): return 1\ndef run(i, r): return [helper() for _ in i]",
            "def helper(): return 2\ndef run(i, r): return [helper() for _ in i]",
        ),
        (
            "class run:\n    def place(self): return 1",
            "class run:\n    def place(self): return 2",
        ),
        (
            "class A:\n    @property\n    def k(self): return 1\nclass run(A): ...",
            "class A:\n    @property\n    def k(self): return 2\nclass run(A): ...",
        ),
        (
            "from functools import cache\n@cache\ndef f(x): return 1\ndef run(i, r): return f(0)",
            "from functools import cache\n@cache\ndef f(x): return 2\ndef run(i, r): return f(0)",
        ),
        (
            "class A:\n    k = 1\na = A()\ndef run(i, r): return a.k",
            "class A:\n    k = 2\na = A()\ndef run(i, r): return a.k",
        ),
    ],
)
def test_code_of_a_notebook_counts_by_what_it_does_holds_and_names(one, two):
    assert digest([notebook(one)["run"]]) == digest([notebook("", one)["run"]])
    assert digest([notebook(one)["run"]]) == digest([notebook("# said\n\n" + one)["run"]])
    assert digest([notebook(one)["run"]]) != digest([notebook(two)["run"]])


def test_a_notebook_counts_by_the_files_of_the_modules_it_names(write):
    write("helper.py", "def rule(): return 1\n")
    run = notebook("import helper\ndef run(i, r): return helper.rule()")["run"]
    before = digest([run])
    write("helper.py", "def rule(): return 2\n")
    assert digest([run]) != before


def test_a_notebook_may_name_what_cannot_be_kept_and_itself():
    run = notebook(
        "import threading, sys\nlock, out = threading.Lock(), sys.stdout\n"
        "def run(i, r): return lock, out, run, threading"
    )["run"]
    assert digest([run]) == digest([run])


def test_a_function_that_is_given_another_number_is_another():
    def scaled(factor):
        return lambda instance, rng: factor

    assert digest([scaled(1)]) == digest([scaled(1)])
    assert digest([scaled(1)]) != digest([scaled(2)])
    assert digest([partial(scaled, 1)]) != digest([partial(scaled, 2)])
    assert digest([partial(scaled, factor=1)]) != digest([partial(scaled, factor=2)])


def test_functions_without_a_name_are_told_apart_though_they_share_a_line():
    one, two = (lambda scale: 1.0), (lambda scale: 2.0)
    assert digest([one]) != digest([two])
    assert digest([partial(print, one)]) != digest([partial(print, two)])


def test_versions_name_the_solver_that_is_used():
    versions = method_versions(problem("covering"), MethodSpec("exact", "knapsack"))
    assert versions["solver"].startswith("highs 1.")
    assert "solver" not in method_versions(problem("covering"), MethodSpec("bound", "fractional"))


DIGESTS = """
import json
from optsched.evaluation.code_digest import method_versions
from optsched.evaluation.runs import MethodSpec
from optsched.problem import problems

print(json.dumps({
    f"{name}.{call}": method_versions(problem, MethodSpec(kind, call))["code"]
    for name, problem in problems().items()
    for kind, calls in (
        ("heuristic", problem.heuristics),
        ("exact", problem.formulations),
        ("bound", problem.bounds),
    )
    for call in calls
}))
"""


def test_every_announced_method_has_the_same_digest_in_every_process():
    def told(seed):
        done = subprocess.run(
            [sys.executable, "-c", DIGESTS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)

    first = told("1")
    assert "preemptive.reoptimise" in first
    assert first == told("2")
