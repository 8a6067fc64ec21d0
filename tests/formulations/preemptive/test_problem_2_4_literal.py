"""The models under the paper's numbers have the optima of the others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import examples, instances, worked_example

from formulations.preemptive.check import check, cost
from formulations.preemptive.instance import Instance
from formulations.preemptive.problem_2 import problem_2
from formulations.preemptive.problem_2_4_literal import (
    decode_problem_2_literal,
    problem_2_literal,
    problem_4_literal,
)
from formulations.preemptive.problem_4 import problem_4
from optsched.solve import solve
from optsched.solvers.solution import Status


@given(data=st.data(), ps_delay_applies=st.booleans())
@examples(12)
def test_problem_2_row_by_row_has_the_optimum_of_the_model_that_counts_workers(
    data, ps_delay_applies
):
    instance = data.draw(instances(jobs=(2,), tables=data.draw(st.booleans())))
    options = {"ps_delay_applies": ps_delay_applies}
    counted = solve(problem_2(instance, **options), "cpsat")
    model = problem_2_literal(instance, **options)
    solution = solve(model, "cpsat")
    assert solution.status is counted.status
    if solution.status is Status.INFEASIBLE:
        return
    assert not model.violations(solution.values)
    made = decode_problem_2_literal(instance, solution, **options)
    assert check(instance, made, slotted=True, **options) == []
    assert cost(instance, made) == solution.objective == counted.objective


@given(data=st.data(), ps_delay_applies=st.booleans())
@examples(12)
def test_problem_4_row_by_row_has_the_optimum_of_the_model_without_what_never_binds(
    data, ps_delay_applies
):
    """With (4c), (4d), (4f) and (4g) as rows, whether parameter servers wait or not."""
    instance = data.draw(instances(jobs=(2,), chunk_states=300))
    options = {"ps_delay_applies": ps_delay_applies}
    shorter = solve(problem_4(instance, **options))
    solution = solve(problem_4_literal(instance, **options))
    assert solution.status is shorter.status
    if solution.status is not Status.INFEASIBLE:
        assert solution.objective == pytest.approx(shorter.objective, abs=1e-6)


def test_a_job_is_together_in_the_cloud_although_an_idle_server_waits_for_it_at_the_edge():
    instance = Instance.build(
        release_time=[0], num_chunks=1, chunk_time_slow=2, upload_delay_edge=[[0]],
        upload_delay_cloud=2, worker_server=[], ps_server=[0],
    )  # fmt: skip
    model = problem_2_literal(instance)
    model.add("idle", model["z"][0, 0, 0] == 1)
    solution = solve(model, "cpsat")
    assert solution["zeta"].tolist() == [0]
    made = decode_problem_2_literal(instance, solution)
    assert made.together.tolist() == [True]
    assert check(instance, made, slotted=True) == []


def test_the_worked_example_costs_15_and_its_relaxation_9_2222_row_by_row():
    example = worked_example()
    assert solve(problem_2_literal(example), "cpsat").objective == 15
    assert solve(problem_4_literal(example)).objective == pytest.approx(83 / 9)
