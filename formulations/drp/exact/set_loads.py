"""What a job asks of the servers of a covering set, added up once for all sets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.drp.exact.covering_sets import CoveringSets
from formulations.drp.instance import Booleans, Floats, Instance, Integers
from formulations.drp.loads import visible


class SetLoads(NamedTuple):
    """Covering sets, and what a job on one asks.

    A burden is what one server gets from the nodes of a job that reach no other of its set; many
    sets of a job have a burden in common. Nodes that reach several servers of a set are free.
    """

    sets: CoveringSets
    burden: Integers
    """Burden of each server of each set, shape (entries,)."""
    first_burden: Integers
    """Burdens of job k are first_burden[k] .. first_burden[k + 1] - 1; shape (jobs + 1,)."""
    burdened: Integers
    """Server of each burden, shape (burdens,)."""
    load: Floats
    """Shares of inbound bandwidth, a, b and c of (P1), shape (burdens, 4)."""
    first_free: Integers
    """Free nodes of set n are first_free[n] .. first_free[n + 1] - 1; shape (sets + 1,)."""
    free: Integers
    """Free nodes, shape (their number over all sets,)."""
    service: Integers
    """Service of each job, shape (jobs,)."""
    size: Floats
    """Size of services as shares of storage, shape (services, servers)."""
    pair: Integers
    """Pair of a node and a server, -1 out of reach; shape (nodes, servers)."""
    node_load: Floats
    """Shares as in ``load``, shape (pairs, 4)."""

    def only(self, kept: Booleans) -> SetLoads:
        """These sets; ``kept`` has shape (sets,)."""
        used, burden = np.unique(
            self.burden[np.repeat(kept, np.diff(self.sets.start))], return_inverse=True
        )
        choices = np.diff(self.first_free)
        return self._replace(
            sets=self.sets.only(kept),
            burden=burden.reshape(-1),
            first_burden=np.searchsorted(used, self.first_burden),
            burdened=self.burdened[used],
            load=self.load[used],
            first_free=np.cumsum([0, *choices[kept]]),
            free=self.free[np.repeat(kept, choices)],
        )


def set_loads(instance: Instance, sets: CoveringSets, storage_only: bool = False) -> SetLoads:
    """Add up what every set asks.

    Args:
        instance: the system.
        sets: which reach every node of their jobs, unless nodes do not count.
        storage_only: nodes load nothing.
    """
    pair = np.full((instance.num_data_nodes, instance.num_servers), -1, dtype=np.int64)
    pair[instance.pair_node, instance.pair_server] = np.arange(instance.num_pairs)
    node_load = np.column_stack(
        [instance.inbound_load, instance.compute_load, instance.comm_load, instance.cross_load]
    )
    burden, burdened, load, free, choices = [], [], [np.zeros((0, 4))], [], []
    first = [0]
    for k in range(instance.num_jobs):
        nodes = instance.job_nodes[k][: 0 if storage_only else None]
        n0, n1 = sets.first[k], sets.first[k + 1]
        server = sets.server[sets.start[n0] : sets.start[n1]]
        of_set = np.repeat(np.arange(n1 - n0), np.diff(sets.start[n0 : n1 + 1]))
        reach = pair[nodes] >= 0
        held = np.zeros((n1 - n0, instance.num_servers), dtype=np.int64)
        held[of_set, server] = 1
        options = held @ reach.T  # of every node in every set
        alone = (options[of_set] == 1) & reach[:, server].T
        found, which = _distinct(server, alone)
        burden.append(first[-1] + which)
        burdened.append(server[found])
        of_node = node_load[pair[nodes][:, server[found]]].transpose(1, 0, 2)
        load.append((alone[found][:, :, None] * of_node).sum(axis=1))
        first.append(first[-1] + len(found))
        where, who = np.nonzero(options > 1)
        free.append(nodes[who])
        choices.append(np.bincount(where, minlength=n1 - n0))
    return SetLoads(
        sets,
        np.concatenate(burden),
        np.array(first),
        np.concatenate(burdened),
        np.concatenate(load),
        np.cumsum([0, *np.concatenate(choices)]),
        np.concatenate(free).astype(np.int64),
        instance.job_service.astype(np.int64),
        visible(instance.service_load),
        pair,
        np.ascontiguousarray(node_load),
    )


def _distinct(server: Integers, alone: Booleans) -> tuple[Integers, Integers]:
    """Where burdens that differ are first met, ascending, and which of them each one is.

    Args:
        server: of each, shape (entries,).
        alone: nodes that reach no other, shape (entries, nodes).
    """
    of_server = server.astype(">u4").view(np.uint8).reshape(-1, 4)
    key = np.concatenate([of_server, np.packbits(alone, axis=1)], axis=1)
    text = key.view(f"S{key.shape[1]}").ravel()
    _, found, which = np.unique(text, return_index=True, return_inverse=True)
    return found, which
