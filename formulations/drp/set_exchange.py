"""So many jobs of DSRP by annealing over the sets of servers that their services stand on.

A fixed number of jobs is inside, each on one covering set, its nodes on servers of that set;
servers may be overfull. A step puts a job, often one on an overfull server, on another set, or
another job in its place. Where that makes a server's storage too full, a second job leaves that
server for its best other set: storage is filled almost to the last byte, and only exchanges of
services of about the same size keep it so. What a step makes worse it may keep with a probability
that falls as the search cools (Metropolis).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from formulations.drp.covering_sets import CoveringSets
from formulations.drp.instance import NO_SERVER, Floats, Instance, Integers
from formulations.drp.loads import visible
from optsched.jit import limit_left, limited, njit_cached

STEPS = 20_000
"""Steps between two looks at the clock."""
DRAWS = 10
"""Random numbers of a step."""
LENGTH = 8
"""Steps of the first cooling, for each triple of jobs."""
DOUBLINGS = 5
"""Coolings after which they get no longer; each is twice as long as the one before until then."""
BEGINNINGS = 12
"""Coolings in vain after which the search ends."""
WARMTH = (0.015, 0.002)
"""Excess that is accepted by one step in e, at first and in the end."""
MARGINS = (0.05, 0.2)
"""By which sets may be dearer than the cheapest of their job: drawn anew for every beginning."""
DISORDER = 0.2
"""Relative, of the prices by which the first jobs are chosen."""
FOCUSED = 0.3
"""Part of the steps that take a job from an overfull server."""
EXCHANGED = 0.3
"""Part of the steps that exchange a job for one outside."""
PLACED = 0.03
"""Part of them that place the nodes of a job anew."""
HOPELESS = 0.5
"""Excess added by a job from which on no second one is moved."""
LOAD_WEIGHT = 0.25
"""Of load beyond 1, where storage beyond 1 counts whole."""
ROUNDING = 1e-11
"""Excess that counts as none."""


class Demand(NamedTuple):
    """What jobs ask of servers."""

    service: Integers
    """Of each job, shape (jobs,)."""
    size: Floats
    """Of services as shares of storage, shape (services, servers)."""
    first: Integers
    """Nodes of job k are first[k] .. first[k + 1] - 1 of ``node``; shape (jobs + 1,)."""
    node: Integers
    """Shape (nodes,)."""
    pair: Integers
    """Of a node and a server, -1 out of reach; shape (nodes, servers)."""
    load: Floats
    """Shares of inbound bandwidth, a, b and c of (P1), shape (pairs, 4)."""


class State(NamedTuple):
    """Which jobs stand where, and what that makes of the servers."""

    chosen: Integers
    """Set of each job, -1 outside; shape (jobs,)."""
    at: Integers
    """Server of each node, shape (nodes,); it counts while the node's job is inside."""
    held: Integers
    """Jobs that need a service on a server, shape (services, servers)."""
    stored: Floats
    """Share of the storage, shape (servers,)."""
    load: Floats
    """Inbound bandwidth, a, b and c of (P1), shape (servers, 4)."""


class SetExchange:
    """The search on one instance."""

    def __init__(
        self, instance: Instance, sets: CoveringSets, rng: np.random.Generator, threads: int = 1
    ) -> None:
        """Prepare.

        Args:
            instance: the system.
            sets: on which the services of jobs may stand.
            rng: of beginnings and steps.
            threads: beginnings that run at a time.
        """
        self.instance, self.rng, self.threads, self._all = instance, rng, threads, sets
        pair = np.full((instance.num_data_nodes, instance.num_servers), -1, dtype=np.int64)
        pair[instance.pair_node, instance.pair_server] = np.arange(instance.num_pairs)
        loads = instance.inbound_load, instance.compute_load, instance.comm_load
        self.demand = Demand(
            instance.job_service.astype(np.int64),
            visible(instance.service_load),
            np.cumsum([0, *map(len, instance.job_nodes)]),
            np.concatenate(instance.job_nodes).astype(np.int64),
            pair,
            np.ascontiguousarray(np.column_stack([*loads, instance.cross_load])),
        )
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
        margin = np.exp(rng.uniform(*np.log(MARGINS)))
        sets = self._all.within(float(margin))
        length = LENGTH * self.instance.num_jobs**3 * 2 ** min(beginning, DOUBLINGS)
        state = self.cool(sets, rng, target, length, go_on)
        return None if state is None else self.association(state)

    def cool(
        self,
        sets: CoveringSets,
        rng: np.random.Generator,
        target: int,
        length: int,
        go_on: Callable[[], bool],
        warmth: tuple[float, float] = WARMTH,
    ) -> State | None:
        """So many jobs on these sets, without a server that is too full, if so many steps do."""
        state = self._begin(rng, sets, target)
        for began in range(0, length, STEPS):
            if not go_on():
                break
            now = warmth[0] * (warmth[1] / warmth[0]) ** (began / length)
            noise = rng.random((min(STEPS, length - began), DRAWS))
            if anneal(sets, self.demand, state, noise, now):
                return state
        return None

    def association(self, state: State) -> Integers:
        """The server of each node, shape (nodes,)."""
        inside = state.chosen[self.instance.node_job] >= 0
        return np.where(inside, state.at, NO_SERVER)

    def _begin(self, rng: np.random.Generator, sets: CoveringSets, target: int) -> State:
        """The cheapest jobs, about, on their cheapest sets."""
        instance = self.instance
        servers = instance.num_servers
        state = State(
            np.full(instance.num_jobs, -1, dtype=np.int64),
            np.zeros(instance.num_data_nodes, dtype=np.int64),
            np.zeros((instance.num_services, servers), dtype=np.int64),
            np.zeros(servers),
            np.zeros((servers, 4)),
        )
        noise = rng.uniform(1 - DISORDER, 1 + DISORDER, len(self._usable))
        order = np.argsort(sets.cheapest[self._usable] * noise, kind="stable")
        for k in self._usable[order[:target]].tolist():
            n = int(sets.first[k] + sets.price[sets.first[k] : sets.first[k + 1]].argmin())
            state.chosen[k] = n
            stand(sets, self.demand, state, n, 1)
            enter(sets, self.demand, state, n, 0.0, state.at)
        return state


