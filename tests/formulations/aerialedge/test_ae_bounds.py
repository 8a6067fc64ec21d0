"""The bounds that need no solver, by hand."""

import numpy as np
import pytest
from aerialedge_cases import enumerated_optimum, instances
from hypothesis import given, settings

from formulations.aerialedge import bounds
from formulations.aerialedge.bounds import (
    INFEASIBLE,
    conflict_bound,
    covering,
    lower_bound,
    step_bound,
    volume_bound,
)
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.vector_packing import VectorPacking, aggregate


def packing(
    demand: list[list[float]], capacity: list[list[float]], cost: list[float] | None = None
) -> VectorPacking:
    objective = {} if cost is None else {"objective": "cost", "node_cost": cost}
    return aggregate(Instance.build(demand=demand, capacity=capacity, **objective), 0)


@given(instance=instances())
@settings(max_examples=60, deadline=None)
def test_no_bound_exceeds_the_optimum(instance: Instance) -> None:
    problem = aggregate(instance, 0)
    optimum = enumerated_optimum(instance)
    least = lower_bound(problem) * problem.weight_unit
    assert optimum is None or least <= optimum + 1e-9


def test_covering_takes_the_nodes_that_are_cheapest_for_what_they_hold() -> None:
    # 4 for 2 and 1 for 1: the two small nodes first, then half of the large one, rounded up
    nodes = packing([[1]], [[2], [1], [1]], [4, 1, 1])
    supply = nodes.capacity[:, 0]
    assert [covering(d, supply, nodes) for d in (0, 1, 1.5, 2, 2.25, 3, 4)] == [0, 1, 2, 2, 3, 4, 6]
    assert covering(-1, supply, nodes) == 0
    assert covering(1e-12, supply, nodes) == 0


def test_covering_proves_infeasible_what_exceeds_all_supply() -> None:
    nodes = packing([[1]], [[2], [1], [1]], [4, 1, 1])
    supply = nodes.capacity[:, 0]
    assert covering(4 * (1 + 0.9e-9), supply, nodes) == 6
    assert covering(4 * (1 + 1.1e-9), supply, nodes) == INFEASIBLE
    assert covering(5, supply, nodes) == INFEASIBLE


def test_covering_leaves_nodes_aside_that_supply_nothing() -> None:
    nodes = packing([[1, 0]], [[0, 2], [2, 2]], [1, 2])
    assert covering(1, nodes.capacity[:, 0], nodes) == 1
    assert covering(2, nodes.capacity[:, 0], nodes) == 2
    assert covering(2.5, nodes.capacity[:, 0], nodes) == INFEASIBLE


@pytest.mark.parametrize(
    ("demand", "least"), [(1 + 0.9e-9, 1), (1 + 1.1e-9, 2), (0.5, 1), (0.5e-9, 0), (2e-9, 1)]
)
def test_rounding_up_forgives_a_billionth(demand: float, least: int) -> None:
    nodes = packing([[1]] * 3, [[1]] * 3)
    assert covering(demand, np.array([1]), nodes) == least


@pytest.mark.parametrize(("demand", "least"), [(3 * (1 + 0.9e-9), 3), (3 * (1 + 1.1e-9), 4)])
def test_the_billionth_is_relative(demand: float, least: int) -> None:
    nodes = packing([[1]] * 9, [[1]] * 9)
    assert covering(demand, np.array([1]), nodes) == least


def test_volume_takes_the_scarcest_resource() -> None:
    assert volume_bound(packing([[1, 3]] * 3, [[4, 4]] * 5)) == 3
    assert volume_bound(packing([[3, 1]] * 3, [[4, 4]] * 5)) == 3
    assert volume_bound(packing([[1, 1]] * 4, [[4, 4]] * 5)) == 1


def test_items_of_which_no_two_fit_together_need_a_node_each() -> None:
    # by volume two nodes of four would do
    large = packing([[1.5], [1.75], [1.6]], [[3]] * 4)
    assert (volume_bound(large), conflict_bound(large)) == (2, 3)
    # two of 1.5 fit, so that one of them counts once
    assert conflict_bound(packing([[1.5], [1.5], [1.6]], [[3]] * 4)) == 2
    assert conflict_bound(packing([[1.6], [1.6], [1.7], [1]], [[3]] * 4)) == 3
    assert conflict_bound(packing([[1], [1.5]], [[3]] * 4)) == 1


