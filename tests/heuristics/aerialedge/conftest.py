"""The worked example of five tasks."""

import pytest

from formulations.aerialedge.instance import Instance


@pytest.fixture(scope="session")
def five() -> Instance:
    """Five tasks, four nodes of two cores and three GiB; edges 1-2, 1-3, 2-3, 4-5."""
    return Instance.build(
        demand=[[1, 1], [0.5, 2], [1, 1], [0.5, 0.5], [1, 0.5]],
        capacity=[[2, 3]] * 4,
        exec_time=[10, 20, 30, 40, 50],
        edges=[(0, 1), (0, 2), (1, 2), (3, 4)],
    )
