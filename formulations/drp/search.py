"""What searches for most jobs have in common: a clock, the best decision and the best bound."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import ClassVar

import numpy as np

from formulations.drp.check import check, check_dsrp
from formulations.drp.instance import Instance
from formulations.drp.projected import whole_jobs
from formulations.drp.schedule import Schedule
from optsched.jit import limited
from optsched.solvers.options import Options
from optsched.solvers.solution import Progress
from optsched.solvers.trajectory import Course
from optsched.violation import Violation

RELAXATION_SHARE = 0.5
"""Part of the time that the first relaxation may take."""


class Search(ABC):
    """Bounding, choosing and packing on one instance."""

    services: ClassVar[bool]
    """Whether jobs need services, which take storage."""

    def __init__(self, instance: Instance, options: Options) -> None:
        self.instance = instance
        self.clock = Course(options, maximise=True)
        self.options = replace(options, stop=self.clock.stop, on_progress=None)
        self.rng = np.random.default_rng(options.seed)
        self.best = Schedule.empty(instance.num_jobs, instance.num_data_nodes)
        self.bound = math.inf
        self.summary = ""

    @property
    def judge(self) -> Callable[[Instance, Schedule], list[Violation]]:
        """The checker."""
        return check_dsrp if self.services else check

    def hear(self, progress: Progress) -> None:
        """Branch and bound on its way; the whole jobs of its bound are one."""
        bound = None if progress.bound is None else whole_jobs(progress.bound)
        self.clock.tell(bound, progress.objective)

    def tell(self, best: Schedule, bound: float) -> None:
        """What is known from now on."""
        self.best, self.bound = best, bound
        self.clock.tell(bound, float(best.admit.sum()))

    @property
    def met(self) -> bool:
        """Whether as many jobs are placed as the bound says."""
        return bool(self.best.admit.sum() >= self.bound)

    def run(self, start: Schedule | None) -> tuple[Schedule, float]:
        """The best decision found and the best bound, whole jobs; infinite where none is known."""
        good = start is not None and not self.judge(self.instance, start)
        self.tell(start if start is not None and good else self.best, math.inf)
        with limited(self.options.time_limit), suppress(TimeoutError):
            self._run()
        self.summary += f", {int(self.best.admit.sum())} jobs packed"
        return self.best, self.bound

    @abstractmethod
    def _run(self) -> None:
        """Look for jobs and bounds, as long as there is time."""
