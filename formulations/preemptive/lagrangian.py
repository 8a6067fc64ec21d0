"""LB-LAG: the Lagrangian bound that relaxes the workers' capacities (sheet 3.5).

For any prices of worker-slots, every job on its own choosing its cheapest schedule, the fast
cloud included, bounds the optimum from below. Prices are improved by subgradient steps; each
step's value is a bound, whatever the prices.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from formulations.preemptive.bounds import fast_duration
from formulations.preemptive.grid import Grid, build_grid
from formulations.preemptive.instance import Floats, Instance, Integers
from optsched.decomposition import maximise_dual


@dataclass(frozen=True, eq=False)
class _Entries:
    """What a job can buy in a slot: units of edge cells at a price, of the cloud for nothing."""

    grid: Grid

    @cached_property
    def job(self) -> Integers:
        return np.concatenate([self.grid.cell_job, self.grid.cloud_job])

    @cached_property
    def slot(self) -> Integers:
        return np.concatenate([self.grid.cell_slot, self.grid.cloud_slot])

    @cached_property
    def window(self) -> Integers:
        return np.concatenate([self.grid.cell_window, self.grid.cloud_window])

    @cached_property
    def limit(self) -> Floats:
        chunks = self.grid.instance.num_chunks
        return np.concatenate([self.grid.cell_limit, chunks[self.grid.cloud_job].astype(float)])

    @cached_property
    def ends(self) -> Integers:
        """Position past the last entry of each job once entries are ordered by job."""
        return np.cumsum(np.bincount(self.job, minlength=self.grid.instance.jobs))


@dataclass(frozen=True)
class LagrangianBound:
    """The best bound found and the prices that prove it."""

    value: float
    class_price: Floats
    """Price per row of ``Grid.class_slots``, slots of completion time per worker-slot."""
    group_price: Floats
    """Price per row of ``Grid.group_slots``."""
    steps: int


def lagrangian(grid: Grid, class_price: Floats, group_price: Floats) -> tuple[float, Floats]:
    """L(prices), and the units each edge cell is asked for by the jobs' best choices.

    Args:
        grid: with or without hubs.
        class_price: non-negative, one per (class, slot) row.
        group_price: non-negative, one per (group, slot) row.
    """
    instance = grid.instance
    price = group_price[grid.group_slots[0]].copy()
    price[grid.named] += class_price[grid.class_slots[0]]
    entries = _Entries(grid)
    cost = np.concatenate([price, np.zeros(len(grid.cloud_job))])
    order = np.lexsort((cost, entries.job))
    units = _slot_limited(entries, cost)
    fast = np.where(grid.fast_end <= grid.end_slot, fast_duration(instance, grid), np.inf)
    bought = np.zeros(len(cost))
    total, first = 0.0, 0
    for j, end in enumerate(entries.ends):
        mine = order[first:end]
        value, taken = _cheapest(
            float(instance.work_slow[j]), float(instance.release_time[j]), float(fast[j]),
            entries.slot[mine], cost[mine], units[mine],
        )  # fmt: skip
        total += value
        if taken is not None:
            bought[mine] = taken
        first = int(end)
    spent = grid.class_slots[1] @ class_price + grid.group_slots[1] @ group_price
    return total - float(spent), bought[: grid.cells]


def _slot_limited(entries: _Entries, cost: Floats) -> Floats:
    """Units left of each entry when a slot's cheapest D_j are kept, shape (entries,)."""
    order = np.lexsort((cost, entries.window))
    window, limit = entries.window[order], entries.limit[order]
    total = np.cumsum(limit)
    fresh = np.concatenate([[True], window[1:] != window[:-1]])
    start = np.maximum.accumulate(np.where(fresh, total - limit, 0.0))
    before = total - limit - start
    chunks = entries.grid.instance.num_chunks[entries.job[order]]
    kept = np.empty(len(order))
    kept[order] = np.clip(chunks - before, 0.0, limit)
    return kept


def _cheapest(
    work: float, release: float, fast: float, slot: Integers, cost: Floats, units: Floats
) -> tuple[float, Floats | None]:
    """Least completion time plus price of one job, and the units it buys (None: fast cloud).

    Entries come cheapest first. For every completion slot the cheapest ``work`` units before it
    are bought; as caps are nested (unit, slot, job), taking them greedily is exact.
    """
    if len(slot) == 0:
        return fast, None
    ends = np.arange(int(slot.min()) + 1, int(slot.max()) + 2)
    offered = np.where(slot < ends[:, None], units, 0.0)
    before = np.cumsum(offered, axis=1)
    value = np.where(before[:, -1] >= work, ends - release, np.inf)
    before -= offered
    taken = np.clip(work - before, 0.0, offered)
    value = value + taken @ cost
    best = int(np.argmin(value))
    if value[best] >= fast:
        return fast, None
    return float(value[best]), taken[best]


def lagrangian_bound(
    instance: Instance, *, steps: int = 100, target: float | None = None
) -> LagrangianBound:
    """Improve prices from zero, where L is LB-ALONE, by Polyak's subgradient steps.

    Args:
        instance: times are taken up to whole slots.
        steps: evaluations of L.
        target: a value the optimum is believed to be near, such as a heuristic's cost; it steers
            the step length and does not enter the bound.
    """
    grid = build_grid(instance)
    (class_row, class_capacity), (group_row, group_capacity) = grid.class_slots, grid.group_slots
    classes = len(class_capacity)

    def evaluate(price: Floats) -> tuple[float, Floats]:
        value, units = lagrangian(grid, price[:classes], price[classes:])
        of_class = np.bincount(class_row, weights=units[grid.named], minlength=classes)
        of_group = np.bincount(group_row, weights=units, minlength=len(group_capacity))
        return value, np.concatenate([of_class - class_capacity, of_group - group_capacity])

    start = np.zeros(classes + len(group_capacity))
    best = maximise_dual(evaluate, start, steps=steps, target=target)
    return LagrangianBound(best.value, best.prices[:classes], best.prices[classes:], best.steps)


def lb_lagrangian(instance: Instance) -> float:
    """LB-LAG after 100 steps."""
    return lagrangian_bound(instance).value
