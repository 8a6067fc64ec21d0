"""The checker: the worked example, one corruption per constraint, and a naive slot-by-slot twin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.preemptive.check import check, completion_times, cost
from formulations.preemptive.generator import tiny
from formulations.preemptive.instance import CLOUD, Instance
from formulations.preemptive.schedule import NO_CHUNK, Schedule
from formulations.preemptive.sweep import Intervals, Steps, count_open
from optsched.errors import InputError
from optsched.violation import Violation

A, B, C = 0, 1, 2
"""Jobs of the worked example."""

RUNS = (
    (A, 0, 0, 2, 3),
    (C, 0, 0, 3, 5),
    (A, 0, 0, 5, 8),
    (A, 1, 1, 2, 6),
    (A, 2, CLOUD, 5, 9),
    (B, 0, CLOUD, 5, 7),
    (B, 1, CLOUD, 5, 7),
    (B, 2, CLOUD, 5, 7),
)
"""(job, chunk, worker, start, end) of the algorithm's schedule."""
SERVICES = ((A, 0, 2, 9), (C, 1, 3, 5), (B, CLOUD, 5, 7))
"""(job, parameter server, start, end)."""
TOGETHER = (False, True, False)


@pytest.fixture(scope="module")
def example() -> Instance:
    """Two servers with a worker and a parameter server each; on the second one a worker and a
    parameter server of a type that no job asks for stand idle.
    """
    return Instance.build(
        release_time=[1, 1, 2],
        num_chunks=[3, 3, 1],
        chunk_time_slow=[4, 3, 2],
        chunk_time_fast=[2, 2, 1],
        upload_delay_edge=np.ones((3, 2)),
        upload_delay_cloud=4,
        worker_server=[0, 1, 1],
        worker_type=[0, 0, 1],
        ps_server=[0, 1, 1],
        ps_type=[0, 0, 1],
    )


def schedule(
    runs: tuple[tuple[float, ...], ...] = RUNS,
    services: tuple[tuple[float, ...], ...] = SERVICES,
    together: tuple[bool, ...] = TOGETHER,
    speed: float = 1.0,
) -> Schedule:
    return Schedule.build(runs=runs, services=services, together=together, speed=speed)


def swap(
    rows: tuple[tuple[float, ...], ...], old: tuple[float, ...], *new: tuple[float, ...]
) -> tuple[tuple[float, ...], ...]:
    """The rows with one of them replaced."""
    assert rows.count(old) == 1
    return tuple(r for row in rows for r in (new if row == old else (row,)))


def facts(violations: list[Violation]) -> list[tuple[str, Mapping[str, float], float]]:
    return [(v.constraint, dict(v.index), v.amount) for v in violations]


def test_the_worked_example_satisfies_every_constraint(example: Instance) -> None:
    assert check(example, schedule()) == []
    assert check(example, schedule(), slotted=True, ps_delay_applies=True, chunks=True) == []


def test_the_worked_example_costs_17_slots(example: Instance) -> None:
    assert completion_times(example, schedule()).tolist() == [9, 7, 5]
    assert cost(example, schedule()) == 17


