"""Inner loops of Algorithms 2 and 3 and of the one-shot function, over all numbers of workers.

Everything a job needs to know of the system enters as arrays over sites; ``numerator * y //
divisor`` chunks are what y workers of one site finish in a slot.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optsched.jit import njit_cached

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@njit_cached
def split(left: Integers, room: Integers, order: Integers, amount: int) -> Integers:
    """SPLIT: chunks each site trains, local ones first, the rest in order of preference."""
    target = np.minimum(left, room)
    rest = amount - target.sum()
    for r in order:
        more = min(rest, room[r] - target[r])
        target[r] += more
        rest -= more
    return target


@njit_cached
def transport(
    left: Integers,
    target: Integers,
    price: Floats,
    sources: Integers,
    flow: Integers,
) -> float:
    """Algorithm 3 (DTA): writes chunks from row to column, those that stay where they are too.

    Args:
        left: M^r, chunks at each site.
        target: d^r, chunks to be trained at each site.
        price: of a chunk from row to column, money.
        sources: row r lists the sites by what it costs to bring a chunk to r.
        flow: written, shape (sites, sites).

    Returns:
        Cost, money.
    """
    flow[:, :] = 0
    total = 0.0
    spare = np.maximum(left - target, 0)
    for r in range(len(left)):
        flow[r, r] = min(left[r], target[r])
        need = target[r] - left[r]
        if need <= 0:
            continue
        for source in sources[r]:
            sent = min(spare[source], need)
            if sent > 0:
                flow[source, r] += sent
                spare[source] -= sent
                need -= sent
                total += sent * price[source, r]
                if need == 0:
                    break
    return total


@njit_cached
def transport_costs(left: Integers, targets: Integers, price: Floats, sources: Integers) -> Floats:
    """Cost of ``transport`` for each row of targets, shape (rows, sites), money."""
    flow = np.empty(price.shape, dtype=np.int64)
    cost = np.empty(len(targets))
    for n in range(len(targets)):
        cost[n] = transport(left, targets[n], price, sources, flow)
    return cost


@njit_cached
def in_a_slot(flow: Integers, able: Integers) -> Integers:
    """What one slot trains of chunks that go from row to column: local ones first, then by row.

    Args:
        flow: chunks still to be trained, shape (sites, sites).
        able: chunks that each site can train in a slot.
    """
    trained = np.zeros(flow.shape, dtype=np.int64)
    for target in range(len(able)):
        trained[target, target] = min(able[target], flow[target, target])
        rest = able[target] - trained[target, target]
        for source in range(len(able)):
            if source != target and rest > 0:
                trained[source, target] = min(rest, flow[source, target])
                rest -= trained[source, target]
    return trained


def fitting(room: Integers, worker: Integers, server: Integers) -> tuple[Integers, Integers]:
    """Workers that fit at each site, alone and beside the server (-1: no room for it).

    Args:
        room: free resources, shape (sites, resources).
        worker: what one asks for, not all 0.
        server: what the server asks for.
    """
    asked = worker > 0
    alone = (room[:, asked] // worker[asked]).min(axis=1)
    beside = ((room - server)[:, asked] // worker[asked]).min(axis=1)
    hosts = (room >= server).all(axis=1)
    return np.maximum(alone, 0), np.where(hosts, np.maximum(beside, 0), -1)


@njit_cached
def one_shot(
    left: Integers,
    orders: Integers,
    order: Integers,
    fit: Integers,
    fit_beside: Integers,
    talk: Floats,
    numerator: int,
    divisor: int,
    first: int,
    last: int,
    length: int,
    last_wins: bool,
) -> tuple[Floats, Integers, Integers, Floats, Integers]:
    """PA and OSF for every number of workers from ``first`` to ``last``.

    For each site of the server, workers are added one by one in its order; their exchange cost is
    a running sum. The cheapest site (the first of equals) is kept for each number.

    Args:
        left: M^r, chunks at each site.
        orders: row s lists the sites in which workers are filled if the server is at s.
        order: sites by preference, for SPLIT.
        fit: workers that fit at each site without the server.
        fit_beside: workers that fit beside the server; -1 where the server does not fit.
        talk: pi q, from worker (row) to server (column), money per slot.
        numerator: of chunks per worker.
        divisor: of chunks per worker.
        first: least number of workers.
        last: largest number of workers.
        length: slots of the window; 0: as many as the number of workers nominally needs.
        last_wins: of equal sites of the server the last is kept, as printed.

    Returns:
        For each number: exchange cost of the window (money; infinite if nothing fits), its slots,
        the server's site, exchange cost per slot, and chunks to be trained at each site, shape
        (numbers, sites).
    """
    sites, count = len(left), last - first + 1
    chunks = int(left.sum())
    bandwidth = np.full(count, np.inf)
    slots = np.zeros(count, dtype=np.int64)
    server = np.full(count, -1)
    exchange = np.full(count, np.inf)
    spent = np.zeros(sites)
    pointer = np.zeros(sites, dtype=np.int64)
    taken = np.zeros(sites, dtype=np.int64)
    target = np.zeros((count, sites), dtype=np.int64)
    for number in range(1, last + 1):
        best, where = np.inf, -1
        for s in range(sites):
            if fit_beside[s] < 0 or pointer[s] == sites:
                continue
            while pointer[s] < sites:
                r = orders[s, pointer[s]]
                if taken[s] < (fit_beside[s] if r == s else fit[r]):
                    break
                pointer[s] += 1
                taken[s] = 0
            if pointer[s] == sites:
                continue
            taken[s] += 1
            spent[s] += talk[r, s]
            if spent[s] < best or (last_wins and spent[s] == best):
                best, where = spent[s], s
        if where < 0:
            break
        if number < first:
            continue
        room = numerator * filled(orders, fit, fit_beside, where, number) // divisor
        able = int(room.sum())
        if able == 0:
            continue
        nominal = length if length > 0 else -(-divisor * chunks // (numerator * number))
        window = max(nominal, -(-chunks // able))
        at = number - first
        exchange[at], slots[at], server[at] = best, window, where
        bandwidth[at] = window * best
        trained = split(left, window * room, order, chunks)
        for r in range(sites):
            target[at, r] = trained[r]
    return bandwidth, slots, server, exchange, target


@njit_cached
def filled(
    orders: Integers, fit: Integers, fit_beside: Integers, server: int, number: int
) -> Integers:
    """y^r: so many workers, site after site in the order of the server's site."""
    workers = np.zeros(len(fit), dtype=np.int64)
    for r in orders[server]:
        workers[r] = min(number, fit_beside[r] if r == server else fit[r])
        number -= workers[r]
    return workers
