"""Every exact method against enumeration, the model's own evaluation, and the checker."""

from dataclasses import replace

import numpy as np
import pytest
from aerialedge_cases import enumerated_optimum, instances
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.aerialedge import PROBLEM
from formulations.aerialedge.bounds import INFEASIBLE, conflict_bound, step_bound, volume_bound
from formulations.aerialedge.check import check, cost
from formulations.aerialedge.exact.arc_flow import arc_flow, build_graphs, decode_arc_flow
from formulations.aerialedge.exact.method import pack
from formulations.aerialedge.exact.search import SearchParams
from formulations.aerialedge.generator import hard
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.problem_ae2 import (
    assignment,
    decode_assignment,
    encode_assignment,
    packing_printed,
)
from formulations.aerialedge.problem_ae3 import PatternModel, bins_of, relaxation_bound
from formulations.aerialedge.schedule import Schedule
from formulations.aerialedge.vector_packing import aggregate, to_bins, to_schedule, total_weight
from optsched.errors import InputError, ModelError
from optsched.jit import always
from optsched.solve import solve
from optsched.solvers.deadline import Deadline
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

few = settings(max_examples=25, deadline=None)

MODELS = {"assignment": (assignment, decode_assignment), "arc_flow": (arc_flow, decode_arc_flow)}


@pytest.mark.parametrize("solver", ["highs", "cpsat"])
@pytest.mark.parametrize("name", MODELS)
@given(instance=instances())
@few
def test_models_find_the_enumerated_optimum(name: str, solver: str, instance: Instance) -> None:
    build, decode = MODELS[name]
    model = build(instance, deployment=0)
    solution = solve(model, solver)
    expected = enumerated_optimum(instance)
    if expected is None:
        assert solution.status is Status.INFEASIBLE
        return
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(expected)
    assert model.violations(solution.values) == []
    schedule = decode(instance, solution, deployment=0)
    assert check(instance, schedule, gang=True) == []
    assert cost(instance, schedule) <= expected + 1e-9  # arc-flow may open an empty node


@pytest.mark.parametrize("method", ["auto", "patterns", "arc_flow", "highs", "cpsat"])
@given(instance=instances())
@few
def test_packing_finds_the_enumerated_optimum(method: str, instance: Instance) -> None:
    answer = pack(instance, deployment=0, method=method)
    expected = enumerated_optimum(instance)
    if expected is None:
        assert answer.solution.status is Status.INFEASIBLE
        assert answer.schedule is None
        return
    assert answer.solution.status is Status.OPTIMAL
    assert answer.solution.objective == pytest.approx(expected)
    assert answer.solution.bound == pytest.approx(expected)
    assert check(instance, answer.schedule, gang=True) == []
    assert cost(instance, answer.schedule) == pytest.approx(expected)


@given(instance=instances())
@settings(max_examples=40, deadline=None)
def test_branch_and_price_finds_the_enumerated_optimum_from_nothing(instance: Instance) -> None:
    packing = aggregate(instance, 0)
    outcome = PatternModel(packing).problem().solve(integral_objective=True)
    expected = enumerated_optimum(instance)
    if expected is None:
        assert outcome.status is Status.INFEASIBLE
        return
    assert outcome.status is Status.OPTIMAL
    bins = bins_of(packing, outcome.incumbent)
    assert bins is not None
    schedule = to_schedule(instance, packing, bins, 0)
    assert check(instance, schedule, gang=True) == []
    assert cost(instance, schedule) == pytest.approx(expected)


@given(instance=instances())
@settings(max_examples=60, deadline=None)
def test_no_bound_exceeds_the_optimum(instance: Instance) -> None:
    packing = aggregate(instance, 0)
    expected = enumerated_optimum(instance)
    for bound in (volume_bound, conflict_bound, step_bound):
        value = bound(packing) * packing.weight_unit
        if expected is not None:
            assert value <= expected + 1e-9, bound.__name__
    if expected is not None:
        assert relaxation_bound(packing) * packing.weight_unit <= expected + 1e-6