SINGLE = {
    "work on a worker of another type": (
        {"runs": (*RUNS, (A, 0, 2, 8, 9))},
        {"chunks": False},
        ("2a", {"job": A, "worker": 2, "time": 8}, 1),
    ),
    "a chunk cut short": (
        {"runs": swap(RUNS, (A, 2, CLOUD, 5, 9), (A, 2, CLOUD, 5, 8))},
        {"chunks": False},
        ("2b", {"job": A}, 1),
    ),
    "more workers than chunks": (
        {"runs": (*RUNS, (A, 2, CLOUD, 5, 7))},
        {"chunks": False},
        ("2c", {"job": A, "time": 5, "end": 6}, 1),
    ),
    "two jobs on one worker": (
        {"runs": swap(RUNS, (C, 0, 0, 3, 5), (C, 0, 1, 3, 5))},
        {},
        ("2d", {"worker": 1, "time": 3, "end": 5}, 1),
    ),
    "no parameter server": (
        {"services": swap(SERVICES, (C, 1, 3, 5), (C, 1, 4, 5))},
        {},
        ("2e", {"job": C, "servers": 0, "time": 3, "end": 4}, 1),
    ),
    "a parameter server of another type": (
        {"services": swap(SERVICES, (C, 1, 3, 5), (C, 2, 3, 5))},
        {},
        ("2e", {"job": C, "servers": 0, "time": 3, "end": 5}, 1),
    ),
    "three parameter servers": (
        {"services": (*SERVICES, (A, CLOUD, 4, 6), (A, CLOUD, 4, 6))},
        {},
        ("2e", {"job": A, "servers": 3, "time": 4, "end": 6}, 2),
    ),
    "two jobs on one parameter server": (
        {"services": swap(SERVICES, (C, 1, 3, 5), (C, 0, 3, 5))},
        {},
        ("2f", {"parameter_server": 0, "time": 3, "end": 5}, 1),
    ),
    "a job all in the cloud that says it is not": (
        {
            "runs": tuple((*r[:4], 8) if r[0] == B else r for r in RUNS),
            "services": swap(SERVICES, (B, CLOUD, 5, 7), (B, CLOUD, 5, 8)),
            "together": (False, False, False),
        },
        {},
        ("2g", {"job": B}, 1),
    ),
    "a job at the edge that says it is in the cloud": (
        {"together": (False, True, True)},
        {},
        ("2h", {"job": C}, 1),
    ),
    "a cloud job with a parameter server at the edge": (
        {"services": swap(SERVICES, (B, CLOUD, 5, 7), (B, 1, 5, 7))},
        {},
        ("2h", {"job": B}, 1),
    ),
    "work before the upload is done": (
        {
            "runs": swap(RUNS, (A, 1, 1, 2, 6), (A, 1, 1, 1, 5)),
            "services": swap(SERVICES, (A, 0, 2, 9), (A, 0, 1, 9)),
        },
        {},
        ("2i", {"job": A, "worker": 1, "time": 1}, 1),
    ),
    "cloud work before the upload is done": (
        {
            "runs": swap(RUNS, (B, 0, CLOUD, 5, 7), (B, 0, CLOUD, 3.5, 5.5)),
            "services": swap(SERVICES, (B, CLOUD, 5, 7), (B, CLOUD, 3.5, 7)),
        },
        {},
        ("2i", {"job": B, "worker": CLOUD, "time": 3.5}, 1.5),
    ),
    "service before the release": (
        {"services": swap(SERVICES, (C, 1, 3, 5), (C, 1, 0, 5))},
        {},
        ("2i", {"job": C, "parameter_server": 1, "time": 0}, 2),
    ),
    "service before the upload is done, where that counts": (
        {"services": swap(SERVICES, (C, 1, 3, 5), (C, 1, 2, 5))},
        {"ps_delay_applies": True},
        ("2i", {"job": C, "parameter_server": 1, "time": 2}, 1),
    ),
    "a job that does not exist": (
        {"runs": (*RUNS, (7, 0, 0, 9, 10))},
        {},
        ("2k", {"run": 8, "job": 7}, 5),
    ),
    "a worker that does not exist": (
        {"runs": (*RUNS, (A, 0, -4, 9, 10))},
        {},
        ("2k", {"run": 8, "worker": -4}, 3),
    ),
    "a parameter server that does not exist": (
        {"services": (*SERVICES, (A, 3, 9, 10))},
        {},
        ("2k", {"service": 3, "parameter_server": 3}, 1),
    ),
    "a chunk that does not exist": (
        {"runs": (*RUNS, (C, 1, 0, 8, 9)), "services": (*SERVICES, (C, 1, 8, 9))},
        {},
        ("2k", {"run": 8, "chunk": 1}, 1),
    ),
    "a decision on a job too many": (
        {"together": (*TOGETHER, True)},
        {},
        ("2k", {"together": 4}, 1),
    ),
    "a start within a slot": (
        {"runs": swap(RUNS, (A, 0, 0, 5, 8), (A, 0, 0, 5, 6), (A, 0, 0, 6, 6.75), (A, 0, 0, 7, 9))},
        {"slotted": True},
        ("2k", {"run": 3, "end": 6.75}, 0.25),
    ),
    "a chunk that lends time to another": (
        {
            "runs": swap(
                swap(RUNS, (A, 2, CLOUD, 5, 9), (A, 2, CLOUD, 5, 8)),
                (A, 1, 1, 2, 6),
                (A, 1, 1, 2, 7),
            )
        },
        {},
        ("4a", {"job": A, "chunk": 2}, 1),
    ),
    "a chunk on two workers at once": (
        {"runs": (*RUNS, (A, 2, CLOUD, 7.5, 8.5))},
        {},
        ("4e", {"job": A, "chunk": 2, "time": 7.5, "end": 8.5}, 1),
    ),
    "a chunk that moves": (
        {"runs": swap(RUNS, (A, 0, 0, 5, 8), (A, 0, CLOUD, 5, 8))},
        {},
        ("no-migration", {"job": A, "chunk": 0}, 1),
    ),
}


