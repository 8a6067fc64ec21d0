"""Algorithm 2, and gang reservation of several multi-jobs."""

from dataclasses import replace

import numpy as np
import pytest

from formulations.aerialedge.generator import make_table3
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.tables import fleet
from heuristics.aerialedge.dispatch import closest_feasible, dispatch, reserve_in_turn
from optsched.errors import InputError


def test_the_printed_dispatch_picks_a_drone_on_which_the_tasks_do_not_fit() -> None:
    instance = Instance.build(
        demand=[[1.5, 0.5]] * 4,
        capacity=[[2, 4]] * 7,
        node_deployment=[0] * 3 + [1] * 4,
        travel_time=[60, 90],
    )
    assert dispatch(instance, check_packing=False) == 0
    assert dispatch(instance) == 1


def test_the_group_of_drone_5_goes_to_drone_5_or_on_to_drone_6() -> None:
    travel = [60.0, 90.0, 120.0, 150.0, 180.0, 210.0]
    instance = fleet(make_table3(5, np.random.default_rng(0)), travel)
    assert dispatch(instance) == 4
    hurried = replace(instance, flight_time=np.where(np.arange(6) == 4, 300.0, 1800.0))
    assert dispatch(hurried) == 5
    nowhere = replace(instance, flight_time=np.full(6, 50.0))
    assert dispatch(nowhere) is None
    assert closest_feasible(nowhere) == 0


def job(tasks: int, seconds: float, **rest) -> Instance:
    return Instance.build(demand=[[1, 1]] * tasks, capacity=[[2, 3]] * 2, exec_time=seconds, **rest)


def test_a_multi_job_waits_until_all_of_it_has_room() -> None:
    first, second, third = reserve_in_turn([job(3, 10), job(2, 5), job(1, 1)], [0, 1, 2])
    assert (first.start, first.end) == (0, 10)
    assert (second.start, second.end) == (10, 15)
    assert (third.start, third.end) == (10, 11)


def test_tasks_that_end_early_make_room_only_if_they_are_released() -> None:
    chain = job(4, [1, 9, 9, 9], edges=[(0, 1)])
    held = reserve_in_turn([chain, job(1, 1)], [0, 0])
    freed = reserve_in_turn([chain, job(1, 1)], [0, 0], release="task")
    assert held[0].end == freed[0].end == 10
    assert (held[1].start, freed[1].start) == (10, 1)


def test_a_multi_job_that_never_fits_holds_up_nobody_for_ever() -> None:
    answers = reserve_in_turn([job(9, 1), job(1, 1)], [0, 0])
    assert answers[0].schedule is None
    assert np.isinf(answers[0].start)
    assert answers[1].schedule is not None


def test_arrivals_must_be_in_order() -> None:
    with pytest.raises(InputError, match="arrival"):
        reserve_in_turn([job(1, 1)] * 2, [1, 0])
    with pytest.raises(InputError, match="release"):
        reserve_in_turn([job(1, 1)], [0], release="never")
    assert reserve_in_turn([], []) == []
