"""Sorting and counting intervals, which all checks stand on."""

import numpy as np
import pytest

from formulations.preemptive.sweep import Spans, by_key_and_time, count_open


@pytest.mark.parametrize("most", [1, 2, 2**16 - 1, 2**16, 2**16 + 1, 2**40])
@pytest.mark.parametrize("least", [-3, 0])
def test_the_order_is_that_of_keys_and_then_of_times_and_ties_stay(least: int, most: int) -> None:
    rng = np.random.default_rng(0)
    key = rng.integers(least, most, 500)
    key[:2] = least, most - 1
    time = rng.integers(0, 5, 500).astype(float)
    assert np.array_equal(by_key_and_time(key, time), np.lexsort([time, key]))


def test_nothing_is_in_order() -> None:
    assert len(by_key_and_time(np.zeros(0, dtype=np.int64), np.zeros(0))) == 0


def test_workers_side_by_side_are_one_interval_of_their_job() -> None:
    spans = Spans(
        np.array([0, 0, 0, 1, 0]), np.array([1.0, 1, 1, 1, 1]), np.array([2.0, 2, 3, 3, 2])
    )
    apart = spans.apart()
    assert apart.key.tolist() == [0, 0, 1, 0]
    assert apart.end.tolist() == [2, 3, 3, 2]
    whole, less = count_open(spans), count_open(apart)
    assert np.array_equal(whole.pieces.start, less.pieces.start)
    assert np.array_equal(whole.counts[0] > 0, less.counts[0] > 0)
