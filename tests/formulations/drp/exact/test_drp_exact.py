"""Bounding, choosing and packing: what limits and starts do to the answer."""

import threading
import time

import numpy as np
import pytest
from brute_force import optimum
from drp_cases import examples, instances, system, worked_dsrp
from hypothesis import given

from formulations.drp import DSRP, PROBLEM
from formulations.drp.decode import encode_services, schedule_of
from formulations.drp.exact import dsrp as service_search
from formulations.drp.exact import method as exact
from formulations.drp.exact.dsrp import ServiceSearch, promising
from formulations.drp.exact.job_insertion import Insertion
from formulations.drp.exact.packing import Choice, rounded
from formulations.drp.exact.set_tree.tree import SetTree
from formulations.drp.generator import generate
from formulations.drp.instance import Instance
from formulations.drp.problem_p3_p5 import problem_22_projected
from formulations.drp.schedule import Schedule
from optsched.solvers.options import Options
from optsched.solvers.solution import Status


@pytest.mark.parametrize("profile", ["bandwidth_bound", "balanced", "physical"])
@pytest.mark.parametrize("topology", ["hexagon", "grid"])
def test_every_profile_is_proven_at_twenty_jobs(topology, profile):
    instance = generate(np.random.default_rng(1), jobs=20, topology=topology, profile=profile)
    answer = PROBLEM.solve("problem_5_projected", instance, options=Options(time_limit=30))
    assert answer.solution.status is Status.OPTIMAL
    assert PROBLEM.check(instance, answer.schedule) == []


def test_services_at_small_scale_are_proven():
    instance = generate(np.random.default_rng(0), jobs=6, nodes_per_job=5)
    answer = DSRP.solve("problem_22_projected", instance, options=Options(time_limit=30))
    assert (answer.solution.status, answer.solution.objective) == (Status.OPTIMAL, 6)
    assert DSRP.check(instance, answer.schedule) == []


def test_a_start_survives_a_time_limit_that_leaves_nothing_else():
    instance = worked_dsrp()
    start = schedule_of(instance, np.array([0, -1, -1, -1]), services=True)
    answer = DSRP.solve(
        "problem_22_projected", instance, options=Options(time_limit=1e-4), start=start
    )
    assert answer.solution.objective is not None
    assert answer.solution.objective >= 1
    assert answer.solution.bound is None or answer.solution.bound >= answer.solution.objective
    assert DSRP.check(instance, answer.schedule) == []


