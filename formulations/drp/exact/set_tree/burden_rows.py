"""Rows of single servers, by what the sets of jobs burden them with: at most 1 in all.

Storage and its cuts, what nodes that reach no other server of a set load, and rows that hold for
all configurations of a server. One row more, of all servers together, counts every node at the
cheapest server of its job's set, at prices of a relaxation; so nodes that can choose count too.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from formulations.drp.exact.set_loads import SetLoads
from formulations.drp.exact.set_tree.configuration_rows import configuration_row
from formulations.drp.exact.storage_cuts import StorageRows
from formulations.drp.instance import Booleans, Floats, Instance, Integers
from optsched.jit import njit_cached

OF_ALL = -1
"""In place of a server: the row of all servers."""
_LEAST = 1e-7  # coefficients up to here are left out


class RowsChosen(NamedTuple):
    """Some of the rows."""

    server: Integers
    """Shape (rows,)."""
    number: Integers
    """Number of the row among the server's rows, shape (rows,)."""

    def plus(self, more: RowsChosen) -> RowsChosen:
        """These and then those."""
        return RowsChosen(*(np.concatenate(pair) for pair in zip(self, more, strict=True)))

    def only(self, kept: Booleans | Integers) -> RowsChosen:
        """Some of them."""
        return RowsChosen(self.server[kept], self.number[kept])


class _Server(NamedTuple):
    """What may burden a server, by job."""

    burdens: Integers
    first: Integers
    """Those of job k are first[k] .. first[k + 1] - 1; shape (jobs + 1,)."""
    size: Floats
    load: Floats
    lightest: Floats
    """Least shares of a job's burdens, shape (jobs, 4)."""


@njit_cached
def _sums(price: Floats, burden: Integers, start: Integers, sets: Integers) -> Floats:
    """What the burdens of some sets cost together, shape (sets,)."""
    total = np.zeros(len(sets))
    for n in range(len(sets)):
        for e in range(start[sets[n]], start[sets[n] + 1]):
            total[n] += price[burden[e]]
    return total


