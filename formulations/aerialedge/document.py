"""Instance files: deployments with their nodes, and one multi-job, as JSON in the sheet's names."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from optsched.document import Document

LARGEST = 1e9
"""Largest amount of a resource, so that sums of millionths stay within 64-bit integers."""

NonNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Amount = Annotated[float, Field(ge=0, le=LARGEST)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Index = Annotated[int, Field(ge=0, le=1_000_000_000)]
Objective = Literal["count", "capacity", "lex", "cost"]


class NodeDocument(Document):
    """Identical nodes (container instances) of a deployment."""

    capacity: list[Amount] = Field(description="C_b^r, one amount per resource")
    cost: Amount = Field(1.0, description="what opening one costs, for the objective cost")
    count: Count = Field(1, description="how many of them there are")


class DeploymentDocument(Document):
    """One drone with its nodes."""

    name: str = ""
    flight_time_s: Positive = Field(1800.0, description="available flight time f_i, in seconds")
    travel_time_s: NonNegative = Field(
        0.0, description="flight time to the location of the multi-job f_i^l, in seconds"
    )
    nodes: list[NodeDocument] = Field(min_length=1)


class TaskDocument(Document):
    """One task, that is one container; or several alike."""

    demand: list[Amount] = Field(description="T_t^r, one amount per resource")
    exec_time_s: NonNegative = Field(0.0, description="execution time E_t, in seconds")
    deps: list[Index] = Field(
        default_factory=list, description="predecessors P(t): positions in this job's list"
    )
    alternatives: list[list[Amount]] = Field(
        default_factory=list, description="further demands, one of which may be served instead"
    )
    copies: Count = Field(1, description="identical independent tasks this entry stands for")

    @model_validator(mode="after")
    def _copies_are_independent(self) -> Self:
        if self.copies > 1 and self.deps:
            raise ValueError("a task with deps must have copies = 1")
        return self


class JobDocument(Document):
    """One job: a DAG of tasks."""

    job_type: str = Field("", description="epsilon_J")
    data_size: NonNegative = Field(1.0, description="delta_J")
    tasks: list[TaskDocument] = Field(min_length=1)

    @model_validator(mode="after")
    def _dependencies_name_single_tasks(self) -> Self:
        for t, task in enumerate(self.tasks):
            for parent in task.deps:
                if parent >= len(self.tasks) or parent == t or self.tasks[parent].copies > 1:
                    raise ValueError(
                        f"tasks[{t}].deps names {parent}: another task of the job with copies = 1"
                    )
        return self


class InstanceDocument(Document):
    """Deployments, and the multi-job that waits for one of them."""

    format: Literal["optsched/aerialedge/instance"] = "optsched/aerialedge/instance"
    version: Literal[1] = 1
    resources: list[str] = Field(
        default=["cpu_cores", "mem_gib"], min_length=1, description="names; CPU comes first"
    )
    objective: Objective = Field(
        "count",
        description="count: nodes opened (23); capacity: amount of the first resource opened; "
        "lex: count, then capacity; cost: what the nodes say",
    )
    deployments: list[DeploymentDocument] = Field(min_length=1)
    jobs: list[JobDocument] = Field(min_length=1)
