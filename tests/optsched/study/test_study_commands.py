"""``optsched study``: run, show and export from the command line; completion of names."""

import json
import os
import shlex
import subprocess
import sys
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

from optsched.cli.names import complete_formulation, complete_heuristic, complete_problem
from optsched.evaluation.ratios import FIELDS
from optsched.study import Store

STUDY = """
[[grid]]
problem = "covering"
generator = { items = [4, 6] }
seeds = 2
heuristics = ["greedy", "shuffled"]
bounds = ["fractional"]
"""

EXAMPLES = Path(__file__).resolve().parents[3] / "studies"


@pytest.fixture
def study(tmp_path):
    """A study file."""
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture
def ran(cli, study):
    """A study file that has been run."""
    result = cli("study", "run", study, "--workers", 1)
    assert result.exit_code == 0, result.stderr
    return study


def test_run_tells_how_far_it_is_and_what_came_of_it(cli, ran, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    again = cli("study", "run", ran, "--workers", 1)
    assert again.exit_code == 0
    assert "16 of 16 runs" in again.stderr
    assert "optimal 4" in again.stdout
    assert "mean ratio" in again.stdout
    assert ran.with_suffix(".sqlite").exists()


def test_show_needs_only_the_store(cli, ran):
    for where in (ran, ran.with_suffix(".sqlite")):
        told = json.loads(cli("study", "show", where, "--json").stdout)
        assert told["progress"]["finished"] == told["progress"]["planned"] == 16
        assert told["methods"][-1]["statuses"] == {"optimal": 4}
        (summary,) = told["summary"]
        assert summary["problem"] == "covering"
        assert {line["items"] for line in summary["lines"]} == {4, 6}
        ran.unlink(missing_ok=True)


def test_show_draws_what_is_asked_and_the_report_beside_it(cli, ran, tmp_path):
    picture, report = tmp_path / "seconds.png", tmp_path / "report.html"
    shown = cli("study", "show", ran, "--plot", picture, "--y", "seconds", "-o", report)
    assert shown.exit_code == 0
    assert picture.stat().st_size > 0
    assert report.stat().st_size > 0
    refused = cli("study", "show", ran, "--y", "seconds")
    assert refused.exit_code == 2
    assert "needs --plot FILE" in refused.stderr


def test_show_tells_what_an_unfinished_study_knows(cli, ran):
    ran.write_text(STUDY.replace("seeds = 2", "seeds = 5"))
    from optsched.study.plan import plan
    from optsched.study.spec import read

    with Store.open(ran.with_suffix(".sqlite")) as store:
        store.set_plan(plan(read(ran).grids), 2)
    shown = cli("study", "show", ran)
    assert shown.exit_code == 0
    assert "4 of 10" in shown.stdout
    assert "16 of 40 runs" in shown.stderr
    assert "left while it runs" in shown.stderr


@pytest.mark.parametrize(("options", "lines"), [([], 8), (["--runs"], 16)])
def test_export_writes_ratios_or_runs(cli, ran, tmp_path, options, lines):
    for name, reader in (("t.csv", pd.read_csv), ("t.parquet", pd.read_parquet)):
        done = cli("study", "show", ran, "-o", tmp_path / name, *options)
        assert done.exit_code == 0, done.stderr
        table = reader(tmp_path / name)
        assert len(table) == lines
        if not options:
            assert tuple(table.columns[: len(FIELDS)]) == FIELDS


def test_a_report_needs_no_more_than_the_store(cli, ran, tmp_path):
    ran.write_text(STUDY.replace("generator = { items = [4, 6] }", 'files = ["gone.json"]'))
    done = cli("study", "show", ran, "-o", tmp_path / "page.html")
    assert done.exit_code == 0, done.stderr


def test_the_commands_on_a_page_are_quoted(cli, ran, tmp_path):
    study = ran.rename(tmp_path / "my study.toml")
    store = ran.with_suffix(".sqlite").rename(tmp_path / "a (1).sqlite")
    page = tmp_path / "it's.html"
    assert cli("study", "show", study, "--store", store, "-o", page).exit_code == 0
    text = unescape(page.read_text())
    kept = [str(study), "--store", str(store)]
    assert shlex.join(["optsched", "study", "run", *kept]) in text
    assert shlex.join(["optsched", "study", "show", *kept, "-o", str(page)]) in text


def test_a_failure_makes_a_no_and_is_shown(cli, study):
    study.write_text(STUDY.replace('"fractional"', '"failing"'))
    done = cli("study", "run", study, "--workers", 1)
    assert done.exit_code == 1
    assert "no bound today" in done.stdout


def test_a_run_asked_for_again_is_computed_again(cli, ran):
    done = cli("study", "run", ran, "--workers", 1, "--retry", "optimal,done", "--json")
    assert json.loads(done.stdout)["progress"]["finished"] == 16


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["run", "{absent}"], ["absent.toml", "cannot be read"]),
        (["run", "{study}", "--workers", "0"], ["--workers", "0"]),
        (["run", "{study}", "--executor", "dask"], ["--address", "tcp://"]),
        (["run", "{study}", "--address", "tcp://a:1"], ["--address", "--executor dask"]),
        (["run", "{study}", "--store", "{folder}"], ["folder"]),
        (["show", "{study}"], ["study.sqlite", "has written"]),
        (["show", "{study}", "-o", "{folder}/t.txt"], ["t.txt", ".parquet"]),
    ],
)
def test_bad_input_is_named_and_exits_2(cli, study, tmp_path, arguments, named):
    places = {"study": study, "absent": tmp_path / "absent.toml", "folder": tmp_path}
    result = cli("study", *(a.format(**places) for a in arguments))
    assert result.exit_code == 2
    assert result.stdout == ""
    for word in named:
        assert word in result.stderr.replace("\n", " ")


