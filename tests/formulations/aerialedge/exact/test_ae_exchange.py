"""Packings into given nodes by exchanges, and lighter nodes to try, against enumeration."""

from itertools import product

import numpy as np
import pytest
from aerialedge_cases import enumerated_optimum, instances
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from formulations.aerialedge.check import check, cost
from formulations.aerialedge.construct import first_fit_decreasing
from formulations.aerialedge.exact.exchange import (
    lightened,
    lighter_fleets,
    lightest_fleet,
    pack_into,
)
from formulations.aerialedge.exact.method import pack
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.vector_packing import (
    Bin,
    VectorPacking,
    aggregate,
    to_bins,
    to_schedule,
    total_weight,
)
from optsched.solvers.deadline import Deadline
from optsched.solvers.solution import Status

ENDLESS, OVER = Deadline(None), Deadline(0.0)


@st.composite
def packings(draw: st.DrawFn) -> tuple[Instance, VectorPacking, list[Bin], int]:
    """A small instance in which some packing is known, and its optimum in units of weight."""
    instance = draw(instances(alternatives=False))
    packing = aggregate(instance, 0)
    bins = first_fit_decreasing(
        packing, order=np.array(draw(st.permutations(range(len(packing.weight)))))
    )
    assume(bins is not None)
    expected = enumerated_optimum(instance)
    return instance, packing, bins, round(expected / packing.weight_unit)


def fleet_of(packing: VectorPacking, bins: list[Bin]) -> np.ndarray:
    return np.bincount([b.node_type for b in bins], minlength=packing.node_types)


