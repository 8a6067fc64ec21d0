"""LB-LAG: the Lagrangian bound that relaxes the workers' capacities (sheet 3.5).

For any prices of worker-slots, every job on its own choosing its cheapest schedule, the fast
cloud included, bounds the optimum from below. Prices are improved by subgradient steps; each
step's value is a bound, whatever the prices, so the search may stop whenever it has to.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from formulations.preemptive.bounds import fast_duration, rounded_up
from formulations.preemptive.cheapest import cheapest_schedules
from formulations.preemptive.grid import Grid, build_grid
from formulations.preemptive.instance import Floats, Instance
from optsched.decomposition import PriceSearch, maximise_dual
from optsched.errors import InputError
from optsched.problem import Bound

STEPS = 100
"""Evaluations of L where nothing else is said."""


@dataclass(frozen=True)
class LagrangianBound:
    """The best bound found and the prices that prove it."""

    value: float
    class_price: Floats
    """Price per row of ``Grid.class_slots``, slots of completion time per worker-slot."""
    group_price: Floats
    """Price per row of ``Grid.group_slots``."""
    steps: int
    seconds: float
    """Wall time, index sets included."""


class CapacityRelaxation:
    """The jobs of one instance, each free to take any worker-slots at their prices.

    Args:
        grid: with or without hubs.
    """

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        instance = grid.instance
        may = grid.fast_end <= grid.end_slot
        self._fast = np.where(may, fast_duration(instance, grid), np.inf)
        chunks = instance.num_chunks.astype(np.float64)
        window = np.concatenate([grid.cell_window, grid.cloud_window])
        limit = np.concatenate([grid.cell_limit, chunks[grid.cloud_job]])
        # what a job can buy, by (job, slot): units of edge cells, of the cloud for nothing
        self._order = np.argsort(window, kind="stable")
        self._limit = limit[self._order]
        ends = np.cumsum(np.bincount(window, minlength=len(grid.windows[0])))
        self._first = np.concatenate([[0], ends]).astype(np.int64)
        self._window_start = np.append(grid.window_start, len(ends)).astype(np.int64)

    @property
    def rows(self) -> int:
        """Priced rows: of classes, then of groups."""
        return len(self.grid.class_slots[1]) + len(self.grid.group_slots[1])

    def evaluate(self, price: Floats) -> tuple[float, Floats]:
        """L(price), and a subgradient: units asked for beyond each row's capacity.

        Args:
            price: non-negative, one per (class, slot) row and then one per (group, slot) row.
        """
        (class_row, class_capacity), (group_row, group_capacity) = (
            self.grid.class_slots,
            self.grid.group_slots,
        )
        classes = len(class_capacity)
        value, units = self.value(price[:classes], price[classes:])
        named = units[self.grid.named]
        of_class = np.bincount(class_row, weights=named, minlength=classes)
        of_group = np.bincount(group_row, weights=units, minlength=len(group_capacity))
        return value, np.concatenate([of_class - class_capacity, of_group - group_capacity])

    def value(self, class_price: Floats, group_price: Floats) -> tuple[float, Floats]:
        """L(prices), and the units each edge cell is asked for by the jobs' best choices.

        Args:
            class_price: non-negative, one per (class, slot) row.
            group_price: non-negative, one per (group, slot) row.
        """
        grid, instance = self.grid, self.grid.instance
        cost = np.zeros(len(self._order))
        cost[: grid.cells] = group_price[grid.group_slots[0]]
        cost[grid.named] += class_price[grid.class_slots[0]]
        least, bought = cheapest_schedules(
            self._window_start,
            self._first,
            grid.first_slot - instance.release_time,
            instance.num_chunks,
            instance.work_slow,
            self._fast,
            cost[self._order],
            self._limit,
        )
        units = np.empty(len(bought))
        units[self._order] = bought
        spent = grid.class_slots[1] @ class_price + grid.group_slots[1] @ group_price
        return float(least.sum()) - float(spent), units[: grid.cells]


def lagrangian_bound(
    instance: Instance,
    *,
    steps: int = STEPS,
    target: float | None = None,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> LagrangianBound:
    """Improve prices from zero, where L is LB-ALONE, by Polyak's subgradient steps.

    Args:
        instance: times are taken up to whole slots.
        steps: evaluations of L.
        target: a value the optimum is believed to be near, such as a heuristic's cost; it steers
            the step length and does not enter the bound.
        time_limit: wall seconds after which no further step is made; at least one is.
        progress: called with the steps made and the steps planned.

    Raises:
        InputError: fewer than one step, or a time limit below zero.
    """
    if time_limit is not None and not time_limit >= 0:
        raise InputError.of("time_limit", time_limit, "a number of seconds >= 0")
    began = time.perf_counter()
    relaxation = CapacityRelaxation(build_grid(instance))
    best: PriceSearch | None = None
    made = 0

    def evaluate(price: Floats) -> tuple[float, Floats]:
        nonlocal made
        made += 1
        if progress is not None:
            progress(made, steps)
        return relaxation.evaluate(price)

    def late() -> bool:
        return time_limit is not None and time.perf_counter() - began >= time_limit

    start = np.zeros(relaxation.rows)
    best = maximise_dual(evaluate, start, steps=steps, target=target, stop=late)
    classes = len(relaxation.grid.class_slots[1])
    return LagrangianBound(
        best.value,
        best.prices[:classes],
        best.prices[classes:],
        best.steps,
        time.perf_counter() - began,
    )


def lb_lagrangian(instance: Instance) -> float:
    """LB-LAG after ``STEPS`` steps."""
    return lagrangian_bound(instance).value


LAGRANGIAN = Bound(
    "lb_lagrangian", lambda instance: rounded_up(instance, lb_lagrangian(instance)),
    "problem (2)", "Lagrangian relaxation of the workers' capacities",
)  # fmt: skip
