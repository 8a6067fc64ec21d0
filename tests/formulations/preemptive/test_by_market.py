"""(2) market by market, and the completions that prices leave open, against enumeration."""

import math
from dataclasses import replace

import numpy as np
import preemptive_enumeration as brute_force
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import OPTIMUM, examples, instances
from test_ages import PRICE_BITS, Shop

from formulations.preemptive import PROBLEM
from formulations.preemptive.check import check, completion_times, cost
from formulations.preemptive.exact import by_component as module
from formulations.preemptive.exact.completion_fixing import NONE, Ends, values_by_end
from formulations.preemptive.exact.components import markets
from formulations.preemptive.exact.lagrangian import improve, price
from formulations.preemptive.generator import generate
from formulations.preemptive.grid import build_grid
from formulations.preemptive.instance import CLOUD, Instance, whole_slots
from formulations.preemptive.problem_2 import compact_model
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.sequential import in_turn
from optsched import solve
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution, Status

MORE = {"fractional": st.booleans(), "tables": st.booleans()}


def drawn(data: st.DataObject) -> Instance:
    return data.draw(instances(**{name: data.draw(flag) for name, flag in MORE.items()}))


@given(data=st.data())
@examples(25)
def test_it_finds_the_optimum_that_enumeration_finds(data: st.DataObject) -> None:
    instance = drawn(data)
    with pytest.MonkeyPatch.context() as patch:  # also where a first look ends with anything
        patch.setattr(module, "LARGE", 0)
        patch.setattr(module, "NEAR", data.draw(st.sampled_from([module.NEAR, 1.0])))
        options = Options(threads=data.draw(st.sampled_from([1, 3])))
        answer = PROBLEM.solve("by_market", instance, options=options)
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
        assert (solution.status, solution.bound) == (Status.INFEASIBLE, None)
    else:
        assert (solution.status, solution.objective) == (Status.OPTIMAL, pytest.approx(optimum))


def test_completions_have_the_least_price_of_all_ways_to_end_with_their_slot() -> None:
    for seed in range(250):
        shop = Shop(np.random.default_rng(seed), slotted=True)
        job = shop.jobs[0]
        found = values_by_end(shop.jobs, shop.steps, shop.edges, shop.price, PRICE_BITS)[0]
        ways = {int(job["release"]) + at: paid for at, paid in shop.ways(job)}
        for cell, end in enumerate(shop.edges[1:-1].tolist()):
            paid = ways.get(end)
            age = (end - int(job["release"])) << PRICE_BITS
            assert found[cell] == (NONE if paid is None else age + paid)


@pytest.mark.parametrize(("by_server", "steps"), [(False, 1), (False, 60), (True, 10)])
@given(data=st.data())
@examples(15)
def test_prices_leave_open_every_completion_of_a_schedule_within_the_total(
    by_server: bool, steps: int, data: st.DataObject
) -> None:
    """At the optimum all schedules that are optimal remain, and the model over them has its value;
    just below it nothing is left."""
    instance = drawn(data)
    for market in markets(instance, by_server=by_server):
        part = instance.select_jobs(market.jobs)
        ends = Ends(build_grid(part), market, improve(market, steps=steps))
        optimum = PROBLEM.solve("problem_2_compact", part)
        ages = whole_slots(completion_times(part, optimum.schedule)) - ends.grid.first_slot
        total = int(ages.sum())
        job, slot = ends.grid.windows
        completion = (ends.grid.first_slot + ages)[job]
        for within in (total, total + 1, 10 * total + 10):
            assert ends.within(within)[slot + 1 == completion].all()
        found = solve(compact_model(ends.grid, ends.within(total)))
        assert found.objective == pytest.approx(optimum.solution.objective)
        low = math.ceil(ends.priced.bound)
        assert low <= total
        assert all(ends.within(low - 1).sum() <= ends.within(t).sum() for t in (low, total))


def instance_of(seed: int = 0, **more: object) -> Instance:
    options = {"jobs": 24, "servers": 8, "types": 2, "span": 8, "time_scale": 0.1} | more
    return generate(np.random.default_rng(seed), **options)


TWO_OPEN = instance_of(1, time_scale=0.15)
"""Prices and the schedule that they guide leave two markets open."""


@pytest.mark.parametrize("seed", [0, 1])
def test_it_agrees_with_the_model_of_the_whole(seed: int) -> None:
    instance = instance_of(seed)
    answer = PROBLEM.solve("by_market", instance)
    whole = PROBLEM.solve("problem_2_compact", instance).solution
    assert (answer.solution.status, whole.status) == (Status.OPTIMAL, Status.OPTIMAL)
    assert answer.solution.objective == pytest.approx(whole.objective)
    assert check(instance, answer.schedule, slotted=True) == []


@pytest.mark.parametrize("threads", [2, 5])
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


