"""Why an optimum is believed."""

import json

import pytest

import optsched as osd
from optsched.evaluation.ratios import ComparisonSpec, ratio_rows
from optsched.evaluation.runs import MethodRun
from optsched.parallel.local import Serial
from optsched.problem import problem
from optsched.solvers.solution import Status
from optsched.study.engine import Engine
from optsched.study.plan import Exact, StudyGrid, plan
from optsched.study.spec import parse
from optsched.study.store import Store


def known_by(solves, proof=None):
    spec = ComparisonSpec(
        "p", "minimise", "exact", list(solves), {"h": {}}, {"bound": True}, [], []
    )
    runs = {("exact", name): run for name, run in solves.items()}
    runs["heuristic", "h"] = MethodRun(Status.DONE, cost=4.0, offline=True)
    runs["bound", "bound"] = MethodRun(Status.DONE, bound=4.0)
    if proof is not None:
        runs["proof", "first"] = proof
    (row,) = ratio_rows(spec, runs)
    return row.known_by


def optimal(solver):
    return MethodRun("optimal", cost=4.0, bound=4.0, offline=True, solver=solver)


@pytest.mark.parametrize(
    ("solves", "proof", "word"),
    [
        ({"first": optimal("highs 1.12.0")}, None, "solver"),
        ({"first": optimal("highs 1"), "second": optimal("scipy 1.17")}, None, "solver"),
        ({"first": optimal("highs 1"), "second": optimal("cpsat 9")}, None, "two solvers"),
        ({"first": optimal("highs 1")}, MethodRun(Status.OPTIMAL, bound=4.0), "proven"),
        ({"first": optimal("highs 1")}, MethodRun(Status.OPTIMAL, bound=3.0), "solver"),
        ({"first": optimal("highs 1")}, MethodRun(Status.FEASIBLE), "solver"),
        ({"first": MethodRun("no solution")}, None, "bound"),
    ],
)
def test_the_best_reason_there_is_counts(solves, proof, word):
    assert known_by(solves, proof) == word


def test_a_ratio_study_proves_its_optima():
    study = osd.ratios("preemptive", ["srtf"], grid={"jobs": [2]}, seeds=range(2), prove=30)
    assert [row.known_by for row in study.rows] == ["proven", "proven"]
    assert [row.record()["known_by"] for row in study.rows] == ["proven", "proven"]


def test_a_proof_is_a_run_of_its_own_that_is_kept():
    exact = Exact(problem("preemptive").reference, prove=30.0)
    asked = plan([StudyGrid("preemptive", {"jobs": [2]}, (), [0], ["srtf"], [exact])])
    assert [step.kind for step in asked.layouts[0].steps] == ["heuristic", "exact", "proof"]
    with Store.in_memory() as store:
        (one,) = Engine(asked, store, Serial()).finished_instances()
        (proof,) = [r for r in store.runs().values() if r.status is Status.OPTIMAL and not r.solver]
        assert one.rows[0].known_by == "proven"
        assert proof.bound == pytest.approx(one.rows[0].optimum)
        assert proof.nodes >= 1
        again = list(Engine(asked, store, Serial()).run())
        assert again[-1].computed == 0


def test_where_no_proof_is_found_in_time_the_solver_stands_for_its_optimum():
    exact = Exact(problem("preemptive").reference, prove=1e-9)
    asked = plan([StudyGrid("preemptive", {"jobs": [3]}, (), [0], ["srtf"], [exact])])
    with Store.in_memory() as store:
        (one,) = Engine(asked, store, Serial()).finished_instances()
        assert one.rows[0].known_by == "solver"
        (proof,) = [run for run in store.runs().values() if run.status == Status.FEASIBLE]
        assert "time" in proof.message


def test_a_study_file_says_how_long_a_proof_may_take(tmp_path):
    document = {"limits": {"prove": 5}, "grid": [{"problem": "preemptive"}]}
    (grid,) = parse(json.loads(json.dumps(document)), tmp_path).grids
    assert [one.prove for one in grid.exact] == [5.0]
