"""The problem with storage as the toolkit sees it: generator, ratio study, files, theorems."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from formulations.preemptive import PROBLEM, STORAGE
from formulations.preemptive.generator import generate, generate_with_storage
from formulations.preemptive.instance import Instance
from formulations.preemptive.problem_11 import lp_kappa
from optsched.cli import app
from optsched.errors import InputError
from optsched.problem import problem
from optsched.solvers.solution import Status

SMALL = ["--jobs", "5", "--servers", "3", "--types", "1", "--span", "5", "--time-scale", "0.02"]


def invoke(*arguments: object, status: int = 0) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == status, result.output
    return result.stdout


def test_storage_is_drawn_after_the_jobs_and_changes_none_of_them() -> None:
    options = {"jobs": 6, "servers": 4, "rounded": False}
    plain = generate(np.random.default_rng(7), **options)
    stored = generate_with_storage(np.random.default_rng(7), **options, room=3)
    for name in ("release_time", "num_chunks", "chunk_time_slow", "upload_delay_edge"):
        assert np.array_equal(getattr(plain, name), getattr(stored, name))
    assert np.all((stored.chunk_storage >= 0.5) & (stored.chunk_storage <= 2))
    workers = np.bincount(stored.worker_server, minlength=4)
    assert np.allclose(stored.storage_capacity, 3 * 1.25 * workers)
    assert [j.chunk_storage for j in stored.jobs_document] == stored.chunk_storage.tolist()


def test_a_server_without_room_for_anything_is_not_generated() -> None:
    with pytest.raises(InputError, match="room"):
        generate_with_storage(np.random.default_rng(0), room=0)


def test_a_stored_instance_is_solved_run_checked_and_certified_from_files(tmp_path: Path) -> None:
    instance, best, online = (tmp_path / f"{n}.json" for n in ("instance", "best", "online"))
    name = "preemptive_storage"
    invoke("generate", name, *SMALL, "--room", "2", "--seed", "2", "-o", instance)
    solved = json.loads(
        invoke("solve", f"{name}.problem_7_compact", instance, "-o", best, "--json")
    )
    assert solved["status"] == "optimal"
    run = json.loads(invoke("run", f"{name}.a_online_storage", instance, "-o", online, "--json"))
    assert run["feasible"]
    assert run["cost"] >= solved["objective"] - 1e-6
    for path in (best, online):
        assert json.loads(invoke("check", name, instance, path, "--json"))["feasible"]
    assert json.loads(invoke("check", name, instance, online, "--theorems", "--json"))["sound"]
    # a schedule that looks at no limit may break them, and does here
    invoke("run", "preemptive.a_online", instance, "-o", online, "--json")
    broken = json.loads(invoke("check", name, instance, online, "--json", status=1))
    assert {v["constraint"] for v in broken["violations"]} == {"7b"}


def test_the_study_of_the_problem_with_storage_gives_true_intervals() -> None:
    command = ["ratio", "preemptive_storage", *SMALL, "--room", "2,8", "--seeds", "1"]
    bounds = ["--bounds", "lb_prices"]
    options = ["--workers", "1", "--heuristics", "a_online_storage", *bounds]
    rows = json.loads(invoke(*command, *options, "--json"))["rows"]
    assert len(rows) == 2
    for row in rows:
        assert row["status"] == "optimal"
        assert row["ratio_low"] == pytest.approx(row["ratio_high"])
        assert row["ratio_low"] >= 1 - 1e-9
        assert row["bound_lb_prices"] <= row["optimum"]


def test_both_problems_are_found_with_their_algorithms_and_theorems() -> None:
    stored, plain = problem("preemptive_storage"), problem("preemptive")
    assert set(stored.heuristics) == {"a_online_storage", "all_cloud", "reoptimise"}
    assert set(stored.formulations) == set(STORAGE.formulations)
    assert {"problem_10", "problem_11", "lp_kappa"} <= set(plain.formulations)
    assert STORAGE.certify is not None
    assert PROBLEM.certify is not None


@pytest.mark.parametrize("epsilon", [0.0, -1.0, np.inf])
def test_the_theorem_needs_a_faster_online_machine(epsilon: float) -> None:
    with pytest.raises(InputError, match="epsilon"):
        lp_kappa(generate(np.random.default_rng(0), jobs=1, servers=1), epsilon=epsilon)


SOLVERS = ["highs", "scip", "cbc"]


@pytest.mark.parametrize("unit", [1.0, 1e-4, 1e-6])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_chunk_that_is_one_byte_too_large_is_stored_elsewhere(solver, unit):
    """Only one of two chunks of 1000001 fits each server; together they fit 2000002."""
    two = Instance.build(
        release_time=[0, 0], num_chunks=1, chunk_time_slow=4,
        upload_delay_edge=[[0, 1], [0, 1]], upload_delay_cloud=np.inf,
        worker_server=[0, 0, 1], chunk_storage=1000001 * unit,
        storage_capacity=np.array([2000001, 2000000]) * unit,
    )  # fmt: skip
    for method in ("problem_7_compact", "problem_7"):
        assert STORAGE.solve(method, two, solver=solver).solution.objective == 9
    roomy = replace(two, storage_capacity=np.array([2000002, 0]) * unit)
    for method in ("problem_7_compact", "problem_7"):
        assert STORAGE.solve(method, roomy, solver=solver).solution.objective == 8


def test_a_solution_of_7_is_judged_by_the_release_of_storage_that_was_asked_for():
    """Once the first chunk of job 0 is done there is room for job 1, by chunk and not by job."""
    narrow = Instance.build(
        release_time=[0, 1], num_chunks=[2, 1], chunk_time_slow=1, upload_delay_edge=[[0], [0]],
        upload_delay_cloud=np.inf, worker_server=[0], chunk_storage=1, storage_capacity=2,
    )  # fmt: skip
    assert STORAGE.solve("problem_7", narrow).solution.status is Status.INFEASIBLE
    answer = STORAGE.solve("problem_7(storage_release=chunk)", narrow)
    assert (answer.solution.status, answer.solution.objective) == (Status.OPTIMAL, 4)
    assert answer.check == {"slotted": True, "storage_release": "chunk"}
