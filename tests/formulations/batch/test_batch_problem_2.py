"""Problem (2): models, enumeration and the offline search agree, with and without lemmas."""

import numpy as np
import pytest
from batch_cases import tiny_instances, worked_example
from batch_enumeration import problem_2 as enumerated
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.batch import COMPLETION, PROBLEM
from formulations.batch.check import check, cost
from formulations.batch.domain_reduction import (
    alone_bounds,
    cloud_ends,
    efficient,
    last_slots,
    lb_alone,
    windows,
)
from formulations.batch.generator import generate, tiny
from formulations.batch.instance import Instance
from formulations.batch.problem_2 import decode_problem_2, encode_problem_2, problem_2
from formulations.batch.problem_2_intervals import decode_problem_2_intervals, problem_2_intervals
from optsched.errors import InputError
from optsched.model import Model
from optsched.problem import Problem
from optsched.solve import solve
from optsched.solvers.options import Options


def by_slots(instance: Instance, solver: str = "highs", **options: bool | int) -> float:
    model = problem_2(instance, **options)  # type: ignore[arg-type]
    solution = solve(model, solver)
    assert not model.violations(solution.values)
    made = decode_problem_2(instance, solution, **options)  # type: ignore[arg-type]
    assert check(instance, made) == []
    assert cost(instance, made) == pytest.approx(solution.objective)
    assert solution.objective is not None
    return solution.objective


def by_tasks(instance: Instance, solver: str = "cpsat") -> float:
    model: Model = problem_2_intervals(instance)
    solution = solve(model, solver)
    assert not model.violations(solution.values)
    made = decode_problem_2_intervals(instance, solution)
    assert check(instance, made) == []
    assert cost(instance, made) == pytest.approx(solution.objective)
    assert solution.objective is not None
    return solution.objective


def test_the_worked_examples_optimum_is_four_in_every_model() -> None:
    example = worked_example()
    assert enumerated(example, 8) == 4
    assert by_slots(example) == 4
    assert by_slots(example, "scipy") == 4
    assert by_tasks(example) == 4
    assert by_tasks(example, "highs") == 4
    answer = PROBLEM.solve("problem_2_offline", example)
    assert answer.solution.status == "optimal"
    assert answer.solution.objective == 4


@given(instance=tiny_instances(jobs=2, servers=2), slack=st.integers(0, 2))
@settings(max_examples=25, deadline=None)
def test_models_agree_with_enumeration(instance: Instance, slack: int) -> None:
    optimum = enumerated(instance, int(last_slots(instance).max()))
    assert by_slots(instance) == optimum
    assert by_slots(instance, every=True, slack=slack) == optimum  # without Lemma 2
    assert by_tasks(instance) == optimum


@given(instance=tiny_instances())
@settings(max_examples=20, deadline=None)
def test_programs_in_slots_and_tasks_in_time_agree(instance: Instance) -> None:
    assert by_slots(instance) == by_tasks(instance)


@given(instance=tiny_instances(cloud=True))
@settings(max_examples=15, deadline=None)
def test_optimal_schedules_respect_the_cloud_bound(instance: Instance) -> None:
    model = problem_2(instance, slack=2)
    made = decode_problem_2(instance, solve(model), slack=2)
    assert (made.run_end <= cloud_ends(instance)[made.run_job]).all()


@given(instance=tiny_instances())
@settings(max_examples=15, deadline=None)
def test_the_lone_bound_is_each_jobs_own_optimum(instance: Instance) -> None:
    alone = alone_bounds(instance)
    for j in range(instance.jobs):
        assert alone[j] == by_slots(instance.select_jobs([j]))
    assert lb_alone(instance) == alone.sum()


@given(work=st.integers(1, 400), most=st.integers(1, 60))
def test_efficient_worker_counts_reach_every_duration(work: int, most: int) -> None:
    _, n, duration = efficient(np.array([work]), np.array([most]))
    every = -(-work // np.arange(1, most + 1))
    assert set(duration.tolist()) == set(every.tolist())
    assert len(set(duration.tolist())) == len(duration)
    assert len(n) <= min(most, 2 * work**0.5 + 1)


def test_the_worked_examples_choices_are_the_papers() -> None:
    chosen = windows(worked_example()).choices
    second = chosen.take((chosen.job == 1) & chosen.fast)
    assert second.workers.tolist() == [1, 2, 4]
    assert second.duration.tolist() == [4, 2, 1]
    assert cloud_ends(worked_example()).tolist() == [4, 4, 5]


def test_a_schedule_is_a_start_that_the_model_accepts() -> None:
    example = worked_example()
    made = decode_problem_2(example, solve(problem_2(example)))
    values = encode_problem_2(example, made)
    assert values["b"].sum() == 3
    assert values["y"].sum() == made.place_workers.sum()
    warm = solve(problem_2(example), options=Options(warm_start=values))
    assert warm.objective == 4


@pytest.mark.parametrize("formulation", ["problem_2", "problem_2_intervals", "problem_2_offline"])
def test_completion_times_may_be_weighted(formulation: str) -> None:
    example = worked_example(weight=[5.0, 1.0, 2.0])
    answer = COMPLETION.solve(formulation, example)
    # the heavy job in slot 2 on the first server, the third in slot 3, the second in the cloud
    assert answer.solution.status == "optimal"
    assert answer.solution.objective == 5 * 2 + 4 + 2 * 3


def test_minimisers_of_flow_and_completion_time_coincide() -> None:
    instance = tiny(np.random.default_rng(5), jobs=3)
    flow = PROBLEM.solve("problem_2", instance).solution.objective
    total = COMPLETION.solve("problem_2", instance).solution.objective
    assert flow is not None
    assert total == flow + instance.release_slot.sum()


def test_an_unknown_objective_is_refused() -> None:
    with pytest.raises(InputError, match="objective"):
        problem_2(worked_example(), objective="makespan")  # type: ignore[arg-type]


def test_the_papers_sizes_are_solved_to_proof() -> None:
    instance = generate(np.random.default_rng(0), jobs=20, servers=20)
    answer = PROBLEM.solve("problem_2_offline", instance, options=Options(time_limit=60.0))
    assert answer.solution.status == "optimal"
    assert check(instance, answer.schedule) == []


@pytest.mark.parametrize("found", [PROBLEM, COMPLETION])
def test_a_problem_fixes_the_objective_of_its_methods(found: Problem) -> None:
    for method, card in found.formulations.items():
        assert "objective" not in (card.takes() or {}), method
    with pytest.raises(InputError, match="objective"):
        found.solve("problem_2(objective=flow)", tiny(np.random.default_rng(0)))
