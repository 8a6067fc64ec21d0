"""Lower bounds on the total completion time: values, order, validity."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import preemptive_enumeration as brute_force
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import examples, instances

from formulations.preemptive import bounds
from formulations.preemptive.bounds import (
    completion_indexed,
    lb_alone,
    lb_ext,
    lb_lp4,
    lb_lp4_plus,
    lb_paper,
    lb_theta,
    packing_correction,
    rounded_up,
)
from formulations.preemptive.check import completion_times, cost
from formulations.preemptive.exact.lagrangian import lb_prices
from formulations.preemptive.instance import Instance
from formulations.preemptive.metrics import chunk_flow_time
from formulations.preemptive.problem_2 import problem_2_compact
from formulations.preemptive.problem_4 import problem_4, problem_4_aggregated
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.time_indexed.grid import build_grid
from heuristics.preemptive.a_online import a_online
from optsched.errors import InputError, ModelError
from optsched.solve import solve
from optsched.solvers.solution import Solution, Status

SLACK = 1e-7
"""What linear programs may differ by (slots)."""


def test_bounds_of_the_worked_example(example: Instance) -> None:
    assert lb_paper(example) == pytest.approx(7.5)
    without_4e = problem_4(example, rates="fast", chunk_parallelism=False, integer=False)
    assert solve(without_4e).objective == pytest.approx(22 / 3)
    assert lb_lp4(example) == pytest.approx(9 + 1 / 6)
    assert lb_alone(example) == 14
    assert lb_lp4_plus(example) == pytest.approx(14)
    assert lb_theta(example) == pytest.approx(14 + 2 / 15)
    assert lb_ext(example) == pytest.approx(14.5)
    assert rounded_up(example, lb_ext(example)) == 15


def test_bounds_of_the_worked_example_at_half_speed(doubled: Instance) -> None:
    assert lb_paper(doubled) == pytest.approx(10.75)
    assert lb_lp4(doubled) == pytest.approx(12 + 2 / 3)
    assert lb_ext(doubled) == pytest.approx(21)


@given(data=st.data())
@examples(40)
def test_bounds_stand_in_their_order_below_every_optimum(data):
    instance = data.draw(instances(cloud=data.draw(st.booleans())))
    chain = [
        lb_paper(instance),
        lb_lp4(instance),
        lb_lp4_plus(instance),
        lb_theta(instance),
        lb_ext(instance),
        brute_force.problem_2(instance),
        brute_force.no_migration(instance),
        cost(instance, a_online(instance, np.random.default_rng(0))),
    ]
    assert all(low <= high + SLACK for low, high in pairwise(chain)), chain
    assert lb_alone(instance) <= lb_theta(instance) + SLACK
    # in its own slot, a chunk that is done in one is done at no cost
    assert lb_paper(instance) > 0 or (instance.chunk_time_fast <= instance.slot_hours).any()


@given(data=st.data())
@examples(40)
def test_no_bound_exceeds_the_optimum_whatever_durations_and_tables(data):
    instance = data.draw(instances(fractional=data.draw(st.booleans()), tables=True))
    optimum = solve(problem_2_compact(instance)).objective
    for bound in (lb_paper, lb_lp4, lb_lp4_plus, lb_theta, lb_ext, lb_alone, lb_prices):
        assert bound(instance) <= optimum + SLACK
        assert rounded_up(instance, bound(instance)) <= optimum + SLACK


@given(instance=instances(cloud=True))
@examples(30)
def test_the_paper_bound_is_the_relaxation_of_the_literal_problem_4(instance):
    literal = solve(problem_4(instance, rates="fast", integer=False)).objective
    assert lb_paper(instance) == pytest.approx(literal, rel=1e-7)


@given(instance=instances())
@examples(25)
def test_lp4_is_the_relaxation_of_problem_4_or_better(instance):
    relaxed = solve(problem_4_aggregated(instance, integer=False)).objective
    assert relaxed <= lb_lp4(instance) + SLACK


def test_lp4_leaves_out_slots_after_the_fast_cloud_would_be_done():
    instance = Instance.build(
        release_time=[1, 3, 3],
        num_chunks=[1, 3, 3],
        chunk_time_slow=[2, 4, 4],
        chunk_time_fast=1,
        upload_delay_edge=[[3, 3], [2, 2], [3, 0]],
        upload_delay_cloud=[10, 11, 4],
        worker_server=[0, 0, 1, 1],
    )
    relaxed = solve(problem_4_aggregated(instance, integer=False)).objective
    assert relaxed == pytest.approx(59 / 6)
    assert lb_lp4(instance) == pytest.approx(59.5 / 6)


@given(data=st.data())
@examples(40)
def test_completion_exceeds_the_mean_age_of_work_by_the_packing_correction(data):
    """Of any slow schedule (repaired Lemma 1); the bound is met where work is packed at the end."""
    chunks, units = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 12))
    instance = Instance.build(
        release_time=[0],
        num_chunks=chunks,
        chunk_time_slow=units / chunks,
        upload_delay_edge=[[0]],
        upload_delay_cloud=0,
        worker_server=[0],
    )
    kappa = packing_correction(instance, build_grid(instance))[0]
    per_slot = data.draw(
        st.lists(st.integers(0, chunks), min_size=units, max_size=20).filter(lambda n: sum(n) > 0)
    )
    work, slots = np.cumsum(per_slot), np.arange(len(per_slot))
    used = np.diff(np.minimum(work, units), prepend=0)
    if used.sum() == units:
        completion = slots[used > 0].max() + 1
        assert completion >= (used @ slots) / units + kappa - 1e-12
    packed = np.repeat(np.arange(units), chunks)[:units]  # slots before the end, full ones first
    assert kappa == pytest.approx((packed + 1).mean())


def test_one_job_alone_takes_its_bound():
    instance = Instance.build(
        release_time=[3],
        num_chunks=3,
        chunk_time_slow=4,
        upload_delay_edge=[[0, 2]],
        upload_delay_cloud=np.inf,
        worker_server=[0, 1],
    )
    # two slots of one worker, then two workers for the other ten units
    assert lb_alone(instance) == lb_ext(instance) == 7 == brute_force.problem_2(instance)


def test_bounds_round_up_to_totals_that_whole_completion_times_can_have(example: Instance) -> None:
    assert rounded_up(example, 14.133) == 15
    for value in (0, 1, 15):  # a millionth of a bound above 1, or of 1, is rounding
        assert rounded_up(example, value + 0.9e-6 * max(1, value)) == value
        assert rounded_up(example, value + 1.1e-6 * max(1, value)) == value + 1
    late = replace(example, release_time=np.array([1.0, 1.0, 1.75]))
    assert rounded_up(late, 14.133) == 14.25
    assert rounded_up(late, 14.3) == 15.25


BOUNDS = (lb_paper, lb_lp4, lb_lp4_plus, lb_theta, lb_ext)


@pytest.mark.parametrize(("status", "shown"), [(Status.OPTIMAL, None), (Status.FEASIBLE, 9.5)])
def test_what_ends_without_an_optimum_and_its_bound_proves_nothing(
    monkeypatch, example, status, shown
):
    monkeypatch.setattr(bounds, "solve", lambda *_, **__: Solution(status, 10.0, shown))
    with pytest.raises(ModelError, match=f"ended {status}"):
        lb_theta(example)


@pytest.mark.parametrize("bound", BOUNDS)
def test_where_the_horizon_leaves_no_schedule_bounds_are_infinite(bound, example) -> None:
    assert bound(replace(example, horizon=2)) == np.inf
    assert rounded_up(example, np.inf) == np.inf


def test_a_horizon_cuts_the_bounds_with_the_optimum(example: Instance) -> None:
    """With seven slots nothing changes; with five the cloud is out of reach for A and B."""
    assert lb_ext(replace(example, horizon=7)) == pytest.approx(14.5)
    short = replace(example, horizon=6, num_chunks=np.array([1, 1, 1]))
    assert lb_ext(short) <= brute_force.problem_2(short) < np.inf
    assert lb_alone(short) <= lb_ext(short) + SLACK
    # with three slots no job ends, so that each ends in slot 4 or after
    assert lb_alone(replace(example, horizon=2)) == 3 + 3 + 2


@given(instance=instances(jobs=(2,)))
@examples(20)
def test_completion_indexed_points_are_mixtures_of_completion_times(instance):
    model = completion_indexed(instance)
    solution = solve(model)
    assert model.violations(solution.values) == []
    completes = solution["fast"].sum() + solution["ends"].sum()
    assert completes == pytest.approx(instance.jobs)


def test_chunk_flow_time_averages_over_chunks_where_cost_takes_the_last(example: Instance) -> None:
    run = a_online(example, np.random.default_rng(0))
    a, b, c = (8 + 6 + 9 - 3) / 3 - 0, 6, 3
    assert chunk_flow_time(example, run) == pytest.approx(a + b + c) == run.chunk_flow.sum()
    assert cost(example, run) == completion_times(example, run).sum() - 4 == 17
    unnamed = Schedule.build(runs=[(0, -1, 0, 2, 3)], together=[False] * 3)
    with pytest.raises(InputError, match="run_chunk"):
        chunk_flow_time(example, unnamed)
