"""The first schedule: feasible whatever the instance, and there whatever the limit."""

import numpy as np
import pytest
from drp_cases import SHARED, examples, instances, system
from hypothesis import given

from formulations.drp import DSRP, PROBLEM
from formulations.drp.decode import schedule_of
from formulations.drp.exact.construct import first_association
from formulations.drp.generator import generate
from optsched.solvers.options import Options

METHODS = [(PROBLEM, "problem_5_projected"), (DSRP, "problem_22_projected")]


@pytest.mark.parametrize("services", [False, True])
@given(instance=instances(**SHARED))
@examples(40)
def test_what_is_admitted_one_after_the_other_fits(services, instance):
    assoc = first_association(instance, lambda: False, services=services)
    schedule = schedule_of(instance, assoc, services=services)
    assert (DSRP if services else PROBLEM).check(instance, schedule) == []


def test_storage_binds_with_services_only():
    instance = system(
        [(k, 1, [0]) for k in range(3)], [3], server_storage_bytes=2.0, service_size_bytes=[1] * 3
    )
    admitted = [
        schedule_of(instance, first_association(instance, lambda: False, services=s)).admit.sum()
        for s in (False, True)
    ]
    assert admitted == [3, 2]


def test_a_job_that_does_not_fit_leaves_nothing_behind():
    """The first node of the larger job fits, its second does not; the smaller job is after it."""
    instance = system([(0, 1, [0]), (0, 1, [1]), (1, 2, [0])], [2, 0.5])
    schedule = schedule_of(instance, first_association(instance, lambda: False))
    assert schedule.admit.tolist() == [False, True]


def test_without_time_one_job_is_admitted_all_the_same():
    instance = generate(np.random.default_rng(0), jobs=8, nodes_per_job=3)
    schedule = schedule_of(instance, first_association(instance, lambda: True))
    assert schedule.admit.sum() == 1


@pytest.mark.parametrize("limit", [1e-6, 1e-2, 0.3])
@pytest.mark.parametrize(("problem", "method"), METHODS)
@pytest.mark.parametrize("jobs", [6, 120])
def test_however_short_the_limit_there_is_a_schedule_with_a_job(problem, method, limit, jobs):
    instance = generate(np.random.default_rng(0), jobs=jobs, nodes_per_job=3)
    answer = problem.solve(method, instance, options=Options(time_limit=limit))
    assert answer.solution.objective == answer.schedule.admit.sum() >= 1
    assert problem.check(instance, answer.schedule) == []
