"""Drone deployments with their nodes, and one multi-job of tasks, as arrays.

Amounts of resources are compared as whole numbers of millionths (``UNIT``): what fits is decided
in integer arithmetic everywhere, in models, heuristics and the checker alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.aerialedge.document import (
    LARGEST,
    DeploymentDocument,
    InstanceDocument,
    JobDocument,
    NodeDocument,
    Objective,
    TaskDocument,
)
from optsched.arrays import freeze, refused, spread
from optsched.document import Document
from optsched.errors import FieldProblem, InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

UNIT = 1e-6
"""Amounts are rounded to whole multiples of this (cores, GiB, ...)."""


def in_units(amount: ArrayLike) -> Integers:
    """Amounts of a resource as whole numbers of ``UNIT``."""
    return np.rint(np.asarray(amount, dtype=np.float64) / UNIT).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Instance:
    """An instance of the orchestration problem (AerialEdge, Section III).

    Arrays are read-only. Tasks of one job stand together, in the order of the jobs.

    Raises:
        InputError: a field has the wrong shape or a value out of range, or a job is cyclic.
    """

    document_type: ClassVar[type[Document]] = InstanceDocument

    capacity: Floats
    """C_b^r, shape (nodes, resources)."""
    node_deployment: Integers
    """Deployment of each node, shape (nodes,)."""
    node_cost: Floats
    """What opening a node costs under the objective "cost", shape (nodes,)."""
    flight_time: Floats
    """f_i, shape (deployments,), seconds."""
    travel_time: Floats
    """f_i^l, shape (deployments,), seconds."""
    demand: Floats
    """T_t^r, shape (tasks, resources)."""
    exec_time: Floats
    """E_t, shape (tasks,), seconds."""
    task_job: Integers
    """Job of each task, ascending, shape (tasks,)."""
    edge_parent: Integers
    """Dependencies: shape (edges,)."""
    edge_child: Integers
    """Shape (edges,)."""
    data_size: Floats
    """delta_J, shape (jobs,)."""
    job_type: tuple[str, ...]
    """epsilon_J, one per job."""
    alternative_task: Integers
    """Task of each further demand, ascending, shape (alternatives,)."""
    alternative_demand: Floats
    """Demands that may be served in place of ``demand``, shape (alternatives, resources)."""
    resources: tuple[str, ...] = ("cpu_cores", "mem_gib")
    """Names; the first is the CPU."""
    objective: Objective = "count"
    deployment_name: tuple[str, ...] = ()

    @classmethod
    def build(
        cls,
        *,
        demand: ArrayLike,
        capacity: ArrayLike,
        node_deployment: ArrayLike = 0,
        exec_time: ArrayLike = 0.0,
        task_job: ArrayLike = 0,
        edges: Sequence[tuple[int, int]] = (),
        flight_time: ArrayLike = 1800.0,
        travel_time: ArrayLike = 0.0,
        **rest: Any,
    ) -> Instance:
        """Build from array-likes; everything else defaults to one deployment, one job, no edges.

        Args:
            demand: shape (tasks, resources).
            capacity: shape (nodes, resources).
            node_deployment: scalar or shape (nodes,).
            exec_time: scalar or shape (tasks,), seconds.
            task_job: scalar or shape (tasks,).
            edges: (parent, child) pairs.
            flight_time: scalar or shape (deployments,), seconds.
            travel_time: scalar or shape (deployments,), seconds.
            rest: fields of the class, taken as they are.
        """
        wanted = _matrix("demand", demand)
        offered = _matrix("capacity", capacity)
        tasks, nodes = len(wanted), len(offered)
        where = spread("node_deployment", node_deployment, nodes, int)
        job = spread("task_job", task_job, tasks, int)
        deployments = max(int(where.max(initial=0)) + 1, np.size(flight_time), np.size(travel_time))
        jobs = int(job.max(initial=0)) + 1
        pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
        other_task = np.asarray(rest.pop("alternative_task", ()), dtype=np.int64)
        other = rest.pop("alternative_demand", np.zeros((0, wanted.shape[1])))
        names = rest.pop("resources", None) or _names(wanted.shape[1])
        return cls(
            capacity=offered,
            node_deployment=where,
            node_cost=spread("node_cost", rest.pop("node_cost", 1.0), nodes, float),
            flight_time=spread("flight_time", flight_time, deployments, float),
            travel_time=spread("travel_time", travel_time, deployments, float),
            demand=wanted,
            exec_time=spread("exec_time", exec_time, tasks, float),
            task_job=job,
            edge_parent=pairs[:, 0],
            edge_child=pairs[:, 1],
            data_size=spread("data_size", rest.pop("data_size", 1.0), jobs, float),
            job_type=tuple(rest.pop("job_type", ("",) * jobs)),
            alternative_task=other_task,
            alternative_demand=_matrix("alternative_demand", other),
            resources=tuple(names),
            deployment_name=tuple(rest.pop("deployment_name", ("",) * deployments)),
            **rest,
        )

    def __post_init__(self) -> None:
        freeze(self)
        problems = list(_problems(self))
        if problems:
            raise InputError(problems)

    @property
    def tasks(self) -> int:
        """Number of tasks, n."""
        return len(self.demand)

    @property
    def nodes(self) -> int:
        """Nodes of all deployments."""
        return len(self.capacity)

    @property
    def deployments(self) -> int:
        """Number of deployments, N."""
        return len(self.flight_time)

    @property
    def jobs(self) -> int:
        """Jobs of the multi-job."""
        return len(self.data_size)

    @cached_property
    def capacity_units(self) -> Integers:
        """C_b^r in whole units, shape (nodes, resources)."""
        return in_units(self.capacity)

    @cached_property
    def option_task(self) -> Integers:
        """Task of each way to serve one: the demands first, then the alternatives."""
        return np.concatenate([np.arange(self.tasks), self.alternative_task])

    @cached_property
    def option_units(self) -> Integers:
        """Demand of each way to serve a task in whole units, shape (options, resources)."""
        return in_units(np.concatenate([self.demand, self.alternative_demand]))

    @cached_property
    def option_number(self) -> Integers:
        """0 for a task's own demand, 1, 2, ... for its alternatives, shape (options,)."""
        rank = np.arange(len(self.alternative_task)) - np.searchsorted(
            self.alternative_task, self.alternative_task
        )
        return np.concatenate([np.zeros(self.tasks, dtype=np.int64), 1 + rank])

    @cached_property
    def least_demand_units(self) -> Integers:
        """Least amount of each resource a task can be served with, shape (tasks, resources)."""
        least = self.option_units[: self.tasks].copy()
        np.minimum.at(least, self.alternative_task, self.option_units[self.tasks :])
        return least

    @cached_property
    def deployment_capacity(self) -> Floats:
        """D_i^r, shape (deployments, resources)."""
        total = np.zeros((self.deployments, len(self.resources)))
        np.add.at(total, self.node_deployment, self.capacity)
        return total

    def nodes_of(self, deployment: int) -> Integers:
        """Nodes of one deployment, B_i."""
        return np.flatnonzero(self.node_deployment == deployment)

    @cached_property
    def topological_order(self) -> Integers:
        """Tasks, parents before children, level by level."""
        return np.argsort(self.depth_of_task, kind="stable")

    @cached_property
    def depth_of_task(self) -> Integers:
        """Tasks on the longest path that ends at each task, shape (tasks,); 1 without parents."""
        depth = np.ones(self.tasks, dtype=np.int64)
        for _ in range(self.tasks):
            deeper = depth.copy()
            np.maximum.at(deeper, self.edge_child, depth[self.edge_parent] + 1)
            if (deeper == depth).all():
                break
            depth = deeper
        return depth

    @cached_property
    def depth(self) -> Integers:
        """gamma_J, shape (jobs,)."""
        deepest = np.zeros(self.jobs, dtype=np.int64)
        np.maximum.at(deepest, self.task_job, self.depth_of_task)
        return deepest

    @cached_property
    def children(self) -> tuple[Integers, ...]:
        """Children of each task."""
        order = np.argsort(self.edge_parent, kind="stable")
        cut = np.searchsorted(self.edge_parent[order], np.arange(1, self.tasks))
        return tuple(np.split(self.edge_child[order], cut))

    @cached_property
    def parents(self) -> tuple[Integers, ...]:
        """P(t)."""
        order = np.argsort(self.edge_child, kind="stable")
        cut = np.searchsorted(self.edge_child[order], np.arange(1, self.tasks))
        return tuple(np.split(self.edge_parent[order], cut))

    def with_jobs_as_tasks(self) -> Instance:
        """Job-level granularity, as printed in (25): one item per job, with its total demand.

        Raises:
            InputError: a task has alternatives.
        """
        if len(self.alternative_task):
            raise InputError.of("granularity", "job", "task, where tasks have alternatives")
        demand = np.zeros((self.jobs, len(self.resources)))
        np.add.at(demand, self.task_job, self.demand)
        time = np.bincount(self.task_job, weights=self.exec_time, minlength=self.jobs)
        nothing = np.zeros(0, dtype=np.int64)
        return replace(
            self,
            demand=demand,
            exec_time=np.asarray(time, dtype=np.float64),
            task_job=np.arange(self.jobs),
            edge_parent=nothing,
            edge_child=nothing,
        )

    @classmethod
    def from_document(cls, document: InstanceDocument) -> Instance:
        """Arrays from a validated file.

        Raises:
            InputError: fields that contradict each other.
        """
        width = len(document.resources)
        problems = [
            FieldProblem(name, given, f"one amount per resource ({width})")
            for name, given in _amounts(document)
            if len(given) != width
        ]
        if problems:
            raise InputError(problems)
        nodes = [(i, n) for i, d in enumerate(document.deployments) for n in d.nodes]
        node_count = [n.count for _, n in nodes]
        rows = [(j, t) for j, job in enumerate(document.jobs) for t in job.tasks]
        copies = np.array([t.copies for _, t in rows])
        first = np.cumsum(copies) - copies
        sizes = np.array([len(job.tasks) for job in document.jobs])
        start = np.cumsum(sizes) - sizes
        edges = [
            (int(first[start[j] + parent]), int(first[start[j] + t]))
            for j, job in enumerate(document.jobs)
            for t, task in enumerate(job.tasks)
            for parent in task.deps
        ]
        others = [
            (int(first[r]) + c, other)
            for r, (_, t) in enumerate(rows)
            for c in range(t.copies if t.alternatives else 0)
            for other in t.alternatives
        ]
        deployments = document.deployments
        return cls.build(
            capacity=np.repeat([n.capacity for _, n in nodes], node_count, axis=0),
            node_deployment=np.repeat([i for i, _ in nodes], node_count),
            node_cost=np.repeat([n.cost for _, n in nodes], node_count),
            flight_time=[d.flight_time_s for d in deployments],
            travel_time=[d.travel_time_s for d in deployments],
            deployment_name=[d.name for d in deployments],
            demand=np.repeat([t.demand for _, t in rows], copies, axis=0),
            exec_time=np.repeat([t.exec_time_s for _, t in rows], copies),
            task_job=np.repeat([j for j, _ in rows], copies),
            edges=edges,
            data_size=[job.data_size for job in document.jobs],
            job_type=[job.job_type for job in document.jobs],
            alternative_task=[t for t, _ in others],
            alternative_demand=np.array([d for _, d in others]).reshape(-1, width),
            resources=document.resources,
            objective=document.objective,
        )

    def to_document(self) -> InstanceDocument:
        """The file that gives back this instance."""
        return InstanceDocument(
            resources=list(self.resources),
            objective=self.objective,
            deployments=[
                DeploymentDocument(
                    name=self.deployment_name[i],
                    flight_time_s=float(self.flight_time[i]),
                    travel_time_s=float(self.travel_time[i]),
                    nodes=_node_documents(self, i),
                )
                for i in range(self.deployments)
            ],
            jobs=[self._job_document(j) for j in range(self.jobs)],
        )

    def _job_document(self, j: int) -> JobDocument:
        first = int(np.searchsorted(self.task_job, j))
        last = int(np.searchsorted(self.task_job, j, side="right"))
        return JobDocument(
            job_type=self.job_type[j],
            data_size=float(self.data_size[j]),
            tasks=[
                TaskDocument(
                    demand=self.demand[t].tolist(),
                    exec_time_s=float(self.exec_time[t]),
                    deps=(self.parents[t] - first).tolist(),
                    alternatives=self.alternative_demand[self.alternative_task == t].tolist(),
                )
                for t in range(first, last)
            ],
        )


