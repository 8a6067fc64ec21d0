"""Policies that check the memory to come, and policies that evict.

``assume`` says which end of a prediction a policy with a check plans with. The longest output never
overflows. The shortest may; then the requests that started last are evicted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from formulations.llm_inference.instance import Instance, Request
from formulations.llm_inference.schedule import Schedule
from heuristics.llm_inference.serving import Worker, serve

Assume = Literal["most", "least"]
Share = Annotated[float, Field(ge=0, lt=1)]
Probability = Annotated[float, Field(gt=0, le=1)]


def fits(worker: Worker, length: Callable[[Request], int], new: Request) -> bool:
    """Whether the memory suffices at every end, if a request joins those that run.

    Memory falls at ends only, so that it is largest in the last round of some request.
    """
    runs = [*worker.running.items(), (new, worker.now)]
    prompt = np.array([r.prompt for r, _ in runs])
    start = np.array([p for _, p in runs])
    # a request that runs longer than assumed goes on for this round at least
    end = np.array([max(p + length(r), worker.now + 1) for r, p in runs])
    alive = end >= end[:, None]
    return bool(((prompt + end[:, None] - start) * alive).sum(axis=1).max() <= worker.memory)


@dataclass
class Checked:
    """Start waiting requests in an order, up to the first that does not fit until all end."""

    order: Callable[[Request, int], Any]
    """(request, assumed output) -> sort key; ties by arrival, then number."""
    assume: Assume

    def _length(self, request: Request) -> int:
        return request.most_output if self.assume == "most" else request.least_output

    def admit(self, worker: Worker) -> None:
        """Start as many as fit."""
        by_key = sorted(worker.waiting, key=lambda r: self.order(r, self._length(r)))
        for request in by_key:
            if not fits(worker, self._length, request):
                return
            worker.start(request)

    def overflow(self, worker: Worker) -> list[Request]:
        """Evict the request that started last."""
        return [max(worker.running, key=lambda r: (worker.running[r], r.arrival, r.id))]


@dataclass
class Protected:
    """Start in order of arrival while a share of the memory stays free; clear on overflow."""

    alpha: float
    beta: float
    rng: np.random.Generator

    def admit(self, worker: Worker) -> None:
        """Start while this round's memory is at most (1 - alpha) M."""
        for request in list(worker.waiting):
            if worker.load() + request.prompt + 1 > (1 - self.alpha) * worker.memory:
                return
            worker.start(request)

    def overflow(self, worker: Worker) -> Iterator[Request]:
        """Evict each running request with probability beta."""
        for request in list(worker.running):
            if self.beta >= 1 or self.rng.random() < self.beta:
                yield request


_ORDERS: dict[str, Callable[[Request, int], Any]] = {
    "shortest": lambda request, output: output,
    "first": lambda request, output: 0,
    "longest": lambda request, output: -output,
}


def checked(
    instance: Instance, rng: np.random.Generator, *, order: str, assume: Assume = "most"
) -> Schedule:
    """Start requests in an order, up to the first that does not fit beside those that run.

    Args:
        instance: requests that arrive over time.
        rng: not drawn from.
        order: "shortest" output first, "first" come first, or "longest" first.
        assume: which end of a predicted output to plan with.
    """
    return serve(instance, Checked(_ORDERS[order], assume))


mc_sf = partial(checked, order="shortest")
fcfs = partial(checked, order="first")
longest_first = partial(checked, order="longest")


def protected_greedy(
    instance: Instance, rng: np.random.Generator, *, alpha: Share = 0.2
) -> Schedule:
    """Start in order of arrival while alpha M stays free; evict all on overflow.

    The same requests may evict each other forever; they are left undone then.

    Args:
        instance: requests that arrive over time.
        rng: not drawn from.
        alpha: share of the memory kept free at starts.
    """
    return serve(instance, Protected(alpha, 1.0, rng))


def protected_clearing(
    instance: Instance, rng: np.random.Generator, *, alpha: Share = 0.2, beta: Probability = 0.5
) -> Schedule:
    """As protected greedy, but evict each running request with probability beta.

    Args:
        instance: requests that arrive over time.
        rng: source of the evictions.
        alpha: share of the memory kept free at starts.
        beta: probability of eviction.
    """
    return serve(instance, Protected(alpha, beta, rng))
