"""Problems (8) and (9): flow time with storage, and the dual that is a bound on it."""

from dataclasses import replace

import numpy as np
import pytest
import storage_enumeration as brute_force
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import OPTIMUM, examples
from storage_cases import stored_instances, two_servers

from formulations.preemptive.instance import Instance
from formulations.preemptive.problem_4 import problem_4
from formulations.preemptive.problem_6 import problem_6
from formulations.preemptive.storage.problem_8_9 import (
    problem_8,
    problem_8_while_training,
    problem_9,
)
from optsched.errors import InputError
from optsched.solve import solve
from optsched.solvers.solution import Status

RATES = ("fast", "slow")


@given(data=st.data(), release=st.sampled_from(["job", "chunk"]))
@examples(20)
def test_problem_8_has_the_enumerated_optimum_under_either_release(data, release):
    instance = data.draw(
        stored_instances(jobs=(2,), small=True, fractional=data.draw(st.booleans()))
    )
    expected = brute_force.problem_8(instance, release)
    model = problem_8(instance, storage_release=release)
    solution = solve(model, "highs")
    if expected == np.inf:
        assert solution.status is Status.INFEASIBLE
        return
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(expected, abs=OPTIMUM)
    assert model.violations(solution.values) == []


def test_cpsat_solves_problem_8_of_two_jobs_on_two_full_servers() -> None:
    instance = two_servers(4, times=0.2)
    expected = brute_force.problem_8(instance)
    for solver in ("highs", "cpsat"):
        assert solve(problem_8(instance), solver).objective == pytest.approx(expected)


@given(instance=stored_instances(jobs=(2,), small=True))
@examples(8)
def test_with_storage_chunks_cost_at_least_what_they_cost_in_problem_4(instance):
    stored = solve(problem_8(instance), "highs")
    free = solve(problem_4(instance), "highs")
    if stored.status is Status.OPTIMAL:
        assert stored.objective >= free.objective - OPTIMUM
    else:
        assert stored.status is Status.INFEASIBLE


@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize("chunk_parallelism", [True, False])
@given(data=st.data())
@examples(15)
def test_problem_9_has_the_value_of_the_program_that_charges_storage_while_training(
    rates, chunk_parallelism, data
):
    instance = data.draw(stored_instances(fractional=data.draw(st.booleans())))
    options = {"rates": rates, "chunk_parallelism": chunk_parallelism}
    primal = solve(problem_8_while_training(instance, **options))
    model = problem_9(instance, **options)
    dual = solve(model)
    if primal.status is Status.INFEASIBLE:  # a chunk fits nowhere, and the price of that soars
        assert dual.status in (Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED)
        return
    assert primal.status is dual.status is Status.OPTIMAL
    assert dual.objective == pytest.approx(primal.objective, rel=1e-7, abs=1e-9)
    assert model.violations(dual.values) == []


@given(instance=stored_instances(jobs=(2,), small=True))
@examples(20)
def test_problem_9_is_a_lower_bound_on_problem_8_and_no_less_than_the_dual_without_storage(
    instance,
):
    optimum = brute_force.problem_8(instance)
    bound = solve(problem_9(instance)).objective
    if optimum == np.inf or bound is None:
        assert optimum == np.inf
        return
    free = solve(problem_6(instance, chunk_parallelism=False)).objective
    assert free - OPTIMUM <= bound <= optimum + OPTIMUM


def test_scarce_storage_raises_the_dual_of_the_worked_example(example: Instance) -> None:
    """With room for half a chunk a server never works at more than half its speed."""
    free = solve(problem_9(replace(example, chunk_storage=np.ones(3)))).objective
    assert free == pytest.approx(22 / 3)
    tight = replace(example, chunk_storage=np.ones(3), storage_capacity=np.full(2, 0.5))
    assert free < solve(problem_9(tight)).objective <= 10.5 + 1e-9


def test_the_dual_with_storage_needs_one_speed_per_job(example: Instance) -> None:
    with pytest.raises(InputError, match="rates"):
        problem_9(example, rates="exact")
    with pytest.raises(InputError, match="rates"):
        problem_8_while_training(example, rates="exact")