@given(instance=instances())
@few
def test_symmetry_rows_keep_an_optimum(instance: Instance) -> None:
    values = [solve(assignment(instance, deployment=0, symmetry=s)) for s in (True, False)]
    assert values[0].status is values[1].status
    assert values[0].objective == pytest.approx(values[1].objective)


@given(seed=st.integers(0, 1000), drop=st.integers(0, 11))
@settings(max_examples=8, deadline=None)
def test_one_task_or_node_more_or_less_moves_the_optimum_one_way(seed: int, drop: int) -> None:
    instance = hard(12, np.random.default_rng(seed), jobs=1, node_count=12)
    optimum = pack(instance).solution.objective
    others = np.arange(12) != drop
    fewer = Instance.build(
        demand=instance.demand[others], capacity=instance.capacity, flight_time=1e9
    )
    assert pack(fewer).solution.objective <= optimum
    narrower = replace(
        instance,
        capacity=instance.capacity[:-1],
        node_deployment=instance.node_deployment[:-1],
        node_cost=instance.node_cost[:-1],
    )
    answer = pack(narrower)
    assert answer.solution.status is Status.INFEASIBLE or answer.solution.objective >= optimum


@given(instance=instances())
@few
def test_a_schedule_survives_the_way_through_bins_and_through_the_model(instance: Instance) -> None:
    answer = pack(instance, deployment=0)
    if answer.schedule is None:
        return
    packing = aggregate(instance, 0)
    bins = to_bins(instance, packing, answer.schedule)
    assert total_weight(packing, bins) * packing.weight_unit == pytest.approx(
        cost(instance, answer.schedule)
    )
    model = assignment(instance, deployment=0, symmetry=False)
    values = encode_assignment(instance, answer.schedule)
    assert model.violations(values) == []
    assert model.value(values) == pytest.approx(cost(instance, answer.schedule))


def test_count_and_capacity_differ_on_nodes_of_two_sizes() -> None:
    base = Instance.build(demand=[[1, 1]] * 5, capacity=[[8, 16]] + [[2, 4]] * 3)
    opened = {}
    for objective in ("count", "lex", "capacity"):
        schedule = pack(replace(base, objective=objective)).schedule
        assert schedule is not None
        opened[objective] = base.capacity[schedule.opened, 0].sum()
    assert opened == {"count": 8, "lex": 8, "capacity": 6}


def test_printed_packing_places_nothing(five: Instance) -> None:
    assert solve(packing_printed(five)).objective == 0
    whole = packing_printed(five, granularity="task", exactly_one=True, linked=True)
    assert solve(whole).objective == 2
    with pytest.raises(InputError, match="granularity"):
        packing_printed(five, granularity="node")


def test_an_arc_flow_graph_that_is_too_large_is_refused() -> None:
    instance = Instance.build(
        demand=np.random.default_rng(0).uniform(0.01, 0.1, (60, 2)), capacity=[[2, 3]] * 9
    )
    with pytest.raises(ModelError, match="arcs"):
        arc_flow(instance)


def test_an_arc_flow_graph_is_given_up_in_time(five: Instance) -> None:
    packing = aggregate(five, 0)
    assert len(build_graphs(packing)) == packing.node_types
    with pytest.raises(ModelError, match="time"):
        build_graphs(packing, Deadline(0.0))


def test_a_task_that_fits_nowhere_is_proven_infeasible() -> None:
    instance = Instance.build(demand=[[3.0, 1.0], [1.0, 1.0]], capacity=[[2, 3]] * 5)
    assert volume_bound(aggregate(instance, 0)) == 2
    assert pack(instance, deployment=0).solution.status is Status.INFEASIBLE
    crowded = Instance.build(demand=[[1.5, 0.5]] * 4, capacity=[[2, 4]] * 3)
    assert conflict_bound(aggregate(crowded, 0)) == INFEASIBLE


