"""Slots of Okita's jobs, by hand and by looking at every one."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from okita_cases import tiny, worked_example

from formulations.okita import Instance
from formulations.okita.horizon import (
    Windows,
    affordable,
    flow_cut_off,
    last_slot,
    least_slots,
    safe_horizon,
    slots_needed,
    windows,
)
from formulations.okita.latency import Latencies
from optsched.errors import InputError


def at_one_site(
    chunks, *, rate=1, epochs=1, release=1, weight=1.0, capacity=5, horizon=None
) -> Instance:
    """Jobs at a single site, whose latency is their weight times the flow time."""
    jobs = len(chunks)
    return Instance.build(
        capacity=[capacity],
        unit_bandwidth_cost=[[0]],
        release_slot=release,
        num_chunks=[[number] for number in chunks],
        latency=Latencies.build("linear", np.broadcast_to(weight, jobs), offset=np.zeros(jobs)),
        worker_rate=rate,
        epochs=epochs,
        chunk_size_mb=1,
        exchange_size_mb=1,
        worker_demand=1,
        ps_demand=0,
        horizon=horizon,
    )


def test_a_job_runs_in_its_full_slots_and_one_more_a_site() -> None:
    # two chunks a worker and slot: 6 // 2 + 2 and 5 // 2 + 2
    assert slots_needed(worked_example()).tolist() == [5, 4]
    assert slots_needed(at_one_site([12], rate=3)).tolist() == [4 + 1]


def test_a_job_runs_in_no_more_slots_than_it_has_chunks() -> None:
    assert slots_needed(at_one_site([10])).tolist() == [10]
    assert slots_needed(at_one_site([3], rate=2)).tolist() == [1 + 1]
    assert slots_needed(at_one_site([1], rate=2)).tolist() == [1]
    # a worker alone finishes no chunk in a slot
    assert slots_needed(at_one_site([9], epochs=2)).tolist() == [9]


def test_the_safe_horizon_counts_from_the_last_arrival() -> None:
    assert safe_horizon(worked_example()) == 5 + 4
    later = replace(worked_example(), release_slot=np.array([3, 1]), horizon=20)
    assert safe_horizon(later) == 2 + 5 + 4
    assert last_slot(later, "safe") == 11
    assert last_slot(later, "given") == 20
    with pytest.raises(InputError, match="horizon_mode"):
        last_slot(later, "long")


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_no_schedule_takes_fewer_slots_than_all_workers_beside_the_best_place(seed) -> None:
    instance = tiny(seed)
    for i, least in enumerate(least_slots(instance).tolist()):
        fastest = 0
        for place in range(instance.sites):
            room = instance.capacity.copy()
            room[place] -= instance.ps_demand[i]
            if (room[place] < 0).any():
                continue
            asked = instance.worker_demand[i] > 0
            workers = (room[:, asked] // instance.worker_demand[i, asked]).min(axis=1)
            fastest = max(fastest, sum(int(instance.chunks_done(i, y)) for y in workers))
        assert least == math.ceil(int(instance.total_chunks[i]) / fastest)


def test_a_site_without_room_for_the_server_is_no_place_for_it() -> None:
    # the first site has room for 9 workers and none for a server, beside which 2 more fit
    crowded = Instance.build(
        capacity=[[9, 0], [3, 1]],
        unit_bandwidth_cost=[[0, 1], [1, 0]],
        release_slot=1,
        num_chunks=[[12, 0]],
        latency=Latencies.build("linear", [1.0]),
        worker_rate=1,
        epochs=1,
        chunk_size_mb=1,
        exchange_size_mb=1,
        worker_demand=[[1, 0]],
        ps_demand=[[1, 1]],
    )
    assert least_slots(crowded).tolist() == [2]  # 9 + 2 workers a slot, and one chunk is left
    full = replace(crowded, capacity=np.array([[0, 0], [4, 1]]))
    assert least_slots(full).tolist() == [4]  # no worker at the first site, three at the other


@pytest.mark.parametrize("budget", [0.0, 0.5, 1.0, 8.0, -8.0, 1e6])
def test_a_budget_grows_by_a_billionth_of_it_and_at_least_by_a_billionth(budget) -> None:
    grown = float(affordable(budget)) - budget
    assert grown == pytest.approx(1e-9 * max(1.0, abs(budget)), rel=0.1, abs=0)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.floats(0.0, 60.0), st.integers(-1, 12))
def test_the_cut_off_is_the_last_flow_time_within_the_budget(seed, budget, most) -> None:
    instance = tiny(seed)
    found = flow_cut_off(
        instance, np.full(instance.jobs, budget), np.full(instance.jobs, most)
    ).tolist()
    for i, flow in enumerate(found):
        within = [x for x in range(most + 1) if instance.latency.cost(i, x) <= budget + 1e-7]
        assert flow == max(within, default=-1)


def test_a_job_that_costs_too_much_at_once_has_no_flow_time() -> None:
    waits = replace(worked_example(), horizon=9)  # f(x) = 3 + 2 x and 1 + 2 x
    assert flow_cut_off(waits, np.array([3.0, 0.5]), np.array([8, 8])).tolist() == [0, -1]
    assert flow_cut_off(waits, np.array([4.9, 7.0]), np.array([8, 2])).tolist() == [0, 2]


def test_cells_are_the_slots_of_each_job_in_turn() -> None:
    instance = replace(worked_example(), release_slot=np.array([2, 4]), horizon=9)
    span = Windows(instance, np.array([4, 5]), np.array([3, 4]))
    job, slot = span.cells
    assert job.tolist() == [0, 0, 0, 1, 1]
    assert slot.tolist() == [2, 3, 4, 4, 5]
    assert span.first_cell.tolist() == [0, 3, 5]
    assert span.flow_cost.tolist() == [3, 5, 7, 1, 3]

    for last in (3, 1):  # both say that the second job has no slot
        none = Windows(instance, np.array([2, last]), np.array([3, 4]))
        assert none.cells[1].tolist() == [2]
        assert none.first_cell.tolist() == [0, 1, 1]


def test_a_job_keeps_the_slots_that_what_others_cost_leaves_it() -> None:
    pair = at_one_site([10, 7], release=[1, 3], weight=[1.0, 2.0])
    assert windows(pair).last.tolist() == [19, 19]
    assert windows(replace(pair, horizon=6), mode="given").last.tolist() == [6, 6]
    assert windows(pair).earliest.tolist() == [2, 4]  # five chunks a slot

    known = windows(pair, known_cost=10.0)
    assert known.last.tolist() == [1 + 10, 3 + 5]
    bounded = windows(pair, known_cost=10.0, job_bounds=np.array([2.0, 3.0]))
    assert bounded.last.tolist() == [1 + 7, 3 + 4]
    assert windows(pair, known_cost=-1.0).last.tolist() == [0, 2]


def test_no_latency_above_a_billion_is_handed_to_a_solver() -> None:
    dear = at_one_site([3], weight=1e8, horizon=11)
    assert windows(dear, mode="given").flow_cost.max() == 1e9
    dearer = at_one_site([3], weight=1e8 + 0.05, horizon=11)
    with pytest.raises(InputError, match="latency"):
        windows(dearer, mode="given")
    assert windows(dearer, mode="given", known_cost=4.5e8).last.tolist() == [1 + 4]
