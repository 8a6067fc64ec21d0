"""The trajectory of a solve: its best point and bound over time, as the solver reports them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from optsched.solvers.backend import Backend, SolverResult
from optsched.solvers.deadline import Deadline
from optsched.solvers.options import Options
from optsched.solvers.solution import Listener, Progress, ProgressPoint, Solution, Status

if TYPE_CHECKING:
    from optsched.model.expression import Floats
    from optsched.model.matrix_form import MatrixForm


class Recorder:
    """Keeps what a solver reports, passes it on, and asks the solver to stop if that is the answer.

    Args:
        options: ``on_progress`` and ``stop``.
        scale: what the solver's objective is a multiple of.
    """

    def __init__(self, options: Options, scale: float = 1.0) -> None:
        self.points: list[ProgressPoint] = []
        self.complaint = ""
        """What the listener raised, if anything."""
        self.stop = Either(options.stop)
        self._options, self._scale = options, scale

    def solve(self, engine: Backend, form: MatrixForm, start: Floats | None) -> SolverResult:
        """Return the solver's answer and the steps that led to it."""
        options = replace(self._options, on_progress=self, stop=self.stop)
        result = engine.solve(form, options, start)
        if self.complaint:
            return SolverResult(Status.ERROR, message=self.complaint)
        if not self.points:
            return result
        return replace(result, trajectory=(*self.points, *result.trajectory))

    def __call__(self, progress: Progress, at: float | None = None) -> None:
        """Hear how far the solver is; called on its thread, which no error must cross.

        Args:
            progress: what to keep and to pass on.
            at: the time, seconds of the recorder's owner; None: now, of ``time.time``.
        """
        if self._scale != 1.0:
            progress = rescaled(progress, lambda value: value / self._scale)
        now = time.time() if at is None else at
        self.points.append(ProgressPoint(now, progress.bound, progress.objective))
        listener = self._options.on_progress
        if listener is None or self.stop.is_set():
            return
        try:
            if listener(progress):
                self.stop.set()
        except BaseException as failure:
            self.complaint = f"on_progress raised {type(failure).__name__}: {failure}"
            self.stop.set()


class SearchProgress(Deadline):
    """A search's deadline, and its best value and bound, reported as they come.

    ``on_progress`` gets each, as from a solver; ``stop`` is set if that ends the search.
    Several threads may report.

    Args:
        options: ``time_limit``, ``stop`` and ``on_progress`` of the search.
        maximise: whether bounds lie above the optimum.

    Example:
        >>> from optsched import Options
        >>> from optsched.solvers.solution import Solution, Status
        >>> search = SearchProgress(Options())
        >>> search.report(bound=3.0)
        >>> search.report(objective=5.0)
        >>> search.report(bound=2.0)
        >>> search.bound
        3.0
        >>> solution = search.ended(Solution(Status.OPTIMAL, 5.0, 5.0))
        >>> [(m.bound, m.objective) for m in solution.trajectory]
        [(3.0, None), (3.0, 5.0), (5.0, 5.0)]
    """

    def __init__(self, options: Options, *, maximise: bool = False) -> None:
        self._recorder = Recorder(options)
        self._listening = options.on_progress is not None
        super().__init__(
            options.time_limit, self._recorder.stop if self._listening else options.stop
        )
        self._sign = -1.0 if maximise else 1.0
        self._bound, self._value = -math.inf, math.inf  # times the sign
        self._then: float | None = None
        self._latest = 0.0
        self._lock = threading.RLock()

    def report(self, bound: float | None = None, objective: float | None = None) -> None:
        """Report a proven bound or the value of a point; what is no better is left out."""
        with self._lock:
            low, high = self._bound, self._value
            if bound is not None and math.isfinite(bound):
                low = max(low, self._sign * bound)
            if objective is not None and math.isfinite(objective):
                high = min(high, self._sign * objective)
            if (low, high) == (self._bound, self._value):
                return
            self._bound, self._value = low, high
            best, value = (None if math.isinf(one) else self._sign * one for one in (low, high))
            now = self.spent if self._then is None else self._then
            self._latest = max(now, self._latest)  # another thread may have reported a later time
            self._recorder(Progress(best, value, seconds=self._latest), self._latest)

    @property
    def bound(self) -> float | None:
        """The best bound reported; None: none yet."""
        return None if math.isinf(self._bound) else self._sign * self._bound

    def live(self, on_progress: Listener) -> Listener | None:
        """Return the ``on_progress`` of a solver that works for the search; None if nobody listens.

        Without a listener the solver may work in another process; then ``catch_up`` follows.
        """
        return on_progress if self._listening else None

    def catch_up(self, solution: Solution, on_progress: Listener) -> None:
        """Pass what a solver reported before it returned this solution to ``on_progress``."""
        with self._lock:
            began = self.spent - solution.seconds
            for moment in () if self._listening else solution.trajectory:
                self._then = max(0.0, began + moment.seconds)
                on_progress(Progress(moment.bound, moment.objective))
            self._then = None

    def ended(self, solution: Solution) -> Solution:
        """The answer of the search with its trajectory; an error if ``on_progress`` raised one.

        What a solver said on the way and its answer took back is taken back from the steps.
        """
        bound, value = solution.bound, solution.objective
        worse, better = (min, max) if self._sign > 0 else (max, min)
        steps = [
            ProgressPoint(
                seconds,
                None if low is None or bound is None else worse(low, bound),
                None if high is None or value is None else better(high, value),
            )
            for seconds, low, high in self._recorder.points
        ]
        solution = replace(solution, trajectory=(*steps, ProgressPoint(self.spent, bound, value)))
        if said := self._recorder.complaint:
            return replace(solution, status=Status.ERROR, message=said)
        return solution


class Either(threading.Event):
    """Set by itself, or where another is."""

    def __init__(self, other: threading.Event | None) -> None:
        super().__init__()
        self._other = other

    def is_set(self) -> bool:
        """Whether either of them is."""
        return super().is_set() or (self._other is not None and self._other.is_set())


def in_terms_of(form: MatrixForm, options: Options, began: float) -> Options:
    """Return options whose ``on_progress`` gets the time since ``began`` and values by name.

    Args:
        form: the model as written; what a solver was given may have more columns.
        options: with ``on_progress``.
        began: ``time.perf_counter()`` when work on the model started.
    """
    listener = options.on_progress
    assert listener is not None

    def report(progress: Progress) -> object:
        x = progress.x
        values = {} if x is None else form.split(x[: len(form.cost)])
        seconds = time.perf_counter() - began
        return listener(replace(progress, seconds=seconds, values=values))

    return replace(options, on_progress=report)


def rescaled(progress: Progress, change: Callable[[float], float]) -> Progress:
    """Return the progress with another objective."""
    bound, objective = progress.bound, progress.objective
    return replace(
        progress,
        bound=None if bound is None else change(bound),
        objective=None if objective is None else change(objective),
    )


def trajectory(result: SolverResult, began: float) -> list[ProgressPoint]:
    """Return the steps of a solve in seconds since ``began``."""
    zero = time.time() - (time.perf_counter() - began)
    return [point._replace(seconds=point.seconds - zero) for point in result.trajectory]
