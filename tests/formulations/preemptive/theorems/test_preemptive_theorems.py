"""The paper's Lemma 1 and Theorem 3 against optima, and the theorem that does hold.

Optima are those of the offline machine, whose chunk times are 1 + epsilon times the online ones.
"""

from dataclasses import replace

import numpy as np
import preemptive_enumeration as brute_force
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import examples, instances

from formulations.preemptive.check import completion_times, cost
from formulations.preemptive.instance import Instance
from formulations.preemptive.problem_2 import problem_2_compact
from formulations.preemptive.problem_2_no_migration import (
    decode_no_migration,
    problem_2_no_migration_time_free,
)
from formulations.preemptive.problem_4 import problem_4
from formulations.preemptive.problem_11 import at_offline_speed, lp_kappa
from formulations.preemptive.schedule import Schedule
from heuristics.preemptive.a_online import a_online
from heuristics.preemptive.online_run import OnlineRun
from optsched.instances.arrays import ranges
from optsched.solve import solve
from optsched.solvers.solution import Status

EPSILONS = (0.25, 0.5, 1.0, 2.0)


def online(instance: Instance, epsilon: float = 0.0, **rules) -> OnlineRun:
    return a_online(instance, np.random.default_rng(0), epsilon=epsilon, **rules)


# Lemma 1: fractional flow time against completion time


