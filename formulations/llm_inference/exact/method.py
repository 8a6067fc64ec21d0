"""The hindsight optimum: passes over states, each with more of them."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import partial

import numpy as np
from pydantic import BaseModel, Field

from formulations.llm_inference.check import check, cost
from formulations.llm_inference.exact.improve import Moves
from formulations.llm_inference.exact.relaxation import reduced_costs
from formulations.llm_inference.exact.states import (
    MOST_REQUESTS,
    States,
    blank,
    expand,
    undominated,
)  # fmt: skip
from formulations.llm_inference.instance import Instance
from formulations.llm_inference.schedule import Schedule
from optsched.decomposition import Incumbent, anneal
from optsched.jit import limited
from optsched.problem.methods import GAPS, LIMITS, ExactMethod
from optsched.solvers.answer import Answer, answering
from optsched.solvers.options import Options

ROUNDING = 1e-5
"""Distance by which a bound on whole numbers may miss one through rounding."""
CHUNK = 2000
"""States expanded between two looks at the clock."""


class SearchParams(BaseModel):
    """Parameters of the search."""

    anneal_share: float = Field(0.2, gt=0, lt=1, description="share of the time for annealing")
    hot: float = Field(0.25, gt=0, description="first temperature, in mean outputs")
    patience: int = Field(20_000, ge=1, description="non-improving steps per request")
    width: int = Field(100, ge=1, description="states per layer in the first pass")
    growth: float = Field(30.0, gt=1, description="factor of the states from pass to pass")
    most_states: int = Field(1_000_000, ge=1000, description="successors written per layer")
    compared: int = Field(2000, ge=0, description="states that each is compared with")


class _Search:
    """The incumbent, the reduced costs and the layers of a pass."""

    def __init__(self, instance: Instance, best: Incumbent[Schedule], params: SearchParams) -> None:
        self.instance, self.best, self.params = instance, best, params
        self.extra = int((instance.output - instance.arrival).sum())
        """Total latency less the sum of starts."""
        self.nodes = 0
        self.moves = Moves(instance, best.options.seed)
        best.offer(self.moves.schedule)
        best.raise_bound(float(instance.output.sum()))

    def run(self) -> None:
        """Anneal, bound, then pass after pass."""
        one, params, moves = self.instance, self.params, self.moves
        hot, patience = params.hot * float(one.output.mean()), params.patience * one.requests
        anneal(
            moves, self.best.part(params.anneal_share), best=float(moves.best.sum()),
            temperature=(hot, 0.1 * hot), patience=patience, most=5 * patience, batch=200,
        )  # fmt: skip
        self.best.offer(moves.schedule)
        end = int((moves.best + one.output).max()) + one.memory // 2
        spare = int(self._value) - int(one.arrival.sum())
        rounds = int(one.arrival.max()) + spare + 1  # later starts exceed the incumbent
        last = np.maximum(one.arrival, end - one.output)
        self.costs = reduced_costs(one, last, rounds, self.best.deadline)
        self.best.raise_bound(self.costs.value + self.extra - ROUNDING)
        width = float(params.width)
        while one.requests <= MOST_REQUESTS and not self.best.over:
            self.best.raise_bound(self.walk(int(width)) + self.extra - ROUNDING)
            width *= params.growth

    def walk(self, width: int) -> float:
        """One pass; return a bound on the sum of starts of what it dropped, or the incumbent's."""
        first = blank(1, int(self.instance.output.max()), len(self.costs.pair_price))
        first.waiting[0] = (1 << self.instance.requests) - 1
        first.now[0], first.reduced[0] = self.instance.arrival.min(), self.costs.constant
        layers, dropped = [first], math.inf
        for _ in range(self.instance.requests):
            found, lost = self._successors(layers[-1])
            if self.best.deadline.over():
                return min(dropped, lost, float(found.bound.min(initial=math.inf)), self._value)
            self.nodes += len(found.now)
            order = np.lexsort((found.now, found.total, found.waiting))
            kept = np.zeros(len(order), dtype=np.bool_)
            undominated(found, order, kept, self.params.compared)
            found = found.take(np.flatnonzero(kept))
            found = found.take(np.argsort(found.bound, kind="stable"))
            dropped = min(dropped, lost, float(found.bound[width:].min(initial=math.inf)))
            layers.append(found.take(slice(0, width)))
        if len(layers[-1].now):
            self.best.offer(self._schedule(layers))
        return min(dropped, self._value)

    @property
    def _value(self) -> float:
        """The incumbent's sum of starts."""
        return self.best.value - self.extra

    def _successors(self, states: States) -> tuple[States, float]:
        """The successors of a layer, and the least bound of the states not expanded."""
        one, begin, count = self.instance, 0, 0
        size = max(self.params.most_states, self.costs.cost.size)
        out = blank(size, states.load.shape[1], states.closed.shape[1])
        while begin < len(states.now) and not self.best.deadline.over():
            written, after = expand(
                states, begin, min(begin + CHUNK, len(states.now)), out.take(slice(count, None)),
                self.costs, one.prompt, one.output, one.memory, self._value - 1 + ROUNDING,
            )  # fmt: skip
            count += written
            if after == begin:
                break
            begin = after
        return out.take(slice(0, count)), float(states.bound[begin:].min(initial=math.inf))

    def _schedule(self, layers: list[States]) -> Schedule:
        """The best schedule of the last layer."""
        runs, k = [], int(layers[-1].total.argmin())
        for layer in reversed(layers[1:]):
            i = int(layer.request[k])
            runs.append((i, int(layer.now[k]), int(self.instance.output[i])))
            k = int(layer.parent[k])
        return Schedule.build(runs)


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
        "with rows of pairs",
        LIMITS | GAPS | {"start", "on_progress"}, params=SearchParams,
    ),
)  # fmt: skip
