"""Workloads of the size of the Philly trace, read or drawn."""

from pathlib import Path

import numpy as np
import pytest

from formulations.common.traces import TraceJobs
from formulations.common.traces.philly import load_jobs
from formulations.preemptive.generator import PHILLY_JOBS
from formulations.preemptive.workload import (
    DURATIONS,
    PROBABILITIES,
    draw_jobs,
    philly_machines,
    philly_workload,
)
from optsched.errors import InputError

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.9)


def drawn(jobs: int = 40_000) -> TraceJobs:
    return draw_jobs(np.random.default_rng(2), jobs)


def test_the_cluster_has_the_machines_of_the_official_list():
    machines = philly_machines()
    assert len(machines) == 552
    assert machines.gpus.sum() == 2_490


def test_drawn_jobs_want_gpus_as_often_as_real_ones():
    jobs, total = drawn(), sum(PHILLY_JOBS.values())
    for gpus, count in PHILLY_JOBS.items():
        assert np.mean(jobs.gpus == gpus) == pytest.approx(count / total, abs=3e-3)


@pytest.mark.parametrize("gpus", [1, 4, 8])
def test_drawn_jobs_run_as_long_as_real_ones_of_their_size(gpus):
    jobs = drawn()
    log = np.log(jobs.duration[jobs.gpus == gpus])
    fitted = np.interp(QUANTILES, PROBABILITIES, np.log(DURATIONS[gpus]))
    assert np.quantile(log, QUANTILES) == pytest.approx(fitted, abs=0.6)


def test_drawn_arrivals_come_in_bursts():
    """The variance of hourly counts is far above the mean, and one hour is like the next."""
    counts = np.bincount((drawn().submit_time // 3600).astype(int))
    assert counts.var() > 20 * counts.mean()
    assert np.corrcoef(np.log1p(counts[1:]), np.log1p(counts[:-1]))[0, 1] > 0.4


def test_one_seed_draws_one_trace():
    assert np.array_equal(drawn(500).submit_time, drawn(500).submit_time)
    assert np.array_equal(drawn(500).duration, drawn(500).duration)
    assert len(draw_jobs(np.random.default_rng(0), 1)) == 1


def test_no_jobs_are_refused():
    with pytest.raises(InputError, match="jobs"):
        draw_jobs(np.random.default_rng(0), 0)


def test_chunks_add_up_to_the_work_each_job_did():
    instance = philly_workload(np.random.default_rng(2), 400)
    trace = draw_jobs(np.random.default_rng(2), 400)
    work = instance.num_chunks * instance.chunk_time_slow
    assert work == pytest.approx(trace.gpus * trace.duration / 3600)
    assert np.all(instance.chunk_time_fast < instance.chunk_time_slow)
    assert (instance.workers, instance.edge_servers) == (2_490, 552)


def test_real_jobs_are_read_where_they_are(shared_data: Path):
    path = shared_data / "philly" / "philly_jobs_to_20171126.csv.gz"
    instance = philly_workload(np.random.default_rng(0), 300, path)
    real = load_jobs(path)[:300]
    assert instance.release_time == pytest.approx(np.floor(real.submit_time / 3600) + 1)
    work = instance.num_chunks * instance.chunk_time_slow
    assert work == pytest.approx(real.gpus * real.duration / 3600)


def test_the_fit_is_that_of_the_real_jobs(shared_data: Path):
    real = load_jobs(shared_data / "philly" / "philly_jobs_to_20171126.csv.gz")
    for gpus in (1, 2, 4, 8):
        seconds = np.quantile(real.duration[real.gpus == gpus], PROBABILITIES)
        assert seconds == pytest.approx(DURATIONS[gpus], rel=0.02, abs=1)