def chunk_values(
    instance: Instance, schedule: Schedule
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each chunk: f_jd by (3), the corrected bound of Lemma 1, whether it ran in one piece."""
    first = np.cumsum(instance.num_chunks) - instance.num_chunks
    chunk = first[schedule.run_job] + schedule.run_chunk
    job = np.repeat(np.arange(instance.jobs), instance.num_chunks)
    time = np.where(schedule.together, instance.chunk_time_fast, instance.chunk_time_slow)[job]
    row, slot = ranges(schedule.run_start, schedule.run_end)
    age = slot - instance.release_time[schedule.run_job[row]]
    weight = instance.weight[job]
    flow = weight / time * np.bincount(chunk[row], weights=age, minlength=len(job))
    completion, start = np.zeros(len(job)), np.full(len(job), np.inf)
    np.maximum.at(completion, chunk, schedule.run_end)
    np.minimum.at(start, chunk, schedule.run_start)
    bound = weight * (completion - (time + 1) / 2 - instance.release_time[job])
    return flow, bound, completion - start == time


@given(instance=instances(), exact=st.booleans())
@examples(50)
def test_lemma_1_holds_chunk_by_chunk_for_whole_durations(instance, exact):
    """In the printed convention, c - 1; with (p - 1) / 2 off it is equality without a break."""
    if exact:
        solution = solve(problem_2_no_migration_time_free(instance), "cpsat")
        schedule = decode_no_migration(instance, solution)
    else:
        schedule = online(instance)
    flow, bound, in_one_piece = chunk_values(instance, schedule)
    assert np.all(flow <= bound + 1e-9)
    assert np.allclose(flow[in_one_piece], bound[in_one_piece])
    assert np.all(flow[~in_one_piece] < bound[~in_one_piece])
    printed = completion_times(instance, schedule) - 1 - instance.release_time
    assert flow.sum() <= printed.sum() + 1e-9


def test_lemma_1_in_the_worked_example(example: Instance) -> None:
    run = online(example)
    flow, _, _ = chunk_values(example, run)
    job = run.chunk_job
    printed = (run.completion - 1 - example.release_time[job]) * example.weight[job]
    assert flow.sum() == pytest.approx(10)
    assert printed.sum() == pytest.approx(12 + 2 / 3)
    assert run.total_jct - example.jobs == 14


# Theorem 3 as printed


def test_theorem_3_for_problem_4_fails_for_two_jobs() -> None:
    """One of two workers serves both jobs; the tie goes the wrong way."""
    instance = Instance.build(
        release_time=[0, 0],
        num_chunks=1,
        chunk_time_slow=2,
        upload_delay_edge=np.zeros((2, 2)),
        upload_delay_cloud=np.inf,
        worker_server=[0, 1],
        explicit_worker_eligible=np.array([[True, True], [True, False]]),
    )
    optimum = solve(problem_4(instance, rates="slow")).objective
    assert optimum == pytest.approx(1) == brute_force.problem_4(instance, "exact")
    assert online(instance, 1.0).alpha.sum() == pytest.approx(3)  # above 2 times the optimum


def test_theorem_3_for_problem_4_has_no_slack_for_one_chunk() -> None:
    instance = Instance.build(
        release_time=[0],
        num_chunks=1,
        chunk_time_slow=2,
        upload_delay_edge=[[0]],
        upload_delay_cloud=np.inf,
        worker_server=[0],
    )
    assert solve(problem_4(instance, rates="slow")).objective == pytest.approx(0.5)
    assert online(instance, 1.0).alpha.sum() == pytest.approx(2 * 0.5)


def test_theorem_3_in_the_worked_example_at_half_speed(doubled: Instance) -> None:
    """Sum of alpha over (4) is 1.21, completion times over (2) are 0.81: far from 2 and 6."""
    run = online(doubled, 1.0)
    assert run.alpha.sum() / solve(problem_4(doubled)).objective == pytest.approx(1.2103, abs=5e-5)
    assert run.total_jct / solve(problem_2_compact(doubled)).objective == pytest.approx(17 / 21)


@pytest.mark.parametrize(
    ("jobs", "epsilon", "time", "jct", "staying", "migrating"),
    [(8, 1.0, 28, 1044, 519, 512), (9, 0.5, 50, 2295, 764, 756)],
)
def test_theorem_3_for_problem_2_fails_if_delays_depend_on_the_job(
    jobs: int, epsilon: float, time: float, jct: float, staying: float, migrating: float
) -> None:
    """Every job reaches worker 0 before the earlier ones do, and A_online piles all up there."""
    k = np.arange(jobs)
    delay = np.repeat(2.0 * (jobs - k)[:, None], jobs, axis=1)
    delay[:, 0] -= 1
    instance = Instance.build(
        release_time=k,
        num_chunks=1,
        chunk_time_slow=time * (1 + epsilon),
        upload_delay_edge=delay,
        upload_delay_cloud=np.inf,
        worker_server=k,
    )
    run = online(instance, epsilon)
    assert run.total_jct == pytest.approx(jct)
    stay = solve(problem_2_no_migration_time_free(instance), "cpsat")
    assert stay.status is Status.OPTIMAL
    assert stay.objective == staying
    assert cost(instance, decode_no_migration(instance, stay)) == staying
    assert solve(problem_2_compact(instance)).objective == migrating
    assert run.total_jct > (1 + 1 / epsilon) * staying


# the corrected theorem: residual priority, delays per server


def theta(instance: Instance) -> int:
    """1 where communication costs nothing or nobody may use the cloud, else 2."""
    free = np.array_equal(instance.chunk_time_fast, instance.chunk_time_slow)
    return 1 if free or np.all(np.isinf(instance.upload_delay_cloud)) else 2


@given(data=st.data(), epsilon=st.sampled_from(EPSILONS))
@examples(60)
def test_the_corrected_theorem_holds_for_residual_priority(data, epsilon):
    instance = data.draw(instances(common_delay=True, jobs=(2, 3)))
    if data.draw(st.booleans()):
        instance = replace(instance, chunk_time_slow=instance.chunk_time_fast)
    offline = at_offline_speed(instance, epsilon)
    run = online(offline, epsilon, priority="residual")
    relaxed = solve(lp_kappa(offline, epsilon=epsilon)).objective
    optimum = brute_force.problem_2(offline)
    factor = max(1, (3 + epsilon) / (2 * (1 + epsilon)))
    constant = theta(instance) * (1 + 1 / epsilon)
    assert 0 < run.alpha.sum() <= constant * relaxed + 1e-9
    assert relaxed <= factor * optimum + 1e-9
    assert run.total_jct <= instance.num_chunks.max() * constant * factor * optimum + 1e-9


@given(data=st.data(), epsilon=st.sampled_from(EPSILONS))
@examples(60)
def test_prices_and_betas_of_a_run_are_a_dual_point_of_the_corrected_theorem(data, epsilon):
    """Its rows at every slot from the end of the upload on, and the value it proves."""
    instance = data.draw(instances(common_delay=True, jobs=(2, 3)))
    offline = at_offline_speed(instance, epsilon)
    run = online(offline, epsilon, priority="residual")
    weight, time = instance.weight[run.chunk_job], instance.chunk_time_slow[run.chunk_job]
    release = instance.release_time[run.chunk_job]
    slots = np.arange(int(run.completion.max()) + 2)
    total = 0.0
    for w, server in enumerate(instance.worker_server):
        beta = run.beta(w, slots)
        total += beta.sum()
        ready = release + instance.upload_delay_edge[run.chunk_job, server]
        right = weight[:, None] * (slots - release[:, None] + time[:, None]) + np.outer(time, beta)
        holds = run.alpha[:, None] <= right + 1e-9
        concerned = instance.worker_eligible[run.chunk_job, w][:, None] & (slots >= ready[:, None])
        assert np.all(holds[concerned])
    cloud = instance.upload_delay_cloud + instance.chunk_time_fast
    assert np.all(run.alpha <= theta(instance) * weight * cloud[run.chunk_job] + 1e-9)
    # in the cloud a chunk has its own worker, which the dual does not charge
    value = (run.alpha.sum() - total / (1 + epsilon)) / theta(instance)
    assert value >= epsilon / (1 + epsilon) * run.alpha.sum() / theta(instance) - 1e-9
    assert value <= solve(lp_kappa(offline, epsilon=epsilon)).objective + 1e-9
