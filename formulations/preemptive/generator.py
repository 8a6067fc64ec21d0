"""Random instances with the paper's parameter ranges (Section V), and instances from a trace.

Numbers are drawn uniformly from the ranges below, both ends included. What the paper leaves open
is an option with a stated default.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import repeat
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from formulations.common.traces import Machines, TraceJobs
from formulations.preemptive.instance import (
    Floats,
    Instance,
    Integers,
    JobDocument,
    chunk_times,
)
from optsched.instances.document import LARGEST_INDEX, Document, Size, validated
from optsched.instances.streams import integer_columns, integer_table, streams
from optsched.problem.calls import Positive

MODELS = {
    "ResNet-50": (27, 58),
    "ResNet-101": (27, 58),
    "GoogLeNet": (115, 58),
    "LeNet": (115, 58),
    "AlexNet": (60, 58),
    "Inception-BN": (60, 58),
}
"""Chunks D_j and mini-batches per chunk B_j of each model (Table II)."""

EPOCHS = (20, 60)
"""E_j."""
BATCH_COMPUTE_TIME = (0.001, 0.05)
"""m_j, hours."""
PS_UPDATE_TIME = (10.0, 100.0)
"""G_j, milliseconds."""
GRADIENT_SIZE = (30.0, 575.0)
"""q_j, 10^6 bytes."""
BANDWIDTH = (100.0, 5120.0)
"""b_j, Mbit/s."""
EDGE_DELAY = (1, 4)
"""Delta_js, slots."""
CLOUD_DELAY = (10, 15)
"""Delta_jc, slots."""

PHILLY_MACHINES = {8: 231, 2: 321}
"""GPUs of a machine: number of such machines in Microsoft's Philly cluster."""
PHILLY_JOBS = {1: 66960, 2: 1406, 4: 1646, 8: 1368, 12: 7, 16: 141, 24: 6, 32: 36}
"""GPUs of a job: jobs in the Philly trace from 2017-09-04 to 2017-11-26."""

DEFAULT_SPAN = 168
"""Slots over which jobs arrive: one week."""


class SystemOptions(Document):
    """What random and trace-driven instances have in common."""

    types: Size = Field(9, description="worker types, and as many parameter-server types")
    delay_model: Literal["job", "server"] = Field(
        "job", description="delays drawn per job and server, or per server only"
    )
    time_scale: Positive = Field(
        1.0, description="factor of the compute time m_j and of the communication time"
    )
    ps_per_worker: Annotated[int, Field(ge=0, le=100)] = Field(
        2, description="edge parameter servers of a server, per worker of it"
    )


class GeneratorOptions(SystemOptions):
    """Options of ``generate``."""

    jobs: Size = Field(10, description="jobs")
    servers: Size = Field(10, description="edge servers")
    span: Size | None = Field(
        None, description=f"slots over which jobs arrive; {DEFAULT_SPAN} if nothing is said"
    )
    jobs_per_slot: Positive | None = Field(
        None, description="mean arrivals per slot, in place of a span"
    )
    machines: tuple[Size, ...] | None = Field(
        None,
        min_length=1,
        description="GPUs (workers) of the machines that servers are drawn from; "
        "by default Philly's: 231 with 8, 321 with 2",
    )
    rounded: bool = Field(True, description="round chunk times up to whole slots")

    @model_validator(mode="after")
    def _span_is_given_once(self) -> Self:
        if self.span is not None and self.jobs_per_slot is not None:
            raise ValueError("span and jobs_per_slot exclude each other")
        if self.jobs_per_slot is not None and self.jobs / self.jobs_per_slot > LARGEST_INDEX:
            raise ValueError(f"jobs / jobs_per_slot is a number of slots <= {LARGEST_INDEX}")
        return self

    @property
    def arrival_span(self) -> int:
        """Slots over which jobs arrive."""
        if self.jobs_per_slot is not None:
            return max(1, round(self.jobs / self.jobs_per_slot))
        return self.span or DEFAULT_SPAN


class TraceOptions(SystemOptions):
    """Options of ``from_trace``."""

    calibrate: Literal["duration"] | None = Field(
        None, description="duration: choose E_j B_j so that D_j p^0_j = GPUs x duration"
    )
    rounded: bool = Field(False, description="round chunk times up to whole slots")


class TinyOptions(Document):
    """Options of ``tiny``."""

    jobs: Annotated[int, Field(ge=1, le=100)] | None = Field(
        None, description="jobs; 2 to 6 if not given"
    )
    types: Annotated[int, Field(ge=1, le=10)] = Field(1, description="worker and PS types")
    delay_model: Literal["job", "server"] = Field(
        "job", description="delays drawn per job and server, or per server only"
    )
    cloud: bool = Field(True, description="whether jobs may run in the cloud")


