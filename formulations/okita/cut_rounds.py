"""Rounds of cuts at the root: how many, and how nearly the relaxation is solved in each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from formulations.okita.instance import Instance
from formulations.okita.pricing import Pricing
from formulations.okita.slot_cuts import slot_cuts
from optsched.decomposition import ColumnSolution

ROUNDS_SEEN = 3
"""Last rounds of cuts that tell whether there are to be more."""
NEAR = 0.03
"""Part of what is left between bound and schedule by which bound and value of a relaxation may
differ for it to be cut again."""


@dataclass
class CutRounds:
    """The rounds so far."""

    instance: Instance
    go_on: Callable[[], bool]
    """Whether there is time for more."""
    least_move: float
    """Part of what is left between bound and schedule by which they have to move the bound."""
    values: list[float] = field(default_factory=list)
    """Of the relaxation in each round, money."""

    def move(self, cost: float) -> bool:
        """Whether cuts still move the relaxation, which is to come near a cost, money."""
        if len(self.values) <= ROUNDS_SEEN or not math.isfinite(cost):
            return True
        moved = self.values[-1] - self.values[-1 - ROUNDS_SEEN]
        return moved > self.least_move * (cost - self.values[-1])

    def near_enough(self, cost: float) -> float:
        """How far its bound and value may be apart to be cut, money; not at all at first."""
        if not self.values or not math.isfinite(cost):
            return 0.0
        return NEAR * max(0.0, cost - self.values[-1])

    def further(self, pricing: Pricing, found: ColumnSolution) -> Pricing | None:
        """Pricing with cuts that a relaxation violates; None where it violates none."""
        assert found.objective is not None
        self.values.append(found.objective)
        used = [(c.block, c.payload, share) for c, share in found.chosen]
        cuts = slot_cuts(self.instance, used, self.go_on)
        return pricing.cut(found.prices, cuts) if cuts else None
