"""Random instances with the paper's parameter ranges (Section V), and instances from a trace.

Slots are hours. Whole numbers are drawn uniformly from the ranges below, both ends included;
times are whole micro-hours and milliseconds, so that durations are exact. What the paper leaves
open is an option with a stated default.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import repeat
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from formulations.batch.instance import Instance, Integers
from formulations.common.traces import Machines, TraceJobs
from optsched.instances.document import Document, Size, parse, validated
from optsched.instances.streams import integer_columns, integer_table, streams
from optsched.problem.calls import Positive

EPOCHS = (50, 100)
"""E_j."""
CHUNKS = (20, 50)
"""D_j."""
MINIBATCHES = (10, 50)
"""M_j."""
MINIBATCH_MICROHOURS = (1_000, 50_000)
"""n_j: 0.001 to 0.05 hours."""
UPDATE_MILLISECONDS = (10, 100)
"""H_j."""
GRADIENT_MB = (30, 575)
"""k_j."""
BANDWIDTH_MBPS = (100, 5120)
"""B_j: the workers' bandwidth, which is the smaller one."""
EDGE_DELAY = (1, 4)
"""Delta_js of edge servers, slots."""
CLOUD_DELAY = (10, 40)
"""Delta_js of the cloud, slots."""
WEIGHTS = (1, 5)
"""w_j where weights are drawn."""
MACHINES = (8, 8, 8, 2, 2)
"""GPUs of the machines that edge servers are drawn from."""


class SystemOptions(Document):
    """What random and trace-driven instances have in common."""

    types: Size = Field(9, description="worker types U, and as many parameter-server types V")
    cloud: bool = Field(True, description="whether there is a cloud, last in order")
    cloud_workers: Size | None = Field(
        None,
        description="workers of each type in the cloud, and as many parameter servers; "
        "unlimited if not given",
    )
    horizon: Size = Field(100, description="time span T of the prices, and of drawn arrivals")
    price_cap: Positive = Field(1.0, description="upper bounds of unit prices F_1 = F_2")
    weights: Literal["one", "uniform"] = Field(
        "one", description="w_j: all 1, or whole numbers drawn from 1 to 5"
    )
    time_scale: Positive = Field(
        1.0, description="factor of the mini-batch time n_j and of the communication time"
    )
    gradient_size_mb: Size | None = Field(
        None, description="k_j of every job, in 10^6 bytes; drawn from 30 to 575 if not given"
    )


class GeneratorOptions(SystemOptions):
    """Options of ``generate``."""

    jobs: Size = Field(10, description="jobs J")
    servers: Size = Field(10, description="edge servers; the cloud is one more")
    machines: tuple[Size, ...] = Field(
        MACHINES,
        min_length=1,
        description="GPUs (workers, and as many parameter servers) of the machines that edge "
        "servers are drawn from",
    )


class TinyOptions(Document):
    """Options of ``tiny``."""

    jobs: Annotated[int, Field(ge=1, le=10)] | None = Field(
        None, description="jobs; 2 or 3 if not given"
    )
    servers: Annotated[int, Field(ge=1, le=5)] | None = Field(
        None, description="edge servers; 1 to 3 if not given"
    )
    types: Annotated[int, Field(ge=1, le=3)] = Field(1, description="worker and PS types")
    cloud: bool = Field(True, description="whether there is an unlimited cloud")


def generate(rng: np.random.Generator, **options: Any) -> Instance:
    """Draw an instance of the paper's simulations; jobs in order of release, a_j in 1..T/1.5.

    Jobs and servers come from separate random streams: one seed gives the same jobs whatever the
    servers, the first servers whatever their number, and fewer jobs are some of more.

    Args:
        rng: source of all randomness.
        options: the fields of ``GeneratorOptions``.

    Raises:
        InputError: an option is unknown or out of range.
    """
    chosen = validated(GeneratorOptions, options)
    latest = max(1, int(chosen.horizon / 1.5))
    of_release, of_machines, rest = streams(rng, 3)
    release = of_release.integers(1, latest, chosen.jobs, endpoint=True)
    gpus = of_machines.choice(chosen.machines, chosen.servers)
    return _instance(streams(rest, 16), release, gpus, chosen)


def from_trace(
    trace: TraceJobs, machines: Machines, rng: np.random.Generator, **options: Any
) -> Instance:
    """Turn the arrivals and machines of a trace into an instance.

    A job is released in its slot of an hour (``TraceJobs.release_slots``); a machine is an edge
    server with a worker and a parameter server per GPU, of random types. All else is drawn
    as in ``generate``.

    Args:
        trace: at least one job.
        machines: the edge servers.
        rng: source of all randomness.
        options: the fields of ``SystemOptions``.

    Raises:
        InputError: an option is unknown or out of range, or the trace is empty.
    """
    chosen = validated(SystemOptions, options)
    return _instance(repeat(rng), trace.release_slots(), machines.gpus, chosen)


