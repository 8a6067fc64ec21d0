"""How the jobs of a problem come one by one, and what of a schedule is decided by when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from optsched.solvers.options import Options


@dataclass(frozen=True)
class Arrivals:
    """What simulating a policy, checking that it does not see ahead, and replanning must know.

    Times are in the problem's unit of time. What a schedule decides *before* a moment is what has
    begun by then: it can no longer be changed.
    """

    times: Callable[[Any], Any]
    """(instance) -> when each job arrives, shape (jobs,)."""
    select: Callable[[Any, Any], Any]
    """(instance, jobs) -> the instance with these jobs only, in that order; one may come twice."""
    job: Callable[[Any, int], Any]
    """(instance, job) -> all that is known of a job once it has arrived."""
    nothing: Callable[[Any], Any]
    """(instance) -> the schedule in which nothing is decided."""
    relabel: Callable[[Any, Any, Any], Any]
    """(instance, schedule, jobs) -> the schedule as one of ``instance``, where its job i is job
    jobs[i]; nothing is decided on the others."""
    decisions: Callable[[Any, Any, float], list[tuple[int, str]]]
    """(instance, schedule, before) -> what is decided before a moment: a job, and a sentence."""
    done: Callable[[Any, Any], Any]
    """(instance, schedule) -> from when on each job asks for nothing more, shape (jobs,);
    infinite where nothing is decided on it."""
    unfinished: frozenset[str]
    """Constraints that a schedule breaks for as long as it is not finished."""
    state: Callable[..., Any]
    """What a policy decides with: a class derived from ``optsched.online.State``."""
    replan: Callable[[Any, Any, float, Options], Any] | None = None
    """(instance, schedule, now, options) -> the answer (``optsched.methods.Answer``) of the exact
    model whose decisions before now are those of the schedule; None where there is no model."""
