"""Instances, schedules and what the checker finds wrong with them."""

import json
from dataclasses import replace

import numpy as np
import pytest
from aerialedge_cases import instances
from hypothesis import given, settings

from formulations.aerialedge.check import check, cost
from formulations.aerialedge.exact.method import pack
from formulations.aerialedge.generator import hard
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.plots import gantt_chart, occupancy_figure
from formulations.aerialedge.schedule import Schedule
from optsched.errors import InputError
from optsched.instances.document import dumps, parse


def numbers(instance: Instance) -> dict[str, object]:
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in vars(instance).items()
        if name in Instance.__dataclass_fields__
    }


@given(instance=instances())
@settings(max_examples=50, deadline=None)
def test_an_instance_survives_the_way_through_its_file(instance: Instance) -> None:
    again = parse(Instance, json.loads(dumps(instance)))
    assert numbers(again) == numbers(instance)


def test_dependencies_and_times_survive_the_way_through_a_file() -> None:
    instance = hard(15, np.random.default_rng(0), jobs=3)
    again = parse(Instance, json.loads(dumps(instance)))
    edges = [set(zip(i.edge_parent, i.edge_child, strict=True)) for i in (instance, again)]
    assert edges[0] == edges[1]
    assert again.exec_time.tolist() == instance.exec_time.tolist()


def test_copies_of_nodes_and_tasks_are_spelled_out() -> None:
    document = {
        "deployments": [{"nodes": [{"capacity": [2, 3], "count": 2}, {"capacity": [4, 6]}]}],
        "jobs": [
            {"tasks": [
                {"demand": [1, 1], "copies": 3, "alternatives": [[0.5, 2]]},
                {"demand": [2, 1]},
                {"demand": [1, 2], "deps": [1]},
            ]}
        ],
    }  # fmt: skip
    instance = parse(Instance, document)
    assert instance.tasks == 5
    assert instance.nodes == 3
    assert instance.alternative_task.tolist() == [0, 1, 2]
    assert (instance.edge_parent.tolist(), instance.edge_child.tolist()) == ([3], [4])


