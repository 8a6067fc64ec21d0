"""R-DSR for one admitted job: filtering (26) to (29) and rounding around centres (Algorithm 2).

Arrays are over the job's nodes in index order and all servers; x is 0 outside V_i.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.drp.instance import Booleans, Floats, Integers

POSITIVE = 1e-9
"""Smallest x' that counts as an association of the relaxation."""
EQUAL = 1e-12
"""Relative excess of a cost over its bound in (28) that is taken for rounding error."""


class Filtered(NamedTuple):
    """A job's relaxed association after filtering."""

    theta: Floats
    """Theta_i (27): mean cost of node i, shape (nodes,)."""
    near: Booleans
    """F_i (28), shape (nodes, servers)."""
    x: Floats
    """x'' (29), shape (nodes, servers)."""
    z: Floats
    """z'' (29), shape (servers,)."""


def filtered(x: Floats, cost: Floats, lam: float) -> Filtered:
    """Leave each node the servers that cost at most 1 + lambda times its mean.

    Args:
        x: x'_ij, each row adding up to 1, shape (nodes, servers).
        cost: c_ij, of the same shape.
        lam: lambda > 0.
    """
    theta = (cost * x).sum(axis=1)
    used = x > POSITIVE
    # what is too small to count weighs in the mean, which may then be below all costs that count
    cheapest = np.where(used, cost, np.inf).min(axis=1)
    most = np.maximum((1 + lam) * theta * (1 + EQUAL), cheapest)
    near = used & (cost <= most[:, None])
    kept = np.where(near, x, 0.0)
    share = kept / kept.sum(axis=1, keepdims=True)
    z = np.minimum(1.0, (1 + lam) / lam * x.max(axis=0))
    return Filtered(theta, near, share, z)


def around_centres(
    theta: Floats, near: Booleans, reach: Booleans, price: Floats, *, literal: bool = False
) -> tuple[Integers, Integers]:
    """One server per node: centres by ascending Theta, their neighbours follow where they can.

    Args:
        theta: Theta_i, shape (nodes,).
        near: F_i, shape (nodes, servers).
        reach: V_i, shape (nodes, servers).
        price: of the job's service on each server, shape (servers,).
        literal: as printed, neighbours follow even to a server outside their V_i.

    Returns:
        Server of each node, and the node it follows there (a centre follows itself); each of
        shape (nodes,).
    """
    server, followed = np.full(len(theta), -1), np.arange(len(theta))
    for centre in np.lexsort((np.arange(len(theta)), theta)).tolist():
        if server[centre] >= 0:
            continue
        options = np.flatnonzero(near[centre])
        chosen = options[np.argmin(price[options])]
        server[centre] = chosen
        follows = (server < 0) & (near & near[centre]).any(axis=1)
        if not literal:
            follows &= reach[:, chosen]
        server[follows], followed[follows] = chosen, centre
    return server, followed
