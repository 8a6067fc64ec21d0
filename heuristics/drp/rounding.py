"""Randomised rounding of fractional associations."""

from __future__ import annotations

import numpy as np

from formulations.drp.instance import Booleans, Floats, Instance, Integers

NO_PAIR = -1


def draw_pairs(
    instance: Instance, nodes: Integers, x: Floats, rng: np.random.Generator
) -> Integers:
    """One pair of each node with probability x_ij, none with what is missing to 1.

    Args:
        instance: the system.
        nodes: who draws, one uniform number each, in this order.
        x: shape (pairs,); at most 1 per node.
        rng: source of randomness.

    Returns:
        Shape (nodes,); ``NO_PAIR`` where none was drawn.
    """
    total = np.concatenate([[0.0], np.cumsum(np.maximum(x, 0.0))])
    first, last = instance.first_pair[nodes], instance.first_pair[nodes + 1]
    at = total[first] + rng.random(len(nodes))
    chosen = np.searchsorted(total[1:], at, side="right")
    return np.where(at < total[last], np.clip(chosen, first, last - 1), NO_PAIR)


def keep_prefix(
    instance: Instance, pairs: Integers, rank: Integers, inbound_left: Floats
) -> Integers:
    """(17): at each server the longest prefix, by priority, that its inbound bandwidth takes.

    Args:
        instance: the system.
        pairs: one pair per node.
        rank: place of each job in the order of priority, shape (jobs,).
        inbound_left: relative to the capacity, shape (servers,).

    Returns:
        The pairs that are kept.
    """
    server = instance.pair_server[pairs]
    order = np.lexsort((instance.pair_node[pairs], rank[instance.pair_job[pairs]], server))
    pairs, server = pairs[order], server[order]
    load = instance.inbound_load[pairs]
    total = np.cumsum(load)
    fresh = np.concatenate([[True], server[1:] != server[:-1]]) if len(server) else server > 0
    start = (total - load)[fresh]
    group = np.cumsum(fresh) - 1
    within: Booleans = total - start[group] <= inbound_left[server] + 1e-12
    return pairs[within]
