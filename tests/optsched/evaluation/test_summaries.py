"""Many ratios in one line: means, intervals of means, the worst, and what is left out of them."""

import math
from dataclasses import replace

import covering
import numpy as np
import pytest

import optsched as osd
from optsched.evaluation.ratios import ComparisonSpec, ratio_rows
from optsched.evaluation.runs import MethodRun
from optsched.evaluation.tables import frame, in_words, interval_cell, span, summarise

INSTANCE = covering.Cover(price=[3, 4, 10], size=[2, 3, 5], demand=5)  # optimum 7


def one(heuristic):
    """The row of a heuristic on the instance."""
    (row,) = osd.ratios(covering.PROBLEM, [heuristic], instances=INSTANCE).rows
    return row


def test_the_interval_of_the_mean_is_student_s_and_reaches_further_up():
    rows = osd.ratios("covering", ["shuffled"], grid={"items": [6]}, seeds=range(5)).rows
    ratios = np.array([row.ratio_low for row in rows])
    (line,) = summarise(frame(rows)).to_dict("records")
    half = 2.7764451 * ratios.std(ddof=1) / np.sqrt(5)  # t quantile, 4 degrees of freedom
    excess = ratios.mean() - 1
    assert line["mean_low"] == line["mean_high"] == pytest.approx(ratios.mean())
    assert line["ci_low"] == pytest.approx(max(1.0, ratios.mean() - half))
    assert line["ci_high"] == pytest.approx(1 + excess * math.exp(half / excess))
    assert line["ci_high"] - line["mean_high"] > half
    assert line["max_high"] == ratios.max()
    assert line["proven"] == line["measured"] == line["rows"] == 5


def test_a_summary_counts_rows_without_a_ratio_and_leaves_them_out_of_the_mean():
    good = one("everything")
    bad = replace(good, status="error", ratio_low=None, ratio_high=None)
    (line,) = summarise(frame([good, bad])).to_dict("records")
    assert (line["rows"], line["measured"], line["mean_low"]) == (2, 1, 17 / 7)
    assert math.isnan(line["ci_low"])
    assert line["ci_note"] == "one value"


def with_ratios(*ratios, **fields):
    """Summary of rows with these ratios."""
    good = one("greedy")
    rows = [replace(good, ratio_low=r, ratio_high=r, **fields) for r in ratios]
    (line,) = summarise(frame(rows)).to_dict("records")
    return line


def test_the_interval_of_a_mean_ratio_never_reaches_below_what_holds():
    assert with_ratios(1, 1, 50)["ci_low"] == 1
    assert with_ratios(0.1, 0.2, 50, may_beat=True)["ci_low"] == 0


def test_a_sample_that_says_nothing_of_its_spread_has_no_interval_and_says_so():
    line = with_ratios(1.5, 1.5, 1.5)
    assert line["ci_note"] == "all equal"
    assert math.isnan(line["ci_low"])
    assert math.isnan(line["ci_high"])
    assert interval_cell(line) == "- (all equal)"
    assert interval_cell(with_ratios(1.5)) == "- (one value)"


def test_infinite_ratios_make_mean_and_worst_infinite_and_are_counted():
    line = with_ratios(1.0, 2.0, 3.0, math.inf)
    assert (line["mean_low"], line["max_high"]) == (math.inf, math.inf)
    assert (line["ci_low"], line["ci_high"]) == (math.inf, math.inf)
    assert (line["measured"], line["infinite"]) == (4, 0.25)
    assert span(line["mean_low"], line["mean_high"]) == "infinite"
    assert in_words([line])[0]["max_high"] == "infinite"


def test_a_schedule_worth_nothing_has_an_unbounded_ratio():
    run = replace(one("greedy"), cost=0.0)
    spec = ComparisonSpec("any", "maximise", "r", ["r"], {"none": {}}, {}, [], [])
    runs = {
        ("heuristic", "none"): MethodRun("done", cost=0.0, offline=True),
        ("exact", "r"): MethodRun("optimal", cost=3.0, bound=3.0, offline=True),
    }
    (row,) = ratio_rows(spec, runs)
    assert (row.status, row.optimum, row.cost) == ("unbounded ratio", 3.0, run.cost)
    assert (row.ratio_low, row.ratio_high) == (math.inf, math.inf)
    assert with_ratios(row.ratio_low)["infinite"] == 1
