"""Branch and bound on completions: a node bounds what completes in its slots; trees decide."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from okita_cases import tiny

from formulations.okita import PROBLEM
from formulations.okita.check import check, completion_slots, cost
from formulations.okita.exact import joint_states
from formulations.okita.exact.branch import Tree
from formulations.okita.exact.joint_states import JointSearch
from formulations.okita.exact.method import Search, SearchParams
from formulations.okita.exact.pricing import Ends
from formulations.okita.one_job.paths import path_cost
from optsched.solvers.options import Options


def searched(instance):
    """A search that has made a schedule."""
    search = Search(instance, Options(), None, "safe", SearchParams())
    search.plan()
    return search


def tree_of(search, states, below=np.inf):
    """The tree of a search, in which few states are kept at first."""
    best = search.best
    joint = JointSearch(search.planner.lattices, lambda: not best.closed)

    def relax(pricing):
        return search.relaxed(pricing, search.pricing.made(), None)

    tree = Tree(best, joint, relax, states, below)
    tree.search(search.pricing, search.relaxed(search.pricing, (), None))
    return tree


def optimum(instance):
    """The optimum by the aggregated model."""
    schedule = PROBLEM.solve("problem_2_aggregated", instance).schedule
    return cost(instance, schedule), schedule


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_a_tree_of_few_states_decides_as_the_model_does(seed):
    instance = tiny(seed, jobs=2, sites=2)
    expected, _ = optimum(instance)
    search = searched(instance)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joint_states, "FIRST_STATES", 1)
        patch.setattr(joint_states, "KEPT", 1)
        tree = tree_of(search, (1, 4**6))
    assert search.best.value == pytest.approx(expected)
    assert search.best.bound <= expected * (1 + 1e-9)
    assert search.best.closed
    assert tree.left >= expected * (1 - 1e-8)
    assert check(instance, search.best.schedule) == []


@pytest.mark.parametrize("seed", [4, 7])
def test_a_crowd_that_few_states_leave_open_is_divided_and_proven(monkeypatch, seed):
    instance = PROBLEM.generate(np.random.default_rng(seed), jobs=5, sites=4, horizon=3)
    expected = PROBLEM.solve("problem_2_columns", instance).solution
    assert expected.status == "optimal"
    monkeypatch.setattr(joint_states, "FIRST_STATES", 4)
    monkeypatch.setattr(joint_states, "KEPT", 4)
    search = searched(instance)
    tree = tree_of(search, (4, 4**8))
    assert tree.nodes > 1
    assert search.best.closed
    assert search.best.value == pytest.approx(expected.objective)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_no_schedule_that_completes_in_the_slots_of_a_node_costs_less_than_its_bounds(seed):
    instance, rng = tiny(seed, jobs=2, sites=2), np.random.default_rng(seed)
    known, schedule = optimum(instance)
    search = searched(instance)
    ended = completion_slots(instance, schedule) - instance.release_slot
    whole = search.pricing.ends
    first = np.maximum(ended - rng.integers(0, 2, instance.jobs), 0)
    ends = Ends(first, np.minimum(ended + rng.integers(0, 2, instance.jobs), whole.last))
    pricing = replace(search.pricing, ends=ends)
    found = search.relaxed(pricing, (), None)
    assert found.bound <= known * (1 + 1e-9)
    joint = JointSearch(search.planner.lattices, lambda: True)
    bound, schedule = joint.search(pricing, found.prices, known * (1 + 1e-9), 8192)
    assert bound <= known * (1 + 1e-9)
    assert schedule is not None
    assert cost(instance, schedule) == pytest.approx(known)


def test_a_job_that_completes_too_early_pays_as_if_it_had_waited():
    instance = PROBLEM.generate(np.random.default_rng(1), jobs=2, sites=3, horizon=20)
    search = searched(instance)
    path, plain = search.planner.alone[0][0].trimmed(), search.pricing
    wait = path.last + 1
    late = replace(plain, ends=Ends(plain.ends.first + wait, plain.ends.last))
    cost_of = instance.latency.of_slots(0, wait + 1)
    paid = late.column(0, path).cost - plain.column(0, path).cost
    assert plain.column(0, path).cost == pytest.approx(path_cost(instance, 0, path))
    assert paid == pytest.approx(cost_of[wait] - cost_of[path.last])


def test_nothing_below_the_optimum_is_of_interest_to_a_tree_that_has_no_schedule():
    instance = tiny(3, jobs=2, sites=2)
    expected, _ = optimum(instance)
    for below, infeasible in ((expected * (1 - 1e-6), True), (expected * (1 + 1e-6), False)):
        search = Search(instance, Options(), None, "safe", SearchParams())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(search.best, "offer", lambda schedule: False)
            search.plan()
        tree_of(search, (8192, 8192), below)
        assert search.best.infeasible is infeasible
