"""Requests that arrive one by one: what a policy sees and decides, and how the rest is replanned.

Runs go on until their last token. What waits is the integer program on the memory that they leave.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from formulations.llm_inference.check import check, completions, cost, loads
from formulations.llm_inference.hindsight import Starts, chosen, program
from formulations.llm_inference.instance import Instance, Integers, Request
from formulations.llm_inference.schedule import Schedule
from optsched.online import State as Base
from optsched.solve import solve
from optsched.solvers.answer import Answer
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution, Status


def joined(*parts: Schedule) -> Schedule:
    """The runs of several schedules."""
    rows = [np.column_stack([p.request, p.start, p.tokens]) for p in parts]
    return Schedule.build(np.concatenate(rows))


def relabel(instance: Instance, schedule: Schedule, requests: Integers) -> Schedule:
    """The schedule with request i called requests[i]; each ends with its last token at the latest.

    A plan may be made for more tokens than there turn out to be.
    """
    request = np.asarray(requests)[schedule.request]
    tokens = np.minimum(schedule.tokens, instance.output[request])
    made = Schedule(request, schedule.start, tokens)
    kept = schedule.start < completions(instance, made)[request]
    return Schedule.build(np.column_stack([request, schedule.start, tokens])[kept])


def begun(schedule: Schedule, now: float) -> Schedule:
    """The runs that began before a moment."""
    kept = schedule.start < now
    return Schedule(schedule.request[kept], schedule.start[kept], schedule.tokens[kept])


def decisions(instance: Instance, schedule: Schedule, moment: float) -> list[tuple[int, str]]:
    """The runs that began before a moment, and their evictions before it."""
    past = begun(schedule, moment)
    starts = zip(past.request.tolist(), past.start.tolist(), strict=True)
    said = [(i, f"starts in round {p}") for i, p in starts]
    end = past.start + past.tokens
    evicted = (end < moment) & (past.tokens < instance.output[past.request])
    rows = zip(past.request[evicted].tolist(), end[evicted].tolist(), strict=True)
    return said + [(i, f"is evicted in round {u}") for i, u in rows]


def replan(instance: Instance, schedule: Schedule, now: float, options: Options) -> Answer:
    """The integer program of the requests that wait; those that run go on."""
    past = begun(schedule, now)
    waiting = np.setdiff1d(np.arange(instance.requests), past.request)
    if not len(waiting):
        value = cost(instance, past)
        return Answer(Solution(Status.OPTIMAL, value, value, checked=True), past)
    rest = instance.select({"requests": waiting})
    first = np.maximum(rest.arrival, int(np.ceil(now)))
    free = max(int(first.max()), int((past.start + past.tokens).max(initial=0)))
    columns = Starts(rest, first, free + int(rest.output.sum()) - rest.output)
    load = np.zeros(int(columns.end.max()), dtype=np.int64)
    rounds, held = loads(instance, past)
    ahead = rounds < len(load)
    load[rounds[ahead]] = held[ahead]
    solution = solve(program(columns, instance.memory - load), "highs", options=options)
    if not solution.has_point:
        return Answer(solution)
    return Answer(solution, chosen(columns, solution["x"])).completed(
        lambda made: joined(past, relabel(instance, made, waiting)), partial(cost, instance)
    )


class State(Base):
    """What a policy sees, and the verbs it decides with; ``known`` is an ``Instance``."""

    known: Instance

    def earliest(self, request: Request) -> int:
        """First round from now on in which a request can start beside all that is planned."""
        round_ = max(request.arrival, int(np.ceil(self.now)))
        while any(v.constraint == "L2" for v in check(self.known, self._with(request, round_))):
            round_ += 1
        return round_

    def start(self, request: Request, round_: int | None = None) -> None:
        """Start a request.

        Args:
            request: which one.
            round_: its first round; None: the earliest there is.
        """
        self.follow(self._with(request, self.earliest(request) if round_ is None else round_))

    def _with(self, request: Request, round_: int) -> Schedule:
        run = [[request.id, round_, self.known.output[request.id]]]
        return joined(self.plan, Schedule.build(run))
