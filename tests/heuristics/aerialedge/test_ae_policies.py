"""The policies: worked examples 7.1 and 7.3, the claims of the paper, and what holds always."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from formulations.aerialedge import PROBLEM, pack
from formulations.aerialedge.check import check, cost
from formulations.aerialedge.generator import hard, make_table3
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.metrics import aet_pooled, gang_times, usage
from formulations.aerialedge.schedule import Schedule
from formulations.aerialedge.tables import DRONES, LEAST_NODES
from heuristics.aerialedge import HEURISTICS
from heuristics.aerialedge.baselines import (
    ORDERS,
    POLICIES,
    TETRIS,
    bottom_level,
    graphene,
    random_at_once,
    random_queued,
    spear,
    tetris,
    troublesome,
)
from heuristics.aerialedge.policy import in_index_order, place_batches, ready_rounds, whole
from heuristics.aerialedge.spear_mcts import search_order, spear_mcts
from heuristics.aerialedge.timeline import ONE_PER_NODE, dag_times, list_times, makespan_dag
from optsched.errors import InputError

RNG = np.random.default_rng
DRONE_NUMBERS = range(1, 7)


def groups(schedule: Schedule) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(schedule.node == b).tolist()) for b in schedule.opened}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("next_fit", [{0, 1}, {2, 3}, {4}]),
        ("first_fit", [{0, 1}, {2, 3}, {4}]),
        ("first_fit_decreasing", [{1, 0}, {2, 4}, {3}]),
    ],
)
def test_fit_rules_need_three_nodes_for_the_five_tasks(
    five: Instance, name: str, expected: list[set[int]]
) -> None:
    schedule = HEURISTICS[name].run(five, RNG(0))
    assert groups(schedule) == {frozenset(group) for group in expected}


def test_alignment_needs_three_nodes_for_the_five_tasks(five: Instance) -> None:
    schedule = place_batches(five, replace(TETRIS, fraction=None))
    assert schedule.node.tolist() == [0, 0, 1, 2, 1]


def test_exact_and_knapsack_packing_need_two_nodes_for_the_five_tasks(five: Instance) -> None:
    for name in ("aerialedge", "pack_greedy"):
        assert cost(five, HEURISTICS[name].run(five, RNG(0))) == 2


def test_makespans_of_the_five_tasks(five: Instance) -> None:
    assert makespan_dag(five, "aerialedge") == 90
    in_order = replace(TETRIS, parts=whole(in_index_order))
    for most, rounds in ((3, [{0, 3}, {1, 4}, {2}]), (1, [{0}, {1}, {2}, {3}, {4}])):
        policy = replace(in_order, fraction=most / 5)
        found = ready_rounds(five, policy, 0)
        assert [set(tasks.tolist()) for tasks in found] == rounds
        total = sum(five.exec_time[tasks].max() for tasks in found)
        assert total == {3: 120, 1: 150}[most]


@pytest.mark.parametrize("drone", DRONE_NUMBERS)
def test_first_fit_ffd_tetris_and_exact_open_the_least_nodes_on_table_3(drone: int) -> None:
    least = LEAST_NODES[drone - 1]
    for seed in range(3):
        instance = make_table3(drone, RNG(seed))
        for name in ("aerialedge", "first_fit", "first_fit_decreasing"):
            assert cost(instance, HEURISTICS[name].run(instance, RNG(0))) == least, name
        shared = tetris(instance, RNG(0), share_nodes_across_batches=True)
        assert cost(instance, shared) == least
        assert cost(instance, HEURISTICS["next_fit"].run(instance, RNG(0))) >= least


@pytest.mark.parametrize(
    ("drone", "placed"), [(2, 9 / 24), (4, 13 / 26), (5, 20 / 38), (6, 38 / 77)]
)
def test_random_places_one_task_per_node(drone: int, placed: float) -> None:
    instance = make_table3(drone, RNG(1))
    schedule = random_at_once(instance, RNG(0))
    assert schedule.placed.mean() == pytest.approx(placed)
    assert usage(instance, schedule).actual_resource_usage == pytest.approx((1, 1))
    assert len(set(schedule.node[schedule.placed])) == schedule.placed.sum()
    assert check(instance, schedule, partial=True) == []


def test_a_quarter_fewer_nodes_than_random_on_drone_1_is_nine_of_twelve() -> None:
    instance = make_table3(1, RNG(0))
    ours = usage(instance, HEURISTICS["aerialedge"].run(instance, RNG(0)))
    theirs = usage(instance, random_queued(instance, RNG(0)))
    assert ours.actual_resource_usage[0] == pytest.approx(0.75)
    assert theirs.actual_resource_usage[0] == pytest.approx(1.0)
    assert ours.utilisation[0] == pytest.approx(0.944, abs=5e-4)
    assert theirs.utilisation[0] == pytest.approx(0.708, abs=5e-4)


def test_batches_on_drone_1_reproduce_the_printed_nodes() -> None:
    for seed in range(3):
        instance = make_table3(1, RNG(seed))
        spears = spear(instance, RNG(0))
        assert cost(instance, spears) == 11
        assert cost(instance, spear(instance, RNG(0), share_nodes_across_batches=True)) == 9
        assert np.bincount(spears.batch).tolist() == [3, 3, 3, 3, 3, 2]
        assert np.bincount(graphene(instance, RNG(0)).batch).max() == 6


@pytest.mark.parametrize("drone", DRONE_NUMBERS)
def test_seventy_seven_times_faster_is_the_number_of_tasks(drone: int) -> None:
    instance = make_table3(drone, RNG(2))
    gang = HEURISTICS["aerialedge"].run(instance, RNG(0))
    one_by_one = random_at_once(instance, RNG(0))
    ratio = aet_pooled(instance, one_by_one) / aet_pooled(instance, gang)
    assert ratio == pytest.approx(DRONES[drone - 1].tasks)
    real = makespan_dag(instance, "random_queued") / makespan_dag(instance, "aerialedge")
    assert 1 <= real < ratio
    if drone == 1:  # a chain: nobody can beat the sequential time
        assert real == pytest.approx(1)


@given(seed=st.integers(0, 10**6), tasks=st.integers(3, 30), spare=st.integers(0, 20))
@example(seed=4210, tasks=3, spare=0)  # three tasks that need three nodes, on two
@settings(max_examples=25, deadline=None)
def test_every_policy_makes_a_feasible_schedule_no_better_than_the_optimum(
    seed: int, tasks: int, spare: int
) -> None:
    instance = hard(tasks, RNG(seed), jobs=min(3, tasks), node_count=tasks // 2 + 1 + spare)
    exact = pack(instance, time_limit=20)
    for name, heuristic in HEURISTICS.items():
        if name == "spear_mcts" and tasks > 12:
            continue
        try:
            schedule = heuristic.run(instance, RNG(0))
        except InputError as refused:  # tasks that wait for a node are no part of the exact model
            if name != "reoptimise" or "there is none" not in str(refused):
                raise
            continue
        assert check(instance, schedule, partial=name == "random_at_once") == [], name
        assert len(np.unique(schedule.batch)) == schedule.batch.max() + 1
        if schedule.placed.all() and not schedule.phase.any():
            assert cost(instance, schedule) >= exact.solution.bound - 1e-9, name


@given(seed=st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_no_policy_beats_the_longest_path_and_none_breaks_a_dependency(seed: int) -> None:
    instance = hard(20, RNG(seed), jobs=3, node_count=15)
    longest = gang_times(instance)[1].max()
    assert bottom_level(instance).max() == pytest.approx(longest)
    for name in ("aerialedge", *ONE_PER_NODE, *POLICIES):
        start, end = dag_times(instance, name)
        assert np.isfinite(end).all(), name
        assert end.max() >= longest - 1e-9, name
        assert (start[instance.edge_child] >= end[instance.edge_parent] - 1e-9).all(), name


def test_scarce_nodes_make_batches_wait() -> None:
    instance = Instance.build(demand=[[2, 1]] * 6, capacity=[[2, 3]] * 2)
    schedule = HEURISTICS["first_fit"].run(instance, RNG(0))
    assert schedule.phase.tolist() == [0, 0, 1, 1, 2, 2]
    assert [v.constraint for v in check(instance, schedule)] == ["13"]
    queued = random_queued(instance, RNG(0))
    assert queued.placed.all()
    assert queued.phase.max() == 2


def test_a_task_that_fits_nowhere_stays_out() -> None:
    instance = Instance.build(demand=[[1, 1], [9, 1], [1, 1]], capacity=[[2, 3]] * 9)
    for name in ("first_fit", "tetris", *ONE_PER_NODE):
        schedule = HEURISTICS[name].run(instance, RNG(0))
        assert schedule.placed.tolist() == [True, False, True], name
    assert np.isinf(dag_times(instance, "first_fit")[1][1])
    assert np.isinf(list_times(instance, 0)[1][1])


def test_troublesome_tasks_are_closed_under_paths() -> None:
    instance = Instance.build(
        demand=[[0.1, 0.1]] * 4, capacity=[[2, 3]], exec_time=[9, 1, 9, 1],
        edges=[(0, 1), (1, 2), (2, 3)],
    )  # fmt: skip
    assert troublesome(instance, 0).tolist() == [True, True, True, False]


def test_alternatives_let_a_policy_use_what_fits() -> None:
    instance = Instance.build(
        demand=[[2, 1], [2, 1]], capacity=[[2, 4]] * 2, alternative_task=[0, 1],
        alternative_demand=[[1, 2], [1, 2]],
    )  # fmt: skip
    assert cost(instance, HEURISTICS["aerialedge"].run(instance, RNG(0))) == 1
    for name in ("first_fit", "tetris", "pack_greedy"):
        assert check(instance, HEURISTICS[name].run(instance, RNG(0))) == [], name


def test_tree_search_is_no_worse_than_the_critical_path_and_repeatable() -> None:
    instance = hard(12, RNG(3), jobs=2, node_count=3)
    first, second = (search_order(instance, 0, RNG(1), budget=20) for _ in range(2))
    assert first.tolist() == second.tolist()
    assert sorted(first.tolist()) == list(range(12))
    with pytest.raises(InputError, match="budget"):
        spear_mcts(instance, RNG(0), budget=0)


def test_an_unknown_policy_is_refused(five: Instance) -> None:
    with pytest.raises(InputError, match="policy"):
        dag_times(five, "magic")


def test_policies_handle_ten_thousand_tasks_on_a_thousand_nodes() -> None:
    rng = RNG(0)
    cpu, mem = rng.choice([0.3, 0.5, 0.8, 1.2], 10_000), rng.uniform(0.2, 2, 10_000)
    instance = Instance.build(demand=np.column_stack([cpu, mem]), capacity=[[32, 64]] * 1000)
    for name in ("next_fit", "first_fit_decreasing", "tetris", "graphene"):
        schedule = HEURISTICS[name].run(instance, RNG(0))
        assert check(instance, schedule) == [], name


def test_where_many_sorts_are_left_a_node_chooses_from_a_sample_of_them() -> None:
    rng = RNG(0)
    demand = np.column_stack([rng.uniform(0.2, 1.2, 400), rng.uniform(0.2, 2, 400)])
    instance = Instance.build(demand=demand, capacity=[[8, 12]] * 80)
    sampled = HEURISTICS["pack_greedy"].run(instance, RNG(0), offered=30)
    assert check(instance, sampled) == []
    assert cost(instance, sampled) <= 1.1 * np.ceil((demand.sum(axis=0) / [8, 12]).max())


def test_the_problem_knows_the_heuristics() -> None:
    from optsched.problem import problem

    assert set(HEURISTICS) <= set(problem("aerialedge").heuristics)
    assert PROBLEM.reference == "packing"


@pytest.mark.parametrize("seed", range(5))
def test_the_best_order_opens_no_more_nodes_than_first_fit_decreasing_or_alignment(seed):
    instance = PROBLEM.generate(RNG(seed), kind="hard", tasks=30)
    best = HEURISTICS["best_order"].run(instance, RNG(0))
    assert check(instance, best) == []
    costs = [cost(instance, place_batches(instance, policy)) for policy in ORDERS]
    assert cost(instance, best) == min(costs)
    assert cost(instance, best) <= cost(instance, tetris(instance, RNG(0)))
