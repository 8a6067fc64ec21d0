"""The rules of verdicts: direction and size, and what is not enough to judge by."""

import math

import pytest
from claims_cases import DIRECTION
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics.common.claims import bounded, compared, compared_means, counted, limited
from optsched.errors import InputError
from optsched.evaluation.tables import mean_interval


@pytest.mark.parametrize(
    ("measured", "printed", "sense", "neutral", "verdict"),
    [
        (0.33, 0.33, "about", 0.0, "holds"),
        (0.3101, 0.33, "about", 0.0, "holds"),  # just within the slack
        (0.3099, 0.33, "about", 0.0, DIRECTION),
        (0.36, 0.33, "about", 0.0, DIRECTION),
        (2.31, 0.33, "about", 0.0, DIRECTION),  # seven times too much is not the size
        (98.01, 100.0, "at least", None, "holds"),  # relative to what is large
        (97.99, 100.0, "at least", None, "fails"),
        (0.10, 0.33, "about", 0.0, DIRECTION),
        (-0.33, 0.33, "about", 0.0, "fails"),
        (0.0, 0.33, "about", 0.0, "fails"),
        (-0.30, -0.15, "about", 0.0, DIRECTION),
        (-0.16, -0.15, "about", 0.0, "holds"),
        (0.15, -0.15, "about", 0.0, "fails"),
        (0.02, 0.76, "about", 1.0, DIRECTION),  # a fiftieth is no three quarters
        (1.3, 0.76, "about", 1.0, "fails"),
        (0.13, 0.12, "at most", None, "holds"),
        (0.20, 0.12, "at most", None, "fails"),
        (9.0, 9.0, "about", None, "holds"),
        (12.0, 9.0, "about", None, "fails"),
        (0.0, 0.0, "about", None, "holds"),
    ],
)
def test_direction_and_size_are_judged_apart(measured, printed, sense, neutral, verdict):
    found = compared([measured] * 3, printed, sense=sense, neutral=neutral)
    assert found.verdict == verdict


@given(
    printed=st.floats(-100, 100),
    measured=st.lists(st.floats(-200, 200), min_size=2, max_size=2),
    sense=st.sampled_from(["at least", "at most"]),
)
@settings(deadline=None, max_examples=200)
def test_measuring_better_never_makes_a_bound_worse(printed, measured, sense):
    worse, good = sorted(measured, reverse=sense == "at most")
    verdicts = [compared([value] * 3, printed, sense=sense).verdict for value in (worse, good)]
    assert verdicts != ["holds", "fails"]


def test_values_that_are_no_numbers_are_left_out_and_the_note_says_so():
    found = compared([1.0, math.nan, math.inf, 3.0], 2.0)
    assert (found.value, found.instances) == (2.0, 2)
    assert "2 of 4" in found.note
    assert compared([math.nan], 2.0).verdict == "not measured"


def test_room_is_absolute_and_slack_relative():
    assert compared([98.5] * 3, 100.0, room=1.0).verdict == "fails"
    assert compared([98.5] * 3, 100.0, slack=0.02).verdict == "holds"


@given(values=st.lists(st.floats(1, 100), min_size=2, max_size=8), scale=st.floats(0.5, 50))
@settings(deadline=None, max_examples=100)
def test_a_ratio_to_a_constant_has_the_interval_of_the_mean(values, scale):
    found = compared_means(values, [scale] * len(values), 1.0)
    low, high = mean_interval(values)
    assert found.value == pytest.approx(sum(values) / len(values) / scale)
    assert (found.low * scale, found.high * scale) == pytest.approx((low, high), abs=1e-6)


def test_a_ratio_of_means_survives_an_instance_where_the_rival_has_nothing():
    found = compared_means([3.0, 3.0], [0.0, 4.0], 50.0, gain=True, percent=True)
    assert found.value == pytest.approx(50.0)
    assert found.verdict == "undecided"
    assert compared_means([1.0], [0.0], 1.0).verdict == "not measured"


def test_proportional_methods_have_a_ratio_without_spread():
    found = compared_means([1.0, 5.0, 9.0], [2.0, 10.0, 18.0], 0.5)
    assert (found.low, found.value, found.high) == pytest.approx((0.5, 0.5, 0.5))


