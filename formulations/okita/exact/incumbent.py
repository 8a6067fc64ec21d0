"""The best schedule and the best bound of a search so far, and what becomes of them in the end."""

from __future__ import annotations

import threading

import numpy as np

from formulations.okita.check import check
from formulations.okita.horizon import HorizonMode, last_slot, site_bounds
from formulations.okita.instance import Instance
from formulations.okita.one_job.planner import known_cost
from formulations.okita.schedule import Schedule
from optsched.solvers.answer import Answer
from optsched.solvers.options import Options
from optsched.solvers.registry import backend
from optsched.solvers.solution import Limit, Solution, Status
from optsched.solvers.trajectory import SearchProgress

_PATIENCE = 0.5
"""Seconds beyond 1.2 times the limit for making a first schedule; as many again and one are
promised, and left for what is made of it."""

_MET = 1e-9  # relative distance at which a cost and a bound have met


class BestKnown:
    """What is known; several threads may offer schedules.

    Raises:
        InputError: an unknown mode.
    """

    def __init__(
        self, instance: Instance, options: Options, start: Schedule | None, mode: HorizonMode
    ) -> None:
        self.instance, self.options, self.mode = instance, options, mode
        self.clock = SearchProgress(options)
        end = last_slot(instance, mode)  # whatever the mode: it refuses an unknown one
        self.horizon = end if mode == "given" else None
        self.schedule: Schedule | None = None
        self.cost = np.inf
        self.bound = float(site_bounds(instance).sum())
        self.proven = self.infeasible = False
        self.nodes, self.message = 0, ""
        self._lock = threading.Lock()
        self.offer(start)

    def offer(self, schedule: Schedule | None) -> None:
        """Take a schedule that is allowed and better than the best."""
        if schedule is None or check(self.instance, schedule):
            return
        value = known_cost(self.instance, schedule, horizon=self.horizon)
        with self._lock:
            if value < self.cost:
                self.schedule, self.cost = schedule, value
                self.clock.tell(objective=value)

    def raise_bound(self, bound: float | None) -> None:
        """Take a bound."""
        if bound is not None:
            self.bound = max(self.bound, bound)
            self.clock.tell(bound=min(self.bound, self.cost))

    @property
    def met(self) -> bool:
        """Whether bound and schedule meet, up to the gaps asked for."""
        options = self.options
        gap = max(_MET * max(1.0, abs(self.cost)), options.gap * abs(self.cost))
        near = self.cost - self.bound <= max(gap, options.absolute_gap)
        return self.schedule is not None and near

    def as_good(self, cost: float) -> bool:
        """Whether the best is no dearer than this, up to rounding."""
        return self.cost - cost <= _MET * max(1.0, abs(self.cost))

    @property
    def latest(self) -> float | None:
        """Seconds after which everything is given up."""
        seconds = self.options.time_limit
        return None if seconds is None else 1.2 * seconds + _PATIENCE

    def late(self) -> bool:
        """Whether to give up what there would be no answer without."""
        return self.clock.stopped or (self.latest is not None and self.clock.spent >= self.latest)

    def go_on(self) -> bool:
        """Whether there is something to find and time to find it."""
        return not (self.met or self.proven or self.clock.over())

    def answer(self) -> Answer:
        """What is known."""
        status, limit, bound = Status.FEASIBLE, None, min(self.bound, self.cost)
        if self.schedule is None:
            status = Status.INFEASIBLE if self.infeasible else Status.NO_SOLUTION
        if self.schedule is not None and (self.proven or self.as_good(bound)):
            status = Status.OPTIMAL
        elif self.clock.stopped:
            status = Status.INTERRUPTED
        elif not self.infeasible:
            limit = Limit.TIME if self.clock.over() else Limit.GAP
        solution = Solution(
            status=status,
            objective=None if self.schedule is None else self.cost,
            bound=bound if np.isfinite(bound) else None,
            limit=limit,
            checked=self.schedule is not None,
            nodes=self.nodes,
            solver="highs",
            version=backend("highs").version(),
            message=self.message,
        )
        return Answer(self.clock.ended(solution), self.schedule)
