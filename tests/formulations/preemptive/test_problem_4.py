"""Problem (4): enumeration, the literal model, the aggregated ones and the flow agree."""

from dataclasses import replace

import numpy as np
import preemptive_enumeration as brute_force
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import examples, instances

from formulations.preemptive.check import check, cost
from formulations.preemptive.generator import tiny
from formulations.preemptive.instance import Instance
from formulations.preemptive.network import problem_4_flow
from formulations.preemptive.problem_2 import problem_2_compact
from formulations.preemptive.problem_4 import (
    fast_cloud_mean_age,
    problem_4,
    problem_4_aggregated,
)
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.time_indexed.decode import fast_cloud_runs, slot_schedule, whole_units
from formulations.preemptive.time_indexed.grid import build_grid
from optsched.errors import InputError
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.solution import Solution, Status

RATES = ("exact", "fast", "slow")
ONE_SPEED = ("fast", "slow")


def solved(model: Model, solver: str = "highs") -> Solution:
    """An optimal solution that the model itself finds feasible."""
    solution = solve(model, solver)
    assert solution.status is Status.OPTIMAL
    assert model.violations(solution.values) == []
    return solution


def optimum(model: Model, solver: str = "highs") -> float:
    return solved(model, solver).objective


# optima


@pytest.mark.parametrize("rates", RATES)
@given(data=st.data())
@examples(40)
def test_every_model_of_problem_4_has_the_enumerated_optimum(rates, data):
    instance = data.draw(instances(chunk_states=3000, tables=data.draw(st.booleans())))
    expected = pytest.approx(brute_force.problem_4(instance, rates), rel=1e-7, abs=1e-9)
    assert optimum(problem_4(instance, rates=rates)) == expected
    for hub in (False, True):
        assert optimum(problem_4_aggregated(instance, rates=rates, hub=hub)) == expected
    if rates != "exact":
        assert problem_4_flow(instance, rates=rates).objective == expected


@pytest.mark.parametrize("rates", RATES)
@given(data=st.data())
@examples(25)
def test_problem_4_knows_parameter_servers_that_wait_for_the_upload(rates, data):
    instance = data.draw(instances(chunk_states=1000, tables=data.draw(st.booleans())))
    waiting = brute_force.problem_4(instance, rates, ps_delay_applies=True)
    model = problem_4(instance, rates=rates, ps_delay_applies=True)
    if waiting == np.inf:
        assert solve(model).status is Status.INFEASIBLE
    else:
        assert optimum(model) == pytest.approx(waiting, rel=1e-7, abs=1e-9)
        assert waiting >= brute_force.problem_4(instance, rates) - 1e-9


def test_rows_of_parameter_servers_bind_where_they_wait_for_the_upload() -> None:
    drawn = [tiny(np.random.default_rng(seed), jobs=3) for seed in range(12)]
    gaps = [optimum(problem_4(i, ps_delay_applies=True)) - optimum(problem_4(i)) for i in drawn]
    assert min(gaps) >= -1e-6
    assert sum(gap > 1e-6 for gap in gaps) >= 3


@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize("seed", range(4))
def test_cpsat_solves_problem_4_to_the_enumerated_optimum(rates: str, seed: int) -> None:
    instance = tiny(np.random.default_rng(seed), jobs=2)
    expected = pytest.approx(brute_force.problem_4(instance, rates), rel=1e-6, abs=1e-9)
    assert optimum(problem_4_aggregated(instance, rates=rates), "cpsat") == expected