def test_methods_measured_on_different_instances_are_not_compared():
    with pytest.raises(InputError, match="as many as values"):
        compared_means([1.0], [1.0, 2.0], 1.0)


def test_an_order_holds_on_all_instances_and_has_the_direction_on_most():
    signs = ([True] * 6, [True] * 9 + [False], [False] * 6, [True, False])
    assert [counted(h).verdict for h in signs] == ["holds", DIRECTION, "fails", "undecided"]
    assert counted([True, False]).value == 0.5
    assert counted([]).verdict == "not measured"


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        ([1.0, 1.2, 1.8], [1.1, 1.2, 1.8], "holds"),  # a ceiling may be reached
        ([1.0, 1.0, 1.800001], [1.1, 1.0, 3.0], "fails"),  # whatever the mean
        ([1.0, 1.0, 1.8], [1.1, 1.0, 1.800001], "undecided"),
        ([1.0, 1.0, 1.0], [1.0, 1.0, math.inf], "undecided"),
        ([2.0], [2.0], "fails"),  # one is enough
        ([], [], "not measured"),
    ],
)
def test_one_instance_refutes_a_ceiling_stated_for_all(low, high, verdict):
    found = bounded(low, high, 1.8)
    assert found.verdict == verdict
    assert not low or (found.low, found.high) == (max(low), max(high))
    assert not low or found.value == (found.high if verdict == "holds" else found.low)


@pytest.mark.parametrize(
    ("low", "high", "verdict", "value"),
    [
        ([92.0, 95.0], [92.0, 95.0], "holds", 92.0),  # a floor may be reached
        ([91.0, 99.0], [91.9, 99.0], "fails", 91.9),
        ([91.0, 99.0], [93.0, 99.0], "undecided", 93.0),
    ],
)
def test_one_instance_refutes_a_floor_stated_for_all(low, high, verdict, value):
    found = bounded(low, high, 92.0, sense="at least")
    assert (found.verdict, found.value) == (verdict, value)
    assert (found.low, found.high) == (min(low), min(high))


def test_a_universal_statement_with_a_counterexample_is_refuted_whatever_its_form():
    signs = [True] * 99 + [False]
    values = [1.0] * 99 + [1.9]
    refuted = [
        counted(signs, every=True),
        bounded(values, values, 1.8),
        limited(values, values, 1.8, stated="every instance"),
        limited([-v for v in values], [-v for v in values], -1.8, stated="every instance",
                sense="at least"),
    ]  # fmt: skip
    assert [found.verdict for found in refuted] == ["fails"] * 4
    assert "1 of 100 instances contradict it" in refuted[0].note
    assert counted([False], every=True).verdict == "fails"  # one is enough
    assert counted([True] * 6 + [None], every=True).verdict == "holds"
    assert counted([True] * 5, every=True).verdict == "undecided"


def test_a_ceiling_stated_of_the_mean_may_be_exceeded_by_some():
    values = [1.6, 1.8, 1.7, 1.6, 1.7]
    of_mean, of_every = (
        limited(values, values, 1.75, stated=stated) for stated in ("the mean", "every instance")
    )
    assert (of_mean.verdict, of_mean.value) == ("holds", pytest.approx(1.68))
    assert (of_every.verdict, of_every.value) == ("fails", 1.8)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        ([1.0] * 4, [1.1] * 4, "holds"),
        ([1.0] * 4, [2.1] * 4, "undecided"),
        ([1.0] * 4, [1.1] * 3 + [math.inf], "undecided"),
        ([2.0] * 4, [2.1] * 4, "fails"),
    ],
)
def test_a_mean_that_lies_between_bounds_is_judged_by_the_end_that_is_certain(low, high, verdict):
    assert limited(low, high, 1.8, stated="the mean").verdict == verdict


@given(values=st.lists(st.floats(0.5, 3.0), min_size=3, max_size=12))
@settings(deadline=None, max_examples=100)
def test_what_holds_on_every_instance_never_fails_in_the_mean(values):
    if limited(values, values, 1.8, stated="every instance").verdict == "holds":
        assert limited(values, values, 1.8, stated="the mean").verdict != "fails"
