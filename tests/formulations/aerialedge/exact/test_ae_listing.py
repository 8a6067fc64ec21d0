"""Prices, the patterns that they leave, and the lightest packing of these, against enumeration."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from aerialedge_cases import enumerated_optimum, instances
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from formulations.aerialedge.check import check, cost
from formulations.aerialedge.exact.listing import (
    DualPrices,
    dual_prices,
    lightest,
    list_patterns,
    size_prices,
)
from formulations.aerialedge.exact.method import pack
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.problem_ae3 import PatternModel
from formulations.aerialedge.vector_packing import VectorPacking, aggregate, to_schedule


def maximal(packing: VectorPacking, node_type: int) -> Iterator[np.ndarray]:
    """Units of every pattern with room for no item more."""
    each = packing.number[packing.type_of_option]

    def fits(units: np.ndarray) -> bool:
        used = np.bincount(packing.type_of_option, units, packing.task_types)
        load = units @ packing.size
        return bool((used <= packing.number).all() and (load <= packing.capacity[node_type]).all())

    for units in map(np.array, product(*(range(n + 1) for n in each))):
        more = units + np.eye(len(units), dtype=int)
        if fits(units) and not any(fits(row) for row in more):
            yield units


@st.composite
def priced(draw: st.DrawFn) -> tuple[Instance, VectorPacking, DualPrices, int]:
    """An instance that can be packed, any prices, and its optimum in units of weight."""
    instance = draw(instances(most_tasks=5))
    expected = enumerated_optimum(instance)
    assume(expected is not None)
    packing = aggregate(instance, 0)
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    scale = float(packing.weight.max()) * draw(st.sampled_from([0.3, 0.6, 1.5]))
    duals = rng.uniform(-0.2, 1, packing.task_types)
    knapsacks = PatternModel(packing).knapsacks
    prices = dual_prices(packing, knapsacks, scale * duals)
    return instance, packing, prices, round(expected / packing.weight_unit)


@given(case=priced())
@settings(max_examples=60, deadline=None)
def test_no_pattern_costs_less_than_its_items_and_no_packing_than_the_bound(case) -> None:
    _, packing, prices, optimum = case
    assert prices.bound <= optimum
    for s in range(packing.node_types):
        for units in maximal(packing, s):
            paid = int(packing.weight[s]) * prices.unit + int(prices.node[s])
            assert int(prices.item[packing.type_of_option] @ units) <= paid


@given(case=priced(), over=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_listed_are_the_patterns_whose_cost_beyond_the_items_is_left(case, over: int) -> None:
    _, packing, prices, optimum = case
    weight = optimum + over
    listing = list_patterns(packing, PatternModel(packing).knapsacks, prices, weight)
    expected = set()
    for s in range(packing.node_types):
        for units in maximal(packing, s):
            worth = int(prices.item[packing.type_of_option] @ units)
            paid = int(packing.weight[s]) * prices.unit + int(prices.node[s])
            if paid - worth <= weight * prices.unit - prices.value:
                expected.add((s, *units.tolist()))
    found = np.column_stack([listing.node_type, listing.units.toarray()])
    assert len(found) == len(expected)
    assert {tuple(row) for row in found.tolist()} == expected


@given(case=priced(), over=st.integers(-1, 2))
@settings(max_examples=60, deadline=None)
def test_the_lightest_packing_is_found_from_the_optimum_on_and_refuted_below(
    case, over: int
) -> None:
    instance, packing, prices, optimum = case
    weight = optimum + over
    listing = list_patterns(packing, PatternModel(packing).knapsacks, prices, weight)
    found = lightest(packing, listing)
    if over < 0:
        assert found.bins is None
        assert found.bound == optimum
        return
    if weight > prices.bound:  # else any within the limit will do
        assert found.bound == pytest.approx(optimum)
    schedule = to_schedule(instance, packing, found.bins, 0)
    assert check(instance, schedule, gang=True) == []
    assert cost(instance, schedule) == pytest.approx(optimum * packing.weight_unit)


@pytest.mark.parametrize("price", [0.0, 1e-12])
@pytest.mark.parametrize("small", [1, 2, 5])
def test_items_that_cost_nothing_fill_every_node_of_a_packing_at_its_bound(
    small: int, price: float
) -> None:
    """Ten large items, one a node, and small ones: patterns without room hold all of these."""
    demand = [[6.0]] * 10 + [[0.5]] * small
    packing = aggregate(Instance.build(demand=demand, capacity=[[10.0]] * (10 + small)), 0)
    knapsacks, large = PatternModel(packing).knapsacks, packing.number == 10
    prices = dual_prices(packing, knapsacks, np.where(large, 1.0, price))
    assert prices.bound == 10
    for weight in (10, 11):
        found = lightest(packing, list_patterns(packing, knapsacks, prices, weight))
        assert found.bound == len(found.bins) == 10
    assert lightest(packing, list_patterns(packing, knapsacks, prices, 9)).bound == 10


def without_room(bins: int, rng: np.random.Generator) -> Instance:
    """Three items for each of some nodes of 30 x 30, which they fill."""
    first, second = rng.integers(8, 15, (2, bins, 2))
    demand = np.concatenate([first, second, 30 - first - second]).astype(float)
    return Instance.build(demand=demand, capacity=[[30, 30]] * (3 * bins))


@given(bins=st.integers(2, 5), seed=st.integers(0, 10**6))
@example(bins=2, seed=739)  # one bin more pays for seven of an item, and six nodes hold six
@settings(max_examples=30, deadline=None)
def test_where_no_room_is_left_patterns_are_full_and_hold_items_no_oftener_than_needed(
    bins: int, seed: int
) -> None:
    packing = aggregate(without_room(bins, np.random.default_rng(seed)), 0)
    knapsacks, duals = PatternModel(packing).knapsacks, size_prices(packing)
    assert packing.number @ duals == pytest.approx(bins)
    prices = dual_prices(packing, knapsacks, duals)
    assert prices.bound == bins
    listing = list_patterns(packing, knapsacks, prices, bins)
    assert (listing.units @ packing.size == packing.capacity[0]).all()
    assert (listing.most == packing.number).all()
    found = lightest(packing, listing)
    assert found.bins is not None
    assert len(found.bins) == found.bound == bins
    roomy = list_patterns(packing, knapsacks, prices, bins + 1)
    cheap = int(prices.item.argmin())
    needed, paid = packing.number[cheap], int(prices.unit / (2 * prices.item[cheap]))
    assert roomy.most[cheap] >= min(needed + paid, needed * 3 * bins)  # all nodes hold no more


def test_prices_by_size_are_of_the_resources_that_bound_best_alone() -> None:
    demand = [[7.0, 1.0, 7.0], [5.0, 1.0, 5.0]]
    capacity = [[10.0, 10.0, 10.0], [20.0, 20.0, 10.0]]
    instance = Instance.build(
        demand=demand, capacity=capacity, node_cost=[1.0, 2.0], objective="cost"
    )
    by_size = size_prices(aggregate(instance, 0))  # bounds alone: 1.2, 0.2, 1.2 small nodes
    assert by_size.tolist() == pytest.approx([0.5, 0.7])


def two_sizes_in_two_dimensions(items: int, seed: int) -> Instance:
    """Bins of 100 x 100 and of 150 x 150, at 100 and 150."""
    rng = np.random.default_rng([items, seed])
    capacity = np.repeat([[100.0, 100.0], [150.0, 150.0]], items, axis=0)
    return Instance.build(
        demand=rng.integers(20, 101, (items, 2)).astype(float), capacity=capacity,
        node_cost=capacity[:, 0], objective="cost",
    )  # fmt: skip


def test_a_packing_known_limits_the_nodes_that_prices_allow_for() -> None:
    packing = aggregate(two_sizes_in_two_dimensions(20, 0), 0)
    knapsacks = PatternModel(packing).knapsacks
    duals = packing.size.sum(axis=1) / 150.0
    every = dual_prices(packing, knapsacks, duals)
    fewer = dual_prices(packing, knapsacks, duals, best=20)
    assert every.node.any()
    assert every.node.tolist() == fewer.node.tolist()
    assert fewer.value - every.value == int(every.node @ (packing.available - 20 // packing.weight))


def test_patterns_without_number_are_given_up() -> None:
    packing = aggregate(two_sizes_in_two_dimensions(40, 0), 0)
    knapsacks = PatternModel(packing).knapsacks
    prices = dual_prices(packing, knapsacks, np.zeros(packing.task_types))
    assert list_patterns(packing, knapsacks, prices, 60, most=100) is None


def test_sixty_items_in_bins_of_two_sizes_are_packed_to_proof() -> None:
    instance = two_sizes_in_two_dimensions(60, 1)
    answer = pack(instance, deployment=0)
    assert answer.solution.objective == answer.solution.bound
    assert check(instance, answer.schedule, gang=True) == []
