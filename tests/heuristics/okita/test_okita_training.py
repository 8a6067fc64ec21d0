"""Figure 6: what a schedule makes of training, on digits or on made-up images."""

import numpy as np
import pytest

from formulations.okita.generator import generate
from heuristics.common import training
from heuristics.common.training import CLASSES, Images, Training
from heuristics.okita import HEURISTICS
from heuristics.okita.evaluation.training import SPREADS, dealt, measure_accuracy, shards

BED = {"jobs": 4, "sites": 9, "horizon": 10}


@pytest.fixture
def images():
    """Ten groups of points around centres of their own, 60 to train on and as many to test."""
    rng = np.random.default_rng(0)
    y = np.tile(np.arange(CLASSES), 12)
    x = rng.normal(size=(CLASSES, 64))[y] + rng.normal(0, 0.1, (len(y), 64))
    return Images(x[:60], y[:60], x[60:], y[60:])


@pytest.fixture
def scheduled():
    """A small test-bed and Okita's schedule of it."""
    instance = generate(np.random.default_rng(0), **BED, workload="testbed")
    return instance, HEURISTICS["okita"].run(instance, np.random.default_rng(0))


@pytest.mark.parametrize("spread", SPREADS)
def test_every_image_lies_in_one_chunk(images, spread):
    chunks = dealt(images, 27, spread)
    assert len(chunks) == 27
    assert sorted(np.concatenate(chunks)) == list(range(60))


def test_by_class_a_chunk_holds_neighbouring_digits(images):
    digits = [images.y[chunk] for chunk in dealt(images, 7, "by class")]
    assert all(len(set(of)) <= 3 for of in digits)
    assert (np.diff(np.concatenate(digits)) >= 0).all()


def test_workers_train_every_image_once_and_no_more_than_they_can(scheduled):
    instance, schedule = scheduled
    for job in range(instance.jobs):
        chunks = [np.array([at]) for at in range(instance.total_chunks[job])]
        slots = shards(instance, schedule, job, chunks)
        trained = np.concatenate([part for workers in slots for part in workers])
        assert sorted(trained) == list(range(instance.total_chunks[job]))
        most = max(len(part) for workers in slots for part in workers)
        assert most <= instance.chunks_done(job, 1)
        assert [len(workers) for workers in slots] == [
            schedule.worker_count[
                (schedule.worker_job == job) & (schedule.worker_slot == slot)
            ].sum()
            for slot in np.unique(schedule.move_slot[schedule.move_job == job])
        ]


def test_a_step_goes_down_the_mean_gradient_of_all_mini_batches(images):
    chosen = np.arange(20)

    def loss(model):
        _, share = model._forward(images.x[chosen])
        return -np.log(share[np.arange(20), images.y[chosen]]).mean()

    for layer, at in ((0, (3, 4)), (1, (5,)), (2, (4, 7)), (3, (2,))):
        model = Training(images, 0)
        before = loss(model)
        model.layers[layer][at] += 1e-6
        slope = (loss(model) - before) / 1e-6
        model.layers[layer][at] -= 1e-6
        was = model.layers[layer][at]
        model._step(chosen)
        assert model.layers[layer][at] - was == pytest.approx(-training.STEP * slope, abs=1e-7)


def test_a_model_learns_what_can_be_told_apart(images):
    model = Training(images, 0)
    model.train([np.arange(30), np.arange(30, 60)], 20)
    assert model.tested().min() == 1.0


def test_classes_that_come_one_after_the_other_are_forgotten(images):
    model = Training(images, 0)
    for digit in range(CLASSES):
        model.train([np.flatnonzero(images.y == digit)], 20)
    assert model.tested().mean() < 0.5


def test_digits_are_learnt_wherever_they_are_trained_and_rows_say_slot_by_slot():
    pytest.importorskip("sklearn", reason="the digits are scikit-learn's")
    rows = measure_accuracy(**BED, trained=1, seed=0)
    assert [row["slot"] for row in rows if row["spread"] == "even"] == list(
        range(1, rows[0]["slots"] + 1)
    )
    last = next(row for row in rows[::-1] if row["spread"] == "even")
    assert last["accuracy"] > 90
    assert last["central"] > 90
    assert all(0 <= row["worst"] <= row["accuracy"] <= 100 for row in rows)
