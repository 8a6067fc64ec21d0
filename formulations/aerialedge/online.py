"""The multi-job batch by batch: one job after the other, its tasks placed before the next is seen.

The deployment is chosen beforehand by Algorithm 2, from what the multi-job asks for in all, as the
paper's estimates announce it. Time counts batches. What is placed stays; what is left is a packing
problem on nodes that are partly filled, of which those opened cost nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from formulations.aerialedge.check import cost, served_units
from formulations.aerialedge.instance import UNIT, Floats, Instance, Integers
from formulations.aerialedge.problem_ae1 import closest_feasible
from formulations.aerialedge.schedule import NOWHERE, Schedule
from formulations.aerialedge.vector_packing import weights
from optsched.instances.arrays import ranges
from optsched.online import State as Base
from optsched.problem import problem
from optsched.solvers.answer import Answer
from optsched.solvers.options import Options


@dataclass(frozen=True)
class Job:
    """One job as an online policy sees it when its turn has come."""

    id: int
    tasks: Integers
    """Its tasks, as numbered in the instance known."""
    demand: Floats
    """T_t^r, shape (tasks, resources)."""
    exec_time: Floats
    """E_t, shape (tasks,), seconds."""


def job_of(instance: Instance, j: int) -> Job:
    """Job ``j`` with its tasks."""
    tasks = np.flatnonzero(instance.task_job == j)
    return Job(j, tasks, instance.demand[tasks], instance.exec_time[tasks])


def deployed(instance: Instance) -> int:
    """The deployment on which the multi-job as a whole is placed."""
    return 0 if instance.deployments == 1 else closest_feasible(instance)


def select(instance: Instance, jobs: Integers) -> Instance:
    """The jobs of these indices, in that order, on the deployment of the whole multi-job."""
    chosen = deployed(instance)
    nodes, kept = instance.nodes_of(chosen), np.asarray(jobs, dtype=np.int64)

    def parts(owner: Integers) -> tuple[Integers, Integers]:
        """Rows of the jobs kept, and the position in ``kept`` of the job of each."""
        first, last = (np.searchsorted(owner, kept, side=side) for side in ("left", "right"))
        at, row = ranges(first, last)
        return row, at

    tasks, task_job = parts(instance.task_job)
    begin = np.searchsorted(instance.task_job, np.arange(instance.jobs))
    new_begin = np.searchsorted(task_job, np.arange(len(kept)))
    order = np.argsort(instance.task_job[instance.edge_child], kind="stable")
    edges, edge_job = parts(instance.task_job[instance.edge_child][order])
    others, other_job = parts(instance.task_job[instance.alternative_task])
    edge_shift = (new_begin - begin[kept])[edge_job]
    return replace(
        instance,
        deployment_name=(instance.deployment_name[chosen],),
        flight_time=instance.flight_time[[chosen]],
        travel_time=instance.travel_time[[chosen]],
        capacity=instance.capacity[nodes],
        node_cost=instance.node_cost[nodes],
        node_deployment=np.zeros(len(nodes), dtype=np.int64),
        job_type=tuple(instance.job_type[j] for j in kept.tolist()),
        data_size=instance.data_size[kept],
        demand=instance.demand[tasks],
        exec_time=instance.exec_time[tasks],
        task_job=task_job,
        edge_parent=instance.edge_parent[order][edges] + edge_shift,
        edge_child=instance.edge_child[order][edges] + edge_shift,
        alternative_task=instance.alternative_task[others] + (new_begin - begin[kept])[other_job],
        alternative_demand=instance.alternative_demand[others],
    )


def nothing(instance: Instance) -> Schedule:
    """The schedule in which nothing is placed."""
    return Schedule.build(node=np.full(instance.tasks, NOWHERE), deployment=deployed(instance))


def relabel(instance: Instance, schedule: Schedule, jobs: Integers) -> Schedule:
    """A schedule on one deployment as one of ``instance``, where its job i is jobs[i]."""
    first = np.searchsorted(instance.task_job, jobs, side="left")
    last = np.searchsorted(instance.task_job, jobs, side="right")
    task = ranges(first, last)[1]
    chosen = deployed(instance)
    nodes = np.append(instance.nodes_of(chosen), NOWHERE)  # the last stands for "nowhere"
    columns = np.zeros((4, instance.tasks), dtype=np.int64)
    columns[0] = NOWHERE
    columns[:, task] = nodes[schedule.node], schedule.option, schedule.batch, schedule.phase
    node, option, batch, phase = columns
    return Schedule(chosen, node, option, batch, phase, schedule.partial)


def decisions(instance: Instance, schedule: Schedule, moment: float) -> list[tuple[int, str]]:
    """Where the tasks of the batches before a moment are."""
    job = instance.task_job
    begin = np.searchsorted(job, job)
    place = np.searchsorted(instance.nodes_of(schedule.deployment), schedule.node)
    seen = np.flatnonzero((job < moment) & schedule.placed)
    rows = zip(
        job[seen].tolist(), (seen - begin[seen]).tolist(), place[seen].tolist(),
        schedule.option[seen].tolist(), schedule.phase[seen].tolist(), strict=True,
    )  # fmt: skip
    return [
        (j, f"has task {t} on node {node}" + f", demand {option}" * (option > 0)
         + f", phase {phase}" * (phase > 0))
        for j, t, node, option, phase in rows
    ]  # fmt: skip


def replan(instance: Instance, schedule: Schedule, now: float, options: Options) -> Answer:
    """[AE2] with the tasks that are placed where they are."""
    placed = schedule.placed
    load = np.zeros_like(instance.capacity_units)
    np.add.at(load, schedule.node[placed], served_units(instance, schedule)[placed])
    weight, unit = weights(instance)
    price = weight.astype(float)
    price[schedule.opened] = 0.0
    left = np.unique(instance.task_job[~placed])
    part = select(
        replace(
            instance,
            capacity=np.asarray((instance.capacity_units - load) * UNIT, dtype=np.float64),
            node_cost=price,
            objective="cost",
        ),
        left,
    )

    def joined(packed: Schedule) -> Schedule:
        made = relabel(instance, packed, left)
        return replace(
            schedule,
            node=np.where(placed, schedule.node, made.node),
            option=np.where(placed, schedule.option, made.option),
        )

    asked = Options(time_limit=options.time_limit, stop=options.stop)
    answer = problem("aerialedge").solve("packing", part, options=asked, deployment=0)
    return answer.completed(joined, partial(cost, instance), unit=unit)


class State(Base):
    """What a policy sees, and the verb it decides with; ``known`` is an ``Instance``."""

    known: Instance

    @property
    def free(self) -> Floats:
        """Free amount of every resource on every node, shape (nodes, resources)."""
        placed, room = self.plan.placed, self.known.capacity_units.copy()
        held = served_units(self.known, self.plan)[placed]
        np.subtract.at(room, self.plan.node[placed], held)
        return np.asarray(room * UNIT)

    def place(self, task: int, node: int, *, option: int = 0) -> None:
        """Put a task on a node, for good.

        Args:
            task: as numbered in ``known``.
            node: the node.
            option: which of its demands is served.
        """
        nodes, options = self.plan.node.copy(), self.plan.option.copy()
        nodes[task], options[task] = node, option
        self.follow(replace(self.plan, node=nodes, option=options))


def done(instance: Instance, schedule: Schedule) -> Floats:
    """The batch of each job; infinite while a task of it is on no node."""
    batch = np.arange(instance.jobs, dtype=float)
    batch[instance.task_job[~schedule.placed]] = np.inf
    return batch
