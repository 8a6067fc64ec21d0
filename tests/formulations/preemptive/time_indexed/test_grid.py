"""Index sets of the time-indexed models: windows, classes, groups and hubs."""

from dataclasses import replace

import numpy as np
import preemptive_enumeration as brute_force
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import examples, instances

from formulations.preemptive import PROBLEM
from formulations.preemptive.instance import Instance
from formulations.preemptive.time_indexed.grid import (
    Grid,
    build_grid,
    fast_completion,
    window_slots,
)
from optsched.errors import UnsupportedError
from optsched.instances import arrays


def capacity_in_reach(grid: Grid) -> np.ndarray:
    """Workers each job could use at most in each slot, shape (jobs, slots)."""
    total = np.zeros((grid.instance.jobs, int(grid.end_slot.max()) + 1))
    np.add.at(total, (grid.cell_job, grid.cell_slot), grid.pool_size)
    return total


@given(data=st.data())
@examples(60)
def test_cells_count_exactly_the_workers_a_job_may_use_in_a_slot(data):
    instance = data.draw(
        instances(fractional=data.draw(st.booleans()), tables=data.draw(st.booleans()))
    )
    instance = replace(instance, horizon=data.draw(st.sampled_from([None, 5, 12])))
    for hub in (False, True):
        grid = build_grid(instance, hub=hub)
        expected = np.zeros((instance.jobs, int(grid.end_slot.max()) + 1))
        for j in range(instance.jobs):
            arrival = (instance.release_time + instance.upload_delay_edge.T)[
                instance.worker_server, j
            ]
            for t in range(grid.end_slot[j]):
                expected[j, t] = np.sum(instance.worker_eligible[j] & (arrival <= t))
        assert np.array_equal(capacity_in_reach(grid), expected)


@given(data=st.data())
@examples(40)
def test_a_hub_stands_only_where_the_whole_group_is_in_reach(data):
    instance = data.draw(instances(tables=data.draw(st.booleans())))
    grid = build_grid(instance)
    latest = instance.release_time[:, None] + instance.upload_delay_edge
    hub = grid.cell_class < 0
    for j, t in zip(grid.cell_job[hub], grid.cell_slot[hub], strict=True):
        servers = instance.worker_server[instance.worker_eligible[j]]
        assert t >= latest[j, servers].max()
    pairs = set(zip(grid.cell_job[~hub], grid.cell_slot[~hub], strict=True))
    assert not pairs & set(zip(grid.cell_job[hub], grid.cell_slot[hub], strict=True))


def test_two_types_on_two_servers_are_three_classes_in_two_groups():
    instance = Instance.build(
        release_time=[0, 0],
        num_chunks=1,
        chunk_time_slow=10,
        chunk_time_fast=1,
        upload_delay_edge=[[1, 3], [1, 3]],
        upload_delay_cloud=10,
        worker_server=[0, 0, 1, 1, 1],
        worker_type=[0, 1, 0, 0, 0],
        job_worker_type=[0, 1],
    )
    grid = build_grid(instance)
    assert sorted(instance.worker_classes.size.tolist()) == [1, 1, 3]
    assert sorted(grid.group_size.tolist()) == [1, 4]
    first = grid.cell_job == 0
    named = first & (grid.cell_class >= 0)
    assert grid.cell_slot[named].tolist() == [1, 2]  # server 0 alone, until server 1 is reached
    assert grid.pool_size[named].tolist() == [1, 1]
    assert grid.cell_slot[first & ~named].tolist() == list(range(3, 11))
    assert set(grid.pool_size[first & ~named]) == {4}
    assert set(grid.cell_limit[first & ~named]) == {1}  # D_j
    assert grid.cell_age[first & ~named].tolist() == list(range(3, 11))


def test_windows_end_with_the_fast_cloud_or_the_slow_one(example: Instance) -> None:
    assert fast_completion(example).tolist() == [7, 7, 7]
    assert build_grid(example).end_slot.tolist() == [7, 7, 7]
    assert build_grid(example, slow_cloud=True).end_slot.tolist() == [9, 8, 8]
    assert build_grid(example).earliest_slow_end.tolist() == [7, 6, 5]


