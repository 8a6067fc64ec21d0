"""What a job pays for its actions as a whole, each found by walking a diagram site by site."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.okita.instance import Floats, Integers


class Charges(NamedTuple):
    """What actions are charged for beside workers and servers, as machine code takes it."""

    first: Integers
    """First state by slot, sites decided; then that after the slot's. Shape (slots, sites + 2)."""
    then: Integers
    """The state after one more site, by state, whether the server is there, workers."""
    charge: Floats
    """Of an action that ends in a state, money."""

    @classmethod
    def none(cls, slots: int, sites: int, most: int) -> Charges:
        """Nothing is charged, of up to so many workers at a site."""
        states = slots * (sites + 1)
        first = np.arange(slots)[:, None] * (sites + 1) + np.arange(sites + 2)
        after = np.arange(1, states + 1)[:, None, None]
        then: Integers = np.broadcast_to(after, (states, 2, most + 1)).astype(np.int64)
        return cls(first, then, np.zeros(states))

    def ends(self, workers: Integers, server: Integers) -> Integers:
        """The states that the actions of a schedule end in.

        Args:
            workers: of the job, shape (slots, sites).
            server: its site in each slot, -1 in a pause.
        """
        runs = np.flatnonzero(server >= 0)
        return self.within(runs, workers[runs], server[runs])

    def within(self, slot: Integers | int, workers: Integers, server: Integers) -> Integers:
        """The states that actions end in, shape (actions,).

        Args:
            slot: of each, or of all.
            workers: of each, shape (actions, sites).
            server: its site in each.
        """
        state: Integers = self.first[np.broadcast_to(slot, len(server)), 0]
        for r in range(workers.shape[1]):
            state = self.then[state, (server == r).astype(np.int64), workers[:, r]]
        return state

    def of(self, workers: Integers, server: Integers) -> float:
        """What a schedule is charged, money."""
        return float(self.charge[self.ends(workers, server)].sum())
