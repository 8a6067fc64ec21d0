"""The checker of AerialEdge: every constraint, broken one at a time."""

from typing import Any

import numpy as np
import pytest

from formulations.aerialedge.check import check, cost, order_of_travel, served_units, within_reach
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.schedule import Schedule
from optsched.errors import InputError

Found = list[tuple[str, dict[str, int], float]]


def two_deployments(**changes: Any) -> Instance:
    """Nodes 0 and 1 are 10 s away, nodes 2 and 3 20 s; the first have too little memory."""
    fields: dict[str, Any] = {
        "demand": [[1, 2], [1, 2], [0.5, 1]],
        "capacity": [[2, 2], [2, 2.5], [2, 4], [2, 4]],
        "node_deployment": [0, 0, 1, 1],
        "travel_time": [10, 20],
        "flight_time": [100, 200],
        "exec_time": [10, 20, 30],
        "alternative_task": [1, 1],
        "alternative_demand": [[3, 2], [1, 2.5]],
    }
    return Instance.build(**{**fields, **changes})


def violations(instance: Instance, node: list[int], deployment: int = 1, **rest: Any) -> Found:
    schedule = {name: rest.pop(name) for name in ("option", "phase") if name in rest}
    made = Schedule.build(node=node, deployment=deployment, **schedule)
    return [(v.constraint, dict(v.index), v.amount) for v in check(instance, made, **rest)]


def test_a_packing_into_the_closest_deployment_with_room_breaks_nothing() -> None:
    assert violations(two_deployments(), [2, 2, 3]) == []
    assert violations(two_deployments(), [2, 2, 3], gang=True) == []


def test_a_schedule_of_another_size_is_refused() -> None:
    with pytest.raises(InputError, match="node"):
        violations(two_deployments(), [2, 2])


@pytest.mark.parametrize("deployment", [-1, 2, 3])
def test_a_deployment_that_does_not_exist_is_out_of_the_domain(deployment: int) -> None:
    found = [("domain", {"deployment": deployment}, 1.0)]
    assert violations(two_deployments(), [2, 2, 3], deployment) == found


@pytest.mark.parametrize(("flight", "found"), [(20.5, []), (20, [0.0]), (19, [1.0])])
def test_7_wants_the_travel_to_end_before_the_flight(flight: float, found: list[float]) -> None:
    instance = two_deployments(flight_time=[100, flight], exec_time=1.0)
    broken = [("7", {"deployment": 1}, amount) for amount in found]
    assert violations(instance, [2, 2, 3]) == broken


def test_7_wants_the_closest_deployment_into_which_all_tasks_fit() -> None:
    instance = two_deployments(capacity=[[2, 3]] + [[2, 4]] * 3)
    assert violations(instance, [2, 2, 3]) == [("7", {"deployment": 1, "closer": 0}, 10.0)]
    assert violations(instance, [1, 0, 1], 0) == []


def test_7_names_one_closer_deployment_the_first_in_the_order_of_travel() -> None:
    instance = two_deployments(
        capacity=[[9, 9]] * 4, node_deployment=[0, 1, 2, 2], travel_time=[30, 10, 40],
        flight_time=100,
    )  # fmt: skip
    assert violations(instance, [2, 2, 3], 2) == [("7", {"deployment": 2, "closer": 1}, 30.0)]
    assert violations(instance, [0, 0, 0], 0) == [("7", {"deployment": 0, "closer": 1}, 20.0)]


def test_deployments_are_tried_by_travel_then_cores_then_index() -> None:
    instance = two_deployments(
        capacity=[[3, 9], [2, 9], [2, 9], [1, 1]], node_deployment=[0, 1, 2, 3],
        travel_time=[10, 10, 10, 20], flight_time=100,
    )  # fmt: skip
    assert order_of_travel(instance).tolist() == [1, 2, 0, 3]


def test_13_counts_total_least_demand_beyond_the_deployments_capacity() -> None:
    found = [(v.constraint, dict(v.index), v.amount) for v in within_reach(two_deployments(), 0)]
    assert found == [("13", {"resource": 1}, pytest.approx(0.5))]
    full = two_deployments(capacity=[[2, 2], [2, 3], [2, 4], [2, 4]])
    assert within_reach(full, 0) == []
    less = two_deployments(alternative_demand=[[3, 1.5], [1, 2.5]])  # two ways to serve task 1
    assert within_reach(less, 0) == []


def test_amounts_are_compared_as_whole_millionths() -> None:
    capacity = [[2, 4], [2, 4], [2, 3.999_999], [2, 4]]
    instance = two_deployments(capacity=capacity, node_deployment=[1, 1, 0, 0])
    where = {"node": 2, "phase": 0, "resource": 1}
    assert violations(instance, [2, 2, 3], 0) == [("25", where, pytest.approx(1e-6))]
    capacity[2][1] = 3.999_999_6
    instance = two_deployments(capacity=capacity, node_deployment=[1, 1, 0, 0])
    assert violations(instance, [2, 2, 3], 0) == []


def test_14_allows_a_millionth_of_a_second() -> None:
    inside = two_deployments(exec_time=[50, 50, 100 + 0.9e-6])
    assert violations(inside, [2, 2, 3]) == []
    outside = two_deployments(exec_time=[50, 50, 100 + 1.1e-6])
    assert violations(outside, [2, 2, 3]) == [("14", {}, pytest.approx(1.1e-6, rel=1e-6))]


