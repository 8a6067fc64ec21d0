"""Generated instances: the paper's ranges, options that are refused, traces turned into jobs."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.common.traces import Machines, TraceJobs
from formulations.common.traces.philly import load_jobs, load_machines
from formulations.preemptive.generator import (
    MODELS,
    GeneratorOptions,
    from_trace,
    generate,
    tiny,
)
from formulations.preemptive.instance import Instance
from optsched.errors import InputError


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def between(values: np.ndarray, low: float, high: float) -> bool:
    return bool(np.all((values >= low) & (values <= high)))


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), model=st.sampled_from(["job", "server"]))
def test_generated_instances_lie_in_the_papers_ranges(seed: int, model: str) -> None:
    instance = generate(rng(seed), jobs=40, servers=12, rounded=False, delay_model=model)
    assert set(instance.num_chunks.tolist()) <= {chunks for chunks, _ in MODELS.values()}
    assert between(instance.chunk_time_fast, 20 * 58 * 0.001, 60 * 58 * (0.05 + 0.1 / 3600))
    communication = instance.chunk_time_slow - instance.chunk_time_fast
    assert between(communication, 0, 60 * 58 * 2 * 8 * 575 / 100 / 3600)
    assert np.all(communication > 0)
    assert between(instance.upload_delay_edge, 1, 4)
    assert between(instance.upload_delay_cloud, 10, 15)
    assert between(instance.release_time, 1, 168)
    assert np.all(np.diff(instance.release_time) >= 0)
    assert set(np.bincount(instance.worker_server).tolist()) <= {2, 8}
    assert between(instance.worker_type, 0, 8)
    assert between(instance.job_worker_type, 0, 8)
    assert np.all(instance.gang_size <= instance.num_chunks)
    whole = (instance.release_time, instance.upload_delay_edge, instance.upload_delay_cloud)
    assert all(np.array_equal(values, np.round(values)) for values in whole)


def test_the_whole_range_is_drawn() -> None:
    instance = generate(rng(), jobs=3000, servers=300)
    assert set(np.unique(instance.upload_delay_edge)) == {1, 2, 3, 4}
    assert set(np.unique(instance.upload_delay_cloud)) == {10, 11, 12, 13, 14, 15}
    assert set(np.unique(instance.release_time)) == set(range(1, 169))
    assert set(np.unique(instance.worker_type)) == set(range(9))
    assert set(np.unique(instance.num_chunks)) == {27, 60, 115}
    small = np.mean(np.bincount(instance.worker_server) == 2)
    assert small == pytest.approx(321 / 552, abs=0.1)
    assert np.mean(instance.gang_size == 1) == pytest.approx(66960 / 71570, abs=0.02)


def test_one_seed_gives_one_instance_and_another_seed_another() -> None:
    def numbers(instance: Instance) -> list[bytes]:
        names = [f.name for f in fields(Instance)]
        values = [getattr(instance, name) for name in names]
        return [value.tobytes() for value in values if isinstance(value, np.ndarray)]

    assert numbers(generate(rng(4))) == numbers(generate(rng(4)))
    assert numbers(generate(rng(4))) != numbers(generate(rng(5)))


def test_rounding_and_time_scale_change_nothing_but_chunk_times() -> None:
    plain = generate(rng(7), rounded=False)
    rounded = generate(rng(7))
    scaled = generate(rng(7), rounded=False, time_scale=0.1)
    assert rounded.is_integral
    for other in (rounded, scaled):
        for name in ("release_time", "num_chunks", "upload_delay_edge", "worker_type", "ps_type"):
            assert np.array_equal(getattr(plain, name), getattr(other, name))
    assert np.array_equal(rounded.chunk_time_slow, np.ceil(plain.chunk_time_slow))
    communication = plain.chunk_time_slow - plain.chunk_time_fast
    less = scaled.chunk_time_slow - scaled.chunk_time_fast
    np.testing.assert_allclose(less, 0.1 * communication, rtol=1e-9)
    # the parameter server's update, at most 0.1 s a batch, is not scaled
    assert np.all(scaled.chunk_time_fast >= 0.1 * plain.chunk_time_fast)
    assert np.all(scaled.chunk_time_fast <= 0.1 * plain.chunk_time_fast + 60 * 58 * 0.1 / 3600)


def test_delays_by_server_are_common_to_all_jobs() -> None:
    by_server = generate(rng(1), delay_model="server")
    assert np.all(by_server.upload_delay_edge == by_server.upload_delay_edge[0])
    assert np.all(by_server.upload_delay_cloud == by_server.upload_delay_cloud[0])
    by_job = generate(rng(1), delay_model="job")
    assert np.any(by_job.upload_delay_edge != by_job.upload_delay_edge[0])


def test_arrivals_may_be_spread_by_span_or_by_rate() -> None:
    assert generate(rng(), jobs=200, span=20).release_time.max() == 20
    assert generate(rng(), jobs=300, jobs_per_slot=3).release_time.max() == 100
    assert GeneratorOptions().arrival_span == 168


def test_servers_have_the_machines_and_parameter_servers_asked_for() -> None:
    instance = generate(rng(), servers=5, machines=(3,), ps_per_worker=4)
    assert np.bincount(instance.worker_server).tolist() == [3] * 5
    assert np.bincount(instance.ps_server).tolist() == [12] * 5
    assert generate(rng(), ps_per_worker=0).parameter_servers == 0


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("jobs", 0),
        ("jobs", 2.5),
        ("servers", -1),
        ("types", 0),
        ("span", 0),
        ("jobs_per_slot", 0),
        ("delay_model", "planet"),
        ("time_scale", 0),
        ("time_scale", float("inf")),
        ("ps_per_worker", -1),
        ("machines", ()),
        ("machines", "many"),
        ("rounded", "perhaps"),
        ("colour", "red"),
    ],
)
def test_an_option_that_cannot_be_is_refused_by_name(option: str, value: object) -> None:
    with pytest.raises(InputError) as caught:
        generate(rng(), **{option: value})
    assert [problem.field for problem in caught.value.problems] == [option]


def test_span_and_rate_exclude_each_other() -> None:
    with pytest.raises(InputError, match="exclude each other"):
        generate(rng(), span=10, jobs_per_slot=2)


@settings(deadline=None, max_examples=100)
@given(seed=st.integers(0, 2**32 - 1), types=st.integers(1, 3), cloud=st.booleans())
def test_tiny_instances_are_integral_and_small(seed: int, types: int, cloud: bool) -> None:
    instance = tiny(rng(seed), types=types, cloud=cloud)
    assert instance.is_integral
    assert between(np.array(instance.jobs), 2, 6)
    assert between(instance.num_chunks, 1, 3)
    assert between(instance.chunk_time_fast, 1, 3)
    assert between(instance.chunk_time_slow - instance.chunk_time_fast, 0, 3)
    assert between(np.bincount(instance.worker_server, minlength=2), 1, 2)
    assert instance.parameter_servers <= 4
    if cloud:
        assert between(instance.upload_delay_cloud, 8, 16)
    else:
        assert np.all(np.isinf(instance.upload_delay_cloud))
        assert np.all(instance.worker_eligible.any(axis=1))


def test_tiny_instances_may_have_common_delays_and_a_given_number_of_jobs() -> None:
    instance = tiny(rng(2), jobs=5, delay_model="server")
    assert instance.jobs == 5
    assert np.all(instance.upload_delay_edge == instance.upload_delay_edge[0])
    with pytest.raises(InputError, match="jobs"):
        tiny(rng(), jobs=0)


def trace() -> TraceJobs:
    return TraceJobs(
        submit_time=np.array([100.0, 3699.0, 3700.0, 10_000.0]),
        duration=np.array([1800.0, 7200.0, 3600.0, 36_000.0]),
        gpus=np.array([1, 2, 200, 8]),
        cluster=np.array(["a", "b", "a", "a"]),
    )


MACHINES = Machines(("m0", "m1", "m2"), np.array([8, 2, 0]))


def test_trace_jobs_arrive_in_the_hour_of_their_submission() -> None:
    instance = from_trace(trace(), MACHINES, rng())
    assert instance.release_time.tolist() == [1, 1, 2, 3]
    assert np.bincount(instance.worker_server, minlength=3).tolist() == [8, 2, 0]
    assert np.bincount(instance.ps_server, minlength=3).tolist() == [16, 4, 0]
    assert instance.edge_servers == 3


def test_a_gang_is_as_large_as_the_jobs_gpus_and_its_chunks_allow() -> None:
    instance = from_trace(trace(), MACHINES, rng())
    assert instance.gang_size.tolist() == [1, 2, instance.num_chunks[2], 8]


def test_calibrated_work_is_gpus_times_duration() -> None:
    instance = from_trace(trace(), MACHINES, rng(), calibrate="duration")
    gpu_hours = instance.num_chunks * instance.chunk_time_slow
    np.testing.assert_allclose(gpu_hours, [0.5, 4, 200, 80], rtol=1e-12)
    plain = from_trace(trace(), MACHINES, rng())
    np.testing.assert_allclose(
        instance.chunk_time_fast / instance.chunk_time_slow,
        plain.chunk_time_fast / plain.chunk_time_slow,
        rtol=1e-12,
    )


def test_a_trace_without_jobs_and_an_unknown_option_are_refused() -> None:
    with pytest.raises(InputError, match="trace"):
        from_trace(trace()[:0], MACHINES, rng())
    with pytest.raises(InputError, match="calibrate"):
        from_trace(trace(), MACHINES, rng(), calibrate="wish")
    with pytest.raises(InputError, match="span"):
        from_trace(trace(), MACHINES, rng(), span=3)


def test_chunk_times_of_a_trace_may_be_rounded() -> None:
    assert from_trace(trace(), MACHINES, rng(), rounded=True).is_integral


def test_a_week_of_the_real_trace_becomes_an_instance(shared_data: Path) -> None:
    real_jobs = load_jobs(shared_data / "philly" / "philly_jobs_to_20171126.csv.gz")
    machines = load_machines(shared_data / "philly" / "cluster_machine_list.csv.gz")
    week = real_jobs[(real_jobs.submit_time >= 28 * 86_400) & (real_jobs.submit_time < 35 * 86_400)]
    assert len(week) > 1000
    week = week[:1000]
    instance = from_trace(week, machines, rng(1), calibrate="duration")
    assert (instance.jobs, instance.edge_servers, instance.workers) == (1000, 552, 2490)
    assert instance.release_time[0] == 1
    assert instance.release_time[-1] == (week.submit_time[-1] - week.submit_time[0]) // 3600 + 1
    gpu_hours = instance.num_chunks * instance.chunk_time_slow
    np.testing.assert_allclose(gpu_hours, week.gpus * week.duration / 3600, rtol=1e-12)
    assert np.array_equal(instance.gang_size, np.minimum(week.gpus, instance.num_chunks))
