"""How the jobs of a problem arrive, and which decisions of a schedule are made by what time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from optsched.model import Model
    from optsched.model.expression import Expression, Floats
    from optsched.solvers.options import Options
    from optsched.solvers.solution import Solution


@dataclass(frozen=True)
class Decisions:
    """Variables that are decided in the course of time."""

    variable: Expression
    """Shape (n,)."""
    when: Floats
    """The moment each is decided: jobs that arrive then are known, later ones are not."""
    what: NDArray[np.int64]
    """What each decides, shape (n, k): the job, then numbers that mean the same in all scenarios
    of one system, such as a server and a slot."""


@dataclass(frozen=True)
class Copy:
    """The offline model of one scenario within a model of several."""

    cost: Expression
    decisions: Mapping[str, Decisions]
    """By the same names in every scenario."""
    decode: Callable[[Solution], Any]
    """(solution) -> schedule."""


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
    infinite if nothing is decided on it."""
    unfinished: frozenset[str]
    """Constraints that a schedule breaks for as long as it is not finished."""
    state: Callable[..., Any]
    """What a policy decides with: a class derived from ``optsched.online.State``."""
    replan: Callable[[Any, Any, float, Options], Any] | None = None
    """(instance, schedule, now, options) -> the answer (``optsched.problem.Answer``) of the exact
    model whose decisions before now are those of the schedule; None if there is no model."""
    unfold: Callable[[Model, str, Any, float], Copy] | None = None
    """(model, name, instance, known) -> the offline model of the instance, added to the model under
    that name. Until the moment ``known`` other jobs may come instead of the instance's: windows
    must leave room for what is wise before it."""
    hidden: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Fields of the jobs, whole numbers, that show themselves when a job is done, each with the
    attributes that hold its least and its greatest value. Until then a policy sees the greatest,
    and ``relabel`` cuts off what is planned beyond the true one."""


class Calendar(Protocol):
    """How a problem's instances and schedules are moved in time."""

    def free(self, function: Callable[..., Any], *, gaps: bool = True) -> Callable[..., Any]:
        """Return the function of an instance so that it sees the first release near slot 0.

        Args:
            function: of an instance, and of schedules perhaps.
            gaps: whether it sees long gaps between releases shortened, too.
        """
