"""Tiny random instances whose servers hold only a few chunks."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from preemptive_cases import instances

from formulations.preemptive.instance import Instance


@st.composite
def stored_instances(draw: st.DrawFn, *, small: bool = False, **options) -> Instance:
    """Instances of ``preemptive_cases``, with chunk sizes of 0 to 2 GB on servers of 0 to 6 GB.

    Args:
        draw: given by hypothesis.
        small: at most two chunks per job, for what names every chunk.
        options: of ``instances``.
    """
    instance = draw(instances(**options))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    capacity = rng.choice([0.0, 1.0, 2.0, 3.0, 4.5, 6.0, np.inf], instance.edge_servers)
    changes = {
        "chunk_storage": rng.choice([0.0, 0.5, 1.0, 1.5, 2.0], instance.jobs),
        "storage_capacity": capacity,
    }
    if small:
        changes["num_chunks"] = np.minimum(instance.num_chunks, 2)
        changes["gang_size"] = np.ones(instance.jobs, dtype=np.int64)
    return replace(instance, **changes)


def two_servers(delay_cloud: float = 100.0, *, times: float = 1.0) -> Instance:
    """Two servers of one worker and room for one chunk each; job 1 may use the first only.

    At speed 2 with ``times=2``, job 0 fills the first server and job 1 must go to the cloud.
    """
    return Instance.build(
        release_time=[0, 1],
        num_chunks=1,
        chunk_time_slow=np.array([10, 1]) * times,
        upload_delay_edge=[[0, 1], [0, 0]],
        upload_delay_cloud=delay_cloud,
        worker_server=[0, 1],
        explicit_worker_eligible=np.array([[True, True], [True, False]]),
        chunk_storage=1,
        storage_capacity=[1, 1],
    )
