"""Rows of sites by rounding: what any packing of one resource satisfies, known before any point.

Workers and servers that demand d_j of a capacity C satisfy sum of u(d_j / C) v_j <= 1 for every
dual feasible function u: one with sum of u(x_j) <= 1 wherever sum of x_j <= 1. Those used are
Fekete and Schepers' (2001)

    u_q(x) = x where (q + 1) x is whole, else floor((q + 1) x) / q.

With q = 1 two that take more than half never meet; a site of 4 GPUs holds one worker that wants 3,
where its capacity alone would let 4/3 of them be. In a crowded system jobs then end by the
capacity's count long before they can, and under an exponential latency that is nearly all of the
cost.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from formulations.okita.exact.pricing import SiteLimits
from formulations.okita.instance import Booleans, Floats, Instance, Integers

LARGEST_ORDER = 8
"""Largest q."""

_SAFE = 1e-9  # by which right-hand sides 1 are raised, far above what rounding of sums can do


def rounded_limits(instance: Instance) -> SiteLimits:
    """The rows, less those that the capacities or other rows imply."""
    workers, site = instance.jobs, []
    rows: list[Floats] = []
    for r in range(instance.sites):
        found = np.array(list(_rows_of(instance, r))).reshape(-1, 2 * workers)
        kept = _not_implied(found)
        rows.extend(kept)
        site.extend([r] * len(kept))
    table = np.array(rows).reshape(-1, 2 * workers).T
    return SiteLimits(
        site=np.array(site, dtype=np.int64),
        room=np.full(len(site), 1.0 + _SAFE),
        worker=table[:workers],
        server=table[workers:],
    )


def dual_feasible(demand: Integers, capacity: int, q: int) -> Floats:
    """u_q of demands over a capacity, at least 1; exact up to one rounding."""
    times = (q + 1) * demand
    return np.where(times % capacity == 0, demand / capacity, times // capacity / q)


def _rows_of(instance: Instance, r: int) -> Iterator[Floats]:
    """Coefficients of workers, then servers, that differ from the capacity's for the better."""
    demand = np.concatenate([instance.worker_demand, instance.ps_demand])
    fits = (demand <= instance.capacity[r]).all(axis=1)
    for k in np.flatnonzero(instance.capacity[r] > 0).tolist():
        capacity = int(instance.capacity[r, k])
        for q in range(1, LARGEST_ORDER + 1):
            row = np.where(fits, dual_feasible(demand[:, k], capacity, q), 0.0)
            if (row > np.where(fits, demand[:, k] / capacity, 0.0) + _SAFE).any():
                yield row


def _not_implied(rows: Floats) -> Floats:
    """Those that no other is as large as in every place."""
    distinct = np.unique(rows, axis=0)
    larger: Booleans = np.asarray((distinct[:, None] <= distinct[None]).all(axis=2))
    np.fill_diagonal(larger, False)
    return np.asarray(distinct[~larger.any(axis=1)])
