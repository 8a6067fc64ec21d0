"""Figure 6: models trained for real, where and when Okita decided.

A job's data are images of digits that scikit-learn brings, dealt to its chunks evenly or class by
class. In each slot the chunks that the schedule names are trained for all E_i epochs by its
workers, synchronously: a step averages the gradients of one mini-batch per worker, which is the
gradient of these mini-batches together. What the paper trains (ResNet-50 and the like on images
by the ten thousand) needs machines with GPUs; what a schedule does to training does not.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd

from formulations.okita.generator import generate
from formulations.okita.instance import Instance, Integers
from formulations.okita.schedule import Schedule
from heuristics.common.training import MINI_BATCH, Floats, Images, Training, draw_images
from heuristics.okita import HEURISTICS
from optsched.study.sweep import Scale, Sweep

Spread = Literal["even", "by class"]
SPREADS: tuple[Spread, ...] = ("even", "by class")


def dealt(images: Images, chunks: int, spread: Spread) -> list[Integers]:
    """Images of each chunk; by class, neighbouring chunks hold the same one or two digits."""
    kept = np.arange(len(images.y))
    order = kept if spread == "even" else np.argsort(images.y, kind="stable")
    return np.array_split(order, chunks)


def shards(
    instance: Instance, schedule: Schedule, job: int, chunks: list[Integers]
) -> list[list[Integers]]:
    """Images of each worker, slot by slot: chunks of a site are taken in their order.

    Args:
        instance: the system and its jobs.
        schedule: when and where chunks are trained.
        job: whose.
        chunks: images of each chunk; those of the first site come first.
    """
    taken = np.concatenate([[0], np.cumsum(instance.num_chunks[job])[:-1]])
    mine = schedule.move_job == job
    slots = []
    for slot in np.unique(schedule.move_slot[mine]).tolist():
        held: dict[int, list[Integers]] = {}
        for move in np.flatnonzero(mine & (schedule.move_slot == slot)).tolist():
            source, count = schedule.move_source[move], schedule.move_chunks[move]
            first = taken[source]
            held.setdefault(int(schedule.move_target[move]), []).extend(
                chunks[first : first + count]
            )
            taken[source] += count
        at = (schedule.worker_job == job) & (schedule.worker_slot == slot)
        workers = dict(zip(schedule.worker_site[at], schedule.worker_count[at], strict=True))
        slots.append(
            [
                part
                for site, of in held.items()
                for part in np.array_split(np.concatenate(of), workers[site])
                if len(part)
            ]
        )
    return slots


def measure_accuracy(
    *, jobs: int, sites: int, horizon: int, trained: int, seed: int
) -> list[dict[str, Any]]:
    """Accuracy after every slot, per cent, beside that of models that know no schedule.

    The central model is trained on all images in one place, as many epochs, with mini-batches as
    large as Okita's workers take together in the mean; the local one on the images of the site
    that has most.

    Args:
        jobs: I.
        sites: R.
        horizon: T.
        trained: so many of the jobs, those that run in most slots.
        seed: of the instance, the images and the models.
    """
    instance = generate(
        np.random.default_rng(seed), jobs=jobs, sites=sites, horizon=horizon, workload="testbed"
    )
    schedule = HEURISTICS["okita"].run(instance, np.random.default_rng(seed))
    runs = np.unique(np.stack([schedule.move_job, schedule.move_slot], axis=1), axis=0)[:, 0]
    chosen = np.argsort(-np.bincount(runs, minlength=jobs), kind="stable")[:trained]
    return [
        row
        for job in chosen.tolist()
        for row in _trained(instance, schedule, job, 1000 * seed + job)
    ]


def _trained(instance: Instance, schedule: Schedule, job: int, seed: int) -> list[dict[str, Any]]:
    images = draw_images(np.random.default_rng(seed))
    epochs = int(instance.epochs[job])
    rows, central = [], None
    for spread in SPREADS:
        chunks = dealt(images, int(instance.total_chunks[job]), spread)
        slots = shards(instance, schedule, job, chunks)
        if central is None:
            together = MINI_BATCH * round(np.mean([len(workers) for workers in slots]))
            central = _alone(images, np.arange(len(images.y)), epochs, together, seed)
        first = np.cumsum(instance.num_chunks[job])
        most = int(np.argmax(instance.num_chunks[job]))
        local = np.concatenate(chunks[first[most] - instance.num_chunks[job, most] : first[most]])
        alone = _alone(images, local, epochs, MINI_BATCH, seed)
        model = Training(images, seed)
        for slot, workers in enumerate(slots, start=1):
            model.train(workers, epochs)
            by_class = model.tested()
            rows.append(
                {
                    "job": job, "spread": spread, "slot": slot, "slots": len(slots),
                    "accuracy": 100 * by_class.mean(), "worst": 100 * by_class.min(),
                    "central": 100 * central.mean(), "central_worst": 100 * central.min(),
                    "local": 100 * alone.mean(), "local_worst": 100 * alone.min(),
                }
            )  # fmt: skip
    return rows


def _alone(images: Images, chosen: Integers, epochs: int, batch: int, seed: int) -> Floats:
    """A model that is trained in one place."""
    model = Training(images, seed)
    model.train([chosen], epochs, batch)
    return model.tested()


def _tasks(scale: Scale) -> list[dict[str, Any]]:
    """The test-bed of Figures 4 to 6."""
    seeds, trained = (20, 10) if scale == "full" else (10, 1)
    bed = {"jobs": 10, "sites": 9, "horizon": 10, "trained": trained}
    return [{**bed, "seed": seed} for seed in range(seeds)]


def by_slot(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy after each slot, per cent, of jobs that run in as many."""
    return frame.groupby(["spread", "slots", "slot"])[["accuracy", "worst", "central"]].mean()


ACCURACY = Sweep("okita_accuracy", _tasks, measure_accuracy, by_slot)
