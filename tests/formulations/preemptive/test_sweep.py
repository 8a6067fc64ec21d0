"""Sorting and counting intervals, which all checks stand on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.preemptive.sweep import Spans, Steps, by_key_and_time, count_open, excess


def spans(*rows: tuple[int, float, float]) -> Spans:
    key, start, end = zip(*rows, strict=True) if rows else ((), (), ())
    return Spans(np.array(key, np.int64), np.array(start, float), np.array(end, float))


def rows(pieces: Spans) -> list[tuple[int, float, float]]:
    columns = (pieces.key, pieces.start, pieces.end)
    return list(zip(*(column.tolist() for column in columns), strict=True))


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


def test_neighbours_of_the_same_counts_are_joined_where_they_touch() -> None:
    pieces = [(0, 0.0, 1.0), (0, 1.0, 2.0), (0, 2.0, 3.0), (0, 4.0, 5.0), (1, 5.0, 6.0)]
    counts = np.array([1, 1, 2, 2, 2])
    made = Steps(spans(*pieces), (counts,)).merged()
    assert rows(made.pieces) == [(0, 0.0, 2.0), *pieces[2:]]
    assert made.counts[0].tolist() == [1, 2, 2, 2]
    assert rows(Steps(spans(), (np.zeros(0, np.int64),)).merged().pieces) == []


some = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 8), st.integers(1, 4)).map(
        lambda row: (row[0], float(row[1]), float(row[1] + row[2]))
    ),
    max_size=12,
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(first=some, second=some, limit=st.lists(st.integers(0, 3), min_size=4, max_size=4))
def test_counts_are_those_of_every_moment(first, second, limit) -> None:
    def there(listed, key, time):
        return sum(k == key and start <= time < end for k, start, end in listed)

    steps = count_open(spans(*first), spans(*second))
    beyond = excess(spans(*first), np.array(limit))
    for key in range(4):
        for time in np.arange(0.5, 13.0):
            inside = (steps.pieces.key == key) & (steps.pieces.start < time)
            at = np.flatnonzero(inside & (time < steps.pieces.end))
            counted = [0, 0] if not len(at) else [int(layer[at[0]]) for layer in steps.counts]
            assert counted == [there(first, key, time), there(second, key, time)]

            over = (beyond.pieces.key == key) & (beyond.pieces.start < time)
            found = beyond.counts[0][over & (time < beyond.pieces.end)].tolist()
            number = there(first, key, time)
            assert found == ([number] if number > limit[key] else [])
