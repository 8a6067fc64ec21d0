"""Running experiments, once each and in parallel, and judging the claims that rest on them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from optsched.claims.claim import Claim, Finding, Judged, Scale, Sweep, UnmeasuredError
from optsched.claims.kept import Kept, Rows, key, plain_rows
from optsched.errors import InputError
from optsched.parallel import run_each, words

Experiment = Callable[[Scale], Any]
"""A function from a scale to measurements, or a ``Sweep``."""

Progress = Callable[[int, int, str], None]
"""(parts done, parts planned, name of the experiment): called when a part ends."""


@dataclass(frozen=True)
class Result:
    """What came of an experiment."""

    value: Any = None
    """Its measurements; None where there are none."""
    seconds: float = 0.0
    """Wall seconds of its parts together."""
    reason: str = ""
    """Why there was nothing to measure."""
    error: str = ""
    """What went wrong, in all of it or in parts."""


def claims(problem: str | None = None) -> dict[str, tuple[Claim, ...]]:
    """Every claim that packages announce, by problem.

    Claims that cannot be loaded are left out with a warning, unless asked for by name.

    Raises:
        InputError: no claims under that name, or they cannot be loaded.
    """
    from optsched.problem import pick

    announced = {entry.name: entry for entry in entry_points(group="optsched.claims")}
    if problem is not None:
        return {problem: _load(pick(announced, problem, "problem with claims"))}
    found = {}
    for name, entry in sorted(announced.items()):
        try:
            found[name] = _load(entry)
        except InputError as error:
            warnings.warn(str(error), stacklevel=2)
    return found


def _load(entry: EntryPoint) -> tuple[Claim, ...]:
    try:
        return tuple(entry.load())
    except Exception as error:
        group = f"entry point {entry.group}"
        raise InputError.of(group, entry.value, f"cannot be loaded ({error!r})") from error


def measure_claims(
    chosen: Mapping[str, Sequence[Claim]],
    scale: Scale,
    *,
    workers: int = 1,
    progress: Progress | None = None,
    keep: Path | None = None,
) -> list[Judged]:
    """Run every experiment once, in parallel processes, and judge its claims.

    What an experiment or a judge raises is a finding that says so. For the arguments see
    ``measure``; ``chosen`` is what ``claims`` gives, and what comes back is in its order.
    """
    return judge(chosen, measure(chosen, scale, workers=workers, progress=progress, keep=keep))


def measure(
    chosen: Mapping[str, Sequence[Claim]],
    scale: Scale,
    *,
    workers: int = 1,
    progress: Progress | None = None,
    keep: Path | None = None,
) -> dict[Experiment, Result]:
    """Run the experiments that claims rest on, once each; the instances of sweeps one by one.

    Args:
        chosen: claims by problem.
        scale: how large the experiments are.
        workers: processes.
        progress: called whenever a part ends.
        keep: file in which sweeps keep what they measured, and look before they measure.

    Raises:
        InputError: ``keep`` is another kind of file.
    """
    gathered = {claim.experiment: _Gathered() for of in chosen.values() for claim in of}
    parts = [part for experiment in gathered for part in _parts(experiment, scale, gathered)]
    parts.sort(key=lambda part: part.task is not None)  # those that cannot be split go first
    kept = Kept(keep) if keep is not None else None
    try:
        waiting = [
            part
            for part in parts
            if kept is None or not gathered[part.experiment].recall(part, kept)
        ]
        done = len(parts) - len(waiting)
        for outcome in run_each(_run, waiting, workers):
            part = waiting[outcome.index]
            gathered[part.experiment].take(part, outcome.value, outcome.error, kept)
            done += 1
            if progress is not None:
                progress(done, len(parts), part.name)
    finally:
        if kept is not None:
            kept.close()
    return {experiment: of.result(experiment) for experiment, of in gathered.items()}


@dataclass(frozen=True)
class _Part:
    """One call: of a whole experiment, or of a sweep on one instance."""

    experiment: Experiment
    scale: Scale
    index: int = 0
    task: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        return _name(self.experiment)


@dataclass(frozen=True)
class _Ended:
    value: Any
    seconds: float
    reason: str = ""


@dataclass
class _Gathered:
    """The parts of one experiment that have ended."""

    planned: int = 1
    values: dict[int, tuple[Mapping[str, Any] | None, Any]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    seconds: float = 0.0
    reason: str = ""

    def recall(self, part: _Part, kept: Kept) -> bool:
        """Take from disk what was measured before; whether there was something."""
        if part.task is None or not isinstance(part.experiment, Sweep):
            return False
        found = kept.get(key(part.experiment, part.task))
        if found is None:
            return False
        self.values[part.index] = (part.task, found[0])
        self.seconds += found[1]
        return True

    def take(self, part: _Part, ended: _Ended | None, error: str, kept: Kept | None) -> None:
        """Take what came of a part, and keep it on disk."""
        if ended is None:
            self.errors.append(error)
            return
        self.seconds += ended.seconds
        self.reason = self.reason or ended.reason
        if ended.reason:
            return
        self.values[part.index] = (part.task, ended.value)
        if kept is not None and isinstance(part.experiment, Sweep) and part.task is not None:
            digest = key(part.experiment, part.task)
            kept.put(digest, part.experiment, part.task, ended.value, ended.seconds)

    def result(self, experiment: Experiment) -> Result:
        error = ""
        if self.errors:
            error = self.errors[0]
            if self.planned > 1:
                error = f"{len(self.errors)} of {self.planned} instances failed, one by {error}"
        value = None
        ordered = [self.values[index] for index in sorted(self.values)]
        if ordered and isinstance(experiment, Sweep):
            value = experiment.frame([(task or {}, rows) for task, rows in ordered])
        elif ordered:
            value = ordered[0][1]
        return Result(value, self.seconds, self.reason, error)


def _parts(
    experiment: Experiment, scale: Scale, gathered: Mapping[Experiment, _Gathered]
) -> Iterable[_Part]:
    """What an experiment consists of; nothing where its tasks cannot be said."""
    if not isinstance(experiment, Sweep):
        return [_Part(experiment, scale)]
    of = gathered[experiment]
    try:
        tasks = list(experiment.tasks(scale))
    except UnmeasuredError as out_of_reach:
        of.reason = str(out_of_reach)
        return []
    except Exception as error:  # one experiment must not take the others with it
        of.errors.append(words(error))
        return []
    of.planned = len(tasks)
    return [_Part(experiment, scale, index, task) for index, task in enumerate(tasks)]


def _name(experiment: Experiment) -> str:
    return str(getattr(experiment, "name", None) or getattr(experiment, "__name__", experiment))


def _run(part: _Part) -> _Ended:
    began = time.perf_counter()
    value: Rows | Any
    try:
        if isinstance(part.experiment, Sweep) and part.task is not None:
            value = plain_rows(part.experiment.measure(**part.task))
        else:
            value = part.experiment(part.scale)
    except UnmeasuredError as out_of_reach:
        return _Ended(None, time.perf_counter() - began, str(out_of_reach))
    return _Ended(value, time.perf_counter() - began)


def judge(
    chosen: Mapping[str, Sequence[Claim]], results: Mapping[Experiment, Result]
) -> list[Judged]:
    """Judge claims by what their experiments measured, in the order of ``chosen``."""
    return [
        Judged(name, claim, _finding(claim, results[claim.experiment]))
        for name, of in chosen.items()
        for claim in of
    ]


def _finding(claim: Claim, result: Result) -> Finding:
    if result.value is None:
        why = result.error or result.reason or "nothing was measured"
        return Finding("not measured", note=why, failed=bool(result.error))
    try:
        found = claim.judge(result.value)
    except UnmeasuredError as out_of_reach:
        found = Finding("not measured", note=str(out_of_reach))
    except Exception as caught:  # a wrong judge must not hide the other findings
        found = Finding("not measured", note=words(caught), failed=True)
    if result.error:
        note = "; ".join(text for text in (found.note, result.error) if text)
        found = replace(found, note=note, failed=True)
    return found
