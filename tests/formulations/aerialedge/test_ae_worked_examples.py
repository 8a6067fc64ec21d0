"""Worked examples, on the side of the formulations."""

from dataclasses import replace

import numpy as np
import pytest

from formulations.aerialedge.bounds import lower_bound
from formulations.aerialedge.check import check, cost
from formulations.aerialedge.exact.method import pack
from formulations.aerialedge.generator import make_table3
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.metrics import (
    aet_per_job,
    aet_pooled,
    gang_times,
    makespan_independent,
    usage,
)
from formulations.aerialedge.problem_ae1 import (
    decode_dispatch,
    dispatch,
    dispatch_together,
    eligible,
)
from formulations.aerialedge.problem_ae3 import relaxation_bound
from formulations.aerialedge.schedule import Schedule
from formulations.aerialedge.tables import DRONES, fleet, node_capacities
from formulations.aerialedge.vector_packing import aggregate
from optsched.errors import InputError
from optsched.solve import solve
from optsched.solvers.solution import Status


def test_five_tasks_need_two_nodes(five: Instance) -> None:
    assert lower_bound(aggregate(five, 0)) == 2
    assert relaxation_bound(aggregate(five, 0)) == pytest.approx(2)
    schedule = pack(five).schedule
    assert schedule is not None
    assert {frozenset(np.flatnonzero(schedule.node == b)) for b in schedule.opened} == {
        frozenset({0, 2}),
        frozenset({1, 3, 4}),
    }
    used = usage(five, schedule)
    assert used.utilisation == pytest.approx((1.0, 5 / 6))
    assert used.actual_resource_usage[0] == pytest.approx(0.5)
    three = usage(five, Schedule.build(node=[1, 0, 1, 0, 2]))
    assert three.actual_resource_usage[0] == 0.75
    assert three.utilisation[0] == pytest.approx(2 / 3)


def test_usage_times_utilisation_is_cluster_utilisation(five: Instance) -> None:
    for node in ([0, 0, 1, 1, 2], [0, 1, 2, 3, 3], [-1, 1, 2, -1, 3]):
        used = usage(five, Schedule.build(node=node))
        product = np.multiply(used.actual_resource_usage, used.utilisation)
        assert product == pytest.approx(used.cluster_utilisation)


@pytest.mark.parametrize(
    ("nodes", "count", "cores"), [("decoded", 9, 9), ("two_core", 5, 10), ("devices", 2, 10)]
)
def test_drone_1_on_three_readings_of_its_nodes(nodes: str, count: int, cores: float) -> None:
    alike = Instance.build(
        demand=[[0.5, 3.5 / 17]] * 17, capacity=node_capacities(1, nodes), exec_time=1.0
    )
    for objective in ("count", "capacity"):
        answer = pack(replace(alike, objective=objective))
        assert answer.solution.status is Status.OPTIMAL
        assert answer.solution.objective == pytest.approx(count if objective == "count" else cores)
    whole = alike.with_jobs_as_tasks()
    assert whole.tasks == 1
    assert pack(whole, deployment=0).solution.status is Status.INFEASIBLE


def test_times_of_the_five_tasks(five: Instance) -> None:
    batches = {
        (0, 0, 0, 0, 0): (30, 50),
        (0, 0, 0, 1, 1): (65, 80),
        (0, 0, 1, 1, 2): (100, 110),
        (0, 1, 2, 3, 4): (150, 150),
    }
    for batch, (aet, independent) in batches.items():
        schedule = Schedule.build(node=[0, 1, 2, 3, 3], batch=batch)
        assert aet_pooled(five, schedule) == pytest.approx(aet)
        assert aet_per_job(five, schedule) == pytest.approx(aet)  # there is one job
        assert makespan_independent(five, schedule) == pytest.approx(independent)
    assert gang_times(five)[1].max() == 90
    serial = Schedule.build(node=[0, 1, 2, 3, 3], batch=[0, 0, 1, 1, 2])
    assert aet_pooled(five, serial, serial=1) == pytest.approx(30 + 35 + 50)


