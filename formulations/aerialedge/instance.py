"""Drone deployments with their nodes, and one multi-job of tasks, as arrays.

Amounts of resources are compared as whole numbers of millionths (``UNIT``): what fits is decided
in integer arithmetic everywhere, in models, heuristics and the checker alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from optsched.errors import FieldProblem, InputError
from optsched.instances.declared import Declared, Given
from optsched.instances.document import Index
from optsched.instances.fields import Group, declare, fields_of, in_file
from optsched.problem import later

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

UNIT = 1e-6
"""Amounts are rounded to whole multiples of this (cores, GiB, ...)."""


def in_units(amount: ArrayLike) -> Integers:
    """Amounts of a resource as whole numbers of ``UNIT``."""
    return np.rint(np.asarray(amount, dtype=np.float64) / UNIT).astype(np.int64)


LARGEST = 1e9
"""Largest amount of a resource: a float has its millionths."""
MOST_IN_ALL = 4e12
"""Largest sum of the amounts of a resource: millionths of it are whole numbers of 64 bits."""
MOST = 1_000_000
"""Identical nodes or tasks in one entry of a file."""
Amount = Annotated[float, Field(ge=0, le=LARGEST)]
Objective = Literal["count", "capacity", "lex", "cost"]


def _copies_are_independent(task: Any) -> Any:
    if task.copies > 1 and task.deps:
        raise ValueError("a task with deps must have copies = 1")
    return task


def _dependencies_name_single_tasks(job: Any) -> Any:
    for t, task in enumerate(job.tasks):
        for parent in task.deps:
            if parent >= len(job.tasks) or parent == t or job.tasks[parent].copies > 1:
                raise ValueError(
                    f"tasks[{t}].deps names {parent}: another task of the job with copies = 1"
                )
    return job


@dataclass(frozen=True, eq=False)
class Instance(Declared):
    """An instance of the orchestration problem (AerialEdge, Section III).

    Arrays are read-only. Tasks of one job stand together, in the order of the jobs. Refusals
    count nodes and tasks with all copies spelled out.

    Raises:
        InputError: a field has the wrong shape or a value out of range, or a job is cyclic.
    """

    format: ClassVar[str] = "optsched/aerialedge/instance"
    readers: ClassVar[dict[str, Any]] = dict.fromkeys(
        (".vbp", ".mvp"), later("formulations.aerialedge.benchmark_files", "load_benchmark")
    )
    groups: ClassVar[dict[str, Group]] = {
        "deployments": Group("deployments[]", "One drone with its nodes."),
        "nodes": Group(
            "deployments[].nodes[]", "Identical nodes (container instances) of a deployment."
        ),
        "jobs": Group(
            "jobs[]", "One job: a DAG of tasks.", rule=_dependencies_name_single_tasks
        ),
        "tasks": Group(
            "jobs[].tasks[]", "One task, that is one container; or several alike.",
            rule=_copies_are_independent,
        ),
    }  # fmt: skip
    filled: ClassVar[tuple[str, ...]] = ("tasks", "nodes", "resources")

    resources: tuple[str, ...] = declare(
        "resources", file_default=["cpu_cores", "mem_gib"], meaning="names; CPU comes first"
    )
    objective: Objective = declare(
        default="count",
        meaning="count: nodes opened (23); capacity: amount of the first resource opened; "
        "lex: count, then capacity; cost: what the nodes say",
    )
    deployment_name: tuple[str, ...] = declare(
        "deployments", file="deployments[].name", default="", meaning="name"
    )
    flight_time: Floats = declare(
        "deployments", file="deployments[].flight_time_s", default=1800.0, above=0, symbol="f_i",
        unit="seconds", meaning="available flight time",
    )  # fmt: skip
    travel_time: Floats = declare(
        "deployments", file="deployments[].travel_time_s", default=0.0, at_least=0,
        symbol="f_i^l", unit="seconds", meaning="flight time to the location of the multi-job",
    )  # fmt: skip
    capacity: Floats = declare(
        "nodes", "resources", at_least=0, at_most=LARGEST, symbol="C_b^r",
        meaning="one amount per resource",
    )  # fmt: skip
    node_cost: Floats = declare(
        "nodes", file="deployments[].nodes[].cost", default=1.0, at_least=0, at_most=LARGEST,
        meaning="what opening one costs, for the objective cost",
    )  # fmt: skip
    count = in_file(
        "nodes", int, default=1, at_least=1, at_most=MOST, meaning="how many of them there are"
    )
    node_deployment: Integers = declare(
        "nodes", file="deployments[].nodes[]", default=0, index_of="deployments",
        meaning="deployment of each node",
    )  # fmt: skip
    job_type: tuple[str, ...] = declare("jobs", default="", symbol="epsilon_J", meaning="type")
    data_size: Floats = declare(
        "jobs", default=1.0, at_least=0, symbol="delta_J", meaning="size of data"
    )
    demand: Floats = declare(
        "tasks", "resources", at_least=0, at_most=LARGEST, symbol="T_t^r",
        meaning="one amount per resource",
    )  # fmt: skip
    exec_time: Floats = declare(
        "tasks", file="jobs[].tasks[].exec_time_s", default=0.0, at_least=0, symbol="E_t",
        unit="seconds", meaning="execution time",
    )  # fmt: skip
    deps = in_file(
        "tasks", tuple[Index, ...], default=[], index_of="tasks", symbol="P(t)",
        meaning="predecessors: positions in this job's list",
    )  # fmt: skip
    alternatives = in_file(
        "tasks", tuple[tuple[Amount, ...], ...], default=[],
        meaning="further demands, one of which may be served instead",
    )  # fmt: skip
    copies = in_file(
        "tasks", int, default=1, at_least=1, at_most=MOST,
        meaning="identical independent tasks this entry stands for",
    )  # fmt: skip
    task_job: Integers = declare(
        "tasks", file="jobs[].tasks[]", default=0, index_of="jobs",
        meaning="job of each task, ascending",
    )  # fmt: skip
    edge_parent: Integers = declare(
        "edges", derived=True, index_of="tasks", meaning="dependencies: the task awaited"
    )
    edge_child: Integers = declare(
        "edges", derived=True, index_of="tasks", meaning="dependencies: the task that waits"
    )
    alternative_task: Integers = declare(
        "alternative demands", derived=True, default=(), index_of="tasks",
        meaning="task of each further demand, ascending",
    )  # fmt: skip
    alternative_demand: Floats = declare(
        "alternative demands", "resources", derived=True, at_least=0, at_most=LARGEST,
        meaning="demands that may be served in place of ``demand``",
    )  # fmt: skip

    def contradictions(self) -> Iterator[FieldProblem]:
        """Columns out of order, dependencies across jobs or in a circle, sums beyond 64 bits."""
        for name in ("capacity", "demand"):
            total = float(getattr(self, name).sum(axis=0).max(initial=0.0))
            if total > MOST_IN_ALL:
                yield FieldProblem(name, total, f"at most {MOST_IN_ALL:g} of a resource in all")
        for name in ("task_job", "alternative_task"):
            if (np.diff(getattr(self, name)) < 0).any():
                yield FieldProblem(name, "out of order", "ascending")
        job, parent, child = self.task_job, self.edge_parent, self.edge_child
        across = job[parent] != job[child]
        if across.any():
            k = int(np.argmax(across))
            pair = (int(parent[k]), int(child[k]))
            yield FieldProblem("edges", pair, "a dependency within one job")
        left = np.ones(len(parent), dtype=bool)
        while left.any():
            blocked = np.zeros(self.tasks, dtype=bool)
            blocked[child[left]] = True
            still = left & blocked[parent]
            if (still == left).all():
                at = f"jobs[{int(job[child[left]][0])}].tasks"
                yield FieldProblem(at, "edges in a circle", "deps without a cycle")
                return
            left = still

    @classmethod
    def build(cls, **given: Any) -> Instance:
        """Build from array-likes; all but ``demand`` and ``capacity`` has a default.

        One deployment, one job, no ``edges`` (pairs of parent and child) unless given; scalars
        spread over the nodes, deployments, tasks and jobs.
        """
        given = Given(given)
        for name in ("capacity", "demand"):
            if np.ndim(given[name]) != 2:
                shown = f"shape {np.shape(given[name])}"
                raise InputError.of(name, shown, "rows of one amount per resource")
        width = np.shape(given["demand"])[1]
        given["resources"] = given.get("resources") or _names(width)
        given.setdefault("alternative_demand", np.zeros((0, width)))
        pairs = np.asarray(given.pop("edges", ()), dtype=np.int64).reshape(-1, 2)
        return super().build(edge_parent=pairs[:, 0], edge_child=pairs[:, 1], **given)

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
    def read(cls, document: Any) -> dict[str, Any]:
        """Arguments of ``build`` from a validated file, copies of nodes and tasks spelled out."""
        given, width = super().read(document), len(document.resources)
        nodes = [node for deployment in document.deployments for node in deployment.nodes]
        tasks = [task for job in document.jobs for task in job.tasks]
        copies = np.array([task.copies for task in tasks])
        first = np.cumsum(copies) - copies
        start = np.searchsorted(given["task_job"], np.arange(len(document.jobs)))
        edges: list[tuple[int, int]] = []
        others: list[tuple[int, list[float]]] = []
        for j, (job, begin) in enumerate(zip(document.jobs, start.tolist(), strict=True)):
            for t, task in enumerate(job.tasks):
                for k, other in enumerate(task.alternatives):
                    if len(other) != width:
                        where = f"jobs[{j}].tasks[{t}].alternatives[{k}]"
                        raise InputError.of(where, other, f"one entry per resource ({width})")
                at = int(first[begin + t])
                edges += [(int(first[begin + parent]), at) for parent in task.deps]
                others += [(at + c, d) for c in range(task.copies) for d in task.alternatives]
        repeats: dict[str, Any] = {"nodes": [node.count for node in nodes], "tasks": copies}
        for field in fields_of(cls):
            repeat = repeats.get(field.dims[0]) if field.dims and field.stored else None
            if repeat is not None:
                given[field.name] = np.repeat(given[field.name], repeat, axis=0)
        return given | {
            "edges": edges,
            "alternative_task": [task for task, _ in others],
            "alternative_demand": np.array([d for _, d in others]).reshape(-1, width),
        }

    def written(self) -> dict[str, Any]:
        """What a file holds, by path; runs of identical nodes counted."""
        order = np.argsort(self.node_deployment, kind="stable")
        rows = np.column_stack([self.capacity, self.node_cost, self.node_deployment])[order]
        fresh = np.flatnonzero(np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)]))
        first = np.searchsorted(self.task_job, self.task_job)
        return super().written() | {
            "deployments[].nodes[]": self.node_deployment[order][fresh],
            "deployments[].nodes[].capacity": rows[fresh, :-2].tolist(),
            "deployments[].nodes[].cost": rows[fresh, -2].tolist(),
            "deployments[].nodes[].count": np.diff(np.append(fresh, len(rows))).tolist(),
            "jobs[].tasks[].deps": [
                (parents - begin).tolist()
                for parents, begin in zip(self.parents, first, strict=True)
            ],
            "jobs[].tasks[].alternatives": [
                self.alternative_demand[self.alternative_task == t].tolist()
                for t in range(self.tasks)
            ],
        }


def _names(resources: int) -> tuple[str, ...]:
    known = ("cpu_cores", "mem_gib", "gpus")
    return tuple(known[r] if r < len(known) else f"resource_{r}" for r in range(resources))