def contended(rng: np.random.Generator, jobs: int) -> Instance:
    """Two nodes a job, three servers, storage for about half of the services."""
    reach = rng.random((2 * jobs, 3)) < 0.6
    reach[np.arange(2 * jobs), rng.integers(0, 3, 2 * jobs)] = True
    return system(
        [(i // 2, rng.uniform(1, 2), np.flatnonzero(reach[i])) for i in range(2 * jobs)],
        rng.uniform(4, 8, 3),
        alpha=rng.uniform(0.05, 0.2, jobs),
        beta=rng.uniform(0.05, 0.2, jobs),
        server_storage_bytes=rng.uniform(3, 6, 3),
        service_size_bytes=rng.uniform(1, 2, jobs),
    )


@pytest.mark.parametrize("seed", range(6))
def test_what_is_small_and_contended_is_proven_by_the_model_alone(monkeypatch, seed):
    monkeypatch.setattr(ServiceSearch, "_run", lambda self: pytest.fail("searched"))
    instance = contended(np.random.default_rng(seed), 5)
    solution = DSRP.solve("problem_22_projected", instance).solution
    assert solution.status is Status.OPTIMAL
    assert solution.objective == solution.bound == optimum(instance, services=True)


def test_a_search_of_a_small_system_that_does_not_end_leaves_time_for_the_model(monkeypatch):
    def endless(self: ServiceSearch) -> None:
        while not self.clock.over():
            time.sleep(0.01)

    monkeypatch.setattr(exact, "FIRST_SECONDS", 1e-3)
    monkeypatch.setattr(exact, "SEARCH_SECONDS", 0.1)
    monkeypatch.setattr(ServiceSearch, "_run", endless)
    instance = contended(np.random.default_rng(0), 5)
    solution = DSRP.solve("problem_22_projected", instance).solution
    assert solution.status is Status.OPTIMAL
    assert solution.objective == optimum(instance, services=True)


def test_without_time_to_choose_the_relaxations_own_jobs_are_packed(monkeypatch):
    monkeypatch.setattr("formulations.drp.exact.target_search.CHOICE_SECONDS", 1e-3)
    instance = generate(np.random.Generator(np.random.PCG64(0)), jobs=40)
    options = Options(time_limit=60, absolute_gap=1.0)
    answer = PROBLEM.solve("problem_5_projected", instance, options=options)
    solution = answer.solution
    assert solution.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert solution.bound - 1 <= solution.objective <= solution.bound == 36
    assert PROBLEM.check(instance, answer.schedule) == []


def test_a_stop_ends_the_search_with_a_true_interval():
    instance = generate(np.random.default_rng(0), jobs=20)
    stop = threading.Event()
    stop.set()
    answer = PROBLEM.solve("problem_5_projected", instance, options=Options(stop=stop))
    solution = answer.solution
    if solution.objective is not None and solution.bound is not None:
        assert solution.objective <= solution.bound


@given(instance=instances(jobs=3, storage=True))
@examples(15)
def test_an_encoded_decision_is_a_point_of_the_model_of_its_value(instance):
    answer = DSRP.solve("problem_22_projected", instance)
    values = encode_services(instance, answer.schedule)
    model = problem_22_projected(instance)
    assert model.violations(values) == []
    assert model.value(values) == optimum(instance, services=True)


def test_jobs_too_large_to_pack_are_left_to_branch_and_bound():
    """Two servers of 5, five nodes of 2: half a server more than whole nodes can use."""
    instance = system([(k, 2, [0, 1]) for k in range(5)], [5, 5])
    answer = PROBLEM.solve("problem_5_projected", instance)
    assert (answer.solution.status, answer.solution.objective) == (Status.OPTIMAL, 4)
    assert "outer approximation" in answer.solution.message or answer.solution.bound == 4


def test_rounding_a_choice_takes_the_server_with_most_of_a_node():
    instance = worked_dsrp()
    x = np.array([1.0, 0.3, 0.7, 0.6, 0.4, 1.0])
    chosen = Choice(x, np.array([True, True, False]))
    assert rounded(instance, chosen).tolist() == [0, 1, 0, -1]


def test_jobs_inserted_before_time_is_over_stay_in(monkeypatch):
    instance = worked_dsrp()
    jobs = Insertion(instance, np.random.default_rng(0), instance.service_load)

    def over(self):
        raise TimeoutError

    monkeypatch.setattr(Insertion, "_empty", over)
    found = schedule_of(instance, jobs.search(instance.num_jobs, lambda: True), services=True)
    assert found.admit.sum() >= 1
    assert DSRP.check(instance, found) == []


@pytest.mark.parametrize(
    ("bounds", "more"),
    [
        ([30.5], True),  # nothing is known yet
        ([30.5, 30.5, 30.5], False),
        ([30.35, 30.35, 30.34], False),  # 37 more rounds at 0.005 save no job
        ([30.19, 30.18, 30.18], True),
        ([30.19 - 0.0001 * n for n in range(40)], False),  # as many as there may be
    ],
)
def test_cuts_go_on_while_they_promise_to_save_a_job(bounds, more):
    assert promising(bounds, 2) == more


@pytest.mark.parametrize(
    ("close", "done", "shares"),
    [
        (0.45, 0.2, [0.2, 0.95, 1.0]),
        (0.45, 0.19, [0.2, 1.0]),  # jobs are exchanged instead
        (-0.1, 1.0, [1.0]),  # the bound lies too far above for the tree to come first
    ],
)
def test_a_tree_goes_on_early_while_it_ends_as_fast_as_its_time(monkeypatch, close, done, shares):
    asked = []
    monkeypatch.setattr(service_search, "CLOSE", close)
    monkeypatch.setattr(SetTree, "done", done)
    for name in ("_take", "_fill", "_exchange"):
        monkeypatch.setattr(ServiceSearch, name, lambda *args: None)
    monkeypatch.setattr(ServiceSearch, "_divide", lambda self, tree, share: asked.append(share))
    instance = worked_dsrp()
    empty = Schedule.empty(instance.num_jobs, instance.num_data_nodes)
    ServiceSearch(instance, Options(), empty).run()
    assert asked == shares
