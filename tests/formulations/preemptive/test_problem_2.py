"""Problem (2): its two models, the enumerated optimum, the model's and the paper's own checks."""

from dataclasses import replace

import numpy as np
import preemptive_enumeration as brute_force
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import OPTIMUM, examples, instances

from formulations.preemptive.check import check, cost
from formulations.preemptive.instance import CLOUD, Instance
from formulations.preemptive.problem_2 import (
    decode_problem_2,
    decode_problem_2_compact,
    encode_problem_2_compact,
    problem_2,
    problem_2_compact,
)
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.time_indexed.grid import build_grid
from heuristics.preemptive.a_online import a_online
from heuristics.preemptive.all_cloud import all_cloud
from optsched.solve import solve
from optsched.solvers.solution import Status


def agree_on_problem_2(instance: Instance, solver: str, *, ps_delay_applies: bool = False) -> float:
    """The optimum, once enumeration, model and checker have confirmed it."""
    expected = brute_force.problem_2(instance, ps_delay_applies=ps_delay_applies)
    model = problem_2(instance, ps_delay_applies=ps_delay_applies)
    solution = solve(model, solver)
    if expected == np.inf:
        assert solution.status is Status.INFEASIBLE
        return expected
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(expected, abs=OPTIMUM)
    assert model.violations(solution.values) == []
    schedule = decode_problem_2(instance, solution, ps_delay_applies=ps_delay_applies)
    assert check(instance, schedule, slotted=True, ps_delay_applies=ps_delay_applies) == []
    assert cost(instance, schedule) == pytest.approx(expected, abs=OPTIMUM)
    return expected


def agree_on_the_compact_model(instance: Instance) -> float:
    """The optimum, once enumeration, model and checker have confirmed it."""
    expected = brute_force.problem_2(instance)
    model = problem_2_compact(instance)
    solution = solve(model, "highs")
    if expected == np.inf:
        assert solution.status is Status.INFEASIBLE
        return expected
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(expected, abs=OPTIMUM)
    assert model.violations(solution.values) == []
    schedule = decode_problem_2_compact(instance, solution)
    assert check(instance, schedule, slotted=True) == []
    assert cost(instance, schedule) == pytest.approx(expected, abs=OPTIMUM)
    return expected


# optima


def test_problem_2_of_the_worked_example_costs_15_and_21_at_half_speed(
    example: Instance, doubled: Instance
) -> None:
    for solver in ("highs", "cpsat"):
        assert agree_on_problem_2(example, solver) == 15
        assert agree_on_problem_2(doubled, solver) == 21
    assert agree_on_the_compact_model(example) == 15
    assert agree_on_the_compact_model(doubled) == 21


def test_a_and_b_in_the_cloud_and_c_at_the_edge_are_optimal_in_the_worked_example(
    example: Instance,
) -> None:
    a, b, c = 0, 1, 2
    chunks = [(j, d, CLOUD, 5, 7) for j in (a, b) for d in range(3)]
    schedule = Schedule.build(
        runs=[*chunks, (c, 0, 0, 3, 5)],
        services=[(a, CLOUD, 5, 7), (b, CLOUD, 5, 7), (c, 0, 3, 5)],
        together=[True, True, False],
    )
    assert check(example, schedule, slotted=True, ps_delay_applies=True) == []
    assert cost(example, schedule) == brute_force.problem_2(example) == 15


@given(data=st.data(), ps_delay_applies=st.booleans())
@examples(60)
def test_cpsat_solves_problem_2_to_the_enumerated_optimum(data, ps_delay_applies):
    instance = data.draw(instances(fractional=data.draw(st.booleans())))
    agree_on_problem_2(instance, "cpsat", ps_delay_applies=ps_delay_applies)


@given(data=st.data(), ps_delay_applies=st.booleans())
@examples(40)
def test_problem_2_knows_eligibility_by_table(data, ps_delay_applies):
    instance = data.draw(instances(tables=True, fractional=data.draw(st.booleans())))
    agree_on_problem_2(instance, "cpsat", ps_delay_applies=ps_delay_applies)


