"""Plots draw what the rows say."""

import re
from itertools import pairwise

import covering
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import optsched as osd
from optsched.errors import InputError
from optsched.evaluation.tables import frame, options_of, summarise
from optsched.report.plots import (
    means_against,
    means_by,
    over_time,
    ratio_distribution,
)
from optsched.report.study_plots import plot, study_figure


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
    assert means_against(ax, table, "items") is ax
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
    means_against(ax, named, "size")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["small", "medium", "large"]
    assert list(ax.get_xticks()) == [0, 1, 2]


def lines_of(ax):
    """By label, how the points of each group are joined."""
    return {
        line.get_label(): line.get_linestyle()
        for line in ax.get_lines()
        if line.get_label()[0] != "_"
    }


def test_numbers_are_joined_by_lines_and_names_are_not(table):
    named = table.assign(size=table["items"].map({4: "small", 6: "medium", 9: "large"}))
    for x, style in (("items", "-"), ("size", "None")):
        (ax,) = plot(named, x=x).axes
        assert lines_of(ax) == {"greedy": style, "everything": style}


def test_a_plot_says_of_how_many_runs_each_mean_is(table):
    assert "covering: n = 4" in plot(table, x="items").get_supxlabel()
    assert "covering: n = 12" in plot(table).get_supxlabel()
    fewer = table.drop(index=table.index[table["heuristic"] == "greedy"][0])
    assert "covering: n = 11 to 12" in plot(fewer, y="cost").get_supxlabel()


def test_a_row_of_a_dot_plot_has_the_mean_within_its_interval(ax, table):
    means_by(ax, table)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["greedy", "everything"]
    summary = summarise(table).set_index("heuristic")
    for place, name in enumerate(["greedy", "everything"]):
        ((mean,),) = (
            line.get_xdata() for line in ax.get_lines() if list(line.get_ydata()) == [place]
        )
        assert summary.loc[name, "mean_low"] <= mean <= summary.loc[name, "mean_high"]
        ends = [summary.loc[name, end] for end in ("ci_low", "ci_high")]
        assert any(
            np.allclose(bar.get_segments()[0], [[ends[0], place], [ends[1], place]])
            for bar in ax.collections
        )


def test_a_group_with_infinite_ratios_says_so_in_a_dot_plot(ax, table):
    endless = table.assign(ratio_high=np.where(table["heuristic"] == "greedy", np.inf, 2.0))
    means_by(ax, endless)
    assert [text.get_text() for text in ax.texts] == ["infinite"]


def test_names_of_many_ticks_do_not_overlap(table):
    many = table.assign(size=[f"a rather long name {number}" for number in range(len(table))])
    figure = plot(many, x="size")
    figure.draw_without_rendering()
    (ax,) = figure.axes
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    starts = [box.x1 for box in boxes]  # names are turned about their ends
    assert len(boxes) > 3
    assert min(np.diff(starts)) > 10
    numbers = table.assign(size=1000 + np.arange(len(table)) * 0.5)
    figure = plot(numbers, x="size")
    figure.draw_without_rendering()
    (ax,) = figure.axes
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert len(boxes) > 3
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))


def test_every_quantity_of_the_table_is_drawn_and_written(table, tmp_path):
    measured = table.assign(measure_weight=table["cost"] * 2)
    for y in ("ratio", "cost", "seconds", "measure_weight"):
        for x in (None, "items", "seed", "instance"):
            plot(measured, y=y, x=x, path=tmp_path / "plots" / f"{y}-{x}.svg")
    assert len(list((tmp_path / "plots").iterdir())) == 16


def test_the_option_on_the_axis_leaves_the_names_of_the_groups(table):
    named = table.assign(
        heuristic=[f"greedy(step={seed}, slow=True)" for seed in table["seed"]], step=table["seed"]
    )
    (ax,) = plot(named, y="seconds", x="step").axes
    assert lines_of(ax) == {"greedy(slow=True)": "-"}


def test_each_problem_has_a_panel_of_its_own(table):
    both = [table, table.assign(problem="other", items=np.nan)]
    assert len(plot(pd.concat(both)).axes) == 2
    assert len(plot(pd.concat(both), x="items").axes) == 1


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"y": "costs"}, "y = 'costs': one of ratio, cost, seconds; did you mean cost?"),
        ({"x": "item"}, "x = 'item': one of items, seed, instance; did you mean items?"),
        ({"by": "solver"}, "by = 'solver': one of heuristic, items, seed, instance"),
    ],
)
def test_a_column_that_is_not_there_is_refused_with_those_that_are(table, wrong, told):
    assert options_of(table) == ["items"]
    with pytest.raises(InputError, match=re.escape(told)):
        plot(table, **wrong)


def test_a_table_without_a_value_is_refused(table):
    with pytest.raises(InputError, match="there is none yet"):
        plot(table[table["heuristic"] == "crashing"])


def test_the_distribution_rises_from_none_to_all(ax, table):
    assert ratio_distribution(ax, table) is ax
    (first, *rest) = ax.get_lines()
    assert len(rest) == 1
    shares = first.get_ydata()
    assert shares[0] == 0
    assert shares[-1] == 1
    assert np.all(np.diff(shares) >= 0)


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
