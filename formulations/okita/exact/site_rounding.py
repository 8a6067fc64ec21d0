"""Rows of sites by rounding: what any packing of one resource satisfies, known before any point.

In a crowded system jobs then end by the capacity's count long before they can, and under an
exponential latency that is nearly all of the cost.
"""

from __future__ import annotations

import numpy as np

from formulations.okita.exact.pricing import SiteLimits
from formulations.okita.instance import Instance
from optsched.decomposition.dual_feasible import SAFE, rounded_rows


def rounded_limits(instance: Instance) -> SiteLimits:
    """Return the rows of each site, less those that its capacities or other rows imply."""
    workers = instance.jobs
    demand = np.concatenate([instance.worker_demand, instance.ps_demand])
    rows = [rounded_rows(demand, capacity) for capacity in instance.capacity]
    site = np.repeat(np.arange(instance.sites), [len(own) for own in rows])
    table = np.concatenate(rows).T
    return SiteLimits(
        site=site,
        room=np.full(len(site), 1.0 + SAFE),
        worker=table[:workers],
        server=table[workers:],
    )