def test_the_problem_solves_and_verifies_itself() -> None:
    instance = hard(20, np.random.default_rng(2), jobs=2)
    answer = PROBLEM.solve("packing", instance)
    assert answer.solution.status is Status.OPTIMAL
    assert PROBLEM.solve("assignment_cpsat", instance).solution.objective == (
        answer.solution.objective
    )


def test_what_pack_cannot_take_is_refused_in_words(five: Instance) -> None:
    with pytest.raises(InputError, match="method"):
        pack(five, method="magic")
    with pytest.raises(InputError, match="time_limit"):
        pack(five, time_limit=0)
    with pytest.raises(InputError, match="deployment"):
        pack(five, deployment=3)


@pytest.mark.parametrize(
    ("demand", "capacity"),
    [
        ([[1, 0], [1, 1], [1, 0]], [[0, 1], [3, 0], [1, 2]]),
        ([[0, 1], [1, 0], [1, 1], [1, 1]], [[0, 2], [2, 0], [2, 1]]),
    ],
    ids=["feasible", "infeasible"],
)
@pytest.mark.parametrize("compiled", [True, False])
def test_a_node_may_have_nothing_of_a_resource(demand, capacity, compiled) -> None:
    instance = Instance.build(demand=demand, capacity=capacity, objective="lex", flight_time=1e9)
    with always(compiled=compiled):
        solution = PROBLEM.solve("packing", instance).solution
    expected = enumerated_optimum(instance)
    assert solution.status is (Status.INFEASIBLE if expected is None else Status.OPTIMAL)
    assert solution.objective == (None if expected is None else pytest.approx(expected))


