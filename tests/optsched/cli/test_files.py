"""Files that commands write: where they may be, and that none takes another's place."""

import json
import os
import threading

import pandas as pd
import pytest

from optsched.cli.console import check_apart
from optsched.study.ratios import ratios

COVER = {"price": [3, 4, 10], "size": [2, 3, 5], "demand": 5}


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A folder with an instance, two tables and a study in it, which is the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inst.json").write_text(json.dumps(COVER))
    (tmp_path / "start.json").write_text('{"taken": [2]}')
    (tmp_path / "jobs.csv").write_text("release_time\n0\n")
    (tmp_path / "workers.csv").write_text("server\n0\n")
    (tmp_path / "study.toml").write_text('[[grid]]\nproblem = "covering"\nheuristics = ["greedy"]')
    (tmp_path / "link.json").symlink_to("inst.json")
    return tmp_path


TWICE = [
    ("run covering.greedy inst.json -o inst.json", "--output", "INSTANCE"),
    ("run covering.greedy inst.json -o link.json", "--output", "INSTANCE"),
    ("solve covering.knapsack inst.json -o ./inst.json", "--output", "INSTANCE"),
    ("solve covering.knapsack inst.json -o a.json --proof a.json", "--proof", "--output"),
    ("solve covering.knapsack inst.json --proof inst.json", "--proof", "INSTANCE"),
    ("solve covering.knapsack inst.json --start start.json -o start.json", "--output", "--start"),
    ("import preemptive jobs.csv -o jobs.csv", "--output", "CSV"),
    ("import preemptive jobs.csv --workers workers.csv -o workers.csv", "--output", "--workers"),
    ("ratio covering -o rows.csv --plot rows.csv", "--plot", "a file ending in .png"),
    ("adversarial find covering.greedy -o a.json --store a.json", "--store", "--output"),
    ("adversarial check case.json --shrink -o case.json", "--output", "CASE"),
    ("adversarial check case.svg --why --plot case.svg", "--plot", "CASE"),
    ("study run study.toml --store study.toml", "--store", "STUDY"),
    ("study show kept.csv -o kept.csv", "--output", "--store"),
    ("study show study.toml --store kept.html -o kept.html", "--output", "--store"),
    ("claims drp -o a.csv --measurements a.csv", "--measurements", "--output"),
]


@pytest.mark.parametrize(("typed", "field", "other"), TWICE, ids=lambda part: part)
def test_a_file_given_twice_is_refused_before_anything_runs(cli, places, typed, field, other):
    before = {path: path.read_text() for path in places.iterdir()}
    result = cli(*typed.split())
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {field} = ")
    assert other in result.stderr
    assert {path: path.read_text() for path in places.iterdir()} == before


def test_what_is_no_regular_file_may_be_given_twice(places):
    pipe = places / "pipe"
    os.mkfifo(pipe)
    check_apart({"--output": pipe, "--proof": pipe}, {"INSTANCE": pipe})


def test_a_pipe_is_a_target_wherever_it_stands(cli, places):
    os.mkfifo(places / "pipe")
    heard = []
    reader = threading.Thread(target=lambda: heard.append((places / "pipe").read_text()))
    reader.start()
    assert cli("generate", "covering", "-o", "pipe").exit_code == 0
    reader.join(timeout=10)
    assert set(json.loads(heard[0])) == {"price", "size", "demand"}
    assert (places / "pipe").is_fifo()


def test_the_root_of_all_folders_is_no_file(cli):
    refused = cli("generate", "covering", "--items", "3", "-o", "/")
    assert refused.exit_code == 2
    assert refused.stderr == "error: file = '/': a file in a folder that can be written\n"


def test_a_link_whose_folder_is_none_is_refused(cli, places):
    (places / "astray.json").symlink_to("inst.json/below.json")
    result = cli("generate", "covering", "-o", "astray.json")
    assert result.exit_code == 2
    assert "can be written" in result.stderr


@pytest.mark.parametrize(("ending", "read"), [("csv", pd.read_csv), ("parquet", pd.read_parquet)])
def test_a_table_is_written_to_the_file_that_a_link_names(cli, places, ending, read):
    (places / "elsewhere").mkdir()
    link = places / f"rows.{ending}"
    link.symlink_to(f"elsewhere/rows.{ending}")
    done = cli("ratio", "covering", "--seeds", 1, "--heuristics", "greedy", "-o", link)
    assert done.exit_code == 0, done.stderr
    assert link.is_symlink()
    assert len(read(places / "elsewhere" / f"rows.{ending}")) == 1


@pytest.fixture
def interrupted(monkeypatch):
    """Let a ratio be interrupted when so many of its four instances are measured."""

    def after(count):
        def stopped(*arguments, progress, **options):
            def tell(step):
                if step.finished == 2 * count:  # of two runs an instance
                    raise KeyboardInterrupt

            return ratios(*arguments, progress=tell, **options)

        monkeypatch.setattr("optsched.study.ratios.ratios", stopped)

    return after


RATIO = ["ratio", "covering", "--heuristics", "greedy", "--seeds", 4, "--workers", 1]


def test_a_plot_on_demand_is_of_what_is_asked(cli, places):
    axes = ("--y", "cost", "--x", "items", "--by", "seed")
    done = cli(*RATIO, "--items", "3,4", "--plot", "new.svg", *axes)
    assert done.exit_code == 0
    assert "wrote new.svg" in done.stderr
    assert (places / "new.svg").stat().st_size > 0


@pytest.mark.parametrize(
    ("axes", "told"),
    [
        (["--plot", "new.svg", "--y", "costs"], "y = 'costs': one of ratio, cost, seconds"),
        (["--plot", "new.svg", "--x", "item"], "did you mean items?"),
        (["--x", "items"], "needs --plot FILE"),
    ],
)
def test_axes_that_cannot_be_drawn_are_refused_before_anything_runs(cli, places, axes, told):
    there = set(places.iterdir())
    done = cli(*RATIO, "--items", "3,4", "-o", "rows.csv", *axes)
    assert done.exit_code == 2
    assert told in done.stderr
    assert set(places.iterdir()) == there


def test_an_interrupted_table_stands_beside_an_older_one(cli, places, interrupted):
    interrupted(2)
    (places / "rows.csv").write_text("older")
    done = cli(*RATIO, "-o", "rows.csv", "--plot", "new.svg")
    assert done.exit_code == 130
    assert "rows.csv stays as it was\nwrote rows.part.csv\nwrote new.svg" in done.stderr
    assert (places / "rows.csv").read_text() == "older"
    assert len(pd.read_csv(places / "rows.part.csv")) == 2


@pytest.mark.parametrize("before", [True, False])
def test_nothing_is_written_of_nothing(cli, places, interrupted, before):
    interrupted(0)
    if before:
        (places / "rows.csv").write_text("older")
    there = set(places.iterdir())
    done = cli(*RATIO, "-o", "rows.csv", "--plot", "new.svg")
    assert done.exit_code == 130
    assert "rows.csv is not written\nnew.svg is not written" in done.stderr
    assert set(places.iterdir()) == there
