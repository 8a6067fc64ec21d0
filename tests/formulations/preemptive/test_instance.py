"""Instances: files that come back, files that are refused, classes, cuts, and the rates of (1)."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.preemptive.generator import generate, tiny
from formulations.preemptive.instance import CLOUD, Instance, whole_slots
from optsched.errors import InputError
from optsched.instances.document import dumps, load, parse, save, schema


def assert_same(one: Instance, other: Instance) -> None:
    """Every field of the two instances is equal to the last bit."""
    for item in fields(Instance):
        if item.name != "jobs_document":
            np.testing.assert_array_equal(getattr(one, item.name), getattr(other, item.name))


def good() -> dict[str, Any]:
    """A file that uses every field; job 0 has direct times, job 1 what pre-training measured."""
    return {
        "format": "optsched/preemptive/instance",
        "version": 1,
        "slot_hours": 0.5,
        "horizon": 40,
        "jobs": [
            {
                "release_time": 1,
                "num_chunks": 3,
                "chunk_time_slow": 4,
                "chunk_time_fast": 2,
                "upload_delay_edge": [1, 2],
                "upload_delay_cloud": None,
                "worker_type": 1,
                "chunk_storage": 2.5,
                "gang_size": 2,
            },
            {
                "release_time": 2.5,
                "num_chunks": 2,
                "num_epochs": 30,
                "batches_per_chunk": 58,
                "batch_compute_time": 0.01,
                "ps_update_time": 36,
                "gradient_size_mb": 225,
                "bandwidth_mbps": 1000,
                "upload_delay_edge": [0, 0],
                "upload_delay_cloud": 8,
            },
        ],
        "edge_servers": [{"storage_capacity": 10}, {}],
        "workers": [{"server": 0, "type": 1}, {"server": 1}, {"server": 1, "type": 1}],
        "parameter_servers": [{"server": 1}],
        "worker_eligible": [[True, False, True], [False, True, True]],
        "ps_eligible": [[True], [False]],
    }


def test_a_file_that_uses_every_field_is_read_field_by_field() -> None:
    instance = parse(Instance, good())
    assert (instance.jobs, instance.edge_servers) == (2, 2)
    assert (instance.workers, instance.parameter_servers) == (3, 1)
    assert instance.upload_delay_cloud.tolist() == [np.inf, 8]
    assert instance.storage_capacity.tolist() == [10, np.inf]
    assert instance.worker_eligible.tolist() == [[True, False, True], [False, True, True]]
    assert instance.ps_eligible.tolist() == [[True], [False]]
    assert instance.gang_size.tolist() == [2, 1]
    assert instance.horizon == 40


def test_rates_follow_equation_1_in_slots() -> None:
    # m = 0.01 h; G = 36 ms = 1e-5 h; 2 x 8 x 225 / 1000 = 3.6 s = 1e-3 h; half-hour slots
    instance = parse(Instance, good())
    batches = 30 * 58
    assert instance.chunk_time_fast[1] == pytest.approx(batches * 0.01001 / 0.5, rel=1e-12)
    assert instance.chunk_time_slow[1] == pytest.approx(batches * 0.01101 / 0.5, rel=1e-12)
    assert instance.chunk_time_slow[0] == 4, "direct times are slots, whatever their length"


def test_the_cloud_saves_nothing_where_there_is_nothing_to_communicate() -> None:
    data = good()
    data["jobs"][1]["gradient_size_mb"] = 0
    instance = parse(Instance, data)
    assert instance.chunk_time_fast[1] == instance.chunk_time_slow[1]


def test_a_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    instance = parse(Instance, good())
    save(instance, tmp_path / "instance.json")
    again = load(Instance, tmp_path / "instance.json")
    assert_same(instance, again)
    assert again.jobs_document == instance.jobs_document
    assert dumps(again) == dumps(instance)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    types=st.integers(1, 3),
    cloud=st.booleans(),
    explicit=st.booleans(),
)
def test_every_instance_survives_its_file(seed, types, cloud, explicit) -> None:
    rng = np.random.default_rng(seed)
    instance = tiny(rng, types=types, cloud=cloud)
    if explicit:
        instance = replace(
            instance,
            explicit_worker_eligible=instance.worker_eligible,
            explicit_ps_eligible=instance.ps_eligible,
            horizon=int(rng.integers(1, 100)),
        )
    assert_same(instance, parse(Instance, json.loads(dumps(instance))))


def test_physical_parameters_survive_the_file_to_the_last_bit() -> None:
    instance = generate(np.random.default_rng(5), jobs=30, servers=4, rounded=False)
    text = dumps(instance)
    assert "batch_compute_time" in text
    assert "chunk_time_slow" not in text
    assert_same(instance, parse(Instance, json.loads(text)))


def test_a_system_of_the_cloud_alone_is_an_instance() -> None:
    data = good()
    data |= {"edge_servers": [], "workers": [], "parameter_servers": []}
    del data["worker_eligible"], data["ps_eligible"]
    for job in data["jobs"]:
        job |= {"upload_delay_edge": [], "upload_delay_cloud": 8}
    instance = parse(Instance, data)
    assert instance.edge_servers == instance.workers == 0
    assert_same(instance, parse(Instance, json.loads(dumps(instance))))


def test_a_parameter_server_stands_somewhere_and_their_list_may_be_left_out() -> None:
    data = good()
    data["parameter_servers"] = [{"server": 1}, {"type": 0}]
    with pytest.raises(InputError, match=r"parameter_servers\[1\]\.server = '\(missing\)'"):
        parse(Instance, data)
    del data["parameter_servers"], data["ps_eligible"]
    assert parse(Instance, data).parameter_servers == 0


def put(data: Any, path: str, value: Any) -> None:
    """Set the value at a dotted path."""
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in way:
        data = data[step]
    data[last] = value


CORRUPTIONS = [
    ("format", "optsched/okita/instance", "format"),
    ("version", 2, "version"),
    ("slot_hours", 0, "slot_hours"),
    ("horizon", 0, "horizon"),
    ("horizon", 12.5, "horizon"),
    ("colour", "red", "colour"),
    ("jobs", [], "jobs"),
    ("jobs.0.release_time", -1, "jobs[0].release_time"),
    ("jobs.0.release_time", "noon", "jobs[0].release_time"),
    ("jobs.0.release_time", float("nan"), "jobs[0].release_time"),
    ("jobs.0.release_time", float("inf"), "jobs[0].release_time"),
    ("jobs.0.num_chunks", 0, "jobs[0].num_chunks"),
    ("jobs.0.num_chunks", 2.5, "jobs[0].num_chunks"),
    ("jobs.0.num_chunks", 10**30, "jobs[0].num_chunks"),
    ("jobs.0.chunk_time_slow", 0, "jobs[0].chunk_time_slow"),
    ("jobs.0.chunk_time_slow", None, "jobs[0]"),
    ("jobs.0.chunk_time_fast", 5, "jobs[0].chunk_time_fast"),
    ("jobs.0.batch_compute_time", 1, "jobs[0]"),
    ("jobs.0.upload_delay_edge", [1], "jobs[0].upload_delay_edge"),
    ("jobs.0.upload_delay_edge", [1, -2], "jobs[0].upload_delay_edge[1]"),
    ("jobs.0.upload_delay_edge", 3, "jobs[0].upload_delay_edge"),
    ("jobs.0.gang_size", 4, "jobs[0].gang_size"),
    ("jobs.0.gang_size", 0, "jobs[0].gang_size"),
    ("jobs.0.worker_type", -1, "jobs[0].worker_type"),
    ("jobs.0.worker_type", 10**30, "jobs[0].worker_type"),
    ("jobs.0.chunk_storage", -0.5, "jobs[0].chunk_storage"),
    ("jobs.0.colour", "red", "jobs[0].colour"),
    ("jobs.1.batch_compute_time", None, "jobs[1]"),
    ("jobs.1.bandwidth_mbps", 0, "jobs[1].bandwidth_mbps"),
    ("jobs.1.gradient_size_mb", -1, "jobs[1].gradient_size_mb"),
    ("jobs.1.num_epochs", 1.5, "jobs[1].num_epochs"),
    ("jobs.1.batch_compute_time", 1e308, "jobs[1].batch_compute_time"),
    ("jobs.1.batch_compute_time", 1e20, "jobs[1].chunk_time_slow"),
    ("jobs.0.upload_delay_cloud", 1e308, "jobs[0].upload_delay_cloud"),
    ("jobs.0.upload_delay_edge.1", 2**63, "jobs[0].upload_delay_edge[1]"),
    ("jobs.1.upload_delay_cloud", "far", "jobs[1].upload_delay_cloud"),
    ("edge_servers.0.storage_capacity", -1, "edge_servers[0].storage_capacity"),
    ("workers.1.server", 2, "workers[1].server"),
    ("workers.1.server", -1, "workers[1].server"),
    ("workers.1.server", 10**30, "workers[1].server"),
    ("workers", {"server": 0}, "workers"),
    ("parameter_servers.0.server", 7, "parameter_servers[0].server"),
    ("worker_eligible", [[True, True, True]], "worker_eligible"),
    ("worker_eligible.0", [True], "worker_eligible[0]"),
    ("worker_eligible.0", [False, False, False], "jobs[0].upload_delay_cloud"),
    ("ps_eligible.1", ["perhaps"], "ps_eligible[1][0]"),
]


@pytest.mark.parametrize(
    ("path", "value", "named"), CORRUPTIONS, ids=[f"{p}={str(v)[:12]}" for p, v, _ in CORRUPTIONS]
)
def test_a_malformed_file_is_refused_by_the_name_of_its_field(path, value, named) -> None:
    data = copy.deepcopy(good())
    put(data, path, value)
    with pytest.raises(InputError) as caught:
        parse(Instance, data)
    assert named in [problem.field for problem in caught.value.problems]


@pytest.mark.parametrize(
    "missing", ["jobs", "workers", "edge_servers", "jobs.0.release_time", "jobs.1.num_chunks"]
)
def test_a_missing_field_is_named(missing: str) -> None:
    data: Any = good()
    *way, last = missing.split(".")
    inner = data
    for step in way:
        inner = inner[int(step) if step.isdigit() else step]
    del inner[last]
    with pytest.raises(InputError, match=r"\(missing\)"):
        parse(Instance, data)


def test_all_the_fields_at_fault_are_named_at_once() -> None:
    data = good()
    put(data, "jobs.0.release_time", -1)
    put(data, "jobs.1.bandwidth_mbps", 0)
    with pytest.raises(InputError) as caught:
        parse(Instance, data)
    assert [problem.field for problem in caught.value.problems] == [
        "jobs[0].release_time",
        "jobs[1].bandwidth_mbps",
    ]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "3", "\x00"])
def test_text_that_is_no_instance_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(InputError):
        load(Instance, tmp_path / "bad.json")


def test_arrays_of_the_wrong_shape_are_refused() -> None:
    whole = {
        "release_time": [1, 2],
        "num_chunks": 1,
        "chunk_time_slow": 1,
        "upload_delay_edge": 0,
        "upload_delay_cloud": 1,
        "worker_server": [0],
    }
    assert Instance.build(**whole).jobs == 2
    for name, value in (
        ("num_chunks", [1, 2, 3]),
        ("chunk_time_slow", [[1, 2]]),
        ("worker_type", [0, 1]),
        ("num_chunks", [1.5, 2]),
        ("storage_capacity", [1, 2, 3]),
    ):
        with pytest.raises(InputError, match=name):
            Instance.build(**(whole | {name: value}))


def test_the_schema_describes_every_field_of_a_job() -> None:
    job = schema(Instance)["$defs"]["JobDocument"]["properties"]
    assert set(good()["jobs"][0]) | set(good()["jobs"][1]) <= set(job)
    assert all("description" in field for field in job.values())


def test_an_instance_cannot_be_changed() -> None:
    release = np.array([1.0, 2.0])
    instance = Instance.build(
        release_time=release,
        num_chunks=1,
        chunk_time_slow=1,
        upload_delay_edge=0,
        upload_delay_cloud=1,
        worker_server=[0],
    )
    release[0] = 9
    assert instance.release_time[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        instance.release_time[0] = 9


def classes_by_hand(instance: Instance) -> set[tuple[int, ...]]:
    """Sets of workers alike in server and in eligibility for every job."""
    alike: dict[Any, list[int]] = {}
    for w in range(instance.workers):
        kind = (int(instance.worker_server[w]), instance.worker_eligible[:, w].tobytes())
        if instance.explicit_worker_eligible is None:
            kind = (kind[0], int(instance.worker_type[w]))
        alike.setdefault(kind, []).append(w)
    return {tuple(group) for group in alike.values()}


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), explicit=st.booleans())
def test_workers_of_one_class_differ_in_nothing(seed: int, explicit: bool) -> None:
    rng = np.random.default_rng(seed)
    instance = generate(rng, jobs=5, servers=4, types=2)
    if explicit:
        table = rng.random((5, instance.workers)) < 0.5
        instance = replace(instance, explicit_worker_eligible=table)
    classes = instance.worker_classes
    groups = {
        tuple(np.flatnonzero(classes.of_worker == k).tolist()) for k in range(len(classes.size))
    }
    assert groups == classes_by_hand(instance)
    assert classes.size.tolist() == np.bincount(classes.of_worker).tolist()
    assert np.array_equal(classes.eligible[:, classes.of_worker], instance.worker_eligible)
    assert np.array_equal(classes.server[classes.of_worker], instance.worker_server)


def test_parameter_servers_are_classed_like_workers() -> None:
    instance = generate(np.random.default_rng(3), jobs=4, servers=3, types=2)
    classes = instance.ps_classes
    assert classes.size.sum() == instance.parameter_servers
    assert np.array_equal(classes.eligible[:, classes.of_worker], instance.ps_eligible)


def test_the_first_jobs_are_the_first_to_arrive() -> None:
    instance = Instance.build(
        release_time=[5, 1, 3, 1],
        num_chunks=[1, 2, 3, 4],
        chunk_time_slow=[1, 2, 3, 4],
        upload_delay_edge=[[0], [1], [2], [3]],
        upload_delay_cloud=[9, 8, 7, 6],
        worker_server=[0],
    )
    assert [job.id for job in instance.arrivals()] == [1, 3, 2, 0]
    cut = instance.first_jobs(2)
    assert cut.num_chunks.tolist() == [2, 4]
    assert cut.upload_delay_edge.tolist() == [[1], [3]]
    assert_same(instance.first_jobs(4), instance)
    assert_same(instance.first_jobs(99), instance)
    with pytest.raises(InputError, match="at least one job"):
        instance.first_jobs(0)


def test_cutting_off_jobs_keeps_tables_and_documents_in_step() -> None:
    instance = parse(Instance, good())
    last = instance.select_jobs(np.array([1]))
    assert last.explicit_worker_eligible is not None
    assert last.explicit_worker_eligible.tolist() == [[False, True, True]]
    assert last.jobs_document == (instance.jobs_document or ())[1:]
    assert_same(last, parse(Instance, json.loads(dumps(last))))


def test_a_job_on_arrival_knows_what_the_arrays_say() -> None:
    instance = parse(Instance, good())
    job = next(instance.arrivals())
    assert (job.id, job.release_time, job.num_chunks, job.gang_size) == (0, 1, 3, 2)
    assert job.eligible_workers.tolist() == [0, 2]
    assert job.eligible_parameter_servers.tolist() == [0]
    assert job.upload_delay_cloud == np.inf
    assert job.weight == pytest.approx(1 / 3)


def test_jobs_of_one_type_share_what_they_know_of_the_system() -> None:
    instance = generate(np.random.default_rng(1), jobs=4, types=1)
    first, second, *_ = instance.arrivals()
    for name in ("eligible_workers", "eligible_parameter_servers"):
        assert np.shares_memory(getattr(first, name), getattr(second, name))
    assert np.shares_memory(first.upload_delay_edge, instance.upload_delay_edge)


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 10**6), st.floats(-1e-10, 1e-10))
def test_rounding_up_forgives_rounding_error(slots: int, error: float) -> None:
    assert whole_slots(slots + error) == slots
    assert whole_slots(slots + 1e-6) == slots + 1


def test_work_of_many_chunks_is_not_longer_for_what_decimals_lose() -> None:
    time = (0.1 * 3) * 1000  # 300.00000000000006
    many = Instance.build(
        release_time=[0], num_chunks=[50_000], chunk_time_slow=[time],
        upload_delay_edge=[[0]], upload_delay_cloud=[0], worker_server=[0],
    )  # fmt: skip
    assert many.work_slow.tolist() == many.work_fast.tolist() == [15_000_000]
    later = replace(many, chunk_time_slow=np.array([300.0000001]))
    assert later.work_slow.tolist() == [15_000_001]


def test_rounded_chunk_times_are_whole_slots_and_never_shorter() -> None:
    instance = generate(np.random.default_rng(1), jobs=40, rounded=False)
    rounded = instance.rounded()
    assert rounded.is_integral
    assert not instance.is_integral
    for name in ("chunk_time_slow", "chunk_time_fast"):
        longer = getattr(rounded, name) - getattr(instance, name)
        assert np.all((longer > -1e-8) & (longer < 1))
    assert np.array_equal(rounded.work_slow, rounded.num_chunks * rounded.chunk_time_slow)


def test_the_cloud_is_no_worker() -> None:
    assert CLOUD not in range(parse(Instance, good()).workers)


def test_an_instance_that_handed_out_a_job_still_goes_to_another_process() -> None:
    instance = generate(np.random.default_rng(0), jobs=3)
    instance.job(0)
    assert_same(pickle.loads(pickle.dumps(instance)), instance)
