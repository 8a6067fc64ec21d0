"""Okita's bounds that need no solver, by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from okita_cases import tiny, worked_example

from formulations.okita import PROBLEM, Instance
from formulations.okita.bounds import job_bounds, lb_alone, lb_sites, site_bounds, volume_bound
from formulations.okita.latency import Latencies
from formulations.okita.one_job import planner as construct

FLOORS = np.array([5.0, 5.0, 5.0])


def three_sites(
    weight: float, *, exchange: float = 99, capacity: int = 20, rate: int = 1
) -> Instance:
    """Ways out of 2, 4 and 6 a MB; chunks of 2 MB, of which 1, 2 and 3 lie at the sites."""
    return Instance.build(
        capacity=[capacity, 0, 0],
        unit_bandwidth_cost=[[0, 2, 3], [4, 0, 5], [6, 7, 0]],
        release_slot=1,
        num_chunks=[[1, 2, 3]],
        latency=Latencies.build("linear", [weight], offset=[0.0]),
        worker_rate=rate,
        epochs=1,
        chunk_size_mb=2,
        exchange_size_mb=exchange,
        worker_demand=1,
        ps_demand=1,
    )


@pytest.mark.parametrize(
    ("weight", "expected"),
    # one site visited leaves 4 + 16 to be moved, two leave 4, three nothing
    [(30, 20), (10, 10 + 4), (3, 2 * 3), (16, 20), (15, 15 + 4), (4.5, 4.5 + 4), (3.5, 2 * 3.5)],
)
def test_fewer_slots_visit_fewer_sites_and_leave_more_to_move(weight, expected) -> None:
    assert site_bounds(three_sites(weight)).tolist() == [expected]
    assert lb_sites(three_sites(weight)) == expected


def test_a_worker_elsewhere_may_cost_less_than_moving() -> None:
    # a chunk takes one worker-slot, whose exchange is 0.5 MB: a quarter of the chunk's size
    assert site_bounds(three_sites(30, exchange=0.5)).tolist() == [5]
    # at twice the rate the exchange of 2 MB is for two chunks
    assert site_bounds(three_sites(30, exchange=2, rate=2)).tolist() == [10]


def test_a_job_needs_as_many_slots_as_all_workers_take() -> None:
    # two workers a slot: three slots, in which the server may visit every site
    assert site_bounds(three_sites(10, capacity=3)).tolist() == [20]
    assert site_bounds(three_sites(10, capacity=2)).tolist() == [50]


def test_bounds_add_up_over_jobs() -> None:
    assert site_bounds(worked_example()).tolist() == [5, 2]
    assert lb_sites(worked_example()) == 7


def test_at_a_single_site_only_time_costs() -> None:
    alone = Instance.build(
        capacity=[5], unit_bandwidth_cost=[[0]], release_slot=1, num_chunks=[[8]],
        latency=Latencies.build("linear", [2.0], offset=[3.0]), worker_rate=1, epochs=1,
        chunk_size_mb=1, exchange_size_mb=1, worker_demand=1, ps_demand=1,
    )  # fmt: skip
    assert site_bounds(alone).tolist() == [3 + 2]
    assert lb_alone(alone) == 5


@pytest.mark.parametrize("seed", range(4))
def test_a_job_alone_costs_at_least_its_site_bound(seed) -> None:
    instance = tiny(seed, jobs=2, sites=2, most_chunks=1)
    assert np.all(site_bounds(instance) <= job_bounds(instance) + 1e-9)
    assert lb_alone(instance) == pytest.approx(job_bounds(instance).sum())
    assert lb_sites(instance) == pytest.approx(site_bounds(instance).sum())


def test_jobs_too_large_for_one_alone_are_bounded_no_less_than_by_their_sites(monkeypatch) -> None:
    exact = job_bounds(worked_example())
    assert exact.tolist() == [7, 5]
    monkeypatch.setattr(construct, "LARGEST_LATTICE", 0)
    assert np.all(job_bounds(worked_example()) <= exact)
    assert np.all(job_bounds(worked_example()) >= [5, 2])
    assert lb_alone(worked_example()) >= 7


def queue(**changed):
    """Three jobs of four worker-slots at one site of two units; f(x) = 5 + 2 x."""
    return Instance.build(
        **{
            "capacity": [2], "unit_bandwidth_cost": [[0]], "release_slot": [1, 1, 1],
            "num_chunks": [[4], [4], [4]], "worker_rate": 1, "epochs": 1, "chunk_size_mb": 1,
            "exchange_size_mb": 1, "worker_demand": 1, "ps_demand": 0,
            "latency": Latencies.build("linear", [2.0] * 3, offset=[5.0] * 3),
        } | changed
    )  # fmt: skip


def test_what_cannot_be_done_by_a_slot_is_late_by_hand():
    # 12 worker-slots, 2 a slot. By slot 5 two are missing, half a job that costs 10 more; by slot
    # 4 four: a job that costs 8 more; by slot 3 six, 1.5 times 6 more; by slot 2 two jobs, 4 each
    assert volume_bound(queue(), FLOORS) == pytest.approx(15 + 9)


def test_a_release_later_than_the_first_one_is_later_in_flow_time_too():
    late = queue(release_slot=[1, 1, 3])  # as above, but the last job costs 2 x 2 less
    assert volume_bound(late, FLOORS) == pytest.approx(15 + 2 + 0.5 * 6)


def test_a_resource_that_has_room_for_all_in_a_slot_adds_nothing():
    assert volume_bound(queue(capacity=[12]), FLOORS) == pytest.approx(15.0)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_the_volume_bound_is_never_above_the_optimum(seed):
    instance = tiny(seed)
    optimum = PROBLEM.solve("problem_2_columns", instance).solution.objective
    floors = job_bounds(instance)
    assert floors.sum() * (1 - 1e-8) <= volume_bound(instance, floors) <= optimum * (1 + 1e-9)
