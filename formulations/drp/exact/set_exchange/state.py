"""Which jobs stand on which sets of servers, and what that makes of the servers.

Overfull servers cost by how much they are so, and besides that they are at all: a little too much
on each of many servers counts more than as much on one. Each server has a weight for its storage
and one for its loads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.drp.exact.set_loads import SetLoads
from formulations.drp.instance import Floats, Integers
from formulations.drp.loads import load_factor
from optsched.jit import njit_cached

JUMP = 0.015
"""What an overfull server costs beside its excess."""
LOAD_WEIGHT = 0.25
"""Weight of load beyond 1, where storage beyond 1 counts whole."""
ROUNDING = 1e-11
"""Share beyond 1 that counts as none."""


class State(NamedTuple):
    """Which jobs stand where, and what that makes of the servers."""

    chosen: Integers
    """Set of each job, -1 outside; shape (jobs,)."""
    at: Integers
    """Server of each free node, shape (nodes,); it counts while the node's job is inside."""
    held: Integers
    """Jobs that need a service on a server, shape (services, servers)."""
    filled: Floats
    """Shares of storage, inbound bandwidth, a, b and c of (P1), shape (servers, 5)."""
    cost: Floats
    """Cost of each server, shape (servers,)."""
    weight: Floats
    """Weights of storage and of loads, shape (servers, 2)."""


@njit_cached
def storage_cost(stored: float) -> float:
    """Cost of a server's storage, its weight apart."""
    return stored - 1.0 + JUMP if stored > 1.0 + ROUNDING else 0.0


@njit_cached
def load_cost(inbound: float, a: float, b: float, c: float) -> float:
    """Cost of a server's bandwidth and load factor, their weight apart."""
    total = 0.0
    if inbound > 1.0 + ROUNDING:
        total += inbound - 1.0 + JUMP
    room, half = 1.0 + ROUNDING - (a + b) / 2, (a - b) / 2
    if room < 0.0 or half * half + c * c > room * room:  # the factor, without its root
        total += load_factor(a, b, c) - 1.0 + JUMP
    return LOAD_WEIGHT * total


@njit_cached
def measure(state: State, j: int) -> None:
    """What server j costs now."""
    row = state.filled[j]
    of_loads = load_cost(row[1], row[2], row[3], row[4])
    state.cost[j] = state.weight[j, 0] * storage_cost(row[0]) + state.weight[j, 1] * of_loads


@njit_cached
def total(costs: Floats) -> float:
    """Their sum; numpy's is slower for so few."""
    found = 0.0
    for cost in costs:
        found += cost
    return found


@njit_cached
def shift(table: SetLoads, state: State, n: int, sign: int) -> None:
    """Put the service and the burdens of a set on its servers (sign 1), or take them off (-1)."""
    service = table.service[table.sets.job[n]]
    for q in range(table.sets.start[n], table.sets.start[n + 1]):
        j, load = table.sets.server[q], table.load[table.burden[q]]
        state.held[service, j] += sign
        if state.held[service, j] == (1 if sign > 0 else 0):
            state.filled[j, 0] += sign * table.size[service, j]
        for r in range(4):
            state.filled[j, r + 1] += sign * load[r]


@njit_cached
def leave(table: SetLoads, state: State, k: int) -> None:
    """Take a job off its set."""
    n = state.chosen[k]
    shift(table, state, n, -1)
    for x in range(table.first_free[n], table.first_free[n + 1]):
        j = state.at[table.free[x]]
        load = table.node_load[table.pair[table.free[x], j]]
        for r in range(4):
            state.filled[j, r + 1] -= load[r]
    for q in range(table.sets.start[n], table.sets.start[n + 1]):
        measure(state, table.sets.server[q])
    state.chosen[k] = -1


@njit_cached
def enter(table: SetLoads, state: State, n: int, turn: float) -> None:
    """Put the job of a set on it, each free node on the server that it leaves least full.

    Args:
        table: what sets ask.
        state: with the job outside.
        n: the set.
        turn: which of the free nodes is first, in [0, 1).
    """
    shift(table, state, n, 1)
    nodes = table.first_free[n + 1] - table.first_free[n]
    for x in range(nodes):
        i = table.free[table.first_free[n] + (x + int(turn * nodes)) % nodes]
        best, least = -1, np.inf
        for q in range(table.sets.start[n], table.sets.start[n + 1]):
            j = table.sets.server[q]
            p = table.pair[i, j]
            if p < 0:
                continue
            new, now = table.node_load[p], state.filled[j]
            factor = load_factor(now[2] + new[1], now[3] + new[2], now[4] + new[3])
            full = max(now[1] + new[0], factor)
            if full < least:
                best, least = j, full
        state.at[i] = best
        for r in range(4):
            state.filled[best, r + 1] += table.node_load[table.pair[i, best], r]
    for q in range(table.sets.start[n], table.sets.start[n + 1]):
        measure(state, table.sets.server[q])
    state.chosen[table.sets.job[n]] = n


@njit_cached
def recount(table: SetLoads, state: State) -> None:
    """Shares and costs anew, without the rounding of many changes."""
    state.filled[:] = 0.0
    state.held[:] = 0
    for n in state.chosen:
        if n < 0:
            continue
        shift(table, state, n, 1)
        for x in range(table.first_free[n], table.first_free[n + 1]):
            j = state.at[table.free[x]]
            for r in range(4):
                state.filled[j, r + 1] += table.node_load[table.pair[table.free[x], j], r]
    for j in range(len(state.cost)):
        measure(state, j)


@njit_cached
def overfull(state: State, where: float) -> int:
    """A server that costs something, looked for from ``where`` in [0, 1) on; -1 if none does."""
    servers = len(state.cost)
    for t in range(servers):
        j = (t + int(where * servers)) % servers
        if state.cost[j] > 0.0:
            return j
    return -1


@njit_cached
def stands(table: SetLoads, n: int, j: int) -> bool:
    """Whether a set is one, and server j, if that is one, is among its own."""
    if n < 0 or j < 0:
        return n >= 0
    q = table.sets.start[n]
    while q < table.sets.start[n + 1] and table.sets.server[q] != j:
        q += 1
    return bool(q < table.sets.start[n + 1])
