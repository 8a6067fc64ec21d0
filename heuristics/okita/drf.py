"""DRF: waiting jobs share what is free by dominant-resource fairness, then keep it."""

from __future__ import annotations

import numpy as np

from formulations.okita.instance import Instance, Integers
from formulations.okita.schedule import Schedule
from heuristics.common.progressive_filling import progressive_filling
from heuristics.okita.fixed import Fixed, place
from heuristics.okita.online import Job, Recorder, Rules, SiteCosts


def drf(instance: Instance, rng: np.random.Generator) -> Schedule:
    """Progressive filling on what is free in every slot; no job waits for another's turn.

    A job starts with a parameter server and one worker and is given one worker more as long as
    its dominant share is least and Algorithm 2 finds room for them all on what the others leave.

    Args:
        instance: every job trains at least a chunk per worker and slot (A2).
        rng: not used.

    Raises:
        InputError: a job that breaks (A2).
    """
    system, recorder = SiteCosts(instance, Rules()), Recorder()
    order = np.argsort(instance.release_slot, kind="stable").tolist()
    waiting: list[Job] = []
    running: list[Fixed] = []
    free = instance.capacity.copy()
    arrived, slot = 0, 0
    while arrived < len(order) or waiting or running:
        slot += 1
        while arrived < len(order) and instance.release_slot[order[arrived]] <= slot:
            waiting.append(Job(system, order[arrived]))
            arrived += 1
        started = _Filling(waiting, free).run()
        for job, (workers, server) in started.items():
            running.append(Fixed(job, workers, server))
            free -= running[-1].held
        waiting = [job for job in waiting if job not in started]
        for one in running:
            one.run(slot, recorder)
            if one.done:
                free += one.held
        running = [one for one in running if not one.done]
    return recorder.schedule()


class _Filling:
    """One round of progressive filling."""

    def __init__(self, jobs: list[Job], free: Integers) -> None:
        self.jobs, self.left = jobs, free.copy()
        self.given: dict[Job, tuple[Integers, int]] = {}
        self.number = np.zeros(len(jobs), dtype=np.int64)

    def run(self) -> dict[Job, tuple[Integers, int]]:
        """Workers and server's site of every job that starts."""
        progressive_filling(range(len(self.jobs)), self._share, self._place)
        return self.given

    def _share(self, at: int) -> float:
        job = self.jobs[at]
        if not self.number[at]:
            return 0.0
        whole: Integers = job.system.instance.capacity.sum(axis=0)
        held = self.number[at] * job.worker + job.server
        return float(np.divide(held, whole, out=np.zeros(len(whole)), where=whole > 0).max())

    def _place(self, at: int) -> bool:
        job, number = self.jobs[at], int(self.number[at]) + 1
        if number > job.most_workers:
            return False
        given = self.given.get(job)
        room = self.left if given is None else self.left + job.demand(*given)
        placed = place(job, room, number)
        if placed is None:
            return False
        self.left = room - job.demand(*placed)
        self.given[job], self.number[at] = placed, number
        return True
