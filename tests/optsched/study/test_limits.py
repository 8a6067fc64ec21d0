"""A heuristic that hangs, crashes or eats memory is ended, and its rows say so."""

import os
import time

import covering
import numpy as np
import pytest

import optsched as osd
from optsched.errors import InputError
from optsched.evaluation.heuristic_run import heuristic_limits, run_heuristic, with_heuristics
from optsched.evaluation.runs import instance_rng
from optsched.problem import Heuristic
from optsched.study import Store, StudyGrid, run_study
from optsched.study.reading import Ratios

LIMITS = heuristic_limits(time_limit=2, memory_limit=2)


@pytest.fixture
def instance():
    """An instance of the third-party problem."""
    return covering.PROBLEM.generate(instance_rng(0))


@pytest.fixture
def hanging():
    """A heuristic that never returns."""

    def hang(instance, rng):
        time.sleep(10_000)

    return hang


def test_a_heuristic_that_hangs_is_ended(instance, hanging):
    problem, (name,) = with_heuristics(covering.PROBLEM, [hanging])
    run = run_heuristic(problem, instance, name, 0, LIMITS)
    assert (run.status, run.schedule, run.error) == ("timeout", None, None)
    assert run.message == "ended at its time limit of 2 s"
    assert "in hang" in run.trace


def test_a_heuristic_that_dies_takes_nobody_with_it(instance):
    def dying(instance, rng):
        os._exit(3)

    problem, (name,) = with_heuristics(covering.PROBLEM, [dying])
    run = run_heuristic(problem, instance, name, 0, LIMITS)
    assert run.status == "error"
    assert "its process ended by exit code 3" in run.message
    assert run_heuristic(problem, instance, "everything", 0, LIMITS).cost == sum(instance.price)


@pytest.mark.parametrize("ending", [SystemExit, GeneratorExit])
@pytest.mark.parametrize("limits", [None, LIMITS])
def test_a_heuristic_that_ends_the_program_is_an_error_of_its_own(instance, ending, limits):
    def quits(instance, rng):
        raise ending("enough")

    problem, (name,) = with_heuristics(covering.PROBLEM, [quits])
    run = run_heuristic(problem, instance, name, 0, limits)
    assert (run.status, run.message) == ("error", f"{ending.__name__}: enough")
    assert (run.error is None) == (limits is not None)  # not every exception survives the way
    assert "in quits" in run.trace


def test_an_interrupt_in_a_process_of_its_own_is_not_taken_for_want_of_memory(instance):
    def interrupted(instance, rng):
        raise KeyboardInterrupt

    problem, (name,) = with_heuristics(covering.PROBLEM, [interrupted])
    run = run_heuristic(problem, instance, name, 0, LIMITS)
    assert run.status == "error"
    assert "KeyboardInterrupt" in run.message


def test_an_exception_that_cannot_say_itself_is_an_error_by_its_type(instance):
    class MuteError(Exception):
        def __str__(self):
            raise ValueError

    def mute(instance, rng):
        raise MuteError

    problem, (name,) = with_heuristics(covering.PROBLEM, [mute])
    run = run_heuristic(problem, instance, name, 0)
    assert (run.status, run.message) == ("error", "MuteError")


def test_a_heuristic_that_eats_memory_is_ended(instance):
    def eating(instance, rng):
        return np.ones(2**30)  # 8 GiB

    problem, (name,) = with_heuristics(covering.PROBLEM, [eating])
    run = run_heuristic(problem, instance, name, 0, heuristic_limits(memory_limit=2))
    assert run.status == "out of memory"
    assert "eating" in run.trace


def test_a_study_has_a_row_for_the_heuristic_that_hangs(hanging, tmp_path):
    grid = StudyGrid(
        "covering", heuristics=["greedy", hanging], heuristic_limits=LIMITS, seeds=range(2)
    )
    results = run_study([grid], tmp_path / "study.sqlite", workers=2)
    ends = {(row.heuristic, row.seed): row.status for row in results.rows}
    assert ends == {
        ("greedy", 0): "optimal", ("greedy", 1): "optimal",
        ("hang", 0): "timeout", ("hang", 1): "timeout",
    }  # fmt: skip


def test_the_whole_traceback_is_kept_with_the_run(tmp_path):
    path = tmp_path / "study.sqlite"
    run_study([StudyGrid("covering", heuristics=["crashing"])], path, workers=1)
    with Store.reading(path) as store:
        (failure,) = Ratios.of(store).failures(store)
    assert (failure["method"], failure["status"]) == ("crashing", "error")
    lines = failure["trace"].splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert "covering.py" in lines[1]  # no frame of ours
    assert lines[-1] == "ZeroDivisionError: as heuristics under test sometimes do"


def test_functions_and_heuristics_stand_beside_names(instance):
    def everything(instance, rng):
        """Takes all."""
        return covering.PROBLEM.heuristics["everything"].run(instance, rng)

    own = Heuristic("mine", covering.PROBLEM.heuristics["greedy"].run, "", "as greedy")
    rows = osd.ratios(covering.PROBLEM, ["greedy", own], instances=instance).rows
    assert [row.heuristic for row in rows] == ["greedy", "mine"]
    assert rows[0].cost == rows[1].cost
    with pytest.raises(InputError, match="a name that no other heuristic has"):
        osd.ratios(covering.PROBLEM, [everything], instances=instance)
    problem, _ = with_heuristics(covering.PROBLEM, [lambda instance, rng: None])
    assert not problem.heuristics["lambda"].online


def test_what_is_no_heuristic_is_refused(instance):
    with pytest.raises(InputError, match="a named function"):
        osd.ratios(covering.PROBLEM, [3], instances=instance)
