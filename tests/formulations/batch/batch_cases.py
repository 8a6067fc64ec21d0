"""Instances that the tests of this paper share."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from formulations.batch.generator import tiny
from formulations.batch.instance import Instance


def worked_example(**changes: Any) -> Instance:
    """Two edge servers and the cloud; three jobs whose optimum is 4."""
    fields: dict[str, Any] = {
        "worker_capacity": [[4], [1], [np.inf]],
        "ps_capacity": [[2], [1], [np.inf]],
        "release_slot": [1, 1, 2],
        "num_chunks": [2, 4, 3],
        "work_slow": [4, 8, 6],
        "work_fast": [2, 4, 3],
        "upload_delay": [1, 1, 3],
        "horizon": 8,
        "cloud_index": 2,
    }
    return Instance.build(**{**fields, **changes})


@st.composite
def tiny_instances(draw: st.DrawFn, cloud: bool | None = None, **options: Any) -> Instance:
    """Contended instances of two or three jobs, one to three edge servers, one or two types."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    there = draw(st.booleans()) if cloud is None else cloud
    return tiny(rng, types=draw(st.integers(1, 2)), cloud=there, **options)
