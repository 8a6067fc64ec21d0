"""So many jobs of DSRP where prices leave next to no choice: the dear servers first.

Against the prices of a relaxation, a schedule of as many jobs as its bound says loses no more than
the bound lies above that number. Where this is little, sets that lose more are left out, and the
servers whose storage is dear have to be filled almost to the last byte. These are packed by
themselves, anew each time, until the others have room for the rest. This is a heuristic: nothing
is bounded, and what a set loses is overrated where services are shared.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from formulations.drp.exact.covering_sets import CoveringSets
from formulations.drp.exact.set_exchange.annealing import SetExchange
from formulations.drp.instance import Floats, Instance, Integers

LENGTH = 0.4
"""Steps of a cooling, for each triple of jobs."""
PACKINGS = 1000
"""Most packings of dear servers."""
TEMPERATURE = (0.01, 0.0003)
"""Excess that is accepted by one step in e, at first and in the end."""
DEAR = 0.01
"""Share of the highest rent of a server, from which on one is dear."""
ROUNDING = 1e-7
"""Margin by which losses may be computed too large."""


class DearFirst(SetExchange):
    """The search on one instance; every beginning packs the dear servers anew."""

    def __init__(
        self,
        instance: Instance,
        sets: CoveringSets,
        rent: Floats,
        spare: float,
        rng: np.random.Generator,
        threads: int = 1,
    ) -> None:
        """Prepare.

        Args:
            instance: the system.
            sets: on which the services of jobs may stand, and what they cost.
            rent: price of each service on each server, shape (services, servers).
            spare: what jobs may lose, nothing below 0: how far the bound is above their number.
            rng: of beginnings and steps.
            threads: beginnings that run at a time.
        """
        gain = np.maximum(0.0, 1.0 - sets.cheapest)[sets.job]
        few = sets.only(gain - (1.0 - sets.price) <= max(0.0, spare) + ROUNDING)
        super().__init__(instance, few, rng, threads)
        highest = rent.max(axis=0)
        parts, self._part = few.part_on(highest > DEAR * highest.max())
        self._dear = SetExchange(instance, parts, rng, storage_only=True)

    def _cool(
        self, beginning: int, rng: np.random.Generator, target: int, go_on: Callable[[], bool]
    ) -> Integers | None:
        """One packing of the dear servers, if one is found, and the others after it."""
        length = math.ceil(LENGTH * self.instance.num_jobs**3)
        dear = self._dear.cool(self._dear.table, rng, target, length, go_on, TEMPERATURE)
        if dear is None:
            return None
        table = self.table.only(self._part == dear.chosen[self.table.sets.job])
        state = self.cool(table, rng, target, length, go_on, TEMPERATURE)
        return None if state is None else self.association(table, state)
