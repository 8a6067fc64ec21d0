"""What was decided: the deployment, the node of every task, and the batches of a policy."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from optsched.errors import InputError
from optsched.instances.document import Document, Index

NOWHERE = -1
"""Node of a task that was not deployed."""

Policy = Literal["gang", "batches", "list"]
"""How tasks come to run once they are placed: see ``timeline``."""

NodeIndex = Annotated[int, Field(ge=-1, le=1_000_000_000)]


class ScheduleDocument(Document):
    """A placement of one multi-job."""

    format: Literal["optsched/aerialedge/schedule"] = "optsched/aerialedge/schedule"
    version: Literal[1] = 1
    deployment: Index = Field(description="the drone, i*")
    node: list[NodeIndex] = Field(description="node of each task; -1: not deployed")
    option: list[Index] = Field(
        default_factory=list, description="demand served: 0 the task's own, k its k-th alternative"
    )
    batch: list[Index] = Field(default_factory=list, description="batch Z_z of each task")
    phase: list[Index] = Field(
        default_factory=list, description="reservations of one phase are held together"
    )
    partial: bool = Field(False, description="whether the policy may leave tasks out")


@dataclass(frozen=True, eq=False)
class Schedule:
    """Tasks on nodes of one deployment.

    Raises:
        InputError: columns of different lengths.
    """

    document_type: ClassVar[type[Document]] = ScheduleDocument

    deployment: int
    """i*."""
    node: NDArray[np.int64]
    """Gamma: node of each task, shape (tasks,); ``NOWHERE`` where it has none."""
    option: NDArray[np.int64]
    """Which of its demands each task is served with, shape (tasks,)."""
    batch: NDArray[np.int64]
    """z of the batch Z_z each task belongs to, shape (tasks,); all 0 for a gang."""
    phase: NDArray[np.int64]
    """Shape (tasks,): tasks of one phase hold their reservations together; a later phase begins
    when the one before has ended. All 0 where everything is reserved at once."""
    partial: bool = False
    """Whether the policy that made it may leave tasks undeployed."""

    def __post_init__(self) -> None:
        lengths = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
                lengths[item.name] = len(value)
        if len(set(lengths.values())) > 1:
            raise InputError.of("schedule", lengths, "columns of one length")

    @classmethod
    def build(
        cls,
        *,
        node: ArrayLike,
        deployment: int = 0,
        option: ArrayLike = 0,
        batch: ArrayLike = 0,
        phase: ArrayLike = 0,
        partial: bool = False,
    ) -> Schedule:
        """Build from array-likes; scalars spread over the tasks."""
        places = np.array(node, dtype=np.int64)
        columns = {
            name: np.broadcast_to(np.asarray(value, dtype=np.int64), places.shape).copy()
            for name, value in (("option", option), ("batch", batch), ("phase", phase))
        }
        return cls(deployment=deployment, node=places, partial=partial, **columns)

    @property
    def placed(self) -> NDArray[np.bool_]:
        """Which tasks are deployed, shape (tasks,)."""
        return np.asarray(self.node != NOWHERE)

    @property
    def opened(self) -> NDArray[np.int64]:
        """Nodes with beta_b = 1: those that hold a task at some time, ascending."""
        return np.unique(self.node[self.placed])

    @classmethod
    def from_document(cls, document: ScheduleDocument) -> Schedule:
        """Arrays from a validated file."""
        return cls.build(
            deployment=document.deployment,
            node=document.node,
            option=document.option or 0,
            batch=document.batch or 0,
            phase=document.phase or 0,
            partial=document.partial,
        )

    def to_document(self) -> ScheduleDocument:
        """The file that gives back this schedule."""
        columns = {
            name: getattr(self, name).tolist() if getattr(self, name).any() else []
            for name in ("option", "batch", "phase")
        }
        return ScheduleDocument(
            deployment=self.deployment, node=self.node.tolist(), partial=self.partial, **columns
        )
