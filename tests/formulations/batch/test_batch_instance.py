"""Instances and schedules: exact durations, files, refusals."""

import json
from fractions import Fraction

import numpy as np
import pytest
from batch_cases import tiny_instances, worked_example
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.batch.generator import from_trace, generate
from formulations.batch.instance import Instance
from formulations.batch.schedule import Schedule
from formulations.common.traces import philly
from optsched.errors import InputError
from optsched.instances.document import dumps, parse


def job(**changes: object) -> dict[str, object]:
    return {
        "release_slot": 1,
        "num_chunks": 4,
        "epochs": 3,
        "minibatches_per_chunk": 5,
        "minibatch_time": "1/3",
        "upload_delay": [0],
        **changes,
    }


def document(*jobs: dict[str, object], **changes: object) -> dict[str, object]:
    servers = [{"workers": [4], "parameter_servers": [1]}]
    return {"servers": servers, "jobs": list(jobs), **changes}


def test_durations_are_ceilings_of_exact_fractions() -> None:
    # 60 passes of 1/3 slot are 20 worker-slots exactly, which floats make 19.999... or 20.000...
    read = parse(Instance, document(job()))
    assert read.exact_work_fast == (Fraction(20),)
    assert [read.job(0).duration(n, True) for n in (1, 2, 3, 4)] == [20, 10, 7, 5]


@given(work=st.fractions(1, 1000), workers=st.integers(1, 60))
def test_rounding_the_work_up_first_changes_no_duration(work: Fraction, workers: int) -> None:
    exact = -(-work.numerator // (work.denominator * workers))
    whole = -(-work.numerator // work.denominator)
    assert -(-whole // workers) == exact


def test_communication_is_twice_the_gradients_over_the_bandwidth() -> None:
    read = parse(Instance, document(job(gradient_size_mb=450, bandwidth_mbps=1000)))
    # 2 * 450 * 8 / 1000 = 7.2 s = 0.002 h per mini-batch
    assert read.exact_work_slow[0] - read.exact_work_fast[0] == Fraction(60 * 2, 1000)


@given(instance=tiny_instances())
@settings(max_examples=20, deadline=None)
def test_a_file_gives_back_the_instance(instance: Instance) -> None:
    text = dumps(instance)
    again = parse(Instance, json.loads(text))
    assert dumps(again) == text
    np.testing.assert_array_equal(again.worker_capacity, instance.worker_capacity)
    assert again.exact_work_slow == instance.exact_work_slow


def test_a_file_gives_back_the_schedule() -> None:
    made = Schedule.build(
        runs=[(0, 2, 3, True, 1), (1, 2, 4, False, 0)],
        placements=[(0, 1, 1), (1, 0, 2), (1, 1, 1)],
        overhead=[0, 1],
        preemptive=True,
    )
    again = parse(Schedule, json.loads(dumps(made)))
    assert dumps(again) == dumps(made)
    assert again.run_workers.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"worker_type": 1}, "jobs[0].worker_type"),
        ({"minibatch_time": 0}, "jobs[0]"),
        ({"minibatch_time": "a third"}, "jobs[0].minibatch_time"),
        ({"work_slow": 3}, "jobs[0]"),
        ({"upload_delay": [0, 0]}, "jobs[0].upload_delay"),
        ({"release_slot": 0}, "jobs[0].release_slot"),
        ({"weight": 0}, "jobs[0].weight"),
    ],
)
def test_a_bad_job_is_refused_by_name(changes: dict[str, object], field: str) -> None:
    with pytest.raises(InputError) as refused:
        parse(Instance, document(job(**changes)))
    assert any(problem.field.startswith(field) for problem in refused.value.problems)


def test_a_job_that_no_server_can_ever_serve_is_refused() -> None:
    servers = [{"workers": [4, 0], "parameter_servers": [1]}]
    with pytest.raises(InputError, match="worker_type"):
        parse(Instance, document(job(worker_type=1), servers=servers))


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="exact_work_fast"):
        worked_example(work_fast=[1, 1])
    with pytest.raises(InputError, match="ps_capacity"):
        worked_example(ps_capacity=[[1], [1]])
    with pytest.raises(InputError, match="work"):
        worked_example(work_fast=[5, 4, 3])


def test_one_seed_gives_the_same_jobs_at_every_scale_of_time() -> None:
    one, other = (
        generate(np.random.default_rng(3), jobs=6, servers=4, time_scale=scale)
        for scale in (1.0, 0.5)
    )
    np.testing.assert_array_equal(one.upload_delay, other.upload_delay)
    np.testing.assert_array_equal(one.num_chunks, other.num_chunks)
    assert (one.work_fast > other.work_fast).all()


def test_generated_instances_lie_in_the_papers_ranges() -> None:
    made = generate(np.random.default_rng(1), jobs=60, servers=30, weights="uniform")
    assert made.release_slot.min() >= 1
    assert made.release_slot.max() <= made.horizon / 1.5
    assert set(np.unique(made.upload_delay[:, :-1])) == {1, 2, 3, 4}
    assert made.upload_delay[:, -1].min() >= 10
    assert made.upload_delay[:, -1].max() <= 40
    assert np.isinf(made.worker_capacity[-1]).all()
    assert set(made.worker_capacity[:-1].sum(axis=1)) == {2.0, 8.0}
    np.testing.assert_array_equal(
        made.worker_capacity[:-1].sum(axis=1), made.ps_capacity[:-1].sum(axis=1)
    )
    assert set(made.weight) == {1, 2, 3, 4, 5}
    assert (made.num_chunks >= 20).all()
    assert (made.num_chunks <= 50).all()


def test_philly_gives_arrivals_and_machines(shared_data) -> None:  # type: ignore[no-untyped-def]
    jobs = philly.load_jobs(shared_data / "philly" / "philly_jobs_to_20171126.csv.gz")
    machines = philly.load_machines(shared_data / "philly" / "revised_machine_list.csv.gz")
    made = from_trace(jobs[:40], machines, np.random.default_rng(0))
    assert made.jobs == 40
    assert made.servers == len(machines) + 1
    assert made.release_slot.min() == 1
    np.testing.assert_array_equal(made.worker_capacity[:-1].sum(axis=1), machines.gpus)


def test_options_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="jobs"):
        generate(np.random.default_rng(0), jobs=0)
    with pytest.raises(InputError, match="speed"):
        generate(np.random.default_rng(0), speed=2)
