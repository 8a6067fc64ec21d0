"""What searches for most jobs have in common: a clock, the best decision and the best bound."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import replace
from typing import ClassVar

import numpy as np

from formulations.drp.check import check, check_dsrp
from formulations.drp.instance import Instance
from formulations.drp.problem_p3_p5 import whole_jobs
from formulations.drp.schedule import Schedule
from optsched.jit import limited
from optsched.solvers.options import Options
from optsched.solvers.solution import Progress
from optsched.solvers.trajectory import SearchProgress

RELAXATION_SHARE = 0.5
"""Part of the time that the first relaxation may take."""


class Search(ABC):
    """Bounding, choosing and packing on one instance."""

    services: ClassVar[bool]
    """Whether jobs need services, which take storage."""

    def __init__(self, instance: Instance, options: Options, start: Schedule) -> None:
        """Begin with a feasible decision."""
        self.instance = instance
        self.clock = SearchProgress(options, maximise=True)
        self.options = replace(options, stop=self.clock.stop, on_progress=None)
        self.rng = np.random.default_rng(options.seed)
        self.summary = ""
        self.tell(start, math.inf)

    def hear(self, progress: Progress) -> None:
        """Branch and bound on its way; the whole jobs of its bound are one."""
        bound = None if progress.bound is None else whole_jobs(progress.bound)
        self.clock.report(bound, progress.objective)

    def tell(self, best: Schedule, bound: float) -> None:
        """What is known from now on."""
        self.best, self.bound = best, bound
        self.clock.report(bound, float(best.admit.sum()))

    def offer(self, found: Schedule) -> None:
        """Keep a decision of more jobs, if the checker agrees."""
        judge = check_dsrp if self.services else check
        if found.admit.sum() > self.best.admit.sum() and not judge(self.instance, found):
            self.tell(found, self.bound)

    @property
    def met(self) -> bool:
        """Whether as many jobs are placed as the bound says, up to the gaps asked for."""
        value = float(self.best.admit.sum())
        accepted = max(self.options.absolute_gap, self.options.gap * value)
        return self.bound - value <= accepted

    def run(self, share: float = 1.0, most: float = math.inf) -> None:
        """Look for more jobs and better bounds within part of the time left."""
        whole, seconds = self.clock.seconds, self.clock.within(share, most)
        if seconds is not None:
            self.clock.seconds = self.clock.spent + seconds
        with limited(seconds), suppress(TimeoutError):
            self._run()
        self.clock.seconds = whole
        self.summary += f", {int(self.best.admit.sum())} jobs packed"

    @abstractmethod
    def _run(self) -> None:
        """Look for jobs and bounds, as long as there is time."""
