"""Reduced costs of starts, from a linear relaxation with rows that exclude pairs of large requests.

Of two requests that end d < s_i + o_i + s_j + o_j - M rounds apart, the second runs when the first
ends, and both overload the memory then. Therefore at most one request ends less than
s_i + o_i - M / 2 rounds from any moment: a row for every moment, at rounds and halves of rounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from formulations.llm_inference.exact.states import MOST_REQUESTS, Costs, Floats
from formulations.llm_inference.instance import Instance, Integers
from optsched.instances.arrays import ranges
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.deadline import Deadline

MOST_COLUMNS = 40_000
"""Starts in the program; if there are more, only every b-th, and rows are added up by b rounds."""
MOST_PAIRS = 192
"""Rows of pairs whose prices the search over states gives back, those with the largest."""


@dataclass
class Rows:
    """A row per moment: request i, started in round t, uses rows t + first[i] to t + end[i] - 1."""

    first: Integers
    end: Integers
    size: Integers
    """Use of the first row."""
    slope: int
    """What each next row is used more."""
    capacity: int

    def matrix(self, request: Integers, start: Integers, step: int) -> csr_array:
        """Use by columns, rows added up by ``step``."""
        column, row = ranges(start + self.first[request], start + self.end[request])
        at = row - start[column] - self.first[request[column]]
        use = self.size[request[column]] + self.slope * at
        shape = (int(row.max(initial=0)) // step + 1, len(start))
        return csr_array((use.astype(float), (row // step, column)), shape=shape)

    def priced(self, i: int, price: Floats, rounds: int) -> Floats:
        """What request ``i`` pays, by start."""
        use = self.size[i] + self.slope * np.arange(self.end[i] - self.first[i], dtype=float)
        padded = np.zeros(rounds + int(self.end[i]))
        padded[: len(price)] = price[: len(padded)]
        paid = np.correlate(padded[self.first[i] :], use) if len(use) else np.zeros(rounds)
        return np.asarray(paid[:rounds])


def memory_rows(instance: Instance) -> Rows:
    """(H2)."""
    first = np.zeros(instance.requests, dtype=np.int64)
    return Rows(first, instance.output, instance.prompt + 1, 1, instance.memory)


def pair_rows(instance: Instance, half: int) -> Rows:
    """Rows that one request uses at most; ``half`` is 1 for moments between rounds."""
    # the second is known to run only if the first leaves no room for its prompt
    most = instance.memory - instance.prompt.max()
    reach = 2 * np.minimum(instance.prompt + instance.output, most) - instance.memory
    first = (2 * instance.output - half - reach) // 2 + 1
    end = -((half - 2 * instance.output - reach) // 2)
    first, end = np.where(reach > 0, (first, np.maximum(first, end)), 0)
    shift = min(0, int(first.min()))
    return Rows(first - shift, end - shift, np.ones_like(first), 0, 1)


def reduced_costs(instance: Instance, last: Integers, rounds: int, deadline: Deadline) -> Costs:
    """Return reduced costs of all starts before ``rounds``.

    Args:
        instance: the requests and the worker.
        last: latest start of each request in the program; the bound holds for later ones, too.
        rounds: how many starts of each request.
        deadline: of the program.
    """
    span = last - instance.arrival
    step = 1 + int((span + 1).sum()) // MOST_COLUMNS
    request, number = ranges(np.zeros_like(last), span // step + 1)
    start = instance.arrival[request] + step * number
    kinds = [memory_rows(instance), pair_rows(instance, 0), pair_rows(instance, 1)]
    model = Model("LLM inference, relaxation")
    x = model.continuous("x", len(start), lower=0)
    model.add("once", csr_array((np.ones(len(start)), (request, np.arange(len(start))))) @ x == 1)
    for k, kind in enumerate(kinds):
        model.add(f"rows {k}", kind.matrix(request, start, step) @ x <= kind.capacity * step)
    model.minimize(x @ start.astype(float))
    found = solve(model, "highs", time_limit=max(0.1, deadline.within(1.0) or 1e9))
    known = "once" in found.duals
    duals = [-np.asarray(found.dual(f"rows {k}")) if known else np.zeros(0) for k in range(3)]
    return _priced(instance, kinds, [np.repeat(np.maximum(0.0, d), step) for d in duals], rounds)


def _priced(instance: Instance, kinds: list[Rows], prices: list[Floats], rounds: int) -> Costs:
    """The Lagrangian of the rows at these prices >= 0, with starts of all rounds."""
    n, every = instance.requests, np.arange(rounds)
    both = list(zip(kinds, prices, strict=True))
    cost = np.array([every + sum(k.priced(i, p, rounds) for k, p in both) for i in range(n)])
    cost[every < instance.arrival[:, None]] = np.inf
    least = np.ascontiguousarray(np.minimum.accumulate(cost[:, ::-1], axis=1)[:, ::-1])
    constant = -sum(k.capacity * float(p.sum()) for k, p in both)
    memory = np.zeros(rounds)
    memory[: len(prices[0])] = prices[0][:rounds]
    pairs = [(p[u], k, u) for k, p in both[1:] for u in np.flatnonzero(p).tolist()]
    pairs = sorted(pairs, key=lambda pair: -pair[0])[: MOST_PAIRS if n <= MOST_REQUESTS else 0]
    ends = np.array([(u - k.first, u - k.end) for _, k, u in pairs], dtype=np.int64)
    latest, before = ends.reshape(-1, 2, n).swapaxes(0, 1).copy()
    return Costs(cost, least, memory, np.array([p for p, _, _ in pairs]), latest, before, constant)
