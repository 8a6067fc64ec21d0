"""Instance files: the system and its jobs as JSON, in bit/s, bytes, FLOP/s and seconds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from optsched.document import Document

NonNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
LARGEST_INDEX = 1_000_000_000
Index = Annotated[int, Field(ge=0, le=LARGEST_INDEX)]
Count = Annotated[int, Field(ge=1, le=LARGEST_INDEX)]
Point = tuple[float, float]


class InstanceDocument(Document):
    """Data nodes, edge servers, jobs and services; every list is indexed from 0."""

    format: Literal["optsched/drp/instance"] = "optsched/drp/instance"
    version: Literal[1] = 1
    node_job: list[Index] = Field(min_length=1, description="job k(i) each data node serves")
    node_rate_bps: list[Positive] = Field(description="upload rate u_i, bit/s")
    node_data_bytes: list[Positive] = Field(description="data amount d_i, bytes")
    node_servers: list[list[Index]] = Field(description="feasible servers V_i of each node")
    server_inbound_bps: list[Positive] = Field(
        min_length=1, description="bandwidth from data nodes r^d_j, bit/s"
    )
    server_compute_flops: list[Positive] = Field(description="compute r^c_j, FLOP/s")
    server_outbound_bps: list[Positive] = Field(
        description="bandwidth to the parameter servers r^b_j, bit/s"
    )
    server_storage_bytes: list[Positive | None] | None = Field(
        None, description="storage for services r^o_j, bytes; null is unlimited"
    )
    job_deadline_s: list[Positive] = Field(
        min_length=1, description="time for training tau_k, seconds"
    )
    job_batch_bytes: list[Positive] = Field(description="mini-batch f_k, bytes")
    job_flops_per_batch: list[NonNegative] = Field(description="work per mini-batch g_k, FLOP")
    job_model_bytes: list[NonNegative] = Field(description="parameters h_k, bytes")
    job_sync_period: list[Count] = Field(description="iterations between two global updates E_k")
    job_epochs: list[Count] | None = Field(None, description="epochs chi_k; null is 1 each")
    job_service: list[Index] | None = Field(
        None, description="service s(k) of each job; null is one of its own"
    )
    service_size_bytes: list[NonNegative] | None = Field(
        None, description="storage of each service s^o_l, bytes; null is nothing"
    )
    comm_share: float = Field(
        0.5, gt=0, lt=1, description="epsilon: communication's share of the deadline in LP1, LP2"
    )
    node_xy: list[Point] | None = Field(None, description="positions, cell units")
    server_xy: list[Point] | None = Field(None, description="positions, cell units")
