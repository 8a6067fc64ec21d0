"""Two small runs of A_online followed by hand, number by number."""

import numpy as np
import pytest
from preemptive_check_cases import RUNS, SERVICES, TOGETHER

from formulations.preemptive.check import check, cost
from formulations.preemptive.instance import CLOUD, Instance
from heuristics.preemptive.a_online import a_online, a_online_e, a_online_ns
from heuristics.preemptive.all_cloud import all_cloud
from heuristics.preemptive.online_run import OnlineRun


def runs_of(run: OnlineRun) -> set[tuple[int, int, int, float, float]]:
    columns = (run.run_job, run.run_chunk, run.run_worker, run.run_start, run.run_end)
    return set(zip(*(column.tolist() for column in columns), strict=True))


def services_of(run: OnlineRun) -> set[tuple[int, int, float, float]]:
    columns = (run.service_job, run.service_ps, run.service_start, run.service_end)
    return set(zip(*(column.tolist() for column in columns), strict=True))


@pytest.fixture
def run(worked_example: Instance, rng: np.random.Generator) -> OnlineRun:
    return a_online(worked_example, rng)


def test_prices_of_the_worked_example(run: OnlineRun) -> None:
    assert run.alpha == pytest.approx([5 / 3, 5 / 3, 8 / 3, 2, 2, 2, 11 / 3])
    assert run.alpha.sum() == pytest.approx(47 / 3)


def test_dispatch_of_the_worked_example(run: OnlineRun) -> None:
    assert run.dispatch.tolist() == [0, 1, CLOUD, CLOUD, CLOUD, CLOUD, 0]
    assert run.together.tolist() == list(TOGETHER)


def test_run_intervals_of_the_worked_example(run: OnlineRun) -> None:
    assert runs_of(run) == set(RUNS)
    assert run.preemptions == 1


def test_completions_of_the_worked_example(worked_example: Instance, run: OnlineRun) -> None:
    assert run.completion.tolist() == [8, 6, 9, 7, 7, 7, 5]
    assert run.job_completion.tolist() == [9, 7, 5]
    assert run.total_jct == 17
    assert cost(worked_example, run) == 17
    assert check(worked_example, run) == []


def test_parameter_servers_of_the_worked_example(run: OnlineRun) -> None:
    assert services_of(run) == set(SERVICES)


def test_betas_of_the_worked_example(run: OnlineRun) -> None:
    third = 1 / 3
    on_first = [0, third, 4 / 3, 4 / 3, 4 / 3, third, third, third, 0]
    on_second = [0, third, third, third, third, third, 0, 0, 0]
    assert run.beta(0, range(9)) == pytest.approx(on_first)
    assert run.beta(1, range(9)) == pytest.approx(on_second)
    in_cloud = run.chunk_flow[run.dispatch == CLOUD].sum()
    assert in_cloud == pytest.approx(8 / 3 + 6)
    assert sum(on_first) + sum(on_second) + in_cloud == pytest.approx(run.alpha.sum())


def test_dual_rows_the_worked_example_breaks(worked_example: Instance, run: OnlineRun) -> None:
    """Of Lemma 2 on edge workers after upload: 18, none of them on the chosen worker."""
    instance, broken = worked_example, []
    times = np.arange(60)
    for i, (j, alpha) in enumerate(zip(run.chunk_job, run.alpha, strict=True)):
        for w in range(2):
            right = instance.weight[j] * (times - instance.release_time[j])
            right = right + instance.chunk_time_slow[j] * run.beta(w, times)
            wrong = (alpha > right + 1e-9) & (times >= instance.release_time[j] + 1)
            broken += [(i, w, int(t)) for t in times[wrong]]
    assert len(broken) == 18
    assert (2, 1, 2) in broken
    assert not [row for row in broken if run.dispatch[row[0]] == row[1]]


def test_residual_priority_and_exact_prices_change_nothing_in_the_worked_example(
    worked_example: Instance, run: OnlineRun, rng: np.random.Generator
) -> None:
    for variant in (
        a_online(worked_example, rng, priority="residual"),
        a_online(worked_example, rng, pending_rule="exact"),
    ):
        assert runs_of(variant) == runs_of(run)
        assert services_of(variant) == services_of(run)
        assert variant.alpha == pytest.approx(run.alpha)


def test_double_speed_on_the_doubled_example_gives_the_same_run(
    worked_example: Instance, run: OnlineRun, rng: np.random.Generator
) -> None:
    doubled = Instance.build(
        release_time=[1, 1, 2],
        num_chunks=[3, 3, 1],
        chunk_time_slow=2 * worked_example.chunk_time_slow,
        chunk_time_fast=2 * worked_example.chunk_time_fast,
        upload_delay_edge=np.ones((3, 2)),
        upload_delay_cloud=4,
        worker_server=[0, 1],
        ps_server=[0, 1],
    )
    fast = a_online(doubled, rng, epsilon=1.0)
    assert fast.speed == 2
    assert runs_of(fast) == runs_of(run)
    assert check(doubled, fast, speed=2.0) == []


def test_no_spill_finds_the_optimum_of_the_worked_example(
    worked_example: Instance, rng: np.random.Generator
) -> None:
    run = a_online_ns(worked_example, rng)
    assert run.together.tolist() == [True, True, False]
    assert run.total_jct == 15


def test_all_cloud_on_the_worked_example(
    worked_example: Instance, rng: np.random.Generator
) -> None:
    run = all_cloud(worked_example, rng)
    assert run.job_completion.tolist() == [7, 7, 7]
    assert run.total_jct == 6 + 6 + 5
    assert check(worked_example, run) == []
    assert np.all(run.service_ps == CLOUD)


def test_edge_only_run_of_two_jobs_on_two_workers(rng: np.random.Generator) -> None:
    instance = Instance.build(
        release_time=[0, 2],
        num_chunks=[2, 1],
        chunk_time_slow=[4, 2],
        upload_delay_edge=np.ones((2, 1)),
        upload_delay_cloud=np.inf,
        worker_server=[0, 0],
    )
    run = a_online_e(instance, rng)
    assert run.alpha == pytest.approx([5 / 2, 5 / 2, 4])
    assert run.job_completion.tolist() == [7, 5]
    assert run.total_jct == 10
    assert run.preemptions == 1