def test_a_large_market_near_its_bound_waits_for_its_proof_until_the_others_are_so_far(
    monkeypatch,
) -> None:
    monkeypatch.setattr(module, "LARGE", 0)
    monkeypatch.setattr(module, "NEAR", 1.0)
    monkeypatch.setattr(module, "price", lambda instance, **_: price(instance, steps=3))
    seen: list[tuple[bool, int]] = []

    def attempt(search: object, part: object, total: int, seconds: float | None) -> bool:
        seen.append((part.to_prove, len(part.jobs)))
        if part.to_prove:
            part.low = part.high
        return part.to_prove

    monkeypatch.setattr(module._Search, "attempt", attempt)
    PROBLEM.solve("by_market", TWO_OPEN)
    sizes = sorted(size for _, size in seen[: len(seen) // 2])
    assert len(sizes) > 1
    assert seen == [(proves, size) for proves in (False, True) for size in sizes]


def test_an_error_on_a_thread_ends_the_search_with_it(monkeypatch) -> None:
    monkeypatch.setattr(module, "solve", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        PROBLEM.solve("by_market", TWO_OPEN, options=Options(threads=2))


def test_an_interrupt_ends_the_threads_with_what_is_known(monkeypatch) -> None:
    instance, stopped = TWO_OPEN, []

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    def solved(*_: object, options: Options, **__: object) -> Solution:
        stopped.append(options.stop.wait(60) or options.stop.is_set())
        return Solution(Status.INTERRUPTED)

    monkeypatch.setattr(module, "wait", interrupted)
    monkeypatch.setattr(module, "solve", solved)
    answer = PROBLEM.solve("by_market", instance, options=Options(threads=2))
    assert answer.solution.status is Status.INTERRUPTED
    assert set(stopped) <= {True}
    assert check(instance, answer.schedule, slotted=True) == []


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
    monkeypatch.setattr(module, "price", late)
    turns = cost(instance, in_turn(instance))
    nothing = PROBLEM.solve("by_market", instance).solution
    assert (nothing.status, nothing.limit, nothing.bound) == ("feasible", "time", None)
    assert nothing.objective == turns
    again = PROBLEM.solve("by_market", instance, start=best.schedule)
    assert again.solution.status is Status.FEASIBLE
    assert again.solution.objective == pytest.approx(best.solution.objective)
    assert again.solution.bound is None
    wrong = replace(best.schedule, run_start=best.schedule.run_start - 1)
    assert PROBLEM.solve("by_market", instance, start=wrong).solution.objective == turns


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("loop", [(module, "guided_schedule"), (Ends, "within")])
def test_what_has_no_time_for_machine_code_after_the_prices_leaves_their_bound(
    loop: tuple[object, str], threads: int, monkeypatch
) -> None:
    proven = PROBLEM.solve("by_market", TWO_OPEN).solution.objective
    monkeypatch.setattr(*loop, late)
    answer = PROBLEM.solve("by_market", TWO_OPEN, options=Options(threads=threads))
    assert 0 < answer.solution.bound <= proven <= answer.solution.objective
    assert check(TWO_OPEN, answer.schedule, slotted=True) == []
    assert answer.solution.objective == pytest.approx(cost(TWO_OPEN, answer.schedule))


def test_a_schedule_at_once_sends_all_to_the_cloud_but_who_may_not_go_there() -> None:
    alone = in_turn(TWO_OPEN)
    assert check(TWO_OPEN, alone, slotted=True) == []
    assert alone.together.all()
    assert (alone.run_worker == CLOUD).all()
    delay = TWO_OPEN.upload_delay_cloud.copy()
    delay[:2] = np.inf
    barred = replace(TWO_OPEN, upload_delay_cloud=delay)
    mixed = in_turn(barred)
    assert check(barred, mixed, slotted=True) == []
    assert np.flatnonzero(~mixed.together).tolist() == [0, 1]


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


def test_schedules_of_some_jobs_make_the_schedule_of_all(example: Instance) -> None:
    whole = PROBLEM.solve("problem_2", example).schedule
    parts = [np.array([2, 0]), np.array([1])]
    again = Schedule.merged([(jobs, whole.of_jobs(jobs)) for jobs in parts])
    assert check(example, again, slotted=True) == []
    assert completion_times(example, again).tolist() == completion_times(example, whole).tolist()
    for jobs in parts:
        some = example.select_jobs(jobs)
        found = completion_times(some, whole.of_jobs(jobs))
        assert found.tolist() == completion_times(example, whole)[jobs].tolist()


def test_a_solver_that_hears_no_stop_serves_where_nobody_asks_for_one() -> None:
    options = {"jobs": 8, "servers": 2, "types": 1, "time_scale": 0.05, "span": 4}
    instance = PROBLEM.generate(np.random.default_rng(0), **PROBLEM.generator_call(options))
    solution = PROBLEM.solve("by_market", instance, solver="scipy").solution
    expected = PROBLEM.solve("problem_2_compact", instance).solution.objective
    assert (solution.status, solution.objective) == (Status.OPTIMAL, expected)