@pytest.mark.parametrize(("changed", "options", "expected"), SINGLE.values(), ids=SINGLE.keys())
def test_one_corruption_breaks_exactly_one_constraint(example, changed, options, expected) -> None:
    assert facts(check(example, schedule(**changed), **options)) == [expected]


def test_a_job_that_never_runs_has_no_completion_time(example: Instance) -> None:
    without_c = schedule(swap(RUNS, (C, 0, 0, 3, 5)), swap(SERVICES, (C, 1, 3, 5)))
    assert facts(check(example, without_c)) == [
        ("2b", {"job": C}, 2),
        ("2j", {"job": C}, 1),
        ("4a", {"job": C, "chunk": 0}, 2),
    ]
    assert cost(example, without_c) == np.inf


def test_an_empty_schedule_lacks_all_work_and_crashes_nothing(example: Instance) -> None:
    empty = schedule((), (), (False,) * 3)
    found = Counter(v.constraint for v in check(example, empty, slotted=True))
    assert found == {"2b": 3, "2j": 3}


def test_a_schedule_of_nonsense_is_reported_and_crashes_nothing(example: Instance) -> None:
    wild = schedule(
        ((99, 0, 0, 2, 3), (-1, 5, 77, 0, 1), (A, 40, 55, 2, 2)), ((5, 9, 0, 1), (-3, -9, 2, 4)), ()
    )
    wild = replace(wild, run_start=np.array([2.0, -np.inf, 2.0]))
    found = Counter(v.constraint for v in check(example, wild, slotted=True, chunks=True))
    assert found == {"2b": 3, "2j": 3, "4a": 7, "2k": 11}


def test_a_job_barred_from_the_cloud_may_not_work_there(example: Instance) -> None:
    barred = replace(example, upload_delay_cloud=np.array([4, np.inf, 4]))
    assert facts(check(barred, schedule(), chunks=False)) == [
        ("2a", {"job": B, "worker": CLOUD, "time": 5}, 6),
        ("2b", {"job": B}, 6),
    ]


def test_an_eligibility_table_takes_the_place_of_types(example: Instance) -> None:
    table = np.ones((3, 3), dtype=bool)
    table[A, 1] = False
    strict = replace(example, explicit_worker_eligible=table)
    assert facts(check(strict, schedule(), chunks=False)) == [
        ("2a", {"job": A, "worker": 1, "time": 2}, 4),
        ("2b", {"job": A}, 4),
    ]
    table = np.ones((3, 3), dtype=bool)
    table[C, 1] = False
    strict = replace(example, explicit_ps_eligible=table)
    assert [v.constraint for v in check(strict, schedule())] == ["2e"]


def test_a_speed_stored_in_the_schedule_excuses_nothing(example: Instance) -> None:
    runs = tuple((*r[:3], r[3], (r[3] + r[4]) / 2) for r in RUNS)
    fast = schedule(runs, speed=2.0)
    assert check(example, fast, speed=2.0) == []
    assert {v.constraint for v in check(example, fast)} == {"2b", "4a"}


def test_a_speed_that_is_no_speed_is_refused(example: Instance) -> None:
    for speed in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(InputError, match="speed"):
            check(example, schedule(), speed=speed)


