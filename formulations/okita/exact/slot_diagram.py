"""Which clique cuts a job's action in a slot counts in, as a diagram that is walked site by site.

A state says, of each cut of the slot, which of the job's least actions the workers decided so far
may still contain; states that no workers to come can tell apart are one. In pricing the cuts then
cost what a state at the end of a slot says, and bounds within a slot need no more than the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from formulations.okita.exact.slot_cuts import Actions, SlotCut
from formulations.okita.instance import Booleans, Floats, Instance, Integers
from formulations.okita.one_job.cut_charges import Charges
from formulations.okita.one_job.terms import Path


@dataclass(frozen=True, eq=False)
class SlotDiagram:
    """That of one job, over its slots a_i .. a_i + slots - 1."""

    cuts: Integers
    """Those it may count in, shape (cuts,)."""
    counts: Booleans
    """Whether an action that ends in a state does, shape (states, cuts)."""
    free: Charges
    """The states, and where they lead, before anything is charged."""

    @classmethod
    def of(cls, instance: Instance, i: int, slots: int, cuts: Sequence[SlotCut]) -> SlotDiagram:
        """Of job ``i``."""
        begin, most = int(instance.release_slot[i]) - 1, int(instance.useful_workers[i].max())
        own = [n for n, cut in enumerate(cuts) if i in cut.least and 0 <= cut.slot - begin < slots]
        at = np.array([cuts[n].slot - begin for n in own], dtype=np.int64)
        first: Integers = np.zeros((slots, instance.sites + 2), dtype=np.int64)
        then, counts, size = [], [], 0
        for t in range(slots):
            here = np.flatnonzero(at == t)
            layers, ends = _slot([cuts[own[n]].least[i] for n in here], instance.sites, most)
            for r, layer in enumerate(layers):
                first[t, r], size = size, size + len(layer)
                then.append(layer + size)
            first[t, -2:], size = (size, size + len(ends)), size + len(ends)
            then.append(np.zeros((len(ends), 2, most + 1), dtype=np.int64))
            table = np.zeros((size - first[t, 0], len(own)), dtype=bool)
            table[-len(ends) :, here] = ends
            counts.append(table)
        free = Charges(first, np.concatenate(then), np.zeros(size))
        return cls(np.array(own, dtype=np.int64), np.concatenate(counts), free)

    def charged(self, price: Floats) -> Charges | None:
        """At prices of all cuts; None where the job's are free."""
        own = price[self.cuts]
        return self.free._replace(charge=self.counts @ own) if own.any() else None

    def held(self, path: Path) -> Integers:
        """The cuts that a schedule counts in, each once."""
        return self.cuts[self.counts[self.free.ends(path.workers, path.server)].any(axis=0)]


def _slot(least: Sequence[Actions], sites: int, most: int) -> tuple[list[Integers], Booleans]:
    """Layers of one slot, states numbered in each, and in which cuts its last states count."""
    if not least:
        return [np.zeros((1, 2, most + 1), dtype=np.int64)] * sites, np.zeros((1, 0), dtype=bool)
    bits = np.array([_contained(actions, sites, most) for actions in least])
    state = np.full((1, len(least)), -1)
    layers = []
    for r in range(sites):
        after = state[:, None, None] & np.moveaxis(bits[:, r], 0, -1)
        state, layer = np.unique(after.reshape(-1, len(least)), axis=0, return_inverse=True)
        layers.append(layer.reshape(after.shape[:-1]))
    ends, same = np.unique(state != 0, axis=0, return_inverse=True)
    for r in range(sites - 1, -1, -1):
        layer = same.reshape(-1)[layers[r]]
        rows, same = np.unique(layer.reshape(len(layer), -1), axis=0, return_inverse=True)
        layers[r] = rows.reshape(-1, 2, most + 1)
    return layers, ends


def _contained(actions: Actions, sites: int, most: int) -> Integers:
    """Bits of actions that so many workers at a site contain there.

    Returns:
        By site, whether the server is there, workers.
    """
    enough = np.arange(most + 1) >= actions.workers[:, :, None]
    beside = actions.server[:, None] != np.arange(sites)
    told = np.stack([enough & beside[:, :, None], enough], axis=2)
    bit = np.left_shift(1, np.arange(len(told)))[:, None, None, None]
    return np.asarray((told * bit).sum(axis=0))
