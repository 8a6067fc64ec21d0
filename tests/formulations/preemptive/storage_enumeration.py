"""Optima of tiny instances with storage by enumeration, chunk by chunk and slot by slot.

Written from (7) and (8) alone: every place of every chunk, then every way to run them.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, combinations_with_replacement, product
from math import floor, inf

from preemptive_enumeration import slots

from formulations.preemptive.instance import CLOUD, Instance

State = tuple[tuple[tuple[int, ...], ...], ...]
"""What is left of every chunk, by job and place, in order within a place."""


def problem_7(instance: Instance, release: str = "job") -> float:
    """Least sum of c_j - r_j; chunks take storage until their job, or they, are done."""
    return _least(instance, release, flow_time=False) - float(instance.release_time.sum())


def problem_8(instance: Instance, release: str = "job") -> float:
    """Least average fractional flow time; storage as in (7)."""
    return _least(instance, release, flow_time=True)


def _least(instance: Instance, release: str, *, flow_time: bool) -> float:
    end = _horizon(instance)
    best = inf
    for together in product([False, True], repeat=instance.jobs):
        total = 0.0
        for j in range(instance.jobs):
            if together[j]:
                total += _fast(instance, j, end, flow_time)
        others = [j for j in range(instance.jobs) if not together[j]]
        for places in product(*(_places(instance, j) for j in others)):
            if total < best:
                best = min(best, total + _slow(instance, others, places, end, release, flow_time))
    return best


def _horizon(instance: Instance) -> int:
    if instance.horizon is not None:
        return instance.horizon + 1
    delays = [d for d in instance.upload_delay_cloud if d < inf]
    delays += instance.upload_delay_edge.reshape(-1).tolist()
    work = sum(
        instance.num_chunks[j] * slots(instance.chunk_time_slow[j]) for j in range(instance.jobs)
    )
    return slots(instance.release_time.max() + max(delays, default=0)) + int(work)


def _fast(instance: Instance, j: int, end: int, flow_time: bool) -> float:
    arrival = instance.release_time[j] + instance.upload_delay_cloud[j]
    if arrival == inf:
        return inf
    time = slots(instance.chunk_time_fast[j])
    if slots(arrival) + time > end:
        return inf
    if not flow_time:
        return slots(arrival) + time
    return sum(slots(arrival) + i - instance.release_time[j] for i in range(time)) / time


def _places(instance: Instance, j: int) -> Iterator[tuple[int, ...]]:
    """Every multiset of servers, the cloud among them, for the chunks of a job."""
    eligible = {
        int(s)
        for s, v in zip(instance.worker_server, instance.worker_eligible[j], strict=True)
        if v
    }
    if instance.upload_delay_cloud[j] < inf:
        eligible.add(CLOUD)
    return combinations_with_replacement(sorted(eligible), int(instance.num_chunks[j]))


def _slow(
    instance: Instance,
    jobs: Sequence[int],
    places: Sequence[tuple[int, ...]],
    end: int,
    release: str,
    flow_time: bool,
) -> float:
    """Least cost of these jobs, each chunk where it is stored."""
    where = [sorted(set(p)) for p in places]
    start: State = tuple(
        tuple((slots(instance.chunk_time_slow[j]),) * p.count(s) for s in sites)
        for j, p, sites in zip(jobs, places, where, strict=True)
    )

    def fits(t: int, left: State) -> bool:
        """Whether everything released before t + 1 and not complete fits."""
        load = [0.0] * instance.edge_servers
        for j, sites, rest in zip(jobs, where, left, strict=True):
            if floor(instance.release_time[j]) <= t and any(map(any, rest)):
                for s, chunks in zip(sites, rest, strict=True):
                    if s != CLOUD:
                        held = len(chunks) if release == "job" else sum(n > 0 for n in chunks)
                        load[s] += instance.chunk_storage[j] * held
        limits = instance.storage_capacity
        return all(used <= limit + 1e-9 for used, limit in zip(load, limits, strict=True))

    @cache
    def least(t: int, left: State) -> float:
        if not any(any(map(any, rest)) for rest in left):
            return 0.0
        if t >= end or not fits(t, left):
            return inf
        best = inf
        for units in _units(instance, jobs, where, t, left):
            cost = 0.0
            if flow_time:
                cost = sum(
                    sum(n)
                    * (t - instance.release_time[j])
                    / (instance.num_chunks[j] * slots(instance.chunk_time_slow[j]))
                    for j, n in zip(jobs, units, strict=True)
                )
            options = [
                [_advance(chunks, n) for chunks, n in zip(rest, counts, strict=True)]
                for rest, counts in zip(left, units, strict=True)
            ]
            for flat in product(*(product(*sites) for sites in options)):
                after: State = tuple(flat)
                ended = 0
                if not flow_time:
                    ended = sum(
                        any(map(any, a)) and not any(map(any, b))
                        for a, b in zip(left, after, strict=True)
                    )
                best = min(best, cost + ended * (t + 1) + least(t + 1, after))
        return best

    return least(0, start)


def _units(
    instance: Instance,
    jobs: Sequence[int],
    where: Sequence[Sequence[int]],
    t: int,
    left: State,
) -> set[tuple[tuple[int, ...], ...]]:
    """Chunks of each job trained at each of its places in slot t, none of which can be raised."""
    sites = sorted({s for w in where for s in w})
    per_site: dict[int, list[dict[int, int]]] = {}
    for s in sites:
        room = {i: sum(n > 0 for n in left[i][w.index(s)]) for i, w in enumerate(where) if s in w}
        if s == CLOUD:
            per_site[s] = [
                {
                    i: n
                    if t >= instance.release_time[jobs[i]] + instance.upload_delay_cloud[jobs[i]]
                    else 0
                    for i, n in room.items()
                }
            ]
            continue
        ready = {
            i: n
            for i, n in room.items()
            if n and t >= instance.release_time[jobs[i]] + instance.upload_delay_edge[jobs[i], s]
        }
        choices = [
            [None, *(i for i in ready if instance.worker_eligible[jobs[i], w])]
            for w in range(instance.workers)
            if instance.worker_server[w] == s
        ]
        found = {
            tuple(min(chosen.count(i), ready.get(i, 0)) for i in room)
            for chosen in product(*choices)
        }
        best = [
            one
            for one in found
            if not any(
                other != one and all(a <= b for a, b in zip(one, other, strict=True))
                for other in found
            )
        ]
        per_site[s] = [dict(zip(room, one, strict=True)) for one in best]
    return {
        tuple(tuple(chosen[sites.index(s)][i] for s in w) for i, w in enumerate(where))
        for chosen in product(*(per_site[s] for s in sites))
    }


def _advance(chunks: tuple[int, ...], count: int) -> set[tuple[int, ...]]:
    unfinished = [i for i, n in enumerate(chunks) if n]
    return {
        tuple(sorted(n - (i in chosen) for i, n in enumerate(chunks)))
        for chosen in combinations(unfinished, count)
    }
