"""Figure 3: when a schedule passes through the chunks that a model learns from."""

import numpy as np
import pytest

from formulations.preemptive.check import completion_times
from formulations.preemptive.generator import generate
from heuristics.preemptive.a_online import a_online
from heuristics.preemptive.evaluation.training import epochs_done, measure_accuracy

BED = {"jobs": 8, "servers": 3}


@pytest.fixture
def scheduled():
    instance = generate(np.random.default_rng(0), **BED, machines=(1,), types=2)
    return instance, a_online(instance, np.random.default_rng(0))


def test_the_passes_of_a_chunk_are_equal_parts_of_its_work_and_end_with_it(scheduled):
    instance, schedule = scheduled
    for job in range(instance.jobs):
        done = epochs_done(schedule, job, int(instance.num_chunks[job]), 4)
        ends = np.array([passes[-1] for passes in done])
        assert ends.max() == pytest.approx(completion_times(instance, schedule)[job])
        assert all(np.all(np.diff(passes) > 0) for passes in done)


def test_a_pass_that_is_interrupted_waits_for_the_worker(scheduled):
    _, schedule = scheduled
    pieces = np.stack([schedule.run_job, schedule.run_chunk], axis=1)
    (job, chunk), count = (found[0] for found in _most_interrupted(pieces))
    assert count > 1
    passes = epochs_done(schedule, job, chunk + 1, 1000)[chunk]
    mine = (schedule.run_job == job) & (schedule.run_chunk == chunk)
    inside = (passes[:, None] >= schedule.run_start[mine] - 1e-9) & (
        passes[:, None] <= schedule.run_end[mine] + 1e-9
    )
    assert inside.any(axis=1).all()


def _most_interrupted(pieces):
    found, counts = np.unique(pieces, axis=0, return_counts=True)
    order = np.argsort(-counts)
    return found[order], counts[order]


def test_models_of_every_size_learn_under_the_schedule():
    pytest.importorskip("sklearn")
    rows = measure_accuracy(**BED, seed=0)
    for name in {row["model"] for row in rows}:
        mine = [row["accuracy"] for row in rows if row["model"] == name]
        assert mine[-1] > 60 > 30 > mine[0]
