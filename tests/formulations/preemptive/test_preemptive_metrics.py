"""What is measured of a schedule is what its runs say."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from formulations.preemptive import PROBLEM, plots
from formulations.preemptive.instance import CLOUD, Instance
from formulations.preemptive.metrics import (
    StepFunction,
    busy_workers,
    communication_wall_clock,
    jobs_present,
    load,
    makespan,
    preemptions,
    queue_length,
    submissions,
    utilisation,
    utilisation_over_time,
)
from formulations.preemptive.schedule import NO_CHUNK, Schedule


@pytest.fixture
def instance():
    """Three jobs on a server of two workers; the cloud is ten slots away."""
    return Instance.build(
        release_time=[0, 0, 3],
        num_chunks=[2, 2, 1],
        chunk_time_slow=[3, 2, 2],
        chunk_time_fast=[2, 1, 1],
        upload_delay_edge=[[1], [0], [1]],
        upload_delay_cloud=10,
        worker_server=[0, 0],
    )


@pytest.fixture
def schedule():
    """Job 0 loses worker 1 at 3, to job 2 in [4, 6); job 1 is whole in the cloud."""
    return Schedule.build(
        runs=[
            (0, 0, 0, 1, 2),
            (0, 0, 0, 2, 4),  # goes on without a break
            (0, 1, 1, 1, 3),
            (2, 0, 1, 4, 6),
            (0, 1, 1, 6, 7),
            (1, 0, CLOUD, 10, 11),
            (1, 1, CLOUD, 10, 11),
        ],
        together=[False, True, False],
    )


def test_a_chunk_that_pauses_is_preempted_and_one_that_is_cut_in_rows_is_not(instance, schedule):
    assert preemptions(instance, schedule) == 1


def test_a_gang_that_stops_counts_once_for_every_worker_it_ran_on(instance):
    gang = Schedule.build(
        runs=[
            (0, NO_CHUNK, worker, start, end)
            for worker in (0, 1)
            for start, end in ((1, 2), (3, 4), (5, 6))
        ],
        together=[False, False, False],
    )
    assert preemptions(instance, gang) == 4


def test_utilisation_is_the_share_of_edge_workers_that_train(instance, schedule):
    busy = busy_workers(instance, schedule)
    assert busy.time.tolist() == [1, 3, 7]
    assert busy.value.tolist() == [2, 1]
    assert utilisation_over_time(instance, schedule).at(np.array([0, 1.5, 3.5, 8])).tolist() == [
        0, 1, 0.5, 0,
    ]  # fmt: skip
    assert makespan(instance, schedule) == 11
    assert utilisation(instance, schedule) == pytest.approx(8 / (11 * 2))


def test_jobs_wait_from_release_to_completion_while_nothing_of_them_runs(instance, schedule):
    present, waiting = jobs_present(instance, schedule), queue_length(instance, schedule)
    times = np.array([0, 1.5, 3.5, 4.5, 6.5, 8, 10.5])
    assert present.at(times).tolist() == [2, 2, 3, 3, 2, 1, 1]
    # job 1 waits until 10; job 2 in [3, 4); job 0 in [0, 1) and [4, 6)
    assert waiting.at(times).tolist() == [2, 1, 2, 2, 1, 1, 0]
    assert submissions(instance).value.tolist() == [2, 0, 0, 1]


def test_communication_is_upload_and_exchange_and_none_of_the_latter_in_the_cloud(
    instance, schedule
):
    # job 0 runs for 4 slots, a third of them exchange; job 2 for 2, half of them; by wall clock
    uploads, exchange = 1 + 10 + 1, 4 / 3 + 1
    assert communication_wall_clock(instance, schedule) == pytest.approx(uploads + exchange)


def test_load_is_work_over_what_workers_can_do_while_jobs_arrive(instance):
    assert load(instance) == pytest.approx((6 + 4 + 2) / (2 * 4))


def test_the_mean_of_a_step_function_weighs_values_by_time():
    assert StepFunction(np.array([0.0, 1.0, 4.0]), np.array([3.0, 1.0])).mean == 1.5
    assert StepFunction(np.zeros(1), np.zeros(0)).mean == 0


def test_a_schedule_without_runs_can_be_measured(instance):
    nothing = Schedule.build(runs=[], together=[False] * 3)
    assert preemptions(instance, nothing) == 0
    assert utilisation_over_time(instance, nothing).value.size == 0
    assert communication_wall_clock(instance, nothing) == 0


@pytest.mark.parametrize("name", PROBLEM.pictures)
def test_every_picture_is_drawn_on_the_axis_given(instance, schedule, name):
    ax = Figure().subplots()
    assert PROBLEM.pictures[name](ax, instance, schedule) is ax
    assert ax.get_xlabel() == "time (slots)"


def test_the_gantt_chart_has_a_row_per_worker_and_one_for_the_cloud(instance, schedule):
    ax = plots.gantt(Figure().subplots(), instance, schedule)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["server 0, worker 0", "server 0, worker 1", "cloud"]


def test_a_large_gantt_chart_names_servers_where_there_is_room():
    servers = 40
    instance = Instance.build(
        release_time=[0],
        num_chunks=[2 * servers],
        chunk_time_slow=[1],
        upload_delay_edge=np.zeros((1, servers)),
        upload_delay_cloud=1,
        worker_server=np.repeat(np.arange(servers), 2),
    )
    made = Schedule.build(runs=[(0, w, w, 0, 1) for w in range(2 * servers)], together=[False])
    ax = plots.gantt(Figure().subplots(), instance, made)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[0] == "server 0"
    assert 10 <= len(labels) <= plots.NAMED_WORKERS
    assert np.all(np.diff(ax.get_yticks()) >= 2 * servers / plots.NAMED_WORKERS)


def test_a_quantity_is_0_outside_the_time_it_is_known_for_and_everywhere_if_for_none():
    steps = StepFunction(np.array([1.0, 2.0, 4.0]), np.array([3.0, 5.0]))
    assert steps.at(np.array([0.5, 1.0, 2.0, 3.9, 4.0])).tolist() == [0, 3, 5, 5, 0]
    assert StepFunction(np.zeros(1), np.zeros(0)).at(np.array([-1.0, 0.0, 1.0])).tolist() == [0] * 3
