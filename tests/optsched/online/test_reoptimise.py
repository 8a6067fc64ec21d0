"""The exact model anew on every arrival: never below the optimum, and it with all foresight."""

from dataclasses import replace

import numpy as np
import online_cases
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.batch import Instance
from optsched.errors import InputError
from optsched.online import anticipation, reoptimise, stopping_scenarios
from optsched.online.reoptimise import plans
from optsched.problem import problem
from optsched.solvers.options import Options

NAMES = tuple(online_cases.OPTIONS)
STORED = "preemptive_storage"


def costs(name, instance, **options):
    found = problem(name)
    schedule = reoptimise(found, instance, **options)
    strict = {**found.reference_check}
    assert not found.check(instance, schedule, **strict)
    return found.cost(instance, schedule)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 1_000))
def test_it_lies_above_the_optimum_and_that_above_its_bound(name, seed):
    found, instance = problem(name), online_cases.instance_of(name, seed)
    answer = found.solve(found.reference, instance)
    best = answer.solution.objective
    assert answer.solution.status == "optimal"
    assert answer.solution.bound <= best + 1e-6
    assert costs(name, instance) >= best - 1e-6 * max(1.0, best)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_with_all_foresight_it_is_the_optimum(name, seed):
    found, instance = problem(name), online_cases.instance_of(name, seed)
    best = found.solve(found.reference, instance).solution.objective
    assert costs(name, instance, lookahead="all") == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_it_does_not_look_ahead_unless_told_to(name):
    found, instance = problem(name), online_cases.instance_of(name, 2)
    run = lambda one, rng: reoptimise(found, one)  # noqa: E731
    assert anticipation(found, run, instance, cuts=2, changes=1) is None
    announced = found.heuristics["reoptimise"]
    assert announced.is_online({})
    assert announced.is_online({"window": 2})
    assert not announced.is_online({"lookahead": 1})


@pytest.mark.parametrize("name", NAMES)
def test_a_rolling_horizon_plans_so_many_jobs_at_a_time(name):
    found, instance = problem(name), online_cases.instance_of(name, 0)
    best = found.solve(found.reference, instance).solution.objective
    assert costs(name, instance, window=1) >= best - 1e-6 * max(1.0, best)
    jobs = len(np.asarray(found.arrivals.times(instance)))
    assert costs(name, instance, window=jobs) == pytest.approx(costs(name, instance))


def test_its_plans_are_its_schedules_where_no_more_jobs_come():
    chosen, one = problem("batch"), online_cases.instance_of("batch", 1)
    made = list(plans(chosen, one, Options(time_limit=10.0)))
    for future, plan in zip(stopping_scenarios(chosen, one), made, strict=True):
        alone = reoptimise(chosen, future)
        assert chosen.cost(future, plan) == chosen.cost(future, alone)
        assert not chosen.check(future, plan)


def test_jobs_of_batch_that_wait_are_planned_on_what_is_free_of_each_server():
    """No order of insertion is certain to be best here: the program decides, by server and slot."""
    chosen = problem("batch")
    one = Instance.build(
        release_slot=[2, 7, 8], num_chunks=[29, 43, 48], work_slow=[16, 55, 23],
        work_fast=[16, 55, 22], worker_type=[0] * 3, ps_type=[0] * 3,
        upload_delay=[[3, 17], [4, 36], [4, 34]], worker_capacity=[[2], [np.inf]],
        ps_capacity=[[2], [np.inf]], cloud_index=1,
    )  # fmt: skip
    made = reoptimise(chosen, one)
    assert chosen.check(one, made) == []
    assert chosen.cost(one, made) == chosen.solve(chosen.reference, one).solution.objective


def test_options_out_of_range_are_refused_before_anything_runs():
    found, instance = problem("batch"), online_cases.instance_of("batch", 0)
    with pytest.raises(InputError, match=r'lookahead = -1: an integer >= 0, or "all"'):
        reoptimise(found, instance, lookahead=-1)
    with pytest.raises(InputError, match=r"window = 0: an integer >= 1"):
        reoptimise(found, instance, window=0)
    with pytest.raises(InputError, match="one with a model for replanning"):
        reoptimise(replace(found, arrivals=replace(found.arrivals, replan=None)), instance)


@pytest.mark.parametrize("seed", range(3))
def test_where_chunks_are_stored_stays_as_first_planned(seed):
    found, instance = problem(STORED), online_cases.instance_of(STORED, seed)
    arrivals, places = found.arrivals, {}

    def replan(part, plan, now, options):
        answer = arrivals.replan(part, plan, now, options)
        made = answer.schedule
        there = zip(made.run_job, made.run_chunk, made.run_worker, strict=True)
        for job, chunk, worker in there:
            server = -1 if worker < 0 else int(part.worker_server[worker])
            assert places.setdefault((int(job), int(chunk)), server) == server
        assert not found.check(part, made, **found.reference_check)
        return answer

    reoptimise(replace(found, arrivals=replace(arrivals, replan=replan)), instance, window=3)
    assert len(places) == instance.num_chunks.sum()
