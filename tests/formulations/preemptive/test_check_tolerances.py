"""What the checker forgives, just inside and just outside, and indices at their ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from preemptive_check_cases import (
    RUNS,
    SERVICES,
    TOGETHER,
    A,
    B,
    C,
    facts,
    schedule,
    swap,
    two_servers,
)

from formulations.preemptive.check import check, completion_times
from formulations.preemptive.instance import CLOUD, Instance
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.sweep import Spans, Steps, count_open
from optsched.problem.violation import Violation


@pytest.fixture(scope="module")
def example() -> Instance:
    return two_servers()


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
        steps = Steps(Spans(key, start, end), (np.array([1, 1, 2, 2, 2]),)).merged()
        assert steps.counts[0].tolist() == [1, 2, 2] if len(steps.pieces.key) == 3 else True
        return list(zip(*(x.tolist() for x in vars(steps.pieces).values()), strict=True))

    whole = [(0, -1, 1), (1, -1, 1), (1, 3, 4)]
    assert joined(0) == joined(0.9e-9) == joined(1e-9) == whole
    assert len(joined(1.1e-9)) == 5


@pytest.mark.parametrize(("length", "pieces"), [(1e-9, 0), (1.1e-9, 1)])
def test_pieces_up_to_a_billionth_of_a_slot_are_left_out(length, pieces) -> None:
    steps = count_open(Spans(np.array([0]), np.array([0.0]), np.array([length])))
    assert len(steps.pieces.key) == pieces