@njit_cached
def load_factor(a: float, b: float, c: float) -> float:
    """lambda_max of (P1)."""
    return float((a + b) / 2 + math.sqrt((a - b) * (a - b) / 4 + c * c))


@njit_cached
def storage_excess(state: State) -> float:
    """Storage beyond 1, over all servers."""
    total = 0.0
    for j in range(len(state.stored)):
        total += max(0.0, state.stored[j] - 1.0)
    return total


@njit_cached
def load_excess(state: State) -> float:
    """Inbound bandwidth and load factor beyond 1, over all servers, times LOAD_WEIGHT."""
    total = 0.0
    for j in range(len(state.load)):
        load = state.load[j]
        total += max(0.0, load[0] - 1.0)
        total += max(0.0, load_factor(load[1], load[2], load[3]) - 1.0)
    return LOAD_WEIGHT * total


@njit_cached
def stand(sets: CoveringSets, demand: Demand, state: State, n: int, sign: int) -> None:
    """Put the service of a set on its servers for one job (sign 1), or take it off (sign -1)."""
    service = demand.service[sets.job[n]]
    for q in range(sets.start[n], sets.start[n + 1]):
        j = sets.server[q]
        state.held[service, j] += sign
        if state.held[service, j] == (1 if sign > 0 else 0):
            state.stored[j] += sign * demand.size[service, j]


@njit_cached
def leave(demand: Demand, state: State, k: int) -> None:
    """Take the nodes of a job off the loads of servers."""
    for x in range(demand.first[k], demand.first[k + 1]):
        i = demand.node[x]
        j = state.at[i]
        for r in range(4):
            state.load[j, r] -= demand.load[demand.pair[i, j], r]


@njit_cached
def enter(
    sets: CoveringSets, demand: Demand, state: State, n: int, turn: float, at: Integers
) -> None:
    """Add the nodes of a set's job to the loads of its servers.

    Args:
        sets: of servers.
        demand: what jobs ask.
        state: of which the loads are changed.
        n: the set.
        turn: which of the nodes with a choice is first, in [0, 1); those without come before it.
        at: server of each node, written.
    """
    k = sets.job[n]
    nodes = demand.first[k + 1] - demand.first[k]
    for choice in range(2):
        for x in range(nodes):
            i = demand.node[demand.first[k] + (x + int(turn * nodes)) % nodes]
            best, least, options = -1, np.inf, 0
            for q in range(sets.start[n], sets.start[n + 1]):
                j = sets.server[q]
                p = demand.pair[i, j]
                if p < 0:
                    continue
                options += 1
                new, load = demand.load[p], state.load[j]
                factor = load_factor(load[1] + new[1], load[2] + new[2], load[3] + new[3])
                full = max(load[0] + new[0], factor)
                if full < least:
                    best, least = j, full
            if (options > 1) == (choice == 1):
                at[i] = best
                for r in range(4):
                    state.load[best, r] += demand.load[demand.pair[i, best], r]


@njit_cached
def beside(sets: CoveringSets, state: State, n: int, k: int, where: float, who: float) -> int:
    """A job other than k on a server of a set that is overfull; -1 where there is none.

    Args:
        sets: of servers.
        state: in which the set's service stands already.
        n: the set.
        k: its job, or the one it replaces.
        where: which server of it is looked at first, in [0, 1).
        who: which job is, likewise.
    """
    size, jobs = sets.start[n + 1] - sets.start[n], len(state.chosen)
    for s in range(size):
        j = sets.server[sets.start[n] + (s + int(where * size)) % size]
        if state.stored[j] <= 1.0:
            continue
        for t in range(jobs):
            other = (t + int(who * jobs)) % jobs
            m = state.chosen[other]
            if other == k or other == sets.job[n] or m < 0:
                continue
            for q in range(sets.start[m], sets.start[m + 1]):  # a call would cost a tenth of a step
                if sets.server[q] == j:
                    return other
        return -1
    return -1


