"""Figure 3: models trained for real, chunk by chunk, when A_online ran them.

The data are images of digits that scikit-learn brings and the models are networks with one hidden
layer, of three sizes: the paper's models and data sets need machines with GPUs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from formulations.preemptive.check import completion_times
from formulations.preemptive.generator import EPOCHS, generate
from formulations.preemptive.instance import Instance
from formulations.preemptive.schedule import Schedule
from heuristics.common.training import Floats, Training, draw_images
from heuristics.preemptive.a_online import a_online

MODELS = {"8 neurons": 8, "32 neurons": 32, "128 neurons": 128}
"""Neurons of the hidden layer."""

PASSES = sum(EPOCHS) // 2
"""Epochs of each chunk: an instance keeps their product with the mini-batches alone."""

PARTS = 20
"""Pieces of a job's time after each of which its model is tested."""


def epochs_done(schedule: Schedule, job: int, chunks: int, epochs: int) -> list[Floats]:
    """Return when each chunk has been passed through once, twice, and so on; slots.

    Args:
        schedule: which names the chunks of its runs.
        job: whose.
        chunks: D_j.
        epochs: passes through each chunk, E_j.
    """
    found = []
    for chunk in range(chunks):
        mine = np.flatnonzero((schedule.run_job == job) & (schedule.run_chunk == chunk))
        mine = mine[np.argsort(schedule.run_start[mine])]
        start, end = schedule.run_start[mine], schedule.run_end[mine]
        worked = np.concatenate([[0.0], np.cumsum(end - start)])
        passes = worked[-1] * np.arange(1, epochs + 1) / epochs
        piece = np.searchsorted(worked[1:-1], passes, side="left")
        found.append(start[piece] + passes - worked[piece])
    return found


def measure_accuracy(*, jobs: int, servers: int, seed: int) -> list[dict[str, Any]]:
    """Accuracy of three models on test images, per cent, while A_online runs a job each.

    Args:
        jobs: J.
        servers: machines of one worker at the edge.
        seed: of the instance, the images and the models.
    """
    instance = generate(
        np.random.default_rng(seed), jobs=jobs, servers=servers, machines=(1,), types=2
    )
    schedule = a_online(instance, np.random.default_rng(seed))
    longest = np.argsort(-(completion_times(instance, schedule) - instance.release_time))
    return [
        row
        for (name, hidden), job in zip(MODELS.items(), longest.tolist(), strict=False)
        for row in _trained(instance, schedule, job, name, hidden, seed)
    ]


def _trained(
    instance: Instance, schedule: Schedule, job: int, name: str, hidden: int, seed: int
) -> list[dict[str, Any]]:
    """Train one model on the chunks of a job, epoch by epoch, in step within a piece of time."""
    images = draw_images(np.random.default_rng(seed))
    chunks = np.array_split(np.arange(len(images.y)), int(instance.num_chunks[job]))
    done = epochs_done(schedule, job, len(chunks), PASSES)
    released = float(instance.release_time[job])
    until = np.linspace(released, float(completion_times(instance, schedule)[job]), PARTS + 1)
    until[-1] = np.inf  # rounding must not lose the last pass
    model = Training(images, seed, hidden)
    rows = [{"model": name, "part": 0.0, "accuracy": 100 * float(model.tested().mean())}]
    for part in range(PARTS):
        passes = [int(np.sum((at > until[part]) & (at <= until[part + 1]))) for at in done]
        for turn in range(max(passes)):
            model.train([c for c, n in zip(chunks, passes, strict=True) if n > turn], 1)
        share = 100 * (part + 1) / PARTS
        accuracy = 100 * float(model.tested().mean())
        rows.append({"model": name, "part": share, "accuracy": accuracy})
    return rows