def _amounts(document: InstanceDocument) -> Iterator[tuple[str, list[float]]]:
    for i, deployment in enumerate(document.deployments):
        for b, node in enumerate(deployment.nodes):
            yield f"deployments[{i}].nodes[{b}].capacity", node.capacity
    for j, job in enumerate(document.jobs):
        for t, task in enumerate(job.tasks):
            yield f"jobs[{j}].tasks[{t}].demand", task.demand
            for k, other in enumerate(task.alternatives):
                yield f"jobs[{j}].tasks[{t}].alternatives[{k}]", other


def _node_documents(instance: Instance, deployment: int) -> list[NodeDocument]:
    """Runs of identical nodes, counted; the order of nodes is kept."""
    mine = instance.nodes_of(deployment)
    rows = np.column_stack([instance.capacity[mine], instance.node_cost[mine]])
    fresh = np.flatnonzero(np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)]))
    sizes = np.diff(np.append(fresh, len(mine)))
    return [
        NodeDocument(capacity=rows[k, :-1].tolist(), cost=float(rows[k, -1]), count=int(size))
        for k, size in zip(fresh, sizes, strict=True)
    ]


def _names(resources: int) -> tuple[str, ...]:
    known = ("cpu_cores", "mem_gib", "gpus")
    return tuple(known[r] if r < len(known) else f"resource_{r}" for r in range(resources))


