"""The papers' objective and constraints, evaluated on a decision; knows no solver.

| DRP        | DSRP       | index        | amount                                                 |
|------------|------------|--------------|--------------------------------------------------------|
| 5b         | 22b        | node         | 1: a node of an admitted job without a server in V_i,  |
|            |            |              | or a node of another job with a server                 |
|            | 22c        | node, server | 1: the service of the node's job is not on its server  |
|            | 22d        | server       | storage beyond r^o_j, bytes                            |
| 5c         | 22e        | server       | inbound bandwidth beyond r^d_j, bit/s                  |
| 5d         | 22f        | server       | compute beyond r^c_j, FLOP/s                           |
| 5e         | 22g        | server       | outbound bandwidth beyond r^b_j, bit/s                 |
| 5f         | 22h        | job, server  | time beyond tau_k, seconds; infinite without resources |
| 5g, 5h, 5i | 22i to 22l | row or job   | 1, or how far an amount is below 0                     |

Sums of whole bytes (22d) and whole bit/s (5c) are compared exactly. Where such numbers have
decimals, and for what is allocated, capacities and deadlines forgive an excess of ``TOLERANCE``
relative to the capacity or deadline, which is what floats of that size lose in a few operations.
Work of nothing takes no time, whatever is allocated (0/0 := 0).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from formulations.common.amounts import is_whole
from formulations.drp.instance import NO_SERVER, Booleans, Floats, Instance, Integers
from formulations.drp.loads import job_loads
from formulations.drp.schedule import Schedule
from optsched.errors import InputError
from optsched.problem.violation import Violation

TOLERANCE = 1e-9
"""Excess that a capacity or a deadline forgives, relative to it, if numbers are not whole."""

_DSRP = {
    "5b": "22b", "5c": "22e", "5d": "22f", "5e": "22g", "5f": "22h", "5i": "22l",
}  # fmt: skip


def cost(instance: Instance, schedule: Schedule) -> float:
    """Number of admitted jobs; (5a), (22a)."""
    return float(np.count_nonzero(schedule.admit))


class BandwidthCost(NamedTuple):
    """Bandwidth reserved per admitted job, bit/s; 0 where no job is admitted."""

    inbound: float
    outbound: float

    @property
    def total(self) -> float:
        """Both together."""
        return self.inbound + self.outbound


def bandwidth_cost(instance: Instance, schedule: Schedule) -> BandwidthCost:
    """(sum of u_i over admitted jobs + sum of r^b_jk) / sum of y_k, the two parts apart."""
    jobs = max(1, int(np.count_nonzero(schedule.admit)))
    inbound = instance.node_rate_bps[schedule.admit[instance.node_job]].sum()
    return BandwidthCost(float(inbound) / jobs, float(schedule.alloc_outbound.sum()) / jobs)


def check(instance: Instance, schedule: Schedule) -> list[Violation]:
    """List every violated constraint of DRP (5), as the module's table describes.

    Raises:
        InputError: the decision is about other numbers of jobs or nodes.
    """
    return list(_drp(instance, schedule))


def check_dsrp(instance: Instance, schedule: Schedule) -> list[Violation]:
    """List every violated constraint of DSRP (22), as the module's table describes.

    Raises:
        InputError: the decision is about other numbers of jobs or nodes.
    """
    found = [replace(v, constraint=_DSRP[v.constraint]) for v in _drp(instance, schedule)]
    found += _services(instance, schedule)
    return sorted(found, key=lambda violation: violation.constraint)


def utilisation(instance: Instance, schedule: Schedule) -> dict[str, float]:
    """Largest load over capacity of any server, for each resource; above 1 is a violation.

    Inbound bandwidth, compute and outbound bandwidth as allocated, and storage.
    """
    servers = instance.num_servers
    inbound, compute, outbound = _used(instance, schedule)
    storage = np.bincount(
        schedule.placed_server,
        weights=instance.service_size_bytes[schedule.placed_service],
        minlength=servers,
    )
    return {
        "inbound": float((inbound / instance.server_inbound_bps).max()),
        "compute": float((compute / instance.server_compute_flops).max()),
        "outbound": float((outbound / instance.server_outbound_bps).max()),
        "storage": float((storage / instance.server_storage_bytes).max()),
    }


def _used(instance: Instance, schedule: Schedule) -> tuple[Floats, Floats, Floats]:
    """Inbound bandwidth, compute and outbound bandwidth in use, each of shape (servers,)."""
    servers = instance.num_servers
    at = np.flatnonzero((schedule.assoc >= 0) & (schedule.assoc < servers))
    inbound = np.bincount(schedule.assoc[at], weights=instance.node_rate_bps[at], minlength=servers)
    known = _known(instance, schedule)
    server = schedule.alloc_server[known]
    compute, outbound = (
        np.bincount(server, weights=amount[known], minlength=servers).astype(np.float64)
        for amount in (schedule.alloc_compute, schedule.alloc_outbound)
    )
    return inbound.astype(np.float64), compute, outbound


def _known(instance: Instance, schedule: Schedule) -> Booleans:
    """Allocations whose job and server exist."""
    job, server = schedule.alloc_job, schedule.alloc_server
    return (job >= 0) & (job < instance.num_jobs) & (server >= 0) & (server < instance.num_servers)


def _drp(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    nodes, jobs = instance.num_data_nodes, instance.num_jobs
    if schedule.assoc.shape != (nodes,):
        raise InputError.of("assoc", f"shape {schedule.assoc.shape}", f"one per node ({nodes})")
    if schedule.admit.shape != (jobs,):
        raise InputError.of("admit", f"shape {schedule.admit.shape}", f"one per job ({jobs})")
    admitted = schedule.admit[instance.node_job]
    inside = instance.pair_of(np.arange(nodes), schedule.assoc) >= 0
    wrong = np.where(admitted, ~inside, schedule.assoc != NO_SERVER)
    yield from _listed("5b", {"node": np.flatnonzero(wrong)}, np.ones(int(wrong.sum())))
    used = _used(instance, schedule)
    capacities = (
        instance.server_inbound_bps, instance.server_compute_flops, instance.server_outbound_bps,
    )  # fmt: skip
    forgiven = (_forgiven(instance.node_rate_bps), TOLERANCE, TOLERANCE)
    for number, load, capacity, share in zip(
        ("5c", "5d", "5e"), used, capacities, forgiven, strict=True
    ):
        over = np.flatnonzero(load > capacity * (1 + share))
        yield from _listed(number, {"server": over}, (load - capacity)[over])
    yield from _late(instance, schedule)
    known = _known(instance, schedule)
    amounts = (schedule.alloc_compute, schedule.alloc_outbound)
    short = -np.minimum(*amounts)
    bad = np.flatnonzero((short > 0) | ~known | ~np.isfinite(amounts[0] + amounts[1]))
    yield from _listed("5i", {"row": bad}, np.where(short > 0, short, 1.0)[bad])


def _late(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    """(5f): A_k D_jk / r^c_jk + B_k D_jk / r^b_jk <= tau_k."""
    servers = instance.num_servers
    inside = instance.pair_of(np.arange(instance.num_data_nodes), schedule.assoc) >= 0
    asked = job_loads(instance, np.where(inside, schedule.assoc, NO_SERVER))
    known = _known(instance, schedule)
    size = instance.num_jobs * servers
    key = (schedule.alloc_job * servers + schedule.alloc_server)[known]
    rows = asked.job * servers + asked.server
    shares = []
    for amount, work in (
        (schedule.alloc_compute, asked.compute),
        (schedule.alloc_outbound, asked.outbound),
    ):
        given = np.bincount(key, weights=amount[known], minlength=size)[rows]
        nothing = np.where(work > 0, np.inf, 0.0)
        shares.append(np.divide(work, given, out=nothing, where=given > 0))
    share = shares[0] + shares[1]  # of the deadline
    late = np.flatnonzero(share > 1 + TOLERANCE)
    amount = (share[late] - 1) * instance.job_deadline_s[asked.job[late]]
    yield from _listed("5f", {"job": asked.job[late], "server": asked.server[late]}, amount)


def _services(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    """(22c), (22d) and the domain of z."""
    services, servers = instance.num_services, instance.num_servers
    service, server = schedule.placed_service, schedule.placed_server
    there = (service >= 0) & (service < services) & (server >= 0) & (server < servers)
    bad = np.flatnonzero(~there)
    yield from _listed("22k", {"row": bad}, np.ones(len(bad)))
    placed = np.zeros((services, servers), dtype=bool)
    placed[service[there], server[there]] = True
    inside = instance.pair_of(np.arange(instance.num_data_nodes), schedule.assoc) >= 0
    node = np.flatnonzero(inside)
    at = schedule.assoc[node]
    missing = ~placed[instance.job_service[instance.node_job[node]], at]
    yield from _listed(
        "22c", {"node": node[missing], "server": at[missing]}, np.ones(int(missing.sum()))
    )
    used = instance.service_size_bytes @ placed
    forgiven = _forgiven(instance.service_size_bytes)
    over = np.flatnonzero(used > instance.server_storage_bytes * (1 + forgiven))
    yield from _listed("22d", {"server": over}, (used - instance.server_storage_bytes)[over])


def _forgiven(amounts: Floats) -> float:
    """Excess that a sum of these amounts is forgiven, relative to a capacity."""
    return 0.0 if is_whole(amounts) else TOLERANCE


def _listed(number: str, index: Mapping[str, Integers], amount: Floats) -> Iterator[Violation]:
    names, columns = list(index), [column.tolist() for column in index.values()]
    for *where, excess in zip(*columns, amount.tolist(), strict=True):
        yield Violation(number, dict(zip(names, where, strict=True)), excess)


MEASURES = {
    "gbit_per_s_per_job": lambda instance, s: bandwidth_cost(instance, s).total / 1e9,
    "largest_load": lambda instance, s: max(utilisation(instance, s).values()),
}
"""What tables show beside the cost."""
