"""The checker of Okita: what each constraint lets through and what it does not, to the unit."""

from dataclasses import replace

import numpy as np
import pytest
from okita_cases import worked_example

from formulations.okita import Schedule
from formulations.okita.check import (
    MEASURES,
    check,
    completion_slots,
    cost,
    data_costs,
    exchange_costs,
    flow_times,
    job_costs,
    latency_costs,
)

# job 0 trains in slot 1, job 1 in the slots 2 and 3; sites 0 and 1, two chunks per worker
WORKERS = [(0, 1, 0, 2), (0, 1, 1, 1), (1, 2, 1, 1), (1, 3, 0, 2)]
SERVERS = [(0, 1, 1), (1, 2, 1), (1, 3, 1)]
MOVES = [(0, 1, 0, 0, 4), (0, 1, 1, 1, 2), (1, 2, 1, 1, 1), (1, 2, 0, 1, 1), (1, 3, 0, 0, 3)]


def built(**rows):
    return Schedule.build(**{"workers": WORKERS, "servers": SERVERS, "moves": MOVES, **rows})


def raw(**columns):
    """Columns as they are, rows of nothing included."""
    base = built()
    return replace(base, **{name: np.array(value) for name, value in columns.items()})


def violations(schedule, instance=None, **options):
    found = check(instance or worked_example(), schedule, **options)
    return [(v.constraint, dict(v.index), v.amount) for v in found]


def test_every_part_of_the_cost_is_each_jobs_own():
    instance, schedule = worked_example(), built()
    assert violations(schedule) == []
    assert completion_slots(instance, schedule).tolist() == [1, 3]
    assert flow_times(instance, schedule).tolist() == [0, 2]
    # one chunk of one MB moves; two workers of job 0 and two of job 1 talk across, 2 and 3 MB each
    assert data_costs(instance, schedule).tolist() == [0, 1]
    assert exchange_costs(instance, schedule).tolist() == [4, 6]
    assert latency_costs(instance, schedule).tolist() == [3, 5]
    assert job_costs(instance, schedule).tolist() == [7, 12]
    assert cost(instance, schedule) == 19


@pytest.mark.parametrize(("horizon", "late"), [(1, 1), (2, 1), (3, 0)])
def test_measures_of_a_table_are_those_of_the_schedule(horizon, late):
    short = replace(worked_example(), horizon=horizon)
    measured = {name: measure(short, built()) for name, measure in MEASURES.items()}
    assert measured == {
        "without_worst_job": 7, "bandwidth": 11, "mean_flow_time": 1, "jobs_after_horizon": late,
    }  # fmt: skip


def test_moving_costs_chunks_times_their_size():
    moves = [(0, 1, 0, 1, 3), (0, 1, 0, 0, 1), *MOVES[1:]]
    assert data_costs(worked_example(), built(moves=moves)).tolist() == [3 * 2, 1]


def test_workers_pay_for_every_server_of_their_job_and_slot_and_for_no_other():
    servers = [(0, 1, 1), (0, 1, 0), (1, 2, 1), (1, 3, 1), (1, 3, 0), (1, 3, 1)]
    paid = exchange_costs(worked_example(), built(servers=servers))
    assert paid.tolist() == [2 * 2 + 2, 2 * 2 * 3]
    # a server of another job or another slot is not theirs
    for servers in ([(1, 1, 0)], [(0, 2, 0)], [(1, 0, 0)]):
        made = Schedule.build(workers=[(0, 3, 1, 1)], servers=servers)
        assert exchange_costs(worked_example(), made).tolist() == [0, 0]
    made = Schedule.build(workers=[(0, 1, 1, 1)], servers=[(1, 0, 0), (0, 0, 0)])
    assert exchange_costs(worked_example(), made).tolist() == [0, 0]


def test_a_job_that_ends_before_its_release_waits_for_nothing():
    early = replace(worked_example(), release_slot=np.array([3, 1]), horizon=3)
    assert latency_costs(early, built()).tolist() == [3, 5]
    assert flow_times(early, built()).tolist() == [-2, 2]


def test_only_workers_that_are_there_complete_a_job():
    idle = raw(worker_count=[2, 1, 1, 0])
    assert completion_slots(worked_example(), idle).tolist() == [1, 2]
    fewer = raw(worker_count=[2, 1, 1, -1])
    assert completion_slots(worked_example(), fewer).tolist() == [1, 2]
    for stranger in (-1, 2):
        someone = raw(worker_job=[0, 0, 1, stranger])
        assert completion_slots(worked_example(), someone).tolist() == [1, 2]


def test_rows_of_nothing_break_nothing():
    base = built()
    padded = replace(
        base,
        **{name: np.append(getattr(base, name), value) for name, value in (
            ("worker_job", 0), ("worker_slot", 3), ("worker_site", 0), ("worker_count", 0),
            ("move_job", 0), ("move_slot", 3), ("move_source", 0), ("move_target", 1),
            ("move_chunks", 0),
        )},
    )  # fmt: skip
    assert violations(padded) == []


