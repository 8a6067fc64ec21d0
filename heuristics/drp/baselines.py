"""Random, Greedy and Nearest: jobs one after the other, smallest total data first.

A job is admitted if each of its nodes, in index order, finds a server on which it fits; otherwise
its placements are undone and the next job is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from formulations.drp.decode import needed_placements, schedule_of
from formulations.drp.instance import NO_SERVER, Booleans, Instance, Integers
from formulations.drp.residual_capacity import Mode, Room
from formulations.drp.schedule import Schedule
from heuristics.drp.options import checked_share
from heuristics.drp.servers import Filling, Servers
from optsched.errors import InputError
from optsched.problem.calls import Share

Rule: TypeAlias = Callable[[Servers, int], Integers]
"""(servers, node) -> pairs of the node to try, in order."""


def random(
    instance: Instance,
    rng: np.random.Generator,
    *,
    mode: Mode = "eps",
    comm_share: Share | None = None,
    stop_at_first_failure: bool = False,
    services: bool = False,
) -> Schedule:
    """Random: one uniformly drawn server of V_i per node, no second try.

    Args:
        instance: the system.
        rng: one draw per node tried.
        mode: how resources are tested.
        comm_share: epsilon of mode "eps"; None: the instance's.
        stop_at_first_failure: end with the first job that does not fit.
        services: storage binds (DSRP).

    Raises:
        InputError: an option out of range.
    """

    def one(servers: Servers, node: int) -> Integers:
        pairs = servers.candidates(node)
        return pairs[rng.integers(0, len(pairs)) :][:1]

    servers = Servers(instance, mode, checked_share(instance, mode, comm_share), services=services)
    return one_after_the_other(servers, one, stop_at_first_failure)


def greedy(
    instance: Instance,
    rng: np.random.Generator,
    *,
    mode: Mode = "eps",
    comm_share: Share | None = None,
    stop_at_first_failure: bool = False,
    services: bool = False,
) -> Schedule:
    """Greedy: the server of V_i that stores least, the first on which the node fits.

    Stored is the data of the nodes placed, or with ``services`` the services; see ``random`` for
    the options. Nothing is drawn.

    Raises:
        InputError: an option out of range.
    """

    def emptiest(servers: Servers, node: int) -> Integers:
        pairs = servers.candidates(node)
        at = instance.pair_server[pairs]
        held = servers.now.placed
        stored = instance.service_size_bytes @ held if services else servers.now.data
        return pairs[np.lexsort((at, stored[at]))]

    servers = Servers(instance, mode, checked_share(instance, mode, comm_share), services=services)
    return one_after_the_other(servers, emptiest, stop_at_first_failure)


def nearest(
    instance: Instance,
    rng: np.random.Generator,
    *,
    mode: Mode = "eps",
    comm_share: Share | None = None,
    stop_at_first_failure: bool = False,
    services: bool = False,
) -> Schedule:
    """Nearest, sequential: the nearest server of V_i only; see ``random`` for the options.

    Raises:
        InputError: an option out of range, or an instance without positions.
    """
    closest = nearest_pairs(instance)
    servers = Servers(instance, mode, checked_share(instance, mode, comm_share), services=services)
    return one_after_the_other(
        servers, lambda _, node: closest[node : node + 1], stop_at_first_failure
    )


def nearest_literal(
    instance: Instance,
    rng: np.random.Generator,
    *,
    mode: Mode = "eps",
    comm_share: Share | None = None,
    services: bool = False,
) -> Schedule:
    """Nearest, literal: all jobs at their nearest servers; while anything is violated, the job of
    greatest total rate goes.

    Raises:
        InputError: an option out of range, or an instance without positions.
    """
    share = checked_share(instance, mode, comm_share)
    pairs = nearest_pairs(instance)
    rate = np.bincount(instance.node_job, weights=instance.node_rate_bps)
    order = np.lexsort((np.arange(instance.num_jobs), -rate))
    gone = np.zeros(instance.num_jobs, dtype=bool)
    for job in [-1, *order.tolist()]:
        if job >= 0:
            gone[job] = True
        kept = pairs[~gone[instance.pair_job[pairs]]]
        full = Room.empty(instance).with_pairs(instance, kept)
        if full.fits(mode, share).all() and not (services and _overfull(instance, kept).any()):
            break
    assoc = np.full(instance.num_data_nodes, NO_SERVER)
    assoc[instance.pair_node[kept]] = instance.pair_server[kept]
    return schedule_of(instance, assoc, services=services, mode=mode, comm_share=share)


def nearest_pairs(instance: Instance) -> Integers:
    """The pair of each node with its nearest server (ties: index), shape (nodes,).

    Raises:
        InputError: the instance has no positions.
    """
    for name in ("node_xy", "server_xy"):
        if getattr(instance, name) is None:
            raise InputError.of(name, None, "positions: Nearest needs them")
    assert instance.node_xy is not None
    assert instance.server_xy is not None
    apart = instance.node_xy[instance.pair_node] - instance.server_xy[instance.pair_server]
    order = np.lexsort((instance.pair_server, np.hypot(*apart.T), instance.pair_node))
    return order[instance.first_pair[:-1]]


def _overfull(instance: Instance, pairs: Integers) -> Booleans:
    """Servers whose storage the services of these pairs exceed, shape (servers,)."""
    assoc = np.full(instance.num_data_nodes, NO_SERVER)
    assoc[instance.pair_node[pairs]] = instance.pair_server[pairs]
    service, server = needed_placements(instance, assoc).T
    used = np.bincount(
        server, weights=instance.service_load[service, server], minlength=instance.num_servers
    )
    return np.asarray(used > 1 + 1e-12)


def one_after_the_other(
    servers: Servers,
    rule: Rule,
    stop_at_first_failure: bool,
    sizes: ArrayLike | None = None,
    retries: int = 0,
) -> Schedule:
    """Jobs by size, by default their data, smallest first.

    Args:
        servers: what they hold, to which is added; jobs placed there already stay.
        rule: where nodes go.
        stop_at_first_failure: end with the first job that does not fit.
        sizes: of the jobs, shape (jobs,).
        retries: placements of a job that may be taken back before it is given up.
    """
    instance = servers.instance
    if sizes is None:
        sizes = np.bincount(instance.node_job, weights=instance.node_data_bytes)
    for job in np.argsort(sizes, kind="stable").tolist():
        before = servers.now.copy()
        nodes = instance.job_nodes[job].tolist()
        if before.assoc[nodes[0]] != NO_SERVER:
            continue
        placed = _place(servers, nodes, rule, 0)
        if not placed and retries:
            servers.now = before.copy()
            placed = _place(servers, nodes, rule, retries)
        if not placed:
            servers.now = before
            if stop_at_first_failure:
                break
    return schedule_of(
        instance,
        servers.now.assoc,
        services=servers.services,
        mode=servers.mode,
        comm_share=servers.comm_share,
    )


def _place(servers: Servers, nodes: Sequence[int], rule: Rule, retries: int) -> bool:
    """Whether all nodes found a server, after so many placements taken back at most."""

    def fitting(node: int) -> list[int]:
        pairs = rule(servers, node)
        return list(pairs[servers.fits(pairs)].tolist())

    placed: list[tuple[Filling | None, list[int]]] = []  # what was before each, and other places
    while len(placed) < len(nodes):
        places = fitting(nodes[len(placed)])
        while not places:
            if not placed or not retries:
                return False
            before, places = placed.pop()
            assert before is not None
            servers.now = before
            retries -= 1
        placed.append((servers.now.copy() if retries else None, places[1:]))
        servers.place(places[0])
    return True
