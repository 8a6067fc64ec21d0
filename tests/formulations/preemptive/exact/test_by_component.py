"""(2) component by component, against enumeration and the model of the whole."""

import math
from dataclasses import replace

import numpy as np
import preemptive_enumeration as brute_force
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import OPTIMUM, examples, instances

from formulations.preemptive import PROBLEM
from formulations.preemptive.check import check, cost
from formulations.preemptive.exact import by_component as module
from formulations.preemptive.exact import lagrangian
from formulations.preemptive.exact.completion_fixing import CompletionFixing
from formulations.preemptive.generator import generate
from formulations.preemptive.instance import Instance
from formulations.preemptive.time_indexed.decode import in_turn
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution, Status


@given(data=st.data())
@examples(25)
def test_it_finds_the_optimum_that_enumeration_finds(data: st.DataObject) -> None:
    more = {name: data.draw(st.booleans()) for name in ("fractional", "tables")}
    instance = data.draw(instances(**more))
    options = Options(threads=data.draw(st.sampled_from([1, 3])))
    steps = data.draw(st.sampled_from([1, 300]))  # of one step, nothing but the model is left
    answer = PROBLEM.solve("by_market", instance, options=options, steps=steps)
    assert answer.solution.status is Status.OPTIMAL
    assert answer.solution.objective == pytest.approx(brute_force.problem_2(instance), abs=OPTIMUM)
    assert answer.solution.bound == answer.solution.objective
    assert check(instance, answer.schedule, slotted=True) == []
    assert cost(instance, answer.schedule) == pytest.approx(answer.solution.objective)


@given(data=st.data())
@examples(30)
def test_a_horizon_cuts_it_as_it_cuts_enumeration(data: st.DataObject) -> None:
    instance = replace(data.draw(instances(jobs=(2,))), horizon=data.draw(st.integers(1, 14)))
    solution = PROBLEM.solve("by_market", instance).solution
    optimum = brute_force.problem_2(instance)
    if math.isinf(optimum):
        assert solution.status is Status.INFEASIBLE
    else:
        assert (solution.status, solution.objective) == (Status.OPTIMAL, pytest.approx(optimum))


def instance_of(seed: int = 0, **more: object) -> Instance:
    options = {"jobs": 24, "servers": 8, "types": 2, "span": 8, "time_scale": 0.1} | more
    return generate(np.random.default_rng(seed), **options)


TWO_OPEN = instance_of(1, time_scale=0.15)
"""Prices and the schedule that they guide leave two components open."""


@pytest.mark.parametrize("seed", [0, 1])
def test_it_agrees_with_the_model_of_the_whole(seed: int) -> None:
    instance = instance_of(seed)
    answer = PROBLEM.solve("by_market", instance)
    whole = PROBLEM.solve("problem_2_compact", instance).solution
    assert (answer.solution.status, whole.status) == (Status.OPTIMAL, Status.OPTIMAL)
    assert answer.solution.objective == pytest.approx(whole.objective)
    assert check(instance, answer.schedule, slotted=True) == []


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing_but_the_time_it_takes(threads: int) -> None:
    one, more = (
        PROBLEM.solve("by_market", TWO_OPEN, options=Options(threads=n)) for n in (1, threads)
    )
    for name in ("status", "objective", "bound", "nodes", "message"):
        assert getattr(more.solution, name) == getattr(one.solution, name)
    for name in ("run_job", "run_worker", "run_start", "run_end"):
        np.testing.assert_array_equal(getattr(more.schedule, name), getattr(one.schedule, name))
    steps = [(step.seconds, step.bound) for step in more.solution.trajectory]
    assert steps == sorted(steps)


def test_without_time_there_is_the_schedule_that_prices_guide_and_their_bound() -> None:
    instance = instance_of()
    optimum = PROBLEM.solve("problem_2_compact", instance).solution.objective
    for _ in range(2):
        answer = PROBLEM.solve("by_market", instance, options=Options(time_limit=1e-9))
        assert answer.solution.bound <= optimum <= answer.solution.objective
        assert check(instance, answer.schedule, slotted=True) == []