def test_depth_counts_the_tasks_of_the_longest_path(five: Instance) -> None:
    assert five.depth_of_task.tolist() == [1, 2, 3, 1, 2]
    assert five.depth.tolist() == [3]
    assert [p.tolist() for p in five.parents] == [[], [0], [0, 1], [], [3]]
    assert [c.tolist() for c in five.children] == [[1, 2], [2], [], [4], []]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"demand": [[1.0, -1.0]]}, "demand"),
        ({"demand": [[1.0, np.nan]]}, "demand"),
        ({"demand": [[1.0]]}, "capacity"),
        ({"capacity": [[1.0, 2.0, 3.0]]}, "demand|capacity"),
        ({"capacity": np.zeros((0, 2))}, "capacity"),
        ({"demand": np.zeros((0, 2))}, "demand"),
        ({"flight_time": 0.0}, "flight_time"),
        ({"travel_time": -1.0}, "travel_time"),
        ({"exec_time": np.inf}, "exec_time"),
        ({"edges": [(0, 0)]}, "edges"),
        ({"edges": [(0, 9)]}, "edge_child"),
        ({"demand": [[1, 1], [1, 1]], "edges": [(0, 1), (1, 0)]}, "edges"),
        ({"demand": [[1, 1], [1, 1]], "task_job": [0, 1], "edges": [(0, 1)]}, "edges"),
        ({"objective": "most"}, "objective"),
        ({"node_deployment": [0.5]}, "node_deployment"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(change: dict, field: str) -> None:
    with pytest.raises(InputError, match=field):
        Instance.build(**({"demand": [[1, 1]], "capacity": [[2, 3]]} | change))


def test_a_file_with_an_unknown_predecessor_is_refused() -> None:
    document = {
        "deployments": [{"nodes": [{"capacity": [2, 3]}]}],
        "jobs": [{"tasks": [{"demand": [1, 1], "deps": [4]}]}],
    }
    with pytest.raises(InputError, match="deps"):
        parse(Instance, document)
    document["jobs"] = [{"tasks": [{"demand": [1]}]}]
    with pytest.raises(InputError, match=r"tasks\[0\].demand"):
        parse(Instance, document)


def test_the_checker_names_every_broken_constraint(five: Instance) -> None:
    good = Schedule.build(node=[0, 1, 0, 1, 1])
    assert check(five, good, gang=True) == []
    found = check(five, Schedule.build(node=[0, 0, 0, -1, 9]), gang=True)
    assert {v.constraint for v in found} == {"25", "26", "domain"}
    overload = {v.index["resource"]: v.amount for v in found if v.constraint == "25"}
    assert overload == pytest.approx({0: 0.5, 1: 1.0})
    assert check(five, Schedule.build(node=[0, 1, 0, 1, -1]), partial=True) == []
    taking_turns = Schedule.build(node=[0, 0, 0, 0, 0], phase=[0, 0, 1, 1, 2])
    assert check(five, taking_turns) == []
    assert {v.constraint for v in check(five, taking_turns, gang=True)} == {"gang"}
    assert {v.constraint for v in check(five, Schedule.build(node=[0] * 5, deployment=4))} == {
        "domain"
    }
    with pytest.raises(InputError, match="node"):
        check(five, Schedule.build(node=[0]))


def test_a_deployment_out_of_reach_is_named(five: Instance) -> None:
    good = Schedule.build(node=[0, 1, 0, 1, 1])
    far = replace(five, travel_time=np.array([2000.0]))
    assert {v.constraint for v in check(far, good)} == {"7"}
    hurried = replace(five, flight_time=np.array([100.0]))
    found = check(hurried, good)
    assert [(v.constraint, v.amount) for v in found] == [("14", 50.0)]


def test_a_farther_deployment_is_refused_where_a_closer_one_provably_fits() -> None:
    instance = Instance.build(
        demand=[[1, 1]] * 2, capacity=[[2, 3]] * 2, node_deployment=[0, 1], travel_time=[10, 20]
    )
    found = check(instance, Schedule.build(node=[1, 1], deployment=1))
    assert [(v.constraint, v.amount) for v in found] == [("7", 10.0)]
    wrong = check(instance, Schedule.build(node=[0, 1], deployment=0))
    assert [v.constraint for v in wrong] == ["24"]


def test_loads_are_compared_in_whole_millionths() -> None:
    """0.1 + 0.2 exceeds 0.3 in floating point, but not in cores."""
    instance = Instance.build(demand=[[0.1, 1], [0.2, 1]], capacity=[[0.3, 2]])
    assert check(instance, Schedule.build(node=[0, 0])) == []
    over = Instance.build(demand=[[0.1, 1], [0.200001, 1]], capacity=[[0.3, 2], [1, 2]])
    assert [v.constraint for v in check(over, Schedule.build(node=[0, 0]))] == ["25"]


def test_an_alternative_is_charged_as_it_is_served() -> None:
    instance = Instance.build(
        demand=[[2, 1], [2, 1]], capacity=[[3, 4]], alternative_task=[1],
        alternative_demand=[[1, 3]],
    )  # fmt: skip
    assert check(instance, Schedule.build(node=[0, 0], option=[0, 1])) == []
    assert {v.constraint for v in check(instance, Schedule.build(node=[0, 0]))} == {"25"}
    unknown = Schedule.build(node=[0, -1], option=[1, 0])
    assert [v.constraint for v in check(instance, unknown, partial=True)] == ["domain"]


def test_a_schedule_survives_the_way_through_its_file(five: Instance) -> None:
    schedule = Schedule.build(node=[0, 1, 0, -1, 2], batch=[0, 0, 1, 1, 2], partial=True)
    again = parse(Schedule, json.loads(dumps(schedule)))
    assert again.node.tolist() == schedule.node.tolist()
    assert again.batch.tolist() == schedule.batch.tolist()
    assert again.partial
    assert cost(five, again) == 3


def test_pictures_show_every_opened_node(five: Instance) -> None:
    schedule = pack(five).schedule
    figure = occupancy_figure(five, schedule)
    assert len(figure.axes) == 2
    for ax, demand in zip(figure.axes, five.demand.T, strict=True):
        assert len(ax.patches) == five.tasks
        assert sum(bar.get_height() for bar in ax.patches) == pytest.approx(demand.sum())
    ax = gantt_chart(figure.add_subplot(), five, schedule)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["node 0", "node 1"]


def test_amounts_that_add_up_to_more_than_64_bits_of_millionths_are_refused() -> None:
    with pytest.raises(InputError, match=r"demand = 50*\.0: at most 4e\+12"):
        Instance.build(demand=np.full((5000, 1), 1e9), capacity=[[1e9]])
    with pytest.raises(InputError, match=r"capacity = 50*\.0: at most 4e\+12"):
        Instance.build(demand=[[1.0]], capacity=np.full((5000, 1), 1e9))
