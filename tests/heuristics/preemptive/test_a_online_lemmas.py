"""Which of the paper's lemmas A_online obeys, and the smallest runs that break the others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.preemptive.check import check
from formulations.preemptive.instance import CLOUD, Instance
from formulations.preemptive.schedule import Schedule
from heuristics.preemptive.a_online import a_online
from heuristics.preemptive.online_run import OnlineRun


def single_chunks(release, times, delay=0.0, servers=1, **rest) -> Instance:
    """Jobs of one chunk on servers of one worker each, without a cloud."""
    return Instance.build(
        release_time=release,
        num_chunks=1,
        chunk_time_slow=times,
        upload_delay_edge=np.broadcast_to(delay, (len(release), servers)),
        upload_delay_cloud=np.inf,
        worker_server=np.arange(servers),
        **rest,
    )


def right_side(instance: Instance, run: OnlineRun, j: int, w: int, times) -> np.ndarray:
    """Of the dual row (6a), times p: w_j (t - r_j) + p_j beta_w(t)."""
    elapsed = np.asarray(times) - instance.release_time[j]
    return instance.weight[j] * elapsed + instance.chunk_time_slow[j] * run.beta(w, times)


# Lemma 4: the prices add up to the weighted flow time and to the betas.


@given(
    data=st.data(),
    priority=st.sampled_from(["static", "residual"]),
    epsilon=st.sampled_from([0.0, 0.5]),
)
@settings(max_examples=120, deadline=None)
def test_lemma_4_holds_if_a_server_is_equally_far_from_every_job(
    data, instances, priority, epsilon
):
    cloud = data.draw(st.booleans())
    instance = data.draw(instances(common_delay=True, parts=(1, 3, 10), cloud=cloud))
    run = a_online(instance, np.random.default_rng(0), priority=priority, epsilon=epsilon)
    assert run.alpha.sum() == pytest.approx(run.chunk_flow.sum(), rel=1e-9)


@given(data=st.data(), priority=st.sampled_from(["static", "residual"]))
@settings(max_examples=80, deadline=None)
def test_lemma_4_holds_for_exact_prices_whatever_the_delays(data, instances, priority):
    instance = data.draw(instances(parts=(1, 3), cloud=data.draw(st.booleans())))
    rng = np.random.default_rng(0)
    run = a_online(instance, rng, priority=priority, pending_rule="exact")
    assert run.alpha.sum() == pytest.approx(run.chunk_flow.sum(), rel=1e-9)


@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_betas_over_all_slots_add_up_to_the_weighted_flow_time(data, instances):
    instance = data.draw(instances(common_delay=True))
    run = a_online(instance, np.random.default_rng(0))
    slots = np.arange(int(run.completion.max()) + 1)
    betas = sum(run.beta(w, slots).sum() for w in range(instance.workers))
    betas += run.chunk_flow[run.dispatch == CLOUD].sum()
    assert betas == pytest.approx(run.alpha.sum(), rel=1e-9)


@given(data=st.data(), priority=st.sampled_from(["static", "residual"]))
@settings(max_examples=60, deadline=None)
def test_exact_prices_equal_rule_5_if_a_server_is_equally_far_from_every_job(
    data, instances, priority
):
    instance = data.draw(instances(common_delay=True, parts=(1, 3)))
    rng = np.random.default_rng(0)
    by_rule = a_online(instance, rng, priority=priority)
    exact = a_online(instance, rng, priority=priority, pending_rule="exact")
    assert exact.dispatch.tolist() == by_rule.dispatch.tolist()
    assert exact.alpha == pytest.approx(by_rule.alpha, rel=1e-9)


def test_lemma_4_fails_for_rule_5_if_a_later_job_overtakes_in_upload(rng):
    instance = single_chunks([0, 0], [2, 2], delay=[[2], [1]])
    run = a_online(instance, rng)
    assert run.alpha.tolist() == [4, 3]
    assert run.chunk_flow.sum() == 8
    exact = a_online(instance, rng, pending_rule="exact")
    assert exact.alpha.sum() == exact.chunk_flow.sum() == 8


def test_lemma_4_fails_if_beta_ends_where_completion_was_planned_at_dispatch(rng):
    instance = single_chunks([0, 1], [2, 1])
    run = a_online(instance, rng)
    planned = [a_online(instance.first_jobs(j + 1), rng).completion[j] for j in range(2)]
    assert run.alpha.sum() == run.chunk_flow.sum() == 4
    assert np.sum(planned - instance.release_time) == 3


# Lemma 2: the rows of the dual.


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_residual_priority_obeys_the_corrected_dual_rows(data, instances):
    """With w_j p_j added on the right; on the chosen worker without."""
    instance = data.draw(instances(common_delay=True, cloud=data.draw(st.booleans())))
    run = a_online(instance, np.random.default_rng(0), priority="residual")
    events = np.unique(run.completion)
    for i, j in enumerate(run.chunk_job):
        for w in np.flatnonzero(instance.worker_eligible[j]):
            upload = (
                instance.release_time[j] + instance.upload_delay_edge[j][instance.worker_server[w]]
            )
            right = right_side(instance, run, j, w, [upload, *events[events > upload]])
            if run.dispatch[i] != w:
                right = right + instance.weight[j] * instance.chunk_time_slow[j]
            assert np.all(run.alpha[i] <= right + 1e-9)


def test_lemma_2_fails_before_the_upload(rng):
    instance = single_chunks([0], [1], delay=1)
    run = a_online(instance, rng)
    assert run.alpha.tolist() == [2]
    assert right_side(instance, run, 0, 0, [0]) == 1


def test_lemma_2_fails_on_a_worker_that_was_not_chosen(rng):
    instance = single_chunks([0], [1], servers=2)
    run = a_online(instance, rng)
    assert run.dispatch.tolist() == [0]
    assert run.alpha.tolist() == [1]
    assert right_side(instance, run, 0, 1, [0]) == 0


def test_lemma_2_fails_on_the_chosen_worker_with_static_density(rng):
    instance = single_chunks([0, 2], [3, 2])
    static = a_online(instance, rng)
    assert static.alpha[1] == 4
    assert static.job_completion.max() == 5
    assert right_side(instance, static, 1, 0, [5]) == 3
    residual = a_online(instance, rng, priority="residual")
    assert residual.alpha[1] == 3 <= right_side(instance, residual, 1, 0, [5])


def test_the_corrected_dual_row_fails_with_static_density(rng):
    instance = single_chunks([0, 4, 7], [5, 4, 3])
    run = a_online(instance, rng)
    assert run.alpha[2] == 9
    assert right_side(instance, run, 2, 0, [12]) + 3 == 8


# Theorem 3: the competitive ratio. Offline durations are 1 + epsilon times the online ones.


def test_theorem_3_for_problem_4_fails_for_two_jobs(rng):
    """Sum of alpha is 3; with job a on worker 2 and b on worker 1, problem (4) costs 1."""
    instance = single_chunks([0, 0], [2, 2], servers=2)
    barred = Instance.build(
        release_time=[0, 0],
        num_chunks=1,
        chunk_time_slow=[2, 2],
        upload_delay_edge=np.zeros((2, 2)),
        upload_delay_cloud=np.inf,
        worker_server=[0, 1],
        explicit_worker_eligible=np.array([[True, True], [True, False]]),
    )
    run = a_online(barred, rng, epsilon=1.0)
    assert run.alpha.tolist() == [1, 2]
    far = single_chunks([0, 0], [2, 2], delay=[[0, 0], [0, 10]], servers=2)
    assert a_online(far, rng, epsilon=1.0).alpha.tolist() == [1, 2]
    assert a_online(instance, rng, epsilon=1.0).alpha.tolist() == [1, 1]


def pile_up(jobs: int, time: float) -> Instance:
    """Every job reaches worker 0 before the earlier ones do."""
    k = np.arange(jobs)
    delay = np.repeat(2.0 * (jobs - k)[:, np.newaxis], jobs, axis=1)
    delay[:, 0] -= 1
    return single_chunks(k, np.full(jobs, time), delay=delay, servers=jobs)


@pytest.mark.parametrize(
    ("jobs", "epsilon", "online", "jct", "offline", "exact"),
    [
        (8, 1.0, 28, 1044, 519, 295),
        (9, 0.5, 50, 2295, 764, 539),
        (16, 0.5, 100, 13736, 2671, 1871),
    ],
)
def test_theorem_3_for_problem_2_fails_if_delays_depend_on_the_job(
    rng, jobs, epsilon, online, jct, offline, exact
):
    instance = pile_up(jobs, online * (1 + epsilon))
    run = a_online(instance, rng, epsilon=epsilon)
    assert np.all(run.dispatch == 0)
    assert run.total_jct == pytest.approx(jct)
    start = instance.release_time + np.diag(instance.upload_delay_edge)
    k = np.arange(jobs)
    end, cloud = start + instance.chunk_time_slow, np.full(jobs, CLOUD)
    apart = Schedule.build(  # every job on its own server
        runs=np.stack([k, 0 * k, k, start, end], axis=1),
        services=np.stack([k, cloud, start, end], axis=1),
        together=np.zeros(jobs, dtype=bool),
    )
    assert check(instance, apart) == []
    assert np.sum(apart.run_end - instance.release_time) == offline
    assert run.total_jct > (1 + 1 / epsilon) * offline
    assert a_online(instance, rng, epsilon=epsilon, pending_rule="exact").total_jct == (
        pytest.approx(exact)
    )
