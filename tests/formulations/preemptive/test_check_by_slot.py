"""The checker against a naive twin, slot by slot, on random schedules."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.preemptive.check import check
from formulations.preemptive.generator import tiny
from formulations.preemptive.instance import CLOUD, Instance
from formulations.preemptive.schedule import Schedule
from optsched.problem.violation import Violation


def naive(instance: Instance, s: Schedule, *, ps_delay: bool, chunks: bool) -> dict:
    """Every violated constraint of an integral schedule, slot by slot, as printed."""
    found: dict[tuple, float] = {}
    y, z = Counter(), Counter()  # (job, worker, slot), (job, parameter server, slot)
    of_chunk = Counter()  # (job, chunk, worker, slot)
    for j, d, w, start, end in zip(
        s.run_job, s.run_chunk, s.run_worker, s.run_start, s.run_end, strict=True
    ):
        for t in range(int(start), int(end)):
            y[int(j), int(w), t] += 1
            of_chunk[int(j), int(d), int(w), t] += 1
    for j, p, start, end in zip(
        s.service_job, s.service_ps, s.service_start, s.service_end, strict=True
    ):
        for t in range(int(start), int(end)):
            z[int(j), int(p), t] += 1

    def v(j: int, w: int) -> bool:
        if w == CLOUD:
            return bool(np.isfinite(instance.upload_delay_cloud[j]))
        return bool(instance.worker_eligible[j, w])

    def o(j: int, p: int) -> bool:
        return p == CLOUD or bool(instance.ps_eligible[j, p])

    def ready(j: int, server: int | None) -> float:
        delay = (
            instance.upload_delay_cloud[j]
            if server is None
            else instance.upload_delay_edge[j, server]
        )
        return float(instance.release_time[j] + delay)

    for (j, w, t), n in y.items():
        if not v(j, w):
            found["2a", j, w] = found.get(("2a", j, w), 0) + n
        start = ready(j, None if w == CLOUD else int(instance.worker_server[w]))
        if np.isfinite(start) and t < start:
            found["2i", "worker", j, w] = found.get(("2i", "worker", j, w), 0) + n
    for (j, p, t), n in z.items():
        start = ready(j, None if p == CLOUD else int(instance.ps_server[p]))
        if t < (start if ps_delay else instance.release_time[j]):
            key = ("2i", "parameter_server", j, p)
            found[key] = found.get(key, 0) + n
    slots = range(40)
    for j in range(instance.jobs):
        p_j = (instance.chunk_time_fast if s.together[j] else instance.chunk_time_slow)[j]
        work = sum(n for (i, w, _), n in y.items() if i == j and v(j, w))
        size = int(instance.num_chunks[j])
        if work < size * p_j:
            found["2b", j] = size * p_j - work
        for t in slots:
            at_once = sum(n for (i, w, u), n in y.items() if (i, u) == (j, t) and v(j, w))
            served = sum(n for (i, p, u), n in z.items() if (i, u) == (j, t) and o(j, p))
            if at_once > size:
                found["2c", j, t] = at_once - size
            if at_once and served != 1:
                found["2e", j, served, t] = abs(served - 1)
        places = {w for i, w, _ in y if i == j} | {p for i, p, _ in z if i == j}
        if places == {CLOUD} and not s.together[j]:
            found["2g", j] = 1
        if places - {CLOUD} and s.together[j]:
            found["2h", j] = 1
        if not any(i == j for i, _, _ in y):
            found["2j", j] = 1
        for d in range(size) if chunks else ():
            mine = {k: n for k, n in of_chunk.items() if k[:2] == (j, d)}
            trained = sum(n for (_, _, w, _), n in mine.items() if v(j, w))
            if trained < p_j:
                found["4a", j, d] = p_j - trained
            for t in slots:
                on = sum(n for (_, _, _, u), n in mine.items() if u == t)
                if on > 1:
                    found["4e", j, d, t] = on - 1
            workers = {w for _, _, w, _ in mine}
            if len(workers) > 1:
                found["no-migration", j, d] = len(workers) - 1
    for t in slots:
        for w in range(instance.workers):
            n = sum(n for (j, x, u), n in y.items() if (x, u) == (w, t) and v(j, w))
            if n > 1:
                found["2d", w, t] = n - 1
        for p in range(instance.parameter_servers):
            n = sum(n for (j, q, u), n in z.items() if (q, u) == (p, t) and o(j, p))
            if n > 1:
                found["2f", p, t] = n - 1
    return found


def by_slot(violations: list[Violation]) -> dict:
    """The checker's answer in the naive checker's terms."""
    found: dict[tuple, float] = {}
    for violation in violations:
        index = dict(violation.index)
        start, end = index.pop("time", None), index.pop("end", None)
        names = tuple(index.values())
        if violation.constraint == "2i":
            names = (list(index)[1], *names)
        times = [()] if end is None else [(t,) for t in range(int(start), int(end))]
        for t in times:
            key = (violation.constraint, *names, *t)
            assert key not in found, "a violation is listed once"
            found[key] = violation.amount
    return found


def random_schedule(instance: Instance, rng: np.random.Generator) -> Schedule:
    def rows(n: int, places: int) -> list[tuple[float, ...]]:
        made = []
        for _ in range(n):
            j = int(rng.integers(instance.jobs))
            start = int(rng.integers(0, 14))
            chunk = int(rng.integers(instance.num_chunks[j]))
            place = int(rng.integers(CLOUD, places))
            made.append((j, chunk, place, start, start + int(rng.integers(1, 6))))
        return made

    services = rows(int(rng.integers(0, 8)), instance.parameter_servers)
    return Schedule.build(
        runs=rows(int(rng.integers(0, 14)), instance.workers),
        services=[(j, *rest) for j, _, *rest in services],
        together=rng.random(instance.jobs) < 0.5,
    )


def compared(seed: int, *, types: int = 1, cloud: bool = True, ps_delay: bool = False) -> set[str]:
    """The constraints that a random schedule breaks, after both checkers agreed on all of it."""
    rng = np.random.default_rng(seed)
    instance = tiny(rng, types=types, cloud=cloud)
    candidate = random_schedule(instance, rng)
    chunks = len(candidate.run_job) > 0
    ours = by_slot(check(instance, candidate, ps_delay_applies=ps_delay, slotted=True))
    assert ours == naive(instance, candidate, ps_delay=ps_delay, chunks=chunks)
    return {key[0] for key in ours}


@settings(deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    types=st.integers(1, 3),
    cloud=st.booleans(),
    ps_delay=st.booleans(),
)
def test_the_checker_agrees_with_a_naive_one_slot_by_slot(seed, types, cloud, ps_delay) -> None:
    compared(seed, types=types, cloud=cloud, ps_delay=ps_delay)


def test_random_schedules_break_every_constraint() -> None:
    broken = set().union(*(compared(seed, types=2) for seed in range(60)))
    assert broken == {
        *("2a", "2b", "2c", "2d", "2e", "2f", "2g", "2h", "2i", "2j"),
        *("4a", "4e", "no-migration"),
    }


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), scale=st.floats(0.01, 100))
def test_another_unit_of_time_changes_no_verdict(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    instance = tiny(rng)
    candidate = random_schedule(instance, rng)
    times = (
        "release_time",
        "chunk_time_slow",
        "chunk_time_fast",
        "upload_delay_edge",
        "upload_delay_cloud",
    )
    slower = replace(instance, **{name: getattr(instance, name) * scale for name in times})
    moments = ("run_start", "run_end", "service_start", "service_end")
    stretched = replace(candidate, **{name: getattr(candidate, name) * scale for name in moments})

    def verdict(violations: list[Violation]) -> list[tuple[object, ...]]:
        return [
            (v.constraint, *(x for name, x in v.index.items() if name not in ("time", "end")))
            for v in violations
        ]

    assert verdict(check(slower, stretched)) == verdict(check(instance, candidate))