@given(instance=instances(jobs=(2,)), ps_delay_applies=st.booleans())
@examples(15)
def test_highs_solves_problem_2_to_the_enumerated_optimum(instance, ps_delay_applies):
    agree_on_problem_2(instance, "highs", ps_delay_applies=ps_delay_applies)


@given(data=st.data())
@examples(50)
def test_the_compact_model_has_the_enumerated_optimum_of_problem_2(data):
    fractional, tables = data.draw(st.booleans()), data.draw(st.booleans())
    agree_on_the_compact_model(data.draw(instances(fractional=fractional, tables=tables)))


@given(data=st.data())
@examples(40)
def test_a_horizon_cuts_problem_2_as_it_cuts_enumeration(data):
    instance = replace(data.draw(instances(jobs=(2,))), horizon=data.draw(st.integers(1, 14)))
    agree_on_problem_2(instance, "cpsat", ps_delay_applies=data.draw(st.booleans()))
    agree_on_the_compact_model(instance)


# single facts


def two_far_parameter_servers(delay: float = 3) -> Instance:
    """Jobs of one slot at server 0 whose only edge parameter server is at server 1."""
    return Instance.build(
        release_time=[0, 0],
        num_chunks=1,
        chunk_time_slow=1,
        upload_delay_edge=[[0, delay], [0, delay]],
        upload_delay_cloud=np.inf,
        worker_server=[0, 0],
        ps_server=[1],
    )


def test_parameter_servers_of_the_cloud_serve_at_once_unless_their_delay_applies():
    instance = two_far_parameter_servers()
    assert agree_on_problem_2(instance, "cpsat") == 2
    # barred from the cloud's servers, the jobs queue for the one at the edge from slot 3 on
    assert agree_on_problem_2(instance, "cpsat", ps_delay_applies=True) == 4 + 5
    assert agree_on_problem_2(two_far_parameter_servers(40), "highs", ps_delay_applies=True) == 83


def test_without_any_parameter_server_in_reach_problem_2_is_infeasible():
    instance = replace(two_far_parameter_servers(), explicit_ps_eligible=np.zeros((2, 1), bool))
    assert agree_on_problem_2(instance, "cpsat", ps_delay_applies=True) == np.inf


def test_work_is_rounded_up_per_job_not_per_chunk():
    """Three chunks of 1.1 slots are four worker-slots, which two workers do in two slots."""
    instance = Instance.build(
        release_time=[0],
        num_chunks=3,
        chunk_time_slow=1.1,
        upload_delay_edge=[[0]],
        upload_delay_cloud=np.inf,
        worker_server=[0, 0],
    )
    assert agree_on_problem_2(instance, "cpsat") == 2
    assert agree_on_the_compact_model(instance) == 2


def test_a_job_barred_from_the_cloud_waits_for_its_worker():
    instance = Instance.build(
        release_time=[0, 0],
        num_chunks=1,
        chunk_time_slow=[3, 2],
        upload_delay_edge=[[0], [0]],
        upload_delay_cloud=[np.inf, 1],
        worker_server=[0],
    )
    schedule = decode_problem_2_compact(instance, solve(problem_2_compact(instance), "highs"))
    assert agree_on_the_compact_model(instance) == agree_on_problem_2(instance, "highs") == 6
    assert schedule.run_worker[schedule.run_job == 0].tolist() == [0]
    barred = replace(instance, upload_delay_cloud=np.array([np.inf, np.inf]))
    assert agree_on_the_compact_model(barred) == agree_on_problem_2(barred, "highs") == 2 + 5


def test_without_edge_workers_every_job_runs_in_the_cloud():
    instance = Instance.build(
        release_time=[0, 2],
        num_chunks=[3, 1],
        chunk_time_slow=[3, 2],
        chunk_time_fast=[2, 1],
        upload_delay_edge=np.zeros((2, 0)),
        upload_delay_cloud=4,
        worker_server=np.zeros(0),
    )
    assert agree_on_problem_2(instance, "highs") == 6 + 5
    assert agree_on_the_compact_model(instance) == 6 + 5


