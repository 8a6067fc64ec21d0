"""What a source states of how far an algorithm may be from the optimum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from optsched.problem.calls import call_options

OPTIMUM = "optimum"
"""What a guarantee refers to if it is no bound."""


@dataclass(frozen=True)
class Guarantee:
    """A factor that a heuristic's ratio is stated not to exceed.

    Example:
        >>> import optsched as osd
        >>> stated = osd.Guarantee(
        ...     lambda instance: 2.0, "optimum", assumption="no upload takes time", source="Lemma 1"
        ... )
        >>> fifo = osd.problem("batch").heuristics["fifo"]
        >>> mine = osd.Heuristic("mine", fifo.run, "", "first in, first out", guarantees=[stated])
        >>> found = osd.ratios("batch", mine, grid={"jobs": 3, "servers": 2}, seeds=2)
        >>> found.summary()["stated_optimum_high"].tolist()
        [2.0]
    """

    factor: Callable[..., float]
    """(instance, **options) -> the largest ratio; it takes the options of the heuristic that it
    takes by name. Infinite, or not a number, if nothing is stated of the instance."""
    against: str
    """"optimum", or the name of a bound of the problem. Against a bound the ratio is that of the
    bound's source: see ``Bound.numerator``."""
    assumption: str
    """Under which it is stated, in a few words."""
    source: str
    """Paper, theorem number."""

    def stated(self, instance: Any, options: Mapping[str, Any]) -> float:
        """The factor for one instance.

        Args:
            instance: of the problem.
            options: of the heuristic, defaults included.
        """
        takes = call_options(self.factor, given=1)
        taken = {k: v for k, v in options.items() if takes is None or k in takes}
        return float(self.factor(instance, **taken))
