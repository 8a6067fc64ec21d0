"""FIFO: first come, first served, each job with a random fixed number of workers."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import numpy as np
from pydantic import Field

from formulations.okita.instance import Instance
from formulations.okita.schedule import Schedule
from heuristics.okita.fixed import Fixed, most_beside_server, place
from heuristics.okita.online import Job, Recorder, Rules, SiteCosts
from optsched.errors import InputError

Draw = Literal["uniform", "middle"]
"""How a number of workers is drawn: any up to the most, or one of the middle half."""


def fifo(
    instance: Instance,
    rng: np.random.Generator,
    *,
    share: Annotated[float, Field(gt=0, le=1)] = 0.5,
    draw: Draw = "uniform",
) -> Schedule:
    """FIFO with head-of-line blocking.

    On arrival a job draws its number of workers from 1 to ``share`` of those that fit beside the
    running jobs, at most what the empty system can host; it waits until all jobs before it have
    started and it fits.

    Args:
        instance: every job trains at least a chunk per worker and slot (A2).
        rng: one draw per job, in order of arrival.
        share: of the workers available on arrival that a job may draw.
        draw: from all numbers up to that share, or from the middle half of them.

    Raises:
        InputError: a job that breaks (A2), or no such ``draw``.
    """
    if draw not in get_args(Draw):
        raise InputError.of("draw", draw, "one of " + ", ".join(get_args(Draw)))
    system, recorder = SiteCosts(instance, Rules()), Recorder()
    order = np.argsort(instance.release_slot, kind="stable").tolist()
    queue: list[tuple[Job, int]] = []
    running: list[Fixed] = []
    free = instance.capacity.copy()
    arrived, slot = 0, 0
    while arrived < len(order) or queue or running:
        slot += 1
        while arrived < len(order) and instance.release_slot[order[arrived]] <= slot:
            job = Job(system, order[arrived])
            available = int(job.fits(free)[0].sum())
            most = max(1, int(share * available))
            least, most = (1, most) if draw == "uniform" else (most // 4 + 1, most - most // 4)
            number = int(rng.integers(least, max(least, most), endpoint=True))
            queue.append((job, min(number, most_beside_server(job, instance.capacity))))
            arrived += 1
        while queue:
            job, number = queue[0]
            placed = place(job, free, number)
            if placed is None:
                break
            del queue[0]
            running.append(Fixed(job, *placed))
            free -= running[-1].held
        for one in running:
            one.run(slot, recorder)
            if one.done:
                free += one.held
        running = [one for one in running if not one.done]
    return recorder.schedule()