def test_2a_counts_chunks_trained_more_or_less_often_than_once():
    missing = violations(built(moves=[*MOVES[:-1], (1, 3, 0, 0, 2)]))
    assert missing == [("2a", {"job": 1, "site": 0}, 1)]
    twice = violations(built(moves=[*MOVES, (1, 3, 1, 0, 1)]))
    assert twice == [("2a", {"job": 1, "site": 1}, 1)]


def test_2b_counts_chunks_beyond_the_workers_of_job_site_and_slot():
    moves = [*MOVES[:3], (1, 2, 0, 1, 2), (1, 3, 0, 0, 2)]
    assert violations(built(moves=moves)) == [("2b", {"job": 1, "site": 1, "slot": 2}, 1)]
    fewer = built(workers=[*WORKERS[:-1], (1, 3, 0, 1)])
    assert violations(fewer) == [("2b", {"job": 1, "site": 0, "slot": 3}, 1)]


@pytest.mark.parametrize(
    ("servers", "index", "amount"),
    [
        (SERVERS[1:], {"job": 0, "slot": 1}, 1),
        ([*SERVERS, (1, 3, 1)], {"job": 1, "slot": 3}, 1),
        ([*SERVERS, (1, 3, 1), (1, 3, 1)], {"job": 1, "slot": 3}, 2),
        ([*SERVERS, (0, 2, 1)], {"job": 0, "slot": 2}, 1),
    ],
)
def test_2c_wants_one_server_where_a_job_runs_and_none_elsewhere(servers, index, amount):
    assert violations(built(servers=servers)) == [("2c", index, amount)]


def test_2d_counts_units_beyond_the_capacity_of_site_and_slot():
    tight = replace(worked_example(), capacity=np.array([[2], [1]]))
    found = [("2d", {"site": 1, "resource": 0, "slot": slot}, 1) for slot in (1, 2)]
    assert violations(built(), tight) == found
    assert violations(built(), replace(tight, capacity=np.array([[2], [2]]))) == []


def test_2e_counts_jobs_without_workers():
    made = Schedule.build(workers=WORKERS[:2], servers=SERVERS[:1], moves=MOVES[:2])
    found = violations(made)
    assert ("2e", {"job": 1}, 1) in found
    assert {label for label, _, _ in found} == {"2a", "2e"}
    assert cost(worked_example(), made) == np.inf


@pytest.mark.parametrize(
    ("kind", "label", "row"),
    [
        *(("workers", "2f", row) for row in [(2, 3, 0, 1), (-1, 3, 0, 1), (1, -1, 0, 1),
                                             (1, 3, 2, 1), (1, 3, -1, 1)]),
        *(("servers", "2g", row) for row in [(2, 3, 0), (-1, 3, 0), (1, -1, 0), (1, 3, 2),
                                             (1, 3, -1)]),
        *(("moves", "2f", row) for row in [(2, 3, 0, 0, 1), (-1, 3, 0, 0, 1), (1, -1, 0, 0, 1),
                                           (1, 3, 2, 0, 1), (1, 3, -1, 0, 1), (1, 3, 0, 2, 1),
                                           (1, 3, 0, -1, 1)]),
    ],
)  # fmt: skip
def test_a_row_of_no_such_job_site_or_slot_is_named_and_counts_for_nothing(kind, label, row):
    rows = {"workers": WORKERS, "servers": SERVERS, "moves": MOVES}
    made = built(**{kind: [*rows[kind], row]})
    assert violations(made) == [(label, {kind[:-1]: len(rows[kind])}, 1)]
    assert cost(worked_example(), made) == np.inf


def test_2f_counts_how_far_a_number_is_below_zero():
    found = violations(built(moves=[*MOVES, (1, 3, 0, 0, 1), (1, 3, 0, 0, -1)]))
    assert found == [("2f", {"move": 6}, 1)]
    found = violations(built(workers=[*WORKERS, (1, 3, 0, 2), (1, 3, 0, -2)]))
    assert found == [("2f", {"worker": 5}, 2)]


def test_2h_counts_rows_before_the_release_slot_zero_included():
    late = replace(worked_example(), release_slot=np.array([1, 3]), horizon=3)
    assert violations(built(), late) == [("2h", {"job": 1, "slot": 2}, 4)]
    made = built(workers=[*WORKERS, (0, 0, 1, 1)], servers=[*SERVERS, (0, 0, 1)])
    assert violations(made) == [("2h", {"job": 0, "slot": 0}, 2)]


@pytest.mark.parametrize(("horizon", "found"), [(3, []), (2, [("T", {"job": 1}, 1)])])
def test_the_last_slot_of_the_horizon_is_within_it(horizon, found):
    instance = replace(worked_example(), horizon=horizon)
    assert violations(built(), instance, within_horizon=True) == found
