"""AerialEdge itself: closest dispatch, then packing of the whole multi-job in one batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pydantic import PositiveInt

from formulations.aerialedge.construct import fill_by_knapsack
from formulations.aerialedge.exact.method import Method, pack
from formulations.aerialedge.instance import Floats, Instance
from formulations.aerialedge.problem_ae1 import closest_feasible
from formulations.aerialedge.schedule import NOWHERE, Schedule
from formulations.aerialedge.vector_packing import aggregate, to_schedule
from heuristics.aerialedge.baselines import first_fit_decreasing
from optsched.problem.calls import Positive


def aerialedge(
    instance: Instance,
    rng: np.random.Generator,
    *,
    method: Method = "auto",
    time_limit: Positive = 10.0,
    printed: bool = False,
) -> Schedule:
    """Algorithms 2 and 3: gang reservation on the nodes an exact packing opens.

    Where the solver finds nothing in time, tasks are placed by first-fit decreasing, in turns if
    need be.

    Args:
        instance: what is to be placed.
        rng: never drawn from.
        method: of ``pack``.
        time_limit: wall seconds for the packing.
        printed: Algorithm 3 line by line, errors included: tasks stay unplaced, which the checker
            says.
    """
    i = closest_feasible(instance)
    schedule = pack(instance, deployment=i, method=method, time_limit=time_limit).schedule
    if schedule is None:
        schedule = first_fit_decreasing(instance, rng)
    return _line_by_line(schedule) if printed else schedule


def _line_by_line(packed: Schedule) -> Schedule:
    """Algorithm 3 on the Gamma and beta of a packing.

    Line 3 sets I_i to the capacity, line 6 adds the task to it, so that line 8 finds every node
    full after one task and goes on to the next, and so does the loop of line 1.
    """
    nodes, place, at = packed.opened, np.full(len(packed.node), NOWHERE), 0
    while at < len(nodes):
        for task in range(len(place)):
            if at < len(nodes) and packed.node[task] == nodes[at]:
                place[task] = nodes[at]
                at += 1
        at += 1
    return replace(packed, node=place)


def pack_greedy(
    instance: Instance, rng: np.random.Generator, *, offered: PositiveInt | None = 60
) -> Schedule:
    """PACK_GREEDY: the largest node first, each with the set of tasks that fills it best.

    Best is the largest sum over tasks and resources of T^r / C_b^r, by an exact knapsack. Where
    the nodes do not suffice, tasks are placed by first-fit decreasing, in turns if need be.

    Args:
        instance: what is to be placed.
        rng: never drawn from.
        offered: while more than ``CROWD`` sorts of tasks are left, a node chooses from this many,
            spread evenly by size; None for all, which takes minutes from a few thousand on.
    """
    i = closest_feasible(instance)
    packing = aggregate(instance, i)
    by_cores = np.lexsort((np.arange(packing.node_types), -packing.capacity[:, 0]))

    def filling(node_type: int) -> Floats:
        share = packing.size / np.maximum(packing.capacity[node_type], 1)
        return np.asarray(share.sum(axis=1) + 1e-9)  # no demand is worth placing as well

    bins = fill_by_knapsack(packing, by_cores, filling, nodes=50_000, offered=offered)
    if bins is None:
        return first_fit_decreasing(instance, rng)
    return to_schedule(instance, packing, bins, i)