@njit_cached
def best_set(
    sets: CoveringSets, demand: Demand, state: State, k: int, most: float
) -> tuple[float, int]:
    """The set of a job, which stands nowhere now, that exceeds storage least; -1 if by too much.

    Args:
        sets: of servers; the one chosen for the job is left out.
        demand: what jobs ask.
        state: what is stored.
        k: the job.
        most: excess that it may add.
    """
    least, best, service = most, -1, demand.service[k]
    for n in range(sets.first[k], sets.first[k + 1]):
        if n == state.chosen[k]:
            continue
        added = 0.0
        for q in range(sets.start[n], sets.start[n + 1]):
            j = sets.server[q]
            if state.held[service, j] == 0:
                now = state.stored[j] - 1.0
                added += max(0.0, now + demand.size[service, j]) - max(0.0, now)
                if added > least:
                    break
        if added <= least:
            least, best = added, n
    return least, best


@njit_cached
def overfull(state: State, where: float) -> int:
    """A server that is too full, looked for from ``where`` in [0, 1) on; -1 if there is none."""
    servers = len(state.stored)
    for t in range(servers):
        j = (t + int(where * servers)) % servers
        load = state.load[j]
        if max(state.stored[j], load[0], load_factor(load[1], load[2], load[3])) > 1.0:
            return j
    return -1


@njit_cached
def stands(sets: CoveringSets, n: int, j: int) -> bool:
    """Whether a set is one, and server j, if that is one, is among its own."""
    if n < 0 or j < 0:
        return n >= 0
    q = sets.start[n]
    while q < sets.start[n + 1] and sets.server[q] != j:
        q += 1
    return bool(q < sets.start[n + 1])


@njit_cached
def proposal(sets: CoveringSets, state: State, noise: Floats) -> tuple[int, int]:
    """A job inside and the set that comes for it: of it, perhaps the same, or of one outside."""
    jobs = len(state.chosen)
    k = int(noise[0] * jobs)
    full = overfull(state, noise[9]) if noise[8] < FOCUSED else -1
    while not stands(sets, state.chosen[k], full):
        k = (k + 1) % jobs
    if noise[1] < PLACED:
        return k, state.chosen[k]
    entering = k
    if noise[1] < PLACED + EXCHANGED:
        start = int(noise[2] * jobs)
        for t in range(jobs):
            other = (start + t) % jobs
            if state.chosen[other] < 0 and sets.first[other + 1] > sets.first[other]:
                entering = other
                break
    few = sets.first[entering + 1] - sets.first[entering]
    return k, sets.first[entering] + int(noise[3] * few)


@njit_cached
def anneal(sets: CoveringSets, demand: Demand, state: State, noise: Floats, warmth: float) -> bool:
    """Steps until no server is overfull.

    Args:
        sets: on which jobs may stand.
        demand: what jobs ask.
        state: changed in place.
        noise: uniform in [0, 1), shape (steps, DRAWS).
        warmth: excess that one step in e accepts.

    Returns:
        Whether no server is overfull now.
    """
    stored, load, at = state.stored.copy(), state.load.copy(), state.at.copy()
    storage, loads = storage_excess(state), load_excess(state)
    for row in range(len(noise)):
        if storage + loads <= ROUNDING:
            return True
        k, n = proposal(sets, state, noise[row])
        old, entering = state.chosen[k], sets.job[n]
        if n == old and loads <= ROUNDING:
            continue
        # all that loads may give back counts until they are known
        most = storage + loads - warmth * math.log(1.0 - noise[row, 4])
        stand(sets, demand, state, old, -1)
        stand(sets, demand, state, n, 1)
        excess = storage_excess(state)
        second, last, m = -1, -1, -1
        if most < excess < most + HOPELESS:
            second = beside(sets, state, n, k, noise[row, 5], noise[row, 6])
        if second >= 0:
            last = state.chosen[second]
            stand(sets, demand, state, last, -1)
            m = best_set(sets, demand, state, second, most - storage_excess(state))[1]
            stand(sets, demand, state, m if m >= 0 else last, 1)
            excess = storage_excess(state)
        kept = False
        entered = excess <= most
        if entered:
            leave(demand, state, k)
            if m >= 0:
                leave(demand, state, second)
            enter(sets, demand, state, n, noise[row, 7], at)
            if m >= 0:
                enter(sets, demand, state, m, noise[row, 7], at)
            over = load_excess(state)
            kept = excess + over <= most
        if kept:
            storage, loads = excess, over
            state.chosen[k] = -1
            state.chosen[entering] = n
            if m >= 0:
                state.chosen[second] = m
            state.at[:] = at
            stored[:], load[:] = state.stored, state.load
        else:
            if m >= 0:
                stand(sets, demand, state, m, -1)
                stand(sets, demand, state, last, 1)
            stand(sets, demand, state, n, -1)
            stand(sets, demand, state, old, 1)
            state.stored[:] = stored
            if entered:
                at[:] = state.at
                state.load[:] = load
    return storage + loads <= ROUNDING
