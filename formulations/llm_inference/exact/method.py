"""The hindsight optimum: passes over states, each with more of them."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import partial

import numpy as np
from pydantic import BaseModel, Field

from formulations.llm_inference.check import check, cost
from formulations.llm_inference.exact.relaxation import ReducedCosts, reduced_costs
from formulations.llm_inference.exact.states import States, blank, expand, undominated
from formulations.llm_inference.instance import Instance
from formulations.llm_inference.schedule import Schedule
from optsched.decomposition import Incumbent
from optsched.jit import limited
from optsched.problem.methods import GAPS, LIMITS, ExactMethod
from optsched.solvers.answer import Answer, answering
from optsched.solvers.options import Options

MOST_REQUESTS = 62
"""Requests of a state, a bit each; more are only bounded."""
ROUNDING = 1e-5
"""Distance by which a bound on whole numbers may miss one through rounding."""
BUFFER = 100_000
"""States written between two looks at the clock."""


class SearchParams(BaseModel):
    """Parameters of the search."""

    bound_share: float = Field(0.3, gt=0, lt=1, description="share of the time for the relaxation")
    width: int = Field(100, ge=1, description="states per layer in the first pass")
    growth: float = Field(30.0, gt=1, description="factor of the states from pass to pass")
    most_states: int = Field(2_000_000, ge=1000, description="states held at a time")
    compared: int = Field(2000, ge=0, description="states that each is compared with")


def inserted(instance: Instance, order: list[int]) -> Schedule:
    """Each request as early as it fits beside those before it in an order."""
    load = np.zeros(instance.horizon + int(instance.output.max()) + 1, dtype=np.int64)
    runs = []
    for i in order:
        ramp = instance.prompt[i] + np.arange(1, instance.output[i] + 1)
        start = int(instance.arrival[i])
        while (load[start : start + len(ramp)] + ramp > instance.memory).any():
            start += 1
        load[start : start + len(ramp)] += ramp
        runs.append((i, start, len(ramp)))
    return Schedule.build(runs)


def shortest_inserted(instance: Instance) -> Schedule:
    """Requests inserted shortest first."""
    return inserted(instance, np.lexsort((instance.arrival, instance.output)).tolist())


class _Search:
    """The incumbent, the reduced costs and the layers of a pass."""

    def __init__(self, instance: Instance, best: Incumbent[Schedule], params: SearchParams) -> None:
        self.instance, self.best, self.params = instance, best, params
        self.extra = int((instance.output - instance.arrival).sum())
        """Total latency less the sum of starts."""
        self.nodes = 0

    def run(self) -> None:
        """Bound, then pass after pass."""
        instance = self.instance
        assert self.best.schedule is not None
        known = self.best.schedule
        end = int((known.start + known.tokens).max()) + instance.memory // 2
        spare = int(self.best.value) - self.extra - int(instance.arrival.sum())
        rounds = int(instance.arrival.max()) + spare + 1  # later starts exceed the incumbent
        last = np.maximum(instance.arrival, end - instance.output)
        deadline = self.best.part(self.params.bound_share)
        self.costs = reduced_costs(instance, last, rounds, deadline)
        self.best.raise_bound(self.costs.value + self.extra - ROUNDING)
        width = float(self.params.width)
        while instance.requests <= MOST_REQUESTS and not self.best.over:
            self.best.raise_bound(self.walk(int(width)) + self.extra - ROUNDING)
            width *= self.params.growth

    def walk(self, width: int) -> float:
        """One pass; return a bound on the sum of starts of what it dropped, or the incumbent's."""
        instance, costs = self.instance, self.costs
        first = blank(1, int(instance.output.max()))
        first.waiting[0] = (1 << instance.requests) - 1
        first.now[0] = instance.arrival.min()
        layers, dropped = [first], math.inf
        for _ in range(instance.requests):
            found, lost = self._successors(layers[-1], costs)
            dropped = min(dropped, lost)
            if self.best.deadline.over():
                return min(dropped, float(found.bound.min(initial=math.inf)), self._value)
            self.nodes += len(found.now)
            order = np.lexsort((found.now, found.total, found.waiting))
            kept = np.zeros(len(order), dtype=np.bool_)
            undominated(found, order, kept, self.params.compared)
            found = found.take(np.flatnonzero(kept))
            found, lost = _narrowed(found, width)
            dropped = min(dropped, lost)
            layers.append(found)
        for k in np.argsort(layers[-1].total, kind="stable")[:1].tolist():
            self.best.offer(self._schedule(layers, k))
        return min(dropped, self._value)

    @property
    def _value(self) -> float:
        """The incumbent's sum of starts."""
        return self.best.value - self.extra

    def _successors(self, states: States, costs: ReducedCosts) -> tuple[States, float]:
        """The successors of a layer, and the least bound of those dropped for want of room."""
        instance, least, lost = self.instance, costs.least, math.inf
        begin, wait, parts, held = 0, 0, [], 0
        limit = self._value - 1 + ROUNDING
        while begin < len(states.now):
            if self.best.deadline.over():
                lost = min(lost, float(states.bound[begin:].min()))
                break
            out = blank(BUFFER, states.load.shape[1])
            count, begin, wait = expand(
                states, begin, wait, out, costs.cost, least, costs.constant, instance.prompt,
                instance.output, instance.memory, limit,
            )  # fmt: skip
            parts.append(out.take(slice(0, count)))
            held += count
            if held > self.params.most_states:
                joined, dropped = _narrowed(_joined(parts), self.params.most_states // 2)
                parts, held, lost = [joined], len(joined.now), min(lost, dropped)
        return (_joined(parts) if parts else states.take(slice(0, 0))), lost

    def _schedule(self, layers: list[States], k: int) -> Schedule:
        """The schedule that ends in a state of the last layer."""
        runs = []
        for layer in reversed(layers[1:]):
            i = int(layer.request[k])
            runs.append((i, int(layer.now[k]), int(self.instance.output[i])))
            k = int(layer.parent[k])
        return Schedule.build(runs)


def _joined(parts: list[States]) -> States:
    return States(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _narrowed(states: States, width: int) -> tuple[States, float]:
    """The states with the least bounds, and the least bound of the others."""
    if len(states.now) <= width:
        return states, math.inf
    order = np.argpartition(states.bound, width)
    return states.take(order[:width]), float(states.bound[order[width:]].min())


def by_states(
    instance: Instance, options: Options, *, start: Schedule | None = None, params: SearchParams
) -> Answer:
    """Solve to proof, or to the limits.

    Args:
        instance: the requests and the worker.
        options: limits and gaps.
        start: a schedule to begin with.
        params: of the search.
    """
    best = Incumbent(
        options, cost=partial(cost, instance), check=partial(check, instance), whole=True,
        start=start,
    )  # fmt: skip
    best.offer(shortest_inserted(instance))
    search = _Search(instance, best, params)

    def answer() -> Answer:
        return best.answer("highs", nodes=search.nodes)

    with answering(answer), limited(options.time_limit), suppress(TimeoutError):
        search.run()
    return answer()


METHODS = (
    ExactMethod(
        "by_states", by_states, "beyond the papers",
        "states in the order of starts with dominance, bounded by reduced costs of a relaxation "
        "with cliques",
        LIMITS | GAPS | {"start", "on_progress"}, params=SearchParams,
    ),
)  # fmt: skip