def test_a_pair_is_apart_only_if_no_node_of_any_type_takes_it_in_every_resource() -> None:
    items = [[1.5, 1], [1.6, 1]]
    assert conflict_bound(packing(items, [[3, 9]] * 4)) == 2
    assert conflict_bound(packing(items, [[3.5, 9], [3, 9]])) == 1
    assert conflict_bound(packing(items, [[9, 1.5], [3.5, 1.75]])) == 2
    assert conflict_bound(packing(items, [[9, 1.5], [3, 9]])) == 2
    assert conflict_bound(packing([[1.5, 1], [1, 1.5]], [[2.5, 2.5]] * 2)) == 1


def test_conflicting_items_pay_for_the_cheapest_nodes_there_are() -> None:
    items = [[1.6], [1.7], [1.8]]
    assert conflict_bound(packing(items, [[3]] * 4, [5, 2, 3, 9])) == 2 + 3 + 5
    assert conflict_bound(packing(items, [[3]] * 3, [2, 2, 3])) == 2 + 2 + 3
    assert conflict_bound(packing(items, [[3]] * 2)) == INFEASIBLE


def test_the_clique_may_begin_at_an_item_that_few_others_are_apart_from() -> None:
    """The first item is apart from four others, which fit together; three are apart pairwise."""
    hub = [[9, 9, 9, 9, 0]]
    spokes = (2 * np.eye(5)[:4]).tolist()
    clique = [[0, 0, 0, 0, size] for size in (6, 7, 8)]
    assert conflict_bound(packing(hub + spokes + clique, [[10] * 5] * 9)) == 3


def test_steps_count_large_items_whole_and_small_ones_not_at_all() -> None:
    # 6 + 6 + 5 + 5 + 5: by volume 2.7, but no node takes a 6 with a 5
    items = packing([[6.0]] * 2 + [[5.0]] * 3, [[10.0]] * 6)
    assert (volume_bound(items), conflict_bound(items), step_bound(items)) == (3, 3, 4)
    assert lower_bound(items) == 4
    # at q = 4 the 6 counts 6, the 7 whole
    assert step_bound(packing([[6.0], [4.0]], [[10.0]] * 3)) == 1
    assert step_bound(packing([[7.0], [4.0]], [[10.0]] * 3)) == 2
    # the small item counts nothing at q = 4, the others fill two nodes
    assert step_bound(packing([[7.0], [4.0], [1.0]], [[10.0]] * 3)) == 2


def test_steps_look_at_every_resource_and_only_at_identical_nodes() -> None:
    first = [[6.0, 1.0]] * 2 + [[5.0, 1.0]] * 3
    second = [[b, a] for a, b in first]
    assert step_bound(packing(first, [[10.0, 99.0]] * 6)) == 4
    assert step_bound(packing(second, [[99.0, 10.0]] * 6)) == 4
    assert step_bound(packing(first, [[10.0, 99.0]] * 5 + [[11.0, 99.0]])) == 0


def test_the_lower_bound_is_the_best_of_all() -> None:
    assert lower_bound(packing([[1, 3]] * 3, [[4, 4]] * 5)) == 3
    assert lower_bound(packing([[1.5], [1.75], [1.6]], [[3]] * 4)) == 3
    assert lower_bound(packing([[5]], [[3]] * 4)) == INFEASIBLE


def test_nodes_that_weigh_and_supply_nothing_are_of_no_use() -> None:
    nodes = packing([[1, 1]], [[0, 2], [1, 1]], [0, 1])
    assert covering(1, nodes.capacity[:, 0], nodes) == 1
    assert covering(2, nodes.capacity[:, 0], nodes) == INFEASIBLE


def test_small_items_count_nothing_however_many() -> None:
    # at q = 4: 7 counts 10 and 4 counts 4
    assert step_bound(packing([[7.0], [4.0]] + [[1.0]] * 7, [[10.0]] * 9)) == 2
    # at q = 40: three times 100 and 40; the small ones take nothing off
    large = [[61.0]] * 3 + [[40.0]]
    assert step_bound(packing(large + [[1.0]] * 50, [[100.0]] * 9)) == 4


def test_steps_say_nothing_of_items_that_are_all_large_or_all_nothing() -> None:
    assert step_bound(packing([[6.0], [7.0]], [[10.0]] * 3)) == 0
    assert step_bound(packing([[0.0]], [[10.0]] * 3)) == 0


def test_pairs_are_compared_up_to_a_number_of_types(monkeypatch: pytest.MonkeyPatch) -> None:
    items = packing([[1.6], [1.7], [1.8]], [[3]] * 4)
    monkeypatch.setattr(bounds, "_PAIRS", 3)
    assert conflict_bound(items) == 3
    monkeypatch.setattr(bounds, "_PAIRS", 2)
    assert conflict_bound(items) == 0
