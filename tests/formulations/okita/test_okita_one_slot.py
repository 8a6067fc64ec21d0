"""(5) and (7) on an instance: what others hold is not free, what is trained is not left."""

import numpy as np
import pytest

from formulations.okita import PROBLEM
from formulations.okita.instance import Instance
from formulations.okita.problem_5 import exact_placement
from formulations.okita.problem_7 import exact_transport
from formulations.okita.schedule import Schedule
from optsched.errors import InputError
from optsched.instances.document import save
from optsched.solvers.solution import Status


@pytest.fixture
def two_jobs() -> Instance:
    """A generated instance with two jobs and three sites."""
    return PROBLEM.generate(np.random.default_rng(1), jobs=2, sites=3, horizon=4)


def solved(instance, call):
    """The solution of a formulation with options."""
    return PROBLEM.solve(call, instance).solution


def test_a_job_alone_is_placed_as_the_scan_over_servers_places_it(two_jobs):
    one = two_jobs
    price = one.unit_bandwidth_cost * one.exchange_size_mb[1]
    for workers in (1, 2, 5):
        placed = exact_placement(
            one.capacity, one.worker_demand[1], one.ps_demand[1], price, workers
        )
        found = solved(one, f"problem_5(job=1, workers={workers})")
        if placed.server < 0:
            assert found.status is Status.INFEASIBLE
        else:
            assert found.objective == pytest.approx(placed.cost)


def test_what_others_hold_in_the_slot_is_not_free(two_jobs, tmp_path):
    one = two_jobs
    slot = int(one.release_slot.max())
    fit = (one.capacity // np.maximum(one.worker_demand[0], 1)).min(axis=1)
    site = int(np.argmax(fit))
    others = Schedule.build(workers=[(0, slot, site, 1)], servers=[(0, slot, site)])
    save(others, tmp_path / "placed.json")
    room = one.capacity.copy()
    room[site] -= one.worker_demand[0] + one.ps_demand[0]
    price = one.unit_bandwidth_cost * one.exchange_size_mb[1]
    expected = exact_placement(room, one.worker_demand[1], one.ps_demand[1], price, 1)
    call = f"problem_5(job=1, slot={slot}, placed='{tmp_path / 'placed.json'}')"
    assert solved(one, call).objective == pytest.approx(expected.cost)


def test_transport_moves_what_is_left_as_cheaply_as_shortest_paths_do(two_jobs, tmp_path):
    one, job = two_jobs, 0
    price = one.unit_bandwidth_cost * one.chunk_size_mb[job]
    left = one.num_chunks[job].copy()
    wanted = [int(left.sum()) - 2, 0, 1]
    cost, _ = exact_transport(left, wanted, price)
    assert solved(one, f"problem_7(trained={wanted})").objective == pytest.approx(cost)
    assert solved(one, f"problem_7_printed(trained={wanted})").objective <= cost + 1e-6
    begun = int(one.release_slot[job])
    site = int(np.argmax(left))
    part = Schedule.build(
        workers=[(job, begun, site, 1)], servers=[(job, begun, site)],
        moves=[(job, begun, site, site, 1)],
    )  # fmt: skip
    save(part, tmp_path / "part.json")
    left[site] -= 1
    cost, _ = exact_transport(left, wanted, price)
    call = f"problem_7(trained={wanted}, slot={begun + 1}, placed='{tmp_path / 'part.json'}')"
    assert solved(one, call).objective == pytest.approx(cost)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("problem_5(job=2)", r"job = 2: a job of the instance, 0\.\.1"),
        ("problem_5(slot=0)", "slot = 0: a slot from the job's release"),
        ("problem_5(workers=0)", "workers = 0"),
        ("problem_7(trained=[1])", "trained = \\[1\\]: 3 numbers >= 0, one per site"),
        ("problem_7(trained=[1, -1, 0])", "trained"),
        ("problem_7(trained=[9999, 0, 0])", "demand"),
    ],
)
def test_a_state_that_is_none_is_refused(two_jobs, call, said):
    with pytest.raises(InputError, match=said):
        PROBLEM.solve(call, two_jobs)


def test_a_file_that_is_no_schedule_of_the_instance_is_refused(two_jobs, tmp_path):
    save(Schedule.build(workers=[(0, 0, 0, 10_000)]), tmp_path / "s.json")
    with pytest.raises(InputError, match="placed"):
        PROBLEM.solve(f"problem_5(placed='{tmp_path / 's.json'}')", two_jobs)
