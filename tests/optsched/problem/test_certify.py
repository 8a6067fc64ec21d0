"""Certificates: which failures count, and the command that lists them for any problem."""

import json
import sys
from dataclasses import replace

import covering
import pytest
from typer.testing import CliRunner

from optsched.cli import app
from optsched.problem.certificate import Certificate, all_expected_hold, at_most, feasibility
from optsched.problem.violation import Violation


def certificate(verdict, expected=True) -> Certificate:
    return Certificate(
        "Lemma", "a test", "left <= right", verdict, expected, 1.0, 2.0, {"item": 3}, "so it is"
    )


@pytest.fixture
def files(tmp_path):
    instance, schedule = tmp_path / "instance.json", tmp_path / "schedule.json"
    instance.write_text('{"price": [3, 4, 10], "size": [2, 3, 5], "demand": 5}')
    schedule.write_text('{"taken": [1], "speed": 2.0}')
    return str(instance), str(schedule)


def certified(monkeypatch, files, *certificates, json_too=False):
    """What the command says of a problem whose statements come out like that."""
    problem = replace(covering.PROBLEM, certify=lambda instance, schedule: certificates)
    monkeypatch.setattr(sys.modules["optsched.problem"], "problem", lambda name: problem)
    arguments = ["check", "covering", *files, "--theorems", *(["--json"] if json_too else [])]
    return CliRunner().invoke(app, arguments)


@pytest.mark.parametrize("verdict", ["holds", "fails", "undecided", "not_applicable"])
def test_only_what_should_hold_and_fails_is_refuted(verdict):
    assert certificate(verdict).refuted == (verdict == "fails")
    assert not certificate(verdict, expected=False).refuted
    assert all_expected_hold([certificate(verdict, expected=False)])
    assert all_expected_hold([certificate("holds"), certificate(verdict)]) == (verdict != "fails")


def test_numbers_compare_up_to_a_relative_tolerance():
    assert at_most(1.0, 1.0 - 1e-10) == at_most(1e12 + 1, 1e12) == "holds"
    assert at_most(1.0, 1.0 - 1e-8) == "fails"
    assert at_most(1.0, 1.0 - 1e-8, tolerance=1e-6) == "holds"


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [
        (0.0, -1e-9, "holds"),  # the tolerance itself
        (0.5, 0.5 - 0.9e-9, "holds"), (0.5, 0.5 - 1.1e-9, "fails"),
        (4.0, 4.0 - 3.6e-9, "holds"), (4.0, 4.0 - 4.4e-9, "fails"),
        (-4.0, -4.0 - 3.6e-9, "holds"), (-4.0, -4.0 - 4.4e-9, "fails"),
    ],
)  # fmt: skip
def test_the_tolerance_is_relative_to_numbers_above_one(left, right, verdict):
    assert at_most(left, right) == verdict


def test_nothing_is_expected_that_is_not_said_to_be():
    assert not Certificate("Lemma", "a test", "left <= right", "fails").refuted


def test_a_schedule_that_breaks_nothing_is_feasible_and_one_that_does_names_the_worst():
    sound = feasibility("a test", [])
    assert (sound.verdict, sound.left, sound.right) == ("holds", 0.0, 0.0)
    assert (sound.where, sound.detail, sound.refuted) == ({}, "", False)

    broken = [Violation("a", {"job": 1}, 0.5), Violation("b", {"job": 2}, 2.0)]
    unsound = feasibility("a test", broken)
    assert (unsound.verdict, unsound.left, unsound.right) == ("fails", 2.0, 0.0)
    assert unsound.where == {"job": 2}
    assert "(b)" in unsound.detail
    assert unsound.refuted


def test_the_command_exits_0_where_all_that_should_hold_does(monkeypatch, files):
    result = certified(
        monkeypatch, files, certificate("holds"), certificate("fails", expected=False)
    )
    assert result.exit_code == 0
    assert "Lemma" in result.stdout
    assert "item 3" in result.stdout


def test_the_command_exits_1_where_something_does_not(monkeypatch, files):
    result = certified(
        monkeypatch, files, certificate("holds"), certificate("fails"), json_too=True
    )
    assert result.exit_code == 1
    said = json.loads(result.stdout)
    assert said["sound"] is False
    assert [one["verdict"] for one in said["certificates"]] == ["holds", "fails"]
    assert said["certificates"][1]["where"] == {"item": 3}


def test_a_problem_without_theorems_is_refused_with_status_2(files):
    result = CliRunner().invoke(app, ["check", "covering", *files, "--theorems"])
    assert result.exit_code == 2
    assert "knows no lemmas or theorems" in result.stderr