def generate(rng: np.random.Generator, **options: Any) -> Instance:
    """Draw an instance of the paper's simulations.

    Jobs and servers come from separate random streams: one seed gives the same jobs whatever the
    servers, the first servers whatever their number, and over the same span fewer jobs are some
    of more.

    Args:
        rng: source of all randomness.
        options: the fields of ``GeneratorOptions``.

    Returns:
        Jobs in order of release, r_j in 1..span. Release times and delays are whole slots; so are
        chunk times if rounded, and if not the instance keeps the physical parameters.

    Raises:
        InputError: an option is unknown or out of range.
    """
    chosen = validated(GeneratorOptions, options)
    of_release, of_machines, of_gangs, rest = streams(rng, 4)
    release = of_release.integers(1, chosen.arrival_span, chosen.jobs, endpoint=True)
    first = np.argsort(release, kind="stable")
    machines = chosen.machines or _spelled_out(PHILLY_MACHINES)
    gpus = of_machines.choice(machines, chosen.servers)
    gang = of_gangs.choice(_spelled_out(PHILLY_JOBS), chosen.jobs)[first]
    chunks, physical, system = _draw(streams(rest, 16), first, gpus, chosen)
    slow, fast = _speed(physical)
    instance = Instance.build(
        release_time=release[first],
        num_chunks=chunks,
        chunk_time_slow=slow,
        chunk_time_fast=fast,
        gang_size=np.minimum(gang, chunks),
        **system,
    )
    if chosen.rounded:
        return instance.rounded()
    return replace(instance, jobs_document=_documents(instance, physical))


def from_trace(
    trace: TraceJobs, machines: Machines, rng: np.random.Generator, **options: Any
) -> Instance:
    """Turn the jobs and machines of a trace into an instance, one slot an hour.

    A job is released in its slot of an hour (``TraceJobs.release_slots``) and wants a gang of as
    many workers as it had GPUs, at most D_j; a machine is an edge server with a worker per
    GPU. What a trace does not know is drawn as in ``generate``.

    Args:
        trace: at least one job.
        machines: the edge servers.
        rng: source of all randomness.
        options: the fields of ``TraceOptions``.

    Raises:
        InputError: an option is unknown or out of range, or the trace is empty.
    """
    chosen = validated(TraceOptions, options)
    release, jobs = trace.release_slots(), len(trace)
    chunks, physical, system = _draw(repeat(rng), np.arange(jobs), machines.gpus, chosen)
    slow, fast = _speed(physical)
    if chosen.calibrate == "duration":
        share = fast / slow
        slow = trace.gpus * trace.duration / 3600 / chunks
        fast = slow * share
    instance = Instance.build(
        release_time=release,
        num_chunks=chunks,
        chunk_time_slow=slow,
        chunk_time_fast=fast,
        gang_size=np.minimum(trace.gpus, chunks),
        **system,
    )
    return instance.rounded() if chosen.rounded else instance


def tiny(rng: np.random.Generator, **options: Any) -> Instance:
    """Draw a contended integral instance small enough to be solved by enumeration.

    Two edge servers with one or two workers and up to two parameter servers each; D_j <= 3,
    p^1_j <= 3, p^0_j <= p^1_j + 3, edge delays 0 to 3 and cloud delays 8 to 16 slots.

    Args:
        rng: source of all randomness.
        options: the fields of ``TinyOptions``.

    Raises:
        InputError: an option is unknown or out of range.
    """
    chosen = validated(TinyOptions, options)
    jobs = chosen.jobs or int(rng.integers(2, 6, endpoint=True))
    workers = rng.integers(1, 2, 2, endpoint=True)
    parameter_servers = rng.integers(0, 2, 2, endpoint=True)
    worker_type = rng.integers(0, chosen.types, workers.sum())
    # without the cloud every job needs a worker of its type
    wanted = range(chosen.types) if chosen.cloud else worker_type
    chunks = rng.integers(1, 3, jobs, endpoint=True)
    fast = rng.integers(1, 3, jobs, endpoint=True)
    rows = jobs if chosen.delay_model == "job" else 1
    edge = rng.integers(0, 3, (rows, 2), endpoint=True).astype(np.float64)
    cloud = rng.integers(8, 16, rows, endpoint=True).astype(np.float64)
    return Instance.build(
        release_time=np.sort(rng.integers(1, 3, jobs, endpoint=True)),
        num_chunks=chunks,
        chunk_time_slow=fast + rng.integers(0, 3, jobs, endpoint=True),
        chunk_time_fast=fast,
        upload_delay_edge=np.broadcast_to(edge, (jobs, 2)),
        upload_delay_cloud=np.broadcast_to(cloud, jobs) if chosen.cloud else np.inf,
        worker_server=np.repeat([0, 1], workers),
        worker_type=worker_type,
        ps_server=np.repeat([0, 1], parameter_servers),
        ps_type=rng.integers(0, chosen.types, parameter_servers.sum()),
        job_worker_type=rng.choice(wanted, jobs),
        job_ps_type=rng.integers(0, chosen.types, jobs),
        gang_size=rng.integers(1, chunks, endpoint=True),
    )


def _spelled_out(histogram: dict[int, int]) -> Integers:
    """Every value as often as it was counted."""
    return np.repeat(list(histogram), list(histogram.values()))


