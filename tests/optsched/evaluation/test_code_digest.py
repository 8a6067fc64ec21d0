"""What counts as already computed: a digest of all the code that a result comes from."""

import json
import os
import subprocess
import sys
import time
from functools import partial
from importlib.metadata import EntryPoint

import pytest

from optsched.evaluation import code_digest
from optsched.evaluation.code_digest import digest, method_versions
from optsched.evaluation.runs import MethodSpec
from optsched.problem import problem


@pytest.fixture
def edited(monkeypatch, tmp_path):
    """Add a line to a module's file, as far as the digest can see."""
    file = code_digest._file

    def edit(module):
        changed = tmp_path / f"{module}.py"
        changed.write_bytes(file(module).read_bytes() + b"\nCHANGED = True\n")
        monkeypatch.setattr(code_digest, "_file", lambda n: changed if n == module else file(n))

    return edit


def versions(name, method):
    """What a run of the method depends on."""
    return method_versions(problem(name), method)


@pytest.mark.parametrize(
    "module",
    [
        "optsched.model.blocks.product",
        "optsched.solve",
        "optsched.model.matrix_form",
        "optsched.solvers.highs.backend",
        "optsched.evaluation.runs",
        "optsched.evaluation.ratios",
        "optsched.cli.study",
        "optsched.plots",
        "optsched.page.document",
        "formulations.preemptive.plots",
        "formulations.preemptive.problem_2",
        "formulations.okita.problem_2",
    ],
)
@pytest.mark.parametrize("method", [MethodSpec("exact", "problem_2_compact")])
def test_a_mended_lowering_is_another_run_and_a_plot_or_a_command_is_not(module, method, edited):
    before = versions("preemptive", method)
    edited(module)
    untouched = ("ratios", "cli", "plots", "page", "okita")
    same = any(part in module.split(".") for part in untouched)
    assert (versions("preemptive", method) == before) == same


def test_a_problem_of_a_third_party_follows_optsched_too(edited):
    exact = MethodSpec("exact", "knapsack")
    before = versions("covering", exact)
    edited("optsched.model.blocks.maximum")
    assert versions("covering", exact) != before


def test_a_heuristic_follows_the_formulations_it_imports_and_not_its_neighbours(edited):
    online = MethodSpec("heuristic", "a_online")
    before = versions("preemptive", online)
    edited("heuristics.preemptive.tiresias")
    assert versions("preemptive", online) == before
    edited("formulations.preemptive.schedule")
    assert versions("preemptive", online) != before


@pytest.mark.parametrize(
    ("module", "stale"),
    [
        ("optsched.solvers.highs.backend", False),
        ("optsched.solve", False),
        ("optsched.model.matrix_form", False),
        ("optsched.decomposition.cuts", False),
        ("optsched.problem", False),
        ("optsched.methods", False),
        ("formulations.preemptive.problem_4", False),
        ("formulations.preemptive.check", True),
        ("formulations.preemptive.rows", True),
        ("optsched.violation", True),
        ("optsched.evaluation.runs", True),
        ("optsched.evaluation.heuristic_run", True),
        ("optsched.calendar", True),
        ("heuristics.preemptive.queues", True),
    ],
)
def test_a_mended_back_end_leaves_a_heuristics_runs_and_a_mended_checker_does_not(
    module, stale, edited
):
    online = MethodSpec("heuristic", "a_online")
    before = versions("preemptive", online)
    edited(module)
    assert (versions("preemptive", online) != before) == stale


@pytest.mark.parametrize(
    ("problem", "heuristic"),
    [("okita", "okita"), ("batch", "a_online"), ("drp", "greedy"), ("dsrp", "nearest")],
)
def test_a_heuristic_that_solves_nothing_knows_no_solver(problem, heuristic, edited):
    method = MethodSpec("heuristic", heuristic)
    before = versions(problem, method)
    edited("optsched.solvers.direct")
    assert versions(problem, method) == before


def test_a_heuristic_that_solves_relaxations_follows_their_solvers(edited):
    rounding = MethodSpec("heuristic", "r_dr")
    before = versions("drp", rounding)
    edited("optsched.solvers.highs.backend")
    assert versions("drp", rounding) != before


def test_solvers_of_other_packages_count_as_they_are_found_by_name(monkeypatch, tmp_path):
    exact = MethodSpec("exact", "knapsack")
    before = versions("covering", exact)
    (tmp_path / "abacus_solver.py").write_text("class Abacus: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    entries = code_digest.entry_points
    abacus = EntryPoint("abacus", "abacus_solver:Abacus", "optsched.solvers")
    monkeypatch.setattr(
        code_digest,
        "entry_points",
        lambda group: [*entries(group=group), *([abacus] if group == abacus.group else [])],
    )
    code_digest._announced.cache_clear()
    assert versions("covering", exact) != before
    code_digest._announced.cache_clear()


def test_another_release_of_a_numerical_library_is_another_run(monkeypatch):
    exact = MethodSpec("exact", "knapsack")
    before = versions("covering", exact)
    code_digest._libraries.cache_clear()
    monkeypatch.setattr(code_digest, "version", lambda name: "99.0")
    after = versions("covering", exact)
    code_digest._libraries.cache_clear()
    assert "numpy 99.0" in after["libraries"]
    assert after != before


def test_a_digest_costs_less_than_a_small_solve():
    exact = MethodSpec("exact", "problem_2_compact")
    versions("preemptive", exact)
    began = time.process_time()
    versions("preemptive", exact)
    assert time.process_time() - began < 0.1  # 8 ms where nothing else runs


def test_code_that_changes_is_another_run(tmp_path, monkeypatch):
    package = tmp_path / "algorithms"
    package.mkdir()
    (package / "__init__.py").write_text("from algorithms.other import unused\n")
    (package / "other.py").write_text("def unused(): pass\n")
    (package / "rule.py").write_text("ORDER = 1\n")
    (package / "mine.py").write_text(
        "from algorithms.rule import ORDER\n\ndef run(instance, rng): return ORDER\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import algorithms.mine

    first = digest([algorithms.mine.run])
    (package / "other.py").write_text("def unused(): return 1\n")
    assert digest([algorithms.mine.run]) == first
    (package / "rule.py").write_text("ORDER = 2\n")
    assert digest([algorithms.mine.run]) != first


def test_a_function_of_a_notebook_is_told_from_another():
    spaces = [{"__name__": "__main__"}, {"__name__": "__main__"}]
    exec("def run(instance, rng): return 1", spaces[0])
    exec("def run(instance, rng): return 2", spaces[1])
    assert digest([spaces[0]["run"]]) != digest([spaces[1]["run"]])


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
