"""What a component says of its jobs and workers, to the last unit of time."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from preemptive_cases import examples, instances

from formulations.preemptive.exact.cheapest_purchase import BITS, NEVER
from formulations.preemptive.exact.components import (
    FINE,
    MOST_CELLS,
    PRICE_BITS,
    Component,
    components,
)
from formulations.preemptive.instance import Instance
from formulations.preemptive.time_indexed.grid import edge_end, fast_completion

SLOT = 2**20  # time units, unless everything happens in whole slots


def two() -> Instance:
    """A job that may use the cloud and one that may not; two workers here, one there."""
    return Instance.build(
        release_time=[0.5, 2.0],
        num_chunks=[2, 1],
        chunk_time_slow=[2.5, 3.0],
        chunk_time_fast=[1.5, 2.0],
        upload_delay_edge=[[1.0, 0.25], [0.5, 2.0]],
        upload_delay_cloud=[2.25, np.inf],
        worker_server=[0, 0, 1],
    )


def only(instance: Instance, **options: bool) -> Component:
    """The one component of an instance."""
    (component,) = components(instance, **options)
    return component


def jobs_of(component: Component) -> list[dict[str, int]]:
    """Every job of a component."""
    return [
        dict(zip(component.table.dtype.names, job, strict=True)) for job in component.table.tolist()
    ]


def test_in_slots_everything_is_taken_up_to_whole_ones() -> None:
    component = only(two())
    assert (component.time_bits, component.slotted, component.slack) == (0, True, 0)
    assert jobs_of(component) == [
        {"release": 1, "chunks": 2, "work": 5, "fast": 4, "cloud": 2, "first": 0, "last": 2},
        {"release": 2, "chunks": 1, "work": 3, "fast": NEVER, "cloud": NEVER,
         "first": 2, "last": 4},
    ]  # fmt: skip
    assert component.steps.tolist() == [(0, 0, 1), (1, 0, 2), (1, 0, 2), (2, 0, 1)]
    assert component.capacity.tolist() == [3]
    # the second ends by 2 + 3 / 3 + 2 + 3; the free cell has room for 5 units after any arrival
    assert component.edges.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 8 + 5 + 2 + 2 + 1]


def test_in_continuous_time_everything_is_taken_down_to_whole_units() -> None:
    component = only(two(), slotted=False)
    assert (component.time_bits, component.slotted, component.slack) == (20, False, 0)
    first, second = jobs_of(component)
    assert (first["release"], second["release"]) == (SLOT // 2, 2 * SLOT)
    assert (first["work"], second["work"]) == (5 * SLOT, 3 * SLOT)
    assert (first["cloud"], first["fast"]) == (9 * SLOT // 4, 15 * SLOT // 4)
    assert (second["cloud"], second["fast"]) == (NEVER, NEVER)
    assert component.steps["age"].tolist() == [SLOT // 4, SLOT, SLOT // 2, 2 * SLOT]
    ends = np.append(np.add.outer(np.arange(8), [0, *FINE]).ravel(), 8) * SLOT
    np.testing.assert_array_equal(component.edges[:-1], ends)
    moved = replace(two(), release_time=np.array([0.5 + 2.0**-21, 2 + 2.0**-22]))
    later = only(moved, slotted=False)
    assert later.slack == 2
    assert later.table["release"].tolist() == component.table["release"].tolist()


def test_by_server_its_workers_are_a_pool() -> None:
    component = only(two(), by_server=True)
    assert component.capacity.tolist() == [2, 1]
    assert component.steps.tolist() == [(0, 1, 1), (1, 0, 2), (1, 0, 2), (2, 1, 1)]
    level = replace(two(), upload_delay_edge=np.ones((2, 2)))
    assert only(level, by_server=True).steps.tolist() == [(1, 0, 2), (1, 1, 1)] * 2
    assert only(level).steps.tolist() == [(1, 0, 3)] * 2


@pytest.mark.parametrize(("off", "release", "age"), [(0.9e-9, 2, 1), (1.1e-9, 3, 1)])
def test_a_release_a_billionth_after_a_slot_begins_is_in_it(off, release, age) -> None:
    late = replace(two(), release_time=np.array([0.5, 2 + off]))
    component = only(late)
    assert component.table["release"][1] == release
    assert component.steps["age"][2] == age - (release == 3)


@pytest.mark.parametrize(("off", "extra"), [(0.9e-9, 0), (1.1e-9, 1)])
def test_a_delay_a_billionth_beyond_a_slot_is_in_it(off: float, extra: int) -> None:
    far = replace(
        two(),
        upload_delay_edge=np.array([[1.0, 0.5 + off], [0.5, 2.0]]),
        upload_delay_cloud=np.array([2.5 + off, np.inf]),
    )
    component = only(far)
    assert component.steps.tolist()[:2] == [[(0, 0, 1), (1, 0, 2)], [(1, 0, 3), (1, 0, 2)]][extra]
    assert component.table["cloud"][0] == 2 + extra
    slower = only(replace(two(), chunk_time_fast=np.array([2 + off, 2.0])))
    assert slower.table["fast"][0] == 4 + extra


def test_a_cloud_and_a_server_that_are_never_waited_for_leave_no_trace() -> None:
    never = replace(
        two(),
        upload_delay_edge=np.array([[1.0, 1e12], [0.5, 2.0]]),
        upload_delay_cloud=np.array([2.25, 1e12]),
    )
    kept = replace(two(), explicit_worker_eligible=np.array([[True, True, False], [True] * 3]))
    for slotted in (False, True):
        (component,) = components(never, slotted=slotted)
        (other,) = components(kept, slotted=slotted)
        assert component.edges.tolist() == other.edges.tolist()
        fields = ("release", "work", "fast", "cloud")
        assert component.table[[*fields]].tolist() == other.table[[*fields]].tolist()
        assert component.steps["age"].tolist() == other.steps["age"].tolist()


@given(instance=instances(jobs=(3,), tables=True))
@examples(30)
def test_a_step_counts_the_workers_of_a_pool_that_are_reached_at_one_age(instance) -> None:
    late = np.minimum(edge_end(instance), fast_completion(instance)) - instance.release_time
    for by_server in (False, True):
        for component in components(instance, by_server=by_server):
            pool = {}  # of each worker: by group, or by group and server
            for worker, group in zip(
                component.workers.tolist(), component.group.tolist(), strict=True
            ):
                server = int(instance.worker_server[worker])
                pool[worker] = (group, server) if by_server else (group,)
            number = {key: k for k, key in enumerate(sorted(set(pool.values())))}
            assert component.capacity.tolist() == [
                list(pool.values()).count(key) for key in sorted(number)
            ]
            for j, job in zip(component.jobs.tolist(), jobs_of(component), strict=True):
                mine = [w for w in pool if instance.worker_eligible[j, w]]
                ages = instance.upload_delay_edge[j, instance.worker_server[mine]]
                reached = Counter(
                    (int(age), number[pool[w]])
                    for age, w in zip(ages, mine, strict=True)
                    if age < late[j]
                )
                steps = component.steps[job["first"] : job["last"]].tolist()
                assert steps == sorted((*key, count) for key, count in reached.items())


def test_one_server_may_have_workers_of_two_groups() -> None:
    may = np.array([[True, True], [False, True]])
    both = Instance.build(
        release_time=[0, 0],
        num_chunks=1,
        chunk_time_slow=2,
        upload_delay_edge=[[1], [2]],
        upload_delay_cloud=5,
        worker_server=[0, 0],
        explicit_worker_eligible=may,
    )
    for by_server in (False, True):
        component = only(both, by_server=by_server)
        first, second = component.group.tolist()
        expected = sorted([(1, first, 1), (1, second, 1)])
        assert component.steps.tolist() == [*expected, (2, second, 1)]


@pytest.mark.parametrize(
    ("work", "release", "chunks", "may", "end"),
    [
        ((4, 4), (0, 0), 2, "both", 6),  # all work by 8 / 2, or a job of 4 on two workers after
        ((4, 4), (0, 0), 2, "one", 8),
        ((4, 4), (0, 0), 1, "both", 8),
        ((2, 6), (0, 1), 2, "both", 7),
        ((6, 2), (0, 1), 2, "both", 7),
        ((2, 6), (0, 20), 2, "both", 26),
    ],
)
def test_cells_end_when_all_work_that_came_and_then_the_longest_are_done(
    work, release, chunks, may, end
) -> None:
    """All jobs are barred from the cloud and reach their workers at once."""
    table = np.ones((2, 2), dtype=bool)
    table[0, 1] = may == "both"
    barred = Instance.build(
        release_time=release,
        num_chunks=chunks,
        chunk_time_slow=np.array(work) / chunks,
        upload_delay_edge=np.zeros((2, 1)),
        upload_delay_cloud=np.inf,
        worker_server=[0, 0],
        explicit_worker_eligible=table,
    )
    assert only(barred).edges[-2] == end


def test_a_table_of_no_workers_leaves_every_job_to_the_cloud() -> None:
    cloud = Instance.build(
        release_time=[0],
        num_chunks=1,
        chunk_time_slow=2,
        upload_delay_edge=np.zeros((1, 0)),
        upload_delay_cloud=5,
        worker_server=[],
        explicit_worker_eligible=np.zeros((1, 0), dtype=bool),
    )
    for by_server in (False, True):
        component = only(cloud, by_server=by_server)
        assert (len(component.steps), component.table["fast"].tolist()) == (0, [7])


def test_who_may_serve_the_same_jobs_is_a_group_and_who_shares_one_is_a_market() -> None:
    """Workers 0 and 3 serve job 0, worker 1 the jobs 0 and 1, worker 2 job 2; job 3 has none."""
    may = np.zeros((4, 4), dtype=bool)
    may[0, [0, 1, 3]] = may[1, 1] = may[2, 2] = True
    instance = Instance.build(
        release_time=[0, 0, 0, 1],
        num_chunks=1,
        chunk_time_slow=2,
        upload_delay_edge=np.ones((4, 2)),
        upload_delay_cloud=5,
        worker_server=[0, 1, 1, 1],
        explicit_worker_eligible=may,
    )
    cut = {tuple(component.jobs.tolist()): component for component in components(instance)}
    assert cut.keys() == {(0, 1), (2,), (3,)}
    shared = cut[0, 1]
    assert shared.workers.tolist() == [0, 1, 3]
    assert shared.group[0] == shared.group[2] != shared.group[1]
    assert shared.capacity[shared.group].tolist() == [2, 1, 2]
    np.testing.assert_array_equal(shared.may[:, shared.group], may[:2][:, [0, 1, 3]])
    assert (cut[2,].workers.tolist(), cut[2,].capacity.tolist()) == ([2], [1])
    alone = cut[3,]
    assert (len(alone.workers), len(alone.capacity), len(alone.steps)) == (0, 0, 0)
    assert alone.table["fast"].tolist() == [5 + 2]
    assert {len(component.capacity) for component in components(instance, by_server=True)} == {
        0,
        1,
        3,
    }


@pytest.mark.parametrize(("slots", "later"), [(1, 0), (1, 2**20), (2**10, 0), (2**12, 0)])
def test_prices_have_as_many_digits_as_the_sums_of_a_job_leave(slots: int, later: int) -> None:
    long = replace(
        two(),
        chunk_time_slow=two().chunk_time_slow * slots,
        release_time=two().release_time + later,
    )
    component = only(long, slotted=False)
    span = int(component.edges[-1] - component.edges[0])
    assert span << component.price_bits < 1 << (BITS - 1)
    assert component.price_bits == PRICE_BITS or span << (component.price_bits + 1) >= 1 << (
        BITS - 1
    )


def test_cells_are_fine_while_there_is_room_and_longer_than_a_slot_where_there_is_none() -> None:
    most = MOST_CELLS // (len(FINE) + 1)  # slots that may be cut finely
    for slots, begin, width in ((most - 1, 0, None), (most, 0, 1), (MOST_CELLS, 0, 1),
                                (MOST_CELLS + 1, 0, 2), (MOST_CELLS, 3, 1)):  # fmt: skip
        long = Instance.build(
            release_time=[begin],
            num_chunks=1,
            chunk_time_slow=slots,
            chunk_time_fast=slots - 1,
            upload_delay_edge=[[0]],
            upload_delay_cloud=1,
            worker_server=[0],
        )
        cells = np.diff(only(long, slotted=False).edges)[:-1]
        if width is None:
            assert len(cells) == slots * (len(FINE) + 1)
            np.testing.assert_array_equal(cells[:3], [SLOT // 512, SLOT // 512, SLOT // 256])
        else:
            np.testing.assert_array_equal(cells, np.full(-(-slots // width), width * SLOT))
        whole = only(long)
        assert whole.slotted == (width != 2)
        assert whole.table["work"] == slots * (SLOT if width == 2 else 1)


def test_a_job_that_takes_next_to_nothing_has_a_cell_with_a_price() -> None:
    quick = Instance.build(
        release_time=[3],
        num_chunks=1,
        chunk_time_slow=1,
        chunk_time_fast=1e-10,
        upload_delay_edge=[[1]],
        upload_delay_cloud=0,
        worker_server=[0],
    )
    assert only(quick).edges[:2].tolist() == [3, 4]