def _draw(
    columns: Iterable[np.random.Generator],
    first: Integers,
    gpus: Integers,
    options: SystemOptions,
) -> tuple[Integers, dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """What is drawn whether or not there is a trace.

    Args:
        columns: source of each column: separate streams, or one for all where a trace says
            which jobs meet which servers.
        first: the jobs in the order of the columns, as they were drawn.
        gpus: of every server.
        options: ranges and types.

    Returns:
        D_j; the other job parameters, under the names of instance files; and the system with the
        jobs' types and delays, under the names of ``Instance.build``.
    """
    jobs, own = len(first), iter(columns)

    def uniform(bounds: tuple[float, float]) -> Floats:
        return next(own).uniform(*bounds, jobs)[first]

    chunks, batches = next(own).choice(list(MODELS.values()), jobs)[first].T
    physical = {
        "num_epochs": next(own).integers(*EPOCHS, jobs, endpoint=True)[first],
        "batches_per_chunk": batches,
        "batch_compute_time": uniform(BATCH_COMPUTE_TIME) * options.time_scale,
        "ps_update_time": uniform(PS_UPDATE_TIME),
        # communication time is proportional to the size of the gradients
        "gradient_size_mb": uniform(GRADIENT_SIZE) * options.time_scale,
        "bandwidth_mbps": uniform(BANDWIDTH),
    }
    servers = np.arange(len(gpus))
    worker_server = np.repeat(servers, gpus)
    ps_server = np.repeat(servers, gpus * options.ps_per_worker)
    rows = jobs if options.delay_model == "job" else 1
    draw = integer_columns if isinstance(columns, list) else integer_table
    edge = draw(next(own), EDGE_DELAY, rows, len(gpus)).astype(np.int8)  # a trace has millions
    cloud = next(own).integers(*CLOUD_DELAY, rows, endpoint=True).astype(np.float64)
    every = first if options.delay_model == "job" else np.zeros(jobs, dtype=np.int64)
    return (
        chunks,
        physical,
        {
            "upload_delay_edge": edge[every],
            "upload_delay_cloud": cloud[every],
            "worker_server": worker_server,
            "worker_type": next(own).integers(0, options.types, len(worker_server)),
            "ps_server": ps_server,
            "ps_type": next(own).integers(0, options.types, len(ps_server)),
            "job_worker_type": next(own).integers(0, options.types, jobs)[first],
            "job_ps_type": next(own).integers(0, options.types, jobs)[first],
        },
    )


def _speed(physical: dict[str, NDArray[Any]]) -> tuple[Floats, Floats]:
    """(p^0_j, p^1_j) in slots of one hour."""
    return chunk_times(
        num_batches=physical["num_epochs"] * physical["batches_per_chunk"],
        batch_compute_time=physical["batch_compute_time"],
        ps_update_time=physical["ps_update_time"],
        gradient_size_mb=physical["gradient_size_mb"],
        bandwidth_mbps=physical["bandwidth_mbps"],
    )


def _documents(instance: Instance, physical: dict[str, NDArray[Any]]) -> tuple[Document, ...]:
    """The jobs as files show them when their speed comes from physical parameters."""
    columns = {name: column.tolist() for name, column in physical.items()} | {
        "release_time": instance.release_time.tolist(),
        "num_chunks": instance.num_chunks.tolist(),
        "upload_delay_edge": instance.upload_delay_edge.tolist(),
        "upload_delay_cloud": instance.upload_delay_cloud.tolist(),
        "worker_type": instance.job_worker_type.tolist(),
        "ps_type": instance.job_ps_type.tolist(),
        "gang_size": instance.gang_size.tolist(),
    }
    return tuple(
        JobDocument.model_validate({name: column[j] for name, column in columns.items()})
        for j in range(instance.jobs)
    )


CHUNK_STORAGE = (0.5, 2.0)
"""u_j, GB: uniform; the paper gives no sizes."""


class StorageOptions(GeneratorOptions):
    """Options of ``generate_with_storage``."""

    room: Positive = Field(
        4.0, description="chunks of mean size that fit on a server, per worker of it"
    )


def generate_with_storage(rng: np.random.Generator, **options: Any) -> Instance:
    """An instance of ``generator.generate`` with chunk sizes and storage capacities.

    A server's capacity U_s grows with its workers. One seed gives the same jobs as ``generate``.

    Args:
        rng: source of all randomness.
        options: the fields of ``StorageOptions``.

    Raises:
        InputError: an option is unknown or out of range.
    """
    chosen = validated(StorageOptions, options)
    instance = generate(rng, **{k: v for k, v in options.items() if k != "room"})
    size = rng.uniform(*CHUNK_STORAGE, instance.jobs).round(3)
    workers = np.bincount(instance.worker_server, minlength=instance.edge_servers)
    capacity = workers.astype(np.float64) * (chosen.room * sum(CHUNK_STORAGE) / 2)
    documents = instance.jobs_document
    if documents is not None:
        documents = tuple(
            job.model_copy(update={"chunk_storage": u})
            for job, u in zip(documents, size.tolist(), strict=True)
        )
    return replace(instance, chunk_storage=size, storage_capacity=capacity, jobs_document=documents)