def test_chunks_are_judged_only_if_every_run_names_its_chunk(example: Instance) -> None:
    unnamed = schedule(tuple((job, NO_CHUNK, *rest) for job, _, *rest in RUNS))
    assert check(example, unnamed) == []
    found = Counter(v.constraint for v in check(example, unnamed, chunks=True))
    assert found == {"2k": 8, "4a": 7}


def test_the_last_slot_of_the_horizon_may_be_used(example: Instance) -> None:
    assert check(replace(example, horizon=8), schedule(), slotted=True) == []
    late = check(replace(example, horizon=7), schedule(), slotted=True)
    assert facts(late) == [("2k", {"run": 4, "end": 9}, 1), ("2k", {"service": 0, "end": 9}, 1)]
    assert check(replace(example, horizon=7), schedule()) == []


def test_slotted_work_is_rounded_up_to_whole_slots(example: Instance) -> None:
    longer = replace(example, chunk_time_slow=np.array([4, 3, 1.5]))
    shorter = replace(example, chunk_time_slow=np.array([4, 3, 2.25]))
    assert check(longer, schedule(), slotted=True) == []
    assert facts(check(shorter, schedule(), chunks=False)) == [("2b", {"job": C}, 0.25)]
    assert facts(check(shorter, schedule(), chunks=False, slotted=True)) == [("2b", {"job": C}, 1)]


def test_rounding_errors_are_forgiven_and_no_more(example: Instance) -> None:
    def shifted(by: float) -> list[str]:
        runs = swap(RUNS, (C, 0, 0, 3, 5), (C, 0, 0, 3 - by, 5 - by))
        services = swap(SERVICES, (C, 1, 3, 5), (C, 1, 3 - by, 5 - by))
        return [v.constraint for v in check(example, schedule(runs, services))]

    assert shifted(5e-7) == []
    assert shifted(5e-6) == ["2d", "2i"]


def test_a_run_that_lasts_no_time_counts_for_nothing(example: Instance) -> None:
    still = schedule((*RUNS, (B, 0, 0, 50, 50)), (*SERVICES, (B, 1, 0, 1e-12)))
    assert check(example, still) == []
    assert cost(example, still) == 17
    never = schedule(((B, 0, 0, 50, 50),), (), (False,) * 3)
    assert cost(example, never) == np.inf


def test_a_violation_begins_with_its_earliest_run(example: Instance) -> None:
    astray = ((A, 0, 2, 8, 9), (A, 0, 2, 3, 4), (A, 0, 2, 6, 7))
    assert facts(check(example, schedule((*RUNS, *astray)), chunks=False)) == [
        ("2a", {"job": A, "worker": 2, "time": 3}, 3)
    ]


def test_small_overlaps_add_up(example: Instance) -> None:
    overlaps = tuple((C, NO_CHUNK, 1, 3 + k / 10, 3 + k / 10 + 5e-7) for k in range(20))
    found = check(example, schedule((*RUNS, *overlaps)))
    assert Counter(v.constraint for v in found) == {"2c": 20, "2d": 20}


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


# tolerances: one case just inside, one just outside


FORGIVEN = pytest.mark.parametrize(("excess", "forgiven"), [(0.9e-6, True), (1.1e-6, False)])


def verdict(found: list[Violation], label: str, forgiven: bool) -> None:
    assert {v.constraint for v in found} == (set() if forgiven else {label})


@FORGIVEN
def test_2a_forgives_a_millionth_of_a_slot_on_a_worker(example, excess, forgiven) -> None:
    astray = ((A, 0, 2, 8, 8 + excess / 2), (A, 0, 2, 8.5, 8.5 + excess / 2))
    verdict(check(example, schedule((*RUNS, *astray)), chunks=False), "2a", forgiven)


@FORGIVEN
def test_2b_and_4a_forgive_a_millionth_of_a_slot_of_work(example, excess, forgiven) -> None:
    short = schedule(swap(RUNS, (A, 2, CLOUD, 5, 9), (A, 2, CLOUD, 5, 9 - excess)))
    verdict(check(example, short, chunks=False), "2b", forgiven)
    lent = swap(RUNS, (A, 2, CLOUD, 5, 9), (A, 2, CLOUD, 5, 9 - excess))
    lent = swap(lent, (A, 1, 1, 2, 6), (A, 1, 1, 2, 6 + excess))
    verdict(check(example, schedule(lent)), "4a", forgiven)


