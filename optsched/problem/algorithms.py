"""Heuristics and bounds of a problem: what is measured beside its exact methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optsched.errors import InputError
from optsched.problem.calls import call_options
from optsched.problem.guarantee import Guarantee


@dataclass(frozen=True)
class Heuristic:
    """An algorithm that makes a schedule.

    Example:
        >>> import optsched as osd
        >>> fifo = osd.problem("batch").heuristics["fifo"]
        >>> mine = osd.Heuristic("mine", fifo.run, source="", summary="as first in, first out")
        >>> found = osd.ratios("batch", ["fifo", mine], grid={"jobs": 3, "servers": 2})
        >>> len({row.cost for row in found.rows})
        1
    """

    name: str
    run: Callable[..., Any]
    """(instance, rng, **options) -> schedule; options are keywords with defaults."""
    source: str
    """Paper, algorithm number."""
    summary: str
    online: bool | Callable[..., bool] = True
    """Whether it sees a job only when it arrives; (**options) -> bool if options decide it."""
    proposed: bool = False
    """Whether its paper proposes it; False for the baselines of a paper."""
    rules: Callable[..., Any] | None = None
    """(**options); raises InputError if options contradict each other."""
    guarantees: Sequence[Guarantee] = ()
    """What is stated of its ratio, at most once against each value."""

    def __post_init__(self) -> None:
        against = [one.against for one in self.guarantees]
        for name in against:
            if against.count(name) > 1:
                raise InputError.of(f"guarantees of {self.name}", name, "named by one of them")

    def is_online(self, options: Mapping[str, Any]) -> bool:
        """Whether it is announced as online with these options."""
        return self.online(**options) if callable(self.online) else self.online

    def stated(self, instance: Any, options: Mapping[str, Any]) -> dict[str, float]:
        """What is stated of its ratio on an instance, by what it is against.

        Args:
            instance: of the problem.
            options: of the heuristic; the others have their defaults.
        """
        every = (call_options(self.run, given=2) or {}) | dict(options)
        return {one.against: one.stated(instance, every) for one in self.guarantees}


@dataclass(frozen=True)
class Bound:
    """A bound on the optimum, or another number that a paper divides costs by.

    Example:
        >>> import optsched as osd
        >>> osd.Bound("zero", lambda instance: 0.0, source="", summary="no cost is negative").proven
        True
    """

    name: str
    compute: Callable[[Any], float]
    """(instance) -> bound, in units of the cost: a lower one when minimising, an upper one else."""
    source: str
    summary: str
    numerator: Callable[[Any, Any], float] | None = None
    """(instance, schedule) -> what the source divides by this bound; None: the cost."""
    quick: bool = False
    """Whether it takes a small part of a solve's time, so that a search may compute it often."""
    as_given: bool = False
    """Whether it bounds the instance as given, even if ``Problem.interpretation`` is not empty."""
    proven: bool = True
    """False if the source divides by it but it is no bound. It is then reported beside the ratio
    and does not enter it."""
