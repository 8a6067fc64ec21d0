"""A unit of work, and what a worker does with it.

Instances are not sent about: a worker makes the one it needs from its recipe, keeps it while it is
asked for the same again, and makes sure that it is the one that is meant.
"""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import dataclass
from typing import Any

from optsched.evaluation.code_digest import method_versions
from optsched.evaluation.runs import InstanceRunner, Run
from optsched.problem import Problem
from optsched.study.grid import Asked, Recipe, found, instance_digest
from optsched.study.layout import RunKey


@dataclass(frozen=True)
class Task:
    """A unit of work, as it goes to a worker."""

    recipe: Recipe
    """Of the instance."""
    key: RunKey | None = None
    """The run; None: only make the instance and tell its digest."""
    asked: Asked | None = None
    """The method of the run."""
    start: str | None = None
    """Heuristic whose schedule a solve starts from."""
    keep: bool = False
    """Whether to send the schedule along."""


@dataclass(frozen=True)
class Report:
    """What a worker says of its task."""

    took: float
    """Wall seconds, everything included."""
    digest: str
    """Of the instance's content."""
    run: Run | None = None
    refusal: str = ""
    """Why this worker must not do it."""


class OtherInstanceError(RuntimeError):
    """A recipe gave another instance than before."""


class _Kept(threading.local):
    """The instance this thread worked on last."""

    problem: str = ""
    digest: str = ""
    instance: Any = None


_kept = _Kept()


def work(task: Task) -> Report:
    """Do what a task says.

    Raises:
        Exception: whatever making the instance raises.
    """
    began = time.perf_counter()
    problem = found(task.recipe.problem)
    if task.key is None or task.asked is None:
        digest = _make(problem, task.recipe)
        return Report(time.perf_counter() - began, digest)
    if isinstance(task.recipe.problem, str):
        here = _versions(problem, task.asked)
        if here != task.asked.versions:
            told = f"{socket.gethostname()} runs {here}, not {dict(task.asked.versions)}"
            return Report(0.0, "", refusal=told)
    wanted = task.key[0]
    there = (_kept.problem, _kept.digest) == (problem.name, wanted)
    if not there and _make(problem, task.recipe) != wanted:
        raise OtherInstanceError(
            "the instance is not the one made before from the same options and seed: "
            "is its generator random beyond its seed, or has a file it reads changed?"
        )
    bench = InstanceRunner(problem, _kept.instance, task.recipe.seed)
    run = bench.run(task.asked.method, task.start, keep=task.keep)
    return Report(time.perf_counter() - began, wanted, run)


def _make(problem: Problem, recipe: Recipe) -> str:
    """Make an instance and keep it.

    Returns:
        The digest of its content.
    """
    instance = recipe.make()
    digest = instance_digest(instance)
    _kept.problem, _kept.digest, _kept.instance = problem.name, digest, instance
    return digest


_known_versions: dict[str, dict[str, str]] = {}


def _versions(problem: Problem, asked: Asked) -> dict[str, str]:
    """What a run of the method depends on here."""
    if asked.key not in _known_versions:
        _known_versions[asked.key] = method_versions(problem, asked.method)
    return _known_versions[asked.key]
