"""All jobs planned together, slot by slot, at the root and at nodes of the tree.

How many states that takes is decided by how far above its bound a node is searched. What came to
an end lets the next search go further, what did not keeps it nearer; so the tree need not branch
until relaxations meet the best schedule, only until what is left between them can be searched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from formulations.okita.exact.joint_moves import TooManyError
from formulations.okita.exact.joint_states import JointStates
from formulations.okita.exact.pricing import Pricing
from formulations.okita.instance import Floats
from formulations.okita.one_job.lattice import Lattice
from formulations.okita.schedule import Schedule
from optsched.decomposition import Limits

FIRST_SHARE = 0.1
"""Part of the way from the root's bound to the best schedule that is searched first."""
GROWTH = 1.5
"""Of that way, from search to search."""


@dataclass(eq=False)
class Together:
    """Searches that learn from each other how far to go."""

    lattices: Sequence[Lattice]
    """Of all jobs."""
    go_on: Callable[[], bool]
    """Asked now and then whether there is time."""
    reach: float = field(default=np.inf, init=False)
    """How far above its bound a node is searched next, money."""

    def search(
        self, pricing: Pricing, rows: Floats, below: float, limits: Limits | None = None
    ) -> tuple[float, Schedule | None]:
        """Search a node as far as it seems that an end will be come to.

        Args:
            pricing: of all jobs.
            rows: prices of its rows.
            below: only schedules that cost less are of interest, money.
            limits: its restrictions; those on workers and servers are left out.

        Returns:
            What schedules of the node cost at least, where they cost less than ``below``, and one
            if some is found; -inf where there was no end.
        """
        bound, found = -np.inf, None
        with suppress(TooManyError):
            states = JointStates(self.lattices, pricing, rows, limits)
            if np.isinf(self.reach):
                self.reach = FIRST_SHARE * (below - states.bound)
            while self.go_on():
                cutoff = min(below, states.bound + self.reach)
                proven, found = states.search(cutoff, self.go_on)
                if not np.isfinite(proven):
                    self.reach /= GROWTH
                    break
                bound = proven
                if cutoff == below or found is not None:
                    break
                self.reach *= GROWTH
        return bound, found
