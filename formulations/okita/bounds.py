"""Lower bounds on problem (2) that need no solver."""

from __future__ import annotations

import numpy as np

from formulations.okita.horizon import site_bounds
from formulations.okita.instance import Floats, Instance
from formulations.okita.one_job.planner import Planner
from optsched.problem import Bound

MOST_SLOTS = 256
"""Slots X looked at, the last ones by which not all can be done."""

_ROUNDING = 1e-9  # relative, by which the bound is lowered


def lb_sites(instance: Instance) -> float:
    """Sum of ``site_bounds``, money: for sizes at which nothing better can be had."""
    return float(site_bounds(instance).sum())


def job_bounds(instance: Instance) -> Floats:
    """F_i: the optimum of each job alone, or a bound on it where that is out of reach."""
    return Planner(instance).floors


def lb_alone(instance: Instance) -> float:
    """Every job as if it were the only one, money."""
    return float(job_bounds(instance).sum())


def volume_bound(instance: Instance, floors: Floats) -> float:
    """Return a bound that sees only how much work all sites can do by a slot, at any size; money.

    By the end of slot X the sites have given C^k (X - a + 1) units of resource k since the first
    release a, and job i takes at least V_i^k = N-bar_i m_i^k of them. Jobs that complete after X
    hold what is missing to the sum of V^k, so they are a cover,

        cost >= sum over i of F_i + min sum of max(0, f_i(X + 1 - a_i) - F_i) z_i
                over 0 <= z <= 1 with sum of V_i^k z_i >= sum of V_i^k - C^k (X - a + 1),

    whose linear relaxation takes the jobs with most work for their lateness. If many more jobs
    arrive than can be done, this is the only bound that follows an exponential latency.

    Args:
        instance: the system and its jobs.
        floors: F_i, what each job costs at least, shape (jobs,), money.
    """
    kinds = range(instance.resources)
    added = max((_added(instance, floors, k) for k in kinds), default=0.0)
    alone = float(floors.sum())
    return max(alone, (alone + added) * (1 - _ROUNDING))


def _added(instance: Instance, floors: Floats, k: int) -> float:
    """The most that one resource adds to the floors."""
    volume = instance.most_workers * instance.worker_demand[:, k].astype(float)
    job = np.flatnonzero(volume)
    each, total = float(instance.capacity[:, k].sum()), float(volume.sum()) * (1 - _ROUNDING)
    if total <= each:
        return 0.0
    release, volume = instance.release_slot[job], volume[job]
    first = int(release.min())
    most = int(np.ceil(total / each)) - 1  # slots by which something is left
    best = 0.0
    for slots in range(max(1, most - MOST_SLOTS + 1), most + 1):
        late = instance.latency.cost(job, np.maximum(first + slots - release, 0))
        extra = np.maximum(late - floors[job], 0.0)
        order = np.argsort(extra / volume, kind="stable")
        missing = total - each * slots
        before = np.cumsum(volume[order]) - volume[order]
        taken = np.clip(missing - before, 0.0, volume[order])
        best = max(best, float((extra[order] * (taken / volume[order])).sum()))
    return best


BOUNDS = (
    Bound("lb_alone", lb_alone, "problem (2) job by job", "every job as if it were the only one",
          quick=True),
    Bound("lb_sites", lb_sites, "closed form",
          "every job alone, counting the sites its server can visit; for any size"),
)  # fmt: skip
