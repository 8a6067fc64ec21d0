"""The checker with storage: (7a) and (7b)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from preemptive_check_cases import RUNS, A, facts, schedule, swap, two_servers

from formulations.preemptive.check import check
from formulations.preemptive.instance import CLOUD, Instance
from formulations.preemptive.schedule import Schedule
from optsched.errors import InputError
from optsched.problem.violation import Violation


@pytest.fixture(scope="module")
def example() -> Instance:
    return two_servers()


def test_with_storage_a_chunk_may_change_workers_but_not_servers(example) -> None:
    """Worker 1 and worker 2 of the second server, both of a type that all jobs may use."""
    two = replace(example, worker_type=np.zeros(3, dtype=np.int64),
                  chunk_storage=np.ones(3), storage_capacity=np.full(2, 9.0))  # fmt: skip
    moved = schedule(swap(RUNS, (A, 1, 1, 2, 6), (A, 1, 1, 2, 4), (A, 1, 2, 4, 6)))
    assert check(two, moved, storage=True) == []
    assert facts(check(two, moved)) == [("no-migration", {"job": A, "chunk": 1}, 1)]
    for chunk, worker in ((0, 0), (2, CLOUD)):
        start = 5
        row = next(r for r in RUNS if r[:4] == (A, chunk, worker, start))
        away = schedule(swap(RUNS, row, (A, chunk, 2, *row[3:])))
        expected = [("7a", {"job": A, "chunk": 0}, 1)] if chunk == 0 else []
        assert facts(check(two, away, storage=True)) == expected


def test_storage_of_a_chunk_that_does_not_exist_is_a_matter_of_2k(example) -> None:
    stored = replace(example, chunk_storage=np.ones(3), storage_capacity=np.array([3.0, 1.0]))
    assert check(stored, schedule(), storage=True) == []
    for chunk in (-1, 3):
        more = schedule((*RUNS, (A, chunk, 1, 6, 7)))
        assert {v.constraint for v in check(stored, more, storage=True)} == {"2k"}


def stored(size: float | list[float], capacity: list[float], **options: str) -> list[Violation]:
    """Job 0 with chunks on both servers in [0, 2), then job 1, released at 1, on the first."""
    instance = Instance.build(
        release_time=[0, 1], num_chunks=[2, 1], chunk_time_slow=[2, 1],
        upload_delay_edge=np.zeros((2, 2)), upload_delay_cloud=9, worker_server=[0, 1],
        chunk_storage=size, storage_capacity=capacity,
    )  # fmt: skip
    made = Schedule.build(
        runs=[(0, 0, 0, 0, 2), (0, 1, 1, 0, 2), (1, 0, 0, 2, 3)],
        services=[(0, CLOUD, 0, 2), (1, CLOUD, 2, 3)], together=[False, False],
    )  # fmt: skip
    return check(instance, made, storage=True, **options)


@pytest.mark.parametrize("capacity", [1, 2000001, 10**12])
def test_7b_is_exact_in_whole_numbers(capacity) -> None:
    assert stored([0, capacity], [capacity, 9]) == []
    assert facts(stored([0, capacity + 1], [capacity, 9])) == [
        ("7b", {"server": 0, "time": 1, "end": 3}, 1)
    ]


def test_7b_takes_decimals_as_they_are_written() -> None:
    assert stored([0.1, 0.2], [0.3, 9]) == []  # in floating point 0.1 + 0.2 > 0.3
    assert {v.constraint for v in stored([0.1, 0.2], [0.299999, 9])} == {"7b"}


@pytest.mark.parametrize(("excess", "forgiven"), [(0.4e-9, True), (0.6e-9, False)])
def test_7b_forgives_half_a_byte(excess, forgiven) -> None:
    assert (stored([0, 0.25 + excess], [0.25, 9]) == []) == forgiven


def test_7b_is_exact_where_a_float_has_no_digit_left() -> None:
    assert stored([1, 2.0**53], [2.0**53, 9]) != []  # 2^53 + 1 is 2^53 in floating point
    assert stored([1, 2.0**53], [2.0**53 + 2, 9]) == []


def test_storage_that_the_largest_leaves_no_digits_for_is_refused() -> None:
    with pytest.raises(InputError, match=r"\(0\.0, 0\.5\): equal, or at least"):
        stored([0.5, 1e15], [1e15, 9])


def test_7b_holds_from_release_to_completion_on_every_server() -> None:
    assert facts(stored([1, 2], [2.5, 0.5])) == [
        ("7b", {"server": 0, "time": 1, "end": 2}, 0.5),
        ("7b", {"server": 1, "time": 0, "end": 2}, 0.5),
    ]
    assert facts(stored([1, 2], [1.5, 9])) == [
        ("7b", {"server": 0, "time": 1, "end": 2}, 1.5),
        ("7b", {"server": 0, "time": 2, "end": 3}, 0.5),
    ]
    assert stored([1, 2], [3, 1]) == []
    assert stored([0, 0], [0, 0]) == []


def test_7a_counts_the_servers_of_each_chunk_beyond_one() -> None:
    instance = Instance.build(
        release_time=[0, 0], num_chunks=[1, 2], chunk_time_slow=[3, 3],
        upload_delay_edge=np.zeros((2, 2)), upload_delay_cloud=0, worker_server=[0, 1],
        chunk_storage=1, storage_capacity=[9, 9],
    )  # fmt: skip
    made = Schedule.build(
        runs=[(1, 1, 0, 0, 1), (1, 1, 1, 1, 2), (1, 1, CLOUD, 2, 3), (1, 0, CLOUD, 0, 3),
              (0, 0, 1, 3, 5), (0, 0, CLOUD, 5, 6)],
        services=[(1, CLOUD, 0, 3), (0, CLOUD, 3, 6)], together=[False, False],
    )  # fmt: skip
    assert facts(check(instance, made, storage=True)) == [
        ("7a", {"job": 0, "chunk": 0}, 1), ("7a", {"job": 1, "chunk": 1}, 2),
    ]  # fmt: skip


def test_a_moment_of_release_that_nothing_defines_is_refused() -> None:
    with pytest.raises(InputError, match="storage_release"):
        stored(1, [9, 9], storage_release="never")
