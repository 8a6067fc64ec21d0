"""What is planned before anything runs: keys of runs, and every mistake by its field."""

from dataclasses import replace

import pytest

import optsched as osd
from optsched.errors import InputError
from optsched.evaluation.runs import instance_rng
from optsched.evaluation.tables import untried
from optsched.problem import problem
from optsched.solvers.options import Options
from optsched.study import Exact, StudyGrid, run_study
from optsched.study.plan import plan

SMALL = StudyGrid("covering", heuristics=["greedy"], exact=["knapsack"], bounds=["fractional"])


def test_a_proof_is_of_the_solve_it_stands_beside():
    solves = [Exact("knapsack", options=Options(time_limit=t), name=str(t), prove=20.0)
              for t in (1, 60)]  # fmt: skip

    def proofs(*exact):
        (layout,) = plan([replace(SMALL, exact=list(exact))]).layouts
        return {step.label: step.key for step in layout.steps if step.kind == "proof"}

    both = proofs(*solves)
    assert len(set(both.values())) == 2
    assert both == {**proofs(solves[0]), **proofs(solves[1])}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"problem": "uncovering"}, ["problem", "uncovering", "covering"]),
        ({"heuristics": ["greedy", "greedee"]}, ["heuristics[1]", "greedee", "greedy"]),
        ({"heuristics": ["greedy(epsilom=1)"]}, ["heuristics[0]", "epsilom", "epsilon"]),
        ({"bounds": ["tight"]}, ["bounds[0]", "tight", "fractional"]),
        ({"exact": ["knapsac"]}, ["exact[0]", "knapsac", "knapsack"]),
        ({"exact": [Exact("knapsack", "abacus")]}, ["exact[0]", "abacus", "highs"]),
        ({"exact": [Exact("knapsack", start=["nothing"])]}, ["exact[0]", "nothing", "greedy"]),
        ({"exact": ["knapsack", "knapsack"]}, ["knapsack", "name"]),
        ({"reference": "relaxed"}, ["reference", "relaxed", "knapsack"]),
        ({"generator": {"items": [4, 0]}}, ["items", "0", "greater than or equal to 1"]),
        ({"generator": {"itens": [4]}}, ["itens", "tightness"]),
        ({"files": ["absent.json"]}, ["file", "absent.json", "cannot be read"]),
        ({"heuristics": [], "exact": [], "bounds": []}, ["heuristics", "one or more of"]),
    ],
)
def test_what_is_not_known_is_refused_before_anything_runs(changes, named, tmp_path):
    path = tmp_path / "study.sqlite"
    with pytest.raises(InputError) as caught:
        run_study([replace(SMALL, **changes)], path, workers=1)
    for word in named:
        assert word in str(caught.value)
    assert not path.exists()


def test_every_mistake_of_every_grid_is_told_at_once():
    grids = [replace(SMALL, bounds=["tight"]), replace(SMALL, heuristics=["a"], exact=["b"])]
    with pytest.raises(InputError) as caught:
        plan(grids)
    fields = [problem.field for problem in caught.value.problems]
    assert fields == ["grid[0].bounds[0]", "grid[1].heuristics[0]", "grid[1].exact[0]"]


def test_foresight_is_looked_for_on_the_first_and_every_eighth_seed_of_each_setting():
    grid = replace(SMALL, generator={"items": [4, 5]}, seeds=range(100, 117))
    looked = [(case.cell["items"], case.seed) for case in plan([grid]).cases if case.look_ahead]
    assert looked == [(items, seed) for items in (4, 5) for seed in (100, 108, 116)]


def test_foresight_is_looked_for_on_every_instance_given():
    made = {str(i): problem("covering").generate(instance_rng(i)) for i in range(3)}
    cases = plan([replace(SMALL, instances=made)]).cases
    assert [case.look_ahead for case in cases] == [True] * 3


def test_a_table_says_in_how_many_runs_foresight_was_looked_for():
    found = osd.ratios("batch", ["a_online", "fifo"], grid={"jobs": 2, "servers": 2}, seeds=9)
    table = found.table()
    assert untried(table).startswith("4 of 18 runs were tested")
    assert untried(table[table["foresight"] == "none found"]) == ""