@pytest.mark.parametrize("horizon", [1, 2, 4])
def test_a_horizon_too_short_for_any_schedule_is_a_status(example: Instance, horizon: int) -> None:
    instance = replace(example, horizon=horizon)
    for model in (problem_2(instance), problem_2_compact(instance)):
        assert solve(model, "highs").status is Status.INFEASIBLE
    assert solve(problem_2(instance), "cpsat").status is Status.INFEASIBLE


def test_a_horizon_that_begins_after_every_release_leaves_no_slot_at_all():
    instance = replace(
        Instance.build(
            release_time=[5],
            num_chunks=1,
            chunk_time_slow=1,
            upload_delay_edge=[[0]],
            upload_delay_cloud=2,
            worker_server=[0],
        ),
        horizon=2,
    )
    assert agree_on_problem_2(instance, "highs") == np.inf
    assert agree_on_the_compact_model(instance) == np.inf


# starts


@given(data=st.data())
@examples(40)
def test_completion_times_of_a_schedule_are_a_feasible_start_for_the_compact_model(data):
    """Fixed as they are, they extend to a point that costs no more than the schedule."""
    instance = data.draw(instances(jobs=(2, 4), tables=data.draw(st.booleans())))
    run = a_online(instance, np.random.default_rng(0))
    model = problem_2_compact(instance)
    start = encode_problem_2_compact(instance, run)
    model.add("start", model["pending"] == start["pending"])
    solution = solve(model, "highs")
    assert solution.status is Status.OPTIMAL
    assert solution.objective <= cost(instance, run)


def test_the_solver_keeps_a_start_it_has_no_time_to_improve(example: Instance) -> None:
    run = all_cloud(example, np.random.default_rng(0))
    start = encode_problem_2_compact(example, run)
    solution = solve(
        problem_2_compact(example), "highs", warm_start=start, extra={"mip_max_nodes": 0}
    )
    assert solution.has_point
    assert solution.objective <= cost(example, run) == 17


def test_the_decoded_schedule_serves_each_running_job_by_one_parameter_server(
    example: Instance,
) -> None:
    schedule = decode_problem_2_compact(example, solve(problem_2_compact(example), "highs"))
    assert np.all(schedule.service_ps == CLOUD)
    for j in range(example.jobs):
        runs, services = schedule.run_job == j, schedule.service_job == j
        assert schedule.service_start[services].min() == schedule.run_start[runs].min()
        assert schedule.service_end[services].max() == schedule.run_end[runs].max()


def test_2c_leaves_a_job_that_is_whole_in_the_cloud_no_worker_elsewhere(example: Instance) -> None:
    """D_j (A_j(t) - zeta_j) is nothing for A and B, which the optimum puts there."""
    model, grid = problem_2_compact(example), build_grid(example)
    best = dict(solve(model, "highs").values)
    assert model.violations(best) == []
    for name, job in (("y", grid.cell_job), ("x", grid.cloud_job)):
        for cell in np.flatnonzero(job != 2).tolist():
            more = {**best, name: best[name].copy()}
            more[name][cell] = 1
            assert {violation.block for violation in model.violations(more)} == {"2c"}


def test_2c_wants_no_more_workers_than_chunks_before_completion_and_none_after() -> None:
    alone = Instance.build(
        release_time=0, num_chunks=2, chunk_time_slow=2, chunk_time_fast=1,
        upload_delay_edge=0, upload_delay_cloud=9, worker_server=[0] * 4, ps_server=[0],
    )  # fmt: skip
    model, grid = problem_2_compact(alone), build_grid(alone)
    best = dict(solve(model, "highs").values)
    early = np.where(grid.cell_slot < 2, 2.0, 0.0)  # two workers for two slots
    assert model.violations({**best, "y": early}) == []
    for slot, workers in ((0, 3.0), (2, 1.0)):
        more = np.where(grid.cell_slot == slot, workers, early)
        broken = {violation.block for violation in model.violations({**best, "y": more})}
        assert "2c" in broken
