"""Loops give the same interpreted and compiled: every call, and what comes of them."""

import copy
import math
import sys

import numpy as np
import pytest

from optsched import jit
from optsched.document import dumps
from optsched.evaluation.heuristic_run import run_heuristic
from optsched.evaluation.runs import InstanceRunner, MethodSpec, instance_rng
from optsched.problem import problem

SMALL = {
    "preemptive": {"jobs": 8, "servers": 3},
    "okita": {"jobs": 6},
}
"""Options of the generators of the problems whose algorithms have compiled loops."""

SEARCHES = {
    "preemptive": [MethodSpec("exact", "price_guided")],
    "okita": [MethodSpec("exact", "problem_2_columns"), MethodSpec("bound", "lb_relaxed_columns")],
}
"""What has compiled loops beside heuristics."""


def compiled(function, *args):
    return function.machine(*args)


def interpreted(function, *args):
    if jit._clock.deadline is not None:  # it is called by one that is interpreted
        return function._interpretable(*args)
    return function._interpret(args, math.inf)[1]


def schedules(monkeypatch, way, name, seed):
    """Every heuristic's schedule or complaint on one instance."""
    monkeypatch.setattr(jit.Dispatcher, "__call__", way)
    found = problem(name)
    instance = found.generate(instance_rng(seed), **SMALL[name])
    made = {}
    for call in found.heuristics:
        run = run_heuristic(found, instance, call, seed)
        assert (run.time.interpreted_seconds == 0) or way is interpreted
        made[call] = run.message if run.schedule is None else dumps(run.schedule)
    return made


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SMALL)
def test_both_ways_give_the_same_schedules(monkeypatch, name, seed):
    expected = schedules(monkeypatch, interpreted, name, seed)
    assert expected == schedules(monkeypatch, compiled, name, seed)


def same(one, other):
    """Whether two results are, numbers bit by bit except that all "not a number" are one."""
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray | np.void) and one.dtype.names:
        return all(same(one[field], other[field]) for field in one.dtype.names)
    return np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind == "f")


@pytest.mark.parametrize("name", SMALL)
def test_every_call_does_the_same_both_ways(monkeypatch, name):
    reached, differing = set(), set()

    def both(function, *args):
        reached.add(function)
        if jit._clock.deadline is None:
            before = jit._copied(args)
            expected = copy.deepcopy((function.machine(*args), args))
            jit._put_back(args, before)
        result = interpreted(function, *args)
        if jit._clock.deadline is None and not same((result, args), expected):
            differing.add(function.__name__)
        return result

    monkeypatch.setattr(jit.Dispatcher, "__call__", both)
    found = problem(name)
    instance = found.generate(instance_rng(0), **SMALL[name])
    runner = InstanceRunner(found, instance, seed=0)
    own = [MethodSpec("heuristic", call) for call in found.heuristics if call != "reoptimise"]
    for method in (*own, *SEARCHES[name]):
        assert runner.run(method).status in ("done", "optimal"), method
    assert differing == set()
    there = {
        value
        for module in list(sys.modules.values())
        if module.__name__.startswith((f"heuristics.{name}.", f"formulations.{name}."))
        for value in vars(module).values()
        if isinstance(value, jit.Dispatcher)
    }
    assert {function.__name__ for function in there - reached} == set()
