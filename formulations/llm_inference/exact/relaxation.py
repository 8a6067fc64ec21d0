"""Reduced costs of starts, from the linear relaxation with cliques."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from formulations.llm_inference.hindsight import Starts, program
from formulations.llm_inference.instance import Instance, Integers
from optsched.solve import solve
from optsched.solvers.deadline import Deadline

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

VIOLATED = 1e-3
"""Least violation of a clique that is added."""
ROUNDS = 80
"""Most rounds of cliques."""
PER_ROUND = 60
"""Most cliques added in a round."""
GAIN = 2e-4
"""Relative gain over ``PATIENCE`` rounds below which they end."""
PATIENCE = 6


@dataclass(frozen=True)
class ReducedCosts:
    """A Lagrangian bound: sum of starts >= sum of their reduced costs + constant."""

    cost: Floats
    """Of each request and start, shape (requests, rounds)."""
    constant: float

    @property
    def least(self) -> Floats:
        """Least reduced cost of each request from each round on, shape (requests, rounds)."""
        return np.minimum.accumulate(self.cost[:, ::-1], axis=1)[:, ::-1]

    @property
    def value(self) -> float:
        """The bound on the sum of starts."""
        return float(self.least[:, 0].sum()) + self.constant


def conflicts(instance: Instance) -> Booleans:
    """Whether i and j overload the memory if j starts d rounds after i, by (i, j, d).

    The last axis has d = -D..D, D the longest output less 1. Memory peaks where the first of both
    ends.
    """
    prompt, output = instance.prompt, instance.output
    reach = int(output.max()) - 1
    d = np.arange(reach + 1)
    s, o = prompt[:, None, None], output[:, None, None]
    other, end = prompt[None, :, None], output[None, :, None] + d
    at_first = s + o + other + o - d  # i ends no later
    at_second = other + output[None, :, None] + s + end
    after = (d < o) & (np.where(end >= o, at_first, at_second) > instance.memory)
    return np.concatenate([after.transpose(1, 0, 2)[:, :, :0:-1], after], axis=2)


def reduced_costs(
    instance: Instance, last: Integers, rounds: int, deadline: Deadline
) -> ReducedCosts:
    """Return reduced costs of all starts before ``rounds``.

    Args:
        instance: the requests and the worker.
        last: latest start of each request in the program; the bound holds for later ones, too.
        rounds: how many starts of each request.
        deadline: of the rounds of cliques.
    """
    columns = Starts(instance, instance.arrival, last)
    apart = conflicts(instance)
    cliques = csr_array((0, len(columns.end)))
    none = np.zeros(0)
    best, values = _priced(columns, none, cliques, none, rounds), []
    for _ in range(ROUNDS):
        model = program(columns, instance.memory)
        if cliques.shape[0]:
            model.add("cliques", cliques @ model["x"] <= 1)
        found = solve(model.relax(), "highs", time_limit=max(0.1, deadline.within(1.0) or 1e9))
        if "H2" not in found.duals:
            break
        price = np.maximum(0.0, -np.asarray(found.dual("H2")))
        clique_price = (
            np.maximum(0.0, -np.asarray(found.dual("cliques"))) if cliques.shape[0] else np.zeros(0)
        )
        made = _priced(columns, price, cliques, clique_price, rounds)
        best = max(best, made, key=lambda one: one.value)
        values.append(best.value)
        if deadline.over() or (
            len(values) > PATIENCE and values[-1] < values[-1 - PATIENCE] * (1 + GAIN)
        ):
            break
        new = _separate(columns, apart, np.asarray(found["x"]))
        if not len(new):
            break
        tight = clique_price > 0 if len(clique_price) else np.zeros(0, dtype=bool)
        cliques = csr_array(vstack([cliques[tight], _rows(new, len(columns.end))]))
    return best


def _priced(
    columns: Starts, price: Floats, cliques: csr_array, clique_price: Floats, rounds: int
) -> ReducedCosts:
    """The Lagrangian of (H2) and the cliques at these prices >= 0, with starts of all rounds."""
    instance = columns.instance
    padded = np.zeros(max(rounds, len(price)) + int(instance.output.max()))
    padded[: len(price)] = price
    cost = np.empty((instance.requests, rounds))
    for i in range(instance.requests):
        ramp = instance.prompt[i] + np.arange(1.0, instance.output[i] + 1)
        cost[i] = np.arange(rounds) + np.correlate(padded, ramp)[:rounds]
    request, start = columns.columns
    inside = start < rounds
    cost[request[inside], start[inside]] += (cliques.T @ clique_price)[inside]
    cost[np.arange(rounds) < instance.arrival[:, None]] = np.inf
    return ReducedCosts(cost, -float(price.sum() * instance.memory + clique_price.sum()))


def _separate(columns: Starts, apart: Booleans, x: Floats) -> list[Integers]:
    """Return violated cliques of starts that exclude each other, grown greedily."""
    request, start = columns.columns
    reach = apart.shape[2] // 2

    def meet(k: int, among: Integers) -> Booleans:
        """Which of some columns exclude column k."""
        d = start[among] - start[k]
        close = np.abs(d) <= reach
        pair = apart[request[k], request[among], np.clip(d, -reach, reach) + reach]
        return np.asarray((request[among] == request[k]) | (close & pair))

    support = np.flatnonzero(x > 1e-6)
    support = support[np.argsort(-x[support], kind="stable")]
    matrix = np.array([meet(k, support) for k in support.tolist()])
    found: dict[tuple[int, ...], float] = {}
    for seed in range(len(support)):
        members, still = [seed], matrix[seed].copy()
        still[seed] = False
        while still.any():
            k = int(np.argmax(still))  # the largest value first
            members.append(k)
            still &= matrix[k]
            still[k] = False
        clique = tuple(sorted(support[members].tolist()))
        weight = float(x[list(clique)].sum())
        if weight > 1 + VIOLATED:
            found[clique] = weight
    every = np.arange(len(start))
    lifted = []
    for clique in sorted(found, key=lambda c: -found[c])[:PER_ROUND]:
        still = np.logical_and.reduce([meet(k, every) for k in clique])
        still[list(clique)] = False
        grown = list(clique)
        while still.any():
            k = int(np.argmax(still))
            grown.append(k)
            still &= meet(k, every)
            still[k] = False
        lifted.append(np.array(grown))
    return lifted


def _rows(cliques: list[Integers], columns: int) -> csr_array:
    """Cliques as rows of a matrix."""
    sizes = [len(clique) for clique in cliques]
    row = np.repeat(np.arange(len(cliques)), sizes)
    entries = (np.ones(len(row)), (row, np.concatenate(cliques)))
    return csr_array(entries, shape=(len(cliques), columns))
