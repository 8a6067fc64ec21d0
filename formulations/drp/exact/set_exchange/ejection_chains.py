"""Ejection chains: a job goes to another set of servers, and sends on those it leaves no room."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from formulations.drp.exact.set_exchange.state import (
    State,
    enter,
    leave,
    load_cost,
    overfull,
    recount,
    shift,
    stands,
    storage_cost,
    total,
)
from formulations.drp.exact.set_loads import SetLoads
from formulations.drp.instance import Floats, Integers
from optsched.jit import njit_cached

DEPTH = 4
"""Jobs that are sent on in one step, at most."""
TRIED = 4
"""Jobs of a server of which the best is sent on."""
FOCUSED = 0.3
"""Part of the steps that take a job from an overfull server."""
EXCHANGED = 0.3
"""Part of the steps that exchange a job for one outside."""
WORST = 0.7
"""Part of the jobs sent on that leave the worst server, not any overfull one."""
HOPELESS = 0.6
"""Cost too high by which a chain ends."""
FIRST_DRAWS = 8
"""Random numbers that begin a step."""
DRAWS = FIRST_DRAWS + 4 * DEPTH
"""Random numbers of a step."""
LOOK = 20
"""Steps between two counts of the servers that are overfull."""


class Links(NamedTuple):
    """What one step has changed, to be undone."""

    left: Integers
    """Job that left its set, shape (DEPTH + 1,)."""
    old: Integers
    """That set."""
    came: Integers
    """Job that came, the same or one from outside."""
    filled: Floats
    """As before, shape (servers, 5)."""
    cost: Floats
    """As before, shape (servers,)."""
    at: Integers
    """As before, shape (nodes,)."""


@njit_cached
def best_set(table: SetLoads, state: State, k: int, without: int, extra: Floats) -> int:
    """The set of a job outside that adds least to the cost, free nodes not counted; -1 if none.

    Args:
        table: what sets ask.
        state: of the servers.
        k: the job.
        without: a set that is left out.
        extra: what each burden of the job adds, and in the end what the set adds; written.
    """
    first, service = table.first_burden[k], table.service[k]
    for v in range(first, table.first_burden[k + 1]):
        j = table.burdened[v]
        now, new = state.filled[j], table.load[v]
        stored = now[0]
        if state.held[service, j] == 0:
            stored += table.size[service, j]
        of_loads = load_cost(now[1] + new[0], now[2] + new[1], now[3] + new[2], now[4] + new[3])
        of_storage = state.weight[j, 0] * storage_cost(stored)
        extra[v - first] = of_storage + state.weight[j, 1] * of_loads - state.cost[j]
    best, least = -1, np.inf
    for n in range(table.sets.first[k], table.sets.first[k + 1]):
        added = 0.0
        for q in range(table.sets.start[n], table.sets.start[n + 1]):
            added += extra[table.burden[q] - first]
        if added < least and n != without:
            best, least = n, added
    extra[-1] = least
    return best


@njit_cached
def proposal(table: SetLoads, state: State, draws: Floats) -> tuple[int, int]:
    """A job inside and the set that comes for it: of it, perhaps the same, or of one outside."""
    jobs = len(state.chosen)
    k = int(draws[0] * jobs)
    full = overfull(state, draws[2]) if draws[1] < FOCUSED else -1
    while not stands(table, state.chosen[k], full):
        k = (k + 1) % jobs
    coming = k
    if draws[3] < EXCHANGED:
        start = int(draws[4] * jobs)
        for t in range(jobs):
            other = (start + t) % jobs
            if state.chosen[other] < 0 and table.sets.first[other + 1] > table.sets.first[other]:
                coming = other
                break
    few = table.sets.first[coming + 1] - table.sets.first[coming]
    return k, table.sets.first[coming] + int(draws[5] * few)


@njit_cached
def sent_on(
    table: SetLoads, state: State, links: Links, link: int, draws: Floats, extra: Floats
) -> tuple[int, int]:
    """A job that leaves an overfull server, none that has come in this step, and its next set.

    Args:
        table: what sets ask.
        state: of the servers.
        links: the jobs that have come in this step.
        link: how many there are.
        draws: at which server and job to begin, and whether the worst server is looked for.
        extra: room for costs.

    Returns:
        (-1, -1) where no job can leave.
    """
    jobs, full = len(state.chosen), overfull(state, draws[0])
    if draws[1] < WORST:
        full = int(np.argmax(state.cost))
    who, best, least = -1, -1, np.inf
    at, tried = int(draws[2] * jobs), 0
    before, costs = state.filled.copy(), state.cost.copy()
    for t in range(jobs):
        k = (at + t) % jobs
        n = state.chosen[k]
        if tried == TRIED or not stands(table, n, full) or (links.came[:link] == k).any():
            continue
        leave(table, state, k)
        m = best_set(table, state, k, n, extra)
        now = total(state.cost) + extra[-1]
        if m >= 0 and now < least:
            who, best, least = k, m, now
        state.chosen[k] = n
        service = table.service[k]
        for q in range(table.sets.start[n], table.sets.start[n + 1]):
            j = table.sets.server[q]
            state.held[service, j] += 1
            state.cost[j] = costs[j]
            for r in range(before.shape[1]):
                state.filled[j, r] = before[j, r]
        tried += 1
    return who, best


@njit_cached
def copy(source: State | Links, target: State | Links) -> None:
    """Copy what steps change of servers and nodes; slices would take the compiler seconds."""
    for j in range(len(source.cost)):
        target.cost[j] = source.cost[j]
        for r in range(source.filled.shape[1]):
            target.filled[j, r] = source.filled[j, r]
    for i in range(len(source.at)):
        target.at[i] = source.at[i]


@njit_cached
def undo(table: SetLoads, state: State, links: Links, link: int) -> None:
    """Put back what so many links have changed."""
    for x in range(link - 1, -1, -1):
        n = state.chosen[links.came[x]]
        shift(table, state, n, -1)
        state.chosen[links.came[x]] = -1
        shift(table, state, links.old[x], 1)
        state.chosen[links.left[x]] = links.old[x]
    copy(links, state)


@njit_cached
def follow(
    table: SetLoads, state: State, links: Links, draws: Floats, most: float, extra: Floats
) -> int:
    """One step: a proposal, and jobs sent on until the cost is low enough or the chain hopeless.

    Args:
        table: what sets ask.
        state: changed in place.
        links: written; what is before the step stands there.
        draws: uniform in [0, 1), shape (DRAWS,).
        most: cost that is low enough.
        extra: room for costs.

    Returns:
        The links of the chain.
    """
    k, n = proposal(table, state, draws)
    turn = draws[7]
    for link in range(DEPTH + 1):
        links.left[link], links.old[link] = k, state.chosen[k]
        links.came[link] = table.sets.job[n]
        leave(table, state, k)
        enter(table, state, n, turn)
        now = total(state.cost)
        if now <= most or now > most + HOPELESS or link == DEPTH:
            break
        some = draws[FIRST_DRAWS + 4 * link : FIRST_DRAWS + 4 * (link + 1)]
        k, n = sent_on(table, state, links, link + 1, some, extra)
        if k < 0:
            break
        turn = some[3]
    return link + 1


@njit_cached
def anneal(
    table: SetLoads, state: State, draws: Floats, temperature: float, full: Integers
) -> bool:
    """Steps until no server is overfull, each kept if Metropolis would.

    Args:
        table: what sets ask.
        state: changed in place.
        draws: uniform in [0, 1), shape (steps, DRAWS).
        temperature: cost that one step in e accepts.
        full: how often storage and loads of a server are found overfull; shape (servers, 2),
            counted up.

    Returns:
        Whether no server is overfull now.
    """
    recount(table, state)
    widest = 0
    for k in range(len(state.chosen)):
        widest = max(widest, table.first_burden[k + 1] - table.first_burden[k])
    extra = np.empty(widest + 1)
    none = np.zeros(DEPTH + 1, dtype=np.int64)
    filled, cost, at = state.filled.copy(), state.cost.copy(), state.at.copy()
    links = Links(none, none.copy(), none.copy(), filled, cost, at)
    now = total(state.cost)
    for row in range(len(draws)):
        if now == 0.0:
            return True
        if row % LOOK == 0:
            for j in range(len(state.cost)):
                shares = state.filled[j]
                full[j, 0] += storage_cost(shares[0]) > 0.0
                full[j, 1] += load_cost(shares[1], shares[2], shares[3], shares[4]) > 0.0
        most = now - temperature * math.log(1.0 - draws[row, 6])
        link = follow(table, state, links, draws[row], most, extra)
        after = total(state.cost)
        if after <= most:
            now = after
            copy(state, links)
        else:
            undo(table, state, links, link)
    return now == 0.0
