"""The preemptive problem from the command line, as a user runs it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from optsched.cli import app

SMALL = ["--jobs", "4", "--servers", "2", "--types", "1", "--span", "4", "--time-scale", "0.02"]


def invoke(*arguments: str, status: int = 0) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == status, result.output
    return result.stdout


@pytest.fixture
def instance(tmp_path: Path) -> Path:
    path = tmp_path / "instance.json"
    invoke("generate", "preemptive", *SMALL, "--seed", "3", "-o", path)
    return path


def test_a_generated_instance_is_solved_run_checked_and_the_costs_agree(instance, tmp_path):
    best, online = tmp_path / "best.json", tmp_path / "online.json"
    solved = json.loads(
        invoke("solve", "preemptive.problem_2_compact", instance, "-o", best, "--json")
    )
    assert solved["status"] == "optimal"
    assert {"objective", "bound", "gap", "seconds", "solver"} <= set(solved)
    run = json.loads(invoke("run", "preemptive.a_online", instance, "-o", online, "--json"))
    assert run["feasible"]
    assert run["violations"] == []
    assert run["cost"] >= solved["objective"] - 1e-6
    for path, cost in ((best, solved["objective"]), (online, run["cost"])):
        checked = json.loads(invoke("check", "preemptive", instance, path, "--json"))
        assert checked["feasible"]
        assert checked["cost"] == pytest.approx(cost)


@pytest.mark.parametrize(
    "formulation",
    ["problem_2", "problem_2_no_migration_time_free", "problem_4_aggregated", "problem_4_flow"],
)
def test_every_formulation_is_solved_by_name(instance, formulation):
    solved = json.loads(invoke("solve", f"preemptive.{formulation}", instance, "--json"))
    assert solved["status"] == "optimal"
    assert solved["bound"] == pytest.approx(solved["objective"])


def test_a_schedule_made_at_a_higher_speed_is_feasible_at_that_speed_only(instance, tmp_path):
    fast = tmp_path / "fast.json"
    run = json.loads(
        invoke("run", "preemptive.a_online(epsilon=0.5)", instance, "-o", fast, "--json")
    )
    assert run["feasible"]
    slow = json.loads(invoke("check", "preemptive", instance, fast, "--json", status=1))
    assert {v["constraint"] for v in slow["violations"]} >= {"2b"}
    granted = invoke("check", "preemptive", instance, fast, "--json", "--speed", "1.5")
    assert json.loads(granted)["feasible"]


def test_the_quick_preset_gives_true_intervals(tmp_path):
    rows = json.loads(
        invoke(
            "ratio",
            "preemptive",
            *SMALL,
            "--seeds",
            "2",
            "--workers",
            "1",
            "--bounds",
            "lb_paper,lb_prices",
            "--heuristics",
            "a_online,a_online(epsilon=0.2),all_cloud",
            "--json",
        )
    )["rows"]
    assert len(rows) == 6
    for row in rows:
        assert row["status"] == "optimal"
        assert row["ratio_low"] == pytest.approx(row["ratio_high"])
        assert row["bound_lb_prices"] <= row["optimum"] + 1e-6
        if "epsilon" not in row["heuristic"]:
            assert row["ratio_low"] >= 1 - 1e-9


def test_a_malformed_instance_is_refused_with_the_field_and_status_2(instance, tmp_path):
    data = json.loads(instance.read_text())
    data["jobs"][1]["num_chunks"] = 0
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(data))
    result = CliRunner().invoke(app, ["solve", "preemptive.problem_2", str(broken)])
    assert result.exit_code == 2
    assert "jobs[1].num_chunks = 0" in result.output
    assert "Traceback" not in result.output


def test_a_long_run_shows_how_far_it_is(tmp_path):
    path = tmp_path / "instance.json"
    invoke("generate", "preemptive", "--jobs", "520", "--servers", "2", "-o", path)
    result = CliRunner().invoke(app, ["run", "preemptive.a_online", str(path), "--json"])
    assert "500 of 520 jobs" in result.stderr
    assert json.loads(result.stdout)["feasible"]
