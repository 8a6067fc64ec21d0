"""PRUNE (Algorithm 1, lines 21 to 31): fewer servers per node, trivial jobs rejected.

After the paper's variant every choice of a server for each node of one job fits alone, which the
safeguard of R-DR relies on; but it may reject a job that is feasible. The safe variant only takes
away servers on which a node does not fit alone.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from formulations.drp.instance import Booleans, Instance, Integers
from formulations.drp.loads import Loads
from formulations.drp.lp1_lp2 import fixed_share, yardstick
from formulations.drp.residual_capacity import Mode, Room, fits, share_of
from optsched.model import Model
from optsched.problem.calls import Share

Prune = Literal["paper", "safe"]


def prune(
    instance: Instance,
    room: Room,
    allowed: Booleans,
    *,
    variant: Prune,
    mode: Mode,
    comm_share: float,
) -> tuple[Booleans, Booleans]:
    """Prune what is left.

    Args:
        instance: the system.
        room: what is committed.
        allowed: pairs of the jobs that are left, shape (pairs,).
        variant: "paper" or "safe".
        mode: how resources are tested.
        comm_share: epsilon.

    Returns:
        Pairs that remain, shape (pairs,), without those of trivial jobs; and the jobs that have a
        server left for each of their nodes, shape (jobs,).
    """
    if variant == "safe":
        allowed = allowed & room.takes(instance, mode, comm_share)
    else:
        left = 1 - room.inbound[instance.pair_server]
        allowed = allowed & (instance.inbound_load <= left + 1e-12)
        for server in range(instance.num_servers):
            allowed[_beyond_prefix(instance, room, allowed, server, mode, comm_share)] = False
    degree = np.bincount(instance.pair_node[allowed], minlength=instance.num_data_nodes)
    stranded = np.bincount(instance.node_job, weights=degree == 0, minlength=instance.num_jobs)
    alive: Booleans = stranded == 0
    return allowed & alive[instance.pair_job], alive


def _beyond_prefix(
    instance: Instance, room: Room, allowed: Booleans, server: int, mode: Mode, comm_share: float
) -> Integers:
    """Pairs at a server beyond the longest prefix of their job that fits, for all jobs at once.

    Nodes of a job are taken by (servers they have left, index), (14) to (16) with x = 1.
    """
    pairs = np.flatnonzero(allowed & (instance.pair_server == server))
    if not len(pairs):
        return pairs
    degree = np.bincount(instance.pair_node[allowed], minlength=instance.num_data_nodes)
    node, job = instance.pair_node[pairs], instance.pair_job[pairs]
    pairs = pairs[np.lexsort((node, degree[node], job))]
    job = instance.pair_job[pairs]
    first = np.flatnonzero(np.concatenate([[True], job[1:] != job[:-1]]))
    group = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(job))))
    totals = []
    for load, taken in (
        (instance.inbound_load, room.inbound),
        (instance.compute_load, room.loads.compute),
        (instance.comm_load, room.loads.comm),
        (instance.cross_load, room.loads.cross),
    ):
        total = np.cumsum(load[pairs])
        start = (total - load[pairs])[first]
        totals.append(total - start[group] + taken[server])
    return pairs[~fits(totals[0], Loads(*totals[1:]), mode, comm_share)]


def lp1_first(instance: Instance, *, comm_share: Share | None = None) -> Model:
    """LP1 of what PRUNE leaves: what the paper's evaluation calls optimal.

    It is no bound on (5): a fixed epsilon and PRUNE both cut off solutions.

    Args:
        instance: the system.
        comm_share: epsilon in (0, 1); None: the instance's.

    Raises:
        InputError: ``comm_share`` is out of range.
    """
    share = share_of(instance, comm_share)
    every = np.ones(instance.num_pairs, dtype=np.bool_)
    allowed, _ = prune(
        instance, Room.empty(instance), every, variant="paper", mode="eps", comm_share=share
    )
    return fixed_share(instance, comm_share=share, allowed=allowed).relax()


LP1_FIRST = yardstick(
    lp1_first, "LP1 after PRUNE", "what the paper's evaluation calls optimal; no bound on (5)"
)
