"""Run a policy: it gets one arrival, or one slot, at a time and nothing else."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from optsched.errors import InputError
from optsched.online.hidden import moments, shown
from optsched.online.state import State, arrivals_of
from optsched.problem import Heuristic, Problem
from optsched.problem.arrivals import Arrivals

PATIENCE = 10_000
"""Slots after the last arrival in which a policy may leave jobs unfinished without a decision."""


class Policy(Protocol):
    """What decides online; instead of ``arrive``, or beside it, it may have ``slot(state)``.

    ``arrive`` is called for each job as it comes, ``slot`` for every slot, after those that
    arrive at its beginning, until all is decided. Either decides by the verbs of the state, or
    returns a schedule of the jobs known, which replaces the plan.
    """

    def arrive(self, job: Any, state: Any) -> Any:
        """Take in a job, and decide."""


def is_policy(thing: Any) -> bool:
    """Whether it is a policy, or a class of them."""
    return any(callable(getattr(thing, name, None)) for name in ("arrive", "slot"))


def simulate(problem: Problem, instance: Any, policy: Any) -> Any:
    """The schedule of a policy that is handed the jobs as they come.

    Args:
        problem: whose instance it is.
        instance: unfolds job by job, by arrival time, then index.
        policy: an object with ``arrive(job, state)``, ``slot(state)``, or both.

    Raises:
        InputError: the problem has no arrivals, or a decision that is impossible.
    """
    arrivals = arrivals_of(problem)
    times = np.asarray(arrivals.times(instance), dtype=float)
    order = np.lexsort((np.arange(len(times)), times))
    unfolding = arrivals.select(instance, order)
    state: State = arrivals.state(problem)
    slots = _Slots(policy, state, arrivals)
    for k, moment in enumerate(times[order].tolist()):
        slots.run_until(moment)
        slots.jobs = arrivals.select(unfolding, np.arange(k + 1))
        state.learn(shown(arrivals, slots.jobs, state.plan, moment), moment)
        _tell(policy, "arrive", arrivals.job(state.known, k), state)
    slots.run_until(math.inf)
    return arrivals.relabel(instance, state.plan, order)


def _tell(policy: Any, what: str, *told: Any) -> None:
    """Call a policy; what it returns is its plan."""
    call = getattr(policy, what, None)
    plan = None if call is None else call(*told)
    if plan is not None:
        told[-1].follow(plan)


class _Slots:
    """Calls a policy that decides by slots; others have nothing to do between arrivals."""

    jobs: Any = None
    """Those that have arrived, with the true values of hidden fields."""

    def __init__(self, policy: Any, state: State, arrivals: Arrivals) -> None:
        self._policy, self._state, self._arrivals = policy, state, arrivals
        self._wanted = hasattr(policy, "slot")
        self._next = -math.inf

    def run_until(self, moment: float) -> None:
        """All slots before the next arrival; none is skipped while something is undecided."""
        state = self._state
        self._next = max(self._next, math.ceil(state.now) if math.isfinite(state.now) else moment)
        idle = 0
        while self._wanted and self._next < moment and not state.finished:
            self._advance()
            before = state.plan
            _tell(self._policy, "slot", state)
            self._next += 1
            idle = idle + 1 if state.plan is before else 0
            if idle > PATIENCE and math.isinf(moment):
                allowed = f"a decision within {PATIENCE} slots of the last arrival"
                raise InputError.of(type(self._policy).__name__, "jobs left undecided", allowed)

    def _advance(self) -> None:
        """Set the time to the next slot, and show what is hidden no longer."""
        state, moment = self._state, self._next
        if self._arrivals.hidden:
            when = moments(self._arrivals, self.jobs, state.plan)
            if ((when > state.now) & (when <= moment)).any():
                state.learn(shown(self._arrivals, self.jobs, state.plan, moment), moment)
        state.now = moment


class Rerun:
    """Any heuristic behind the policies' door: run anew, on every arrival, on what is known.

    It sees nothing else, and the simulator refuses a plan that rewrites what is done: if it gets
    through, it ends with the schedule of the heuristic itself.

    Args:
        heuristic: what to run.
        rng: its generator; every run draws from a copy.
        options: of the heuristic.
    """

    def __init__(self, heuristic: Heuristic, rng: np.random.Generator, **options: Any) -> None:
        self._heuristic, self._rng, self._options = heuristic, rng, options

    def arrive(self, job: Any, state: State) -> Any:
        """The heuristic's schedule of the jobs known."""
        return self._heuristic.run(state.known, copy.deepcopy(self._rng), **self._options)


def policy_heuristic(problem: Problem, policy: Any, name: str = "") -> Heuristic:
    """A policy as a heuristic, to be measured like any other.

    Args:
        problem: whose jobs it is handed.
        policy: a class, made anew for every run: with a generator if it takes ``rng``, and with
            its other parameters as options; or a function that makes one.
        name: what to call it; by default, as its class.
    """
    taken = {p.name: p for p in _parameters(policy)}

    def run(instance: Any, rng: np.random.Generator, **options: Any) -> Any:
        given = {"rng": rng, **options} if "rng" in taken else options
        return simulate(problem, instance, policy(**given))

    own = [p.replace(kind=p.KEYWORD_ONLY) for n, p in taken.items() if n != "rng"]
    told = list(inspect.signature(run).parameters.values())[:2]
    run.__signature__ = inspect.Signature([*told, *own])  # type: ignore[attr-defined]
    summary = (inspect.getdoc(policy) or "a policy").splitlines()[0]
    return Heuristic(name or policy.__name__, run, "a policy", summary)


def _parameters(make: Callable[..., Any]) -> Iterator[inspect.Parameter]:
    return iter(inspect.signature(make).parameters.values())
