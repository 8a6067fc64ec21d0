"""How a solve comes to its answer: its best point and its bound over time, as the solver tells."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

from optsched.errors import UnsupportedError
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.backend import Backend, SolverResult
from optsched.solvers.options import Options
from optsched.solvers.solution import Listener, Moment, Progress, Solution, Status


def recorded(
    engine: Backend, compiled: MatrixForm, options: Options, start: Floats | None
) -> SolverResult:
    """What the solver says, and the steps by which it came there, where it tells them.

    Raises:
        UnsupportedError: ``on_progress`` is asked of a solver that tells nothing on the way.
    """
    tells = getattr(engine, "tells_progress", False)
    if options.on_progress is not None and not tells:
        said = f"{engine.name} does not tell how far it is, so that on_progress is never called"
        raise UnsupportedError(said)
    if options.profile == "tiny" or not tells:
        return engine.solve(compiled, options, start)
    recorder = _Recorder(options)
    told = replace(options, on_progress=recorder, stop=recorder.stop)
    result = engine.solve(compiled, told, start)
    if recorder.failure is not None:
        said = f"on_progress raised {type(recorder.failure).__name__}: {recorder.failure}"
        return SolverResult(Status.ERROR, message=said)
    return replace(result, trajectory=(*recorder.moments, *result.trajectory))


class _Recorder:
    """Keeps what a solver tells, passes it on, and asks it to stop where that is the answer."""

    def __init__(self, options: Options) -> None:
        self.moments: list[Moment] = []
        self.failure: BaseException | None = None
        self.stop = _Either(options.stop)
        self._listener = options.on_progress

    def __call__(self, progress: Progress) -> None:
        """Hear how far the solver is; called on its thread, which no error must cross."""
        self.moments.append(Moment(time.time(), progress.bound, progress.objective))
        if self._listener is None or self.stop.is_set():
            return
        try:
            if self._listener(progress):
                self.stop.set()
        except BaseException as failure:
            self.failure = failure
            self.stop.set()


class _Either(threading.Event):
    """Set by itself, or where another is."""

    def __init__(self, other: threading.Event | None) -> None:
        super().__init__()
        self._other = other

    def is_set(self) -> bool:
        """Whether either of them is."""
        return super().is_set() or (self._other is not None and self._other.is_set())


def in_terms_of(form: MatrixForm, options: Options, began: float) -> Options:
    """The options, ``on_progress`` told the time since ``began`` and values by variable name.

    Args:
        form: the model as written; what a solver was given may have more columns.
        options: as given by the user.
        began: ``time.perf_counter()`` when work on the model started.
    """
    listener = options.on_progress
    if listener is None:
        return options

    def hear(progress: Progress) -> object:
        x = progress.x
        values = {} if x is None else form.split(x[: len(form.cost)])
        seconds = time.perf_counter() - began
        return listener(replace(progress, seconds=seconds, values=values))

    return replace(options, on_progress=hear)


def in_units_of(scale: float, listener: Listener | None) -> Listener | None:
    """A listener to a solver that was given ``scale`` times the objective."""
    if listener is None:
        return None

    def hear(progress: Progress) -> object:
        _, bound, objective = unscaled(Moment(0.0, progress.bound, progress.objective), scale)
        return listener(replace(progress, bound=bound, objective=objective))

    return hear


def unscaled(moment: Moment, scale: float) -> Moment:
    """A moment of a solver that was given ``scale`` times the objective."""
    _, bound, objective = moment
    return moment._replace(
        bound=None if bound is None else bound / scale,
        objective=None if objective is None else objective / scale,
    )


def trajectory(result: SolverResult, solution: Solution, began: float) -> tuple[Moment, ...]:
    """The moments of a solve in seconds since ``began``, its end included."""
    zero = time.time() - (time.perf_counter() - began)
    told = [moment._replace(seconds=moment.seconds - zero) for moment in result.trajectory]
    return (*told, Moment(solution.seconds, solution.bound, solution.objective))