class BurdenRows:
    """All rows known; ``cut`` finds more, for several threads at a time if need be."""

    def __init__(
        self,
        instance: Instance,
        table: SetLoads,
        storage: StorageRows,
        angles: Floats,
        nodes: Floats,
    ) -> None:
        """Begin with storage, its cuts, and loads at some angles (CUT).

        Args:
            instance: the system, with a separate service for every job.
            table: sets and what they ask.
            storage: rows on storage.
            angles: radians, shape (angles,).
            nodes: what each set has in the row of all servers, shape (sets,).
        """
        self.table, self.nodes = table, nodes
        self._position = np.zeros(len(table.burdened), dtype=np.int64)
        self._servers: list[_Server] = []
        self._rows: list[Floats] = []
        self._adding = threading.Lock()
        jobs = instance.num_jobs
        job_of = np.repeat(np.arange(jobs), np.diff(table.first_burden))
        for j in range(instance.num_servers):
            burdens = np.flatnonzero(table.burdened == j)
            self._position[burdens] = np.arange(len(burdens))
            job, load = job_of[burdens], np.ascontiguousarray(table.load[burdens])
            lightest = np.full((jobs, 4), np.inf)
            np.minimum.at(lightest, job, load)
            first = np.searchsorted(job, np.arange(jobs + 1)).astype(np.int64)
            size = table.size[table.service[job], j]
            self._servers.append(_Server(burdens, first, size, load, lightest))
            stored = storage.counts[storage.server == j][:, table.service[job]]
            inbound, a, b, c = load.T
            cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
            loads = cos**2 * a + sin**2 * b + 2 * sin * cos * c
            rows = np.vstack([stored, inbound, loads])
            self._rows.append(np.where(rows > _LEAST, rows, 0.0))

    @property
    def most_urgent(self) -> RowsChosen:
        """Storage of every server, and the row of all."""
        servers = np.append(np.arange(self.servers), OF_ALL)
        return RowsChosen(servers, np.zeros(len(servers), dtype=np.int64))

    @property
    def servers(self) -> int:
        """How many."""
        return len(self._rows)

    def burdens(self, sets: Integers) -> tuple[Integers, Integers]:
        """Burdens of some sets one after the other, and where those of each set begin."""
        start = self.table.sets.start
        size = start[sets + 1] - start[sets]
        first = np.concatenate([[0], np.cumsum(size)])
        entry = np.arange(first[-1]) + np.repeat(start[sets] - first[:-1], size)
        return self.table.burden[entry], first

    def weighed(self, sets: Integers, weights: Floats) -> Floats:
        """Weight of every burden, shape (burdens,), if sets are chosen so far."""
        burden, first = self.burdens(sets)
        spread = np.repeat(weights, np.diff(first))
        return np.bincount(burden, weights=spread, minlength=len(self._position)).astype(float)

    def cost(self, sets: Integers, rows: RowsChosen, paid: Floats) -> Floats:
        """What some sets cost, shape (sets,).

        Args:
            sets: their numbers.
            rows: that have prices.
            paid: these, shape (rows,).
        """
        price, of_all = self.prices(rows, paid)
        return of_all * self.nodes[sets] + _sums(
            price, self.table.burden, self.table.sets.start, sets
        )

    def prices(self, rows: RowsChosen, paid: Floats) -> tuple[Floats, float]:
        """What every burden costs, shape (burdens,), and the row of all servers."""
        price = np.zeros(len(self._position))
        dear = np.flatnonzero(paid)
        at = rows.server[dear]
        for j in np.unique(at[at != OF_ALL]).tolist():
            mine = dear[at == j]
            price[self._servers[j].burdens] = paid[mine] @ self._rows[j][rows.number[mine]]
        return price, float(paid[rows.server == OF_ALL].sum())

    def coefficients(self, rows: RowsChosen, sets: Integers) -> sp.csc_array:
        """What some sets have in some rows, shape (rows, sets)."""
        burden, first = self.burdens(sets)
        column = np.repeat(np.arange(len(sets)), np.diff(first))
        at, position = self.table.burdened[burden], self._position[burden]
        parts = [(np.zeros(0), column[:0], column[:0])]
        for j, known in enumerate(self._rows):
            mine, here = np.flatnonzero(rows.server == j), np.flatnonzero(at == j)
            if len(mine) and len(here):
                values = known[np.ix_(rows.number[mine], position[here])]
                r, c = np.nonzero(values)
                parts.append((values[r, c], mine[r], column[here[c]]))
        for n in np.flatnonzero(rows.server == OF_ALL):
            counted = np.flatnonzero(self.nodes[sets])
            parts.append((self.nodes[sets[counted]], np.full(len(counted), n), counted))
        values, r, c = (np.concatenate(part) for part in zip(*parts, strict=True))
        return sp.csc_array((values, (r, c)), shape=(len(rows.server), len(sets)))

    def broken(self, weight: Floats, known: RowsChosen, most: int, least: float) -> RowsChosen:
        """The rows that a point violates by most, those known left out.

        Args:
            weight: of every burden, shape (burdens,).
            known: rows that it satisfies.
            most: rows.
            least: violation of interest.
        """
        over, server, number = [], [], []
        for j, own in enumerate(self._servers):
            excess = self._rows[j] @ weight[own.burdens] - 1.0
            excess[known.number[known.server == j]] = 0.0
            found = np.flatnonzero(excess > least)
            over.append(excess[found])
            server.append(np.full(len(found), j))
            number.append(found)
        worst = np.argsort(-np.concatenate(over), kind="stable")[:most]
        return RowsChosen(np.concatenate(server), np.concatenate(number)).only(worst)

    def cut(self, weight: Floats, least: float) -> RowsChosen:
        """New rows that all configurations of a server satisfy and a point violates.

        Args:
            weight: of every burden, shape (burdens,).
            least: violation of interest.
        """
        server, number = [], []
        for j, own in enumerate(self._servers):
            point = weight[own.burdens]
            worth, row = configuration_row(
                point, own.first, own.size, own.load, own.lightest, least
            )
            if worth > 1.0 + least:
                with self._adding:
                    number.append(len(self._rows[j]))
                    self._rows[j] = np.vstack([self._rows[j], row])
                server.append(j)
        return RowsChosen(np.array(server, dtype=np.int64), np.array(number, dtype=np.int64))
