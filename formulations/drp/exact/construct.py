"""A first decision within moments: one job after the other, each node where least is used."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from formulations.drp.instance import NO_SERVER, Instance, Integers
from formulations.drp.loads import server_load_factor


def first_association(
    instance: Instance, over: Callable[[], bool], *, services: bool = False
) -> Integers:
    """Admit one job after the other, those first that ask for least on average.

    A job is admitted if each of its nodes fits on a server when its turn comes; of the servers in
    reach it is put on the one of which most is left then.

    Args:
        instance: the system.
        over: looked at between two jobs, once a job is in, or half of them have been tried.
        services: storage binds (DSRP).

    Returns:
        Server of each node, shape (nodes,).
    """
    loads = np.stack(
        [instance.inbound_load, instance.compute_load, instance.comm_load, instance.cross_load]
    )
    asked = loads[:3].sum(axis=0) / instance.degree[instance.pair_node]
    size = np.bincount(instance.pair_job, weights=asked, minlength=instance.num_jobs)
    storage = instance.service_load if services else np.zeros_like(instance.service_load)
    used, stored = np.zeros((4, instance.num_servers)), np.zeros(instance.num_servers)
    held = np.zeros(storage.shape, dtype=np.bool_)
    assoc: Integers = np.full(instance.num_data_nodes, NO_SERVER)
    for tried, job in enumerate(np.argsort(size, kind="stable").tolist()):
        if over() and (2 * tried > instance.num_jobs or (assoc != NO_SERVER).any()):
            break
        service, nodes = instance.job_service[job], instance.job_nodes[job]
        before = used.copy(), stored.copy(), held[service].copy()
        for node in nodes.tolist():
            pairs = np.arange(instance.first_pair[node], instance.first_pair[node + 1])
            at = instance.pair_server[pairs]
            inbound, *rest = used[:, at] + loads[:, pairs]
            full = stored[at] + np.where(held[service, at], 0.0, storage[service, at])
            most = np.maximum(np.maximum(inbound, server_load_factor(*rest)), full)
            best = int(np.argmin(most))
            if most[best] > 1:
                used, stored, held[service] = before
                assoc[nodes] = NO_SERVER
                break
            server = at[best]
            used[:, server] += loads[:, pairs[best]]
            stored[server], held[service, server] = full[best], True
            assoc[node] = server
    return assoc
