"""Upload delays that stand for "never": no answer and no size depends on how large they are."""

from dataclasses import replace

import numpy as np
import pytest

from formulations.batch import PROBLEM
from formulations.batch.domain_reduction import last_slots, limited_end
from formulations.batch.instance import Instance


def near_and_far(near: int, far: int) -> Instance:
    """Two jobs of 4 slots of work each; an edge server with two workers, and the cloud."""
    return Instance.build(
        worker_capacity=[[2], [np.inf]],
        ps_capacity=[[1], [np.inf]],
        cloud_index=1,
        release_slot=[1, 1],
        num_chunks=[2, 2],
        work_slow=[4, 4],
        work_fast=[4, 4],
        upload_delay=[[near, far], [near, far]],
        worker_type=[0, 0],
        ps_type=[0, 0],
    )


def test_all_work_follows_the_last_upload_that_may_be_waited_for() -> None:
    assert limited_end(near_and_far(0, 9)) == 8  # the cloud is reached in slot 10
    assert limited_end(near_and_far(0, 8)) == 8  # in slot 9: too late by one
    assert limited_end(near_and_far(0, 7)) == 8 + 8 - 1  # in slot 8
    assert limited_end(near_and_far(0, 9), known=5) == 10 + 8 - 1
    assert last_slots(near_and_far(0, 10**9)).tolist() == [8, 8]


def test_a_server_that_no_job_can_use_opens_no_slot() -> None:
    instance = replace(near_and_far(0, 10**9), worker_capacity=np.array([[2.0], [0.0]]))
    instance = replace(instance, ps_capacity=np.array([[1.0], [0.0]]), cloud_index=None)
    assert last_slots(instance).tolist() == [8, 8]


@pytest.mark.parametrize("name", list(PROBLEM.formulations))
def test_a_delay_that_is_never_waited_for_changes_no_optimum(name: str) -> None:
    meant = PROBLEM.solve(name, near_and_far(1, 20)).solution
    for far in (10**4, 10**9):
        found = PROBLEM.solve(name, near_and_far(1, far)).solution
        assert (found.status, found.objective) == (meant.status, pytest.approx(meant.objective))