@FORGIVEN
def test_2c_and_4e_forgive_a_millionth_of_a_slot_in_all(example, excess, forgiven) -> None:
    half = excess / 2
    more = ((A, 2, CLOUD, 5, 5 + half), (A, 2, CLOUD, 5.5, 5.5 + half))
    verdict(check(example, schedule((*RUNS, *more)), chunks=False), "2c", forgiven)
    twice = ((A, 2, CLOUD, 8, 8 + half), (A, 2, CLOUD, 8.5, 8.5 + half))
    verdict(check(example, schedule((*RUNS, *twice))), "4e", forgiven)


@FORGIVEN
def test_2d_and_2f_forgive_a_millionth_of_a_slot_of_overlap(example, excess, forgiven) -> None:
    runs = swap(RUNS, (C, 0, 0, 3, 5), (C, 0, 0, 3, 5 + excess))
    services = swap(SERVICES, (C, 1, 3, 5), (C, 1, 3, 5 + excess))
    verdict(check(example, schedule(runs, services)), "2d", forgiven)
    services = (*SERVICES, (C, 0, 8, 8 + excess))
    verdict(check(example, schedule(services=services)), "2f", forgiven)


@FORGIVEN
def test_2e_forgives_a_millionth_of_a_slot_without_a_parameter_server(
    example, excess, forgiven
) -> None:
    services = swap(SERVICES, (C, 1, 3, 5), (C, 1, 3 + excess, 5))
    verdict(check(example, schedule(services=services)), "2e", forgiven)


@FORGIVEN
def test_2i_forgives_a_millionth_of_a_slot_of_the_upload(example, excess, forgiven) -> None:
    runs = swap(RUNS, (A, 1, 1, 2, 6), (A, 1, 1, 2 - excess, 6))
    services = swap(SERVICES, (A, 0, 2, 9), (A, 0, 2 - excess, 9))
    verdict(check(example, schedule(runs, services)), "2i", forgiven)
    services = swap(SERVICES, (C, 1, 3, 5), (C, 1, 2 - excess, 5))
    verdict(check(example, schedule(services=services)), "2i", forgiven)


@FORGIVEN
def test_2k_forgives_a_millionth_of_a_slot_beside_the_grid(example, excess, forgiven) -> None:
    for end in (9 + excess, 9 - excess):
        runs = swap(RUNS, (A, 2, CLOUD, 5, 9), (A, 2, CLOUD, 5, end))
        found = check(example, schedule(runs, (*SERVICES, (A, CLOUD, 9, 10))), slotted=True)
        assert ("2k" in {v.constraint for v in found}) != forgiven
    late = replace(example, horizon=8)
    services = swap(SERVICES, (A, 0, 2, 9), (A, 0, 2, 9 + excess))
    verdict(check(late, schedule(services=services), slotted=True), "2k", forgiven)


@pytest.mark.parametrize(("length", "counts"), [(0.9e-9, False), (1.1e-9, True)])
def test_a_run_counts_from_a_billionth_of_a_slot_on(example, length, counts) -> None:
    brief = schedule((*RUNS, (B, 0, 0, 50, 50 + length * 64)), (), (False,) * 3)
    brief = replace(brief, run_start=np.append(brief.run_start[:-1], 0.0),
                    run_end=np.append(brief.run_end[:-1], length))  # fmt: skip
    found = check(example, replace(brief, together=np.array(TOGETHER)), chunks=False)
    assert ("2h" in {v.constraint for v in found}) == counts
    alone = Schedule.build(runs=[(B, 0, 0, 0, length)], services=(), together=TOGETHER)
    assert np.isfinite(completion_times(example, alone)[B]) == counts


# indices


@pytest.mark.parametrize("job", [-1, 3])
def test_runs_of_jobs_that_do_not_exist_complete_nothing(example, job) -> None:
    runs = (*RUNS, (job, 0, 0, 20, 30))
    assert completion_times(example, schedule(runs)).tolist() == [9, 7, 5]
    found = facts(check(example, schedule(runs)))
    assert found == [("2k", {"run": 8, "job": job}, 1)]


