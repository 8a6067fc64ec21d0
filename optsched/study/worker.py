"""A unit of work, and how a worker performs it.

Instances are not sent to workers. A worker makes an instance from its recipe, keeps it while it is
needed, and checks that it is the one of the plan.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from optsched.evaluation.code_digest import code_versions, method_versions
from optsched.evaluation.runs import (
    InstanceRunner,
    MethodRun,
    UnmeasuredError,
)
from optsched.problem import Problem
from optsched.solvers.solution import Status
from optsched.study.layout import RunKey
from optsched.study.plan import Asked, Recipe, found, instance_digest


@dataclass(frozen=True)
class RunMethod:
    """Run a method on an instance."""

    key: RunKey
    asked: Asked
    recipe: Recipe
    """Of the instance."""
    start: str | None = None
    """Heuristic whose schedule a solve starts from."""
    keep: bool = False
    """Whether to send the schedule along."""
    claim: float | None = None
    """The optimum a proof is to be of."""
    look_ahead: bool = True
    """Whether to look for foresight of an online heuristic."""


@dataclass(frozen=True)
class MakeInstance:
    """Make an instance, and tell its digest."""

    recipe: Recipe
    along: tuple[RunMethod, ...] = ()
    """Short runs on it, whose keys lack the digest."""


@dataclass(frozen=True)
class RunSweep:
    """Observe one instance of a sweep."""

    key: RunKey
    asked: Asked
    arguments: Mapping[str, Any]


Task = MakeInstance | RunMethod | RunSweep
"""As it goes to a worker."""


@dataclass(frozen=True)
class Report:
    """What a worker says of its task."""

    took: float
    """Wall seconds, everything included."""
    digest: str = ""
    """Of the content of the instance that was made."""
    run: MethodRun | None = None
    refusal: str = ""
    """Why this worker must not do it."""
    along: tuple[Report, ...] = ()
    """Of the runs that went along with the making of an instance."""


class OtherInstanceError(RuntimeError):
    """A recipe gave another instance than before."""


class _Kept(threading.local):
    """The instance this thread worked on last, and what was tried on it."""

    problem: str = ""
    digest: str = ""
    instance: Any = None
    runner: InstanceRunner | None = None


_kept = _Kept()


def work(task: Task) -> Report:
    """Do what a task says.

    Raises:
        Exception: whatever making the instance, or measuring, raises.
    """
    began = time.perf_counter()
    if isinstance(task, MakeInstance):
        digest = _make(found(task.recipe.problem), task.recipe)
        took = time.perf_counter() - began
        runs = (replace(one, key=(digest, *one.key[1:])) for one in task.along)
        return Report(took, digest, along=tuple(map(work, runs)))
    here = _versions(task)
    if here not in (None, task.asked.versions):
        told = f"{socket.gethostname()} runs {here}, not {dict(task.asked.versions)}"
        return Report(0.0, refusal=told)
    run = _sweep(task) if isinstance(task, RunSweep) else _run(task)
    return Report(time.perf_counter() - began, run=run)


def _run(task: RunMethod) -> MethodRun:
    problem, wanted = found(task.recipe.problem), task.key[0]
    there = (_kept.problem, _kept.digest) == (problem.name, wanted)
    if not there and _make(problem, task.recipe) != wanted:
        raise OtherInstanceError(
            "the instance is not the one made before from the same options and seed: "
            "is its generator random beyond its seed, or has a file it reads changed?"
        )
    runner = _kept.runner
    if runner is None or runner.problem is not problem or runner.seed != task.recipe.seed:
        runner = _kept.runner = InstanceRunner(problem, _kept.instance, task.recipe.seed)
    return runner.run(
        task.asked.method,
        task.start,
        keep=task.keep,
        claim=task.claim,
        look_ahead=task.look_ahead,
    )


def _make(problem: Problem, recipe: Recipe) -> str:
    """Make an instance and keep it.

    Returns:
        The digest of its content.
    """
    instance = recipe.make()
    digest = instance_digest(instance)
    _kept.problem, _kept.digest, _kept.instance = problem.name, digest, instance
    _kept.runner = None
    return digest


def _sweep(task: RunSweep) -> MethodRun:
    began = time.perf_counter()
    assert task.asked.observe is not None
    try:
        rows = plain_rows(task.asked.observe(**task.arguments))
    except UnmeasuredError as out_of_reach:
        spent = time.perf_counter() - began
        return MethodRun(Status.UNMEASURED, message=str(out_of_reach), seconds=spent)
    return MethodRun(Status.DONE, rows=rows, seconds=time.perf_counter() - began)


def plain_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as JSON: Python's own numbers and texts.

    Raises:
        TypeError: something else is in them.
    """
    return json.dumps([dict(row) for row in rows], default=_plain_number, ensure_ascii=False)


def _plain_number(value: Any) -> Any:
    try:
        return value.item()
    except (AttributeError, ValueError):
        raise TypeError(f"a row holds numbers and texts, not {value!r}") from None


_known_versions: dict[str, dict[str, str]] = {}


def _versions(task: RunMethod | RunSweep) -> dict[str, str] | None:
    """What a result depends on here; None if the code came with the task."""
    asked = task.asked
    if asked.key not in _known_versions:
        if isinstance(task, RunMethod):
            if not isinstance(task.recipe.problem, str):
                return None
            versions = method_versions(found(task.recipe.problem), asked.method)
        elif asked.observe is not None and _is_by_name(asked.observe):
            versions = code_versions([asked.observe])
        else:
            return None
        _known_versions[asked.key] = versions
    return _known_versions[asked.key]


def _is_by_name(function: Callable[..., Any]) -> bool:
    """Whether a function is imported where it is called, and not sent there."""
    if isinstance(function, partial):
        parts = (function.func, *function.args)
        sent = any(isinstance(part, Problem) for part in parts)
        return not sent and all(_is_by_name(part) for part in parts if callable(part))
    return function.__module__ != "__main__" and "<" not in function.__qualname__
