"""A back end of somebody else, announced through an entry point, is a back end like ours."""

import json

import pytest

from optsched import Model, solve
from optsched.solvers.registry import announced, available
from optsched.testing import ENDINGS, check_backend


def test_an_announced_back_end_is_found_by_its_name():
    assert announced()["tree-search"].value == "tree_search:TreeSearch"
    assert available()["tree-search"] == "1.0"
    m = Model()
    x = m.integer("x", 2, upper=5)
    m.add("room", x @ [3.0, 2.0] <= 11.5)
    m.maximize(x @ [5.0, 3.0])
    solution = solve(m, "tree-search", confirm="highs")
    assert (solution.status, solution.objective, solution.checked) == ("optimal", 18.0, True)
    assert solution.message.startswith("confirmed")
    assert (solution.solver, solution.version) == ("tree-search", "1.0")


def test_it_passes_the_conformance_suite():
    report = check_backend("tree-search", endings=False)
    assert report.passed, str(report)
    assert len(report.results) > 100


def test_it_ends_as_it_is_told_to():
    report = check_backend("tree-search", cases=[])
    assert report.passed, str(report)
    assert len(report.results) == len(ENDINGS)


def test_a_process_of_its_own_finds_it_too():
    m = Model()
    x = m.integer("x", upper=7)
    m.maximize(x)
    assert solve(m, "tree-search", isolate=True).objective == 7


@pytest.mark.parametrize("words", [["solvers"], ["solvers", "--json"]])
def test_the_command_lists_it(cli, words):
    answer = cli(*words)
    assert answer.exit_code == 0
    if "--json" in words:
        listed = {entry["name"]: entry for entry in json.loads(answer.output)["solvers"]}
        assert listed["tree-search"]["version"] == "1.0"
        assert "Depth first" in listed["tree-search"]["summary"]
    else:
        assert "tree-search" in answer.output
