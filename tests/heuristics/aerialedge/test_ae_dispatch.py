"""Algorithm 2, and gang reservation of several multi-jobs."""

from dataclasses import replace

import numpy as np

from formulations.aerialedge.generator import make_table3
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.problem_ae1 import algorithm_2, closest_feasible
from formulations.aerialedge.tables import fleet


def test_the_printed_dispatch_picks_a_drone_on_which_the_tasks_do_not_fit() -> None:
    instance = Instance.build(
        demand=[[1.5, 0.5]] * 4,
        capacity=[[2, 4]] * 7,
        node_deployment=[0] * 3 + [1] * 4,
        travel_time=[60, 90],
    )
    assert algorithm_2(instance, check_packing=False) == 0
    assert algorithm_2(instance) == 1


def test_the_group_of_drone_5_goes_to_drone_5_or_on_to_drone_6() -> None:
    travel = [60.0, 90.0, 120.0, 150.0, 180.0, 210.0]
    instance = fleet(make_table3(5, np.random.default_rng(0)), travel)
    assert algorithm_2(instance) == 4
    hurried = replace(instance, flight_time=np.where(np.arange(6) == 4, 300.0, 1800.0))
    assert algorithm_2(hurried) == 5
    nowhere = replace(instance, flight_time=np.full(6, 50.0))
    assert algorithm_2(nowhere) is None
    assert closest_feasible(nowhere) == 0
