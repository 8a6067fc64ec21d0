"""What was decided: admissions, associations, allocations and placed services, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from formulations.drp.instance import NO_SERVER, Booleans, Floats, Integers
from optsched.errors import InputError
from optsched.instances.document import LARGEST_INDEX, Document, Index


class AllocationDocument(Document):
    """Resources of one server reserved for one job."""

    job: Index
    server: Index
    compute_flops: float = Field(description="r^c_jk, FLOP/s")
    outbound_bps: float = Field(description="r^b_jk, bit/s")


class PlacementDocument(Document):
    """A service kept on a server."""

    service: Index
    server: Index


class ScheduleDocument(Document):
    """A decision on one instance."""

    format: Literal["optsched/drp/schedule"] = "optsched/drp/schedule"
    version: Literal[1] = 1
    admit: list[bool] = Field(description="y_k")
    assoc: list[Annotated[int, Field(ge=-LARGEST_INDEX, le=LARGEST_INDEX)]] = Field(
        description="server of each node; -1: none"
    )
    allocations: list[AllocationDocument] = Field(default_factory=list)
    placements: list[PlacementDocument] = Field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Schedule:
    """A decision for DRP or DSRP.

    Raises:
        InputError: columns of different lengths, or an index beyond 32 bits.
    """

    document_type: ClassVar[type[Document]] = ScheduleDocument

    admit: Booleans
    """y_k, shape (jobs,)."""
    assoc: Integers
    """Server j with x_ij = 1, or ``NO_SERVER``; shape (nodes,)."""
    alloc_job: Integers
    """Job k of each allocation, shape (allocations,)."""
    alloc_server: Integers
    """Server j of each allocation, shape (allocations,)."""
    alloc_compute: Floats
    """r^c_jk, shape (allocations,), FLOP/s."""
    alloc_outbound: Floats
    """r^b_jk, shape (allocations,), bit/s."""
    placed_service: Integers
    """Service l of each z_lj = 1, shape (placements,)."""
    placed_server: Integers
    """Server j of each z_lj = 1, shape (placements,)."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        for kind in ("alloc", "placed"):
            lengths = {
                f.name: len(getattr(self, f.name))
                for f in fields(self)
                if f.name.startswith(kind + "_")
            }
            if len(set(lengths.values())) > 1:
                raise InputError.of(kind, lengths, "columns of one length")
        if (np.abs(self.assoc) > LARGEST_INDEX).any():
            raise InputError.of("assoc", int(np.abs(self.assoc).max()), "a server index, or -1")

    @classmethod
    def build(
        cls,
        *,
        admit: ArrayLike,
        assoc: ArrayLike,
        allocations: ArrayLike = (),
        placements: ArrayLike = (),
    ) -> Schedule:
        """Build from rows.

        Args:
            admit: y_k, shape (jobs,).
            assoc: server of each node, ``NO_SERVER`` where there is none; shape (nodes,).
            allocations: rows (job, server, FLOP/s, bit/s), shape (allocations, 4).
            placements: rows (service, server), shape (placements, 2).
        """
        rows = np.asarray(allocations, dtype=float).reshape(-1, 4)
        placed: NDArray[np.int64] = np.asarray(placements, dtype=np.int64).reshape(-1, 2)
        return cls(
            admit=np.array(admit, dtype=bool),
            assoc=np.array(assoc, dtype=np.int64),
            alloc_job=rows[:, 0].astype(np.int64),
            alloc_server=rows[:, 1].astype(np.int64),
            alloc_compute=rows[:, 2].copy(),
            alloc_outbound=rows[:, 3].copy(),
            placed_service=placed[:, 0].copy(),
            placed_server=placed[:, 1].copy(),
        )

    @classmethod
    def empty(cls, jobs: int, nodes: int) -> Schedule:
        """Nothing admitted."""
        return cls.build(admit=np.zeros(jobs, dtype=bool), assoc=np.full(nodes, NO_SERVER))

    @classmethod
    def from_document(cls, document: ScheduleDocument) -> Schedule:
        """Arrays from a validated file."""
        return cls.build(
            admit=document.admit,
            assoc=document.assoc,
            allocations=[
                (a.job, a.server, a.compute_flops, a.outbound_bps) for a in document.allocations
            ],
            placements=[(p.service, p.server) for p in document.placements],
        )

    def to_document(self) -> ScheduleDocument:
        """The file that gives back this schedule."""
        allocations: list[Any] = [
            dict(zip(AllocationDocument.model_fields, row, strict=True))
            for row in zip(
                self.alloc_job.tolist(),
                self.alloc_server.tolist(),
                self.alloc_compute.tolist(),
                self.alloc_outbound.tolist(),
                strict=True,
            )
        ]
        placements: list[Any] = [
            {"service": service, "server": server}
            for service, server in zip(
                self.placed_service.tolist(), self.placed_server.tolist(), strict=True
            )
        ]
        return ScheduleDocument(
            admit=self.admit.tolist(),
            assoc=self.assoc.tolist(),
            allocations=allocations,
            placements=placements,
        )
