"""An instance cut into components: jobs, and the pools of workers that they share, in integers.

Nothing but its own prices connects a component with the others. Times are whole multiples of
2 ** -time_bits slots; what is no such multiple is rounded so that jobs only get easier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.preemptive.exact.cheapest_purchase import BITS, JOB, NEVER, STEP, cheapest_ages
from formulations.preemptive.instance import (
    ROUNDING,
    Booleans,
    Floats,
    Instance,
    Integers,
)
from formulations.preemptive.time_indexed.grid import edge_end
from optsched.jit import njit_cached

TIME_BITS = 20
"""Unless all times are whole slots."""

PRICE_BITS = 30
"""At most: prices are whole multiples of 2 ** -PRICE_BITS."""

MOST_CELLS = 1 << 17
"""Cells of time of a component; more are joined."""

FINE = tuple(2.0**-k for k in range(9, 0, -1))
"""Ends of the cells within a slot in continuous time: many jobs begin together, and most are
short."""


@dataclass(frozen=True, eq=False)
class Component:
    """Arrays as ``cheapest_ages`` wants them."""

    jobs: Integers
    """Indices in the instance, shape (jobs,)."""
    table: NDArray[Any]
    """Each job as ``cheapest_purchase.JOB``."""
    steps: NDArray[Any]
    """As ``cheapest_purchase.STEP``."""
    edges: Integers
    """Ends of the cells, shape (cells + 1,); the last cell is free."""
    capacity: Integers
    """Workers of each pool, shape (pools,)."""
    workers: Integers
    """Indices of the workers in the instance."""
    group: Integers
    """Group of each worker: those that serve the same jobs."""
    may: Booleans
    """Whether each job may use a group, shape (jobs, groups)."""
    slack: int
    """What rounding releases may add to the ages at completion, in time units over all jobs."""
    time_bits: int
    price_bits: int
    slotted: bool

    def whole(self, price: Floats) -> Integers:
        """Prices in slots as whole price units, none below zero, shape (pools, cells)."""
        return np.maximum(np.floor(np.ldexp(price, self.price_bits)), 0).astype(np.int64)

    def evaluate(self, whole: Integers) -> tuple[Integers, Integers, Integers]:
        """Value and age of each job and worker time bought, as ``cheapest_ages`` has them."""
        return cheapest_ages(
            self.table, self.steps, self.edges, whole, self.price_bits, self.slotted
        )


def components(
    instance: Instance, *, slotted: bool = True, by_server: bool = False
) -> list[Component]:
    """Cut an instance into its components.

    Args:
        instance: any.
        slotted: everything happens in whole slots, to which times and work are taken up;
            otherwise in continuous time.
        by_server: a pool for the workers of each server, not one for all that serve the same
            jobs: more prices, which may prove more.
    """
    from scipy.sparse.csgraph import connected_components  # takes long to load

    group, may = _groups(instance)
    linked = may.T.astype(np.int64) @ may.astype(np.int64) > 0
    component_of_group = connected_components(linked)[1] if len(linked) else np.zeros(0, np.int64)
    served = may.any(axis=1)
    component_of_job = np.full(instance.jobs, -1)  # nothing but the cloud
    if served.any():
        component_of_job[served] = component_of_group[may[served].argmax(axis=1)]
    done = edge_end(instance)
    found = []
    for number in np.unique(component_of_job):
        workers = np.flatnonzero(component_of_group[group] == number)
        jobs = np.flatnonzero(component_of_job == number)
        kinds, kind = np.unique(group[workers], return_inverse=True)
        members = (workers, kind, may[np.ix_(jobs, kinds)])
        found.append(_component(instance, jobs, done[jobs], members, slotted, by_server))
    return found


def _groups(instance: Instance) -> tuple[Integers, Booleans]:
    """Group of each worker by the jobs it may serve, and which groups may serve each job."""
    table = instance.explicit_worker_eligible
    if table is None:
        kinds, group = np.unique(instance.worker_type, return_inverse=True)
        return group, np.equal.outer(instance.job_worker_type, kinds)
    columns, group = np.unique(table, axis=1, return_inverse=True)
    return group.reshape(-1), columns


def _component(
    instance: Instance,
    jobs: Integers,
    done: Floats,
    members: tuple[Integers, Integers, Booleans],
    slotted: bool,
    by_server: bool,
) -> Component:
    """Return the component of some jobs and members: workers, their groups, who may use a group.

    What is open to a job only from ``done`` on, see ``edge_end``, or from its end in the fast cloud
    on is left out: no optimal schedule uses it.
    """
    workers, group, may = members
    key = group * instance.edge_servers + instance.worker_server[workers]
    classes, size = np.unique(key, return_counts=True)
    kind, server = np.divmod(classes, instance.edge_servers)
    pool = np.arange(len(classes)) if by_server else kind
    release, chunks = instance.release_time[jobs], instance.num_chunks[jobs]
    to_cloud = instance.upload_delay_cloud[jobs]
    begin, reach, fast = release, to_cloud, instance.chunk_time_fast[jobs]
    if slotted:
        begin = np.ceil(release - ROUNDING)
        reach, fast = np.ceil(release + to_cloud - ROUNDING) - begin, np.ceil(fast - ROUNDING)
    late = np.minimum(reach + fast, done - begin)
    barred = reach >= late
    reach, limit = np.where(barred, 0.0, reach), np.where(barred, np.inf, late)
    latest = 0.0
    if barred.any():
        delay = instance.upload_delay_edge[np.ix_(jobs, server)]
        latest = np.where(delay < late[:, None], delay, 0.0).max(initial=0)
    alone = latest + instance.work_slow[jobs] / np.clip(
        may @ np.bincount(group), 1, instance.num_chunks[jobs]
    )
    edges = _edges(begin, limit, instance.work_slow[jobs], alone, len(workers), slotted)
    exact = slotted and bool(np.all(np.diff(edges) == 1))
    bits = 0 if exact else TIME_BITS
    if slotted:
        work = instance.work_slow[jobs] << bits
    else:
        work = chunks * _units(instance.chunk_time_slow[jobs], bits)
    table = np.zeros(len(jobs), dtype=JOB)
    steps = _steps(
        table, jobs, instance.release_time, instance.upload_delay_edge, late, may, kind, server,
        size, pool, bits, slotted,
    )  # fmt: skip
    table["release"], table["chunks"], table["work"] = _units(begin, bits), chunks, work
    table["cloud"] = np.where(barred, NEVER, _units(reach, bits))
    table["fast"] = np.where(barred, NEVER, _units(reach, bits) + _units(fast, bits))
    cells = _units(edges, bits)
    free = work.max() + steps["age"].max(initial=0) + _units(reach, bits).max() + 1
    cells = np.append(cells, cells[-1] + free)
    lasts = int(cells[-1] - cells[0]).bit_length()
    return Component(
        jobs=jobs,
        table=table,
        steps=steps,
        edges=cells,
        capacity=np.bincount(pool, weights=size, minlength=len(np.unique(pool))).astype(np.int64),
        workers=workers,
        group=group,
        may=may,
        slack=int(np.sum(np.ldexp(begin, bits) % 1 > 0)),
        time_bits=bits,
        price_bits=min(PRICE_BITS, BITS - 1 - lasts),
        slotted=exact,
    )


def _units(slots: Floats, bits: int) -> Integers:
    """Whole time units, rounded down."""
    return np.floor(np.ldexp(slots, bits)).astype(np.int64)


def _edges(
    begin: Floats, limit: Floats, work: Integers, alone: Floats, workers: int, slotted: bool
) -> Floats:
    """Ends of the cells that may have a price, slots, shape (cells + 1,).

    Jobs end within ``limit`` of their begin if that is finite; the others at the latest when
    all workers have worked off everything that came.
    """
    barred = np.isinf(limit)
    low, high = np.floor(begin.min()), (begin + limit)[~barred].max(initial=0.0)
    if barred.any():
        order = np.argsort(begin[barred])
        to_come = np.cumsum(work[barred][order][::-1])[::-1]
        high = max(high, (begin[barred][order] + to_come / workers).max() + alone[barred].max())
    high = max(np.ceil(high), low + 1)
    width = -(-(high - low) // MOST_CELLS)
    whole = np.arange(low, high + width, width)
    if slotted or len(whole) * (len(FINE) + 1) > MOST_CELLS:
        return whole
    return np.append(np.add.outer(whole[:-1], width * np.array([0.0, *FINE])).ravel(), whole[-1])


@njit_cached
def _steps(
    table: NDArray[Any],
    jobs: Integers,
    release: Floats,
    delay: Floats,
    late: Floats,
    may: Booleans,
    kind: Integers,
    server: Integers,
    size: Integers,
    pool: Integers,
    bits: int,
    slotted: bool,
) -> NDArray[Any]:
    """From which age on each job may use how many more workers of which pool.

    Args:
        table: of the component's jobs; "first" and "last" are written.
        jobs: their indices.
        release: of all jobs, slots.
        delay: Delta_js of all jobs, slots.
        late: age from which workers are of no use to a job of the component, slots.
        may: whether a job of the component may use a group, shape (jobs of the component, groups).
        kind: group of each class of workers.
        server: of each class.
        size: of each class.
        pool: of each class.
        bits: times are whole multiples of 2 ** -bits slots.
        slotted: data arrive at whole slots.
    """
    steps, end = np.empty(len(jobs) * len(server), dtype=STEP), 0
    for i in range(len(jobs)):
        j, start = jobs[i], end
        for c in range(len(server)):
            if not may[i, kind[c]]:
                continue
            slots = delay[j, server[c]]
            if slotted:
                slots = np.ceil(release[j] + slots - ROUNDING) - np.ceil(release[j] - ROUNDING)
            if slots >= late[i]:
                continue
            age = np.int64(np.floor(slots * 2.0**bits))
            at = end
            while at > start and steps[at - 1]["age"] > age:  # pools come in order
                at -= 1
            if at > start and steps[at - 1]["age"] == age and steps[at - 1]["pool"] == pool[c]:
                steps[at - 1]["workers"] += size[c]
                continue
            for k in range(end, at, -1):
                steps[k] = steps[k - 1]
            steps[at]["age"], steps[at]["pool"], steps[at]["workers"] = age, pool[c], size[c]
            end += 1
        table[i]["first"], table[i]["last"] = start, end
    return steps[:end].copy()
