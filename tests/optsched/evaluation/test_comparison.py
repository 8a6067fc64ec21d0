"""Heuristics are compared on the same instances."""

import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from optsched.evaluation.comparison import compare, profile, profile_table
from optsched.report.plots import performance_profile


def table(ends, **columns):
    """Rows of ratios: for each heuristic a list of (low, high), None where it has none."""
    return pd.DataFrame(
        [
            {
                "problem": "any",
                "instance": f"i{number}",
                "seed": number,
                "heuristic": name,
                "ratio_low": math.nan if pair is None else pair[0],
                "ratio_high": math.nan if pair is None else pair[1],
                **{column: values[number] for column, values in columns.items()},
            }
            for name, pairs in ends.items()
            for number, pair in enumerate(pairs)
        ]
    )


def test_only_instances_on_which_both_have_a_ratio_count():
    ends = {"one": [(1, 1), (2, 2), (3, 3), None], "other": [(1, 1), (3, 3), None, (1, 1)]}
    (line,) = compare(table(ends)).to_dict("records")
    assert (line["first"], line["second"], line["instances"]) == ("one", "other", 2)
    assert (line["wins"], line["ties"], line["losses"]) == (1, 1, 0)
    assert line["difference_low"] == line["difference_high"] == -0.5


def test_a_paired_interval_is_student_s_of_the_differences():
    ends = {"a": [(1.5, 1.5), (2, 2), (1.1, 1.1)], "b": [(1.4, 1.4), (1.7, 1.7), (1, 1)]}
    (line,) = compare(table(ends)).to_dict("records")
    differences = np.array([0.1, 0.3, 0.1])
    half = 4.3026527 * differences.std(ddof=1) / math.sqrt(3)
    assert line["ci_low"] == pytest.approx(differences.mean() - half)
    assert line["ci_high"] == pytest.approx(differences.mean() + half)


def test_who_is_better_is_known_where_the_optimum_is_not():
    ends = {"good": [(1.0, 2.0), (1.0, 3.0)], "bad": [(1.5, 3.0), (1.2, 3.6)]}
    (line,) = compare(table(ends)).to_dict("records")
    assert (line["wins"], line["losses"]) == (2, 0)
    assert line["difference_low"] == pytest.approx(-(1.0 + 0.6) / 2)
    assert line["difference_high"] == pytest.approx(-(0.5 + 0.2) / 2)


def test_infinite_ratios_lose_and_leave_no_difference():
    ends = {"none": [(math.inf, math.inf)] * 2, "some": [(2, 2), (math.inf, math.inf)]}
    (line,) = compare(table(ends)).to_dict("records")
    assert (line["wins"], line["ties"], line["losses"]) == (0, 1, 1)
    assert math.isnan(line["difference_low"])


def test_groups_are_compared_apart():
    found = compare(table({"a": [(1, 1), (2, 2)], "b": [(2, 2), (1, 1)]}, size=[5, 9]), ["size"])
    assert found[["size", "wins", "losses"]].to_numpy().tolist() == [[5, 1, 0], [9, 0, 1]]


def test_a_profile_counts_every_instance_that_any_heuristic_has():
    ends = {"a": [(1, 2), (3, 3), None], "b": [(2, 4), (1.5, 1.5), None]}
    found = profile(table(ends))
    assert found["a"].tolist() == [1.0, 2.0]
    assert found["b"].tolist() == [1.0, 2.0]
    failing = profile(table({"a": [(1, 1), None], "b": [(2, 2), (1.5, 1.5)]}))
    assert failing["a"].tolist() == [1.0, math.inf]
    shares = profile_table(table(ends)).set_index("heuristic")
    assert shares.loc["a", "within_1"] == 0.5
    assert shares.loc["a", "within_2"] == 1.0


def test_a_profile_is_drawn_up_to_where_it_stays():
    ends = {"a": [(1, 1), None, (1, 1)], "b": [(2, 2), (1.5, 1.5), (1, 1)]}
    ax = performance_profile(Figure().subplots(), table(ends))
    first, second = (line.get_ydata() for line in ax.get_lines())
    assert first[-1] == pytest.approx(2 / 3)
    assert second[-1] == 1
