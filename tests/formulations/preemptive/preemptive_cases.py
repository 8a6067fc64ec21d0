"""Tiny random instances of every kind that the models tell apart."""

from collections.abc import Sequence
from dataclasses import replace
from math import comb, prod
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from formulations.preemptive.generator import tiny
from formulations.preemptive.instance import Instance

OPTIMUM = 1e-6
"""Absolute difference allowed between two optima."""


def examples(count: int) -> settings:
    """So many examples, the same ones every time: exact solving has rare instances that last."""
    return settings(max_examples=count, deadline=None, derandomize=True)


def worked_example(times: float = 1) -> Instance:
    """Jobs A, B, C on two servers of one worker and one parameter server each."""
    return Instance.build(
        release_time=[1, 1, 2],
        num_chunks=[3, 3, 1],
        chunk_time_slow=np.array([4, 3, 2]) * times,
        chunk_time_fast=np.array([2, 2, 1]) * times,
        upload_delay_edge=np.ones((3, 2)),
        upload_delay_cloud=4,
        worker_server=[0, 1],
        ps_server=[0, 1],
    )


@st.composite
def instances(
    draw: st.DrawFn,
    *,
    jobs: Sequence[int] = (2, 3),
    common_delay: bool = False,
    cloud: bool | None = None,
    fractional: bool = False,
    tables: bool = False,
    chunk_states: int | None = None,
) -> Instance:
    """Instances of the generator ``tiny``, the cloud now and then as near as the edge.

    Args:
        draw: given by hypothesis.
        jobs: numbers of jobs.
        common_delay: delays that do not depend on the job.
        cloud: whether jobs may run there; None: either.
        fractional: take something off chunk times and add it to releases and delays.
        tables: eligibility by table.
        chunk_states: most combinations of what may be left of every chunk.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    options: dict[str, Any] = {
        "jobs": draw(st.sampled_from(jobs)),
        "types": draw(st.integers(1, 2)),
        "delay_model": "server" if common_delay or draw(st.booleans()) else "job",
        "cloud": draw(st.booleans()) if cloud is None else cloud,
    }
    instance = tiny(rng, **options)
    while chunk_states is not None and _chunk_states(instance) > chunk_states:
        instance = tiny(rng, **options)
    closer = draw(st.sampled_from([0, 0, 5, 10]))
    changes: dict[str, Any] = {
        "upload_delay_cloud": np.maximum(1, instance.upload_delay_cloud - closer)
    }
    if tables:
        v = rng.random((instance.jobs, instance.workers)) < 0.7
        v[:, rng.integers(instance.workers)] = True
        changes["explicit_worker_eligible"] = v
        o = rng.random((instance.jobs, instance.parameter_servers)) < 0.7
        changes["explicit_ps_eligible"] = o
    if fractional:
        slow, fast = instance.chunk_time_slow, instance.chunk_time_fast
        cut = rng.integers(0, 10, instance.jobs) / 10
        changes["chunk_time_fast"] = fast - cut
        changes["chunk_time_slow"] = slow - cut * rng.integers(0, 2, instance.jobs)
        late = rng.integers(0, 3, instance.jobs) / 4
        changes["release_time"] = instance.release_time + late
        changes["upload_delay_edge"] = instance.upload_delay_edge + late[:, None]
    return replace(instance, **changes)


def _chunk_states(instance: Instance) -> int:
    pairs = zip(instance.num_chunks.tolist(), instance.chunk_time_slow.tolist(), strict=True)
    return prod(comb(chunks + int(time), chunks) for chunks, time in pairs)
