"""The time-indexed models with one rate per job as flows through a network.

Arcs run source -> job -> (job, slot) -> class or hub -> group -> sink, and from (job, slot) past
them to the cloud. Capacities are D_j, C_k and the size of the group; so whole units come free.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from formulations.preemptive.instance import Instance, Integers
from formulations.preemptive.problem_4 import Rates, refuse_unknown, work_units
from formulations.preemptive.time_indexed.grid import Grid, build_grid
from optsched.errors import ModelError
from optsched.problem.methods import ExactMethod
from optsched.solvers.answer import Answer
from optsched.solvers.solution import Solution, Status


@dataclass(frozen=True, eq=False)
class Network:
    """Arcs of one grid; nodes are jobs, (job, slot) windows, class slots, group slots, sink."""

    tail: Integers
    head: Integers
    capacity: Integers
    cells: slice
    """Arcs that are edge cells, in the grid's order."""
    cloud: slice
    """Arcs that are cloud cells, in the grid's order."""
    sink: int

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self.sink + 1


def build_network(grid: Grid) -> Network:
    """The network of a grid with or without hubs."""
    job, _ = grid.windows
    jobs, windows = grid.instance.jobs, len(job)
    chunks = grid.instance.num_chunks
    class_row, class_capacity = grid.class_slots
    group_row, group_capacity = grid.group_slots
    window = jobs + np.arange(windows)
    classes = jobs + windows
    groups = classes + len(class_capacity)
    sink = groups + len(group_capacity)
    cell_head = groups + group_row
    cell_head[grid.named] = classes + class_row
    group_of_class_slot = np.zeros(len(class_capacity), dtype=np.int64)
    group_of_class_slot[class_row] = group_row[grid.named]
    parts: list[tuple[Integers, Integers, ArrayLike]] = [
        (window[grid.cell_window], cell_head, grid.cell_limit),
        (window[grid.cloud_window], np.full(len(grid.cloud_job), sink), chunks[grid.cloud_job]),
        (job, window, chunks[job]),
        (classes + np.arange(len(class_capacity)), groups + group_of_class_slot, class_capacity),
        (groups + np.arange(len(group_capacity)), np.full(len(group_capacity), sink),
         group_capacity),
    ]  # fmt: skip
    tail, head, capacity = (
        np.concatenate([np.asarray(part[i], dtype=np.int64) for part in parts]) for i in range(3)
    )
    cells = slice(0, grid.cells)
    cloud = slice(grid.cells, grid.cells + len(grid.cloud_job))
    return Network(tail, head, capacity, cells, cloud, sink)


def problem_4_flow(instance: Instance, *, rates: Rates = "fast") -> Solution:
    """(4) at one rate per job, as a min-cost flow with hubs: the model for scale.

    Unit costs (t - r_j) / N_j are rounded down to a fine grid, so the cost of the optimal flow on
    that grid is a true lower bound; the objective is that flow's cost without rounding.

    Raises:
        InputError: ``rates`` is neither "fast" nor "slow": the choice of speed is no flow.
    """
    refuse_unknown(rates, ("fast", "slow"))
    from ortools.graph.python import min_cost_flow

    began = time.perf_counter()
    grid = build_grid(instance, slow_cloud=rates == "slow")
    work = work_units(instance, rates)
    network = build_network(grid)
    unit = np.zeros(len(network.tail))
    unit[network.cells] = grid.cell_age / work[grid.cell_job]
    unit[network.cloud] = grid.cloud_age / work[grid.cloud_job]
    scale = _cost_scale(network.nodes, float(unit.max(initial=0.0)), int(work.sum()))
    flow = min_cost_flow.SimpleMinCostFlow()
    arcs = flow.add_arcs_with_capacity_and_unit_cost(
        network.tail, network.head, network.capacity, np.floor(unit * scale).astype(np.int64)
    )
    supply = np.zeros(network.nodes, dtype=np.int64)
    supply[: instance.jobs] = work
    supply[network.sink] = -int(work.sum())
    flow.set_nodes_supplies(np.arange(network.nodes), supply)
    status = flow.solve()
    common: dict[str, Any] = {"solver": "min-cost flow", "version": version("ortools")}
    common["seconds"] = time.perf_counter() - began
    if status == flow.INFEASIBLE:
        return Solution(Status.INFEASIBLE, **common)
    if status != flow.OPTIMAL:
        return Solution(Status.ERROR, message=f"min-cost flow ended with {status}", **common)
    units = flow.flows(arcs).astype(float)
    objective = float(units @ unit)
    values = {"y": units[network.cells], "x": units[network.cloud]}
    bound = min(objective, flow.optimal_cost() / scale)
    return Solution(Status.OPTIMAL, objective, bound, values, checked=True, **common)


def _cost_scale(nodes: int, dearest: float, units: int) -> float:
    """Grid of the unit costs: a power of two that 64-bit costs and their sums can hold."""
    room = 2.0**60 / (max(dearest, 1e-9) * max(nodes, units))
    return float(2 ** int(np.log2(min(2.0**50, room))))


def whole_flow(grid: Grid, work: Integers, completion: Integers) -> tuple[Integers, Integers]:
    """Whole units per edge cell and per cloud cell that do all work before the given times.

    Args:
        grid: index sets.
        work: units each job needs, shape (jobs,).
        completion: slot before which each job must be done, shape (jobs,); a job whose time is
            0 does nothing.

    Raises:
        ModelError: no flow does all the work; a point of the model would be one.
    """
    from ortools.graph.python import max_flow

    network = build_network(grid)
    source = network.nodes
    due = np.asarray(completion)
    open_ = np.ones(len(network.tail), dtype=bool)
    open_[network.cells] = grid.cell_slot < due[grid.cell_job]
    open_[network.cloud] = grid.cloud_slot < due[grid.cloud_job]
    need = np.where(due > 0, work, 0)
    jobs = np.arange(len(work))
    flow = max_flow.SimpleMaxFlow()
    arcs = flow.add_arcs_with_capacity(
        np.concatenate([network.tail, np.full(len(work), source)]),
        np.concatenate([network.head, jobs]),
        np.concatenate([np.where(open_, network.capacity, 0), need]),
    )
    status = flow.solve(source, network.sink)
    if status != flow.OPTIMAL or flow.optimal_flow() != need.sum():
        raise ModelError("these completion times leave no room for all work")
    units = np.asarray(flow.flows(arcs), dtype=np.int64)
    return units[network.cells], units[network.cloud]


FORMULATIONS = (
    ExactMethod(
        "problem_4_flow",
        lambda instance, options, *, rates="fast": Answer(problem_4_flow(instance, rates=rates)),
        "problem (4)", "average fractional flow time at one speed per job, as a min-cost flow",
        relaxation=True, solver="cpsat",
    ),
)  # fmt: skip
