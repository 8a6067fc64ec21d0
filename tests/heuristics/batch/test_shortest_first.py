"""ShortestFirst: what it plans, when it changes its plans, and that these are schedules."""

import numpy as np
import pytest
from batch_cases import tiny_instances
from hypothesis import given, settings

from formulations.batch import COMPLETION, PROBLEM
from formulations.batch.check import check, completion_slots, cost
from formulations.batch.domain_reduction import lb_alone
from formulations.batch.instance import Instance
from heuristics.batch import HEURISTICS
from heuristics.batch.shortest_first import shortest_first
from optsched.errors import InputError

RNG = np.random.default_rng(0)


def one_server(release: list[int], chunks: list[int], slots: list[int], **fields) -> Instance:
    """Two workers and a parameter server at the edge, and a cloud that is far away."""
    jobs = len(release)
    work = np.array(chunks) * slots
    return Instance.build(
        release_slot=release,
        num_chunks=chunks,
        work_slow=2 * work,
        work_fast=work,
        worker_capacity=[[2], [np.inf]],
        ps_capacity=[[1], [np.inf]],
        cloud_index=1,
        upload_delay=[[0, 100]] * jobs,
        **fields,
    )


def flows(instance: Instance, **options) -> list[int]:
    made = shortest_first(instance, RNG, **options)
    assert check(instance, made) == []
    return (completion_slots(instance, made) - instance.release_slot + 1).tolist()


@given(instance=tiny_instances())
@settings(max_examples=60, deadline=None)
def test_every_job_runs_once_and_all_constraints_hold(instance):
    made = shortest_first(instance, RNG)
    assert check(instance, made) == []
    assert sorted(made.run_job) == list(range(instance.jobs))


@given(instance=tiny_instances())
@settings(max_examples=30, deadline=None)
def test_the_first_job_alone_ends_as_early_as_any_schedule_lets_it(instance):
    alone = PROBLEM.arrivals.select(instance, np.argsort(instance.release_slot, kind="stable")[:1])
    assert cost(alone, shortest_first(alone, RNG)) == lb_alone(alone)


def test_a_job_that_is_there_begins_at_once_and_not_with_a_round():
    instance = one_server([5], [2], [3])
    assert flows(instance) == [3]
    assert cost(instance, HEURISTICS["a_online"].run(instance, RNG)) > 3


def test_a_plan_that_has_not_begun_yields_to_a_shorter_job_and_one_that_has_does_not():
    assert flows(one_server([1, 2, 3], [2, 2, 2], [4, 8, 1])) == [4, 12, 3]
    assert flows(one_server([1, 1], [2, 2], [8, 1])) == [9, 1]  # both are there in slot 1
    assert flows(one_server([1, 2], [2, 2], [8, 1])) == [8, 8]


def test_a_plan_stays_where_nothing_is_planned_anew():
    instance = one_server([1, 2, 3], [2, 2, 2], [4, 8, 1])
    assert flows(instance, replan=False) == flows(instance, order="arrival") == [4, 11, 11]


def test_an_order_that_is_not_known_is_refused():
    with pytest.raises(InputError, match="order = 'longest': one of shortest, weighted, arrival"):
        shortest_first(one_server([1], [1], [1]), RNG, order="longest")


def test_of_equal_ends_the_one_with_fewest_workers_leaves_the_rest_to_others():
    instance = one_server([1, 1], [1, 1], [4, 4])
    assert flows(instance) == [4, 8]  # one parameter server
    instance = one_server([1], [2], [1])
    assert shortest_first(instance, RNG).run_end.tolist() == [1]


def test_weights_put_a_longer_job_first_where_they_are_asked_for():
    instance = one_server([1, 1], [2, 2], [3, 4], weight=[1.0, 10.0])
    assert flows(instance) == [3, 7]
    assert flows(instance, order="weighted") == [7, 4]


@pytest.mark.parametrize("problem", [PROBLEM, COMPLETION], ids=lambda problem: problem.name)
def test_it_costs_less_than_a_online_on_generated_instances(problem):
    for seed in range(4):
        instance = problem.generate(
            np.random.default_rng(seed), jobs=8, servers=6, types=2, time_scale=0.05
        )
        ours, paper = (
            problem.cost(instance, HEURISTICS[name].run(instance, RNG))
            for name in ("shortest_first", "a_online")
        )
        assert ours < paper
