"""Relaxation of DSRP to storage alone: which jobs are trained, and where their services stand.

A node of a trained job needs the job's service on a server in reach. Bandwidth and computation
are left out, so a linear program of one variable per service and server is left, which is solved
again in a moment after every cut. Its cuts serve the relaxation over whole services too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.drp.exact.storage_cuts import StorageRows
from formulations.drp.instance import Floats, Instance, Integers
from formulations.drp.loads import visible
from formulations.drp.problem_22 import placements
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.options import Options

ROUNDING = 1e-9
"""Margin by which the sums of a bound are on the safe side, relative to what is added up."""


class Relaxed(NamedTuple):
    """An optimum of the relaxation."""

    bound: float
    """On the number of jobs, proven by the prices alone."""
    placed: Floats
    """How far each service is on each server, shape (services, servers)."""


class _Reach(NamedTuple):
    """Rows sum of placed >= admitted: a job and the servers that a node of it may use."""

    job: Integers
    """Shape (rows,)."""
    of_entry: Integers
    """Row of each entry, shape (entries,)."""
    place: Integers
    """Placement of each entry, shape (entries,)."""


class StorageRelaxation:
    """Jobs and placements, both up to 1, with the rows on storage that there are."""

    def __init__(self, instance: Instance, storage: StorageRows) -> None:
        """Prepare.

        Args:
            instance: the system.
            storage: rows on it, which others may add to between two solves.
        """
        self.instance = instance
        self.storage = storage
        self._places = placements(instance)
        self._reach = _rows(instance, self._places.of_pair)

    def solve(self, options: Options) -> Relaxed | None:
        """The optimum; None where the limits of time came first."""
        instance, reach, places = self.instance, self._reach, self._places
        row, place = self._stored()
        counts = self.storage.counts[row, places.service[place]]
        model = Model("storage alone")
        y = model.continuous("y", instance.num_jobs, upper=1.0)
        z = model.continuous("z", len(places.service), upper=1.0)
        model.maximize(y.sum())
        held = z[reach.place].sum_by(reach.of_entry, len(reach.job))
        model.add("reach", held - y[reach.job] >= 0)
        model.add("storage", (z[place] * counts).sum_by(row, len(self.storage.server)) <= 1)
        found = solve(model, "highs", options=options)
        if not found.has_point:
            return None
        needed, paid = np.abs(found.dual("reach")), np.abs(found.dual("storage"))
        fee = np.zeros(len(places.service))
        np.add.at(fee, place, paid[row] * counts)
        placed = np.zeros((instance.num_services, instance.num_servers))
        placed[places.service, places.server] = found["z"]
        return Relaxed(self._bound(needed, fee, paid), placed)

    def _bound(self, needed: Floats, fee: Floats, paid: Floats) -> float:
        """What prices prove, whatever they are: storage is paid, the rest gains what it can.

        Args:
            needed: price of each row of reach, at least 0.
            fee: of each placement, at the prices of storage.
            paid: price of each row of storage, at least 0.
        """
        reach = self._reach
        earned = np.bincount(reach.place, weights=needed[reach.of_entry], minlength=len(fee))
        left = 1.0 - np.bincount(reach.job, weights=needed, minlength=self.instance.num_jobs)
        total = paid.sum() + np.maximum(earned - fee, 0).sum() + np.maximum(left, 0).sum()
        added = paid.sum() + earned.sum() + fee.sum() + needed.sum() + len(left)
        return float(total + ROUNDING * added)

    def _stored(self) -> tuple[Integers, Integers]:
        """Rows on storage and the placements that they count, one pair per entry."""
        at = self.storage.server[:, None] == self._places.server
        row, place = np.nonzero(at & (visible(self.storage.counts)[:, self._places.service] > 0))
        return row, place


def _rows(instance: Instance, of_pair: Integers) -> _Reach:
    """A row per job and set of servers in reach of a node of it, however many such nodes."""
    seen: dict[tuple[int, bytes], Integers] = {}
    for i, job in enumerate(instance.node_job.tolist()):
        place = of_pair[instance.first_pair[i] : instance.first_pair[i + 1]]
        seen.setdefault((job, place.tobytes()), place)
    parts = list(seen.values())
    return _Reach(
        np.array([job for job, _ in seen], dtype=np.int64),
        np.repeat(np.arange(len(parts)), [len(part) for part in parts]),
        np.concatenate([np.zeros(0, dtype=np.int64), *parts]),
    )
