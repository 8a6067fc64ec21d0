"""What is printed fits the screen: names and numbers stay whole however narrow it is."""

import re
import time

import pytest

from optsched.cli.console import print_table
from optsched.cli.progress import progress, waiting
from optsched.cli.ratio import show_ratios
from optsched.evaluation.ratios import ComparisonSpec, ratio_rows
from optsched.evaluation.runs import MethodRun
from optsched.evaluation.tables import frame, summarise

COLUMNS = ["heuristic", "jobs", "n", "proven", "mean ratio", "95% interval", "worst", "message"]
ROWS = [
    [
        "a_online(epsilon=0.5)",
        "10",
        "20 of 20",
        20,
        1.0123,
        "1.0101 to 1.0145",
        12345.678,
        "a " * 40,
    ],
    ["first_fit_decreasing", "5", "19 of 20", 19, 1.5, "1.4 to 1.6", 2.0, "stopped at the limit"],
]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_table_keeps_names_and_numbers_whole(monkeypatch, capsys, width):
    monkeypatch.setenv("COLUMNS", str(width))
    print_table(COLUMNS, ROWS, "how far", keys=2)
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= width
    for name in ("a_online(epsilon=0.5)", "first_fit_decreasing", "12345.7", "1.0123", "proven"):
        assert name in said
    for row in ROWS:
        for word in " ".join(str(value) for value in row[:6]).split():
            assert word in said


def test_columns_left_over_follow_under_the_same_keys(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    print_table(COLUMNS, ROWS, keys=2)
    lines = capsys.readouterr().out.splitlines()
    heads = [line for line in lines if line.startswith("heuristic")]
    assert len(heads) > 1
    assert all(re.match(r"heuristic +jobs ", head) for head in heads)


def test_a_wide_screen_has_one_table(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    print_table(COLUMNS, ROWS, keys=2)
    assert len(capsys.readouterr().out.splitlines()) == 2 + len(ROWS)


@pytest.mark.parametrize(("gained", "shown"), [(0.0, True), (2.0, False)])
def test_the_share_of_infinite_ratios_has_a_column_if_there_are_any(
    monkeypatch, capsys, gained, shown
):
    monkeypatch.setenv("COLUMNS", "200")
    spec = ComparisonSpec("any", "maximise", "r", ["r"], {"one": {}}, {}, [], [])
    runs = {
        ("heuristic", "one"): MethodRun("done", cost=gained, offline=True),
        ("exact", "r"): MethodRun("optimal", cost=3.0, bound=3.0, offline=True),
    }
    table = frame(ratio_rows(spec, runs))
    show_ratios(table, summarise(table, by=["heuristic"]), ["heuristic"], [], "maximise")
    heading = capsys.readouterr().out.splitlines()[2]
    assert ("infinite" in heading.split()) == shown


@pytest.mark.parametrize("width", [60, 80])
def test_every_problem_shows_itself_on_a_narrow_screen(monkeypatch, cli, width):
    monkeypatch.setenv("COLUMNS", str(width))
    said = cli("problems", "drp").stdout
    assert max(map(len, said.splitlines())) <= width
    for name in ("problem_5_projected", "nearest_literal", "--distribution", "figures_9_11"):
        assert name in said


def test_the_list_of_problems_fits_a_screen(monkeypatch, cli):
    monkeypatch.setenv("COLUMNS", "80")
    said = cli("problems").stdout.splitlines()
    assert len(said) <= 30
    assert max(map(len, said)) <= 80
    names = [line.split()[0] for line in said if line and not line.startswith(" ")]
    assert {"covering", "preemptive", "solvers"} <= set(names)


def test_help_of_a_generator_is_of_the_problem_that_was_typed(monkeypatch, cli):
    monkeypatch.setenv("COLUMNS", "80")
    said = cli("generate", "drp", "--help").stdout
    assert "--distribution" in said
    assert "--tightness" not in said
    assert len(said.splitlines()) <= 60
    assert "--distribution" in cli("adversarial", "find", "drp.r_dr", "--help").stdout


def test_a_long_wait_says_what_it_is_for_and_a_short_one_nothing(monkeypatch, capsys):
    monkeypatch.setattr("optsched.cli.progress.PATIENCE", 0.05)
    with waiting("counting sheep"):
        time.sleep(0.3)
    assert "counting sheep" in capsys.readouterr().err
    with waiting("blinking"):
        pass
    time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_progress_is_a_line_per_tenth_where_there_is_no_terminal(capsys):
    with progress("measuring", "runs") as tell:
        for done in range(1, 101):
            tell(done, 100)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10
    assert lines[-1] == "measuring: 100 of 100 runs"
