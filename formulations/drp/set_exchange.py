"""So many jobs of DSRP by tabu search over the sets of servers that their services stand on.

A fixed number of jobs is inside, each on one covering set; servers may be overfull. A step takes a
job off an overfull server and puts it, or a job from outside, where the weighted excess becomes
least; weights of what stays overfull grow. Once nothing is, nodes are packed on the sets' servers.
Few steps from many beginnings, each among the cheap sets alone: what succeeds does so early. Cheap
is meant by a relaxation's prices and by those of congestion, in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from formulations.drp.congestion_prices import congestion_prices, load_factor
from formulations.drp.covering_sets import CoveringSets
from formulations.drp.instance import NO_SERVER, Booleans, Floats, Instance, Integers
from formulations.drp.loads import visible
from formulations.drp.packing import Packing
from optsched.jit import njit_cached

STEPS = 500
"""Steps between two looks at the clock."""
PATIENCE = 25
"""Steps in vain, for each job, before another beginning."""
BEGINNINGS = 25
"""Beginnings in vain, for each job, after which the search ends."""
MARGINS = (0.02, 0.2)
"""By which sets may be dearer than the cheapest of their job: drawn anew for every beginning."""
SHARPNESS = (8.0, 25.0)
"""Of congestion prices, drawn likewise."""
ROUNDS = (30, 200)
"""In which these are found."""
ROOM = 0.1
"""By which estimated bandwidth and compute may be exceeded: nodes are not really shared equally."""
DISORDER = 0.2
"""Relative, of the prices by which the first jobs are chosen."""
TENURE = (3, 11)
"""Steps for which a job that came or went stays so."""
GROWTH = 1.02
"""Of the weight of what is overfull where no step helps."""
PACKING_SECONDS = 2.0
"""Longest packing of nodes."""
PACKING_STEPS = 2
"""Of packing, per node."""
ROUNDING = 1e-11
"""Excess that counts as none."""


class State(NamedTuple):
    """Which jobs stand where, and what that makes of the servers."""

    chosen: Integers
    """Set of each job, -1 outside; shape (jobs,)."""
    held: Integers
    """Jobs that need a service on a server, shape (services, servers)."""
    load: Floats
    """Storage, inbound bandwidth, a, b and c of every server, shape (servers, 5)."""
    weight: Floats
    """Of storage, inbound bandwidth and load factor beyond 1, shape (servers, 3)."""
    free: Integers
    """Step from which a job may move again, shape (jobs,)."""


class SetExchange:
    """The search on one instance."""

    def __init__(self, instance: Instance, sets: CoveringSets, rng: np.random.Generator) -> None:
        """Prepare.

        Args:
            instance: the system.
            sets: on which the services of jobs may stand.
            rng: of beginnings, tenures, and which server is relieved first.
        """
        self.instance, self.rng = instance, rng
        use = sets.use.copy()
        use[:, 1:] /= 1 + ROOM
        self._all = sets._replace(use=use)
        self.sets = self._all
        self._usable = np.flatnonzero(np.diff(sets.first))

    def search(self, target: int, go_on: Callable[[], bool]) -> Integers | None:
        """An association of so many jobs, shape (nodes,), or None if none was found in time."""
        if target > len(self._usable):
            return None
        shape = STEPS, self.instance.num_servers + 2
        for beginning in range(BEGINNINGS * self.instance.num_jobs):
            self.sets = self._cheap(target, by_congestion=beginning % 2 == 1)
            state = self._begin(target)
            for began in range(0, PATIENCE * self.instance.num_jobs, STEPS):
                if not go_on():
                    return None
                if exchange(self.sets, state, self.rng.random(shape), began):
                    packed = self._packed(state.chosen)
                    if packed is not None:
                        return packed
                    break
        return None

    def _cheap(self, target: int, by_congestion: bool) -> CoveringSets:
        """The sets among which one beginning searches."""
        sets, servers = self._all, self.instance.num_servers
        if by_congestion and target:
            sharpness, rounds = self.rng.uniform(*SHARPNESS), int(self.rng.integers(*ROUNDS))
            price = congestion_prices(sets, servers, target, sharpness, rounds)
            sets = sets._replace(price=price)
        return sets.within(float(np.exp(self.rng.uniform(*np.log(MARGINS)))))

    def _begin(self, target: int) -> State:
        """The cheapest jobs, about, on their cheapest sets."""
        instance, sets = self.instance, self.sets
        servers, jobs = instance.num_servers, instance.num_jobs
        state = State(
            np.full(jobs, -1, dtype=np.int64),
            np.zeros((instance.num_services, servers), dtype=np.int64),
            np.zeros((servers, 5)),
            np.ones((servers, 3)),
            np.zeros(jobs, dtype=np.int64),
        )
        noise = self.rng.uniform(1 - DISORDER, 1 + DISORDER, len(self._usable))
        order = np.argsort(sets.cheapest[self._usable] * noise, kind="stable")
        for k in self._usable[order[:target]].tolist():
            state.chosen[k] = sets.first[k] + sets.price[sets.first[k] : sets.first[k + 1]].argmin()
            shift(sets, state, state.chosen[k], 1)
        return state

    def _packed(self, chosen: Integers) -> Integers | None:
        """Nodes on the servers of the sets, and where storage is left, or None."""
        instance = self.instance
        reach = self._standing(chosen)[instance.pair_job, instance.pair_server]
        pairs = self.rng.permutation(np.flatnonzero(reach))
        assoc = np.full(instance.num_data_nodes, NO_SERVER)
        assoc[instance.pair_node[pairs]] = instance.pair_server[pairs]
        packing = Packing(instance, assoc, reach)
        until = time.perf_counter() + PACKING_SECONDS
        done = packing.search(self.rng, until, PACKING_STEPS * instance.num_data_nodes)
        return packing.assoc if done else None

    def _standing(self, chosen: Integers) -> Booleans:
        """Whether a job can be on a server, shape (jobs, servers): storage left is filled too."""
        instance, sets = self.instance, self.sets
        size = visible(instance.service_load)
        holds = np.zeros(size.shape, dtype=np.bool_)
        inside = chosen >= 0
        for n in chosen[inside].tolist():
            holds[sets.service[n], sets.server[sets.start[n] : sets.start[n + 1]]] = True
        nodes = np.zeros(size.shape)  # that would reach a service
        pairs = np.flatnonzero(inside[instance.pair_job])
        at = instance.job_service[instance.pair_job[pairs]], instance.pair_server[pairs]
        np.add.at(nodes, at, 1.0)
        stored = (holds * size).sum(axis=0)
        for place in np.argsort(-nodes, axis=None, kind="stable"):
            s, j = np.divmod(place, instance.num_servers)
            if not holds[s, j] and nodes[s, j] > 0 and stored[j] + size[s, j] <= 1:
                holds[s, j] = True
                stored[j] += size[s, j]
        return np.asarray(holds[instance.job_service] & inside[:, None])


@njit_cached
def excess(load: Floats, added: Floats, storage: float, weight: Floats) -> float:
    """Weighted excess of a server, with something added that needs so much more storage."""
    factor = load_factor(load[2] + added[2], load[3] + added[3], load[4] + added[4])
    total = weight[0] * max(0.0, load[0] + storage - 1.0)
    total += weight[1] * max(0.0, load[1] + added[1] - 1.0)
    return float(total + weight[2] * max(0.0, factor - 1.0))


@njit_cached
def shift(sets: CoveringSets, state: State, n: int, sign: int) -> None:
    """Put a set's job on its servers (sign 1), or take it off them (sign -1)."""
    service = sets.service[n]
    for q in range(sets.start[n], sets.start[n + 1]):
        j = sets.server[q]
        state.held[service, j] += sign
        if state.held[service, j] == (1 if sign > 0 else 0):
            state.load[j, 0] += sign * sets.use[q, 0]
        for r in range(1, 5):
            state.load[j, r] += sign * sets.use[q, r]


