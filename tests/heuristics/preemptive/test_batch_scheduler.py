"""BatchSche waits for a batch, prices the edge, and mostly ends up in the cloud."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.preemptive.check import check, completion_times
from formulations.preemptive.generator import generate, tiny
from formulations.preemptive.instance import CLOUD, Instance
from formulations.preemptive.metrics import preemptions
from heuristics.preemptive.batch_scheduler import batch_sche
from optsched.errors import InputError


@pytest.fixture
def two_jobs():
    """One worker at delay 0; the second job comes while the first would run."""
    return Instance.build(
        release_time=[0, 1],
        num_chunks=[1, 1],
        chunk_time_slow=[3, 3],
        chunk_time_fast=[2, 2],
        upload_delay_edge=[[0], [0]],
        upload_delay_cloud=5,
        worker_server=[0],
    )


def test_a_job_that_fits_nowhere_waits_once_and_then_takes_the_cloud(two_jobs, rng):
    # batches at 1, 2, 4, 8: in [1, 2) and [2, 4) neither place ends in time, so at 2 the cloud
    run = batch_sche(two_jobs, rng)
    assert run.together.all()
    assert completion_times(two_jobs, run).tolist() == [9, 9]


def test_what_ends_before_the_next_batch_takes_the_cheapest_place(two_jobs, rng):
    # batches at 4, 8, 16: by 8 only the edge ends, at 7, and for one job
    run = batch_sche(two_jobs, rng, first_batch=4)
    assert run.together.tolist() == [False, True]
    assert completion_times(two_jobs, run).tolist() == [7, 15]


def test_a_dear_cloud_sends_jobs_to_the_edge_one_after_the_other(two_jobs, rng):
    # batches at 16 and 32: 3 worker-slots at price 1 against 2 at price 10
    run = batch_sche(two_jobs, rng, first_batch=16, cloud_price=10)
    assert completion_times(two_jobs, run).tolist() == [19, 22]
    assert np.all(run.run_worker == 0)


def test_the_edge_grows_dearer_the_more_its_class_is_used(rng):
    instance = Instance.build(
        release_time=[0, 0],
        num_chunks=[1, 1],
        chunk_time_slow=[4, 4],
        upload_delay_edge=np.zeros((2, 1)),
        upload_delay_cloud=1,
        worker_server=[0, 0],
    )
    # half used, a worker costs sqrt(10) a slot; the cloud costs 2
    run = batch_sche(instance, rng, first_batch=16, cloud_price=2)
    assert run.together.tolist() == [False, True]
    cheap = batch_sche(instance, rng, first_batch=16, cloud_price=4)
    assert not cheap.together.any()


def test_a_job_barred_from_the_cloud_gets_the_edge_on_its_last_chance(rng):
    instance = Instance.build(
        release_time=[0, 0],
        num_chunks=[2, 2],
        chunk_time_slow=[30, 30],
        upload_delay_edge=[[1], [1]],
        upload_delay_cloud=np.inf,
        worker_server=[0, 0],
        gang_size=[2, 2],
    )
    run = batch_sche(instance, rng)
    assert completion_times(instance, run).tolist() == [33, 63]
    assert check(instance, run) == []


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    cloud_price=st.sampled_from([0.5, 1.0, 5.0, 100.0]),
    first_batch=st.sampled_from([0.5, 1.0, 8.0, 32.0]),
)
def test_every_schedule_of_batchsche_is_feasible_and_never_preempts(
    seed, cloud_price, first_batch, rng
):
    instance = tiny(np.random.default_rng(seed), types=2)
    run = batch_sche(instance, rng, cloud_price=cloud_price, first_batch=first_batch)
    assert check(instance, run) == []
    assert preemptions(instance, run) == 0


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), first_batch=st.sampled_from([1.0, 8.0]))
def test_batchsche_cannot_see_the_jobs_to_come(seed, first_batch, rng):
    instance = tiny(np.random.default_rng(seed), jobs=5)
    whole = batch_sche(instance, rng, cloud_price=20.0, first_batch=first_batch)
    order = np.lexsort((np.arange(instance.jobs), instance.release_time))
    for count in range(1, instance.jobs):
        cut = instance.release_time[order[count]]
        part = batch_sche(
            instance.first_jobs(count), rng, cloud_price=20.0, first_batch=first_batch
        )
        names = np.sort(order[:count])
        before, after = (
            {
                (int(job), int(worker), float(start))
                for job, worker, start in zip(
                    of[run.run_job], run.run_worker, run.run_start, strict=True
                )
                if start < cut
            }
            for run, of in ((part, names), (whole, np.arange(instance.jobs)))
        )
        assert before == after


def test_at_printed_ranges_nearly_all_jobs_go_to_the_cloud_after_waiting(rng):
    instance = generate(np.random.default_rng(0), jobs=60, servers=20)
    run = batch_sche(instance, rng)
    assert run.together.mean() > 0.9
    cloud = run.run_worker == CLOUD
    job = run.run_job[cloud]
    earliest = (instance.release_time + instance.upload_delay_cloud)[job]
    assert np.all(run.run_start[cloud] >= earliest)
    assert np.any(run.run_start[cloud] > earliest)


@pytest.mark.parametrize(
    "options",
    [{"first_batch": 0}, {"cloud_price": -1}, {"greatest_price": 0.5}],
)
def test_prices_and_batches_out_of_range_are_refused(two_jobs, rng, options):
    with pytest.raises(InputError, match=r"first_batch|_price"):
        batch_sche(two_jobs, rng, **options)
