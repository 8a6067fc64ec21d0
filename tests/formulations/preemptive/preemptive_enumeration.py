"""Optima of tiny instances by enumeration, written from the paper's constraints alone.

Nothing here knows classes, hubs, windows or models: single workers, single parameter servers,
single chunks, slot by slot up to a time by which everything is done.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations, permutations, product
from math import ceil, inf
from typing import Literal

from formulations.preemptive.instance import Instance

Counts = tuple[int, ...]


def slots(duration: float) -> int:
    """Whole slots that cover a duration."""
    return ceil(duration - 1e-9)


def problem_2(instance: Instance, *, ps_delay_applies: bool = False) -> float:
    """Least sum of c_j - r_j under (2a) to (2k); infinite if nothing is feasible.

    A job with zeta = 1 runs in the cloud as early as it can and is in nobody's way. Jobs with
    zeta = 0 that never touch the edge break (2g), but do better with zeta = 1.
    """
    end = _horizon(instance)
    fast = [_fast_end(instance, j, end) for j in range(instance.jobs)]
    best = inf
    for together in product([False, True], repeat=instance.jobs):
        others = [j for j, whole in enumerate(together) if not whole]
        total = sum(fast[j] for j, whole in enumerate(together) if whole)
        if total < best:
            total += _slow_jobs(instance, others, end, ps_delay_applies)
            best = min(best, total)
    return best - float(instance.release_time.sum())


def _horizon(instance: Instance) -> int:
    """First slot that cannot be used, or is never needed."""
    if instance.horizon is not None:
        return instance.horizon + 1
    delays = [d for d in instance.upload_delay_cloud if d < inf]
    delays += instance.upload_delay_edge.reshape(-1).tolist()
    work = sum(
        instance.num_chunks[j] * slots(instance.chunk_time_slow[j]) for j in range(instance.jobs)
    )
    return slots(instance.release_time.max() + max(delays, default=0)) + int(work)


def _fast_end(instance: Instance, j: int, end: int) -> float:
    start = instance.release_time[j] + instance.upload_delay_cloud[j]
    if start == inf:
        return inf
    work = slots(instance.num_chunks[j] * instance.chunk_time_fast[j])
    finish = slots(start) + ceil(work / instance.num_chunks[j])
    return finish if finish <= end else inf


def _slow_jobs(instance: Instance, jobs: Sequence[int], end: int, ps_delay: bool) -> float:
    """Least sum of c_j of these jobs at the slow speed."""
    work = tuple(slots(instance.num_chunks[j] * instance.chunk_time_slow[j]) for j in jobs)

    @cache
    def choices(t: int, unfinished: tuple[bool, ...]) -> list[Counts]:
        active = [j for j, u in zip(jobs, unfinished, strict=True) if u]
        found = {
            tuple(units.get(j, 0) for j in jobs)
            for units in _slot_units(instance, active, t)
            if _served(instance, [j for j in active if units[j]], t, ps_delay)
        }
        return _maximal(found)

    @cache
    def least(t: int, left: Counts) -> float:
        if not any(left):
            return 0.0
        if t >= end:
            return inf
        best = inf
        for units in choices(t, tuple(n > 0 for n in left)):
            after = tuple(max(0, n - u) for n, u in zip(left, units, strict=True))
            ended = sum(n > 0 and m == 0 for n, m in zip(left, after, strict=True))
            best = min(best, ended * (t + 1) + least(t + 1, after))
        return best

    return least(0, work)


def _slot_units(instance: Instance, active: Sequence[int], t: int) -> Iterator[dict[int, int]]:
    """Every way to use the workers in slot t, as units of work per job; (2a), (2c), (2d), (2i)."""
    for edge in _edge_units(instance, active, t):
        units = dict(edge)
        if any(units[j] > instance.num_chunks[j] for j in active):
            continue
        spare = [
            j for j in active if t >= instance.release_time[j] + instance.upload_delay_cloud[j]
        ]
        for extra in product([False, True], repeat=len(spare)):
            more = {
                j: int(instance.num_chunks[j]) for j, on in zip(spare, extra, strict=True) if on
            }
            yield units | more


def _edge_units(instance: Instance, active: Sequence[int], t: int) -> Iterator[dict[int, int]]:
    """Every way to give each edge worker one job or none."""
    options = [
        [None, *(j for j in active if _may_run(instance, j, w, t))] for w in range(instance.workers)
    ]
    for chosen in product(*options):
        yield {j: chosen.count(j) for j in active}


def _may_run(instance: Instance, j: int, w: int, t: int) -> bool:
    delay = instance.upload_delay_edge[j, instance.worker_server[w]]
    return bool(instance.worker_eligible[j, w] and t >= instance.release_time[j] + delay)


def _served(instance: Instance, running: Sequence[int], t: int, delayed: bool) -> bool:
    """Whether each running job can have its own parameter server; (2e), (2f), (2i)."""

    def place(jobs: Sequence[int], free: frozenset[int]) -> bool:
        if not jobs:
            return True
        j, rest = jobs[0], jobs[1:]
        release = instance.release_time[j]
        if t >= release + (instance.upload_delay_cloud[j] if delayed else 0) and place(rest, free):
            return True
        for p in free:
            delay = instance.upload_delay_edge[j, instance.ps_server[p]] if delayed else 0
            if instance.ps_eligible[j, p] and t >= release + delay and place(rest, free - {p}):
                return True
        return False

    return place(running, frozenset(range(instance.parameter_servers)))


def _maximal(found: Iterable[Counts]) -> list[Counts]:
    """Choices that no other beats everywhere: more work done never hurts."""
    listed = sorted(found, reverse=True)
    kept: list[Counts] = []
    for one in listed:
        if not any(all(a <= b for a, b in zip(one, other, strict=True)) for other in kept):
            kept.append(one)
    return kept


def no_migration(instance: Instance) -> float:
    """Least sum of c_j - r_j if each chunk is trained on one worker.

    Tries every number of chunks per job and place, and every order of the jobs: the workers that
    run, at each instant, the job that comes first in the order of an optimum's completion times
    complete every job by then.
    """
    end = _horizon(instance)
    fast = [_fast_end(instance, j, end) for j in range(instance.jobs)]
    slow = [instance.release_time[j] + instance.upload_delay_cloud[j] for j in range(instance.jobs)]
    slow = [
        inf if begin == inf else slots(begin) + slots(p)
        for begin, p in zip(slow, instance.chunk_time_slow, strict=True)
    ]
    options = [list(_dispatches(instance, j)) for j in range(instance.jobs)]
    best = inf
    for order in permutations(range(instance.jobs)):

        @cache
        def ends(w: int, counts: Counts, order: Counts = order) -> tuple[float, ...]:
            return _by_priority(instance, w, counts, order)

        for chosen in product(*options):
            finish = [
                (fast[j] if sum(where) == 0 else slow[j])
                if sum(where) < instance.num_chunks[j]
                else 0
                for j, where in enumerate(chosen)
            ]
            if sum(finish) >= best:
                continue
            for w in range(instance.workers):
                each = ends(w, tuple(where[w] for where in chosen))
                finish = [max(a, b) for a, b in zip(finish, each, strict=True)]
            if max(finish) <= end:
                best = min(best, sum(finish))
    return best - float(instance.release_time.sum())


def _dispatches(instance: Instance, j: int) -> Iterator[Counts]:
    """Numbers of chunks per edge worker; the others are in the cloud."""
    chunks = int(instance.num_chunks[j])
    limits = [chunks if v else 0 for v in instance.worker_eligible[j]]
    for where in product(*(range(n + 1) for n in limits)):
        if sum(where) == chunks or (sum(where) < chunks and instance.upload_delay_cloud[j] < inf):
            yield where


def _by_priority(instance: Instance, w: int, counts: Counts, order: Counts) -> tuple[float, ...]:
    """When worker w is done with each job's chunks if it always runs the first in order."""
    left = [n * slots(p) for n, p in zip(counts, instance.chunk_time_slow, strict=True)]
    finish = [0.0] * instance.jobs
    t = 0
    while any(left):
        ready = [j for j in order if left[j] and _may_run(instance, j, w, t)]
        t += 1
        if ready:
            left[ready[0]] -= 1
            finish[ready[0]] = t
    return tuple(finish)


