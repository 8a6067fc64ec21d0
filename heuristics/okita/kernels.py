"""Inner loops of Algorithms 2 and 3 and of the one-shot function, over all numbers of workers.

Everything a job needs to know of the system enters as arrays over sites; ``numerator * y //
divisor`` chunks are what y workers of one site finish in a slot.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.okita.problem_7 import cheapest_transport
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
    exact: bool,
    flow: Integers,
    local: bool = True,
) -> float:
    """Algorithm 3 (DTA), or (7') where ``exact``: writes chunks from row to column.

    Args:
        left: M^r, chunks at each site.
        target: d^r, chunks to be trained at each site.
        price: of a chunk from row to column, money.
        sources: row r lists the sites by what it costs to bring a chunk to r.
        exact: solve (7') instead.
        flow: written, shape (sites, sites).
        local: write chunks that stay where they are, too; as printed, Algorithm 3 does not.

    Returns:
        Cost, money.
    """
    if exact:
        return cheapest_transport(left, target, price, flow, int(target.sum()))
    flow[:, :] = 0
    total = 0.0
    spare = np.maximum(left - target, 0)
    for r in range(len(left)):
        if local:
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


@njit_cached
def fitting(room: Integers, worker: Integers, server: Integers) -> tuple[Integers, Integers]:
    """Workers that fit at each site, alone and beside the server (-1: no room for it).

    Args:
        room: free resources, shape (sites, resources).
        worker: what one asks for, not all 0.
        server: what the server asks for.
    """
    sites = len(room)
    alone = np.zeros(sites, dtype=np.int64)
    beside = np.full(sites, -1)
    for r in range(sites):
        most, rest, hosts = np.iinfo(np.int64).max, np.iinfo(np.int64).max, True
        for k in range(len(worker)):
            hosts = hosts and room[r, k] >= server[k]
            if worker[k] > 0:
                most = min(most, room[r, k] // worker[k])
                rest = min(rest, (room[r, k] - server[k]) // worker[k])
        alone[r] = max(most, 0)
        if hosts:
            beside[r] = max(rest, 0)
    return alone, beside


@njit_cached
def one_shot(
    left: Integers,
    orders: Integers,
    order: Integers,
    fit: Integers,
    fit_beside: Integers,
    talk: Floats,
    move: Floats,
    sources: Integers,
    numerator: int,
    divisor: int,
    first: int,
    last: int,
    length: int,
    exact_transport: bool,
    last_wins: bool = False,
) -> tuple[Floats, Integers, Integers, Floats]:
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
        move: delta q, money per chunk.
        sources: see ``transport``.
        numerator: of chunks per worker.
        divisor: of chunks per worker.
        first: least number of workers.
        last: largest number of workers.
        length: slots of the window; 0: as many as the number of workers nominally needs.
        exact_transport: see ``transport``.
        last_wins: of equal sites of the server the last is kept, as printed.

    Returns:
        For each number: bandwidth of the window (money; infinite where nothing fits), its slots,
        the server's site, and exchange cost per slot.
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
    flow = np.zeros((sites, sites), dtype=np.int64)
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
        room = numerator * filled(orders[where], fit, fit_beside[where], where, number) // divisor
        able = int(room.sum())
        if able == 0:
            continue
        nominal = length if length > 0 else -(-divisor * chunks // (numerator * number))
        window = max(nominal, -(-chunks // able))
        target = split(left, window * room, order, chunks)
        at = number - first
        exchange[at], slots[at], server[at] = best, window, where
        moved = transport(left, target, move, sources, exact_transport, flow)
        bandwidth[at] = window * best + moved
    return bandwidth, slots, server, exchange


@njit_cached
def filled(order: Integers, fit: Integers, beside: int, server: int, number: int) -> Integers:
    """y^r: so many workers, site after site in order."""
    workers = np.zeros(len(fit), dtype=np.int64)
    for r in order:
        workers[r] = min(number, beside if r == server else fit[r])
        number -= workers[r]
    return workers
