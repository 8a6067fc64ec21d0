"""Instance files: the fields of one problem instance as JSON, in the sheet's names."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema, model_validator

from optsched.document import Document

LARGEST_INDEX = 1_000_000_000
Index = Annotated[int, Field(ge=0, le=LARGEST_INDEX)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Positive = Annotated[float, Field(gt=0)]
Capacity = Annotated[int, Field(ge=0, le=LARGEST_INDEX)]


def exactly(value: Any) -> Fraction:
    """A number, or a text such as "1/3", as the fraction it spells.

    A float stands for its shortest decimal: 0.1 is one tenth.

    Raises:
        ValueError: it is neither, or negative, or not finite.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction):
        raise ValueError('should be a number, or a text such as "1/3"')
    try:
        fraction = Fraction(repr(value) if isinstance(value, float) else value)
    except (ValueError, ZeroDivisionError):
        raise ValueError('should be a finite number, or a text such as "1/3"') from None
    if fraction < 0:
        raise ValueError("should be greater than or equal to 0")
    return fraction


def _written(value: Fraction) -> int | str:
    return int(value) if value.denominator == 1 else str(value)


Rational = Annotated[
    Fraction,
    PlainValidator(exactly),
    PlainSerializer(_written),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0}, {"type": "string"}]}),
]
"""A non-negative number that is kept exactly."""


class JobDocument(Document):
    """One training job.

    Its work is given either by what the paper lists (``minibatch_time`` and the fields around it)
    or directly as ``work_slow`` and ``work_fast``.
    """

    release_slot: int = Field(ge=1, le=LARGEST_INDEX, description="arrival a_j, a slot")
    num_chunks: Count = Field(description="data chunks, and most workers, D_j")
    epochs: Count = Field(1, description="epochs E_j")
    minibatches_per_chunk: Count = Field(1, description="mini-batches per chunk M_j")
    minibatch_time: Rational | None = Field(
        None, description="one mini-batch on one worker n_j, in slots"
    )
    update_time: Rational = Field(
        Fraction(0), description="parameter-server update per mini-batch H_j, in slots"
    )
    gradient_size_mb: Rational = Field(Fraction(0), description="gradients k_j, in 10^6 bytes")
    bandwidth_mbps: Rational = Field(Fraction(1000), description="bandwidth B_j, in Mbit/s")
    work_slow: Rational | None = Field(
        None, description="all mini-batches with communication Omega_j / p^0_j, in worker-slots"
    )
    work_fast: Rational | None = Field(
        None, description="the same on one server Omega_j / p^1_j <= work_slow, in worker-slots"
    )
    worker_type: Index = Field(0, description="type of worker u_j")
    ps_type: Index = Field(0, description="type of parameter server v_j")
    upload_delay: list[Annotated[int, Field(ge=0, le=LARGEST_INDEX)]] = Field(
        description="delay of a chunk to every server Delta_js, in slots"
    )
    weight: Positive = Field(1.0, description="w_j")

    @model_validator(mode="after")
    def _work_is_given_once(self) -> Self:
        direct = (self.work_slow, self.work_fast)
        if (direct[0] is None) != (direct[1] is None):
            raise ValueError("work_slow and work_fast must be given together")
        if (direct[0] is None) == (self.minibatch_time is None):
            raise ValueError(
                "the work must be given once: minibatch_time, or work_slow and work_fast"
            )
        if self.minibatch_time == 0:
            raise ValueError("minibatch_time must be greater than 0")
        if self.bandwidth_mbps == 0:
            raise ValueError("bandwidth_mbps must be greater than 0")
        return self

    def works(self, slot_hours: float) -> tuple[Fraction, Fraction]:
        """(Omega_j / p^0_j, Omega_j / p^1_j) by (1), worker-slots."""
        if self.work_slow is not None and self.work_fast is not None:
            return self.work_slow, self.work_fast
        assert self.minibatch_time is not None
        passes = self.epochs * self.num_chunks * self.minibatches_per_chunk
        here = self.minibatch_time + self.update_time
        seconds = 16 * self.gradient_size_mb / self.bandwidth_mbps
        return passes * (here + seconds / (3600 * exactly(slot_hours))), passes * here


class ServerDocument(Document):
    """One server: an edge server, or the cloud."""

    workers: list[Capacity | None] = Field(
        description="workers of every type W_su; null is unlimited"
    )
    parameter_servers: list[Capacity | None] = Field(
        description="parameter servers of every type P_sv; null is unlimited"
    )


class InstanceDocument(Document):
    """An edge-cloud system and the jobs that arrive at it."""

    format: Literal["optsched/batch/instance"] = "optsched/batch/instance"
    version: Literal[1] = 1
    slot_hours: Positive = Field(1.0, description="length of one slot, in hours")
    horizon: Count = Field(100, description="time span T of arrivals and prices, no deadline")
    worker_price_cap: Positive = Field(1.0, description="upper bound of unit prices F_1")
    ps_price_cap: Positive = Field(1.0, description="upper bound of unit prices F_2")
    cloud_index: Index | None = Field(None, description="which server is the cloud")
    servers: list[ServerDocument] = Field(min_length=1)
    jobs: list[JobDocument] = Field(min_length=1)