def triplets(items: int, seed: int) -> Instance:
    """Two-dimensional items that fill nodes in threes without any waste."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(25, 51, (2, items // 3, 2))
    demand = np.concatenate([first, second, 100 - first - second])
    return Instance.build(demand=demand, capacity=[[100, 100]] * items)


@given(case=packings())
@settings(max_examples=60, deadline=None)
def test_exchanges_find_a_packing_on_the_nodes_of_an_optimal_one(case) -> None:
    instance, packing, bins, optimum = case
    best = to_bins(instance, packing, pack(instance, deployment=0).schedule)
    fleet = fleet_of(packing, best)
    assert fleet @ packing.weight == optimum
    for start in ((), bins):
        found = pack_into(packing, fleet, np.random.default_rng(0), ENDLESS, start=start)
        assert found is not None
        assert (fleet_of(packing, found) <= fleet).all()
        schedule = to_schedule(instance, packing, found, 0)
        assert check(instance, schedule, gang=True) == []
        assert cost(instance, schedule) == pytest.approx(optimum * packing.weight_unit)


@given(case=packings(), over=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_lighter_nodes_are_the_heaviest_of_those_that_replace_two(case, over: int) -> None:
    _, packing, bins, optimum = case
    bound, used = optimum + over, fleet_of(packing, bins)
    demand = packing.number @ packing.size
    expected = []
    for fleet in map(np.array, product(*(range(n + 1) for n in packing.available))):
        gone, new = np.maximum(used - fleet, 0).sum(), np.maximum(fleet - used, 0).sum()
        lighter = bound <= fleet @ packing.weight < used @ packing.weight
        if (
            lighter
            and fleet.any()
            and gone <= 2
            and new <= 2
            and (fleet @ packing.capacity >= demand).all()
        ):
            expected.append(fleet)
    found = lighter_fleets(packing, bins, bound)
    assert {tuple(f) for f in found.tolist()} <= {tuple(f) for f in np.array(expected).tolist()}
    for fleet in expected:  # each is left out only for what offers as much, or for ten others
        assert len(found) == 10 or (fleet <= found).all(axis=1).any()
    weight = found @ packing.weight
    assert weight.tolist() == sorted(weight, reverse=True)


@given(case=packings(), under=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_whole_nodes_with_room_bound_the_optimum_and_are_the_lightest(case, under: int) -> None:
    _, packing, _, optimum = case
    at_least = max(0, optimum - under)
    demand = packing.number @ packing.size
    expected = min(
        int(fleet @ packing.weight)
        for fleet in map(np.array, product(*(range(n + 1) for n in packing.available)))
        if fleet.any()
        and (fleet @ packing.capacity >= demand).all()
        and fleet @ packing.weight >= at_least
    )
    bound, fleet = lightest_fleet(packing, at_least)
    assert bound == pytest.approx(expected)
    assert bound <= optimum + 1e-6
    assert fleet @ packing.weight == expected
    assert (fleet @ packing.capacity >= demand).all()
    assert (fleet <= packing.available).all()


def test_between_a_bound_and_the_next_sum_of_weights_there_is_no_packing() -> None:
    instance = Instance.build(
        demand=[[1.0]] * 7, capacity=[[2.0]] * 4 + [[3.0]] * 4, node_cost=[20.0] * 4 + [29.0] * 4,
        objective="cost",
    )  # fmt: skip
    packing = aggregate(instance, 0)
    assert lightest_fleet(packing, 68.0)[0] == pytest.approx(69)  # two of 2 and one of 3
    assert lightest_fleet(packing, 69.0)[0] == pytest.approx(69)
    assert lightest_fleet(packing, 70.0)[0] == pytest.approx(78)  # two of 3 and one of 2


def test_tasks_without_demand_need_a_node() -> None:
    instance = Instance.build(
        demand=[[0.0]] * 3, capacity=[[1.0], [2.0]], node_cost=[0.0, 4.0], objective="cost"
    )
    packing = aggregate(instance, 0)
    bound, fleet = lightest_fleet(packing, 0.0)
    assert (bound, fleet.sum()) == (0.0, 1)
    bins = pack_into(packing, fleet, np.random.default_rng(0), ENDLESS)
    assert check(instance, to_schedule(instance, packing, bins, 0), gang=True) == []


@given(case=packings())
@settings(max_examples=40, deadline=None)
def test_a_lightened_packing_is_lighter_and_never_below_the_optimum(case) -> None:
    instance, packing, bins, optimum = case
    weight, rng = total_weight(packing, bins), np.random.default_rng(0)
    found = lightened(packing, bins, optimum, rng, OVER)
    if found is not None:
        assert optimum <= total_weight(packing, found) < weight
        assert check(instance, to_schedule(instance, packing, found, 0), gang=True) == []


def test_two_small_nodes_give_way_to_a_large_one_and_a_large_one_to_a_small_one() -> None:
    instance = Instance.build(
        demand=[[2.0]] * 4, capacity=[[4.0]] * 2 + [[8.0]] * 2, node_cost=[3.0, 3.0, 5.0, 5.0],
        objective="cost",
    )  # fmt: skip
    packing, rng = aggregate(instance, 0), np.random.default_rng(0)
    small = [Bin(0, (0, 0)), Bin(0, (0, 0))]
    assert lighter_fleets(packing, small, 0).tolist() == [[0, 1]]
    assert lightened(packing, small, 0, rng, ENDLESS) == [Bin(1, (0, 0, 0, 0))]
    assert lighter_fleets(packing, small, 6).tolist() == []  # the bound is inclusive
    large = [Bin(1, (0, 0, 0)), Bin(1, (0,))]
    assert lighter_fleets(packing, large, 0).tolist()[0] == [1, 1]


def test_a_start_may_hold_an_item_more_often_than_needed() -> None:
    instance = Instance.build(demand=[[2.0], [3.0], [3.0]], capacity=[[5.0]] * 3)
    packing = aggregate(instance, 0)
    start = [Bin(0, (0, 0)), Bin(0, (0, 1)), Bin(0, (1,))]
    found = pack_into(packing, np.array([2]), np.random.default_rng(0), ENDLESS, start=start)
    assert sorted(b.options for b in found) == [(0, 1), (1,)]


def test_items_without_demand_need_one_node() -> None:
    instance = Instance.build(demand=[[0.0]] * 3, capacity=[[3.0]] * 3)
    assert pack(instance, deployment=0).solution.objective == 1


def test_exchanges_give_up_in_time_where_there_is_no_packing() -> None:
    packing = aggregate(Instance.build(demand=[[2.0]] * 3, capacity=[[3.0]] * 3), 0)
    assert pack_into(packing, np.array([2]), np.random.default_rng(0), OVER) is None


def test_exchanges_give_up_after_their_steps_if_there_is_no_packing() -> None:
    packing = aggregate(Instance.build(demand=[[2.0]] * 3, capacity=[[3.0]] * 3), 0)
    rng = np.random.default_rng(0)
    assert pack_into(packing, np.array([2]), rng, ENDLESS, steps=1000) is None


def test_sixty_items_that_fill_nodes_in_threes_are_packed_without_waste() -> None:
    instance = triplets(60, 0)
    answer = pack(instance, deployment=0)
    assert answer.solution.status is Status.OPTIMAL
    assert answer.solution.objective == answer.solution.bound == 20
    assert check(instance, answer.schedule, gang=True) == []