def triples(count: int, seed: int) -> Instance:
    """Tasks of which three at a time fill a node, in no order."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(380, 490, count), rng.integers(250, 255, count)
    size = rng.permutation(np.concatenate([first, second, 1000 - first - second]))
    return Instance.build(demand=size[:, None], capacity=[[1000]] * (3 * count), flight_time=1e9)


def test_demands_on_a_coarse_step_are_settled_by_arc_flow_alone() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        instance = Instance.build(
            demand=rng.integers(1, 6, (15, 2)), capacity=[[10, 10]] * 15, flight_time=1e9
        )
        solution = pack(instance).solution
        assert solution.status is Status.OPTIMAL
        assert solution.objective == solve(assignment(instance), "cpsat").objective
        assert "exchange" not in solution.message


@pytest.mark.parametrize("dropped", ["listed", "exchange_steps", "fillings", "small_arcs"])
def test_triples_are_packed_to_proof_without_any_one_step(dropped: str) -> None:
    params = SearchParams(**{dropped: 0})
    solution = pack(triples(4, 0), time_limit=60, params=params).solution
    assert (solution.status, solution.objective) == (Status.OPTIMAL, 4)


def test_the_same_seed_without_a_time_limit_gives_the_same_path() -> None:
    rng = np.random.default_rng(5)
    instance = Instance.build(demand=rng.integers(50, 601, (30, 3)), capacity=[[1000] * 3] * 30)
    answers = [PROBLEM.solve("packing", instance, options=Options(seed=3)) for _ in range(2)]
    first, second = (answer.solution for answer in answers)
    assert first.status is Status.OPTIMAL
    paths = [[(p.bound, p.objective) for p in s.trajectory] for s in (first, second)]
    assert paths[0] == paths[1]
    assert (answers[0].schedule.node == answers[1].schedule.node).all()


def test_search_parameters_are_options_of_the_method() -> None:
    instance = hard(16, np.random.default_rng(1))
    options = PROBLEM.formulations["packing"].takes()
    assert options is not None
    assert options["fillings"] == SearchParams().fillings
    found = PROBLEM.solve("packing", instance, fillings=0, listed=0).solution
    assert found.status is Status.OPTIMAL
    with pytest.raises(InputError, match="exchange_share"):
        PROBLEM.solve("packing", instance, exchange_share=0)


@pytest.mark.parametrize("limit", [1e-6, 1e-3])
def test_however_short_the_limit_there_is_a_packing(limit: float) -> None:
    instance = triples(20, 0)
    answer = pack(instance, time_limit=limit)
    assert check(instance, answer.schedule, gang=True) == []
    better = pack(instance).schedule
    answer = pack(instance, time_limit=limit, start=better)
    assert answer.solution.objective == cost(instance, better)


def test_a_start_that_overloads_a_node_is_no_packing() -> None:
    instance = Instance.build(demand=[[6.0], [6.0]], capacity=[[10]] * 2, flight_time=1e9)
    start = Schedule.build(deployment=0, node=[0, 0], option=[0, 0])
    answer = pack(instance, start=start)
    assert (answer.solution.status, answer.solution.objective) == (Status.OPTIMAL, 2)
    assert check(instance, answer.schedule) == []


def nearly_tied(rng: np.random.Generator, base: int) -> Instance:
    """Tasks and nodes of a few bases each, one or two millionths more or less."""
    size = base * rng.integers(1, 4, (4, 2)) + rng.integers(-1, 3, (4, 2))
    full = [size[rng.random(4) < 0.6].sum(axis=0) + rng.integers(-1, 2, 2) for _ in range(3)]
    return Instance.build(demand=size * 1e-6, capacity=np.maximum(full, 0) * 1e-6)


@pytest.mark.parametrize("base", [10**6, 3 * 10**8, 10**14])
def test_every_method_decides_amounts_that_nearly_tie(base: int) -> None:
    """From a few units up to 1e8 units that differ in the sixth decimal."""
    rng = np.random.default_rng(base % 1009)
    for _ in range(3):
        instance = nearly_tied(rng, base)
        expected = enumerated_optimum(instance)
        for method, solver in (
            ("packing", None), ("assignment", "highs"), ("assignment", "scip"),
            ("assignment", "cbc"), ("assignment_cpsat", None), ("arc_flow", "highs"),
        ):  # fmt: skip
            found = PROBLEM.solve(method, instance, solver=solver).solution
            if expected is None:
                assert found.status is Status.INFEASIBLE, method
            else:
                assert (found.status, found.objective) == (Status.OPTIMAL, expected), method


@pytest.mark.parametrize("objective", ["capacity", "lex", "cost"])
def test_packing_closes_weights_of_millions_that_nearly_tie(objective: str) -> None:
    instance = Instance.build(
        demand=np.array([[31185954], [62371908], [93557861], [62371906]]) * 1e-6,
        capacity=np.array([[187115722], [155929769], [124743815]]) * 1e-6,
        node_cost=[62.371906, 62.371908, 93.557861], objective=objective,
    )  # fmt: skip
    found = pack(instance).solution
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(enumerated_optimum(instance), rel=1e-12)


def test_the_bound_over_patterns_is_a_whole_weight() -> None:
    """Three tasks of which two fit together: 1.5 nodes in fractions."""
    three = Instance.build(demand=[[1.0]] * 3, capacity=[[2.0]] * 3)
    assert relaxation_bound(aggregate(three, 0)) == 2
    assert PROBLEM.bounds["patterns"].compute(three) == 2


@pytest.mark.parametrize("method", ["packing", "assignment", "assignment_cpsat", "arc_flow"])
@pytest.mark.parametrize("costs", [(1.62e-5, 1.58e-5), (3e-9, 1e-9), (2.0, 1.999999)])
def test_small_costs_of_nodes_count_with_as_many_digits(method: str, costs) -> None:
    instance = Instance.build(
        demand=[[1.0]], capacity=[[1.0]] * 2, node_cost=costs, objective="cost"
    )
    answer = PROBLEM.solve(method, instance)
    assert answer.schedule is not None
    assert answer.schedule.opened.tolist() == [1]
    assert answer.solution.objective == pytest.approx(costs[1], rel=1e-12)
