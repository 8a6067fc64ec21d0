"""Figures of papers as data: what is drawn, in which order, where printed numbers stand."""

import json
from importlib.metadata import EntryPoint

import pandas as pd
import pytest
from support.pictures import unreadable
from typer.testing import CliRunner

from heuristics.common import figures as module
from heuristics.common.figures import PaperFigure, Printed
from optsched.cli import app
from optsched.study.sweep import Sweep

CALLS = []


def observe(*, jobs, seed):
    CALLS.append(jobs)
    return [{"method": "slow", "cost": 2.0 * jobs}, {"method": "fast", "cost": 1.0 * jobs + seed}]


def tasks(scale):
    return [{"jobs": jobs, "seed": seed} for jobs in (10, 20) for seed in range(2)]


def rows(frame):
    return pd.DataFrame({"x": frame["jobs"], "y": frame["cost"], "series": frame["method"]})


def panels(frame):
    return rows(frame).assign(panel=frame["seed"].map({0: "second", 1: "first"}))


SWEEP = Sweep("costs", tasks, observe)
COSTS = PaperFigure(
    2, "Cost against jobs.", SWEEP, rows, "jobs J", "cost", ("fast", "slow"),
    printed=(Printed("half of slow", 0.5, of="slow"), Printed("below 50", 50.0)),
)  # fmt: skip
SPLIT = PaperFigure(
    3, "Cost, by seed.", SWEEP, panels, "jobs J", {"first": "cost of one", "second": "cost"},
    ("fast", "slow"),
)  # fmt: skip
ABSENT = PaperFigure(4, "A photograph.", missing="It shows machines that we do not have.")
FIGURES = (COSTS, SPLIT, ABSENT)


@pytest.fixture
def announced(monkeypatch):
    """The figures above, as those of a paper on covering."""
    entries = (EntryPoint("covering", f"{__name__}:FIGURES", "optsched.figures"),)
    monkeypatch.setattr(module, "entry_points", lambda group: entries)
    monkeypatch.setattr(EntryPoint, "load", lambda entry: FIGURES)


def run(*arguments):
    return CliRunner().invoke(app, ["figure", *map(str, arguments)])


def drawn(figure):
    return figure.draw(figure.points(figure.sweep("quick")))


def test_series_stand_in_the_printed_order_and_means_are_over_instances():
    means = COSTS.means(COSTS.points(SWEEP("quick")))
    assert list(means) == ["fast", "slow"]
    assert means["fast"].tolist() == [10.5, 20.5]


def test_a_printed_factor_stands_at_that_multiple_of_the_series_it_names():
    (ax,) = drawn(COSTS).axes
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert lines["printed: half of slow"].get_ydata().tolist() == [10.0, 20.0]
    assert set(lines["printed: below 50"].get_ydata()) == {50.0}


def test_panels_stand_in_their_order_with_labels_of_their_own():
    axes = drawn(SPLIT).axes
    assert [ax.get_title(loc="left") for ax in axes] == ["first", "second"]
    assert [ax.get_ylabel() for ax in axes] == ["cost of one", "cost"]
    assert {ax.get_xlabel() for ax in axes} == {"jobs J"}


@pytest.mark.parametrize("figure", [COSTS, SPLIT])
def test_legend_caption_and_panels_lie_apart_and_within_the_picture(figure):
    measured = figure.sweep("quick")
    caption = figure.caption_of(measured, "small") + " And a long note of many words." * 9
    assert unreadable(figure.draw(figure.points(measured), caption)) == []


def test_a_series_has_one_look_and_one_entry_in_the_legend_of_all_panels():
    only = {"first": ["fast", "slow"], "second": ["slow"]}
    points = SPLIT.points(SWEEP("quick"))
    kept = points[[s in only[p] for s, p in zip(points["series"], points["panel"], strict=True)]]
    picture = SPLIT.draw(kept)
    (legend,) = picture.subfigs[0].legends
    assert [text.get_text() for text in legend.get_texts()] == ["fast", "slow"]
    colours = {
        line.get_color() for ax in picture.axes for line in ax.get_lines()
        if line.get_label() == "slow"
    }  # fmt: skip
    assert len(colours) == 1


def test_an_axis_shows_means_and_marks_and_cuts_intervals_of_few_values():
    far = SWEEP("quick").assign(cost=lambda frame: frame["cost"] * 10.0 ** frame["seed"])
    (ax,) = COSTS.draw(COSTS.points(far)).axes
    largest = COSTS.means(COSTS.points(far)).to_numpy().max()
    assert largest < ax.get_ylim()[1] <= 1.05 * 2 * largest


def test_a_caption_says_scale_seeds_and_values_of_a_mean():
    said = COSTS.caption_of(SWEEP("quick"), "small")
    assert said == "Figure 2. Cost against jobs. Scale: small; 2 seeds, n = 2 for each mean."


def test_a_series_that_the_figure_does_not_name_is_an_error():
    strange = SWEEP("quick").replace("slow", "other")
    with pytest.raises(ValueError, match="other"):
        COSTS.points(strange)


def test_the_list_says_why_a_figure_is_not_drawn(announced):
    found = json.loads(run("covering", "--json").stdout)["figures"]
    assert [one["drawn"] for one in found] == [True, True, False]
    assert found[2]["note"] == ABSENT.missing


def test_figures_of_one_study_measure_it_once_and_a_second_call_measures_nothing(
    announced, tmp_path
):
    CALLS.clear()
    common = ("--store", tmp_path / "kept.sqlite", "--workers", 1)
    assert run("covering", *common, "-o", tmp_path / "all").exit_code == 0
    assert len(CALLS) == 4
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == [
        "covering_2.svg",
        "covering_3.svg",
    ]
    answer = json.loads(run("covering", 2, *common, "--json").stdout)
    assert len(CALLS) == 4
    assert answer["means"][0] == {"panel": "", "x": 10, "fast": 10.5, "slow": 20.0}
    assert answer["printed"][0]["text"] == "half of slow"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("covering", 9), ["NUMBER", "9", "2, 3"]),
        (("covering", 4), ["NUMBER", "4", ABSENT.missing]),
        (("packing", 1), ["packing", "covering"]),
        (("covering", 2, "-o", "figure.doc"), ["figure.doc", ".png"]),
        (("covering", "-o", "figure.png"), ["NUMBER", "folder"]),
        (("covering", 2, "--data", "missing"), ["--data", "missing", "a folder"]),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_anything_runs(announced, arguments, said):
    CALLS.clear()
    result = run(*arguments)
    assert result.exit_code == 2
    assert all(word in result.stderr for word in said)
    assert not CALLS
