"""Large finite delays that stand for "never": no answer and no size depends on how large they are.

The cloud can be barred and a worker be not eligible; a delay that no schedule waits for says the
same.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import examples, instances

from formulations.preemptive import PROBLEM, STORAGE
from formulations.preemptive.instance import Instance

NEVER = (1e3, 1e6, 123456.5, 1e9, 1e12)
"""Slots; the models of the smallest are small enough to be built where nothing is left out."""

# as printed, (6) has rows of a place from release on, whatever the delay to it
MODELS = [
    name for name in PROBLEM.formulations if name not in ("price_guided", "problem_6_printed")
]
BOUNDS = list(PROBLEM.bounds)


def barred(instance: Instance, cloud: bool, never: float | None) -> Instance:
    """The instance without server 0 for its first job, and without the cloud if that is asked for.

    Args:
        instance: of two servers, each with workers for every job.
        cloud: whether the cloud is kept.
        never: the delay that says so; None: eligibility and an infinite delay do.
    """
    far = np.inf if never is None else never
    edge, eligible = instance.upload_delay_edge.copy(), instance.worker_eligible.copy()
    if never is None:
        eligible[0, instance.worker_server == 0] = False
    else:
        edge[0, 0] = never
    return replace(
        instance,
        upload_delay_edge=edge,
        upload_delay_cloud=instance.upload_delay_cloud if cloud else np.full(instance.jobs, far),
        explicit_worker_eligible=eligible,
    )


def both_servers_for_all(instance: Instance) -> Instance:
    """The same with every worker for every job."""
    return replace(
        instance, explicit_worker_eligible=np.ones((instance.jobs, instance.workers), dtype=bool)
    )


def two_servers() -> Instance:
    """Three jobs and three workers."""
    return Instance.build(
        release_time=[0, 0, 1],
        num_chunks=[2, 1, 2],
        chunk_time_slow=[2, 3, 2],
        chunk_time_fast=[1, 2, 2],
        upload_delay_edge=[[1, 0], [0, 2], [1, 1]],
        upload_delay_cloud=[4, 5, 3],
        worker_server=[0, 0, 1],
    )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("cloud", [True, False])
def test_a_delay_that_is_never_waited_for_changes_no_optimum(name: str, cloud: bool) -> None:
    meant = PROBLEM.solve(name, barred(both_servers_for_all(two_servers()), cloud, None)).solution
    for never in NEVER:
        said = barred(both_servers_for_all(two_servers()), cloud, never)
        found = PROBLEM.solve(name, said).solution
        assert (found.status, found.objective) == (meant.status, pytest.approx(meant.objective))


@pytest.mark.parametrize("name", BOUNDS)
@given(instance=instances(jobs=(2,)), cloud=st.booleans(), never=st.sampled_from(NEVER))
@examples(15)
def test_a_delay_that_is_never_waited_for_changes_no_bound(
    name: str, instance: Instance, cloud: bool, never: float
) -> None:
    bound = PROBLEM.bounds[name].compute
    usable = both_servers_for_all(instance)
    if len(np.unique(usable.worker_server)) > 1:
        meant, said = (barred(usable, cloud, far) for far in (None, never))
        assert bound(said) == pytest.approx(bound(meant))


@pytest.mark.parametrize("name", [n for n in STORAGE.formulations if n != "problem_7"])
def test_a_delay_that_is_never_waited_for_changes_nothing_with_storage_for_everything(
    name: str,
) -> None:
    instance = replace(
        both_servers_for_all(two_servers()),
        chunk_storage=np.ones(3),
        storage_capacity=np.full(2, 5.0),
    )
    meant = STORAGE.solve(name, barred(instance, False, None)).solution
    found = STORAGE.solve(name, barred(instance, False, 1e9)).solution
    assert (found.status, found.objective) == (meant.status, pytest.approx(meant.objective))
