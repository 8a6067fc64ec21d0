"""A_online under storage limits: literal reference, feasibility, and where the theorem ends."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.preemptive.check import check, cost
from formulations.preemptive.instance import CLOUD, Instance
from formulations.preemptive.storage.problem_7 import problem_7_compact
from heuristics.preemptive.a_online import System, a_online
from heuristics.preemptive.dispatch import greedy
from heuristics.preemptive.engine.workers import WorkerPool
from heuristics.preemptive.rules import Rules
from heuristics.preemptive.storage import StorageScheduler, a_online_storage
from optsched.errors import InputError
from optsched.solve import solve


@st.composite
def limited(draw: st.DrawFn, instances, **options) -> Instance:
    """An instance with chunks of 0 to 2 GB on servers of 0 to 6 GB."""
    instance = draw(instances(**options))

    def choose(values: list[float], count: int) -> np.ndarray:
        return np.array(draw(st.lists(st.sampled_from(values), min_size=count, max_size=count)))

    return replace(
        instance,
        chunk_storage=choose([0.0, 0.5, 1.0, 2.0], instance.jobs),
        storage_capacity=choose([0.0, 1.0, 2.0, 3.0, 6.0, np.inf], instance.edge_servers),
    )


def columns(run) -> list[list[float]]:
    names = ("run_job", "run_chunk", "run_worker", "run_start", "run_end", "alpha", "dispatch")
    return [getattr(run, name).tolist() for name in names]


def literal(instance: Instance, rules: Rules, release: str) -> tuple[list[int], list[float]]:
    """Place and price of every chunk, dispatched one by one; c_j from a run of all so far.

    Every chunk is a dispatch of its own among the workers whose server has room for it, with
    its own earlier chunks supposed sent; what is held is added up anew for every chunk.
    """
    server_of = instance.worker_server
    place: list[list[int]] = []
    price: list[list[float]] = []
    for j in range(instance.jobs):
        job = instance.job(j)
        pool = WorkerPool(instance.workers, residual=rules.priority == "residual")
        for i in range(j):
            earlier = instance.job(i)
            pool.send(
                earlier,
                np.array(place[i]),
                earlier.upload_delay_edge[server_of],
                chunk_time=earlier.chunk_time_slow / rules.speed,
            )
        done = pool.finish()
        free = instance.storage_capacity.copy()
        for i in range(j):
            ends = {
                int(d): end
                for k, d, end, last in zip(
                    done.job, done.chunk, done.end, done.finished, strict=True
                )
                if k == i and last
            }
            whole = max(ends.values(), default=0.0)
            if CLOUD in place[i] and ends:
                other = instance.job(i)
                slow = other.upload_delay_cloud + other.chunk_time_slow / rules.speed
                whole = max(whole, other.release_time + slow)
            for d, w in enumerate(place[i]):
                if w != CLOUD:
                    until = whole if release == "job" else ends[d]
                    if until > job.release_time + 1e-9:
                        free[server_of[w]] -= instance.chunk_storage[i]
        fast = job.upload_delay_cloud + job.chunk_time_fast / rules.speed
        slow = job.upload_delay_cloud + job.chunk_time_slow / rules.speed
        step = job.chunk_time_slow / rules.speed
        base = {}
        for w in job.eligible_workers.tolist():
            lone = replace(job, eligible_workers=np.array([w]), upload_delay_cloud=1e9)
            found = greedy(lone, pool, server_of, rules)
            base[w] = found.level[0]
        sent: list[int] = []
        paid: list[float] = []
        while len(sent) < job.num_chunks:
            options = [
                (base[w] + step * sent.count(w), w)
                for w in base
                if free[server_of[w]] >= job.chunk_storage - 1e-9
            ]
            limit = slow if sent else fast
            if not options or min(options)[0] > limit + 1e-9:
                rest = job.num_chunks - len(sent)
                sent += [CLOUD] * rest
                paid += [limit] * rest
                break
            lowest = min(options)[0]
            level, w = min((o for o in options if o[0] <= lowest + 1e-9), key=lambda o: o[1])
            sent.append(w)
            paid.append(level)
            free[server_of[w]] -= job.chunk_storage
        place.append(sent)
        price.append(paid)
    return list(chain(*place)), list(chain(*price))


@given(
    data=st.data(),
    priority=st.sampled_from(["static", "residual"]),
    release=st.sampled_from(["job", "chunk"]),
    epsilon=st.sampled_from([0.0, 0.5]),
)
@settings(max_examples=80, deadline=None)
def test_filling_servers_equals_dispatching_chunk_by_chunk_where_there_is_room(
    data, instances, rng, priority, release, epsilon
):
    instance = data.draw(limited(instances, parts=(1, 3)))
    rules = Rules(priority=priority, epsilon=epsilon)
    place, price = literal(instance, rules, release)
    run = a_online_storage(
        instance, rng, priority=priority, epsilon=epsilon, storage_release=release
    )
    assert run.dispatch.tolist() == place
    level = run.alpha * instance.num_chunks[run.chunk_job]
    assert level == pytest.approx(price, rel=1e-9)


@given(
    data=st.data(),
    priority=st.sampled_from(["static", "residual"]),
    rule=st.sampled_from(["arrived", "exact"]),
    release=st.sampled_from(["job", "chunk"]),
    epsilon=st.sampled_from([0.0, 0.5]),
)
@settings(max_examples=100, deadline=None)
def test_what_is_stored_always_fits(data, instances, rng, priority, rule, release, epsilon):
    instance = data.draw(limited(instances, parts=(1, 3)))
    run = a_online_storage(
        instance,
        rng,
        priority=priority,
        pending_rule=rule,
        epsilon=epsilon,
        storage_release=release,
    )
    terms = {"storage": True, "storage_release": release, "chunks": True}
    assert check(instance, run, speed=1 + epsilon, **terms) == []


@given(data=st.data(), rule=st.sampled_from(["arrived", "exact"]))
@settings(max_examples=60, deadline=None)
def test_with_room_for_all_it_is_a_online(data, instances, rng, rule):
    instance = data.draw(instances(parts=(1, 3)))
    roomy = replace(
        instance,
        chunk_storage=np.ones(instance.jobs),
        storage_capacity=np.full(instance.edge_servers, float(instance.num_chunks.sum())),
    )
    free = a_online(instance, rng, pending_rule=rule)
    assert columns(a_online_storage(roomy, rng, pending_rule=rule)) == columns(free)
    assert columns(a_online_storage(instance, rng, pending_rule=rule)) == columns(free)


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_it_never_looks_ahead(data, instances, rng):
    """What it does with the first jobs does not depend on whether others follow."""
    instance = data.draw(limited(instances))
    whole = a_online_storage(instance, rng)
    count = data.draw(st.integers(1, instance.jobs))
    part = a_online_storage(instance.first_jobs(count), rng)
    chunks = len(part.dispatch)
    assert part.dispatch.tolist() == whole.dispatch[:chunks].tolist()
    assert part.alpha.tolist() == whole.alpha[:chunks].tolist()


@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_it_costs_at_least_the_optimum_of_problem_7(data, instances, rng):
    instance = data.draw(limited(instances)).first_jobs(3)
    run = a_online_storage(instance, rng)
    assert cost(instance, run) >= solve(problem_7_compact(instance), "highs").objective - 1e-6


def two_servers(cloud: float = 100.0) -> Instance:
    """Room for one chunk each; job 1 may use the first server only."""
    return Instance.build(
        release_time=[0, 1],
        num_chunks=1,
        chunk_time_slow=[20, 2],
        upload_delay_edge=[[0, 1], [0, 0]],
        upload_delay_cloud=cloud,
        worker_server=[0, 1],
        explicit_worker_eligible=np.array([[True, True], [True, False]]),
        chunk_storage=1,
        storage_capacity=1,
    )


def test_theorem_3_with_storage_fails_for_two_jobs(rng) -> None:
    """Job 0 fills the first server, and job 1, a tenth of its size, must go to the cloud."""
    instance = two_servers()
    run = a_online_storage(instance, rng, epsilon=1.0)
    assert run.dispatch.tolist() == [0, CLOUD]
    assert run.total_jct == 10 + 101
    optimum = solve(problem_7_compact(instance), "highs").objective
    assert optimum == pytest.approx(21 + 2)
    assert run.total_jct / optimum > 4.8 > 1 + 1 / 1.0
    assert run.alpha[1] == 101  # at server 0, t = 11, the row (9a) allows t - r = 10
    far = two_servers(1000.0)
    worse = a_online_storage(far, rng, epsilon=1.0).total_jct
    assert worse / solve(problem_7_compact(far), "highs").objective > 40


def test_storage_falls_free_when_the_whole_job_is_done_or_chunk_by_chunk(rng) -> None:
    instance = Instance.build(
        release_time=[0, 3],
        num_chunks=[2, 1],
        chunk_time_slow=[2, 1],
        upload_delay_edge=[[0, 2], [0, 9]],
        upload_delay_cloud=20,
        worker_server=[0, 1],
        chunk_storage=1,
        storage_capacity=[1, 1],
    )
    by_job = a_online_storage(instance, rng)
    assert by_job.dispatch[:2].tolist() == [0, 1]
    assert by_job.completion[:2].tolist() == [2, 4]
    assert by_job.dispatch[2] == CLOUD  # server 0 holds job 0's chunk until 4
    assert a_online_storage(instance, rng, storage_release="chunk").dispatch[2] == 0


def test_a_job_that_ends_as_another_arrives_leaves_it_its_place(rng) -> None:
    instance = replace(two_servers(), release_time=np.array([0.0, 20.0]))
    assert a_online_storage(instance, rng).dispatch.tolist() == [0, 0]


def test_without_the_cloud_a_job_that_finds_no_room_is_an_error(rng) -> None:
    with pytest.raises(InputError, match="no room for 1 chunks of job 1 at 1"):
        a_online_storage(two_servers(), rng, edge_only=True)
    barred = replace(two_servers(), upload_delay_cloud=np.array([np.inf, np.inf]))
    with pytest.raises(InputError, match="storage_capacity"):
        a_online_storage(barred, rng)


def test_an_unknown_moment_of_release_is_refused(rng) -> None:
    with pytest.raises(InputError, match="storage_release = 'soon'"):
        a_online_storage(two_servers(), rng, storage_release="soon")


def test_jobs_are_handed_over_once_each(rng) -> None:
    instance = two_servers()
    scheduler = StorageScheduler(
        System.of(instance), instance.storage_capacity, Rules(), "job", rng
    )
    scheduler.arrive(instance.job(1))
    with pytest.raises(InputError, match="each handed over once"):
        scheduler.finish()
