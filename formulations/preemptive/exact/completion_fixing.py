"""Reduced-cost fixing of completions at Lagrangian prices, in integers only.

At given prices each completion of a job has a least cost. The bound takes the least of them, so a
job that completes otherwise raises the bound by the difference. A completion that raises it above
a total is in no schedule of that total or less: its binary in ``problem_2_compact`` is fixed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from formulations.preemptive.exact.cheapest_purchase import (
    BITS,
    OFFER,
    PURCHASE,
    Table,
    offered,
    pop,
    push,
)
from formulations.preemptive.exact.components import Component
from formulations.preemptive.exact.lagrangian import PricedComponent
from formulations.preemptive.instance import Booleans, Integers
from formulations.preemptive.problem_2 import last_windows
from formulations.preemptive.time_indexed.grid import Grid
from optsched.jit import njit_cached

OPEN = 0
"""Value of a completion of which prices say nothing."""
NONE = (1 << 62) - 1
"""Value of a completion that cannot be."""


@njit_cached
def values_by_end(
    jobs: Table, steps: Table, edges: Integers, price: Integers, price_bits: int
) -> Integers:
    """Age plus least price of each job that completes with each slot, with communication.

    Work is bought as in ``cheapest_ages``, in cells of whole slots.

    Args:
        jobs: of ``JOB``.
        steps: of ``STEP``.
        edges: of the cells of time; the first is no later than any release.
        price: of a unit of worker time, shape (pools, cells).
        price_bits: a price is a whole multiple of 2 ** -price_bits.

    Returns:
        Values by cell with whose end the job completes, ``NONE`` if it cannot by then, shape
        (jobs, cells - 1): not for the last cell, which is no slot.
    """
    pools, cells = price.shape
    value = np.full((len(jobs), cells - 1), NONE)
    heap, offers = np.empty(pools * cells, dtype=PURCHASE), np.empty(pools + 1, dtype=OFFER)
    open_workers = np.zeros(pools, dtype=np.int64)
    for j in range(len(jobs)):
        _by_end(jobs[j], steps, edges, price, price_bits, heap, offers, open_workers, value[j])
    return value


@njit_cached
def _by_end(
    job: Any,
    steps: Table,
    edges: Integers,
    price: Integers,
    price_bits: int,
    heap: Table,
    offers: Table,
    open_workers: Integers,
    value: Integers,
) -> None:
    """Write one job's values; see ``values_by_end``.

    Args:
        job: of ``JOB``.
        steps: see ``values_by_end``.
        edges: see ``values_by_end``.
        price: see ``values_by_end``.
        price_bits: see ``values_by_end``.
        heap: room for what is bought, the most expensive on top.
        offers: room for the offers of a slot.
        open_workers: room for the workers of each pool.
        value: of each cell, to be written.
    """
    release, chunks, work = job["release"], job["chunks"], job["work"]
    dearest = (1 << (BITS - 1)) // max(work, 1)
    open_workers[:] = 0
    step, size, held, total = job["first"], 0, 0, 0
    for cell in range(np.searchsorted(edges, release), len(value)):
        now, slot = edges[cell], edges[cell + 1] - edges[cell]
        while step < job["last"] and release + steps[step]["age"] <= now:
            open_workers[steps[step]["pool"]] += steps[step]["workers"]
            step += 1
        count = 1
        if release + job["cloud"] <= now:
            offers[0]["price"], offers[0]["workers"], offers[0]["row"] = 0, chunks, -1
        else:
            count, _ = offered(offers, open_workers, chunks, price, cell, dearest)
        for i in range(count):
            cost, room, bought = offers[i]["price"], offers[i]["workers"] * slot, 0
            # as in ``cheapest_ages``, which a step shared with this loop made a quarter slower
            while room > 0:
                if held < work:
                    units = min(room, work - held)
                    held += units
                    total += cost * units
                elif size > 0 and heap[0]["price"] > cost:
                    units = min(room, heap[0]["units"])
                    total -= (heap[0]["price"] - cost) * units
                    heap[0]["units"] -= units
                    if heap[0]["units"] == 0:
                        size -= 1
                        pop(heap, size)
                else:
                    break
                room -= units
                bought += units
            if bought > 0 and cost > 0:
                push(heap, size, cost, bought, offers[i]["row"])
                size += 1
            if room > 0:
                break  # what follows is dearer
        if held == work:
            value[cell] = ((edges[cell + 1] - release) << price_bits) + total


@dataclass(frozen=True, eq=False)
class CompletionFixing:
    """Which completions a component's prices leave in a schedule of a given total flow time."""

    grid: Grid
    """Grid of the component's jobs alone."""
    component: Component
    """In whole slots."""
    priced: PricedComponent

    @cached_property
    def _losses(self) -> Integers:
        """What completing with each slot costs a job beyond its best, in units, by window.

        The last window of a job that may use the cloud stands for being run there whole.
        """
        component, whole = self.component, self.component.whole(self.priced.price)
        value, _, _ = component.evaluate(whole)
        job, slot = self.grid.windows
        by_end = values_by_end(
            component.table, component.steps, component.edges, whole, component.price_bits
        )
        cell = slot - int(component.edges[0])
        known = cell < by_end.shape[1]
        paid = np.full(len(job), OPEN)
        paid[known] = by_end[job[known], cell[known]]
        fast, last = last_windows(self.grid)
        paid[last] = component.table["fast"][fast] << component.price_bits
        return np.where(known | np.isin(np.arange(len(job)), last), paid - value[job], OPEN)

    def within(self, total: int) -> Booleans:
        """Windows with which a job may end in some schedule whose ages sum up to ``total`` or less.

        Shape (windows,), as ``Grid.windows``. All windows, unless the component is priced by the
        slot.
        """
        if not self.component.slotted:
            return np.ones(len(self.grid.windows[0]), dtype=bool)
        room = (total - self.priced.bound) * (1 << self.component.price_bits)
        return np.asarray(self._losses <= math.floor(room))
