"""The command line: answers on standard output, exit status 0, 1 or 2, never a traceback."""

import json
import os
import random
import signal
import time

import covering
import pandas as pd
import pytest

from optsched import __version__
from optsched.cli.names import extra_options, split_list
from optsched.errors import InputError
from optsched.evaluation.ratios import FIELDS


@pytest.fixture
def said(cli):
    """Run one command with --json and read its answer, checking the exit status."""

    def run(*arguments, status=0):
        result = cli(*arguments, "--json")
        assert result.exit_code == status, result.stderr + result.stdout
        return json.loads(result.stdout)

    return run


@pytest.fixture
def instance(tmp_path):
    """An instance file whose optimum is 7."""
    path = tmp_path / "instance.json"
    path.write_text('{"price": [3, 4, 10], "size": [2, 3, 5], "demand": 5}')
    return path


@pytest.fixture
def schedule(tmp_path):
    """A schedule file that covers 3 of 5."""
    path = tmp_path / "schedule.json"
    path.write_text('{"taken": [1], "speed": 2.0}')
    return path


# answers


def test_problems_lists_everything_a_user_can_name(said):
    found = said("problems", "covering")
    (card,) = found["problems"]
    assert card["reference"] == "knapsack"
    assert [f["name"] for f in card["formulations"]] == ["knapsack", "relaxed", "cutting"]
    assert [f["relaxation"] for f in card["formulations"]] == [False, True, True]
    greedy = next(h for h in card["heuristics"] if h["name"] == "greedy")
    assert greedy["options"] == {"epsilon": "0.0"}
    assert "--tightness" in [o["option"] for o in card["generator_options"]]
    assert "highs" in [s["name"] for s in found["solvers"]]


def test_problems_say_where_the_numbers_of_a_paper_are(said, cli):
    for method in ((), ("problem_3",)):
        found = said("problems", "batch", *method, "--equations")["equations"]
        one = next(e for e in found if e["number"] == "3a")
        assert (one["model"], one["names"]) == ("problem_3", ["x"])
        assert {e["model"] for e in found} >= {"problem_3"}
    assert "(3b)" in cli("problems", "batch", "problem_3", "--equations").stdout
    for wrong in (("covering",), ("batch", "problem_2_offline"), ()):
        assert cli("problems", *wrong, "--equations").exit_code == 2


def test_the_same_seed_generates_the_same_instance(cli, tmp_path):
    for name in ("a.json", "b.json"):
        made = cli("generate", "covering", "--items", 9, "--seed", 4, "-o", tmp_path / name)
        assert made.exit_code == 0
    first, second = (tmp_path / "a.json").read_text(), (tmp_path / "b.json").read_text()
    assert first == second
    assert len(json.loads(first)["price"]) == 9
    printed = cli("generate", "covering", "--items=9", "--seed", 4)
    assert json.loads(printed.stdout) == json.loads(first)
    assert json.loads(cli("generate", "covering", "--seed", 5).stdout) != json.loads(first)


def test_solve_shows_the_variables_of_a_model_on_demand(said, cli, instance):
    assert "values" not in said("solve", "covering.knapsack", instance)
    values = said("solve", "covering.knapsack", instance, "--values")["values"]
    assert [round(x) for x in values["take"]] == [1, 1, 0]
    assert "take[0]" in cli("solve", "covering.knapsack", instance, "--values").stdout


def test_solve_reports_what_is_proven_and_writes_the_schedule(said, cli, instance, tmp_path):
    target = tmp_path / "out" / "schedule.json"
    answer = said("solve", "covering.knapsack", instance, "-o", target)
    assert answer["status"] == "optimal"
    assert answer["objective"] == answer["bound"] == 7
    assert answer["gap"] == 0
    assert {"seconds", "solver", "message", "limit"} <= set(answer)
    assert said("check", "covering", instance, target)["cost"] == 7


def test_solve_takes_build_options_and_a_start(said, instance, schedule):
    answer = said("solve", "covering.knapsack(spare=3)", instance, "--start", schedule)
    assert answer["objective"] == 14


