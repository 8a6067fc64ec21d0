"""A policy: an order of the tasks, batches of them, a placement rule.

Batches are placed one after the other. Unless nodes are shared across batches, a batch may not use
what earlier batches left free on nodes they opened. Where the nodes run out, the rest of a batch
waits until all that runs has ended: a new phase.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor

import numpy as np

from formulations.aerialedge.instance import Instance, Integers
from formulations.aerialedge.problem_ae1 import closest_feasible
from formulations.aerialedge.schedule import NOWHERE, Schedule
from heuristics.aerialedge.cluster import Cluster
from heuristics.aerialedge.placement import Placed, Rule

Parts = Callable[[Instance, int], list[Integers]]
"""(instance, deployment) -> tasks in order, in parts that no batch may straddle."""


@dataclass(frozen=True)
class BatchPolicy:
    """Everything that tells one policy from another."""

    name: str
    parts: Parts
    place: Rule
    fraction: float | None = None
    """Share of all tasks in one batch; None: all at once."""
    rounding: Callable[[float], int] = ceil

    def batch_size(self, instance: Instance) -> int:
        """Most tasks in one batch."""
        if self.fraction is None:
            return instance.tasks
        # a product such as 0.15 * 20 = 3.0000000000000004 must not round up
        return max(1, self.rounding(round(self.fraction * instance.tasks, 9)))

    def batches(self, instance: Instance, deployment: int) -> list[Integers]:
        """The ordered partition Z_1, ..., Z_M of the tasks."""
        size = self.batch_size(instance)
        return [
            part[first : first + size]
            for part in self.parts(instance, deployment)
            for first in range(0, len(part), size)
        ]


def place_batches(
    instance: Instance,
    policy: BatchPolicy,
    *,
    deployment: int | None = None,
    share_nodes_across_batches: bool = False,
) -> Schedule:
    """The schedule of a policy.

    Args:
        instance: what is to be placed.
        policy: how.
        deployment: where; None: the closest one that can take the tasks.
        share_nodes_across_batches: whether a batch may use nodes that earlier ones opened.
    """
    i = closest_feasible(instance) if deployment is None else deployment
    cluster = Cluster(instance, i)
    phase, batch = np.zeros((2, instance.tasks), dtype=np.int64)
    node, option = np.full(instance.tasks, NOWHERE), np.zeros(instance.tasks, dtype=np.int64)
    now = 0
    for number, tasks in enumerate(policy.batches(instance, i)):
        batch[tasks] = number
        waiting = tasks.tolist()
        for attempt in range(len(waiting) + 1):
            placed: Placed = {}
            allowed = np.ones(len(cluster.nodes), dtype=bool)
            if not share_nodes_across_batches and not attempt:
                allowed = cluster.empty.copy()
            before = waiting
            waiting = policy.place(cluster, waiting, allowed, placed)
            for task, (chosen, place) in placed.items():
                node[task], option[task] = cluster.nodes[place], cluster.number[chosen]
                phase[task] = now
            stuck = len(waiting) == len(before) and bool(cluster.empty.all())
            if not waiting or stuck:
                break
            now += 1
            cluster.clear()
    return Schedule.build(deployment=i, node=node, option=option, batch=batch, phase=phase)


def whole(order: Callable[[Instance, int], Integers]) -> Parts:
    """One part, in an order."""
    return lambda instance, deployment: [order(instance, deployment)]


def in_index_order(instance: Instance, deployment: int) -> Integers:
    """Tasks as they come."""
    return np.arange(instance.tasks)


GRAPHENE_ROUNDING = floor
"""Graphene's batches are rounded down: so its nine nodes on Drone 1 come about."""


def ready_rounds(
    instance: Instance, policy: BatchPolicy, deployment: int, *, share: bool = True
) -> Sequence[Integers]:
    """The rounds of a policy that respects dependencies (Section 2.5).

    In every round, of the tasks whose predecessors have ended, at most a batch in policy order
    that can be placed on the empty nodes; the round ends when all of them have.
    """
    order = np.concatenate(policy.parts(instance, deployment))
    rank = np.empty(instance.tasks, dtype=np.int64)
    rank[order] = np.arange(instance.tasks)
    waits_for = np.bincount(instance.edge_child, minlength=instance.tasks)
    done = np.zeros(instance.tasks, dtype=bool)
    cluster = Cluster(instance, deployment)
    rounds = []
    while not done.all():
        ready = np.flatnonzero(~done & (waits_for == 0))
        ready = ready[np.argsort(rank[ready])]
        placed: Placed = {}
        cluster.clear()
        allowed = np.ones(len(cluster.nodes), dtype=bool)
        policy.place(cluster, ready[: policy.batch_size(instance)].tolist(), allowed, placed)
        if not placed:
            break  # a task that fits no node at all
        tasks = np.array(sorted(placed), dtype=np.int64)
        rounds.append(tasks)
        done[tasks] = True
        for t in tasks.tolist():
            np.subtract.at(waits_for, instance.children[t], 1)
    return rounds
