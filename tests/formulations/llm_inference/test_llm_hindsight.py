"""The offline integer program, on three back ends and against all starts."""

import pytest
from llm_cases import FOUR, WAITING_HELPS, brute_force, schedule_of, tiny

from formulations.llm_inference import PROBLEM
from formulations.llm_inference.check import check, cost
from formulations.llm_inference.hindsight import hindsight
from optsched.solve import solve


@pytest.mark.parametrize("solver", ["highs", "cpsat", "scip"])
def test_three_solvers_find_the_optima_of_the_worked_examples(solver):
    for instance, optimum in ((FOUR, 16), (WAITING_HELPS, 19)):
        answer = PROBLEM.solve("hindsight", instance, solver=solver)
        assert answer.solution.objective == answer.solution.bound == optimum
        assert not check(instance, answer.schedule)


def test_the_relaxation_of_the_first_worked_example_is_weak():
    relaxed = solve(hindsight(FOUR, horizon=14).relax())
    assert relaxed.objective == pytest.approx(14.504, abs=5e-4)


@pytest.mark.parametrize("seed", range(6))
def test_the_program_finds_the_least_cost_over_all_starts(seed):
    instance = tiny(seed)
    answer = PROBLEM.solve("hindsight", instance)
    assert answer.solution.objective == brute_force(instance, instance.horizon)


def test_a_schedule_is_a_point_of_the_program():
    made = schedule_of(FOUR, [5, 1, 3, 2])
    values = PROBLEM.formulations["hindsight"].encode(FOUR, made)
    assert not hindsight(FOUR).violations(values)
    answer = PROBLEM.solve("hindsight", FOUR, start=made)
    assert cost(FOUR, answer.schedule) == 16


def test_a_horizon_too_short_for_all_is_infeasible():
    assert PROBLEM.solve("hindsight", FOUR, horizon=7).solution.status == "infeasible"
