"""So many jobs of DSRP by annealing over the sets of servers that their services stand on.

A fixed number of jobs is inside, each on one covering set, its nodes on servers of that set;
servers may be overfull. A step sends a job to another set, or another job in its place, and on
from the servers which that makes too full. What a step makes worse it may keep with a probability
that falls as the search cools (Metropolis). Servers that are overfull for longer than others gain
weight: those that are hardest to fill exactly are different in every instance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from formulations.drp.exact.covering_sets import CoveringSets
from formulations.drp.exact.set_exchange.ejection_chains import DRAWS, LOOK, anneal
from formulations.drp.exact.set_exchange.state import State, enter
from formulations.drp.exact.set_loads import SetLoads, set_loads
from formulations.drp.instance import NO_SERVER, Floats, Instance, Integers
from optsched.jit import limit_left, limited

STEPS = 500
"""Steps between two looks at the clock, and at the weights."""
LENGTH = 0.8
"""Steps of the first cooling, for each triple of jobs."""
DOUBLINGS = 3
"""Coolings after which they get no longer; each is twice as long as the one before until then."""
BEGINNINGS = 60
"""Non-improving coolings after which the search ends."""
TEMPERATURE = (0.015, 0.004)
"""Cost that is accepted by one step in e, at first and in the end."""
MARGINS = (0.06, 0.09)
"""Range of the reduced cost up to which a job keeps a set: drawn anew at every restart."""
DISORDER = 0.2
"""Relative, of the prices by which the first jobs are chosen."""
LEARNED = 0.01
"""Increase of a weight if a server was overfull all the time and the others never."""
WEIGHTS = (0.3, 10.0)
"""Least and most, before their mean is made 1."""


class SetExchange:
    """The search on one instance."""

    def __init__(
        self,
        instance: Instance,
        sets: CoveringSets,
        rng: np.random.Generator,
        threads: int = 1,
        storage_only: bool = False,
    ) -> None:
        """Prepare.

        Args:
            instance: the system.
            sets: on which the services of jobs may stand.
            rng: of beginnings and steps.
            threads: beginnings that run at a time.
            storage_only: nodes load nothing, and sets need not reach them.
        """
        self.instance, self.rng, self.threads = instance, rng, threads
        self.table = set_loads(instance, sets, storage_only)
        self._usable = np.flatnonzero(np.diff(sets.first))

    def search(
        self, target: int, go_on: Callable[[], bool], beginnings: int | None = None
    ) -> Integers | None:
        """An association of so many jobs, shape (nodes,), or None if none was found in time.

        It is that of the first beginning which finds one, however many run at a time.
        """
        if not 0 < target <= len(self._usable):
            return None
        most = BEGINNINGS if beginnings is None else beginnings
        streams, seconds = self.rng.spawn(most), limit_left()
        needed = most  # beginnings from here on are not: an earlier one found what they seek

        def cool(beginning: int) -> Integers | None:
            nonlocal needed
            with limited(seconds):
                found = self._cool(
                    beginning, streams[beginning], target, lambda: beginning < needed and go_on()
                )
            if found is not None:
                needed = min(needed, beginning)
            return found

        with ThreadPoolExecutor(self.threads) as pool:
            apart = pool.map if self.threads > 1 else map
            try:
                runs = apart(cool, range(most))
                return next((found for found in runs if found is not None), None)
            finally:
                needed = 0

    def _cool(
        self, beginning: int, rng: np.random.Generator, target: int, go_on: Callable[[], bool]
    ) -> Integers | None:
        """One cooling from a beginning."""
        table = self.table.only(self.table.sets.reduced_cost <= rng.uniform(*MARGINS))
        length = LENGTH * self.instance.num_jobs**3 * 2 ** min(beginning, DOUBLINGS)
        state = self.cool(table, rng, target, math.ceil(length), go_on)
        return None if state is None else self.association(table, state)

    def cool(
        self,
        table: SetLoads,
        rng: np.random.Generator,
        target: int,
        length: int,
        go_on: Callable[[], bool],
        temperature: tuple[float, float] = TEMPERATURE,
    ) -> State | None:
        """So many jobs on these sets, without a server that is too full, if so many steps do."""
        state = self._begin(rng, table, target)
        for began in range(0, length, STEPS):
            if not go_on():
                break
            now = temperature[0] * (temperature[1] / temperature[0]) ** (began / length)
            draws = rng.random((min(STEPS, length - began), DRAWS))
            full = np.zeros(state.weight.shape, dtype=np.int64)
            if anneal(table, state, draws, now, full):
                return state
            learn(state.weight, full / (STEPS / LOOK))
        return None

    def association(self, table: SetLoads, state: State) -> Integers:
        """The server of each node, shape (nodes,)."""
        at = np.full(self.instance.num_data_nodes, NO_SERVER)
        for n in state.chosen[state.chosen >= 0].tolist():
            servers = table.sets.server[table.sets.start[n] : table.sets.start[n + 1]]
            nodes = self.instance.job_nodes[table.sets.job[n]]
            at[nodes] = servers[(table.pair[np.ix_(nodes, servers)] >= 0).argmax(axis=1)]
            free = table.free[table.first_free[n] : table.first_free[n + 1]]
            at[free] = state.at[free]
        return at

    def _begin(self, rng: np.random.Generator, table: SetLoads, target: int) -> State:
        """The cheapest jobs, about, on their cheapest sets."""
        instance, sets = self.instance, table.sets
        servers = instance.num_servers
        state = State(
            np.full(instance.num_jobs, -1, dtype=np.int64),
            np.zeros(instance.num_data_nodes, dtype=np.int64),
            np.zeros((instance.num_services, servers), dtype=np.int64),
            np.zeros((servers, 5)),
            np.zeros(servers),
            np.ones((servers, 2)),
        )
        noise = rng.uniform(1 - DISORDER, 1 + DISORDER, len(self._usable))
        order = np.argsort(sets.cheapest[self._usable] * noise, kind="stable")
        for k in self._usable[order[:target]].tolist():
            n = int(sets.first[k] + sets.price[sets.first[k] : sets.first[k + 1]].argmin())
            enter(table, state, n, 0.0)
        return state


def learn(weight: Floats, full: Floats) -> None:
    """Give weight to servers that are overfull for longer than others are.

    Args:
        weight: changed, shape (servers, 2).
        full: part of the time, of the same shape.
    """
    weight *= np.exp(LEARNED * (full - full.mean(axis=0)))
    np.clip(weight, *WEIGHTS, out=weight)
    weight /= weight.mean(axis=0)
