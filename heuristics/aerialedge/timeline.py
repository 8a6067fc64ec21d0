"""When tasks run once dependencies count: start and end of every task under each policy.

The rule of Section 2.5: AerialEdge reserves everything at time 0 and a task starts when its last
predecessor ends; Tetris, Graphene and Spear run rounds of ready tasks and wait for the longest of
each; under Random a ready task starts on any free node, one task per node.
"""

from __future__ import annotations

import heapq

import numpy as np

from formulations.aerialedge.instance import Booleans, Floats, Instance, Integers
from formulations.aerialedge.metrics import gang_times
from formulations.aerialedge.problem_ae1 import closest
from heuristics.aerialedge.baselines import POLICIES
from heuristics.aerialedge.policy import ready_rounds
from optsched.errors import InputError

GANG = ("aerialedge", "pack_greedy")
"""Policies that reserve everything at once."""

ONE_PER_NODE = ("random_queued", "random_at_once")
"""Policies under which a node runs one task; here what finds none waits under both."""


def dag_times(
    instance: Instance, policy: str, *, deployment: int | None = None
) -> tuple[Floats, Floats]:
    """Start and end of every task, shape (tasks,), seconds; infinite for one that never runs.

    Args:
        instance: tasks, dependencies and execution times.
        policy: name of a policy.
        deployment: whose nodes to use; None: the closest.

    Raises:
        InputError: no such policy.
    """
    i = closest(instance) if deployment is None else deployment
    if policy in GANG:
        return gang_times(instance)
    if policy in ONE_PER_NODE:
        return list_times(instance, i)
    if policy not in POLICIES:
        known = ", ".join((*GANG, *ONE_PER_NODE, *POLICIES))
        raise InputError.of("policy", policy, f"must be one of {known}")
    return round_times(instance, policy, i)


def makespan_dag(instance: Instance, policy: str, *, deployment: int | None = None) -> float:
    """When the last task ends under ``dag_times``, seconds."""
    return float(dag_times(instance, policy, deployment=deployment)[1].max())


def round_times(instance: Instance, policy: str, deployment: int) -> tuple[Floats, Floats]:
    """Rounds of ready tasks, each as long as its longest task."""
    start, end = np.full((2, instance.tasks), np.inf)
    now = 0.0
    for tasks in ready_rounds(instance, POLICIES[policy], deployment):
        start[tasks] = now
        end[tasks] = now + instance.exec_time[tasks]
        now = float(end[tasks].max())
    return start, end


def list_times(instance: Instance, deployment: int) -> tuple[Floats, Floats]:
    """List scheduling in index order: a ready task starts on a free node it fits."""
    nodes = instance.nodes_of(deployment)
    fits = _fits(instance, nodes)
    free = np.ones(len(nodes), dtype=bool)
    waits_for = np.bincount(instance.edge_child, minlength=instance.tasks)
    start, end = np.full((2, instance.tasks), np.inf)
    ready = np.flatnonzero(waits_for == 0).tolist()
    running: list[tuple[float, int, int]] = []
    now = 0.0
    while ready or running:
        waiting = []
        for task in sorted(ready):
            places = np.flatnonzero(free & fits[task])
            if len(places):
                start[task], end[task] = now, now + instance.exec_time[task]
                free[places[0]] = False
                heapq.heappush(running, (float(end[task]), task, int(places[0])))
            else:
                waiting.append(task)
        ready = waiting
        if not running:
            break  # what is left fits no node at all
        now, task, place = heapq.heappop(running)
        free[place] = True
        for child in instance.children[task].tolist():
            waits_for[child] -= 1
            if not waits_for[child]:
                ready.append(child)
    return start, end


def _fits(instance: Instance, nodes: Integers) -> Booleans:
    """Whether a task can be served on an empty node, shape (tasks, nodes)."""
    capacity = instance.capacity_units[nodes]
    by_option = np.asarray((instance.option_units[:, None, :] <= capacity[None, :, :]).all(axis=2))
    fits = by_option[: instance.tasks].copy()
    np.logical_or.at(fits, instance.alternative_task, by_option[instance.tasks :])
    return fits