def test_help_teaches_the_format_by_an_example(cli):
    shown = cli("study", "run", "--help").stdout
    for word in ("[[grid]]", "heuristics =", "optsched study run study.toml"):
        assert word in shown


# the other files hold the papers' own sweeps, which take hours
@pytest.mark.parametrize("name", ["ratios.toml", "small_edge_clouds.toml"])
def test_the_example_studies_prove_every_optimum(cli, name, tmp_path):
    pytest.importorskip("formulations.preemptive")
    fewer = (EXAMPLES / name).read_text().replace("prove = 5", "prove = 1")
    fewer = fewer.replace("seeds = 10", "seeds = [1]")  # fifteen batch jobs of seed 0 take longer
    study = tmp_path / name
    study.write_text(fewer)
    result = cli("study", "run", study, "--store", tmp_path / "store.sqlite", "--json")
    assert result.exit_code == 0, result.stderr + result.stdout
    told = json.loads(result.stdout)
    assert all(
        line["proven"] == line["rows"] > 0
        for summary in told["summary"]
        for line in summary["lines"]
    )


# completion


def test_names_are_completed():
    assert complete_problem("cov") == ["covering"]
    assert complete_formulation("cov") == ["covering."]
    assert complete_formulation("covering.k") == ["covering.knapsack"]
    assert complete_heuristic("covering.s") == ["covering.shuffled"]
    assert complete_heuristic("uncovering.s") == []


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("optsched generate cov", "covering"),
        ("optsched stu", "study"),
        ("optsched study s", "show"),
        ("optsched check cov", "covering"),
        ("optsched check covering.g", "covering.greedy"),
    ],
)
def test_the_shell_is_answered(plugin_environment, typed, completed):
    asked = {
        "_OPTSCHED_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
    }
    program = "import sys; sys.argv = ['optsched']; from optsched.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **plugin_environment, **asked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed in done.stdout.split()


def test_show_errors_prints_every_failure_with_its_traceback(cli, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text('[[grid]]\nproblem = "covering"\nheuristics = ["crashing"]\n')
    assert cli("study", "run", study, "--workers", 1).exit_code == 1
    shown = cli("study", "show", study, "--errors")
    assert "Traceback (most recent call last):" in shown.stdout
    assert "ZeroDivisionError: as heuristics under test sometimes do" in shown.stdout
    (told,) = json.loads(cli("study", "show", study, "--errors", "--json").stdout)
    assert told["method"] == "crashing"


def test_limits_of_heuristics_stand_in_the_file(cli, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(
        '[heuristic_limits]\ntime_limit = 60\n[[grid]]\nproblem = "covering"\n'
        'heuristics = ["greedy"]\n'
    )
    assert cli("study", "run", study, "--workers", 1).exit_code == 0
    study.write_text("[heuristic_limits]\ntime_limit = 0\n" + STUDY)
    refused = cli("study", "run", study)
    assert refused.exit_code == 2
    assert "heuristic_limits.time_limit" in refused.stderr


def test_comparisons_stand_beside_the_ratios(cli, ran):
    told = json.loads(cli("study", "show", ran, "--json").stdout)
    (paired,) = told["summary"][0]["paired"]
    assert (paired["first"], paired["second"], paired["instances"]) == ("greedy", "shuffled", 4)
    assert paired["wins"] + paired["ties"] + paired["losses"] == 4
    shown = cli("study", "show", ran)
    assert "on the same instances" in shown.stdout
    assert "the best" in shown.stdout


def test_a_table_of_another_kind_is_refused_before_anything_runs(cli, tmp_path):
    result = cli("ratio", "covering", "-o", tmp_path / "rows.xlsx")
    assert result.exit_code == 2
    assert "a file ending in .csv, .parquet" in result.stderr


def test_run_shows_the_heuristics_own_frames(cli, tmp_path):
    instance = tmp_path / "instance.json"
    assert cli("generate", "covering", "-o", instance).exit_code == 0
    result = cli("run", "covering.crashing", instance)
    assert result.exit_code == 1
    assert "ZeroDivisionError: as heuristics under test sometimes do" in result.stderr
    assert "covering.py" in result.stderr
    assert "optsched/cli" not in result.stderr