def _matrix(name: str, rows: ArrayLike) -> Floats:
    matrix = np.array(rows, dtype=np.float64)
    if matrix.ndim != 2:
        raise InputError.of(name, f"shape {matrix.shape}", "rows of one amount per resource")
    return matrix


def _problems(instance: Instance) -> Iterator[FieldProblem]:
    refuse = partial(refused, instance)

    width = len(instance.resources)
    for name in ("capacity", "demand", "alternative_demand"):
        value = getattr(instance, name)
        if value.shape[1:] != (width,):
            yield FieldProblem(name, f"shape {value.shape}", f"{width} columns, one per resource")
            return
        bad = ~((value >= 0) & (value <= LARGEST))
        yield from refuse(name, bad, f"a number in 0..{LARGEST:g}")
    for name in ("exec_time", "travel_time", "data_size", "node_cost"):
        value = getattr(instance, name)
        yield from refuse(name, ~(np.isfinite(value) & (value >= 0)), "a finite number >= 0")
    flight = instance.flight_time
    yield from refuse("flight_time", ~(np.isfinite(flight) & (flight > 0)), "a number > 0")
    for name, count in (
        ("node_deployment", instance.deployments),
        ("edge_parent", instance.tasks),
        ("edge_child", instance.tasks),
        ("alternative_task", instance.tasks),
    ):
        value = getattr(instance, name)
        yield from refuse(name, (value < 0) | (value >= count), f"an index in 0..{count - 1}")
    if instance.tasks == 0:
        yield FieldProblem("demand", [], "at least one task")
    if instance.nodes == 0:
        yield FieldProblem("capacity", [], "at least one node")
    if instance.objective not in get_args(Objective):
        allowed = "must be one of " + ", ".join(get_args(Objective))
        yield FieldProblem("objective", instance.objective, allowed)
    for name in ("task_job", "alternative_task"):
        if (np.diff(getattr(instance, name)) < 0).any():
            yield FieldProblem(name, "out of order", "ascending")
    yield from _cycles(instance)


def _cycles(instance: Instance) -> Iterator[FieldProblem]:
    job, parent, child = instance.task_job, instance.edge_parent, instance.edge_child
    if len(parent) == 0 or max(parent.max(), child.max()) >= instance.tasks:
        return
    across = job[parent] != job[child]
    if across.any():
        k = int(np.argmax(across))
        pair = (int(parent[k]), int(child[k]))
        yield FieldProblem("edges", pair, "a dependency within one job")
    left = np.ones(len(parent), dtype=bool)
    while left.any():
        blocked = np.zeros(instance.tasks, dtype=bool)
        blocked[child[left]] = True
        still = left & blocked[parent]
        if (still == left).all():
            name = f"job {int(job[child[left]][0])}"
            yield FieldProblem("edges", name, "dependencies without a cycle")
            return
        left = still