def test_a_start_is_checked_against_the_instance(cli, instance, schedule):
    schedule.write_text('{"taken": [1, 7]}')
    refused = cli("solve", "covering.knapsack", instance, "--start", schedule)
    assert refused.exit_code == 2
    assert "--start = " in refused.stderr
    assert "a feasible schedule of this instance: it breaks (1) by 2" in refused.stderr


def test_an_infeasible_instance_is_a_no(said, tmp_path):
    path = tmp_path / "impossible.json"
    path.write_text('{"price": [3], "size": [2], "demand": 5}')
    answer = said("solve", "covering.knapsack", path, status=1)
    assert answer["status"] == "infeasible"
    assert answer["objective"] is None


def test_run_grants_a_heuristic_the_speed_it_asked_for(said, instance):
    answer = said("run", "covering.greedy(epsilon=1.0)", instance)
    assert (answer["cost"], answer["feasible"], answer["feasible_offline"]) == (4, True, False)
    assert answer["violations"] == []
    assert answer["seconds"] >= 0


def test_a_schedule_that_breaks_the_problem_is_a_no(said, instance, tmp_path):
    target = tmp_path / "empty.json"
    answer = said("run", "covering.nothing", instance, "-o", target, status=1)
    assert not answer["feasible"]
    assert answer["violations"] == [{"constraint": "1", "index": {}, "amount": 5}]
    checked = said("check", "covering", instance, target, status=1)
    assert checked["violations"] == answer["violations"]


def test_check_grants_speed_only_when_told(said, cli, instance, schedule):
    assert said("check", "covering", instance, schedule, status=1)["feasible"] is False
    assert said("check", "covering", instance, schedule, "--speed", 2)["feasible"] is True
    told = cli("check", "covering", instance, schedule)
    assert "speed=2.0" in told.stderr
    assert "violations: 1" in told.stdout


def test_ratio_prints_rows_and_summary(said):
    answer = said(
        *("ratio", "covering", "--items", "4,6", "--seeds", 3, "--workers", 1),
        *("--heuristics", "greedy,greedy(epsilon=0.5)", "--bounds", "fractional"),
    )
    assert len(answer["rows"]) == 2 * 3 * 2
    assert tuple(answer["rows"][0])[: len(FIELDS)] == FIELDS
    assert {row["items"] for row in answer["rows"]} == {4, 6}
    assert all(row["ratio_fractional"] >= row["ratio_high"] for row in answer["rows"])
    assert len(answer["summary"]) == 4
    assert all(line["proven"] == 3 for line in answer["summary"])


def test_a_preset_runs_and_options_change_it(said):
    whole = said("ratio", "covering", "--preset", "tiny", "--workers", 1)
    assert len(whole["rows"]) == 2 * 2 * 2
    part = said("ratio", "covering", "--preset", "tiny", "--items", 5, "--seeds", 1)
    assert [row["instance"] for row in part["rows"]] == ["items=5,seed=0"] * 2


def test_ratio_writes_rows_and_a_picture(cli, tmp_path):
    rows, picture = tmp_path / "new" / "rows.csv", tmp_path / "new" / "picture.png"
    done = cli(
        *("ratio", "covering", "--preset", "tiny", "--workers", 1),
        *("-o", rows, "--plot", picture),
    )
    assert done.exit_code == 0
    assert "greedy" in done.stdout
    table = pd.read_csv(rows)
    assert tuple(table.columns[: len(FIELDS)]) == FIELDS
    assert len(table) == 8
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_row_without_a_ratio_is_shown_and_makes_a_no(cli):
    done = cli(
        *("ratio", "covering", "--seeds", 2, "--workers", 1),
        *("--heuristics", "greedy,nothing,crashing"),
    )
    assert done.exit_code == 1
    assert "without a ratio" in done.stdout
    assert "ZeroDivisionError" in done.stdout
    assert "breaks (1)" in done.stdout