def test_what_a_start_has_better_than_the_prices_is_kept() -> None:
    instance = instance_of()
    best = PROBLEM.solve("problem_2_compact", instance)
    limits = Options(time_limit=1e-9)
    again = PROBLEM.solve("by_market", instance, options=limits, start=best.schedule)
    assert again.solution.objective == pytest.approx(best.solution.objective)
    wrong = replace(best.schedule, run_start=best.schedule.run_start - 1)
    other = PROBLEM.solve("by_market", instance, options=limits, start=wrong)
    assert check(instance, other.schedule, slotted=True) == []


def late(*_: object, **__: object) -> None:
    raise TimeoutError


def test_where_prices_have_no_time_for_machine_code_there_is_the_start_or_one_job_after_another(
    monkeypatch,
) -> None:
    instance = instance_of()
    best = PROBLEM.solve("problem_2_compact", instance)
    monkeypatch.setattr(lagrangian, "improve", late)
    turns = cost(instance, in_turn(instance))
    nothing = PROBLEM.solve("by_market", instance).solution
    assert (nothing.status, nothing.bound) == (Status.FEASIBLE, None)
    assert nothing.objective == turns
    again = PROBLEM.solve("by_market", instance, start=best.schedule)
    assert again.solution.status is Status.FEASIBLE
    assert again.solution.objective == pytest.approx(best.solution.objective)
    assert again.solution.bound is None
    wrong = replace(best.schedule, run_start=best.schedule.run_start - 1)
    assert PROBLEM.solve("by_market", instance, start=wrong).solution.objective == turns


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("loop", [(module, "guided_schedule"), (CompletionFixing, "within")])
def test_what_has_no_time_for_machine_code_after_the_prices_leaves_their_bound(
    loop: tuple[object, str], threads: int, monkeypatch
) -> None:
    proven = PROBLEM.solve("by_market", TWO_OPEN).solution.objective
    monkeypatch.setattr(*loop, late)
    answer = PROBLEM.solve("by_market", TWO_OPEN, options=Options(threads=threads))
    assert 0 < answer.solution.bound <= proven <= answer.solution.objective
    assert check(TWO_OPEN, answer.schedule, slotted=True) == []
    assert answer.solution.objective == pytest.approx(cost(TWO_OPEN, answer.schedule))


@pytest.mark.parametrize(
    ("told", "bound"),
    [
        (Solution(Status.ERROR, message="crashed"), 0),
        (Solution(Status.NO_SOLUTION), 0),
        (Solution(Status.NO_SOLUTION, bound=1e9), 1),  # of nothing but completions looked at
    ],
)
def test_a_solver_that_gives_up_ends_the_search_with_what_the_prices_prove(
    monkeypatch, told: Solution, bound: int
) -> None:
    instance = instance_of()
    optimum = PROBLEM.solve("problem_2_compact", instance).solution.objective
    monkeypatch.setattr(module, "solve", lambda *_, **__: told)
    limits = Options(time_limit=1e-9)
    priced = PROBLEM.solve("by_market", instance, options=limits).solution
    solution = PROBLEM.solve("by_market", instance).solution
    assert priced.bound < optimum < priced.objective
    assert solution.bound >= priced.bound + bound
    if not bound:
        assert solution.status is Status.FEASIBLE
        assert solution.bound <= optimum <= solution.objective


def test_a_solver_that_hears_no_stop_serves_where_nobody_asks_for_one() -> None:
    options = {"jobs": 8, "servers": 2, "types": 1, "time_scale": 0.05, "span": 4}
    instance = PROBLEM.generate(np.random.default_rng(0), **PROBLEM.generator_call(options))
    solution = PROBLEM.solve("by_market", instance, solver="scipy").solution
    expected = PROBLEM.solve("problem_2_compact", instance).solution.objective
    assert (solution.status, solution.objective) == (Status.OPTIMAL, expected)
