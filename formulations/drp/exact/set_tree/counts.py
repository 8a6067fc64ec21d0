"""Numbers of services that every schedule has whole, by which nodes of the tree are divided.

How many services stand on a server, or on two servers of which one stands in for the other: a
relaxation moves jobs from one to the other in parts, which the number of services on both does not
allow. And how many large ones there are among them, of which few go beside each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from formulations.drp.instance import Booleans, Floats, Integers

ALIKE = 0.5
"""Share from which on the services on two servers are counted together: of the sets with either
server, those that also exist with the other in its place (geometric mean)."""
LARGE = 0.2
"""Share of a server's storage from which on a service is large."""


class Counts(NamedTuple):
    """What is counted."""

    of_set: NDArray[np.int8]
    """How many services a set adds to each count, shape (sets, counts); counts of single servers
    come first, one of each."""
    most: Integers
    """Most that any schedule has, shape (counts,)."""

    def of(self, sets: Integers, counts: Integers) -> Floats:
        """What some sets add to some counts, shape (sets, counts)."""
        return self.of_set[np.ix_(sets, counts)].astype(np.float64)


def counts_of(job: Integers, held: Booleans, size: Floats) -> Counts:
    """Services of all sizes, and large ones, on single servers and on two that are alike.

    Args:
        job: of each set, ascending, shape (sets,).
        held: servers of each set, shape (sets, servers).
        size: of each job's service as a share of storage, shape (jobs, servers).
    """
    large = held & (size[job] >= LARGE)
    one, other = np.nonzero(np.triu(alike(job, held) >= ALIKE, 1))
    parts = [held, held[:, one].astype(np.int8) + held[:, other]]
    parts += [large, large[:, one].astype(np.int8) + large[:, other]]
    of_set = np.concatenate(parts, axis=1, dtype=np.int8)
    most = np.zeros((len(size), of_set.shape[1]), dtype=np.int64)
    np.maximum.at(most, job, of_set)
    return Counts(of_set, most.sum(axis=0))


def alike(job: Integers, held: Booleans) -> Floats:
    """How often one server stands in for another.

    Args:
        job: of each set, shape (sets,).
        held: servers of each set, 62 at most, shape (sets, servers).

    Returns:
        Shape (servers, servers): sets with a server that are sets with the other in its place as
        well, as a part of the sets with either (their geometric mean).
    """
    bit = 1 << np.arange(held.shape[1], dtype=np.int64)
    common = np.zeros((len(bit), len(bit)))
    for k in np.unique(job).tolist():
        mine = held[job == k]
        where, server = np.nonzero(mine)
        others = (mine @ bit)[where] - bit[server]
        _, number = np.unique(others, return_inverse=True)
        ones = np.ones(len(server))
        completed = sp.csr_array((ones, (number, server)), shape=(number.max() + 1, len(bit)))
        common += (completed.T @ completed).toarray()
    own = np.sqrt(np.maximum(common.diagonal(), 1.0))
    found: Floats = common / np.outer(own, own)
    return found
