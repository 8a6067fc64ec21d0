"""Instance files: sites, resources and jobs as JSON, in slots, chunks, MB and units of money."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from optsched.document import Document

NonNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
LARGEST_COUNT = 1_000_000_000
Count = Annotated[int, Field(ge=0, le=LARGEST_COUNT)]
PositiveCount = Annotated[int, Field(ge=1, le=LARGEST_COUNT)]


class LatencyDocument(Document):
    """Cost of a flow time of x slots."""

    kind: Literal["exponential", "linear", "piecewise"] = Field(
        description="tau exp(rate x); tau x + offset; tau before the breakpoint, late from it on"
    )
    weight: Positive = Field(description="tau, money")
    rate: NonNegative = Field(0.25, description="growth per slot, exponential only")
    offset: NonNegative = Field(0.0, description="cost at x = 0, linear only, money")
    late: NonNegative = Field(
        0.0, description="cost from the breakpoint on, at least tau, piecewise only, money"
    )
    breakpoint: Count = Field(0, description="first late flow time c, piecewise only, slots")


class JobDocument(Document):
    """One training job."""

    release_slot: PositiveCount = Field(description="arrival slot a_i")
    num_chunks: list[Count] = Field(description="data chunks D_i^r at each site")
    epochs: PositiveCount = Field(1, description="epochs E_i of every chunk")
    worker_rate: PositiveCount | tuple[PositiveCount, PositiveCount] = Field(
        description="chunk-epochs per worker and slot rho_i; a pair is numerator, denominator"
    )
    chunk_size_mb: Positive = Field(description="delta_i, MB")
    exchange_size_mb: NonNegative = Field(description="pi_i, MB per worker and slot")
    worker_demand: list[Count] = Field(description="resources per worker m_i^k")
    ps_demand: list[Count] = Field(description="resources of the parameter server n_i^k")
    latency: LatencyDocument


class InstanceDocument(Document):
    """Sites with resources, bandwidth costs between them, and the jobs that arrive."""

    format: Literal["optsched/okita/instance"] = "optsched/okita/instance"
    version: Literal[1] = 1
    horizon: PositiveCount = Field(description="last slot in which a job may arrive T")
    capacity: list[list[Count]] = Field(
        min_length=1, description="units C_r^k of each resource at each site, per slot"
    )
    unit_bandwidth_cost: list[list[NonNegative]] = Field(
        description="money per MB q^{rr'} from site (row) to site (column), 0 on the diagonal"
    )
    jobs: list[JobDocument] = Field(min_length=1)
