"""What holds in every run of A_online, whatever the instance."""

import weakref
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.preemptive.check import check, cost
from formulations.preemptive.generator import generate
from formulations.preemptive.instance import CLOUD, Instance
from heuristics.preemptive import online_run
from heuristics.preemptive.a_online import TOLD, OnlineScheduler, System, a_online, a_online_e
from heuristics.preemptive.online_run import OnlineRun
from heuristics.preemptive.rules import Rules
from optsched.problem.progress import reported_to

PRIORITIES = ("static", "residual")
VARIANTS = st.fixed_dictionaries(
    {
        "priority": st.sampled_from(PRIORITIES),
        "pending_rule": st.sampled_from(["arrived", "exact"]),
        "no_spill": st.booleans(),
        "ps_policy": st.sampled_from(["lowest_index", "random"]),
    }
)


def run_of(instance: Instance, **options: object) -> OnlineRun:
    return a_online(instance, np.random.default_rng(7), **options)


@given(data=st.data(), variant=VARIANTS, epsilon=st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=80, deadline=None)
def test_a_run_breaks_no_constraint_of_the_paper(data, instances, variant, epsilon):
    instance = data.draw(instances(parts=(1, 3)))
    run = run_of(instance, epsilon=epsilon, **variant)
    assert check(instance, run, speed=run.speed, chunks=True) == []
    assert cost(instance, run) == pytest.approx(run.total_jct)


@given(data=st.data(), variant=VARIANTS)
@settings(max_examples=60, deadline=None)
def test_every_chunk_runs_for_its_time_on_its_worker_after_its_upload(data, instances, variant):
    instance = data.draw(instances())
    run = run_of(instance, **variant)
    first = np.cumsum(run.num_chunks) - run.num_chunks
    chunk = first[run.run_job] + run.run_chunk
    j = run.chunk_job
    time = np.where(run.together, instance.chunk_time_fast, instance.chunk_time_slow)[j]
    worked = np.bincount(chunk, weights=run.run_end - run.run_start, minlength=len(j))
    assert worked == pytest.approx(time)
    assert run.run_worker.tolist() == run.dispatch[chunk].tolist()
    server = instance.worker_server[run.dispatch]
    delay = np.where(
        run.dispatch == CLOUD, instance.upload_delay_cloud[j], instance.upload_delay_edge[j, server]
    )
    assert np.all(run.run_start >= (instance.release_time[j] + delay)[chunk])


@given(data=st.data(), priority=st.sampled_from(PRIORITIES))
@settings(max_examples=80, deadline=None)
def test_a_worker_always_runs_the_best_arrived_chunk(data, instances, priority):
    instance = data.draw(instances(cloud=data.draw(st.booleans())))
    run = run_of(instance, priority=priority)
    first = np.cumsum(run.num_chunks) - run.num_chunks
    for w in range(instance.workers):
        chunks = np.flatnonzero(run.dispatch == w)
        job = run.chunk_job[chunks]
        arrival = (
            instance.release_time[job] + instance.upload_delay_edge[job, instance.worker_server[w]]
        )
        left = instance.chunk_time_slow[job].copy()
        rows = np.flatnonzero(run.run_worker == w)
        moments = np.unique([*run.run_start[rows], *run.run_end[rows], *arrival])
        for begin, end in pairwise(moments):
            pending = np.flatnonzero((arrival <= begin) & (left > 0))
            running = rows[(run.run_start[rows] <= begin) & (begin < run.run_end[rows])]
            assert len(running) == (1 if len(pending) else 0)
            if not len(running):
                continue
            mine = np.searchsorted(chunks, first[run.run_job[running]] + run.run_chunk[running])[0]
            work = left if priority == "residual" else instance.chunk_time_slow[job]
            key = work * run.num_chunks[job]
            assert key[mine] == key[pending].min()
            left[mine] -= end - begin
        assert np.all(left == 0)


