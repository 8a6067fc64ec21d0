"""Problem (2): every model, the listing of all deployments and the checker agree."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from okita_cases import listed_optimum, tiny, worked_example

from formulations.okita import PROBLEM, Instance
from formulations.okita.bounds import lb_alone, lb_sites
from formulations.okita.check import check, completion_slots, cost
from formulations.okita.exact.method import column_bound
from formulations.okita.horizon import LARGEST_COEFFICIENT, safe_horizon, windows
from formulations.okita.latency import Latencies
from formulations.okita.problem_2 import problem_2
from formulations.okita.problem_2_aggregated import problem_2_aggregated, problem_2_logical
from optsched.errors import InputError
from optsched.solve import solve
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

MODELS = (
    ("problem_2_aggregated", "highs"),
    ("problem_2_aggregated(exchange=hull)", "highs"),
    ("problem_2_aggregated(no_idle=False, tighten=False)", "highs"),
    ("problem_2_logical", "cpsat"),
    ("problem_2", "highs"),
)


def optimum(name, instance, solver=None, seconds=30.0):
    answer = PROBLEM.solve(name, instance, solver=solver, options=Options(time_limit=seconds))
    assert answer.solution.status is Status.OPTIMAL, (name, solver, answer.solution)
    return answer


@pytest.mark.parametrize(
    ("name", "solver"), [*MODELS, ("problem_2", "cpsat"), ("problem_2_columns", None)]
)
def test_every_model_of_the_worked_example_has_the_optimum_12(name, solver):
    instance = worked_example()
    answer = optimum(name, instance, solver)
    assert answer.solution.objective == pytest.approx(12.0)
    assert check(instance, answer.schedule) == []
    assert cost(instance, answer.schedule) == pytest.approx(12.0)


@pytest.mark.parametrize("horizon", [2, 3, 5])
def test_the_worked_example_costs_12_from_two_slots_on(horizon):
    instance = replace(worked_example(), horizon=horizon)
    answer = optimum("problem_2_columns(horizon_mode=given)", instance)
    assert answer.solution.objective == pytest.approx(12.0)
    assert check(instance, answer.schedule, within_horizon=True) == []


def test_the_worked_example_cannot_be_done_in_one_slot():
    instance = replace(worked_example(), horizon=1)
    for name in ("problem_2_columns(horizon_mode=given)", "problem_2(horizon_mode=given)"):
        answer = PROBLEM.solve(name, instance)
        assert answer.solution.status is Status.INFEASIBLE


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_all_models_agree_on_tiny_instances(seed):
    instance = tiny(seed, most_chunks=2)
    expected = optimum("problem_2_columns", instance)
    value = expected.solution.objective
    assert check(instance, expected.schedule) == []
    for name, solver in MODELS:
        assert optimum(name, instance, solver).solution.objective == pytest.approx(value), name
    assert lb_sites(instance) <= lb_alone(instance) + 1e-9
    assert lb_alone(instance) <= column_bound(instance) + 1e-9
    assert column_bound(instance) <= value + 1e-9


@settings(max_examples=10, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_branch_and_price_finds_the_optimum_that_listing_finds(seed):
    instance = tiny(seed, sites=2, most_chunks=2)
    instance = replace(instance, horizon=max(3, int(instance.release_slot.max())))
    answer = PROBLEM.solve("problem_2_columns(horizon_mode=given)", instance)
    expected = listed_optimum(instance, instance.horizon)
    if np.isinf(expected):
        assert answer.solution.status is Status.INFEASIBLE
    else:
        assert answer.solution.status is Status.OPTIMAL
        assert answer.solution.objective == pytest.approx(expected)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_slots_beyond_the_safe_horizon_do_not_help(seed):
    """Lemma 3."""
    instance = tiny(seed, most_chunks=2)
    until = safe_horizon(instance)
    given_, longer = (
        optimum("problem_2_columns(horizon_mode=given)", replace(instance, horizon=end))
        for end in (until, until + 3)
    )
    assert given_.solution.objective == pytest.approx(longer.solution.objective)
    assert completion_slots(instance, given_.schedule).max() <= until


@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_transport_can_be_added_up_over_time_and_workers_need_not_idle(seed):
    """Lemmas 1 and 2: the decoded schedule is one of the literal model, at the same cost."""
    instance = tiny(seed, most_chunks=2)
    answer = optimum("problem_2_aggregated", instance)
    schedule = answer.schedule
    assert check(instance, schedule) == []
    assert cost(instance, schedule) == pytest.approx(answer.solution.objective)
    trained = {}
    for job, slot, site, chunks in zip(
        schedule.move_job, schedule.move_slot, schedule.move_target, schedule.move_chunks,
        strict=True,
    ):  # fmt: skip
        trained[job, slot, site] = trained.get((job, slot, site), 0) + chunks
    for job, slot, site, count in zip(
        schedule.worker_job, schedule.worker_slot, schedule.worker_site, schedule.worker_count,
        strict=True,
    ):  # fmt: skip
        assert count == instance.workers_needed(job, trained[job, slot, site])


def test_a_solved_model_breaks_none_of_its_own_rows():
    instance = worked_example()
    for build in (problem_2_aggregated, problem_2_logical, problem_2):
        model = build(instance)
        solution = solve(model, solver="highs" if build is problem_2_aggregated else "cpsat")
        assert model.violations(solution.values) == []
        assert model.value(solution.values) == pytest.approx(12.0)


def test_the_printed_sum_over_sites_lets_a_site_train_data_it_does_not_have():
    """(2a) summed over sites is a wrong model: everything becomes local."""
    instance = worked_example()
    solution = solve(problem_2(instance, aggregate_2a=True), solver="cpsat")
    assert solution.objective < 12 - 1e-6
    answer = PROBLEM.solve("problem_2(aggregate_2a=True)", instance, solver="cpsat")
    assert answer.solution.status is Status.ERROR
    assert "2a" in answer.solution.message


def test_highs_and_cpsat_agree_where_a_restart_once_lost_the_optimum():
    instance = Instance.build(
        capacity=[3, 2],
        unit_bandwidth_cost=[[0, 3], [3, 0]],
        release_slot=2,
        num_chunks=[[3, 2]],
        latency=Latencies.build("linear", [9.0]),
        worker_rate=2,
        chunk_size_mb=2,
        exchange_size_mb=1,
        worker_demand=1,
        ps_demand=0,
        horizon=12,
    )
    for name in (
        "problem_2_aggregated(exchange=hull, no_idle=False)", "problem_2_logical",
        "problem_2_columns",
    ):  # fmt: skip
        assert optimum(name, instance).solution.objective == pytest.approx(3.0)


def test_no_coefficient_of_a_long_exponential_instance_exceeds_what_a_solver_may_see():
    instance = PROBLEM.generate(np.random.default_rng(0), jobs=4, sites=3, horizon=150)
    for build in (problem_2_aggregated, problem_2_logical):
        compiled = build(instance).compile()
        assert np.abs(compiled.cost).max() <= LARGEST_COEFFICIENT
    with pytest.raises(InputError, match="latency"):
        windows(replace(instance, horizon=150), mode="given")


def test_the_papers_ranges_are_solved_to_proof_at_five_jobs_and_four_sites():
    instance = PROBLEM.generate(np.random.default_rng(6), jobs=5, sites=4, horizon=20)
    answer = optimum("problem_2_columns", instance)
    recomputed = cost(instance, answer.schedule)
    assert recomputed == pytest.approx(answer.solution.objective, rel=1e-6)
    assert column_bound(instance) <= recomputed * (1 + 1e-9)
