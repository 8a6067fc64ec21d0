"""The tree over completions: never above the optimum, and at it in the end."""

import math
from itertools import pairwise

import numpy as np
import pytest
from batch_cases import tiny_instances
from hypothesis import given, settings

from formulations.batch.domain_reduction import prospects
from formulations.batch.exact.columns import PooledColumns, problem_2_pooled_slots
from formulations.batch.exact.server_cuts import Runs
from formulations.batch.exact.splits import ROUNDING, CompletionTree
from formulations.batch.generator import generate
from formulations.batch.instance import Instance
from formulations.batch.problem_2 import problem_2
from optsched.solve import solve
from optsched.solvers.options import Options


def tree_of(instance: Instance, **options: float) -> CompletionTree:
    columns = PooledColumns(prospects(instance))
    runs = Runs(columns.prospects, *columns.schedules)
    return CompletionTree(columns, runs, [], Options(**options))


@given(instance=tiny_instances())
@settings(max_examples=40, deadline=None)
def test_bounds_rise_and_stay_below_the_optimum(instance: Instance) -> None:
    optimum = solve(problem_2(instance)).objective
    pooled = solve(problem_2_pooled_slots(instance)).objective
    assert optimum is not None
    assert pooled is not None
    tree, bounds = tree_of(instance), []
    while not tree.done and tree.bound < optimum:
        found = tree.step(optimum)  # nothing that costs as much is lost
        if found is not None:
            tree.put_aside(found[0])
        bounds.append(tree.bound)
    assert all(a <= b + ROUNDING for a, b in pairwise(bounds))
    assert pooled - ROUNDING <= tree.bound <= optimum + ROUNDING


def test_what_costs_more_than_what_is_worth_having_is_put_aside_with_its_bound() -> None:
    instance = generate(np.random.default_rng(1), jobs=8, servers=4, types=1, time_scale=0.05)
    first = tree_of(instance)
    assert first.step(math.inf) is None
    least = first.bound
    for more, done in ((0.5 * ROUNDING, True), (2.0 * ROUNDING, False)):
        tree = tree_of(instance)
        assert tree.step(least + more) is None
        assert tree.done == done
        assert tree.bound == pytest.approx(least)


def test_a_relaxation_without_time_leaves_its_node_open() -> None:
    instance = generate(np.random.default_rng(1), jobs=8, servers=4, types=1, time_scale=0.05)
    tree = tree_of(instance, time_limit=1e-9)
    with pytest.raises(TimeoutError):
        tree.step(math.inf)
    assert not tree.done