@given(data=st.data(), priority=st.sampled_from(PRIORITIES), no_spill=st.booleans())
@settings(max_examples=120, deadline=None)
def test_prices_rise_with_each_chunk_up_to_the_price_of_the_cloud(
    data, instances, priority, no_spill
):
    instance = data.draw(instances())
    run = run_of(instance, priority=priority, no_spill=no_spill)
    fast = instance.weight * (instance.upload_delay_cloud + instance.chunk_time_fast)
    slow = instance.weight * (instance.upload_delay_cloud + instance.chunk_time_slow)
    for j in range(instance.jobs):
        alpha = run.alpha[run.chunk_job == j]
        place = run.dispatch[run.chunk_job == j]
        assert np.all(np.diff(alpha) >= -1e-9)
        if run.together[j]:
            assert np.all(place == CLOUD)
            assert alpha == pytest.approx(fast[j])
            continue
        assert place[0] != CLOUD
        assert alpha[0] <= fast[j] + 1e-9
        assert np.all(alpha <= (fast if no_spill else slow)[j] + 1e-9)
        assert alpha[place == CLOUD] == pytest.approx(slow[j])
        assert not (no_spill and np.any(place == CLOUD))


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_a_split_job_ends_no_earlier_than_it_would_in_the_cloud_alone(data, instances):
    instance = data.draw(instances())
    run = run_of(instance)
    split = np.zeros(instance.jobs, dtype=bool)
    np.logical_or.at(split, run.chunk_job, run.dispatch == CLOUD)
    jct = run.job_completion - instance.release_time
    alone = instance.upload_delay_cloud + instance.chunk_time_fast
    slow = instance.upload_delay_cloud + instance.chunk_time_slow
    assert np.all(jct[split & ~run.together] >= slow[split & ~run.together])
    assert jct[run.together] == pytest.approx(alone[run.together])


@given(data=st.data(), policy=st.sampled_from(["lowest_index", "random"]))
@settings(max_examples=80, deadline=None)
def test_a_job_uses_a_parameter_server_of_the_cloud_only_if_it_is_there_or_none_is_free(
    data, instances, policy
):
    instance = data.draw(instances())
    run = run_of(instance, ps_policy=policy)
    service = list(
        zip(
            run.service_start.tolist(),
            run.service_job.tolist(),
            run.service_ps.tolist(),
            run.service_end.tolist(),
            strict=True,
        )
    )
    assert service == sorted(service)
    for i, (start, job, ps, _) in enumerate(service):
        taken = {p for begin, _, p, end in service[:i] if begin <= start < end}
        free = set(range(instance.parameter_servers)) - taken
        if run.together[job] or not free:
            assert ps == CLOUD
        elif policy == "lowest_index":
            assert ps == min(free)
        else:
            assert ps in free


@given(data=st.data(), variant=VARIANTS)
@settings(max_examples=80, deadline=None)
def test_jobs_still_to_come_change_nothing_decided_before(data, instances, variant):
    instance = data.draw(instances())
    known = data.draw(st.integers(1, instance.jobs))
    whole, cut = run_of(instance, **variant), run_of(instance.first_jobs(known), **variant)
    chunks = int(instance.num_chunks[:known].sum())
    assert cut.dispatch.tolist() == whole.dispatch[:chunks].tolist()
    assert cut.alpha.tolist() == whole.alpha[:chunks].tolist()
    horizon = instance.release_time[known] if known < instance.jobs else np.inf

    def before_horizon(run: OnlineRun) -> tuple[set, set]:
        end = np.minimum(run.run_end, horizon)
        rows = zip(run.run_job, run.run_chunk, run.run_worker, run.run_start, end, strict=True)
        end = np.minimum(run.service_end, horizon)
        services = zip(run.service_job, run.service_ps, run.service_start, end, strict=True)
        return {r for r in rows if r[3] < horizon}, {s for s in services if s[2] < horizon}

    assert before_horizon(cut) == before_horizon(whole)


@given(data=st.data(), epsilon=st.sampled_from([0.25, 0.5, 1.0]), variant=VARIANTS)
@settings(max_examples=60, deadline=None)
def test_speed_and_uploads_scaled_alike_scale_the_schedule(data, instances, epsilon, variant):
    instance = data.draw(instances(parts=(1, 3)))
    scale = 1 / (1 + epsilon)
    shrunk = replace(
        instance,
        release_time=instance.release_time * scale,
        upload_delay_edge=instance.upload_delay_edge * scale,
        upload_delay_cloud=instance.upload_delay_cloud * scale,
    )
    plain, fast = run_of(instance, **variant), run_of(shrunk, epsilon=epsilon, **variant)
    assert fast.dispatch.tolist() == plain.dispatch.tolist()
    assert fast.completion == pytest.approx(plain.completion * scale)
    assert fast.alpha == pytest.approx(plain.alpha * scale)
    assert fast.preemptions == plain.preemptions
    assert fast.run_start == pytest.approx(plain.run_start * scale)


@given(times=st.lists(st.integers(1, 20), min_size=1, max_size=9))
@settings(max_examples=40, deadline=None)
def test_jobs_released_together_on_one_worker_run_shortest_first(times):
    instance = Instance.build(
        release_time=np.zeros(len(times)),
        num_chunks=1,
        chunk_time_slow=times,
        upload_delay_edge=np.zeros((len(times), 1)),
        upload_delay_cloud=np.inf,
        worker_server=[0],
    )
    run = a_online_e(instance, np.random.default_rng(0))
    assert run.total_jct == np.cumsum(sorted(times)).sum()
    assert run.preemptions == 0


