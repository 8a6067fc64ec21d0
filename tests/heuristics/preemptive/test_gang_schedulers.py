"""SRTF and Tiresias-L run whole jobs on edge workers, and pay for moving them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.common.traces import TraceJobs
from formulations.preemptive.check import check, completion_times, cost
from formulations.preemptive.generator import generate, tiny
from formulations.preemptive.instance import CLOUD, Instance
from formulations.preemptive.metrics import preemptions
from formulations.preemptive.sweep import Spans, count_open
from heuristics.common.count_placement import simulate
from heuristics.preemptive import HEURISTICS
from heuristics.preemptive.a_online import a_online_e
from heuristics.preemptive.srtf import srtf
from heuristics.preemptive.tiresias import tiresias_l
from optsched.errors import InputError

FAR = 1000.0

SCHEDULERS = {
    "srtf": srtf,
    "srtf in rounds": lambda i, rng: srtf(i, rng, gang_mode="rounds"),
    "tiresias": lambda i, rng: tiresias_l(i, rng, thresholds_gpu_slots=[3, 8]),
    "tiresias in rounds": lambda i, rng: tiresias_l(
        i, rng, thresholds_gpu_slots=[3, 8], gang_mode="rounds"
    ),
    "tiresias with promotion": lambda i, rng: tiresias_l(
        i, rng, thresholds_gpu_slots=[2], promote_knob=1.0
    ),
}
FLUID = [name for name in SCHEDULERS if "rounds" not in name]

seeds = st.integers(0, 2**32 - 1)


def system(delay, workers, **jobs):
    """Jobs with one delay per server; every job may use every worker."""
    count = len(jobs["release_time"])
    return Instance.build(
        upload_delay_edge=np.broadcast_to(delay, (count, np.shape(delay)[-1])),
        upload_delay_cloud=FAR,
        worker_server=workers,
        **jobs,
    )


@pytest.fixture
def hand():
    """One server with two workers; the worked case."""
    return system(
        [1.0],
        [0, 0],
        release_time=[0, 2],
        num_chunks=[2, 1],
        chunk_time_slow=[4, 2],
        gang_size=[2, 1],
    )


def contended(seed, *, tables=False):
    """A tiny instance; every third draws eligibility from a table."""
    rng = np.random.default_rng(seed)
    instance = tiny(rng, jobs=int(rng.integers(2, 7)), types=int(rng.integers(1, 3)))
    if not tables:
        return instance
    table = rng.random((instance.jobs, instance.workers)) < 0.7
    return replace(instance, explicit_worker_eligible=table)


def test_srtf_suspends_the_whole_gang_and_resumes_without_loading(hand, rng):
    run = srtf(hand, rng)
    assert completion_times(hand, run).tolist() == [8, 5]
    assert (run.job_preemptions, run.worker_preemptions) == (1, 2)
    assert run.loading.tolist() == [1, 1]
    assert run.held.tolist() == [5, 3]


@pytest.mark.parametrize(("threshold", "jct"), [(4, 11), (6, 12)])
def test_tiresias_demotes_by_time_for_which_workers_are_held(hand, rng, threshold, jct):
    run = tiresias_l(hand, rng, thresholds_gpu_slots=[threshold])
    assert cost(hand, run) == jct
    assert run.job_preemptions == 1


def test_a_online_e_preempts_one_worker_where_gangs_stop_whole_jobs(hand, rng):
    run = a_online_e(hand, rng)
    assert completion_times(hand, run).tolist() == [7, 5]
    assert preemptions(hand, run) == 1


def test_a_job_restarted_elsewhere_loads_its_data_again(rng):
    instance = Instance.build(
        release_time=[0, 0, 2, 4],
        num_chunks=[1, 1, 2, 1],
        chunk_time_slow=[10, 20, 1, 6],
        upload_delay_edge=[[1, 3], [1, 1], [1, 1], [0, 5]],
        upload_delay_cloud=FAR,
        worker_server=[0, 1],
        gang_size=[1, 1, 2, 1],
    )
    run = srtf(instance, rng)
    # job 2 takes both workers in [2, 4); then job 3 is ahead of job 0 and takes its server
    assert completion_times(instance, run).tolist() == [16, 30, 4, 10]
    assert run.loading.tolist() == [4, 2, 1, 0]
    assert run.suspensions.tolist() == [1, 1, 0, 0]


def test_data_keep_arriving_while_a_job_is_suspended(rng):
    instance = system(
        [5.0],
        [0],
        release_time=[0, 2],
        num_chunks=[1, 1],
        chunk_time_slow=[9, 1],
    )
    run = srtf(instance, rng)
    # job 1 loads in [2, 7) and runs to 8; the data of job 0, suspended at 2, are there since 5
    assert completion_times(instance, run).tolist() == [17, 8]
    assert run.loading.tolist() == [2, 5]
    assert preemptions(instance, run) == 0  # it had not begun to train
    assert run.job_preemptions == 1


def test_promotion_after_waiting_as_long_as_it_was_served_makes_two_jobs_alternate(rng):
    instance = system([0.0], [0], release_time=[0, 1], num_chunks=[1, 1], chunk_time_slow=[10, 10])
    plain = tiresias_l(instance, rng, thresholds_gpu_slots=[2])
    fair = tiresias_l(instance, rng, thresholds_gpu_slots=[2], promote_knob=1.0)
    assert completion_times(instance, plain).tolist() == [20, 12]
    assert completion_times(instance, fair).tolist() == [18, 20]
    assert fair.suspensions.tolist() == [4, 4]


def test_rounds_leave_workers_without_a_chunk_in_the_last_round(rng):
    instance = system(
        [0.0], [0, 0], release_time=[0], num_chunks=[3], chunk_time_slow=[2], gang_size=[2]
    )
    assert cost(instance, srtf(instance, rng)) == 3
    run = srtf(instance, rng, gang_mode="rounds")
    assert cost(instance, run) == 4
    assert run.run_end[run.run_worker == 1].tolist() == [2]


def test_a_job_no_edge_worker_may_serve_runs_in_the_cloud_at_the_fast_speed(rng):
    instance = Instance.build(
        release_time=[1],
        num_chunks=[3],
        chunk_time_slow=[4],
        chunk_time_fast=[2],
        upload_delay_edge=[[1]],
        upload_delay_cloud=5,
        worker_server=[0],
        job_worker_type=[7],
    )
    run = srtf(instance, rng)
    assert cost(instance, run) == 7
    assert run.together.all()
    assert run.gang.tolist() == [0]
    assert np.all(run.run_worker == CLOUD)
    assert check(instance, run) == []


@pytest.mark.parametrize("name", SCHEDULERS)
@settings(max_examples=30, deadline=None)
@given(seed=seeds, tables=st.booleans())
def test_every_schedule_of_a_gang_scheduler_passes_the_checker(name, seed, tables, rng):
    instance = contended(seed, tables=tables)
    run = SCHEDULERS[name](instance, rng)
    assert check(instance, run, slotted=name == "srtf in rounds") == []


@pytest.mark.parametrize("name", FLUID)
@settings(max_examples=20, deadline=None)
@given(seed=seeds, tables=st.booleans())
def test_a_gang_trains_on_all_its_workers_or_on_none(name, seed, tables, rng):
    instance = contended(seed, tables=tables)
    run = SCHEDULERS[name](instance, rng)
    edge = run.run_worker != CLOUD
    steps = count_open(Spans(run.run_job[edge], run.run_start[edge], run.run_end[edge]))
    workers = steps.counts[0]
    assert np.all((workers == 0) | (workers == run.gang[steps.pieces.key]))
    assert run.worker_preemptions >= preemptions(instance, run)


@pytest.mark.parametrize("name", SCHEDULERS)
@settings(max_examples=20, deadline=None)
@given(seed=seeds, tables=st.booleans())
def test_gang_schedulers_cannot_see_the_jobs_to_come(name, seed, tables, rng):
    instance = contended(seed, tables=tables)
    whole = SCHEDULERS[name](instance, rng)
    order = np.lexsort((np.arange(instance.jobs), instance.release_time))
    for count in range(1, instance.jobs):
        part = SCHEDULERS[name](instance.first_jobs(count), rng)
        until = instance.release_time[order[count]]
        assert history(part, np.sort(order[:count]), until) == history(
            whole, np.arange(instance.jobs), until
        )


def history(run, names, until):
    """What was done before a moment, job numbers translated."""
    kept = run.run_start < until
    return sorted(
        zip(
            names[run.run_job[kept]].tolist(),
            run.run_worker[kept].tolist(),
            run.run_start[kept].tolist(),
            np.minimum(run.run_end[kept], until).tolist(),
            strict=True,
        )
    )


@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_without_delays_srtf_is_that_of_a_cluster_that_counts_free_workers(seed, rng):
    draw = np.random.default_rng(seed)
    jobs, workers = 12, 6
    chunks = draw.integers(1, 5, jobs)
    instance = system(
        [0.0],
        np.zeros(workers, dtype=int),
        release_time=np.sort(draw.uniform(0, 20, jobs)),
        num_chunks=chunks,
        chunk_time_slow=draw.uniform(1, 10, jobs),  # no two remaining times are equal
        gang_size=chunks,
    )
    run = srtf(instance, rng)
    trace = TraceJobs(
        instance.release_time.copy(),
        instance.chunk_time_slow.copy(),
        chunks.astype(np.int64),
        np.full(jobs, "vc", dtype=np.str_),
    )
    counted = simulate(trace, workers, "srtf")
    assert completion_times(instance, run) == pytest.approx(counted.end)
    assert run.suspensions.tolist() == counted.preemptions.tolist()


@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_tiresias_with_one_queue_never_preempts(seed, rng):
    run = tiresias_l(contended(seed), rng, thresholds_gpu_slots=[])
    assert run.job_preemptions == 0


def test_default_thresholds_are_those_of_the_released_simulator_in_slots(rng):
    instance = generate(np.random.default_rng(1), jobs=40, servers=3, types=1, span=10)
    default = tiresias_l(instance, rng)
    spelled = tiresias_l(instance, rng, thresholds_gpu_slots=[3250 / 3600, 7200 / 3600])
    assert default.job_preemptions == spelled.job_preemptions > 0
    assert np.array_equal(default.run_start, spelled.run_start)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("srtf", {"gang_mode": "solid"}),
        ("tiresias_l", {"thresholds_gpu_slots": [3, 2]}),
        ("tiresias_l", {"service_quantile": 2.0}),
        ("tiresias_l", {"service_quantile": 0.5, "thresholds_gpu_slots": [2]}),
        ("tiresias_l", {"promote_knob": 0.0}),
    ],
)
def test_options_out_of_range_are_refused_by_name(hand, rng, name, options):
    with pytest.raises(InputError, match=next(iter(options))):
        HEURISTICS[name].run(hand, rng, **options)
