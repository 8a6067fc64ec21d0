"""One server's load: the exact test (P1), its tangent cuts (CUT) and the allocation (P2).

For an association x, a_j, b_j and c_j are the sums of alpha_ij, beta_ij and
sqrt(alpha_ij beta_ij) over the nodes at server j. Resources that meet all deadlines exist exactly
if the larger eigenvalue of [[a_j, c_j], [c_j, b_j]] is at most 1: that eigenvalue is the factor by
which both capacities would have to grow to be enough.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from formulations.drp.instance import NO_SERVER, Floats, Instance, Integers
from optsched.jit import njit_cached

NEGLIGIBLE = 1e-12
"""Loads up to here are taken for 0 in models: solvers drop coefficients so small."""


def visible(load: Floats) -> Floats:
    """Loads as models state them, those up to ``NEGLIGIBLE`` left out."""
    return np.where(load > NEGLIGIBLE, load, 0.0)


@njit_cached
def load_factor(a: float, b: float, c: float) -> float:
    """Return lambda_max of [[a, c], [c, b]], the load factor of (P1), for compiled callers."""
    return float((a + b) / 2 + math.sqrt((a - b) * (a - b) / 4 + c * c))


class Loads(NamedTuple):
    """a_j, b_j, c_j of every server, each of shape (servers,)."""

    compute: Floats
    comm: Floats
    cross: Floats

    @property
    def factor(self) -> Floats:
        """lambda_max(M_j), shape (servers,)."""
        return server_load_factor(*self)

    @property
    def angle(self) -> Floats:
        """phi*_j: the angle of the most violated cut, shape (servers,), radians."""
        return cut_angle(*self)


def server_load_factor(compute: ArrayLike, comm: ArrayLike, cross: ArrayLike) -> Floats:
    """lambda_max of [[a, c], [c, b]]: the least factor on both capacities that is enough.

    Args:
        compute: a, any shape.
        comm: b, of the same shape.
        cross: c, of the same shape.
    """
    a, b, c = (np.asarray(v, dtype=np.float64) for v in (compute, comm, cross))
    return np.asarray((a + b) / 2 + np.hypot((a - b) / 2, c))


def cut_angle(compute: ArrayLike, comm: ArrayLike, cross: ArrayLike) -> Floats:
    """phi* of the top eigenvector (cos phi, sin phi), in [0, pi/2]."""
    a, b, c = (np.asarray(v, dtype=np.float64) for v in (compute, comm, cross))
    return np.asarray(np.arctan2(2 * c, a - b) / 2)


def server_loads(instance: Instance, x: Floats) -> Loads:
    """a_j, b_j, c_j of an association, fractional or not.

    Args:
        instance: the system.
        x: x_ij, shape (pairs,).
    """
    servers = instance.num_servers
    return Loads(
        *(
            np.bincount(instance.pair_server, weights=x * load, minlength=servers).astype(
                np.float64
            )
            for load in (instance.compute_load, instance.comm_load, instance.cross_load)
        )
    )


def pairs_of(instance: Instance, assoc: Integers) -> Floats:
    """x_ij in {0, 1} of an association by node, servers outside V_i left out; shape (pairs,)."""
    x = np.zeros(instance.num_pairs)
    node = np.flatnonzero(assoc != NO_SERVER)
    pair = instance.pair_of(node, assoc[node])
    x[pair[pair >= 0]] = 1.0
    return x


def cut_weights(instance: Instance, angle: ArrayLike) -> Floats:
    """Coefficients of (CUT), ``(cos phi sqrt(alpha_ij) + sin phi sqrt(beta_ij))^2``.

    Args:
        instance: the system.
        angle: phi in [0, pi/2], a number or one per pair.

    Returns:
        Shape (pairs,), visible; summed over a server's nodes at most 1 in every feasible
        association.
    """
    phi = np.asarray(angle, dtype=np.float64)
    sides = np.cos(phi) * np.sqrt(instance.compute_load) + np.sin(phi) * np.sqrt(instance.comm_load)
    return visible(sides**2)


class JobLoads(NamedTuple):
    """What each job asks of each server it is on, one row per (job, server), sorted so."""

    job: Integers
    server: Integers
    data: Floats
    """D_jk, bytes."""
    compute: Floats
    """A_k D_jk / tau_k, FLOP/s."""
    outbound: Floats
    """B_k D_jk / tau_k, bit/s."""


def job_loads(instance: Instance, assoc: Integers) -> JobLoads:
    """D_jk (1) and what it asks for, of an association by node."""
    node = np.flatnonzero(assoc != NO_SERVER)
    key = instance.node_job[node] * instance.num_servers + assoc[node]
    keys, row = np.unique(key, return_inverse=True)
    columns = (
        np.bincount(row, weights=value[node], minlength=len(keys)).astype(np.float64)
        for value in (instance.node_data_bytes, instance.node_compute, instance.node_outbound)
    )
    return JobLoads(*np.divmod(keys, instance.num_servers), *columns)


def allocate(instance: Instance, assoc: Integers) -> Floats:
    """(P2): the resources of every job on every server, all deadlines met exactly.

    On a server of load factor up to 1 a job gets a_k + s c_k and b_k + c_k / s with
    s = sqrt(U / V), U and V being what the minimal amounts leave of the capacities. On an
    overloaded server both capacities are taken to be larger by the load factor.

    Args:
        instance: the system.
        assoc: server of each node, shape (nodes,).

    Returns:
        Rows (job, server, FLOP/s, bit/s).
    """
    loads = job_loads(instance, assoc)
    servers = instance.num_servers
    cross = np.sqrt(loads.compute * loads.outbound)
    a, b, c = (
        np.bincount(loads.server, weights=w, minlength=servers)
        for w in (loads.compute, loads.outbound, cross)
    )
    scale = instance.server_compute_flops, instance.server_outbound_bps
    factor = server_load_factor(a / scale[0], b / scale[1], c / np.sqrt(scale[0] * scale[1]))
    enough = np.maximum(1.0, factor)
    left_compute, left_outbound = enough * scale[0] - a, enough * scale[1] - b
    shared = c > 0  # then something is left of both
    s = np.ones(servers)
    s[shared] = np.sqrt(left_compute[shared] / left_outbound[shared])
    s = s[loads.server]
    return np.column_stack(
        [loads.job, loads.server, loads.compute + s * cross, loads.outbound + cross / s]
    )


def allocate_by_share(instance: Instance, assoc: Integers, comm_share: float) -> Floats:
    """The least amounts under (12) and (13): communication has the share epsilon of the deadline.

    Args:
        instance: the system.
        assoc: server of each node, shape (nodes,).
        comm_share: epsilon.

    Returns:
        Rows (job, server, FLOP/s, bit/s).
    """
    loads = job_loads(instance, assoc)
    return np.column_stack(
        [loads.job, loads.server, loads.compute / (1 - comm_share), loads.outbound / comm_share]
    )