def test_times_that_are_not_whole_are_taken_up_once():
    instance = Instance.build(
        release_time=[0.5],
        num_chunks=3,
        chunk_time_slow=1.5,
        chunk_time_fast=1.2,
        upload_delay_edge=[[0.5]],
        upload_delay_cloud=1.7,
        worker_server=[0],
    )
    grid = build_grid(instance)
    assert grid.first_slot.tolist() == [1]
    assert grid.cell_slot.min() == 1  # 0.5 + 0.5, not 1 + 1
    assert grid.end_slot.tolist() == [3 + 2]
    assert grid.cloud_slot.tolist() == [3, 4]


@given(data=st.data())
@examples(40)
def test_the_earliest_slow_end_is_that_of_the_job_by_itself(data):
    instance = data.draw(instances(jobs=(2,), fractional=data.draw(st.booleans())))
    grid = build_grid(instance)
    for j in range(instance.jobs):
        alone = instance.select_jobs(np.array([j]))
        end = brute_force.problem_2(alone) + alone.release_time[0]
        assert min(grid.earliest_slow_end[j], grid.fast_end[j]) == pytest.approx(end)


def without_cloud() -> Instance:
    """Two jobs of 6 and 2 units of work; a worker on either server."""
    return Instance.build(
        release_time=[0, 2],
        num_chunks=[2, 1],
        chunk_time_slow=[3, 2],
        upload_delay_edge=[[1, 1], [1, 5]],
        upload_delay_cloud=np.inf,
        worker_server=[0, 1],
        ps_server=[1],
    )


def test_a_window_ends_when_one_worker_could_have_done_all_work_there_is_for_it():
    instance = without_cloud()
    assert build_grid(instance).end_slot.tolist() == [1 + 8, 3 + 8]
    apart = replace(instance, explicit_worker_eligible=np.array([[True, False], [True, True]]))
    assert build_grid(apart).end_slot.tolist() == [1 + 8, 7 + 2]  # worker 1 is the second job's
    # a parameter server that may be late keeps the windows open for it
    assert build_grid(instance, ps_delay_applies=True).end_slot.tolist() == [1 + 8, 7 + 8]


@pytest.mark.parametrize("never", [12, 1e4, 1e9, 1e12])
def test_a_cloud_that_the_edge_is_done_before_opens_no_slot(never):
    instance = replace(without_cloud(), upload_delay_cloud=np.full(2, float(never)))
    grid = build_grid(instance)
    assert grid.end_slot.tolist() == build_grid(without_cloud()).end_slot.tolist()
    assert len(grid.cloud_slot) == 0
    sooner = replace(instance, upload_delay_cloud=np.array([2.0, never]))
    assert build_grid(sooner).end_slot.tolist() == [2 + 3, 3 + 8]


@pytest.mark.parametrize("never", [20, 1e9, 1e12])
def test_a_server_that_the_others_are_done_before_opens_no_slot(never):
    delays = np.array([[1.0, never], [1.0, never]])
    grid = build_grid(replace(without_cloud(), upload_delay_edge=delays))
    assert grid.end_slot.tolist() == [1 + 8, 3 + 8]
    assert set(grid.cell_class.tolist()) == {0}


def test_the_edge_is_no_way_out_of_the_cloud_if_storage_may_bind():
    far = replace(without_cloud(), upload_delay_cloud=np.full(2, 30.0))
    stored = replace(far, chunk_storage=np.ones(2), storage_capacity=np.array([3.0, 3.0]))
    assert build_grid(stored).end_slot.tolist() == build_grid(far).end_slot.tolist()  # 3 chunks
    tight = replace(stored, storage_capacity=np.array([2.0, 3.0]))
    assert build_grid(tight).end_slot.tolist() == [1 + 8, 7 + 8]  # server 1 alone
    tight = replace(stored, storage_capacity=np.array([2.0, 2.0]))
    assert build_grid(tight).end_slot.tolist() == [30 + 3, 32 + 2]