@pytest.mark.parametrize(("kind", "row"), [
    ("run", (A, 0, 3, 9, 10)), ("run", (A, 0, -2, 9, 10)), ("run", (A, 3, CLOUD, 9, 10)),
    ("run", (A, -1, CLOUD, 9, 10)), ("service", (-1, 0, 9, 10)), ("service", (3, 0, 9, 10)),
    ("service", (A, -2, 9, 10)), ("service", (A, 3, 9, 10)),
])  # fmt: skip
def test_the_first_index_out_of_range_is_out_of_range_by_one(example, kind, row) -> None:
    runs = (*RUNS, row) if kind == "run" else RUNS
    services = (*SERVICES, row) if kind == "service" else (*SERVICES, (A, 0, 9, 10))
    found = facts(check(example, schedule(runs, services), chunks=True))
    ((label, index, amount),) = found
    assert (label, amount) == ("2k", 1)
    assert index[kind] == (8 if kind == "run" else 3)


def test_2k_wants_starts_that_are_some_time(example) -> None:
    for name, kind in (("run_start", "run"), ("service_start", "service")):
        made = schedule()
        moments = np.array(getattr(made, name))
        moments[0] = -np.inf
        found = check(example, replace(made, **{name: moments}))
        lost = [v for v in found if v.constraint == "2k"]
        assert [(v.index[kind], v.amount) for v in lost] == [(0, np.inf)]


@pytest.mark.parametrize("told", [2, 4])
def test_2k_counts_decisions_too_few_and_too_many(example, told) -> None:
    together = (*TOGETHER, True)[:told]
    assert facts(check(example, schedule(together=together))) == [("2k", {"together": told}, 1)]


def test_a_single_run_that_names_its_chunk_is_judged_by_chunk(example) -> None:
    found = check(example, Schedule.build(runs=[(C, 0, 0, 3, 4)], services=[(C, 1, 3, 4)],
                                          together=(False,) * 3))  # fmt: skip
    assert ("4a", {"job": C, "chunk": 0}, 1) in facts(found)


# pairs of a job and a place are told apart


def test_jobs_early_in_different_places_are_listed_each_for_itself(example) -> None:
    runs = swap(RUNS, (A, 1, 1, 2, 6), (A, 1, 1, 1.5, 5.5))
    runs = swap(runs, (B, 0, CLOUD, 5, 7), (B, 0, CLOUD, 4.25, 6.25))
    runs = swap(runs, (C, 0, 0, 3, 5), (C, 0, 0, 2, 3), (C, 0, 0, 3.5, 4.5))
    services = swap(SERVICES, (A, 0, 2, 9), (A, 0, 1.5, 9))
    services = swap(services, (B, CLOUD, 5, 7), (B, CLOUD, 4.25, 7))
    services = swap(services, (C, 1, 3, 5), (C, 1, 2, 5))
    found = [f for f in facts(check(example, schedule(runs, services))) if f[0] == "2i"]
    assert found == [
        ("2i", {"job": A, "worker": 1, "time": 1.5}, 0.5),
        ("2i", {"job": B, "worker": CLOUD, "time": 4.25}, 0.75),
        ("2i", {"job": C, "worker": 0, "time": 2}, 1),
    ]


def test_a_later_run_does_not_make_up_for_an_early_one(example) -> None:
    runs = swap(RUNS, (A, 0, 0, 2, 3), (A, 0, 0, 1.5, 2), (A, 0, 0, 2.25, 2.75))
    services = swap(SERVICES, (A, 0, 2, 9), (A, 0, 1.5, 9))
    assert facts(check(example, schedule(runs, services))) == [
        ("2i", {"job": A, "worker": 0, "time": 1.5}, 0.5)
    ]


