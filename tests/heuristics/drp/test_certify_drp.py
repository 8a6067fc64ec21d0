"""The paper's propositions and theorems as they come out on its counterexamples and drawn cases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from drp_cases import examples, worked_drp, worked_dsrp, x2, x4, x5
from hypothesis import given
from hypothesis import strategies as st

from formulations.drp import DSRP, PROBLEM
from formulations.drp.generator import tiny
from heuristics.drp import DSRP_HEURISTICS, HEURISTICS
from optsched.problem.certificate import all_expected_hold


def certified(problem, heuristics, name, instance):
    made = heuristics[name].run(instance, np.random.default_rng(0))
    return {one.statement: one for one in problem.certify(instance, made)}


def test_proposition_1_fails_as_printed_with_probability_one_ninth():
    found = certified(PROBLEM, HEURISTICS, "r_dr", x2())["Proposition 1, as printed"]
    assert (found.verdict, found.expected) == ("fails", False)
    assert found.left == pytest.approx(1 / 9)


@pytest.mark.parametrize(("instance", "verdict"), [(x4(), "fails"), (x5(), "fails")])
def test_theorem_3_fails_against_what_the_paper_calls_optimal(instance, verdict):
    found = certified(PROBLEM, HEURISTICS, "r_dr", instance)
    against = found["Theorem 3, as printed, against LP1 after PRUNE"]
    assert against.verdict == ("holds" if against.left <= against.right else verdict)
    assert found["Theorem 3, as printed, against the optimum"].verdict in ("holds", "undecided")
    assert all_expected_hold(found.values())


def test_no_algorithm_can_keep_theorem_3_on_x5():
    best = PROBLEM.solve("problem_5_projected", x5()).schedule
    found = {one.statement: one for one in PROBLEM.certify(x5(), best)}
    printed = found["Theorem 3, as printed, against LP1 after PRUNE"]
    assert (printed.verdict, printed.right) == ("fails", 1.0)
    assert printed.left == pytest.approx(0.73825 * 5 / 3, abs=1e-4)


def test_a_decision_that_breaks_a_capacity_is_refuted():
    instance = worked_drp()
    made = HEURISTICS["r_dr"].run(instance, np.random.default_rng(0))
    everybody = replace(made, admit=np.ones_like(made.admit))
    assert not all_expected_hold(PROBLEM.certify(instance, everybody))


def test_the_worked_example_with_services_keeps_what_is_proven():
    found = certified(DSRP, DSRP_HEURISTICS, "r_dsr", worked_dsrp())
    assert found["Theorem 5"].verdict == found["Proposition 2, as printed"].verdict == "holds"
    assert found["Theorem 6, corrected"].verdict == "holds"


@given(seed=st.integers(0, 2**32 - 1))
@examples(25)
def test_what_is_proven_holds_on_drawn_instances(seed):
    rng = np.random.default_rng(seed)
    instance = tiny(rng, jobs=4, servers=3, most_nodes=3, storage=True)
    for problem, heuristics, name in (
        (PROBLEM, HEURISTICS, "r_dr"), (DSRP, DSRP_HEURISTICS, "r_dsr"),
    ):  # fmt: skip
        assert all_expected_hold(certified(problem, heuristics, name, instance).values())
