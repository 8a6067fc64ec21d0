"""What is proven of Okita holds of its runs; what is printed is reported."""

from __future__ import annotations

import numpy as np
import pytest

from formulations.okita import PROBLEM
from formulations.okita.generator import generate
from formulations.okita.schedule import Schedule
from heuristics.okita import HEURISTICS
from optsched.problem.certificate import all_expected_hold


def certified(instance, name="okita"):
    made = HEURISTICS[name].run(instance, np.random.default_rng(0))
    return {one.statement: one for one in PROBLEM.certify(instance, made)}


@pytest.mark.parametrize("name", ["okita", "okita_exact", "fifo", "drf", "oasis"])
def test_all_that_is_proven_holds_of_every_algorithm(name):
    instance = generate(np.random.default_rng(3), jobs=4, sites=3, horizon=20)
    found = certified(instance, name)
    assert found["Theorem 1"].verdict == "holds"
    assert all_expected_hold(found.values())


def test_okita_makes_progress_in_every_slot_and_so_ends_in_time():
    for seed in range(4):
        found = certified(generate(np.random.default_rng(seed), jobs=6, sites=3, horizon=20))
        assert found["Progress"].verdict == found["Termination, corrected"].verdict == "holds"
        assert found["Theorem 2, corrected"].verdict == "holds"


def test_a_schedule_that_trains_nothing_breaks_theorem_1():
    instance = generate(np.random.default_rng(0), jobs=2, sites=2, horizon=20)
    nothing = Schedule.build(workers=[], servers=[], moves=[])
    (found,) = PROBLEM.certify(instance, nothing)
    assert (found.statement, found.verdict, found.refuted) == ("Theorem 1", "fails", True)
