"""One round: (3), (4), (5) and (9) and what is known of them."""

import itertools
from typing import Any

import numpy as np
import pytest
from batch_cases import tiny_instances, worked_example
from batch_enumeration import problem_3 as enumerated
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.batch import PROBLEM
from formulations.batch.check import check
from formulations.batch.domain_reduction import job_choices
from formulations.batch.generator import tiny
from formulations.batch.instance import Instance
from formulations.batch.problem_2_intervals import problem_3_intervals, problem_3_pooled
from formulations.batch.problem_3 import decode_problem_3, problem_3, round_jobs
from formulations.batch.problem_4 import RoundColumns, problem_4, problem_5, schedules
from formulations.batch.problem_9 import ServerPrices, best_offer, offers, problem_9
from optsched.decomposition import Priced
from optsched.errors import InputError
from optsched.solve import solve


def packed(instance: Instance, tau: int) -> float:
    """(3), with its schedule checked."""
    model = problem_3(instance, tau=tau)
    solution = solve(model)
    assert not model.violations(solution.values)
    made = decode_problem_3(instance, solution, tau=tau)
    assert check(instance, made, complete=False) == []
    assert made.runs == solution.objective
    if made.runs:
        assert tau < made.run_start.min()
        assert made.run_end.max() <= 2 * tau
    assert solution.objective is not None
    return solution.objective


def test_the_worked_examples_round_takes_all_three_jobs() -> None:
    example = worked_example()
    assert len(schedules(example, 4).job) == 314
    assert packed(example, 4) == 3
    assert solve(problem_4(example, tau=4)).objective == 3
    assert solve(problem_4(example, tau=4).relax()).objective == pytest.approx(3)
    assert PROBLEM.solve("problem_4_columns(tau=4)", example).solution.objective == pytest.approx(3)


@pytest.mark.parametrize("calls", [0, 6])
def test_without_time_for_machine_code_a_rounds_relaxation_says_what_it_has_proven(
    calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, price = itertools.repeat(None, calls), RoundColumns.price

    def late(columns: RoundColumns, *of: Any) -> Priced:
        if next(left, 0) is not None:
            raise TimeoutError
        return price(columns, *of)

    monkeypatch.setattr(RoundColumns, "price", late)
    answer = PROBLEM.solve("problem_4_columns(tau=4)", worked_example())
    assert answer.schedule is None
    assert answer.solution.status == "no_solution"
    assert answer.solution.limit == "time"
    assert (answer.solution.bound is None) == (calls == 0)
    assert answer.solution.bound is None or answer.solution.bound >= 3


@given(instance=tiny_instances(servers=2), tau=st.sampled_from([2, 4]))
@settings(max_examples=20, deadline=None)
def test_the_three_forms_of_a_round_agree(instance: Instance, tau: int) -> None:
    whole = packed(instance, tau)
    assert whole == solve(problem_4(instance, tau=tau)).objective
    assert whole == solve(problem_3_intervals(instance, tau=tau), "cpsat").objective
    pooled = solve(problem_3_pooled(instance, tau=tau), "cpsat").objective
    assert pooled is not None
    assert pooled >= whole
    relaxed = solve(problem_4(instance, tau=tau).relax()).objective
    dual = solve(problem_5(instance, tau=tau)).objective
    assert relaxed is not None
    assert relaxed == pytest.approx(dual, abs=1e-6)
    assert relaxed >= whole - 1e-6
    columns = RoundColumns(instance, tau).generation().solve_relaxation()
    assert columns.objective == pytest.approx(-relaxed, abs=1e-6)
    assert columns.bound == pytest.approx(-relaxed, abs=1e-5)


@given(instance=tiny_instances(jobs=2, servers=2))
@settings(max_examples=15, deadline=None)
def test_a_round_is_as_good_as_enumeration_says(instance: Instance) -> None:
    assert packed(instance, 4) == enumerated(instance, 4)


def test_the_relaxation_of_a_round_may_be_worth_half_a_job_more() -> None:
    gaps = []
    for seed in range(16, 18):
        instance = tiny(np.random.default_rng(seed), types=1 + seed % 2, servers=1 + seed % 2)
        for tau in (2, 4):
            relaxed = solve(problem_4(instance, tau=tau).relax()).objective
            whole = solve(problem_4(instance, tau=tau)).objective
            assert relaxed is not None
            assert whole is not None
            gaps.append(relaxed - whole)
    assert min(gaps) >= -1e-6


def test_a_round_has_the_jobs_that_arrived_before_it() -> None:
    assert round_jobs(worked_example(), 2).jobs == 2
    assert round_jobs(worked_example(), 4).jobs == 3


def test_a_round_too_large_to_list_is_refused() -> None:
    with pytest.raises(InputError, match="schedules"):
        schedules(tiny(np.random.default_rng(0), jobs=10, servers=5), 2048)


# (9)


def market_of(instance: Instance, rng: np.random.Generator, slots: int = 6) -> ServerPrices:
    """Random prices, and random amounts in use."""
    capacity = [
        np.where(np.isinf(table), 5.0, table)
        for table in (instance.worker_capacity, instance.ps_capacity)
    ]
    free = [
        np.maximum(0.0, table[:, :, None] - rng.integers(0, 3, (*table.shape, slots)))
        for table in capacity
    ]
    paid = [rng.integers(0, 5, one.shape).astype(float) for one in free]
    return ServerPrices(4, paid[0], paid[1], free[0], free[1])


@given(instance=tiny_instances(jobs=2), seed=st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_the_separation_argument_solves_problem_9(instance: Instance, seed: int) -> None:
    prices = market_of(instance, np.random.default_rng(seed))
    for j in range(instance.jobs):
        found = best_offer(prices.market(instance, j), job_choices(instance.job(j)), range(4, 10))
        solution = solve(problem_9(instance, j, prices))
        if found is None:
            assert solution.status == "infeasible"
            continue
        pick, offered = found
        assert solution.objective == pytest.approx(pick.cost)
        y, ps = offered.placement(pick.choice)
        view, slots = prices.market(instance, j), slice(pick.start - 4, pick.end - 3)
        bill = view.worker_price[:, slots].sum(axis=1) @ y + view.ps_price[ps, slots].sum()
        assert bill == pytest.approx(pick.cost)
        assert (y <= view.workers[:, slots].min(axis=1)).all()
        assert view.services[ps, slots].min() >= 1


def cheapest_by_listing(instance: Instance, j: int, prices: ServerPrices, start: int) -> float:
    """(9) over every way to spread every number of workers."""
    from batch_enumeration import runs

    view = prices.market(instance, j)
    best = np.inf
    for run in runs(instance, j, start, 9):
        if run.start != start:
            continue
        slots = slice(start - 4, run.end - 3)
        y = np.array(run.workers)
        if (y <= view.workers[:, slots].min(axis=1)).all() and view.services[
            run.ps, slots
        ].min() >= 1:
            bill = view.worker_price[:, slots].sum(axis=1) @ y
            best = min(best, float(bill + view.ps_price[run.ps, slots].sum()))
    return best


@given(instance=tiny_instances(servers=2, cloud=True), seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_greedy_filling_is_as_cheap_as_enumeration(instance: Instance, seed: int) -> None:
    prices = market_of(instance, np.random.default_rng(seed))
    for start in (4, 6):
        view = prices.market(instance, 0)
        found = offers(view, job_choices(instance.job(0)), start)
        assert found.cost.min() == pytest.approx(
            cheapest_by_listing(instance, 0, prices, start), abs=1e-9
        )