def test_26_counts_tasks_without_a_node_unless_the_schedule_may_be_partial() -> None:
    assert violations(two_deployments(), [2, -1, 3]) == [("26", {"task": 1}, 1.0)]
    assert violations(two_deployments(), [2, -1, 3], partial=True) == []


@pytest.mark.parametrize("node", [4, 5, -2])
def test_a_node_that_does_not_exist_is_out_of_the_domain_and_holds_nothing(node: int) -> None:
    found = [("domain", {"task": 2, "node": node}, 1.0)]
    assert violations(two_deployments(), [2, 2, node]) == found


def test_24_counts_tasks_on_nodes_of_another_deployment() -> None:
    assert violations(two_deployments(), [2, 2, 0]) == [("24", {"task": 2, "node": 0}, 1.0)]


@pytest.mark.parametrize(("task", "option"), [(0, 1), (1, 3), (2, -1)])
def test_a_demand_that_a_task_does_not_have_is_out_of_the_domain(task: int, option: int) -> None:
    options = [0, 0, 0]
    options[task] = option
    found = violations(two_deployments(), [2, 2, 3], option=options)
    assert found == [("domain", {"task": task, "option": option}, 1.0)]


def test_25_counts_the_demand_that_is_served() -> None:
    def load(option: int) -> Found:
        return violations(two_deployments(), [2, 2, 3], option=[0, option, 0])

    assert load(0) == []
    assert load(1) == [("25", {"node": 2, "phase": 0, "resource": 0}, 2.0)]
    assert load(2) == [("25", {"node": 2, "phase": 0, "resource": 1}, 0.5)]
    made = Schedule.build(node=[2, 2, 3], option=[0, 2, 0])
    served = served_units(two_deployments(), made)
    assert (served / 1e6).tolist() == [[1, 2], [1, 2.5], [0.5, 1]]


def test_25_holds_in_every_phase_and_gangs_have_one() -> None:
    crowded = [("25", {"node": 2, "phase": 0, "resource": r}, 0.5 + 0.5 * r) for r in (0, 1)]
    assert violations(two_deployments(), [2, 2, 2]) == crowded
    assert violations(two_deployments(), [2, 2, 2], phase=[0, 0, 1]) == []
    later = violations(two_deployments(), [2, 2, 2], phase=[0, 3, 1], gang=True)
    assert later == [("gang", {"phase": 1}, 1.0), ("gang", {"phase": 3}, 1.0)]
    same = violations(two_deployments(), [2, 2, 3], phase=[4, 4, 4], gang=True)
    assert same == []


def test_only_deployed_tasks_have_phases() -> None:
    assert violations(
        two_deployments(), [2, -1, 3], phase=[0, 7, 0], gang=True, partial=True
    ) == []  # fmt: skip


@pytest.mark.parametrize(
    ("objective", "expected"),
    [("count", 2), ("capacity", 4), ("cost", 3 + 5), ("lex", 2 + 2 / 5)],
)
def test_cost_adds_up_the_weights_of_the_nodes_opened(objective: str, expected: float) -> None:
    # under "lex" cores count in units of their greatest common divisor
    instance = two_deployments(objective=objective, node_cost=[1, 2, 3, 5])
    assert cost(instance, Schedule.build(node=[2, 3, 2])) == pytest.approx(expected)
    # what is not there costs nothing
    assert cost(instance, Schedule.build(node=[2, 3, 4])) == pytest.approx(expected)
    assert cost(instance, Schedule.build(node=[2, 3, -1])) == pytest.approx(expected)
    assert cost(instance, Schedule.build(node=np.full(3, -1))) == 0


def test_13_adds_up_nodes_resource_by_resource() -> None:
    instance = two_deployments(capacity=[[1, 1], [3, 3.5], [2, 4], [2, 4]])
    found = [(v.constraint, dict(v.index), v.amount) for v in within_reach(instance, 0)]
    assert found == [("13", {"resource": 1}, pytest.approx(0.5))]


def test_14_is_kept_at_the_tolerance_itself() -> None:
    instance = two_deployments(
        exec_time=[2e-6, 0, 0], flight_time=1e-6, travel_time=0, node_deployment=0
    )
    assert within_reach(instance, 0) == []


def test_7_passes_over_closer_deployments_that_are_out_of_reach_or_cannot_be_packed() -> None:
    room = [[9, 9]] * 2 + [[2, 4]] * 2
    hurried = two_deployments(capacity=room, flight_time=[50, 200])  # 60 s of work
    assert violations(hurried, [2, 2, 3]) == []
    # in all there is room for three tasks of two cores each, but not on nodes of three
    thin = two_deployments(
        demand=[[2, 1]] * 3, capacity=[[3, 9], [3, 9], [4, 9], [2, 9]], alternative_task=[],
        alternative_demand=np.zeros((0, 2)),
    )  # fmt: skip
    assert within_reach(thin, 0) == []
    assert violations(thin, [2, 2, 3]) == []


def test_25_counts_every_node_from_the_first_and_no_task_that_is_nowhere() -> None:
    near = two_deployments(
        node_deployment=[1, 1, 0, 0], travel_time=[20, 10], capacity=[[1.5, 4]] + [[2, 4]] * 3
    )
    assert violations(near, [0, 0, 1]) == [("25", {"node": 0, "phase": 0, "resource": 0}, 0.5)]
    far = two_deployments(capacity=[[9, 9]] * 3 + [[0.5, 0.5]], travel_time=[20, 10])
    assert violations(far, [2, 2, -1], partial=True) == []
    assert violations(far, [2, -1, -1], partial=True) == []