def problem_4(
    instance: Instance,
    rates: Literal["exact", "fast", "slow"],
    *,
    ps_delay_applies: bool = False,
) -> float:
    """Least average fractional flow time (3) under (4), whole chunk times."""
    jobs = range(instance.jobs)
    if rates != "exact":
        duration = instance.chunk_time_fast if rates == "fast" else instance.chunk_time_slow
        return _flow_time(instance, list(jobs), duration.astype(int).tolist(), ps_delay_applies)
    best = inf
    for together in product([False, True], repeat=instance.jobs):
        total = 0.0
        for j in (j for j in jobs if together[j]):
            delay, fast = instance.upload_delay_cloud[j], int(instance.chunk_time_fast[j])
            if _fast_end(instance, j, _horizon(instance)) == inf:
                total = inf
            else:
                total += sum(delay + i for i in range(fast)) / fast
        if total < best:
            rest = [j for j in jobs if not together[j]]
            slow = instance.chunk_time_slow.astype(int).tolist()
            total += _flow_time(instance, rest, slow, ps_delay_applies)
            best = min(best, total)
    return best


def _flow_time(
    instance: Instance, jobs: Sequence[int], duration: Sequence[int], ps_delay: bool
) -> float:
    """Least cost of these jobs, chunk by chunk: the state is what is left of every chunk."""
    end = _horizon(instance)

    @cache
    def choices(t: int, open_chunks: Counts) -> list[Counts]:
        active = [j for j, n in zip(jobs, open_chunks, strict=True) if n]
        found = {
            tuple(min(units.get(j, 0), n) for j, n in zip(jobs, open_chunks, strict=True))
            for units in _slot_units(instance, active, t)
            if _served(instance, [j for j in active if units[j]], t, ps_delay)
        }
        return _maximal(found)

    @cache
    def least(t: int, left: tuple[Counts, ...]) -> float:
        if not any(map(sum, left)):
            return 0.0
        if t >= end:
            return inf
        best = inf
        for counts in choices(t, tuple(sum(n > 0 for n in chunks) for chunks in left)):
            cost = sum(
                n * (t - instance.release_time[j]) / (duration[j] * instance.num_chunks[j])
                for j, n in zip(jobs, counts, strict=True)
            )
            each = [_advanced(chunks, n) for chunks, n in zip(left, counts, strict=True)]
            for after in product(*each):
                best = min(best, cost + least(t + 1, after))
        return best

    return least(0, tuple((duration[j],) * int(instance.num_chunks[j]) for j in jobs))


def _advanced(chunks: Counts, count: int) -> set[Counts]:
    """What may be left of a job's chunks after one slot on ``count`` of them."""
    unfinished = [i for i, n in enumerate(chunks) if n]
    return {
        tuple(sorted(n - (i in chosen) for i, n in enumerate(chunks)))
        for chosen in combinations(unfinished, count)
    }