def brief(runs: list[tuple[float, ...]], **changes: float) -> list[str]:
    """Constraints broken in a system where a job lasts a millionth of a slot."""
    fields = {
        "release_time": [0.0], "num_chunks": [1], "chunk_time_slow": 1e-6, "chunk_time_fast": 1e-6,
        "upload_delay_edge": np.zeros((1, 1)), "upload_delay_cloud": 0, "worker_server": [0, 0],
        "worker_type": [0, 1], "ps_server": [0], "ps_type": [0],
    }  # fmt: skip
    instance = Instance.build(**{**fields, **changes})
    made = Schedule.build(runs=runs, services=[(0, 0, 0, 1)], together=[False])
    return [v.constraint for v in check(instance, made)]


def test_what_is_just_the_tolerance_is_forgiven() -> None:
    whole = (0, 0, 0, 0, 1e-6)
    assert brief([whole]) == []
    assert brief([(0, 0, CLOUD, 0, 1e-6)], chunk_time_slow=2e-6, chunk_time_fast=2e-6) == []
    astray = brief([whole, (0, 0, 1, 0, 1e-6)])  # on a worker of another type
    assert astray == ["no-migration"]
    assert brief([whole, (0, 0, CLOUD, 0, 1e-6)]) == ["no-migration"]
    # a run of just a billionth counts for nothing
    assert brief([(0, 0, CLOUD, 0, 1e-9)]) == ["2j"]


def test_with_storage_a_chunk_may_change_workers_but_not_servers(example) -> None:
    """Worker 1 and worker 2 of the second server, both of a type that all jobs may use."""
    two = replace(example, worker_type=np.zeros(3, dtype=np.int64),
                  chunk_storage=np.ones(3), storage_capacity=np.full(2, 9.0))  # fmt: skip
    moved = schedule(swap(RUNS, (A, 1, 1, 2, 6), (A, 1, 1, 2, 4), (A, 1, 2, 4, 6)))
    assert check(two, moved, storage=True) == []
    assert facts(check(two, moved)) == [("no-migration", {"job": A, "chunk": 1}, 1)]
    for chunk, worker in ((0, 0), (2, CLOUD)):
        start = 5
        row = next(r for r in RUNS if r[:4] == (A, chunk, worker, start))
        away = schedule(swap(RUNS, row, (A, chunk, 2, *row[3:])))
        expected = [("7a", {"job": A, "chunk": 0}, 1)] if chunk == 0 else []
        assert facts(check(two, away, storage=True)) == expected


def test_storage_of_a_chunk_that_does_not_exist_is_a_matter_of_2k(example) -> None:
    stored = replace(example, chunk_storage=np.ones(3), storage_capacity=np.array([3.0, 1.0]))
    assert check(stored, schedule(), storage=True) == []
    for chunk in (-1, 3):
        more = schedule((*RUNS, (A, chunk, 1, 6, 7)))
        assert {v.constraint for v in check(stored, more, storage=True)} == {"2k"}


def test_violations_of_one_job_are_listed_place_by_place(example) -> None:
    astray = ((A, 0, 2, 8, 8.5), (A, 0, CLOUD, 2, 2.5))
    barred = replace(example, upload_delay_cloud=np.array([np.inf, 4, 4]))
    found = facts(check(barred, schedule((*RUNS, *astray)), chunks=False))
    assert [f for f in found if f[0] == "2a"] == [
        ("2a", {"job": A, "worker": CLOUD, "time": 2}, 4.5),
        ("2a", {"job": A, "worker": 2, "time": 8}, 0.5),
    ]


def test_2k_forgives_just_the_tolerance(example) -> None:
    """Job A in the cloud, which begins a millionth of a slot late."""
    runs = swap(RUNS, (A, 0, 0, 2, 3), (A, 0, 0, 2, 3), (A, 0, CLOUD, 1e-6, 1))
    found = check(example, schedule(runs, (*SERVICES, (A, CLOUD, 1e-6, 1))), slotted=True)
    assert "2k" not in {v.constraint for v in found}


# sweeps


def test_pieces_join_where_they_touch_and_agree_whatever_their_key() -> None:
    def joined(gap: float) -> list[tuple[int, float, float]]:
        key = np.array([0, 0, 1, 1, 1])
        start = np.array([-1, gap, -1, gap, 3])
        end = np.array([0, 1, 0, 1, 4])
        steps = Steps(Intervals(key, start, end), (np.array([1, 1, 2, 2, 2]),)).merged()
        assert steps.counts[0].tolist() == [1, 2, 2] if len(steps.pieces.key) == 3 else True
        return list(zip(*(x.tolist() for x in vars(steps.pieces).values()), strict=True))

    whole = [(0, -1, 1), (1, -1, 1), (1, 3, 4)]
    assert joined(0) == joined(0.9e-9) == joined(1e-9) == whole
    assert len(joined(1.1e-9)) == 5


