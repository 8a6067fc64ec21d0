"""Problem (7): its two models, the enumerated optimum, the model's and the paper's own checks."""

from dataclasses import replace

import numpy as np
import preemptive_enumeration
import pytest
import storage_enumeration as brute_force
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import OPTIMUM, examples
from storage_cases import stored_instances, two_servers

from formulations.preemptive.check import check, cost
from formulations.preemptive.instance import CLOUD, Instance
from formulations.preemptive.problem_2 import problem_2_compact
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.storage.problem_7 import (
    decode_problem_7,
    decode_problem_7_compact,
    encode_problem_7_compact,
    problem_7,
    problem_7_compact,
)
from optsched.errors import InputError
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.solution import Status


def agree(
    instance: Instance, model: Model, decode, solver: str, expected: float, **rules
) -> Schedule | None:
    """The optimal schedule, once enumeration, model and checker have confirmed its cost."""
    solution = solve(model, solver)
    if expected == np.inf:
        assert solution.status is Status.INFEASIBLE
        return None
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(expected, abs=OPTIMUM)
    assert model.violations(solution.values) == []
    schedule = decode(instance, solution)
    assert check(instance, schedule, slotted=True, storage=True, **rules) == []
    assert cost(instance, schedule) == pytest.approx(expected, abs=OPTIMUM)
    return schedule


@given(data=st.data())
@examples(50)
def test_counting_stored_chunks_gives_the_enumerated_optimum_of_problem_7(data):
    fractional, tables = data.draw(st.booleans()), data.draw(st.booleans())
    instance = data.draw(
        stored_instances(jobs=(2,), fractional=fractional, tables=tables, chunk_states=400)
    )
    expected = brute_force.problem_7(instance)
    model = problem_7_compact(instance)
    agree(instance, model, decode_problem_7_compact, "highs", expected)


@given(data=st.data(), release=st.sampled_from(["job", "chunk"]))
@examples(25)
def test_problem_7_as_printed_has_the_enumerated_optimum_under_either_release(data, release):
    instance = data.draw(
        stored_instances(jobs=(2,), small=True, fractional=data.draw(st.booleans()))
    )
    expected = brute_force.problem_7(instance, release)
    model = problem_7(instance, storage_release=release)

    def decode(instance, solution):
        return decode_problem_7(instance, solution, storage_release=release)

    agree(instance, model, decode, "cpsat", expected, storage_release=release)


@given(instance=stored_instances(jobs=(3,)))
@examples(12)
def test_cpsat_and_highs_agree_on_both_models_of_problem_7(instance):
    printed = solve(problem_7(instance), "cpsat")
    for model, solver in (
        (problem_7_compact(instance), "highs"),
        (problem_7_compact(instance, whole=True), "cpsat"),
    ):
        solution = solve(model, solver)
        assert solution.status is printed.status
        if printed.status is Status.OPTIMAL:
            assert solution.objective == pytest.approx(printed.objective, abs=OPTIMUM)


@given(instance=stored_instances(jobs=(2,), chunk_states=400))
@examples(25)
def test_storage_never_lowers_the_optimum_and_early_release_never_raises_it(instance):
    """Where chunk times are whole slots, (7) is (2) with less allowed."""
    by_job, by_chunk = (brute_force.problem_7(instance, r) for r in ("job", "chunk"))
    free = preemptive_enumeration.problem_2(instance)
    assert free <= by_chunk <= by_job


@given(instance=stored_instances(jobs=(2, 3)), horizon=st.integers(1, 14))
@examples(20)
def test_a_horizon_cuts_problem_7_as_it_cuts_enumeration(instance, horizon):
    instance = replace(instance, horizon=horizon).select_jobs(np.arange(2))
    expected = brute_force.problem_7(instance)
    agree(instance, problem_7_compact(instance), decode_problem_7_compact, "highs", expected)


# single facts


def test_a_full_server_sends_the_next_job_where_there_is_room() -> None:
    instance = two_servers()
    schedule = agree(
        instance, problem_7_compact(instance), decode_problem_7_compact, "highs", 11 + 1
    )
    assert schedule is not None
    assert schedule.run_worker[schedule.run_job == 0].tolist() == [1]
    alone = replace(instance, storage_capacity=np.array([0.0, 1.0]))
    agree(alone, problem_7_compact(alone), decode_problem_7_compact, "highs", 11 + 101)


def test_storage_is_held_from_release_even_while_the_chunk_waits_for_the_worker() -> None:
    """One worker would do both in turn, one place of storage does not."""
    instance = Instance.build(
        release_time=[0, 0],
        num_chunks=1,
        chunk_time_slow=2,
        upload_delay_edge=[[0], [0]],
        upload_delay_cloud=9,
        worker_server=[0],
        chunk_storage=1,
        storage_capacity=1,
    )
    schedule = agree(
        instance, problem_7_compact(instance), decode_problem_7_compact, "highs", 2 + 11
    )
    assert schedule is not None
    assert sorted(schedule.run_worker.tolist()) == [CLOUD, 0]
    both = replace(instance, storage_capacity=np.array([2.0]))
    agree(both, problem_7_compact(both), decode_problem_7_compact, "highs", 2 + 4)
    barred = replace(instance, upload_delay_cloud=np.full(2, np.inf))
    agree(barred, problem_7_compact(barred), decode_problem_7_compact, "highs", np.inf)


