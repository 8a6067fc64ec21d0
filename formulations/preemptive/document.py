"""Instance files: the fields of one problem instance as JSON, in the sheet's names."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from optsched.document import Document

NonNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
LARGEST_INDEX = 1_000_000_000
Index = Annotated[int, Field(ge=0, le=LARGEST_INDEX)]


class JobDocument(Document):
    """One training job.

    Its speed is given either by what pre-training measures (``batch_compute_time`` and the
    fields after it) or directly as ``chunk_time_slow`` and ``chunk_time_fast``.
    """

    release_time: NonNegative = Field(description="arrival r_j, in slots")
    num_chunks: Count = Field(description="equal-sized data chunks D_j")
    num_epochs: Count = Field(1, description="epochs per chunk E_j")
    batches_per_chunk: Count = Field(1, description="mini-batches per chunk B_j")
    batch_compute_time: Positive | None = Field(
        None, description="one mini-batch on one worker m_j, in hours"
    )
    ps_update_time: NonNegative = Field(
        0.0, description="parameter-server update per mini-batch G_j, in milliseconds"
    )
    gradient_size_mb: NonNegative = Field(0.0, description="gradients q_j, in 10^6 bytes")
    bandwidth_mbps: Positive = Field(1000.0, description="reserved bandwidth b_j, in Mbit/s")
    chunk_time_slow: Positive | None = Field(
        None, description="one chunk with communication p^0_j, in slots"
    )
    chunk_time_fast: Positive | None = Field(
        None, description="one chunk without communication p^1_j <= p^0_j, in slots"
    )
    upload_delay_edge: list[NonNegative] = Field(
        description="delay of each chunk to every edge server Delta_js, in slots"
    )
    upload_delay_cloud: NonNegative | None = Field(
        description="delay of each chunk to the cloud Delta_jc, in slots; null bars the cloud"
    )
    worker_type: Index = Field(0, description="type of worker asked for tau_j")
    ps_type: Index = Field(0, description="type of parameter server asked for sigma_j")
    chunk_storage: NonNegative = Field(0.0, description="storage of one chunk u_j, in GB")
    gang_size: Count | None = Field(
        None, description="workers a gang-scheduled baseline needs g_j, at most num_chunks"
    )

    @model_validator(mode="after")
    def _speed_is_given_once(self) -> Self:
        direct = (self.chunk_time_slow, self.chunk_time_fast)
        if (direct[0] is None) != (direct[1] is None):
            raise ValueError("chunk_time_slow and chunk_time_fast must be given together")
        if (direct[0] is None) == (self.batch_compute_time is None):
            raise ValueError(
                "the speed must be given once: batch_compute_time, "
                "or chunk_time_slow and chunk_time_fast"
            )
        return self


class EdgeServerDocument(Document):
    """One edge server."""

    storage_capacity: NonNegative | None = Field(
        None, description="storage U_s, in GB; null is unlimited"
    )


class ResourceDocument(Document):
    """One worker or parameter server at the edge."""

    server: Index = Field(description="index of its edge server")
    type: Index = Field(0, description="its type")


class InstanceDocument(Document):
    """An edge-cloud system and the jobs that arrive at it."""

    format: Literal["optsched/preemptive/instance"] = "optsched/preemptive/instance"
    version: Literal[1] = 1
    slot_hours: Positive = Field(1.0, description="length of one slot, in hours")
    horizon: Count | None = Field(
        None, description="slots T; null means as many as any schedule worth having needs"
    )
    jobs: list[JobDocument] = Field(min_length=1)
    edge_servers: list[EdgeServerDocument]
    workers: list[ResourceDocument]
    parameter_servers: list[ResourceDocument] = Field(default_factory=list)
    worker_eligible: list[list[bool]] | None = Field(
        None, description="v_jw, job by worker; null means by type"
    )
    ps_eligible: list[list[bool]] | None = Field(
        None, description="o_jp, job by parameter server; null means by type"
    )
