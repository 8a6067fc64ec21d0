"""The paper's objective and constraints, evaluated on a schedule; knows no solver.

| number | index                  | amount                                                        |
|--------|------------------------|---------------------------------------------------------------|
| 7      | deployment             | seconds of travel beyond the flight time, or beyond those to a |
|        |                        | closer deployment into which all tasks provably fit            |
| 13     | resource               | total demand beyond the deployment's capacity (20)            |
| 14     | -                      | seconds of total execution time beyond the flight time (18)   |
| 24     | task, node             | 1: a node of another deployment                               |
| 25     | node, phase, resource  | load beyond the node's capacity                               |
| 26     | task                   | 1: on no node                                                 |
| domain | task, and value        | 1: no such node or alternative                                |
| gang   | phase                  | 1: reservations are made in more than one phase               |

Whether tasks fit is decided on whole millionths (``UNIT``), without tolerance. (7) is a matter of
proof: a closer deployment counts against a schedule only if first-fit decreasing fits all tasks
into it, so that no solver is needed; one that only a cleverer packing could use does not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from formulations.aerialedge.construct import first_fit_decreasing
from formulations.aerialedge.instance import UNIT, Instance, Integers
from formulations.aerialedge.schedule import Schedule
from formulations.aerialedge.vector_packing import aggregate, weights
from optsched.errors import InputError
from optsched.problem.violation import Violation

SECONDS = 1e-6
"""Tolerance on times (seconds, absolute)."""


def cost(instance: Instance, schedule: Schedule) -> float:
    """Number, cores or cost of the nodes opened, as the instance asks; (23), corrected."""
    weight, unit = weights(instance)
    opened = schedule.opened
    return float(weight[opened[opened < instance.nodes]].sum()) * unit


def order_of_travel(instance: Instance) -> Integers:
    """Deployments by (travel time, D_i^c, index), in which they are tried."""
    cores = instance.deployment_capacity[:, 0]
    return np.lexsort((np.arange(instance.deployments), cores, instance.travel_time))


def within_reach(instance: Instance, deployment: int) -> list[Violation]:
    """Which of (7), (13) and (14) keep the multi-job from a deployment, packing aside."""
    found = []
    travel, flight = instance.travel_time[deployment], instance.flight_time[deployment]
    if travel >= flight:
        found.append(Violation("7", {"deployment": deployment}, float(travel - flight)))
    need = instance.least_demand_units.sum(axis=0)
    offer = instance.capacity_units[instance.nodes_of(deployment)].sum(axis=0)
    for r in np.flatnonzero(need > offer):
        found.append(Violation("13", {"resource": int(r)}, float(need[r] - offer[r]) * UNIT))
    over = float(instance.exec_time.sum() - flight)
    if over > SECONDS:
        found.append(Violation("14", {}, over))
    return found


def check(
    instance: Instance, schedule: Schedule, *, partial: bool = False, gang: bool = False
) -> list[Violation]:
    """List every violated constraint, as the module's table describes.

    Args:
        instance: what was to be done.
        schedule: what was decided. That it calls itself partial excuses nothing.
        partial: tasks may stay undeployed.
        gang: all reservations must be made at one instant, as in [AE2].

    Raises:
        InputError: the schedule is of another instance's size.
    """
    if len(schedule.node) != instance.tasks:
        raise InputError.of("node", len(schedule.node), f"one per task ({instance.tasks})")
    i = schedule.deployment
    if not 0 <= i < instance.deployments:
        return [Violation("domain", {"deployment": i}, 1.0)]
    found = within_reach(instance, i)
    found += _closer(instance, i)
    found += _placement(instance, schedule, partial=partial)
    found += _loads(instance, schedule)
    if gang:
        phases = np.unique(schedule.phase[schedule.placed])[1:]
        found += [Violation("gang", {"phase": int(p)}, 1.0) for p in phases]
    return found


def _closer(instance: Instance, deployment: int) -> Iterator[Violation]:
    """(7): the closest deployment that can take the multi-job."""
    for i in order_of_travel(instance).tolist():
        if i == deployment:
            return
        if not within_reach(instance, i) and first_fit_decreasing(aggregate(instance, i)):
            beyond = float(instance.travel_time[deployment] - instance.travel_time[i])
            yield Violation("7", {"deployment": deployment, "closer": i}, beyond)
            return


def _placement(instance: Instance, schedule: Schedule, *, partial: bool) -> Iterator[Violation]:
    """(24) and (26): every task on a node of the deployment, served with a demand it has."""
    node, placed = schedule.node, schedule.placed
    if not partial:
        for t in np.flatnonzero(~placed).tolist():
            yield Violation("26", {"task": t}, 1.0)
    unknown = placed & ((node < 0) | (node >= instance.nodes))
    for t in np.flatnonzero(unknown).tolist():
        yield Violation("domain", {"task": t, "node": int(node[t])}, 1.0)
    there = np.flatnonzero(placed & ~unknown)
    elsewhere = there[instance.node_deployment[node[there]] != schedule.deployment]
    for t in elsewhere.tolist():
        yield Violation("24", {"task": t, "node": int(node[t])}, 1.0)
    options = 1 + np.bincount(instance.alternative_task, minlength=instance.tasks)
    for t in np.flatnonzero((schedule.option < 0) | (schedule.option >= options)).tolist():
        yield Violation("domain", {"task": t, "option": int(schedule.option[t])}, 1.0)


def served_units(instance: Instance, schedule: Schedule) -> Integers:
    """Demand each task is served with, in whole units, shape (tasks, resources)."""
    served = instance.option_units[: instance.tasks].copy()
    for k in np.flatnonzero(instance.option_number > 0):
        t = instance.option_task[k]
        if schedule.option[t] == instance.option_number[k]:
            served[t] = instance.option_units[k]
    return served


def _loads(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    """(25): nodes hold what they can, in every phase."""
    node = schedule.node
    there = np.flatnonzero((node >= 0) & (node < instance.nodes))
    keys, row = np.unique(
        np.column_stack([schedule.phase[there], node[there]]), axis=0, return_inverse=True
    )
    load = np.zeros((len(keys), len(instance.resources)), dtype=np.int64)
    np.add.at(load, row.ravel(), served_units(instance, schedule)[there])
    over = load - instance.capacity_units[keys[:, 1]]
    for k, r in np.argwhere(over > 0).tolist():
        index = {"node": int(keys[k, 1]), "phase": int(keys[k, 0]), "resource": r}
        yield Violation("25", index, float(over[k, r]) * UNIT)