@pytest.mark.parametrize("rates", ONE_SPEED)
@given(instance=instances(chunk_states=1000), horizon=st.integers(1, 14))
@examples(20)
def test_a_horizon_cuts_the_flow_as_it_cuts_enumeration(rates, instance, horizon):
    instance = replace(instance, horizon=horizon)
    expected = brute_force.problem_4(instance, rates)
    flow = problem_4_flow(instance, rates=rates)
    aggregated = solve(problem_4_aggregated(instance, rates=rates))
    if expected == np.inf:
        assert flow.status is aggregated.status is Status.INFEASIBLE
    else:
        assert flow.objective == pytest.approx(expected, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("rates", RATES)
@given(data=st.data())
@examples(40)
def test_the_relaxations_of_problem_4_agree(rates, data):
    instance = data.draw(instances(jobs=(2, 3, 5), tables=data.draw(st.booleans())))
    for kept in (True, False):
        options = {"rates": rates, "chunk_parallelism": kept, "integer": False}
        literal = pytest.approx(optimum(problem_4(instance, **options)), rel=1e-7, abs=1e-9)
        assert optimum(problem_4_aggregated(instance, hub=False, **options)) == literal
        assert optimum(problem_4_aggregated(instance, hub=True, **options)) == literal


@pytest.mark.parametrize("rates", ONE_SPEED)
@given(data=st.data())
@examples(40)
def test_with_one_speed_and_whole_times_the_relaxation_of_4_has_whole_optima(rates, data):
    instance = data.draw(instances(jobs=(2, 3, 5), tables=data.draw(st.booleans())))
    relaxed = pytest.approx(
        optimum(problem_4_aggregated(instance, rates=rates, integer=False)), rel=1e-7, abs=1e-9
    )
    assert optimum(problem_4_aggregated(instance, rates=rates)) == relaxed
    flow = problem_4_flow(instance, rates=rates)
    assert flow.objective == relaxed
    assert flow.bound <= flow.objective
    assert flow.bound == relaxed


def test_the_choice_of_speed_opens_a_gap_in_the_worked_example(
    example: Instance, doubled: Instance
) -> None:
    for instance, relaxed, whole in ((example, 9.1667, 9.2222), (doubled, 12.6667, 12.9444)):
        assert brute_force.problem_4(instance, "exact") == pytest.approx(whole, abs=5e-5)
        for build in (problem_4, problem_4_aggregated):
            assert optimum(build(instance, integer=False)) == pytest.approx(relaxed, abs=5e-5)
            assert optimum(build(instance)) == pytest.approx(whole, abs=5e-5)


def test_cut_windows_raise_the_integer_bound_of_the_worked_example_at_half_speed(
    example: Instance, doubled: Instance
) -> None:
    for instance, cut in ((example, 9.2222), (doubled, 13.5)):
        model = problem_4_aggregated(instance, cut_windows=True)
        assert optimum(model) == pytest.approx(cut, abs=5e-5)


def test_fast_rates_without_4e_in_the_worked_example(example: Instance) -> None:
    for build in (problem_4, problem_4_aggregated):
        dropped = build(example, rates="fast", chunk_parallelism=False, integer=False)
        assert optimum(dropped) == pytest.approx(7.3333, abs=5e-5)


def test_mean_age_in_the_fast_cloud_is_delay_plus_half_of_what_follows_the_first_slot() -> None:
    instance = Instance.build(
        release_time=[1, 1],
        num_chunks=[3, 2],
        chunk_time_slow=[5, 3],
        chunk_time_fast=[5, 1.5],
        upload_delay_edge=np.zeros((2, 1)),
        upload_delay_cloud=4,
        worker_server=[0],
    )
    # three units of work for two workers: ages 4, 4 and 5
    assert fast_cloud_mean_age(instance) == pytest.approx([4 + 2, 13 / 3])


# windows


def early_start_with_a_slow_end() -> Instance:
    """Job 0 finds the edge free for eight slots, job 1 takes it then; the cloud is late."""
    return Instance.build(
        release_time=[0, 8],
        num_chunks=1,
        chunk_time_slow=[12, 6],
        chunk_time_fast=[1, 6],
        upload_delay_edge=[[0], [0]],
        upload_delay_cloud=[10, np.inf],
        worker_server=[0],
    )


def test_an_optimum_of_4_may_end_after_the_fast_cloud_would():
    """Eight early units outweigh four late ones; cutting windows is for bounds on (2) only."""
    instance = early_start_with_a_slow_end()
    early_and_late = (sum(range(8)) + 10 + 11 + 12 + 13) / 12
    expected = early_and_late + sum(range(6)) / 6
    assert brute_force.problem_4(instance, "exact") == pytest.approx(expected)
    for model in (problem_4(instance), *(problem_4_aggregated(instance, hub=h) for h in (0, 1))):
        assert optimum(model) == pytest.approx(expected)
    cut = optimum(problem_4_aggregated(instance, cut_windows=True))
    assert expected < cut <= solve(problem_2_compact(instance)).objective


# what a solution stands for


@pytest.mark.parametrize("rates", ["exact", "slow"])
@given(data=st.data())
@examples(25)
def test_solutions_of_4_are_schedules_of_2(rates, data):
    """Units on named workers, fast jobs whole in the cloud: nothing of (2) is broken."""
    instance, hub = data.draw(instances()), data.draw(st.booleans())
    solution = solved(problem_4_aggregated(instance, rates=rates, hub=hub))
    schedule = as_schedule(instance, solution, rates=rates, hub=hub)
    assert check(instance, schedule, slotted=True) == []
    assert solution.objective <= cost(instance, schedule) + 1e-9


def as_schedule(instance: Instance, solution: Solution, *, rates: str, hub: bool) -> Schedule:
    grid = build_grid(instance, hub=hub, slow_cloud=True)
    fast = solution["fast"] if rates == "exact" else np.zeros(instance.jobs)
    return slot_schedule(
        grid,
        whole_units(solution["y"], "y"),
        whole_units(solution["x"], "x"),
        more_runs=fast_cloud_runs(instance, np.flatnonzero(fast > 0.5)),
    )


@given(instance=instances())
@examples(25)
def test_flows_at_the_slow_speed_are_schedules_of_2(instance):
    solution = problem_4_flow(instance, rates="slow")
    schedule = as_schedule(instance, solution, rates="slow", hub=True)
    assert check(instance, schedule, slotted=True) == []


# Lemma 1 and durations that are not whole


def one_chunk_of_1_1_slots() -> Instance:
    return Instance.build(
        release_time=[0],
        num_chunks=1,
        chunk_time_slow=1.1,
        upload_delay_edge=[[2]],
        upload_delay_cloud=np.inf,
        worker_server=[0],
    )


def test_lemma_1_fails_for_the_integer_program_with_printed_weights():
    """Slots 2 and 3 both cost their age over 1.1, together more than the job takes."""
    instance = one_chunk_of_1_1_slots()
    completion_time = solve(problem_2_compact(instance)).objective
    assert completion_time == 4
    printed = optimum(problem_4(instance, rates="slow", weights="printed"))
    assert printed == pytest.approx(5 / 1.1)
    assert printed > completion_time


def test_rounded_weights_and_the_relaxation_bound_a_job_that_is_not_whole():
    instance = one_chunk_of_1_1_slots()
    assert optimum(problem_4(instance, rates="slow")) == pytest.approx(2.5)
    assert optimum(problem_4_aggregated(instance, rates="slow")) == pytest.approx(2.5)
    relaxed = problem_4(instance, rates="slow", weights="printed", integer=False)
    assert optimum(relaxed) == pytest.approx((2 + 3 * 0.1) / 1.1)
    assert optimum(relaxed) == pytest.approx(2.0909, abs=5e-5)


@given(data=st.data())
@examples(40)
def test_the_relaxation_of_4_never_exceeds_problem_2_whatever_the_durations(data):
    instance = data.draw(instances(fractional=data.draw(st.booleans())))
    optimum_2 = brute_force.problem_2(instance)
    for rates in ("exact", "fast"):
        assert optimum(problem_4(instance, rates=rates, integer=False)) <= optimum_2 + 1e-9
        assert optimum(problem_4_aggregated(instance, rates=rates)) <= optimum_2 + 1e-9


# refusals, statuses


def test_unknown_rates_and_weights_are_refused(example: Instance) -> None:
    for build in (problem_4, problem_4_aggregated):
        with pytest.raises(InputError, match="rates"):
            build(example, rates="medium")
    with pytest.raises(InputError, match="rates"):
        problem_4_flow(example, rates="exact")
    with pytest.raises(InputError, match="weights"):
        problem_4(example, weights="rounded up")


@pytest.mark.parametrize("rates", RATES)
def test_a_horizon_too_short_for_problem_4_is_a_status(example: Instance, rates: str) -> None:
    instance = replace(example, horizon=2)
    for model in (problem_4(instance, rates=rates), problem_4_aggregated(instance, rates=rates)):
        assert solve(model).status is Status.INFEASIBLE
    if rates != "exact":
        assert problem_4_flow(instance, rates=rates).status is Status.INFEASIBLE


def test_highs_finds_the_whole_optimum_of_a_transport_model() -> None:
    """Its relaxation has a whole optimum, 9.5; HiGHS from 1.13 on answers 10, proven."""
    instance = Instance.build(
        release_time=[1, 2, 3],
        num_chunks=[3, 2, 1],
        chunk_time_slow=[3, 3, 5],
        chunk_time_fast=[1, 1, 2],
        upload_delay_edge=np.full((3, 2), 3),
        upload_delay_cloud=np.inf,
        worker_server=[0, 0, 1],
    )
    model = problem_4_aggregated(instance, rates="fast", hub=False)
    assert problem_4_flow(instance, rates="fast").objective == pytest.approx(9.5)
    assert solve(model).objective == pytest.approx(9.5)
