"""Verdicts by intervals: what few or scattered instances do not decide stays open."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics.okita.intervals import majority, ordered, settled, within
from optsched.claims import compared, compared_means


def test_two_instances_decide_nothing_however_clear_they_are():
    assert ordered({"rival": [5.0, 5.1]}).verdict == "not measured"
    assert within({"other": [0.0, 0.0]}, 0.1).verdict == "not measured"
    found = compared_means([50.0, 51.0], [100.0, 100.0], -20.0, gain=True, percent=True,
                           better="smaller")  # fmt: skip
    assert found.verdict == "holds"
    assert settled(found, -20.0, "smaller").verdict == "not measured"


def test_a_reduction_whose_interval_spans_zero_does_not_hold():
    found = compared_means([40.0, 140.0, 50.0], [100.0, 110.0, 105.0], -20.0, gain=True,
                           percent=True, better="smaller")  # fmt: skip
    assert found.verdict == "holds"
    assert found.low < 0 < found.high
    assert settled(found, -20.0, "smaller").verdict == "not measured"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([-30.0, -31.0, -29.0], "holds"),
        ([-19.0, -20.5, -18.5], "partly"),
        ([-15.0, -15.2, -14.8], "partly"),
        ([-13.0, -14.5, -11.0], "partly"),
        ([-8.0, -9.5, -6.0], "fails"),
        ([-5.0, -5.2, -4.8], "fails"),
        ([-40.0, 5.0, -30.0], "not measured"),
    ],
)
def test_a_number_is_judged_at_both_ends_of_its_interval(values, expected):
    found = settled(compared(values, -20.0, better="smaller"), -20.0, "smaller")
    assert found.verdict == expected
    assert found.value == pytest.approx(np.mean(values))


def test_an_order_holds_only_against_everyone():
    clear, against, unclear = [1.0, 1.1, 0.9], [-1.0, -1.1, -0.9], [1.0, -1.0, 0.2]
    assert ordered({"a": clear, "b": clear}).verdict == "holds"
    partly = ordered({"a": clear, "b": against, "c": unclear})
    assert partly.verdict == "partly"
    assert "not so: b" in partly.note
    assert "open: c" in partly.note
    assert ordered({"a": against, "b": unclear}).verdict == "fails"
    assert ordered({"a": clear, "b": unclear}).verdict == "not measured"
    assert ordered({"a": [0.0] * 3}).verdict == "fails"


def test_ratios_are_shown_as_geometric_means():
    found = ordered({"rival": np.log([2.0, 4.0, 8.0]).tolist()}, logarithmic=True)
    assert found.value == pytest.approx(4.0)
    assert found.low < 4.0 < found.high
    assert math.log(found.low) + math.log(found.high) == pytest.approx(2 * math.log(4.0))


def test_six_signs_are_the_fewest_that_decide():
    assert majority([True] * 5).verdict == "not measured"
    assert majority([True] * 6).verdict == "holds"
    assert majority([False] * 6).verdict == "fails"
    assert majority([True] * 5 + [False]).verdict == "not measured"
    found = majority([True] * 9 + [False])
    assert found.verdict == "holds"
    assert (found.low, found.high) == (
        pytest.approx(0.555, abs=1e-3),
        pytest.approx(0.9975, abs=1e-3),
    )


@settings(max_examples=50, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_a_majority_and_its_contrary_never_hold_together(signs):
    verdicts = majority(signs).verdict, majority([not sign for sign in signs]).verdict
    assert verdicts in (("holds", "fails"), ("fails", "holds"), ("not measured",) * 2)


def test_a_curve_is_flat_only_if_all_its_intervals_are():
    assert within({"a": [0.01, 0.02, 0.0], "b": [0.0, 0.01, -0.01]}, 0.1).verdict == "holds"
    assert within({"a": [0.01, 0.02, 0.0], "b": [0.3, 0.31, 0.29]}, 0.1).verdict == "fails"
    assert within({"a": [0.2, -0.2, 0.0]}, 0.1).verdict == "not measured"
