"""What is left of the servers while jobs are admitted one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from formulations.drp.instance import Booleans, Floats, Instance, Integers
from formulations.drp.loads import Loads, server_load_factor
from optsched.errors import InputError

Mode = Literal["eps", "exact"]
"""Whether resources are tested with one fixed communication share (LP1), or exactly (P1)."""

ROUNDING = 1e-12
"""Excess over a capacity, relative to it, that is taken for rounding error."""


@dataclass(frozen=True, eq=False)
class Room:
    """Loads that are committed on every server, relative to its capacities."""

    inbound: Floats
    """Shape (servers,)."""
    loads: Loads
    """a, b, c."""

    @classmethod
    def empty(cls, instance: Instance) -> Room:
        """Nothing is committed."""
        nothing = np.zeros(instance.num_servers)
        return cls(nothing, Loads(nothing, nothing, nothing))

    def with_pairs(self, instance: Instance, pairs: Integers) -> Room:
        """The room after associating these pairs."""
        server, servers = instance.pair_server[pairs], instance.num_servers

        def added(before: Floats, load: Floats) -> Floats:
            return before + np.bincount(server, weights=load[pairs], minlength=servers)

        a, b, c = self.loads
        return Room(
            added(self.inbound, instance.inbound_load),
            Loads(
                added(a, instance.compute_load),
                added(b, instance.comm_load),
                added(c, instance.cross_load),
            ),
        )

    def fits(self, mode: Mode, comm_share: float) -> Booleans:
        """Whether each server holds what is committed, shape (servers,)."""
        return fits(self.inbound, self.loads, mode, comm_share)

    def takes(self, instance: Instance, mode: Mode, comm_share: float) -> Booleans:
        """Whether each pair's node fits on its server alone, shape (pairs,)."""
        at = instance.pair_server
        a, b, c = (load[at] for load in self.loads)
        loads = Loads(a + instance.compute_load, b + instance.comm_load, c + instance.cross_load)
        return fits(self.inbound[at] + instance.inbound_load, loads, mode, comm_share)


def fits(inbound: Floats, loads: Loads, mode: Mode, comm_share: float) -> Booleans:
    """Whether loads of any shape stay within the capacities of a server."""
    a, b, c = loads
    if mode == "eps":
        full = np.maximum(a / (1 - comm_share), b / comm_share)
    else:
        full = server_load_factor(a, b, c)
    return np.asarray(np.maximum(inbound, full) <= 1 + ROUNDING)


def share_of(instance: Instance, comm_share: float | None) -> float:
    """The communication share given, or the instance's.

    Raises:
        InputError: it is not in (0, 1).
    """
    share = instance.comm_share if comm_share is None else comm_share
    if not 0 < share < 1:
        raise InputError.of("comm_share", share, "a number in (0, 1)")
    return share