def test_windows_hold_all_work_after_the_last_arrival_if_nothing_of_the_future_is_known():
    instance = without_cloud()
    grid = build_grid(instance, edge_suffices=False)
    assert grid.end_slot.tolist() == [7 + 8, 7 + 8]
    only = replace(instance, explicit_worker_eligible=np.array([[True, False], [True, False]]))
    assert build_grid(only, edge_suffices=False).end_slot.tolist() == [3 + 8, 3 + 8]
    far = replace(instance, upload_delay_cloud=np.full(2, 30.0))
    assert build_grid(far, edge_suffices=False).end_slot.tolist() == [30 + 3, 32 + 2]


def test_the_last_slot_of_the_horizon_may_still_be_used(example: Instance) -> None:
    grid = build_grid(replace(example, horizon=5))
    assert grid.end_slot.tolist() == [6, 6, 6]
    assert grid.cell_slot.max() == 5


def test_a_horizon_before_every_release_leaves_empty_windows(example: Instance) -> None:
    late = replace(example, release_time=np.array([4.0, 4.0, 5.0]), horizon=2)
    for hub in (False, True):
        grid = build_grid(late, hub=hub)
        assert grid.end_slot.tolist() == grid.first_slot.tolist()
        assert grid.cells == len(grid.cloud_job) == len(grid.windows[0]) == 0
        assert np.all(np.isinf(grid.earliest_slow_end))


def test_without_edge_workers_there_are_cloud_cells_only():
    instance = Instance.build(
        release_time=[0],
        num_chunks=2,
        chunk_time_slow=3,
        chunk_time_fast=2,
        upload_delay_edge=np.zeros((1, 0)),
        upload_delay_cloud=4,
        worker_server=np.zeros(0),
    )
    grid = build_grid(instance)
    assert grid.cells == 0
    assert grid.cloud_slot.tolist() == [4, 5]
    assert grid.earliest_slow_end.tolist() == [np.inf]  # beyond the window
    assert build_grid(instance, slow_cloud=True).earliest_slow_end.tolist() == [7]


def test_a_model_that_memory_does_not_hold_is_refused_by_its_size_before_it_is_built():
    instance = Instance.build(
        release_time=np.zeros(2),
        num_chunks=1,
        chunk_time_slow=1e9,
        upload_delay_edge=[[0], [0]],
        upload_delay_cloud=np.inf,
        worker_server=[0],
    )
    assert window_slots(instance) == 4e9
    with pytest.raises(UnsupportedError, match=r"4,000,000,000 slots in the windows.*at most"):
        build_grid(instance)


def test_a_schedule_of_too_many_runs_is_refused_before_anything_is_built():
    jobs = 999
    instance = Instance.build(
        release_time=np.zeros(jobs),
        num_chunks=10**6,
        chunk_time_slow=2,
        chunk_time_fast=1,
        upload_delay_edge=np.zeros((jobs, 1)),
        upload_delay_cloud=3,
        worker_server=[0],
    )
    for name in ("offline", "by_market", "price_guided", "problem_2", "problem_2_compact"):
        with pytest.raises(UnsupportedError, match="999,000,000 runs of a schedule"):
            PROBLEM.solve(name, instance)


def test_the_most_entries_are_built_and_one_more_is_not(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(arrays, "MOST_ENTRIES", 1000)
    owner, value = arrays.ranges(np.zeros(2), np.array([400, 600]))
    assert (len(owner), value[-1]) == (1000, 599)
    with pytest.raises(UnsupportedError, match=r"1,001 columns, rows or runs: at most 1,000"):
        arrays.ranges(np.zeros(2), np.array([400, 601]))


def test_index_sets_that_methods_share_cannot_be_written() -> None:
    options = PROBLEM.generator_call({"jobs": 3, "servers": 2})
    grid = build_grid(PROBLEM.generate(np.random.default_rng(1), **options))
    for array in (grid.cell_slot, grid.end_slot, grid.windows[0], grid.rate, grid.pool_size):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
