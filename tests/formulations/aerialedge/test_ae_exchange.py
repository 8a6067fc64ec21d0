"""Packings into a given number of nodes, by exchanges."""

import numpy as np
import pytest
from aerialedge_cases import enumerated_optimum
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.aerialedge.check import check, cost
from formulations.aerialedge.exchange import pack_into
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.pack import pack
from formulations.aerialedge.vector_packing import aggregate, to_schedule
from optsched.solvers.solution import Status


@st.composite
def identical_nodes(draw: st.DrawFn) -> Instance:
    """Few tasks, each of which fits a node; as many identical nodes as tasks."""
    width, tasks = draw(st.integers(1, 3)), draw(st.integers(1, 7))
    capacity = [draw(st.integers(2, 6)) for _ in range(width)]
    demand = [[draw(st.integers(0, c)) for c in capacity] for _ in range(tasks)]
    return Instance.build(demand=demand, capacity=[capacity] * tasks, flight_time=1e9)


def triplets(items: int, seed: int) -> Instance:
    """Two-dimensional items that fill nodes in threes without any waste."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(25, 51, (2, items // 3, 2))
    demand = np.concatenate([first, second, 100 - first - second])
    return Instance.build(demand=demand, capacity=[[100, 100]] * items)


@given(instance=identical_nodes())
@settings(max_examples=40, deadline=None)
def test_exchanges_find_a_packing_on_as_many_nodes_as_the_optimum(instance: Instance) -> None:
    packing = aggregate(instance, 0)
    expected = enumerated_optimum(instance)
    assert expected is not None
    bins = pack_into(packing, int(expected), np.random.default_rng(0))
    assert bins is not None
    schedule = to_schedule(instance, packing, bins, 0)
    assert check(instance, schedule, gang=True) == []
    assert cost(instance, schedule) == pytest.approx(expected)


def test_items_without_demand_need_one_node() -> None:
    instance = Instance.build(demand=[[0.0]] * 3, capacity=[[3.0]] * 3)
    assert pack(instance, deployment=0).solution.objective == 1


def test_exchanges_give_up_in_time_where_there_is_no_packing() -> None:
    packing = aggregate(Instance.build(demand=[[2.0]] * 3, capacity=[[3.0]] * 3), 0)
    assert pack_into(packing, 2, np.random.default_rng(0), deadline=0.0) is None


def test_sixty_items_that_fill_nodes_in_threes_are_packed_without_waste() -> None:
    instance = triplets(60, 0)
    answer = pack(instance, deployment=0)
    assert answer.solution.status is Status.OPTIMAL
    assert answer.solution.objective == answer.solution.bound == 20
    assert check(instance, answer.schedule, gang=True) == []