def test_a_scheduler_handed_one_job_at_a_time_decides_as_the_whole_run(worked_example, rng):
    scheduler = OnlineScheduler(System.of(worked_example), Rules(), rng)
    dispatched = [scheduler.arrive(job) for job in worked_example.arrivals()]
    assert [d.worker.tolist() for d in dispatched] == [[0, 1, CLOUD], [CLOUD] * 3, [0]]
    assert [d.together for d in dispatched] == [False, True, False]
    assert scheduler.finish().total_jct == a_online(worked_example, rng).total_jct


def test_looking_at_the_plan_before_the_last_arrival_changes_nothing(worked_example, rng):
    scheduler = OnlineScheduler(System.of(worked_example), Rules(), rng)
    first, second, third = worked_example.arrivals()
    scheduler.arrive(first)
    scheduler.arrive(second)
    assert scheduler.finish().job_completion.tolist() == [9, 7]
    scheduler.arrive(third)
    assert scheduler.finish().job_completion.tolist() == [9, 7, 5]


def test_jobs_numbered_against_their_order_of_arrival_run_as_they_would(rng):
    drawn = generate(rng, jobs=30, servers=6)
    instance = replace(drawn, release_time=np.arange(30.0), jobs_document=None)
    run = run_of(instance)
    backwards = run_of(instance.select_jobs(np.arange(30)[::-1]))
    assert run.preemptions == backwards.preemptions
    assert run.job_completion.tolist() == backwards.job_completion[::-1].tolist()
    for column in ("alpha", "dispatch", "completion"):
        ends = np.cumsum(run.num_chunks)[:-1]
        jobs = np.split(getattr(run, column), ends)[::-1]
        assert np.concatenate(jobs).tolist() == getattr(backwards, column).tolist()


def test_what_workers_kept_is_let_go_before_millions_of_runs_are_put_in_order(
    worked_example, rng, monkeypatch
):
    scheduler = OnlineScheduler(System.of(worked_example), Rules(), rng)
    for job in worked_example.arrivals():
        scheduler.arrive(job)
    tables = weakref.ref(scheduler._pool._tables.runs)
    kept = []
    in_order = online_run._in_order
    monkeypatch.setattr(
        online_run, "_in_order", lambda runs: kept.append(tables() is None) or in_order(runs)
    )
    looked_at, closed = scheduler.finish(), scheduler.close()
    assert kept == [False, True]
    assert looked_at.run_start.tolist() == closed.run_start.tolist()


@pytest.mark.parametrize("variant", [{}, {"edge_only": True}, {"no_spill": True}])
def test_a_run_at_the_papers_scale_breaks_no_constraint(variant):
    instance = generate(np.random.default_rng(3), jobs=300, servers=100)
    run = run_of(instance, **variant)
    assert check(instance, run, chunks=True) == []
    assert run.preemptions > 0


def test_a_worker_that_is_never_looked_at_keeps_up_with_what_is_sent_to_it(rng):
    """One worker of two is always cheaper; hundreds of chunks go there before anything is asked."""
    jobs = 300
    instance = Instance.build(
        release_time=np.arange(jobs) * 5,
        num_chunks=1,
        chunk_time_slow=2,
        upload_delay_edge=[[1, 400]] * jobs,
        upload_delay_cloud=500,
        worker_server=[0, 1],
    )
    run = a_online(instance, rng)
    assert run.dispatch.tolist() == [0] * jobs
    assert run.completion.tolist() == (np.arange(jobs) * 5 + 3).tolist()
    assert run.run_end.tolist() == run.completion.tolist()


def test_a_burst_of_jobs_on_one_worker_ends_when_its_work_does(rng):
    """All under way at once, all waiting at once."""
    jobs = 500
    instance = Instance.build(
        release_time=np.zeros(jobs),
        num_chunks=2,
        chunk_time_slow=np.arange(jobs, 0, -1),
        upload_delay_edge=np.full((jobs, 1), 3.0),
        upload_delay_cloud=np.inf,
        worker_server=[0],
    )
    run = a_online(instance, rng)
    assert run.job_completion.tolist() == (3 + 2 * np.cumsum(np.arange(1, jobs + 1)))[::-1].tolist()
    assert run.preemptions == 0


def test_progress_is_told_to_whoever_listens():
    instance = generate(np.random.default_rng(3), jobs=2 * TOLD + 1, servers=3)
    heard = []
    with reported_to(lambda done, planned: heard.append((done, planned))):
        run_of(instance)
    run_of(instance)
    assert heard == [(TOLD, instance.jobs), (2 * TOLD, instance.jobs)]
