"""Plots draw what the rows say."""

import covering
import numpy as np
import pytest
from matplotlib.figure import Figure

import optsched as osd
from optsched.evaluation.tables import frame, summarise
from optsched.report.plots import (
    LEGEND_ENTRIES,
    gantt,
    over_time,
    ratio_against,
    ratio_distribution,
    study_figure,
)


@pytest.fixture(scope="module")
def table():
    """Ratios against a relaxation, so that they are intervals; one heuristic always fails."""
    heuristics = ["greedy", "everything", "crashing"]
    grid = {"items": [4, 6, 9]}
    return frame(
        osd.ratios("covering", heuristics, grid=grid, seeds=range(4), reference="relaxed").rows
    )


@pytest.fixture
def ax():
    """An empty axis."""
    return Figure().subplots()


def test_ratios_against_a_parameter_lie_within_their_bars(ax, table):
    assert ratio_against(ax, table, "items") is ax
    lines = {line.get_label(): line for line in ax.get_lines() if line.get_label()[0] != "_"}
    assert set(lines) == {"greedy", "everything"}
    summary = summarise(table, ["heuristic", "items"]).set_index("heuristic")
    for name, line in lines.items():
        middle = line.get_ydata()
        assert np.all(middle >= summary.loc[name, "mean_low"])
        assert np.all(middle <= summary.loc[name, "mean_high"])
    assert ax.get_xlabel() == "items"


def test_a_parameter_of_names_is_spaced_evenly(ax, table):
    named = table.assign(size=table["items"].map({4: "small", 6: "medium", 9: "large"}))
    ratio_against(ax, named, "size")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["small", "medium", "large"]
    assert list(ax.get_xticks()) == [0, 1, 2]


def test_the_distribution_rises_from_none_to_all(ax, table):
    assert ratio_distribution(ax, table) is ax
    (first, *rest) = ax.get_lines()
    assert len(rest) == 1
    shares = first.get_ydata()
    assert shares[0] == 0
    assert shares[-1] == 1
    assert np.all(np.diff(shares) >= 0)


def test_a_gantt_chart_has_a_bar_per_run_and_a_short_legend(ax):
    jobs = LEGEND_ENTRIES + 5
    runs = [(job % 3, float(job), job + 1.5, job) for job in range(jobs)]
    assert gantt(ax, runs, rows=["a", "b", "c"]) is ax
    bars = sum(len(collection.get_paths()) for collection in ax.collections)
    assert bars == jobs
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "b", "c"]
    entries = [text.get_text() for text in ax.get_legend().get_texts()]
    assert entries[-1] == "and 5 more"
    assert len(entries) == LEGEND_ENTRIES + 1


def test_neighbouring_jobs_look_different(ax):
    gantt(ax, [(0, float(job), job + 1.0, job) for job in range(20)])
    looks = [(tuple(c.get_facecolor()[0]), c.get_hatch()) for c in ax.collections]
    assert len(set(looks)) == 20


def test_a_study_without_any_ratio_still_has_a_picture(tmp_path):
    rows = osd.ratios("covering", ["crashing"], grid={"items": [4, 5]}).rows
    for x in ("items", None):
        study_figure(frame(rows), x).savefig(tmp_path / "empty.png")
        assert (tmp_path / "empty.png").stat().st_size > 0


def test_ratios_of_different_magnitude_get_logarithmic_axes(table):
    wide = table.assign(ratio_high=table["ratio_high"] * 20)
    against, distribution = study_figure(wide, "items").axes
    assert (against.get_yscale(), distribution.get_xscale()) == ("log", "log")
    narrow = table.assign(ratio_low=1.0, ratio_high=1.2)
    assert study_figure(narrow, "items").axes[0].get_yscale() == "linear"


def test_the_fake_problem_makes_intervals(table):
    measured = table.dropna(subset=["ratio_low"])
    assert (measured["ratio_low"] < measured["ratio_high"]).any()
    assert covering.PROBLEM.name == "covering"


def test_a_quantity_over_time_is_drawn_constant_between_its_changes(ax):
    curves = {
        "busy": (np.array([0.0, 2.0, 5.0]), np.array([1.0, 3.0])),
        "idle": (np.array([0.0]), np.zeros(0)),
    }
    assert over_time(ax, curves, what="workers") is ax
    (steps,) = ax.patches
    values, edges, _ = steps.get_data()
    assert (values.tolist(), edges.tolist()) == ([1, 3], [0, 2, 5])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time (slots)", "workers")
