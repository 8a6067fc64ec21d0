"""Clique cuts of slots: of some things that jobs may do in a slot, at most one is done.

An action is what one job does in one slot: its workers at all sites, and where its server stands.
Two actions of different jobs are rivals if some site has no room for both; two of the same job are
rivals anyway. Of actions that are all rivals of each other, a schedule has one at most, and so it
is with all actions that contain one of them: as many workers everywhere, and its server if it has
one. Each is therefore made as small as it can be while it stays a rival of all the others.

What single sites hold cannot say as much: a job may keep a second one out here and a third one
there, and fractions of all three be within every site's limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from formulations.okita.instance import Booleans, Floats, Instance, Integers
from formulations.okita.one_job.terms import Path

MOST_ACTIONS = 62
"""Least actions of a job in one cut; they are counted in the bits of a number."""
CUTS_PER_SLOT = 4
"""Most cuts found at a time for one slot."""

_USED = 1e-6  # part of a schedule from which on it counts
_VIOLATED = 0.02  # of the right-hand side 1, from which on a cut is worth a row


class Actions(NamedTuple):
    """Some of one job in one slot."""

    workers: Integers
    """Shape (actions, sites)."""
    server: Integers
    """Its site; -1: wherever it stands. Shape (actions,)."""

    def held(self, instance: Instance, i: int) -> Integers:
        """What job ``i`` holds by each, shape (actions, sites, resources)."""
        held: Integers = self.workers[:, :, None] * instance.worker_demand[i]
        stands = np.flatnonzero(self.server >= 0)
        held[stands, self.server[stands]] += instance.ps_demand[i]
        return held


@dataclass(frozen=True, eq=False)
class SlotCut:
    """At most one job does in a slot what contains one of its actions here."""

    slot: int
    """Counted from 0."""
    least: Mapping[int, Actions]
    """By job."""

    @property
    def key(self) -> bytes:
        """The same for the same cut."""
        parts = (
            np.concatenate([[i], *map(np.ravel, actions)])
            for i, actions in sorted(self.least.items())
        )
        return np.concatenate([[self.slot], *parts]).tobytes()


def slot_cuts(
    instance: Instance, used: Iterable[tuple[int, Path, float]], go_on: Callable[[], bool]
) -> list[SlotCut]:
    """Cuts that a fractional choice of schedules violates.

    Args:
        instance: the system.
        used: jobs, schedules and how far each is used, those of a job once in all at most.
        go_on: asked before each slot.
    """
    shares: dict[int, dict[tuple[int, bytes, int], float]] = {}
    for i, path, share in used:
        first = int(instance.release_slot[i]) - 1
        for t in np.flatnonzero(path.server >= 0).tolist():
            own = shares.setdefault(first + t, {})
            key = i, path.workers[t].tobytes(), int(path.server[t])
            own[key] = own.get(key, 0.0) + share
    found: dict[bytes, SlotCut] = {}
    for t, own in sorted(shares.items()):
        if not go_on():
            break
        for cut in _cuts_in(instance, t, own):
            found.setdefault(cut.key, cut)
    return list(found.values())


def _cuts_in(
    instance: Instance, t: int, shares: Mapping[tuple[int, bytes, int], float]
) -> Iterator[SlotCut]:
    """Those of one slot."""
    counted = [(key, share) for key, share in shares.items() if share > _USED]
    if len(counted) < 2:
        return
    job = np.array([i for (i, _, _), _ in counted])
    actions = Actions(
        np.array([np.frombuffer(workers, dtype=np.int64) for (_, workers, _), _ in counted]),
        np.array([server for (_, _, server), _ in counted]),
    )
    held = np.empty((*actions.workers.shape, instance.resources), dtype=np.int64)
    for i in np.unique(job).tolist():
        held[job == i] = _of(actions, job == i).held(instance, i)
    together = held[:, None] + held[None] > instance.capacity
    rivals = together.any(axis=(2, 3)) | (job[:, None] == job)
    np.fill_diagonal(rivals, False)
    for clique in _cliques(rivals, np.array([share for _, share in counted])):
        least = {i: _of(actions, clique & (job == i)) for i in np.unique(job[clique]).tolist()}
        if max(len(one.server) for one in least.values()) <= MOST_ACTIONS:
            yield SlotCut(t, _made_small(instance, least))


def _of(actions: Actions, which: Booleans) -> Actions:
    return Actions(actions.workers[which], actions.server[which])


def _cliques(rivals: Booleans, share: Floats) -> list[Booleans]:
    """Of most share, one from each action on: next is what, with its own rivals, has most."""
    found: dict[bytes, tuple[float, Booleans]] = {}
    for begun in range(len(share)):
        inside = np.zeros(len(share), dtype=bool)
        inside[begun] = True
        left = rivals[begun].copy()
        while left.any():
            at = np.flatnonzero(left)
            ahead = share[at] + rivals[np.ix_(at, at)] @ share[at]
            best = int(at[np.argmax(ahead)])
            inside[best] = True
            left &= rivals[best]
        total = float(share[inside].sum())
        if total > 1.0 + _VIOLATED:
            found[inside.tobytes()] = total, inside
    best_first = sorted(found.values(), key=lambda one: -one[0])
    return [inside for _, inside in best_first[:CUTS_PER_SLOT]]


def _made_small(instance: Instance, least: Mapping[int, Actions]) -> dict[int, Actions]:
    """The same with no worker and no server more than it takes to be rivals."""
    small = dict(least)
    for i in sorted(least, key=lambda i: -len(least[i].server)):
        others = np.concatenate([own.held(instance, j) for j, own in small.items() if j != i])
        room = instance.capacity - others
        rows = {
            _smallest(instance, i, workers, int(server), room)
            for workers, server in zip(*least[i], strict=True)
        }
        table = np.array(sorted(rows))
        small[i] = Actions(table[:, :-1], table[:, -1])
    return small


def _smallest(
    instance: Instance, i: int, workers: Integers, server: int, room: Integers
) -> tuple[int, ...]:
    """Workers by site and the server's site of an action that is still a rival of all others.

    Args:
        instance: the system.
        i: the job.
        workers: of the action, shape (sites,).
        server: its site.
        room: what each of the others leaves, shape (others, sites, resources).
    """

    def rival(workers: Integers, server: int) -> bool:
        held = Actions(workers[None], np.array([server])).held(instance, i)
        return bool((held > room).any(axis=(1, 2)).all())

    workers = workers.copy()
    if rival(workers, -1):
        server = -1
    for r in np.argsort(workers, kind="stable").tolist():
        while workers[r] > 0:
            workers[r] -= 1
            if not rival(workers, server):
                workers[r] += 1
                break
    return (*workers.tolist(), server)