@njit_cached
def weigh(sets: CoveringSets, state: State, n: int, now: Floats) -> None:
    """Weighted excess of the servers of a set."""
    nothing = np.zeros(5)
    for q in range(sets.start[n], sets.start[n + 1]):
        j = sets.server[q]
        now[j] = excess(state.load[j], nothing, 0.0, state.weight[j])


@njit_cached
def entry(
    sets: CoveringSets, state: State, now: Floats, out: int, step: int, most: float
) -> tuple[float, int]:
    """The set on which a job comes in at least excess, below a limit; -1 where there is none.

    Args:
        sets: on which jobs may stand.
        state: a job having been taken out of it.
        now: weighted excess of every server, shape (servers,).
        out: the job taken out, which may come back on another of its sets.
        step: number of the step.
        most: the limit.

    Returns:
        The weighted excess of all servers then, and the set.
    """
    best, coming, total = most, -1, now.sum()
    for k in range(len(sets.first) - 1):
        if k != out and (state.chosen[k] >= 0 or state.free[k] > step):
            continue
        for n in range(sets.first[k], sets.first[k + 1]):
            if n == state.chosen[k]:
                continue
            value = total
            for q in range(sets.start[n], sets.start[n + 1]):
                j = sets.server[q]
                new = 0.0 if state.held[sets.service[n], j] > 0 else sets.use[q, 0]
                value += excess(state.load[j], sets.use[q], new, state.weight[j]) - now[j]
                if value >= best:
                    break
            if value < best:
                best, coming = value, n
    return best, coming


