"""A worker that serves requests round by round, and asks a policy what to start and to evict.

A policy sees requests that have arrived, with predictions of their outputs. That a request ends
shows itself when it does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from formulations.llm_inference.instance import Instance, Request
from formulations.llm_inference.schedule import Schedule

PATIENCE = 50
"""Times M rounds without a completion, after which what still waits is left undone."""


@dataclass
class Worker:
    """What a policy sees: the time, the memory, what runs and what waits."""

    memory: int
    now: int = 0
    running: dict[Request, int] = field(default_factory=dict)
    """Start of each request that runs."""
    waiting: list[Request] = field(default_factory=list)
    """In order of arrival, then number."""

    def load(self) -> int:
        """Tokens that the running requests hold in this round."""
        return sum(r.prompt + self.now - start + 1 for r, start in self.running.items())

    def start(self, request: Request) -> None:
        """Start a request that waits, in this round."""
        self.waiting.remove(request)
        self.running[request] = self.now


class Policy(Protocol):
    """What decides in every round."""

    def admit(self, worker: Worker) -> None:
        """Start requests that wait."""

    def overflow(self, worker: Worker) -> Iterable[Request]:
        """Return running requests to evict, until the memory suffices."""


def serve(instance: Instance, policy: Policy) -> Schedule:
    """Return the schedule of a policy; requests that it never completes have no complete run."""
    worker, runs = Worker(instance.memory), []
    order = np.argsort(instance.arrival, kind="stable")
    coming = [instance.request(i) for i in order.tolist()]
    worker.now = last = coming[0].arrival
    while True:
        for request, start in list(worker.running.items()):
            if worker.now - start == instance.output[request.id]:
                runs.append((request.id, start, worker.now - start))
                del worker.running[request]
                last = worker.now
        while coming and coming[0].arrival <= worker.now:
            worker.waiting.append(coming.pop(0))
        while worker.load() > worker.memory:
            for request in list(policy.overflow(worker)):
                start = worker.running.pop(request)
                runs.append((request.id, start, worker.now - start))
                worker.waiting.append(request)
            worker.waiting.sort(key=lambda r: (r.arrival, r.id))
        policy.admit(worker)
        if not worker.running and not coming:
            break
        worker.now = worker.now + 1 if worker.running else max(worker.now + 1, coming[0].arrival)
        last = last if worker.running else worker.now
        if worker.now - last > PATIENCE * worker.memory:
            break
    runs += [(r.id, start, worker.now - start) for r, start in worker.running.items()]
    return Schedule.build(runs)
