"""Rounds, four times the cloud, and the interval argument, on runs and on what they are not of."""

from __future__ import annotations

import numpy as np
import pytest

from formulations.batch import COMPLETION, PROBLEM
from heuristics.batch import HEURISTICS
from optsched.problem.certificate import all_expected_hold


def certified(name, seed=0, problem=PROBLEM, **drawn):
    instance = PROBLEM.generate(np.random.default_rng(seed), jobs=8, servers=4, **drawn)
    made = HEURISTICS[name].run(instance, np.random.default_rng(0))
    return {one.statement: one for one in problem.certify(instance, made)}


@pytest.mark.parametrize("seed", range(3))
def test_a_online_runs_in_rounds_and_within_four_times_the_cloud(seed):
    for time_scale in (1.0, 0.1):
        found = certified("a_online", seed, time_scale=time_scale)
        assert found["Rounds"].verdict == "holds"
        assert found["Four times the cloud"].verdict == "holds"
        assert all_expected_hold(found.values())


def test_fifo_does_not_run_in_rounds():
    assert certified("fifo")["Rounds"].verdict == "fails"


def test_without_an_unlimited_cloud_four_times_the_cloud_says_nothing():
    found = certified("a_online", cloud_workers=200, time_scale=0.1)
    assert found["Four times the cloud"].verdict == "not_applicable"


def test_the_interval_argument_is_about_completion_times():
    found = certified("all_cloud", problem=COMPLETION)
    assert found["Interval argument, weighted completion time"].verdict == "holds"
    assert found["Interval argument, flow time"].verdict in ("holds", "undecided")


def test_a_job_that_never_runs_is_refuted():
    instance = PROBLEM.generate(np.random.default_rng(0), jobs=2, servers=2)
    from formulations.batch.schedule import Schedule

    (found,) = PROBLEM.certify(instance, Schedule.build(runs=[], placements=[]))
    assert found.refuted