@njit_cached
def best_step(
    sets: CoveringSets, state: State, now: Floats, worst: int, step: int
) -> tuple[float, int, int]:
    """The job that leaves a server and the set that comes, -1 where none may, at least excess."""
    best, leaving, coming = np.inf, -1, -1
    for k in range(len(sets.first) - 1):
        own = state.chosen[k]
        if own < 0 or state.free[k] > step:
            continue
        if worst not in sets.server[sets.start[own] : sets.start[own + 1]]:
            continue
        shift(sets, state, own, -1)
        weigh(sets, state, own, now)
        value, n = entry(sets, state, now, k, step, best)
        if n >= 0:
            best, leaving, coming = value, k, n
        shift(sets, state, own, 1)
        weigh(sets, state, own, now)
    return best, leaving, coming


@njit_cached
def grow(state: State) -> None:
    """Make what is overfull weigh more, the mean weight remaining 1."""
    for j in range(len(state.load)):
        load, weight = state.load[j], state.weight[j]
        if load[0] > 1:
            weight[0] *= GROWTH
        if load[1] > 1:
            weight[1] *= GROWTH
        if load_factor(load[2], load[3], load[4]) > 1:
            weight[2] *= GROWTH
    state.weight[:] = state.weight / state.weight.mean()


@njit_cached
def exchange(sets: CoveringSets, state: State, noise: Floats, began: int) -> bool:
    """Steps until no server is overfull.

    Args:
        sets: on which jobs may stand.
        state: changed in place.
        noise: uniform in [0, 1), shape (steps, servers + 2).
        began: number of the first step.

    Returns:
        Whether no server is overfull now.
    """
    servers, nothing, width = len(state.load), np.zeros(5), TENURE[1] - TENURE[0]
    now = np.zeros(servers)
    for row in range(len(noise)):
        for j in range(servers):
            now[j] = excess(state.load[j], nothing, 0.0, state.weight[j])
        if now.sum() <= ROUNDING:
            return True
        before, step = now.sum(), began + row
        worst = int(np.argmax(now * noise[row, :servers]))
        best, leaving, coming = best_step(sets, state, now, worst, step)
        if leaving < 0:
            continue
        shift(sets, state, state.chosen[leaving], -1)
        state.chosen[leaving] = -1
        shift(sets, state, coming, 1)
        entering = sets.job[coming]
        state.chosen[entering] = coming
        state.free[leaving] = step + TENURE[0] + int(noise[row, servers] * width)
        state.free[entering] = step + TENURE[0] + int(noise[row, servers + 1] * width)
        if best >= before:
            grow(state)
    return False
