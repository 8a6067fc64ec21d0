"""Instances of the tests: the worked example, tiny random ones, and their optimum by listing."""

import itertools

import numpy as np
from scipy.optimize import linear_sum_assignment

from formulations.okita.horizon import slots_needed
from formulations.okita.instance import Instance
from formulations.okita.latency import Latencies
from formulations.okita.one_job.paths import free_terms, priced_terms


def worked_example():
    """Two sites, two jobs; the optimum is 12, Okita's cost 15."""
    return Instance.build(
        capacity=[2, 4],
        unit_bandwidth_cost=[[0, 1], [1, 0]],
        release_slot=1,
        num_chunks=[[4, 2], [4, 1]],
        latency=Latencies.build("linear", [2.0, 2.0], offset=[3.0, 1.0]),
        worker_rate=4,
        epochs=2,
        chunk_size_mb=[2, 1],
        exchange_size_mb=[2, 3],
        worker_demand=1,
        ps_demand=1,
    )


def tiny(seed, *, jobs=None, sites=None, most_chunks=3, whole_rates=False, slow=True):
    """A random instance in whole numbers, small enough for every model."""
    rng = np.random.default_rng(seed)
    jobs = jobs or int(rng.integers(1, 3))
    sites = sites or int(rng.integers(1, 4))
    resources = int(rng.integers(1, 3))
    chunks = rng.integers(0, most_chunks, (jobs, sites), endpoint=True)
    chunks[np.arange(jobs), rng.integers(0, sites, jobs)] += chunks.sum(axis=1) == 0
    worker = rng.integers(0, 2, (jobs, resources), endpoint=True)
    worker[:, 0] = np.maximum(worker[:, 0], 1)
    epochs = rng.integers(1, 2, jobs, endpoint=True)
    numerator = rng.integers(1, 4, jobs, endpoint=True)
    denominator = rng.integers(1, 2, jobs, endpoint=True)
    if whole_rates or not slow:
        numerator, denominator = epochs * numerator, np.ones(jobs, dtype=int)
    server = rng.integers(0, 1, (jobs, resources), endpoint=True)
    capacity = rng.integers(4, 8, (sites, resources))
    each = -(-epochs * denominator // numerator)  # workers for one chunk, which site 0 can host
    capacity[0] = np.maximum(capacity[0], (each[:, None] * worker + server).max(axis=0))
    kinds = rng.choice(["exponential", "linear", "piecewise"], jobs)
    weight = rng.integers(1, 6, jobs).astype(float)
    return Instance.build(
        capacity=capacity,
        unit_bandwidth_cost=rng.integers(0, 5, (sites, sites)) * (1 - np.eye(sites)),
        release_slot=rng.integers(1, 2, jobs, endpoint=True),
        num_chunks=chunks,
        latency=Latencies.build(
            kinds, weight, offset=weight, late=weight + 7.0, breakpoint=rng.integers(1, 3, jobs)
        ),
        worker_rate=(numerator, denominator),
        epochs=epochs,
        chunk_size_mb=rng.integers(1, 3, jobs),
        exchange_size_mb=rng.integers(0, 4, jobs),
        worker_demand=worker,
        ps_demand=server,
        horizon=3,
    )


def listed_optimum(instance, slots):
    """Optimum of (2) over the slots 1..slots by listing every deployment of every job."""
    tables = [_listed_job(instance, i, slots) for i in range(instance.jobs)]
    room = np.broadcast_to(instance.capacity, (slots, *instance.capacity.shape))
    return _combine(tables, room, np.inf)


def _combine(tables, room, best):
    if not tables:
        return 0.0
    floor = sum(table[0][0] for table in tables[1:])
    for cost, held in tables[0]:
        if cost + floor >= best:
            break
        if (held <= room).all():
            best = min(best, cost + _combine(tables[1:], room - held, best - cost))
    return best


def _listed_job(instance, i, slots):
    """(cost, resources held) of every deployment without resources that do nothing, cheapest first.

    Chunks are assigned one by one to places of workers (Hungarian method).
    """
    sites, q = instance.sites, instance.unit_bandwidth_cost
    useful = [range(int(y) + 1) for y in instance.useful_workers[i]]
    choices = [(None, None)]
    for y in itertools.product(*useful):
        y = np.array(y)
        for server in range(sites):
            held = y[:, None] * instance.worker_demand[i]
            held[server] += instance.ps_demand[i]
            if y.any() and (held <= instance.capacity).all():
                choices.append((y, server))
    need = int(instance.total_chunks[i])
    at = np.repeat(np.arange(sites), instance.num_chunks[i])
    move = {}
    found = []
    first = int(instance.release_slot[i])
    for plan in itertools.product(choices, repeat=slots - first + 1):
        able = np.zeros(sites, dtype=int)
        held = np.zeros((slots, *instance.capacity.shape), dtype=int)
        cost, last = 0.0, 0
        for offset, (y, server) in enumerate(plan):
            if y is None:
                continue
            last = first + offset
            able += y * int(instance.rate_numerator[i]) // int(instance.work_per_chunk[i])
            held[last - 1] = y[:, None] * instance.worker_demand[i]
            held[last - 1, server] += instance.ps_demand[i]
            cost += float(instance.exchange_size_mb[i] * (y @ q[:, server]))
        if able.sum() < need:
            continue
        key = tuple(np.minimum(able, need))
        if key not in move:
            places = np.repeat(np.arange(sites), key)
            table = q[np.ix_(at, places)]
            move[key] = float(table[linear_sum_assignment(table)].sum())
        cost += move[key] * float(instance.chunk_size_mb[i])
        cost += float(instance.latency.cost(i, last - first))
        found.append((cost, held))
    return sorted(found, key=lambda pair: pair[0])


def random_terms(instance, i, rng):
    """Terms of a job at random prices of workers and servers."""
    slots = int(slots_needed(instance)[i])
    shape = (slots, instance.sites)
    worker, server = rng.exponential(1.0, (2, *shape)) * (rng.random((2, *shape)) < 0.5)
    return priced_terms(free_terms(instance, i, slots), worker, server, 1.0)
