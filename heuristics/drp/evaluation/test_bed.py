"""The paper's test-bed (Section 6), simulated: training times by (2) to (4), Table 2 for the radio.

Four machines hold data, four train. A server shares what it has equally among the jobs whose data
it has collected, so that none of it idles while there is work: "allocating the currently available
resources". Not in the paper, and assumed: the work per image (three passes of two operations per
multiply-add of a network with two convolutions, or of a linear machine), how long training may
take, and that data of all jobs are sent at once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from formulations.drp.instance import Floats, Instance, Integers
from heuristics.drp.r_dr import r_dr
from optsched.instances.streams import streams
from optsched.study.sweep import Scale, Sweep

LATENCY = (0.560, 0.564, 0.653, 0.722)
"""Table 2, seconds per MB sent to each server."""
RSSI = (-35.0, -36.0, -47.0, -65.0)
"""Table 2, dBm."""
FADING = 8.0
"""dB, standard deviation of what walls and distance add to the strength of a signal; assumed."""
BANDWIDTH = 1e9
"""Bandwidth of each server, inbound and outbound, bit/s."""
COMPUTE = 70e9
"""FLOP/s of each server: so much that 22 jobs take about an hour, as Section 6.2 says."""
SERVERS = len(LATENCY)
PARTS = 5
"""A data set has five parts; four of them lie at the data nodes."""
IMAGES_PER_BATCH, EPOCHS = 64, 20
SYNC_PERIOD = (3, 8)
"""E_k, as in the simulations of Section 5."""
SIZES = (14, 16, 18, 20, 22)
"""Jobs."""


class Prototype(NamedTuple):
    """What a job trains on what."""

    megabytes: float
    """The data set."""
    images: int
    multiply_adds: float
    """Multiply-adds of one image, forward."""
    parameters: float


PROTOTYPES = (
    Prototype(52, 70_000, 12.0e6, 1.20e6),
    Prototype(177, 60_000, 16.9e6, 1.63e6),
    Prototype(52, 70_000, 7.8e3, 7.9e3),
    Prototype(177, 60_000, 30.7e3, 30.7e3),
)
"""A convolutional network, then a linear support vector machine, on MNIST and CIFAR-10."""


class Times(NamedTuple):
    """Times of each job on each server, seconds, shape (jobs, servers)."""

    compute: Floats
    communication: Floats

    @property
    def total(self) -> Floats:
        """(4)."""
        return self.compute + self.communication


@dataclass(frozen=True)
class Requests:
    """Jobs submitted together."""

    kind: Integers
    """Index of a job in ``PROTOTYPES``, shape (jobs,)."""
    sync_period: Integers
    deadline_s: float = 1.0
    """For the training of each."""
    comm_share: float = 0.5
    """Share of the deadline that is for communication."""

    @classmethod
    def draw(cls, rng: np.random.Generator, jobs: int, load: float) -> Requests:
        """Jobs drawn among the prototypes; the list of more begins with that of fewer.

        Args:
            rng: source of all randomness.
            jobs: how many.
            load: share of the deadline in which four equally busy servers could do all the work,
                in (0, 1).
        """
        of_kind, of_period = streams(rng, 2)
        drawn = cls(
            of_kind.integers(0, len(PROTOTYPES), jobs),
            of_period.integers(*SYNC_PERIOD, jobs, endpoint=True),
        )
        instance = drawn.instance(np.arange(jobs))
        alone = seconds(instance, np.zeros(instance.num_data_nodes, dtype=np.int64))
        total = float(alone.total.sum())
        share = float(alone.communication.sum()) / total
        return replace(drawn, deadline_s=total / SERVERS / load, comm_share=share)

    def instance(self, jobs: Integers) -> Instance:
        """Some of them, each with a part of its data at every data node."""
        kinds = [PROTOTYPES[at] for at in self.kind[jobs]]
        megabytes, images, work, parameters = np.array(kinds).T
        return Instance.build(
            node_job=np.repeat(np.arange(len(jobs)), SERVERS),
            node_rate_bps=8e6 / np.mean(LATENCY),
            node_data_bytes=np.repeat(megabytes * 1e6 / PARTS, SERVERS),
            node_servers=[list(range(SERVERS))] * (SERVERS * len(jobs)),
            job_batch_bytes=IMAGES_PER_BATCH * megabytes * 1e6 / images,
            job_flops_per_batch=6 * IMAGES_PER_BATCH * work,
            job_model_bytes=4 * parameters,
            job_sync_period=self.sync_period[jobs],
            job_epochs=EPOCHS,
            job_deadline_s=np.full(len(jobs), self.deadline_s),
            server_inbound_bps=np.full(SERVERS, BANDWIDTH),
            server_compute_flops=COMPUTE,
            server_outbound_bps=BANDWIDTH,
            comm_share=self.comm_share,
        )


def seconds(instance: Instance, assoc: Integers) -> Times:
    """(2) and (3) of each job on each server that is its alone.

    Args:
        instance: the jobs.
        assoc: server of each data node, shape (nodes,); of a job that waits ``NO_SERVER``.
    """
    data = np.zeros((instance.num_jobs, instance.num_servers))
    at = assoc >= 0
    np.add.at(data, (instance.node_job[at], assoc[at]), instance.node_data_bytes[at])
    compute = data * instance.flop_per_byte[:, None] / instance.server_compute_flops
    communication = data * instance.bit_per_byte[:, None] / instance.server_outbound_bps
    return Times(compute, communication)


def shared(arrival: Floats, work: Floats) -> Floats:
    """When tasks end on one server that serves those present equally.

    Args:
        arrival: seconds, shape (tasks,).
        work: seconds on a server that is the task's alone.

    Example:
        >>> shared(np.array([0.0, 1.0]), np.array([2.0, 2.0]))
        array([3., 4.])
    """
    left, end = work.astype(float), np.full(len(work), np.nan)
    now = 0.0
    while np.isnan(end).any():
        waiting = np.isnan(end)
        present = waiting & (arrival <= now)
        later = arrival[waiting & ~present].min(initial=np.inf)
        if not present.any():
            now = later
            continue
        step = min(left[present].min() * present.sum(), later - now)
        left[present] -= step / present.sum()
        now = later if step == later - now else now + step
        end[present & (left <= 1e-12 * work)] = now
    return end


def completion_times(instance: Instance, assoc: Integers) -> Floats:
    """(4) of every job, seconds from the decision on: its data sent, its servers shared.

    Args:
        instance: the jobs.
        assoc: server of each data node, shape (nodes,); of a job that waits ``NO_SERVER``, and the
            job has no completion time (nan).
    """
    work = seconds(instance, assoc).total
    sent = np.array(LATENCY)[assoc] * instance.node_data_bytes / 1e6
    ends = np.full(instance.num_jobs, np.nan)
    for server in range(instance.num_servers):
        arrival = np.zeros(instance.num_jobs)
        here = assoc == server
        np.maximum.at(arrival, instance.node_job[here], sent[here])
        jobs = np.flatnonzero(work[:, server])
        ends[jobs] = np.fmax(ends[jobs], shared(arrival[jobs], work[jobs, server]))
    return ends


class Course(NamedTuple):
    """What came of a method."""

    ends: Floats
    """Completion time of every job, seconds."""
    busy: Floats
    """Seconds of work of each server."""
    held: Floats
    """Data that each server holds, MB, in the mean over the time until the last job is done."""


def held(instance: Instance, assoc: Integers) -> Floats:
    """Data that each server collects, MB, and keeps until the jobs decided together are done."""
    there = assoc >= 0
    megabytes = instance.node_data_bytes[there] / 1e6
    total: Floats = np.bincount(assoc[there], megabytes, SERVERS).astype(np.float64)
    return total


def by_r_dr(requests: Requests, rng: np.random.Generator) -> Course:
    """What comes of R-DR.

    Jobs not admitted wait until all that were are done (Section 2.2).
    """
    jobs = len(requests.kind)
    ends, busy, memory = np.full(jobs, np.nan), np.zeros(SERVERS), np.zeros(SERVERS)
    clock = 0.0
    while np.isnan(ends).any():
        left = np.flatnonzero(np.isnan(ends))
        instance = requests.instance(left)
        made = r_dr(instance, rng)
        if not made.admit.any():
            raise ValueError("a job does not fit into the empty test-bed")
        done = clock + completion_times(instance, made.assoc)
        busy += seconds(instance, made.assoc).total.sum(axis=0)
        ends[left] = done
        memory += (np.nanmax(ends) - clock) * held(instance, made.assoc)
        clock = np.nanmax(ends)
    return Course(ends, busy, memory / clock)


def measure_test_bed(*, seed: int, load: float) -> list[dict[str, Any]]:
    """Every number of jobs under R-DR, at random, and at the servers that are heard best.

    Times are in seconds, those of R-DR's decisions CPU time; shares in per cent.

    Args:
        seed: of the jobs and of the methods.
        load: see ``Requests.draw``.
    """
    return [row for jobs in SIZES for row in _measured(jobs, seed, load)]


def courses(jobs: int, seed: int, load: float) -> tuple[dict[str, Course], float]:
    """Return what comes of every method, and the CPU seconds that R-DR takes to decide."""
    requests = Requests.draw(np.random.default_rng(seed), jobs, load)
    instance = requests.instance(np.arange(jobs))
    of_random, of_fading, of_r_dr = streams(np.random.default_rng(seed), 3)
    nodes = instance.num_data_nodes
    heard = np.array(RSSI) + of_fading.normal(0.0, FADING, (nodes, SERVERS))
    associations = {
        "random": of_random.integers(0, SERVERS, nodes),
        "nearest strongest": np.full(nodes, int(np.argmax(RSSI))),
        "nearest fading": heard.argmax(axis=1),
    }
    began = time.process_time()
    found = {"r_dr": by_r_dr(requests, of_r_dr)}
    took = time.process_time() - began
    for name, assoc in associations.items():
        busy = seconds(instance, assoc).total.sum(axis=0)
        found[name] = Course(completion_times(instance, assoc), busy, held(instance, assoc))
    return found, took


def _measured(jobs: int, seed: int, load: float) -> list[dict[str, Any]]:
    found, took = courses(jobs, seed, load)
    end = found["r_dr"].ends.max()
    return [
        {
            "jobs": jobs, "method": name, "last": ends.max(), "mean": ends.mean(),
            "done_halfway": 100 * (ends <= end / 2).mean(),
            "done_at_end": 100 * (ends <= end).mean(),
            "least_busy": 100 * busy.min() / ends.max(),
            "gpu_spread": 100 * (busy / ends.max()).std(),
            "memory_spread": memory.std(),
            "took": took if name == "r_dr" else np.nan,
        }
        for name, (ends, busy, memory) in found.items()
    ]  # fmt: skip


def _tasks(scale: Scale) -> list[dict[str, Any]]:
    return [{"seed": seed, "load": 0.9} for seed in range(50 if scale == "full" else 10)]


def by_jobs(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean seconds until the last job is done, by number of jobs."""
    return frame.pivot_table(index="jobs", columns="method", values="last").round(0)


TEST_BED = Sweep("drp_test_bed", _tasks, measure_test_bed, by_jobs)
