"""What some optimum of (2) keeps to besides the constraints.

* Jobs that are the same in everything may be taken to complete in their order.
* Sites that are the same to every job and in every bandwidth cost may be taken to train in their
  order.
* Where no two sites are cheaper connected around a site than through it, that site need not
  import and export chunks of one job.

They go together: exchanging sites moves no completion and no chunk but those of the sites
exchanged, and sparing a site its detours changes nothing but transport.
"""

from __future__ import annotations

import numpy as np

from formulations.okita.instance import Booleans, Instance, Integers
from optsched.model import Model
from optsched.model.expression import Expression
from optsched.model.variables import Variable

LARGEST_WEIGHT = 10_000
"""Largest coefficient by which sites are put in order."""


def identical_jobs(instance: Instance) -> Integers:
    """Groups of jobs that are the same in everything, numbered, shape (jobs,)."""
    law = instance.latency
    table = np.column_stack(
        [
            instance.release_slot, instance.num_chunks, instance.epochs, instance.rate_numerator,
            instance.rate_denominator, instance.chunk_size_mb, instance.exchange_size_mb,
            instance.worker_demand, instance.ps_demand, law.kind, law.weight, law.rate, law.offset,
            law.late, law.breakpoint,
        ]
    )  # fmt: skip
    return _numbered(table)


def interchangeable_sites(instance: Instance) -> Integers:
    """Groups of sites that can be exchanged at will, numbered, shape (sites,).

    Two of them have the same resources and as many chunks of every job, and pay the same for each
    other and for every third site. That is transitive: exchanging r and r'' is exchanging each
    with r' in turn.
    """
    kind = _numbered(np.column_stack([instance.capacity, instance.num_chunks.T]))
    group = np.arange(instance.sites)
    for r in range(1, instance.sites):
        alike = np.flatnonzero(kind[:r] == kind[r])
        group[r] = next((group[a] for a in alike if _exchangeable(instance, int(a), r)), r)
    return group


def _exchangeable(instance: Instance, a: int, b: int) -> bool:
    """Whether bandwidth costs stay what they are when two sites change names."""
    order = np.arange(instance.sites)
    order[[a, b]] = b, a
    q = instance.unit_bandwidth_cost
    return bool((q[np.ix_(order, order)] == q).all())


def consecutive(group: Integers) -> Integers:
    """Pairs of a member and the next one of its group, shape (pairs, 2)."""
    order = np.argsort(group, kind="stable")
    same = group[order[1:]] == group[order[:-1]]
    return np.column_stack([order[:-1][same], order[1:][same]])


def direct_sites(instance: Instance) -> Booleans:
    """Sites through which no way is cheaper than the direct one, shape (sites,).

    That is the triangle inequality for one site in the middle; it is tested, never assumed.
    """
    q = instance.unit_bandwidth_cost
    return np.array([(q <= q[:, [r]] + q[[r], :]).all() for r in range(instance.sites)])


def spared_places(instance: Instance) -> tuple[Integers, Integers]:
    """Jobs and sites of ``direct_sites`` that could both import and export chunks of the job."""
    own = instance.num_chunks
    both = (own > 0) & (own < instance.total_chunks[:, None])
    job, site = np.nonzero(both & direct_sites(instance))
    return job, site


def site_weights(instance: Instance) -> Integers:
    """Weights that put sites in order by the chunks they train, job by job, shape (jobs,).

    The order is lexicographic as far as whole weights up to ``LARGEST_WEIGHT`` reach; later jobs
    weigh nothing.
    """
    weights = np.zeros(instance.jobs, dtype=np.int64)
    weights[0] = 1
    for i in range(1, instance.jobs):
        raised = weights * int(instance.total_chunks[i] + 1)
        if raised[0] > LARGEST_WEIGHT:
            break
        weights = raised
        weights[i] = 1
    return weights


def add_job_order(model: Model, instance: Instance, completion: Expression) -> None:
    """Identical jobs complete in their order.

    Args:
        model: of (2).
        instance: the system and its jobs.
        completion: t_i, shape (jobs,).
    """
    pairs = consecutive(identical_jobs(instance))
    if len(pairs):
        model.add("alike", completion[pairs[:, 0]] - completion[pairs[:, 1]] <= 0)


def add_site_order(model: Model, instance: Instance, trained: Expression) -> None:
    """Make the earlier one of interchangeable sites train more, by ``site_weights``.

    Args:
        model: of (2).
        instance: the system and its jobs.
        trained: chunks in all, shape (jobs, sites).
    """
    pairs = consecutive(interchangeable_sites(instance))
    if len(pairs):
        key = (trained * site_weights(instance)[:, None]).sum(axis=0)
        model.add("sites", key[pairs[:, 0]] - key[pairs[:, 1]] >= 0)


def add_direct_transport(model: Model, instance: Instance, transport: Variable) -> None:
    """No job's chunks are both brought to and taken from a site of ``direct_sites``.

    Args:
        model: of (2).
        instance: the system and its jobs.
        transport: G_i^{rr'}, shape (jobs, sites, sites).
    """
    job, site = spared_places(instance)
    if not len(job):
        return
    own = instance.num_chunks[job, site]
    elsewhere = instance.total_chunks[job] - own
    stays = transport[job, site, site]
    brought = transport.sum(axis=1)[job, site] - stays
    taken = transport.sum(axis=2)[job, site] - stays
    imports = model.binary("imports", len(job), formula="u_i^r")
    model.add("direct:to", brought - imports * elsewhere <= 0,
              formula="\\sum_{r'} G_i^{r'r} \\le u_i^r \\sum_{r'} D_i^{r'}")  # fmt: skip
    model.add("direct:from", taken + imports * own <= own,
              formula="\\sum_{r'} G_i^{rr'} \\le (1 - u_i^r) D_i^r")  # fmt: skip


def without_detours(flow: Integers, direct: Booleans) -> Integers:
    """The same transport with sites of ``direct_sites`` spared imports that they pass on.

    Args:
        flow: chunks from row to column, shape (sites, sites).
        direct: shape (sites,).
    """
    spared = flow.copy()
    for r in np.flatnonzero(direct).tolist():
        while True:
            brought, taken = spared[:, r].copy(), spared[r].copy()
            brought[r] = taken[r] = 0
            if not (brought.any() and taken.any()):
                break
            source, target = int(brought.argmax()), int(taken.argmax())
            chunks = min(brought[source], taken[target])
            spared[source, r] -= chunks
            spared[r, target] -= chunks
            spared[source, target] += chunks
            spared[r, r] += chunks
    return spared


def _numbered(table: np.ndarray) -> Integers:
    """Rows that are equal have equal numbers, shape (rows,)."""
    return np.unique(table, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
