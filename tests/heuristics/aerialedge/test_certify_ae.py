"""Closest deployment, fewest nodes and the identity of the metrics, on runs of all policies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from formulations.aerialedge import PROBLEM
from heuristics.aerialedge import HEURISTICS
from heuristics.aerialedge.timeline import ONE_PER_NODE
from optsched.problem.certificate import all_expected_hold


@pytest.fixture(scope="module")
def workload():
    return PROBLEM.generate(np.random.default_rng(0))


def certified(instance, name):
    made = HEURISTICS[name].run(instance, np.random.default_rng(0))
    return {one.statement: one for one in PROBLEM.certify(instance, made)}


def test_aerialedge_opens_the_fewest_nodes_of_the_closest_deployment(workload):
    found = certified(workload, "aerialedge")
    assert found["Closest deployment"].verdict == found["Fewest nodes"].verdict == "holds"


@pytest.mark.parametrize("name", ["aerialedge", "tetris", "spear", *ONE_PER_NODE, "next_fit"])
def test_what_must_hold_holds_of_every_policy(workload, name):
    assert all_expected_hold(certified(workload, name).values())


def test_tasks_that_are_left_out_leave_the_fewest_nodes_open(workload):
    made = HEURISTICS["first_fit"].run(workload, np.random.default_rng(0))
    one_less = replace(made, node=np.where(np.arange(workload.tasks), made.node, -1), partial=True)
    found = {one.statement: one for one in PROBLEM.certify(workload, one_less)}
    assert found["Fewest nodes"].verdict == "not_applicable"
