"""Verdicts by intervals: what few or scattered instances do not decide stays open."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics.common.claims import compared, compared_means, counted, ordered, within

DIRECTION = "direction holds, size does not"


def test_two_instances_decide_nothing_however_clear_they_are():
    assert ordered({"rival": [5.0, 5.1]}).verdict == "undecided"
    assert within({"other": [0.0, 0.0]}, 0.1).verdict == "undecided"
    found = compared_means([80.0, 81.0], [100.0, 100.0], -20.0, gain=True, percent=True)
    assert found.verdict == "undecided"
    assert "2 instances leave it open" in found.note


def test_a_reduction_whose_interval_spans_zero_does_not_hold():
    found = compared_means(
        [40.0, 140.0, 50.0], [100.0, 110.0, 105.0], -20.0, gain=True, percent=True
    )
    assert found.low < 0 < found.high
    assert found.verdict == "undecided"


def test_a_gain_of_two_instances_that_spans_everything_does_not_hold():
    found = compared_means([60.0, 1.0], [11.0, 1.0], 63.0, gain=True, percent=True)
    assert found.value > 400
    assert found.verdict == "undecided"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([-20.0, -21.0, -19.0], "holds"),
        ([-19.0, -20.5, -18.5], "holds"),
        ([-15.0, -15.2, -14.8], DIRECTION),
        ([-30.0, -31.0, -29.0], DIRECTION),
        ([-140.0, -141.0, -139.0], DIRECTION),
        ([-8.0, -9.5, -6.0], DIRECTION),
        ([5.0, 5.2, 4.8], "fails"),
        ([0.0, 0.0, 0.0], "fails"),
        ([1.0, -2.0, 0.5], "fails"),  # no direction, and certainly not the size
        ([-40.0, 5.0, -30.0], "undecided"),
    ],
)
def test_direction_and_size_are_judged_apart_by_the_interval(values, expected):
    found = compared(values, -20.0, neutral=0.0)
    assert found.verdict == expected
    assert found.value == pytest.approx(np.mean(values))


@pytest.mark.parametrize(
    ("values", "sense", "expected"),
    [
        ([1.5, 1.6, 1.55], "at most", "holds"),
        ([1.5, 1.9, 1.7], "at most", "undecided"),
        ([1.9, 2.0, 1.95], "at most", "fails"),
        ([1.9, 2.0, 1.95], "at least", "holds"),
        ([0.2, 0.3, 0.25], "at least", "fails"),
    ],
)
def test_a_bound_holds_where_the_whole_interval_keeps_it(values, sense, expected):
    assert compared(values, 1.7, sense=sense).verdict == expected


def test_a_range_is_met_anywhere_inside():
    for mean, expected in ((-25.0, "holds"), (-60.0, "holds"), (-10.0, DIRECTION)):
        values = [mean - 0.5, mean, mean + 0.5]
        assert compared(values, (-65.0, -20.0), neutral=0.0).verdict == expected


def test_an_order_holds_only_against_everyone():
    clear, against, unclear = [1.0, 1.1, 0.9], [-1.0, -1.1, -0.9], [1.0, -1.0, 0.2]
    assert ordered({"a": clear, "b": clear}).verdict == "holds"
    mixed = ordered({"a": clear, "b": against, "c": unclear})
    assert mixed.verdict == "fails"
    assert "not so: b" in mixed.note
    assert "open: c" in mixed.note
    assert ordered({"a": against, "b": unclear}).verdict == "fails"
    assert ordered({"a": clear, "b": unclear}).verdict == "undecided"
    assert ordered({"a": [0.0] * 3}).verdict == "fails"


def test_ratios_are_shown_as_geometric_means():
    found = ordered({"rival": np.log([2.0, 4.0, 8.0]).tolist()}, logarithmic=True)
    assert found.value == pytest.approx(4.0)
    assert found.low < 4.0 < found.high
    assert math.log(found.low) + math.log(found.high) == pytest.approx(2 * math.log(4.0))


def test_six_signs_are_the_fewest_that_decide():
    assert counted([True] * 5).verdict == "undecided"
    assert counted([True] * 6).verdict == "holds"
    assert counted([False] * 6).verdict == "fails"
    assert counted([True] * 5 + [False]).verdict == "undecided"
    found = counted([True] * 9 + [False])
    assert found.verdict == DIRECTION
    assert (found.low, found.high) == (
        pytest.approx(0.555, abs=1e-3),
        pytest.approx(0.9975, abs=1e-3),
    )


@settings(max_examples=50, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_a_majority_and_its_contrary_never_hold_together(signs):
    right = ("holds", DIRECTION)
    one, other = counted(signs).verdict, counted([not sign for sign in signs]).verdict
    assert (one in right) == (other == "fails")
    assert (other in right) == (one == "fails")


def test_ties_count_for_nobody():
    found = counted([True] * 6 + [None] * 4)
    assert (found.verdict, found.instances, found.value) == ("holds", 6, 1.0)
    assert "4 of 10 are ties" in found.note
    nothing = counted([None] * 6)
    assert (nothing.verdict, nothing.value) == ("fails", 0.0)


def test_a_curve_is_flat_only_if_all_its_intervals_are():
    assert within({"a": [0.01, 0.02, 0.0], "b": [0.0, 0.01, -0.01]}, 0.1).verdict == "holds"
    assert within({"a": [0.01, 0.02, 0.0], "b": [0.3, 0.31, 0.29]}, 0.1).verdict == "fails"
    assert within({"a": [0.2, -0.2, 0.0]}, 0.1).verdict == "undecided"
