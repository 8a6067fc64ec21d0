"""Algorithms 2 and 3, SPLIT and the one-shot function, read line by line."""

import math

import numpy as np


def preference(instance, i, room, left):
    """Sites by (6) with weights 1, ties by index."""
    q, sites = instance.unit_bandwidth_cost, instance.sites
    score = []
    for r in range(sites):
        kinds = [k for k in range(instance.resources) if instance.capacity[r, k] > 0]
        free = sum(room[r, k] / instance.capacity[r, k] for k in kinds) / len(kinds) if kinds else 0
        talk = sum(q[r]) / (sites - 1) if sites > 1 else 0
        data = left[r] / instance.num_chunks[i, r] if instance.num_chunks[i, r] else 0
        score.append(free - talk + data)
    return sorted(range(sites), key=lambda r: (-score[r], r))


def pa(instance, i, room, left, number):
    """(cost per slot, y, site of the server) or None."""
    q, best = instance.unit_bandwidth_cost, None
    worker, server = instance.worker_demand[i], instance.ps_demand[i]
    for at in range(instance.sites):
        if any(room[at, k] < server[k] for k in range(instance.resources)):
            continue
        y = [0] * instance.sites
        placed = 0
        for r in preference(instance, i, room, left):
            fit = min(
                (room[r, k] - server[k] * (r == at)) // worker[k]
                for k in range(instance.resources)
                if worker[k] > 0
            )
            y[r] = min(max(0, fit), number - placed)
            placed += y[r]
        if placed < number:
            continue
        cost = instance.exchange_size_mb[i] * sum(y[r] * q[r, at] for r in range(instance.sites))
        if best is None or cost < best[0] - 1e-9:
            best = (cost, y, at)
    return best


def dta(instance, i, left, target):
    """(cost, g)."""
    q, sites = instance.unit_bandwidth_cost, instance.sites
    g = np.zeros((sites, sites), dtype=int)
    spare = [max(0, left[r] - target[r]) for r in range(sites)]
    for r in range(sites):
        g[r, r] = min(left[r], target[r])
        need = target[r] - left[r]
        for source in sorted(range(sites), key=lambda s, r=r: (q[s, r], s)):
            if need > 0:
                sent = min(spare[source], need)
                g[source, r] += sent
                spare[source] -= sent
                need -= sent
    return instance.chunk_size_mb[i] * (q * g).sum(), g


def split(left, room, order, amount):
    """d."""
    target = [min(a, b) for a, b in zip(left, room, strict=True)]
    rest = amount - sum(target)
    for r in order:
        more = min(rest, room[r] - target[r])
        target[r] += more
        rest -= more
    return target


def osf(instance, i, room, left, number, length=None):
    """(bandwidth, slots, y, site of the server), or None."""
    placed = pa(instance, i, room, left, number)
    if placed is None:
        return None
    cost, y, server = placed
    able = [int(instance.chunks_done(i, n)) for n in y]
    if sum(able) == 0:
        return None
    chunks = int(sum(left))
    if length is None:
        need = int(instance.work_per_chunk[i]) * chunks
        length = -(-need // (int(instance.rate_numerator[i]) * number))
    slots = max(length, math.ceil(chunks / sum(able)))
    order = preference(instance, i, room, left)
    target = split(left, [slots * n for n in able], order, chunks)
    return slots * cost + dta(instance, i, left, target)[0], slots, y, server