@pytest.mark.parametrize(("length", "pieces"), [(1e-9, 0), (1.1e-9, 1)])
def test_pieces_up_to_a_billionth_of_a_slot_are_left_out(length, pieces) -> None:
    steps = count_open(Intervals(np.array([0]), np.array([0.0]), np.array([length])))
    assert len(steps.pieces.key) == pieces


# storage


def stored(size: float | list[float], capacity: list[float], **options: str) -> list[Violation]:
    """Job 0 with chunks on both servers in [0, 2), then job 1, released at 1, on the first."""
    instance = Instance.build(
        release_time=[0, 1], num_chunks=[2, 1], chunk_time_slow=[2, 1],
        upload_delay_edge=np.zeros((2, 2)), upload_delay_cloud=9, worker_server=[0, 1],
        chunk_storage=size, storage_capacity=capacity,
    )  # fmt: skip
    made = Schedule.build(
        runs=[(0, 0, 0, 0, 2), (0, 1, 1, 0, 2), (1, 0, 0, 2, 3)],
        services=[(0, CLOUD, 0, 2), (1, CLOUD, 2, 3)], together=[False, False],
    )  # fmt: skip
    return check(instance, made, storage=True, **options)


@pytest.mark.parametrize("capacity", [0.25, 1, 1000])
@pytest.mark.parametrize(("excess", "forgiven"), [(0.9e-6, True), (1.1e-6, False)])
def test_7b_forgives_a_millionth_of_the_capacity_or_of_a_gb(capacity, excess, forgiven) -> None:
    beyond = excess * max(1, capacity)
    found = facts(stored([0, capacity + beyond], [capacity, 9]))
    where = {"server": 0, "time": 1, "end": 3}
    assert found == ([] if forgiven else [("7b", where, pytest.approx(beyond, rel=1e-6))])


def test_7b_holds_from_release_to_completion_on_every_server() -> None:
    assert facts(stored([1, 2], [2.5, 0.5])) == [
        ("7b", {"server": 0, "time": 1, "end": 2}, 0.5),
        ("7b", {"server": 1, "time": 0, "end": 2}, 0.5),
    ]
    assert facts(stored([1, 2], [1.5, 9])) == [
        ("7b", {"server": 0, "time": 1, "end": 2}, 1.5),
        ("7b", {"server": 0, "time": 2, "end": 3}, 0.5),
    ]
    assert stored([1, 2], [3, 1]) == []
    assert stored([0, 0], [0, 0]) == []
    assert stored([0, 1e-6], [0, 0]) == []  # just the tolerance


def test_7a_counts_the_servers_of_each_chunk_beyond_one() -> None:
    instance = Instance.build(
        release_time=[0, 0], num_chunks=[1, 2], chunk_time_slow=[3, 3],
        upload_delay_edge=np.zeros((2, 2)), upload_delay_cloud=0, worker_server=[0, 1],
        chunk_storage=1, storage_capacity=[9, 9],
    )  # fmt: skip
    made = Schedule.build(
        runs=[(1, 1, 0, 0, 1), (1, 1, 1, 1, 2), (1, 1, CLOUD, 2, 3), (1, 0, CLOUD, 0, 3),
              (0, 0, 1, 3, 5), (0, 0, CLOUD, 5, 6)],
        services=[(1, CLOUD, 0, 3), (0, CLOUD, 3, 6)], together=[False, False],
    )  # fmt: skip
    assert facts(check(instance, made, storage=True)) == [
        ("7a", {"job": 0, "chunk": 0}, 1), ("7a", {"job": 1, "chunk": 1}, 2),
    ]  # fmt: skip


def test_a_moment_of_release_that_nothing_defines_is_refused() -> None:
    with pytest.raises(InputError, match="storage_release"):
        stored(1, [9, 9], storage_release="never")
