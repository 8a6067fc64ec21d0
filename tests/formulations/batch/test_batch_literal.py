"""The models under the paper's numbers have the optima of those in our rows."""

import numpy as np
import pytest
from batch_cases import tiny_instances, worked_example
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.batch import PROBLEM
from formulations.batch.check import check, cost
from formulations.batch.domain_reduction import job_choices
from formulations.batch.instance import Instance
from formulations.batch.prices import prices_beside
from formulations.batch.problem_2 import problem_2
from formulations.batch.problem_2_literal import (
    decode_literal,
    problem_2_literal,
    problem_3_literal,
    problem_9_literal,
)
from formulations.batch.problem_3 import problem_3
from formulations.batch.problem_9 import best_offer, problem_9
from formulations.batch.schedule import Schedule
from optsched.errors import InputError
from optsched.instances.document import save
from optsched.solve import solve
from optsched.solvers.solution import Status


@given(instance=tiny_instances(jobs=2, servers=2))
@settings(max_examples=10, deadline=None)
def test_problem_2_row_by_row_has_the_optimum_of_rows_r1_to_r7(instance: Instance) -> None:
    model = problem_2_literal(instance)
    solution = solve(model, "cpsat")
    assert not model.violations(solution.values)
    made = decode_literal(instance, solution)
    assert check(instance, made) == []
    assert cost(instance, made) == solution.objective == solve(problem_2(instance)).objective


@given(instance=tiny_instances(servers=2), tau=st.sampled_from([2, 4]))
@settings(max_examples=10, deadline=None)
def test_a_round_row_by_row_has_the_optimum_of_rows_r1_to_r7(instance: Instance, tau: int) -> None:
    solution = solve(problem_3_literal(instance, tau=tau), "cpsat")
    made = decode_literal(instance, solution, tau=tau)
    assert check(instance, made, complete=False) == []
    assert made.runs == solution.objective == solve(problem_3(instance, tau=tau)).objective


@given(instance=tiny_instances(jobs=2, servers=2, cloud=True))
@settings(max_examples=10, deadline=None)
def test_three_ways_to_the_cheapest_schedule_of_a_job_beside_another_agree(
    instance: Instance,
) -> None:
    tau = 8
    prices = prices_beside(instance, 1, tau, _first_job(instance, tau))
    offer = best_offer(
        prices.market(instance, 1), job_choices(instance.job(1)), range(tau + 1, 2 * tau + 1)
    )
    models = problem_9(instance, 1, prices), problem_9_literal(instance, 1, prices)
    ours, literal = solve(models[0]), solve(models[1], "cpsat")
    if offer is None:
        assert ours.status is literal.status is Status.INFEASIBLE
        return
    assert ours.objective == pytest.approx(offer[0].cost)
    assert literal.objective == pytest.approx(offer[0].cost, abs=1e-4)


def _first_job(instance: Instance, tau: int) -> Schedule:
    """The round with the first job alone."""
    alone = problem_3_literal(instance.select_jobs([0]), tau=tau)
    return decode_literal(instance, solve(alone, "cpsat"), tau=tau)


def test_a_job_pays_for_what_others_hold_and_not_for_itself(tmp_path) -> None:
    example = worked_example()
    first = Schedule.build(runs=[(0, 5, 5, True, 0)], placements=[(0, 0, 2)])
    prices = prices_beside(example, 1, 4, first)
    assert prices.worker_price[0, 0].tolist() == [6.0, 0.0, 0.0, 0.0]  # 49 ** (2 / 4) - 1
    assert prices.ps_price[0, 0].tolist() == [6.0, 0.0, 0.0, 0.0]
    assert prices.workers[0, 0].tolist() == [2.0, 4.0, 4.0, 4.0]
    assert np.all(prices_beside(example, 0, 4, first).worker_price == 0.0)
    save(first, tmp_path / "placed.json")
    call = f"(job=1, tau=4, placed='{tmp_path / 'placed.json'}')"
    for name in ("problem_9", "problem_9_literal"):
        assert PROBLEM.solve(name + call, example).solution.objective == 0.0


def test_a_state_that_is_none_of_the_instance_is_refused(tmp_path) -> None:
    with pytest.raises(InputError, match=r"job = 3: a job of the instance, 0\.\.2"):
        PROBLEM.solve("problem_9(job=3)", worked_example())
    save(Schedule.build(runs=[(0, 5, 5, True, 0)], placements=[(0, 0, 9)]), tmp_path / "s.json")
    with pytest.raises(InputError, match="placed"):
        PROBLEM.solve(f"problem_9(placed='{tmp_path / 's.json'}')", worked_example())
