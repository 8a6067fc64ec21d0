"""Lower bounds on problem (2) that need no solver."""

from __future__ import annotations

import numpy as np

from formulations.okita.construct import Planner
from formulations.okita.instance import Floats, Instance
from formulations.okita.windows import least_slots
from optsched.problem import Bound


def site_bounds(instance: Instance) -> Floats:
    """What each job costs at least, from a count of the sites its server visits; (jobs,), money.

    In x + 1 slots the server stands at no more than x + 1 sites. A chunk that lies elsewhere
    either moves or is trained where no server stands, by a worker's share that pays for the
    exchange; both cost at least the cheapest way out of its site.
    """
    sites = instance.sites
    off = np.where(np.eye(sites, dtype=bool), np.inf, instance.unit_bandwidth_cost)
    way_out = off.min(axis=1) if sites > 1 else np.zeros(1)
    share = instance.exchange_size_mb * instance.work_per_chunk / instance.rate_numerator
    per_chunk = np.minimum(instance.chunk_size_mb, share)
    paid = np.sort(instance.num_chunks * way_out, axis=1) * per_chunk[:, None]
    left = np.concatenate([np.zeros((instance.jobs, 1)), np.cumsum(paid, axis=1)], axis=1)
    flow = least_slots(instance)[:, None] - 1 + np.arange(sites)
    stays = left[np.arange(instance.jobs)[:, None], np.maximum(sites - flow - 1, 0)]
    late = instance.latency.cost(np.arange(instance.jobs)[:, None], flow)
    return np.asarray((late + stays).min(axis=1))


def lb_sites(instance: Instance) -> float:
    """Sum of ``site_bounds``, money: for sizes at which nothing better can be had."""
    return float(site_bounds(instance).sum())


def job_bounds(instance: Instance) -> Floats:
    """F_i: the optimum of each job alone, or its site bound where that is out of reach."""
    planner = Planner(instance)
    if not planner.exact:
        return site_bounds(instance)
    return np.array([path.price for path in planner.alone])


def lb_alone(instance: Instance) -> float:
    """Every job as if it were the only one, money."""
    return float(job_bounds(instance).sum())


BOUNDS = (
    Bound("lb_alone", lb_alone, "problem (2) job by job", "every job as if it were the only one",
          quick=True),
    Bound("lb_sites", lb_sites, "closed form",
          "every job alone, counting the sites its server can visit; for any size"),
)  # fmt: skip
