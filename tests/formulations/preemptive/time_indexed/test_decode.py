"""From counted units to named workers, and the services that go with them."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import examples, instances

from formulations.preemptive import PROBLEM
from formulations.preemptive.check import check, completion_times
from formulations.preemptive.generator import generate
from formulations.preemptive.instance import CLOUD, Instance
from formulations.preemptive.network import whole_flow
from formulations.preemptive.problem_2 import (
    decode_problem_2_compact,
    problem_2_compact,
)
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.time_indexed.decode import (
    cloud_services,
    fast_cloud_runs,
    in_turn,
    slot_schedule,
    whole_units,
)
from formulations.preemptive.time_indexed.grid import Grid, build_grid
from optsched.errors import InputError, ModelError
from optsched.solve import solve


def random_units(grid: Grid, rng: np.random.Generator) -> np.ndarray:
    """Units per edge cell that respect D_j, classes and groups, filled in random order."""
    room_class, room_group = grid.class_slots[1].copy(), grid.group_slots[1].copy()
    room_job = grid.instance.num_chunks[grid.windows[0]].astype(float)
    class_row = np.full(grid.cells, -1)
    class_row[grid.named] = grid.class_slots[0]
    units = np.zeros(grid.cells, dtype=np.int64)
    for cell in rng.permutation(grid.cells):
        rooms = [room_job[grid.cell_window[cell]], room_group[grid.group_slots[0][cell]]]
        if class_row[cell] >= 0:
            rooms.append(room_class[class_row[cell]])
        units[cell] = rng.integers(0, int(min(rooms)) + 1)
        room_job[grid.cell_window[cell]] -= units[cell]
        room_group[grid.group_slots[0][cell]] -= units[cell]
        if class_row[cell] >= 0:
            room_class[class_row[cell]] -= units[cell]
    return units


@given(data=st.data())
@examples(80)
def test_units_of_classes_and_hubs_land_on_distinct_qualified_workers(data):
    instance = data.draw(instances(jobs=(3, 5), tables=data.draw(st.booleans())))
    grid = build_grid(instance, hub=data.draw(st.booleans()))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    units = random_units(grid, rng)
    schedule = slot_schedule(grid, units, np.zeros(len(grid.cloud_job), dtype=np.int64))
    wrong = {violation.constraint for violation in check(instance, schedule, slotted=True)}
    assert wrong <= {"2b", "2j"}  # the units were drawn without regard to the work
    worked = np.zeros((instance.jobs, int(grid.end_slot.max()) + 1))
    for j, start, end in zip(schedule.run_job, schedule.run_start, schedule.run_end, strict=True):
        worked[j, int(start) : int(end)] += 1
    expected = np.zeros_like(worked)
    np.add.at(expected, (grid.cell_job, grid.cell_slot), units)
    assert np.array_equal(worked, expected)


def test_hub_units_take_the_workers_that_class_units_leave():
    """Job 1 still names server 0 in slot 1 while job 0 counts on the group of three."""
    instance = Instance.build(
        release_time=[0, 1],
        num_chunks=[2, 1],
        chunk_time_slow=1,
        upload_delay_edge=[[0, 0], [0, 4]],
        upload_delay_cloud=10,
        worker_server=[0, 1, 1],
    )
    grid = build_grid(instance)
    units = np.zeros(grid.cells, dtype=np.int64)
    at_1 = grid.cell_slot == 1
    units[at_1 & (grid.cell_job == 0)] = 2
    units[at_1 & (grid.cell_job == 1)] = 1
    schedule = slot_schedule(grid, units, np.zeros(len(grid.cloud_job), dtype=np.int64))
    assert sorted(schedule.run_worker[schedule.run_job == 0].tolist()) == [1, 2]
    assert schedule.run_worker[schedule.run_job == 1].tolist() == [0]


def covered(job: np.ndarray, start: np.ndarray, end: np.ndarray) -> set[tuple[int, int]]:
    """The (job, slot) pairs that intervals touch."""
    return {
        (int(j), t) for j, a, b in zip(job, start, end, strict=True) for t in range(int(a), int(b))
    }


@given(
    runs=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(1, 5)), max_size=12)
)
@examples(100)
def test_cloud_services_cover_exactly_the_time_a_job_runs(runs):
    rows = np.array([(j, -1, 0, a, a + n) for j, a, n in runs], dtype=float).reshape(-1, 5)
    services = cloud_services(rows)
    assert covered(rows[:, 0], rows[:, 3], rows[:, 4]) == covered(
        services[:, 0], services[:, 2], services[:, 3]
    )
    assert np.all(services[:, 1] == CLOUD)
    for one, other in pairwise(services.tolist()):
        assert one[0] < other[0] or one[3] < other[2]  # apart, or they would be one service


@given(data=st.data())
@examples(40)
def test_whole_flow_reproduces_the_completion_times_it_is_given(data):
    instance = data.draw(instances(jobs=(3, 4), tables=data.draw(st.booleans())))
    solution = solve(problem_2_compact(instance))
    schedule = decode_problem_2_compact(instance, solution)
    grid = build_grid(instance)
    completion = grid.first_slot + np.bincount(
        grid.windows[0], weights=solution["pending"], minlength=instance.jobs
    )
    assert completion_times(instance, schedule).tolist() == completion.tolist()


@given(data=st.data())
@examples(40)
def test_whole_flow_does_all_work_in_time_and_within_capacity(data):
    instance = data.draw(instances())
    grid = build_grid(instance, hub=data.draw(st.booleans()), slow_cloud=True)
    due = grid.end_slot.copy()
    due[0] = 0
    cells, cloud = whole_flow(grid, instance.work_slow, due)
    done = np.bincount(grid.cell_job, weights=cells, minlength=instance.jobs)
    done += np.bincount(grid.cloud_job, weights=cloud, minlength=instance.jobs)
    assert done[0] == 0
    assert done[1:].tolist() == instance.work_slow[1:].tolist()
    schedule = slot_schedule(grid, cells, cloud)
    assert {v.index["job"] for v in check(instance, schedule, slotted=True)} <= {0}


def test_completion_times_without_room_are_refused(example: Instance) -> None:
    grid = build_grid(example)
    with pytest.raises(ModelError, match="no room"):
        whole_flow(grid, example.work_slow, np.array([4, 4, 4]))


def test_a_job_in_the_fast_cloud_spreads_its_work_over_its_chunks():
    instance = Instance.build(
        release_time=[1, 1],
        num_chunks=[3, 2],
        chunk_time_slow=[5, 3],
        chunk_time_fast=[1.1, 0.4],
        upload_delay_edge=np.zeros((2, 1)),
        upload_delay_cloud=[4, 2.5],
        worker_server=[0],
    )
    rows = fast_cloud_runs(instance, np.array([0, 1]))
    # four slots of work on three workers; one slot of work on one of two
    assert rows[:, [0, 3, 4]].tolist() == [[0, 5, 7], [0, 5, 6], [0, 5, 6], [1, 4, 5]]
    assert np.all(rows[:, 2] == CLOUD)


def test_values_far_from_whole_are_no_units():
    assert whole_units(np.array([0.99999, 2.00001]), "y").tolist() == [1, 2]
    with pytest.raises(InputError, match="y"):
        whole_units(np.array([1.0, 0.5]), "y")
    assert whole_units(np.zeros(0), "y").tolist() == []


def test_a_schedule_at_once_sends_all_to_the_cloud_but_who_may_not_go_there() -> None:
    instance = generate(np.random.default_rng(1), jobs=24, servers=8, types=2, span=8)
    alone = in_turn(instance)
    assert check(instance, alone, slotted=True) == []
    assert alone.together.all()
    assert (alone.run_worker == CLOUD).all()
    delay = instance.upload_delay_cloud.copy()
    delay[:2] = np.inf
    barred = replace(instance, upload_delay_cloud=delay)
    mixed = in_turn(barred)
    assert check(barred, mixed, slotted=True) == []
    assert np.flatnonzero(~mixed.together).tolist() == [0, 1]


def test_schedules_of_some_jobs_make_the_schedule_of_all(example: Instance) -> None:
    whole = PROBLEM.solve("problem_2", example).schedule
    parts = [np.array([2, 0]), np.array([1])]
    again = Schedule.merged([(jobs, whole.of_jobs(jobs)) for jobs in parts])
    assert check(example, again, slotted=True) == []
    assert completion_times(example, again).tolist() == completion_times(example, whole).tolist()
    for jobs in parts:
        some = example.select_jobs(jobs)
        found = completion_times(some, whole.of_jobs(jobs))
        assert found.tolist() == completion_times(example, whole)[jobs].tolist()
