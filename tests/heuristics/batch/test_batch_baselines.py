"""FIFO, DRF and Preemptive do what their rules say."""

from typing import Any

import numpy as np
import pytest
from batch_cases import tiny_instances, worked_example
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.batch.check import check, cost
from formulations.batch.generator import generate
from formulations.batch.instance import Instance
from heuristics.batch import HEURISTICS
from heuristics.batch.profile import Profile
from optsched.errors import InputError

RNG = np.random.default_rng(0)


@given(instance=tiny_instances(jobs=5), overhead=st.integers(0, 2), ignore=st.booleans())
@settings(max_examples=60, deadline=None)
def test_preemptive_schedules_pass_the_relaxed_checker(
    instance: Instance, overhead: int, ignore: bool
) -> None:
    made = HEURISTICS["preemptive"].run(
        instance, RNG, overhead_slots=overhead, ignore_upload=ignore
    )
    assert check(instance, made, allow_preemption=True, ignore_upload=ignore) == []
    assert made.preemptive
    if not overhead:
        assert ignore or made.run_overhead.max() <= instance.upload_delay.max()


@given(instance=tiny_instances(jobs=5))
@settings(max_examples=40, deadline=None)
def test_fifo_and_drf_are_feasible(instance: Instance) -> None:
    for name in ("fifo", "drf"):
        assert check(instance, HEURISTICS[name].run(instance, RNG)) == []


def test_fifo_takes_the_server_that_starts_earliest_not_the_one_that_ends_earliest() -> None:
    made = HEURISTICS["fifo"].run(worked_example(), RNG)
    # the second job finds the first server with four workers taken by nobody from slot 3 on, and
    # the second server free at once
    rows = list(zip(made.run_start, made.run_end, made.run_ps, made.run_workers, strict=True))
    assert rows == [(2, 2, 0, 2), (2, 5, 1, 1), (3, 3, 0, 3)]


def test_drf_gives_workers_in_turn_and_keeps_them() -> None:
    example = worked_example(worker_capacity=[[5], [1], [np.inf]])
    made = HEURISTICS["drf"].run(example, RNG)
    # two jobs at slot 2: equal shares while both want more
    assert made.run_workers[:2].tolist() == [2, 4]
    assert made.run_start[:2].tolist() == [2, 2]
    assert check(example, made) == []


def test_the_shorter_job_takes_the_place_of_the_longer_one() -> None:
    instance = Instance.build(
        worker_capacity=[[1]],
        ps_capacity=[[1]],
        release_slot=[1, 3],
        num_chunks=[1, 1],
        work_slow=[6, 2],
        work_fast=[6, 2],
        upload_delay=[[0], [0]],
    )
    made = HEURISTICS["preemptive"].run(instance, RNG)
    rows = sorted(zip(made.run_job, made.run_start, made.run_end, strict=True))
    assert rows == [(0, 1, 2), (0, 5, 8), (1, 3, 4)]
    assert cost(instance, made) == 7 + 1
    slow = HEURISTICS["preemptive"].run(instance, RNG, overhead_slots=1, ignore_upload=False)
    rows = sorted(zip(slow.run_job, slow.run_start, slow.run_end, slow.run_overhead, strict=True))
    assert rows == [(0, 1, 2, 0), (0, 5, 9, 1), (1, 3, 4, 0)]


def test_a_job_that_the_edge_can_never_serve_goes_to_the_cloud() -> None:
    instance = worked_example(worker_type=[0, 0, 1], worker_capacity=[[4, 0], [1, 0], [np.inf] * 2])
    for name in ("drf", "preemptive"):
        made = HEURISTICS[name].run(instance, RNG)
        last = made.run_job == 2
        assert made.run_ps[last].tolist() == [2]
        assert made.run_workers[last].tolist() == [3]


def test_a_negative_overhead_is_refused() -> None:
    with pytest.raises(InputError, match="overhead_slots"):
        HEURISTICS["preemptive"].run(worked_example(), RNG, overhead_slots=-1)


@given(
    reserved=st.lists(
        st.tuples(st.integers(0, 20), st.integers(1, 6), st.integers(1, 3)), max_size=8
    ),
    asked=st.tuples(st.integers(0, 25), st.integers(1, 3), st.integers(1, 6)),
)
def test_the_earliest_gap_is_found(
    reserved: list[tuple[int, int, int]], asked: tuple[int, int, int]
) -> None:
    profile, load = Profile(3), np.zeros(200, dtype=int)
    for start, length, amount in reserved:
        begin = profile.earliest(start, amount, length)
        profile.reserve(begin, begin + length, amount)
        load[begin : begin + length] += amount
    assert load.max() <= 3
    start, need, length = asked
    fits = [t for t in range(start, 120) if load[t : t + length].max() + need <= 3]
    assert profile.earliest(start, need, length) == fits[0]


@pytest.mark.parametrize("name", ["a_online", "batch_sche", "fifo", "drf", "preemptive"])
def test_runs_do_not_depend_on_the_random_generator(name: str) -> None:
    instance = generate(np.random.default_rng(2), jobs=15, servers=5, time_scale=0.05)
    one, other = (HEURISTICS[name].run(instance, np.random.default_rng(s)) for s in (1, 2))
    fields: tuple[Any, ...] = ("run_job", "run_start", "run_end", "place_workers")
    for field in fields:
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))