def test_schema_describes_instance_and_schedule(said):
    answer = said("problems", "covering", "--schema")
    assert set(answer["instance"]["properties"]) == set(covering.Cover.model_fields)
    assert set(answer["schedule"]["properties"]) == set(covering.Choice.model_fields)


def test_the_version_is_told(cli):
    assert cli("--version").stdout.strip() == f"optsched {__version__}"


@pytest.mark.parametrize("command", ["generate", "ratio"])
def test_help_lists_the_options_of_the_generators(cli, command):
    shown = cli(command, "covering", "--help")
    assert shown.exit_code == 0
    assert "--tightness" in shown.stdout
    assert "Examples:" in shown.stdout


@pytest.mark.parametrize("command", ["generate", "ratio"])
def test_help_without_a_problem_says_how_to_ask_for_one(cli, command):
    shown = cli(command, "--help").stdout
    assert "--tightness" not in shown
    assert f"{command} PROBLEM --help" in shown
    assert "covering" in shown


@pytest.mark.parametrize("command", ["problems", "solve", "run", "check", "ratio"])
def test_help_teaches_by_example(cli, command):
    assert f"optsched {command}" in cli(command, "--help").stdout


# bad input


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a", ["a"]),
        ("a,b(x=1,y=[2,3]), c", ["a", "b(x=1,y=[2,3])", "c"]),
        ("a(x='1,)'),b", ["a(x='1,)')", "b"]),
    ],
)
def test_commas_within_brackets_do_not_separate(text, parts):
    assert split_list(text) == parts


@pytest.mark.parametrize("text", ["", "a,,b", "a(x=1", "a)b(", "a('"])
def test_a_list_that_is_not_closed_is_refused(text):
    with pytest.raises(InputError):
        split_list(text)


def test_options_come_as_pairs_as_equations_or_alone():
    given = ["--a-b", "-1", "--c=2", "--d", "--e", "x=y"]
    assert extra_options(given) == {"a_b": "-1", "c": "2", "d": "true", "e": "x=y"}


# as a separate process


def test_a_process_keeps_standard_output_for_the_answer(command):
    process = command("ratio", "covering", "--preset", "tiny", "--workers", 2, "--json")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert len(json.loads(out)["rows"]) == 8
    assert "runs" in err


def test_a_process_refuses_bad_input_without_a_traceback(command):
    process = command("generate", "covering", "--items", "-3")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert err.startswith("error: items = '-3'")


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_keeps_the_rows_that_are_there(command, tmp_path, workers):
    rows = tmp_path / "rows.csv"
    process = command(
        *("ratio", "covering", "--heuristics", "greedy", "--items", "5", "--seeds", "3000"),
        *("--workers", workers, "-o", rows),
    )
    while "runs" not in process.stderr.readline():  # a tenth of them is measured
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "interrupted" in err
    assert "Traceback" not in err
    assert 0 < len(pd.read_csv(rows)) < 3000
    assert "greedy" in out


def test_ctrl_c_ends_a_solve_with_what_is_known(command, tmp_path):
    sizes = [2 * n for n in random.Random(1).choices(range(10**7, 10**8), k=60)]
    path = tmp_path / "hard.json"  # an even demand that hardly any choice meets exactly
    path.write_text(json.dumps({"price": sizes, "size": sizes, "demand": sum(sizes) // 4 * 2}))
    process = command("solve", "covering.knapsack", path, "--json")
    assert any("solving" in line for line in process.stderr)  # the solver may say something, too
    time.sleep(1)  # the solver needs far longer
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode in (0, 1), err
    assert json.loads(out)["status"] == "interrupted"


def test_a_solve_without_a_feasible_point_says_with_which_options_and_constraints(cli, tmp_path):
    path = tmp_path / "inst.json"
    assert cli("generate", "batch", "--jobs", 3, "--servers", 2, "-o", path).exit_code == 0
    done = cli("solve", "batch.problem_9(tau=4)", path)
    assert done.exit_code == 1
    assert "infeasible" in done.stdout
    said = "no point of problem (9) with job=0, tau=4, placed='' is feasible: (R1) cannot hold"
    assert said in done.stderr
