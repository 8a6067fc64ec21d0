"""Which slots a job may use: the horizon lemma and what follows from costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from formulations.okita.instance import Floats, Instance, Integers, workers_beside_server
from optsched.errors import InputError
from optsched.instances.arrays import freeze, ranges

HorizonMode = Literal["safe", "given"]
"""safe: as many slots as some optimum needs (Lemma 3); given: only the instance's T slots."""

LARGEST_COEFFICIENT = 1e9
"""Largest cost that is handed to a solver, money."""

_ROUNDING = 1e-9  # relative, on what a cut-off compares


def slots_needed(instance: Instance) -> Integers:
    """L_i: slots in which job i can always be run (Lemma 3), shape (jobs,)."""
    one = instance.chunks_done(np.arange(instance.jobs), 1)
    full = instance.total_chunks // np.maximum(one, 1) + instance.sites
    return np.where(one > 0, np.minimum(instance.total_chunks, full), instance.total_chunks)


def safe_horizon(instance: Instance) -> int:
    """T^ub of Lemma 3: some optimum without limit on time ends by this slot."""
    return int(instance.release_slot.max() - 1 + slots_needed(instance).sum())


def least_slots(instance: Instance) -> Integers:
    """L_i^min: slots any schedule of job i takes on the empty system, shape (jobs,)."""
    return np.array([_least_slots(instance, i) for i in range(instance.jobs)], dtype=np.int64)


def _least_slots(instance: Instance, i: int) -> int:
    fit = workers_beside_server(instance.capacity, instance.worker_demand[i], instance.ps_demand[i])
    chunks = instance.chunks_done(i, np.maximum(fit, 0)).sum(axis=1)
    fastest = int(chunks[fit[:, 0] >= 0].max())
    return -(-int(instance.total_chunks[i]) // fastest)


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


def last_slot(instance: Instance, mode: HorizonMode) -> int:
    """The last slot any job may use.

    Raises:
        InputError: an unknown mode.
    """
    if mode not in get_args(HorizonMode):
        raise InputError.of("horizon_mode", mode, "one of " + ", ".join(get_args(HorizonMode)))
    return safe_horizon(instance) if mode == "safe" else instance.horizon


def affordable(budget: Floats | float) -> Floats:
    """A budget that no rounding of what is within it exceeds."""
    return np.asarray(budget + _ROUNDING * np.maximum(1.0, np.abs(budget)))


def flow_cut_off(instance: Instance, budget: Floats, most: Integers) -> Integers:
    """Largest flow time, at most ``most``, whose latency is within a budget; -1 if none is.

    As f_i does not fall, it is found by bisection.

    Args:
        instance: for the latency functions.
        budget: most that f_i may cost, shape (jobs,), money.
        most: largest flow time of interest, shape (jobs,), slots.
    """
    job = np.arange(instance.jobs)
    allowed = affordable(budget)
    low, high = np.full(instance.jobs, -1), most.copy()
    while (low < high).any():
        middle = (low + high + 1) // 2
        within = instance.latency.cost(job, np.maximum(middle, 0)) <= allowed
        low = np.where(within, middle, low)
        high = np.where(within, high, middle - 1)
    return low


@dataclass(frozen=True, eq=False)
class Windows:
    """Slots each job may use: a_i .. last_i, and from which on it may complete.

    A *cell* is a job with one of its slots; cells are sorted by job, then slot.
    """

    instance: Instance
    last: Integers
    """Last slot of each job, shape (jobs,); below a_i where it has none."""
    earliest: Integers
    """Earliest completion slot, shape (jobs,)."""

    def __post_init__(self) -> None:
        freeze(self)

    @cached_property
    def cells(self) -> tuple[Integers, Integers]:
        """Job and slot of every cell."""
        return ranges(self.instance.release_slot, self.last + 1)

    @cached_property
    def first_cell(self) -> Integers:
        """Cells of job i are first_cell[i] .. first_cell[i + 1] - 1, shape (jobs + 1,)."""
        length = np.maximum(0, self.last - self.instance.release_slot + 1)
        return np.concatenate([[0], np.cumsum(length)])

    @cached_property
    def flow_cost(self) -> Floats:
        """f_i(t - a_i) of every cell, money."""
        job, slot = self.cells
        return self.instance.latency.cost(job, slot - self.instance.release_slot[job])


def windows(
    instance: Instance,
    *,
    mode: HorizonMode = "safe",
    known_cost: float = np.inf,
    job_bounds: Floats | None = None,
) -> Windows:
    """The slots that some optimum of (2) keeps to.

    Args:
        instance: the system and its jobs.
        mode: how the horizon is chosen.
        known_cost: of some schedule, money: e_i(t) = 0 where f_i(t - a_i) alone would cost more
            than this less what the other jobs cost at least (cut-off 1).
        job_bounds: what each job costs at least, shape (jobs,), money.

    Raises:
        InputError: an unknown mode, or a latency beyond ``LARGEST_COEFFICIENT`` would be left,
            which no solver may see.
    """
    least = least_slots(instance)
    end = last_slot(instance, mode)
    most = end - instance.release_slot
    floor = np.zeros(instance.jobs) if job_bounds is None else job_bounds
    others = floor.sum() - floor
    flow = flow_cut_off(instance, known_cost - others, most)
    found = Windows(instance, instance.release_slot + flow, instance.release_slot + least - 1)
    largest = float(found.flow_cost.max(initial=0.0))
    if largest > LARGEST_COEFFICIENT:
        allowed = f"costs up to {LARGEST_COEFFICIENT:g}: change the unit of money, or give a cost"
        raise InputError.of("latency", largest, allowed)
    return found
