"""Proofs of instances: written by ``solve``, checked by ``verify``, tied to one instance."""

import json

import numpy as np
import pytest

from optsched import Model, solve
from optsched.errors import InputError
from optsched.evaluation.proofs import check_proof, nodes, prove
from optsched.problem import problem
from optsched.proof import NotProvenError, ProofError, verify
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

SMALL = {
    "preemptive": {"jobs": 3, "servers": 2, "types": 1, "span": 4, "time_scale": 0.03},
    "preemptive_storage": {"jobs": 2, "servers": 2, "types": 1, "span": 4, "time_scale": 0.03},
    "batch": {"jobs": 3, "servers": 3, "types": 1, "time_scale": 0.05},
    "drp": {"jobs": 5},
    "aerialedge": {"kind": "hard", "tasks": 8},
    "okita": {"jobs": 1, "sites": 2, "horizon": 20},
}


@pytest.mark.parametrize("name", SMALL)
def test_the_reference_optimum_is_proven(name):
    found = problem(name)
    options = found.generator_call(SMALL[name])
    instance, other = (found.generate(np.random.default_rng(seed), **options) for seed in (3, 4))
    answer = found.solve(found.reference, instance, options=Options(time_limit=20))
    document = json.loads(json.dumps(prove(found, found.reference, instance, answer, 60)))
    verdict = check_proof(found, instance, document)
    assert verdict.closed
    assert verdict.of_the_problem
    assert verdict.sentence(found.sense).startswith("proven: no schedule ")
    with pytest.raises((ProofError, AssertionError, InputError, IndexError, ValueError)):
        assert check_proof(found, other, document).closed


@pytest.fixture
def knapsack(tmp_path):
    path = tmp_path / "instance.json"
    path.write_text('{"price": [3, 4, 10], "size": [2, 3, 5], "demand": 5}')
    return path


def test_the_command_line_proves_and_verifies(cli, knapsack, tmp_path):
    proof = tmp_path / "proof.json"
    assert cli("solve", "covering.knapsack", str(knapsack), "--proof", str(proof)).exit_code == 0
    result = cli("check", "covering", str(knapsack), "--proof", str(proof))
    assert result.exit_code == 0, result.stderr
    assert "no schedule costs less than 7, and this one costs 7" in result.stdout
    assert "(covering.knapsack)" in result.stdout
    said = json.loads(
        cli("check", "covering", str(knapsack), "--proof", str(proof), "--json").stdout
    )
    assert said["proven"]
    assert said["formulation"] == "covering.knapsack"
    assert (said["bound"], said["cost"]) == (7.0, 7.0)


def test_okita_is_proven_by_the_columns_of_each_job(cli, tmp_path):
    path, proof = str(tmp_path / "instance.json"), tmp_path / "proof.json"
    cli("generate", "okita", "--jobs", "2", "--sites", "3", "--horizon", "20", "--seed", "1",
        "-o", path)  # fmt: skip
    result = cli("solve", "okita.problem_2_columns", path, "--proof", str(proof))
    assert result.exit_code == 0, result.stderr
    document = json.loads(proof.read_text())
    (leaf,) = document["nodes"]
    assert len(leaf["parts"]) == 2
    size = 1 + sum(len(part["nodes"]) for part in leaf["parts"])
    assert nodes(document) == size
    assert f"{size} nodes" in result.stderr
    assert cli("check", "okita", path, "--proof", str(proof)).stdout.startswith(
        "proven: no schedule costs less than"
    )
    leaf["parts"][0]["bound"][0] += leaf["parts"][0]["bound"][1]
    proof.write_text(json.dumps(document))
    result = cli("check", "okita", path, "--proof", str(proof))
    assert result.exit_code == 1
    assert "does not reach the bound" in result.stdout


def test_a_proof_that_does_not_hold_is_a_no(cli, knapsack, tmp_path):
    proof = tmp_path / "proof.json"
    cli("solve", "covering.knapsack", str(knapsack), "--proof", str(proof))
    document = json.loads(proof.read_text())
    for change, said in (
        ({"bound": [8, 1]}, "does not reach the bound"),
        ({"bound": [6, 1]}, "but the schedule costs 7"),
        ({"schedule": {"taken": [1], "speed": 1.0}}, "but the schedule breaks"),
        ({"nodes": []}, "a branch has no leaf"),
    ):
        proof.write_text(json.dumps({**document, **change}))
        result = cli("check", "covering", str(knapsack), "--proof", str(proof))
        assert result.exit_code == 1, result.stdout + result.stderr
        assert said in result.stdout
    proof.write_text(json.dumps(document))
    knapsack.write_text('{"price": [2, 4, 10], "size": [2, 3, 5], "demand": 5}')
    assert cli("check", "covering", str(knapsack), "--proof", str(proof)).exit_code == 1


def test_what_is_no_proof_is_bad_input(cli, knapsack, tmp_path):
    proof = tmp_path / "proof.json"
    for text in ("[", "[]", "{}", '{"problem": "covering"}'):
        proof.write_text(text)
        assert cli("check", "covering", str(knapsack), "--proof", str(proof)).exit_code == 2
    assert (
        cli("check", "covering", str(knapsack), "--proof", str(tmp_path / "none.json")).exit_code
        == 2
    )


def test_what_was_not_solved_to_optimality_is_not_proven():
    found = problem("covering")
    instance = found.generate(np.random.default_rng(1), **found.generator_call({}))
    answer = found.solve("relaxed", instance)
    with pytest.raises(NotProvenError, match="no optimal schedule"):
        prove(found, "relaxed", instance, answer)


def test_a_proof_that_there_is_no_point_changes_the_status():
    """A point within the solver's tolerance is none in exact arithmetic."""
    m = Model()
    x = m.continuous("x", upper=10)
    m.add("above", x >= 1e-7)
    m.add("below", x <= 0)
    m.minimize(x)
    assert solve(m, extra={"presolve": "off"}).status is Status.OPTIMAL
    solution = solve(m, proof=True, extra={"presolve": "off"})
    assert solution.status is Status.DISAGREEMENT
    assert "contradicted in exact arithmetic: there is no point" in solution.message
    assert verify(m.compile(), solution.proof) is None


def test_solve_keeps_a_proof_and_says_so():
    m = Model()
    x = m.integer("x", 2, upper=5)
    m.add("work", 2 * x[0] + 3 * x[1] >= 7)
    m.minimize(x.sum())
    solution = solve(m, proof=True)
    assert "proven in exact arithmetic" in solution.message
    assert solution.proof is not None
    assert solution.proof["bound"] == [3, 1]
    assert solve(m).proof is None
    m.add("few", x.sum() <= 2)
    nothing = solve(m, proof=True)
    assert nothing.proof is not None
    assert nothing.proof["bound"] is None
    m.indicator(m.binary("b"), x[0] >= 4)
    assert solve(m, "cpsat", proof=True).proof is not None
