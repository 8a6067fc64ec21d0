"""Random instances with the paper's parameters (Section 5), and tiny ones for enumeration.

Every quantity comes from a separate stream: one seed gives the same servers whatever the jobs and
the profile, and the list of more jobs begins with that of fewer.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from formulations.drp.instance import Floats, Instance
from formulations.drp.loss import flops_for_loss
from formulations.drp.topology import Topology, draw_layout
from optsched.instances.document import Document, Size, validated
from optsched.instances.streams import streams
from optsched.problem.calls import Positive, Share

Distribution = Literal["uniform", "normal", "pareto"]
Profile = Literal["bandwidth_bound", "balanced", "physical"]

FLOPS_FACTOR: dict[str, float] = {"bandwidth_bound": 1.0, "balanced": 4.0, "physical": 120.0}
"""Multiply-adds of one image times this is the work per mini-batch: one forward image; the middle,
where inbound bandwidth and compute bind alike; 40 images forward and backward."""


class NeuralNetwork(NamedTuple):
    """One model that jobs train."""

    name: str
    megabytes: float
    """h_k, 10^6 bytes: four per parameter."""
    giga: float
    """Multiply-adds of one forward pass over a 224 x 224 image, 10^9."""


MODELS = (
    NeuralNetwork("DenseNet-121", 31.9, 2.90),
    NeuralNetwork("ResNet-18", 46.8, 1.82),
    NeuralNetwork("ResNet-34", 87.2, 3.68),
    NeuralNetwork("ResNet-50", 102.2, 4.13),
    NeuralNetwork("ResNet-101", 178.2, 7.87),
    NeuralNetwork("ResNet-152", 240.8, 11.60),
    NeuralNetwork("AlexNet", 244.4, 0.71),
    NeuralNetwork("VGG-16", 553.4, 15.47),
    NeuralNetwork("VGG-19", 574.7, 19.63),
)

RATE = (300e6, 360e6)
"""u_i, bit/s."""
SYNC_PERIOD = (3, 8)
"""E_k."""
DEADLINE = (3600.0, 7200.0)
"""tau_k, seconds."""
INBOUND = (8e9, 12e9)
"""r^d_j, bit/s."""
COMPUTE = 150e9
"""r^c_j, FLOP/s."""
OUTBOUND = 10e9
"""r^b_j, bit/s."""
STORAGE = (100e9, 200e9)
"""r^o_j, bytes."""
SERVICE_SIZE = (20e9, 40e9)
"""s^o_l, bytes."""
BATCH = 6e6
"""f_k, bytes."""
MEAN_DATA = 5e9
"""Bytes of a data node, by which C_min of (21) is the work of (2)."""
LOSS = (2.0, 4.0)
"""L_k of (21), nats, with alpha = e; not in the paper."""
LEAST_DATA = 0.1
"""GB at which the normal distribution of data amounts is cut off."""


class GeneratorOptions(Document):
    """Options of ``generate``."""

    jobs: Size = Field(20, description="jobs")
    topology: Topology = Field("hexagon", description="where servers and nodes stand")
    distribution: Distribution = Field("uniform", description="of the data amount per node")
    profile: Profile = Field(
        "balanced", description="work per mini-batch: which resource is the scarce one"
    )
    flops_factor: Positive | None = Field(
        None, description="work per mini-batch over one forward image; null is the profile's"
    )
    nodes_per_job: Size = Field(15, description="data nodes of a job")
    comm_share: Share = Field(0.5, description="epsilon of LP1 and LP2")
    services: Literal["jobs", "networks"] = Field(
        "jobs", description="one for each job, or one for each neural network that jobs train"
    )
    jobs_per_node: Size = Field(
        1, description="jobs that a sensor serves (Section 3.5), each by its own data node"
    )
    work: Literal["data", "loss"] = Field(
        "data", description="compute from the data by (2), or from the loss wanted by (21)"
    )


class TinyOptions(Document):
    """Options of ``tiny``."""

    jobs: Annotated[int, Field(ge=1, le=10)] = Field(3, description="jobs")
    servers: Annotated[int, Field(ge=1, le=10)] = Field(2, description="servers")
    most_nodes: Annotated[int, Field(ge=1, le=10)] = Field(2, description="most nodes of a job")
    storage: bool = Field(False, description="whether storage binds")
    shared_services: bool = Field(False, description="whether jobs may share a service")


def generate(rng: np.random.Generator, **options: Any) -> Instance:
    """Draw an instance of the paper's simulations.

    Args:
        rng: source of all randomness.
        options: the fields of ``GeneratorOptions``.

    Raises:
        InputError: an option is unknown or out of range.
    """
    chosen = validated(GeneratorOptions, options)
    jobs, sensors = chosen.jobs, -(-chosen.jobs // chosen.jobs_per_node) * chosen.nodes_per_job
    drawn = streams(rng, 16)
    own = iter(drawn)
    layout = draw_layout(chosen.topology, next(own), sensors)
    servers = len(layout.server_xy)
    of_job, of_place = np.divmod(np.arange(jobs * chosen.nodes_per_job), chosen.nodes_per_job)
    sensor = of_job // chosen.jobs_per_node * chosen.nodes_per_job + of_place
    rate = next(own).uniform(*RATE, sensors)[sensor]
    data = _data(next(own), chosen.distribution, sensors)[sensor] * 1e9
    model = next(own).integers(0, len(MODELS), jobs)
    service = model if chosen.services == "networks" else np.arange(jobs)
    factor = chosen.flops_factor or FLOPS_FACTOR[chosen.profile]
    flops = np.array([m.giga for m in MODELS])[model] * factor * 1e9
    if chosen.work == "loss":
        of_mean_data = flops * chosen.nodes_per_job * MEAN_DATA / BATCH
        loss = drawn[-1].uniform(*LOSS, jobs)
        flops = flops_for_loss(of_mean_data, np.e, loss, np.bincount(of_job, data) / BATCH)
    return Instance.build(
        node_job=of_job,
        node_rate_bps=rate,
        node_data_bytes=data,
        node_servers=[np.flatnonzero(layout.reach[at]).tolist() for at in sensor],
        job_model_bytes=np.array([m.megabytes for m in MODELS])[model] * 1e6,
        job_flops_per_batch=flops,
        job_batch_bytes=BATCH,
        job_sync_period=next(own).integers(*SYNC_PERIOD, jobs, endpoint=True),
        job_deadline_s=next(own).uniform(*DEADLINE, jobs),
        server_inbound_bps=next(own).uniform(*INBOUND, servers),
        server_compute_flops=COMPUTE,
        server_outbound_bps=OUTBOUND,
        server_storage_bytes=next(own).uniform(*STORAGE, servers),
        job_service=service,
        service_size_bytes=next(own).uniform(*SERVICE_SIZE, int(service.max()) + 1),
        comm_share=chosen.comm_share,
        node_xy=layout.node_xy[sensor],
        server_xy=layout.server_xy,
    )


def _data(rng: np.random.Generator, distribution: str, nodes: int) -> Floats:
    """d_i in GB: uniform 2 to 8, normal around 5, or Pareto from 2 on with shape 2."""
    if distribution == "uniform":
        return rng.uniform(2.0, 8.0, nodes)
    if distribution == "normal":
        return np.maximum(LEAST_DATA, rng.normal(5.0, 1.0, nodes))
    return 2.0 * (1.0 + rng.pareto(2.0, nodes))


def tiny(rng: np.random.Generator, **options: Any) -> Instance:
    """Draw a contended instance small enough to be solved by enumeration, in units of one.

    Args:
        rng: source of all randomness.
        options: the fields of ``TinyOptions``.

    Raises:
        InputError: an option is unknown or out of range.
    """
    chosen = validated(TinyOptions, options)
    jobs, servers = chosen.jobs, chosen.servers
    job = np.repeat(np.arange(jobs), rng.integers(1, chosen.most_nodes, jobs, endpoint=True))
    nodes = len(job)
    reach = rng.random((nodes, servers)) < 0.7
    reach[np.arange(nodes), rng.integers(0, servers, nodes)] = True
    services = rng.integers(0, jobs, jobs) if chosen.shared_services else np.arange(jobs)
    return Instance.build(
        node_job=job,
        node_rate_bps=rng.integers(1, 4, nodes),
        node_data_bytes=rng.uniform(0.5, 2.0, nodes),
        node_servers=[np.flatnonzero(row).tolist() for row in reach],
        job_flops_per_batch=rng.uniform(0.05, 0.6, jobs),
        job_model_bytes=rng.uniform(0.05, 0.6, jobs) / 8,
        job_sync_period=rng.integers(1, 2, jobs, endpoint=True),
        job_deadline_s=rng.uniform(0.7, 1.5, jobs),
        job_service=services,
        server_inbound_bps=rng.integers(3, 8, servers),
        server_compute_flops=rng.uniform(0.7, 1.5, servers),
        server_outbound_bps=rng.uniform(0.7, 1.5, servers),
        server_storage_bytes=rng.integers(2, 6, servers) if chosen.storage else np.inf,
        service_size_bytes=rng.integers(1, 4, jobs) if chosen.storage else np.zeros(jobs),
    )
