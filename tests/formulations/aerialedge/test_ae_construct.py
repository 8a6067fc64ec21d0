"""Nodes filled by knapsacks, and quick rules."""

import numpy as np
import pytest
from aerialedge_cases import enumerated_optimum, instances
from hypothesis import given, settings

from formulations.aerialedge import pack
from formulations.aerialedge.bounds import volume_bound
from formulations.aerialedge.check import check, cost
from formulations.aerialedge.construct import (
    best_start,
    fill_by_knapsack,
    fillings,
    first_fit_decreasing,
    shuffled,
)
from formulations.aerialedge.generator import hard
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.vector_packing import aggregate, to_schedule
from optsched.solvers.solution import Status


@given(instance=instances())
@settings(max_examples=25, deadline=None)
def test_quick_packings_are_feasible_and_no_better_than_the_optimum(instance: Instance) -> None:
    packing = aggregate(instance, 0)
    expected = enumerated_optimum(instance)
    found = [best_start(packing), first_fit_decreasing(packing), *fillings(packing)]
    for bins in found:
        if bins is None:
            continue
        assert expected is not None
        schedule = to_schedule(instance, packing, bins, 0)
        assert check(instance, schedule, gang=True) == []
        assert cost(instance, schedule) >= expected - 1e-9


def test_filling_one_node_type_fills_each_node_best(five: Instance) -> None:
    packing = aggregate(five, 0)
    bins = fill_by_knapsack(packing, np.array([0]), lambda s: packing.shares.sum(axis=1))
    assert bins is not None
    assert len(bins) == 2


def test_patterns_to_begin_with_are_the_same_every_time() -> None:
    packing = aggregate(hard(30, np.random.default_rng(0)), 0)
    assert shuffled(packing, 5) == shuffled(packing, 5)


@pytest.mark.parametrize("seed", range(3))
def test_mixed_sizes_are_closed_although_rules_and_volume_leave_a_gap(seed: int) -> None:
    instance = hard(40, np.random.default_rng(40_000 + seed))
    answer = pack(instance, time_limit=60)
    assert answer.solution.status is Status.OPTIMAL
    packing = aggregate(instance, 0)
    assert volume_bound(packing) <= answer.solution.objective
    assert check(instance, answer.schedule, gang=True) == []
