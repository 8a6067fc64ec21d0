"""Loops give the same schedules interpreted and compiled, on instances of every kind."""

import pytest

from optsched import jit
from optsched.document import dumps
from optsched.evaluation.heuristic_run import run_heuristic
from optsched.evaluation.runs import instance_rng
from optsched.problem import problem

SMALL = {
    "preemptive": {"jobs": 8, "servers": 3},
    "okita": {"jobs": 6},
}
"""Options of the generators of the problems whose algorithms have compiled loops."""


def schedules(monkeypatch, patience, name, seed):
    """Every heuristic's schedule or complaint on one instance."""
    monkeypatch.setattr(jit, "PATIENCE", patience)
    monkeypatch.setattr(jit, "PATIENCE_IN_ALL", patience)
    monkeypatch.setattr(jit.Dispatcher, "_on_disk", patience == 0)
    found = problem(name)
    instance = found.generate(instance_rng(seed), **SMALL[name])
    made = {}
    for call in found.heuristics:
        run = run_heuristic(found, instance, call, seed)
        assert (run.time.interpreted_seconds == 0) or patience > 0
        made[call] = run.message if run.schedule is None else dumps(run.schedule)
    return made


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SMALL)
def test_both_ways_give_the_same_schedules(monkeypatch, name, seed):
    interpreted = schedules(monkeypatch, 1e9, name, seed)
    assert interpreted == schedules(monkeypatch, 0, name, seed)
