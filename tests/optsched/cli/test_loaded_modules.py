"""Each command loads what it uses: which libraries, and which modules of the papers."""

import subprocess
import sys

import pytest

SCREEN = {"typer", "rich", "shellingham", "annotated_doc"}
PYDANTIC = {
    "pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection",
}  # fmt: skip
HELP = SCREEN | PYDANTIC | {"attr", "markdown_it", "mdurl", "pygments"}
"""Typer loads pydantic for the types of options."""
FILES = SCREEN | PYDANTIC | {"numpy"}
HIGHS = FILES | {"highspy", "cloudpickle"}
"""A small model has no matrix of scipy."""

LIGHT = {
    "check", "check_storage", "classes", "domain_reduction", "generator", "horizon", "instance",
    "latency", "loads", "loss", "metrics", "rows", "schedule", "sweep", "topology", "workload",
}  # fmt: skip
"""Modules of a paper that say what it is: its instances, schedules, checks and measures."""
COMMON = {
    "common",
    "common.amounts",
    "common.calendar",
    "common.claims_command",
    "common.figure_command",
    "common.traces",
}
TABLES = {"benchmark_files", "construct", "tables", "vector_packing"}
"""Modules of aerialedge that its checks and its generator need."""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """Return the top-level libraries, our modules and the papers' modules that a command loads."""
    folder = tmp_path_factory.mktemp("loaded")
    script = """
import contextlib, io, sys
from optsched.cli import app
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    app(sys.argv[1:])
print(*sys.modules)
"""

    def run(*words):
        done = subprocess.run(
            [sys.executable, "-c", script, *words],
            capture_output=True, text=True, check=True, timeout=120, cwd=folder,
        )  # fmt: skip
        names = done.stdout.split()
        own = ("optsched", "formulations", "heuristics")
        ours = {name for name in names if name.partition(".")[0] in own}
        papers = {name.partition(".")[2] for name in ours if name.startswith(own[1:])}
        others = {name.partition(".")[0] for name in names} - {*own, *sys.stdlib_module_names}
        started = {"__main__", "_distutils_hack"}  # before any import of ours
        built = {
            name for name in others if name.startswith(("_sysconfigdata", "_cython", "cython"))
        }
        return others - started - built - {"_cyutility"}, ours, papers - {""}

    return run


def of_paper(names, paper):
    return {name.removeprefix(f"{paper}.") for name in names if name.startswith(f"{paper}.")}


@pytest.mark.parametrize("words", [[], ["generate"], ["solve"], ["ratio"], ["study", "show"]])
def test_help_loads_no_problem_and_no_arrays(loaded, words):
    libraries, ours, papers = loaded(*words, "--help")
    assert libraries <= HELP
    assert {name for name in ours if name.startswith("optsched.")} <= {
        *("optsched.errors", "optsched.cli"),
        *(name for name in ours if name.startswith("optsched.cli.")),
    }
    assert papers <= COMMON


def test_the_list_of_problems_loads_no_model_and_no_algorithm(loaded):
    libraries, ours, papers = loaded("problems")
    assert libraries <= FILES
    assert not any(name.startswith(("optsched.model", "optsched.solve.")) for name in ours)
    for paper in ("aerialedge", "batch", "drp", "llm_inference", "okita", "preemptive"):
        assert paper in papers
        assert of_paper(papers, paper) <= LIGHT | (TABLES if paper == "aerialedge" else set())


def test_what_is_done_with_one_problem_loads_no_other_and_solves_with_one_solver(loaded):
    small = ("--jobs", "3", "--servers", "2", "--span", "10", "--time-scale", "0.03")
    made = loaded("generate", "preemptive", *small, "-o", "i.json")
    run = loaded("run", "preemptive.all_cloud", "i.json")
    solved = loaded("solve", "preemptive.problem_2_compact", "i.json")
    for _, _, papers in (made, run, solved):
        assert {name.partition(".")[0] for name in papers} == {"common", "preemptive"}
    libraries, ours, papers = made
    assert libraries <= FILES
    assert not any(name.startswith("optsched.model") for name in ours)
    assert of_paper(papers, "preemptive") <= LIGHT
    libraries, ours, papers = run
    assert libraries <= FILES
    assert not any(name.startswith("optsched.model") for name in ours)
    libraries, ours, papers = solved
    assert libraries <= HIGHS | {"ortools"}
    assert not any(name.startswith(("optsched.decomposition", "optsched.proof")) for name in ours)
    grid = {"time_indexed", "time_indexed.decode", "time_indexed.grid"}
    models = grid | {"network", "problem_2", "problem_4"}
    assert of_paper(papers, "preemptive") <= LIGHT | models