def tiny(rng: np.random.Generator, **options: Any) -> Instance:
    """Draw a contended instance small enough to be solved by enumeration.

    Work of at most 10 worker-slots, D_j <= 4, up to four workers and two parameter servers of a
    type per edge server, delays 0 to 2 at the edge and 2 to 5 to the cloud.

    Args:
        rng: source of all randomness.
        options: the fields of ``TinyOptions``.

    Raises:
        InputError: an option is unknown or out of range.
    """
    chosen = validated(TinyOptions, options)
    jobs = chosen.jobs or int(rng.integers(2, 3, endpoint=True))
    edge = chosen.servers or int(rng.integers(1, 3, endpoint=True))
    kinds = chosen.types
    workers = rng.integers(0, 4, (edge, kinds), endpoint=True).astype(float)
    services = rng.integers(0, 2, (edge, kinds), endpoint=True).astype(float)
    # somewhere there is a worker and a parameter server of every type
    workers[rng.integers(edge), :] += 1 - np.minimum(workers.max(axis=0), 1)
    services[rng.integers(edge), :] += 1 - np.minimum(services.max(axis=0), 1)
    delay = rng.integers(0, 2, (jobs, edge), endpoint=True)
    if chosen.cloud:
        workers = np.vstack([workers, np.full(kinds, np.inf)])
        services = np.vstack([services, np.full(kinds, np.inf)])
        delay = np.hstack([delay, rng.integers(2, 5, (jobs, 1), endpoint=True)])
    fast = rng.integers(1, 8, jobs, endpoint=True)
    return Instance.build(
        worker_capacity=workers,
        ps_capacity=services,
        release_slot=np.sort(rng.integers(1, 4, jobs, endpoint=True)),
        num_chunks=rng.integers(1, 4, jobs, endpoint=True),
        work_slow=(fast + rng.integers(0, 6, jobs, endpoint=True)).tolist(),
        work_fast=fast.tolist(),
        worker_type=rng.integers(0, kinds, jobs),
        ps_type=rng.integers(0, kinds, jobs),
        upload_delay=delay,
        horizon=8,
        cloud_index=edge if chosen.cloud else None,
    )


def _instance(
    sources: Iterable[np.random.Generator],
    release: Integers,
    gpus: Integers,
    options: SystemOptions,
) -> Instance:
    """Draw the rest: every column from a separate stream, or all from one for a trace."""
    jobs, kinds = len(release), options.types
    own = iter(sources)

    def draw(bounds: tuple[int, int]) -> Integers:
        return next(own).integers(*bounds, jobs, endpoint=True)

    workers, services = (_typed(next(own), gpus, kinds) for _ in range(2))
    table = integer_columns if isinstance(sources, list) else integer_table
    delay = table(next(own), EDGE_DELAY, jobs, len(gpus))
    to_cloud = draw(CLOUD_DELAY)
    if options.cloud:
        delay = np.column_stack([delay, to_cloud])
    gradient = draw(GRADIENT_MB)
    if options.gradient_size_mb is not None:
        gradient = np.full(jobs, options.gradient_size_mb)
    first = np.argsort(release, kind="stable")
    columns = {
        "release_slot": release,
        "epochs": draw(EPOCHS),
        "num_chunks": draw(CHUNKS),
        "minibatches_per_chunk": draw(MINIBATCHES),
        "minibatch_time": draw(MINIBATCH_MICROHOURS),
        "update_time": draw(UPDATE_MILLISECONDS),
        "gradient_size_mb": gradient,
        "bandwidth_mbps": draw(BANDWIDTH_MBPS),
        "worker_type": draw((0, kinds - 1)),
        "ps_type": draw((0, kinds - 1)),
        "upload_delay": delay,
        "weight": draw(WEIGHTS) if options.weights == "uniform" else np.ones(jobs),
    }
    listed = {name: column[first].tolist() for name, column in columns.items()}
    scale = Fraction(repr(options.time_scale))
    units = {
        "minibatch_time": scale / 1_000_000,
        "update_time": Fraction(1, 3_600_000),
        "gradient_size_mb": scale,  # communication time is proportional to it
    }
    for name, unit in units.items():
        listed[name] = [value * unit for value in listed[name]]
    room = [options.cloud_workers] * kinds
    cloud = [{"workers": room, "parameter_servers": room}]
    document = {
        "horizon": options.horizon,
        "worker_price_cap": options.price_cap,
        "ps_price_cap": options.price_cap,
        "cloud_index": len(gpus) if options.cloud else None,
        "servers": [
            {"workers": w, "parameter_servers": p}
            for w, p in zip(workers.tolist(), services.tolist(), strict=True)
        ]
        + cloud * options.cloud,
        "jobs": [{name: column[j] for name, column in listed.items()} for j in range(jobs)],
    }
    return parse(Instance, document)


def _typed(rng: np.random.Generator, gpus: Integers, types: int) -> Integers:
    """Every unit of every machine with a random type, counted: shape (machines, types)."""
    machine = np.repeat(np.arange(len(gpus)), gpus)
    kind = rng.integers(0, types, len(machine))
    counts = np.bincount(machine * types + kind, minlength=len(gpus) * types)
    return counts.reshape(len(gpus), types)
