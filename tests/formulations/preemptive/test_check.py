"""The checker: the worked example and one corruption per constraint."""

from __future__ import annotations

from collections import Counter
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

from formulations.preemptive.check import check, completion_times, cost
from formulations.preemptive.instance import CLOUD, Instance
from formulations.preemptive.schedule import NO_CHUNK
from optsched.errors import InputError


@pytest.fixture(scope="module")
def example() -> Instance:
    return two_servers()


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
