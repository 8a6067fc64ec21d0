"""Small random instances of the preemptive problem, as a hypothesis strategy."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from formulations.preemptive.instance import Instance

sys.path.insert(0, str(Path(__file__).parents[2] / "formulations" / "preemptive"))

import preemptive_cases

InstanceStrategy = Callable[..., st.SearchStrategy[Instance]]


@st.composite
def _instances(
    draw: st.DrawFn,
    *,
    common_delay: bool = False,
    parts: tuple[int, ...] = (1,),
    cloud: bool = True,
) -> Instance:
    part = draw(st.sampled_from(parts))  # every time is a multiple of 1 / part
    jobs = draw(st.integers(1, 7))
    servers = draw(st.integers(1, 3))
    worker_server = draw(st.lists(st.integers(0, servers - 1), min_size=1, max_size=4))
    ps_server = draw(st.lists(st.integers(0, servers - 1), max_size=3))
    types = draw(st.integers(1, 2)) if cloud else 1

    def whole(low: int, high: int, *shape: int) -> np.ndarray:
        size = int(np.prod(shape))
        values = draw(st.lists(st.integers(low, high), min_size=size, max_size=size))
        return np.array(values, dtype=float).reshape(shape)

    fast = whole(1, 6, jobs)
    delay = whole(0, 3, 1 if common_delay else jobs, servers)
    reach = whole(1, 12, jobs) if cloud else np.full(jobs, np.inf)
    return Instance.build(
        release_time=np.sort(whole(0, 9, jobs)) / part,
        num_chunks=whole(1, 4, jobs),
        chunk_time_fast=fast / part,
        chunk_time_slow=(fast + whole(0, 3, jobs)) / part,
        upload_delay_edge=np.broadcast_to(delay / part, (jobs, servers)),
        upload_delay_cloud=reach / part,
        worker_server=worker_server,
        worker_type=whole(0, types - 1, len(worker_server)),
        job_worker_type=whole(0, types - 1, jobs),
        ps_server=ps_server,
    )


@pytest.fixture(scope="session")
def instances() -> InstanceStrategy:
    """Strategy of up to 7 jobs on up to 4 workers.

    ``common_delay``: one delay per server. ``parts``: every time is a multiple of one over one
    of these. ``cloud=False``: no job may use the cloud.
    """
    return _instances


@pytest.fixture(scope="session")
def rng() -> np.random.Generator:
    """A generator that the deterministic variants never draw from."""
    return np.random.default_rng(0)


@pytest.fixture
def worked_example() -> Instance:
    """Two servers with one worker and one parameter server each; jobs A, B, C."""
    return preemptive_cases.worked_example()