def test_per_job_means_differ_from_the_pooled_mean() -> None:
    instance = Instance.build(
        demand=[[1, 1]] * 3, capacity=[[2, 3]] * 3, exec_time=[10, 20, 60], task_job=[0, 0, 1]
    )
    gang = Schedule.build(node=[0, 1, 2])
    assert aet_pooled(instance, gang) == 30
    assert aet_per_job(instance, gang) == 15 + 60


def group_5() -> Instance:
    """The workload of Drone 5 before all drones, 60 s to 210 s away."""
    return fleet(make_table3(5, np.random.default_rng(0)), [60.0, 90.0, 120.0, 150.0, 180.0, 210.0])


def test_drone_5_is_the_closest_with_enough_cores() -> None:
    instance = group_5()
    assert decode_dispatch(solve(dispatch(instance))) == [4]
    answer = pack(instance)
    assert answer.schedule is not None
    assert answer.schedule.deployment == 4
    assert answer.solution.objective == 17
    assert check(instance, answer.schedule, gang=True) == []
    hurried = replace(instance, flight_time=np.where(np.arange(6) == 4, 300.0, 1800.0))
    assert decode_dispatch(solve(dispatch(hurried))) == [5]
    assert pack(hurried).schedule.deployment == 5


def test_aggregate_capacity_does_not_guarantee_a_packing() -> None:
    instance = Instance.build(
        demand=[[1.5, 0.5]] * 4,
        capacity=[[2, 4]] * 7,
        node_deployment=[0] * 3 + [1] * 4,
        travel_time=[60, 90],
    )
    assert decode_dispatch(solve(dispatch(instance))) == [0]
    answer = pack(instance)
    assert answer.schedule is not None
    assert answer.schedule.deployment == 1
    assert check(instance, answer.schedule, gang=True) == []
    assert cost(instance, answer.schedule) == 4


def test_multi_jobs_dispatched_together_share_the_deployments() -> None:
    first = Instance.build(
        demand=[[2, 2]] * 3, capacity=[[2, 3]] * 8, node_deployment=[0] * 4 + [1] * 4,
        travel_time=[10, 20],
    )  # fmt: skip
    second = replace(first, travel_time=np.array([5.0, 50.0]))
    solution = solve(dispatch_together([first, second]))
    assert solution.objective == 20 + 5
    assert decode_dispatch(solution) == [1, 0]
    with pytest.raises(InputError, match=r"instances\[1\]"):
        dispatch_together([first, group_5()])
    with pytest.raises(InputError, match="instances"):
        dispatch_together([])


def test_a_round_trip_leaves_less_time() -> None:
    instance = Instance.build(
        demand=[[1, 1]] * 2, capacity=[[2, 3]] * 2, exec_time=[60, 60], edges=[(0, 1)],
        flight_time=200, travel_time=45,
    )  # fmt: skip
    assert eligible(instance) == ([1], [1])
    assert eligible(instance, round_trip=True) == ([1], [0])
    apart = replace(
        instance, edge_parent=instance.edge_parent[:0], edge_child=instance.edge_child[:0]
    )
    assert eligible(apart, round_trip=True, horizon="dag") == ([1], [1])
    with pytest.raises(InputError, match="horizon"):
        eligible(instance, horizon="none")


def test_tables_2_and_3_add_up() -> None:
    assert sum(drone.cpu_cores for drone in DRONES) == 188
    assert sum(drone.mem_gib for drone in DRONES) == 682
    assert sum(drone.jobs for drone in DRONES) == 46
    assert sum(drone.tasks for drone in DRONES) == 198
    assert sum(drone.total_cpu for drone in DRONES) == pytest.approx(156.25)
    assert sum(drone.total_mem for drone in DRONES) == pytest.approx(62.44)
    for number, drone in enumerate(DRONES, start=1):
        for nodes in ("decoded", "two_core", "devices"):
            total = node_capacities(number, nodes).sum(axis=0)
            assert total == pytest.approx((drone.cpu_cores, drone.mem_gib))
