"""Rounds of cuts at the root: how many, and how nearly the relaxation is solved in each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from formulations.okita.exact.pricing import Pricing
from formulations.okita.exact.slot_cuts import slot_cuts
from formulations.okita.instance import Instance
from optsched.decomposition import ColumnSolution

LEAST_MOVE, LEAST_MOVE_TOGETHER = 0.01, 0.06
"""Part of what is left between bound and schedule by which the last cuts have to move the bound,
for there to be more; where jobs can be planned together, that does what slow cuts would."""
ROUNDS_SEEN = 3
"""Last rounds of cuts that tell whether there are to be more."""
NEAR = 0.03
"""Part of what is left between bound and schedule by which bound and value of a relaxation may
differ for it to be cut again."""
FIRST_NEAR = 0.003
"""Part of its value by which the first may, before a bound is known that says what is left."""


@dataclass
class CutRounds:
    """The rounds so far."""

    instance: Instance
    go_on: Callable[[], bool]
    """Whether there is time for more."""
    together: bool
    """Whether jobs can be planned together; the first relaxation's prices are for that too."""
    values: list[float] = field(default_factory=list)
    """Of the relaxation in each round, money."""
    exact: bool = False
    """Whether the next relaxation is solved to the end."""

    def move(self, cost: float) -> bool:
        """Whether cuts still move the relaxation, which is to come near a cost, money."""
        if len(self.values) <= ROUNDS_SEEN or not math.isfinite(cost):
            return True
        moved = self.values[-1] - self.values[-1 - ROUNDS_SEEN]
        least = LEAST_MOVE_TOGETHER if self.together else LEAST_MOVE
        return moved > least * (cost - self.values[-1])

    @property
    def first_gap(self) -> float:
        """How far bound and value may be apart to be cut for the first time, relative."""
        return 0.0 if self.values or self.together else FIRST_NEAR

    def near_enough(self, cost: float) -> float:
        """How far they may be apart to be cut again, money."""
        if not self.values or self.exact or not math.isfinite(cost):
            return 0.0
        return NEAR * max(0.0, cost - self.values[-1])

    def further(self, pricing: Pricing, found: ColumnSolution) -> Pricing | None:
        """Pricing with cuts that a relaxation violates; None where it violates none."""
        assert found.objective is not None
        self.values.append(found.objective)
        used = [(c.block, c.payload, share) for c, share in found.chosen]
        cuts = slot_cuts(self.instance, used, self.go_on)
        return pricing.cut(found.prices, cuts) if cuts else None