def test_a_finished_chunk_keeps_its_place_only_until_its_job_is_done() -> None:
    """Job 0 has a chunk at each of two workers; job 1 wants the place of the one that is done."""
    instance = Instance.build(
        release_time=[0, 2],
        num_chunks=[2, 1],
        chunk_time_slow=[2, 3],
        upload_delay_edge=[[0, 3], [0, 0]],
        upload_delay_cloud=50,
        worker_server=[0, 1],
        explicit_worker_eligible=np.array([[True, True], [True, False]]),
        chunk_storage=1,
        storage_capacity=[1, 1],
    )
    assert solve(problem_7(instance, storage_release="chunk"), "cpsat").objective == 5 + 3
    by_job = solve(problem_7(instance), "cpsat").objective
    assert by_job == brute_force.problem_7(instance) > 5 + 3


@given(data=st.data())
@examples(12)
def test_an_optimal_schedule_is_a_feasible_start_for_the_compact_model(data):
    instance = data.draw(stored_instances(jobs=(2,), small=True, cloud=True))
    model = problem_7_compact(instance)
    solution = solve(problem_7(instance), "cpsat")
    start = encode_problem_7_compact(instance, decode_problem_7(instance, solution))
    for name, values in start.items():
        model.add(f"start:{name}", model[name] == values)
    fixed = solve(model, "highs")
    assert fixed.status is Status.OPTIMAL
    assert fixed.objective == pytest.approx(solution.objective, abs=OPTIMUM)


def test_without_limits_storage_changes_nothing_in_the_worked_example(example: Instance) -> None:
    stored = replace(example, chunk_storage=np.ones(3), storage_capacity=np.full(2, np.inf))
    expected = solve(problem_2_compact(example), "highs").objective
    agree(stored, problem_7_compact(stored), decode_problem_7_compact, "highs", expected)


def test_an_unknown_moment_of_release_is_refused(example: Instance) -> None:
    with pytest.raises(InputError, match="storage_release = 'never'"):
        problem_7(example, storage_release="never")


# the checker


def stored_schedule() -> tuple[Instance, Schedule]:
    """Job 0 with a chunk on each server, then job 1 on the first."""
    instance = Instance.build(
        release_time=[0, 1],
        num_chunks=[2, 1],
        chunk_time_slow=[2, 1],
        upload_delay_edge=np.zeros((2, 2)),
        upload_delay_cloud=9,
        worker_server=[0, 1],
        chunk_storage=[1, 2],
        storage_capacity=[3, 1],
    )
    runs = [(0, 0, 0, 0, 2), (0, 1, 1, 0, 2), (1, 0, 0, 2, 3)]
    services = [(0, CLOUD, 0, 2), (1, CLOUD, 2, 3)]
    return instance, Schedule.build(runs=runs, services=services, together=[False, False])


def test_a_schedule_that_fills_its_servers_exactly_passes() -> None:
    instance, schedule = stored_schedule()
    assert check(instance, schedule, storage=True) == []


def test_what_does_not_fit_breaks_7b_for_as_long_as_it_does_not() -> None:
    instance, schedule = stored_schedule()
    tight = replace(instance, storage_capacity=np.array([2.0, 0.5]))
    assert check(tight, schedule) == []
    found = check(tight, schedule, storage=True)
    assert [v.constraint for v in found] == ["7b", "7b"]
    assert [v.amount for v in found] == [1, 0.5]
    assert [dict(v.index) for v in found] == [
        {"server": 0, "time": 1, "end": 2},
        {"server": 1, "time": 0, "end": 2},
    ]


def test_a_chunk_trained_on_two_servers_breaks_7a() -> None:
    instance, _ = stored_schedule()
    moved = Schedule.build(
        runs=[(0, 0, 0, 0, 1), (0, 0, 1, 2, 3), (0, 1, 1, 0, 2), (1, 0, 0, 2, 3)],
        services=[(0, CLOUD, 0, 3), (1, CLOUD, 2, 3)],
        together=[False, False],
    )
    found = check(replace(instance, storage_capacity=np.full(2, 9.0)), moved, storage=True)
    assert [(v.constraint, dict(v.index), v.amount) for v in found] == [
        ("7a", {"job": 0, "chunk": 0}, 1)
    ]


def test_storage_released_chunk_by_chunk_is_free_sooner() -> None:
    """Server 0 lets go of job 0's chunk at 1 if the chunk counts, at 3 if the job does."""
    instance = Instance.build(
        release_time=[0, 1],
        num_chunks=[2, 1],
        chunk_time_slow=1,
        upload_delay_edge=[[0, 2], [0, 0]],
        upload_delay_cloud=9,
        worker_server=[0, 1],
        chunk_storage=1,
        storage_capacity=1,
    )
    schedule = Schedule.build(
        runs=[(0, 0, 0, 0, 1), (0, 1, 1, 2, 3), (1, 0, 0, 1, 2)],
        services=[(0, CLOUD, 0, 1), (0, CLOUD, 2, 3), (1, CLOUD, 1, 2)],
        together=[False, False],
    )
    assert check(instance, schedule, storage=True, storage_release="chunk") == []
    found = check(instance, schedule, storage=True)
    assert [(v.constraint, v.amount) for v in found] == [("7b", 1)]
    assert dict(found[0].index) == {"server": 0, "time": 1, "end": 2}


def test_storage_cannot_be_judged_of_runs_that_do_not_name_their_chunk() -> None:
    instance, schedule = stored_schedule()
    nameless = replace(schedule, run_chunk=np.full(3, -1))
    assert {v.constraint for v in check(instance, nameless, storage=True)} >= {"2k", "4a"}
