"""LeastLoad: what it admits where R-DR does not, and that what it admits fits."""

import numpy as np
import pytest
from drp_cases import system, x1, x3, x5

from formulations.drp.generator import tiny
from formulations.drp.instance import NO_SERVER
from heuristics.drp.baselines import greedy
from heuristics.drp.least_load import least_load
from heuristics.drp.r_dr import r_dr
from optsched.evaluation.runs import instance_rng
from optsched.problem import problem

RNG = np.random.default_rng(0)


def admitted(instance, made) -> list[int]:
    """Jobs, by their nodes."""
    return np.unique(instance.node_job[made.assoc != NO_SERVER]).tolist()


def test_a_job_that_a_fixed_communication_share_turns_away_is_admitted():
    instance = x1()
    assert admitted(instance, r_dr(instance, RNG)) == []
    assert admitted(instance, least_load(instance, RNG)) == [0]
    assert admitted(instance, least_load(instance, RNG, mode="eps")) == []


def test_a_job_that_prune_rejects_is_admitted():
    assert admitted(x3(), least_load(x3(), RNG)) == [0]


def test_a_job_that_does_not_fit_beside_another_is_left_out_whole():
    assert admitted(x5(), least_load(x5(), RNG)) == [0]


def test_a_node_goes_where_use_is_least_and_not_where_least_is_stored():
    nodes = [(0, 1, [0, 1]), (1, 1.5, [0])]  # server 0 has ten times less room for data in a second
    instance = system(nodes, [2, 20])
    assert least_load(instance, RNG).assoc.tolist() == [1, 0]
    assert greedy(instance, RNG, mode="exact").assoc[0] == 0


@pytest.mark.parametrize("name", ["drp", "dsrp"])
def test_what_is_admitted_fits_and_is_more_than_greedy_admits(name):
    found, counts = problem(name), {"greedy": 0.0, "least_load": 0.0}
    for seed in range(3):
        instance = found.generate(instance_rng(seed), jobs=30)
        for heuristic in counts:
            made = found.run(heuristic, instance, np.random.default_rng(0))
            assert found.check(instance, made) == []
            counts[heuristic] += found.cost(instance, made)
    assert counts["least_load"] > counts["greedy"]


def test_jobs_are_tried_by_load_and_not_by_data():
    nodes = [(0, 1, [0]), (1, 1, [0])]  # of the first job, more data and less load
    instance = system(nodes, [9], alpha=[0.2, 0.9], beta=1e-9, data=[2.0, 1.0])
    assert admitted(instance, least_load(instance, RNG)) == [0]
    assert admitted(instance, least_load(instance, RNG, by_load=False)) == [1]


def test_nodes_are_taken_back_where_a_later_one_would_find_no_room():
    nodes = [(0, 1.5, [0, 1]), (0, 1, [0])]  # the first is idler on the server the second needs
    instance = system(nodes, [2, 1.6])
    assert admitted(instance, least_load(instance, RNG, retries=0, rescue=False)) == []
    assert least_load(instance, RNG, retries=1).assoc.tolist() == [1, 0]
    assert problem("drp").check(instance, least_load(instance, RNG)) == []


@pytest.mark.parametrize("name", ["drp", "dsrp"])
def test_where_no_job_is_admitted_it_begins_with_one_that_the_exact_model_finds(name):
    nodes = [(0, 1.5, [0, 1]), (0, 1, [0]), (1, 9, [0])]  # nothing helps the second job
    found, instance = problem(name), system(nodes, [2, 1.6])
    assert found.run("least_load(retries=0, rescue=False)", instance, RNG).admit.sum() == 0
    made = found.run("least_load(retries=0)", instance, RNG)
    assert admitted(instance, made) == [0]
    assert found.check(instance, made) == []


def test_it_admits_none_only_where_none_can_be():
    found, none = problem("drp"), 0
    for seed in range(12):
        instance = tiny(instance_rng(seed), jobs=2, most_nodes=3)
        most = found.solve(found.reference, instance).solution.objective
        made = found.run("least_load(retries=0)", instance, RNG)
        assert (found.cost(instance, made) > 0) == (most > 0)
        none += most == 0
    assert 0 < none < 12
