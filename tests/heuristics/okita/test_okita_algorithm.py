"""Okita: the worked example step by step, its parts against a literal reading, invariants."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from okita_cases import tiny, worked_example
from okita_literal import dta, osf, pa, preference

from formulations.okita import PROBLEM, Instance
from formulations.okita.check import check, completion_slots, cost
from formulations.okita.latency import Latencies
from formulations.okita.problem_5 import exact_placement
from formulations.okita.problem_7 import exact_transport
from heuristics.okita import HEURISTICS
from heuristics.okita.okita import okita, run_okita
from heuristics.okita.online import Job, Rules, SiteCosts
from heuristics.okita.priority import priorities
from optsched.errors import InputError
from optsched.solvers.solution import Status

ALL = sorted(HEURISTICS)


def run(name, instance, seed=0):
    # what a clock ends has no one result
    limit = {"time_limit": 600.0} if name == "reoptimise" else {}
    return HEURISTICS[name].run(instance, np.random.default_rng(seed), **limit)


def test_the_worked_example_is_decided_as_printed():
    done = run_okita(worked_example())
    rows = [
        (d.slot, d.job, d.workers, d.window, d.planned, d.migrate, d.delay, d.deployed)
        for d in done.decisions
    ]
    assert rows == [
        (1, 0, 2, 2, 9.0, None, None, True),
        (1, 1, 1, 3, 6.0, 9.0, 10.0, True),
        (2, 0, 1, 1, 5.0, None, None, True),
        (2, 1, 1, 2, 5.0, 9.0, 8.0, False),
        (3, 1, 1, 2, 7.0, None, None, True),
        (4, 1, 1, 1, 7.0, None, None, True),
    ]
    priority = {(d.slot, d.job): d.priority for d in done.decisions}
    assert priority[1, 0] == priority[1, 1] == -1.0
    assert priority[2, 0] == pytest.approx(1 - 2 / 6)
    assert priority[2, 1] == pytest.approx(1 - 3 / 5)
    schedule = done.schedule
    workers = zip(
        schedule.worker_slot.tolist(), schedule.worker_job.tolist(),
        schedule.worker_site.tolist(), schedule.worker_count.tolist(), strict=True,
    )  # fmt: skip
    assert sorted(workers) == [
        (1, 0, 0, 1), (1, 0, 1, 1), (1, 1, 1, 1), (2, 0, 0, 1), (3, 1, 0, 1), (4, 1, 0, 1)
    ]  # fmt: skip
    assert schedule.server_site.tolist() == [0, 1, 0, 0, 0]
    assert completion_slots(worked_example(), schedule).tolist() == [2, 4]
    assert cost(worked_example(), schedule) == pytest.approx(15.0)


def test_the_worked_example_has_the_printed_candidates():
    system = SiteCosts(worked_example(), Rules())
    found = Job(system, 0).options(worked_example().capacity, 1, 3)
    assert found.slots.tolist() == [3, 2, 1]
    assert found.bandwidth.tolist() == [4.0, 4.0, 8.0]
    assert found.server.tolist() == [0, 0, 0]
    found = Job(system, 1).options(worked_example().capacity, 1, 3)
    assert found.slots.tolist() == [3, 2, 1]
    assert found.bandwidth.tolist() == [1.0, 6.0, 8.0]


def test_the_printed_latency_offset_gives_the_same_schedule_in_the_worked_example():
    schedule = okita(worked_example(), np.random.default_rng(0), latency_offset=0)
    assert cost(worked_example(), schedule) == pytest.approx(15.0)


def test_dta_of_the_worked_case_costs_11_where_3_would_do():
    price = np.array([[0, 9, 9, 9], [9, 0, 9, 9], [1, 1, 0, 9], [2, 10, 9, 0.0]])
    instance = Instance.build(
        capacity=[2] * 4, unit_bandwidth_cost=price, release_slot=1, num_chunks=[[0, 0, 1, 1]],
        latency=Latencies.build("linear", [1.0]), worker_rate=1, worker_demand=1, ps_demand=0,
    )  # fmt: skip
    literal, _ = dta(instance, 0, [0, 0, 1, 1], [1, 1, 0, 0])
    assert literal == 11
    assert exact_transport([0, 0, 1, 1], [1, 1, 0, 0], price)[0] == 3


def test_pa_of_the_worked_case_follows_the_data_and_pays_four_times_as_much():
    q = np.array([[0, 0.01, 0.04], [0.01, 0, 0.04], [0.04, 0.04, 0]])
    instance = Instance.build(
        capacity=[1, 1, 1], unit_bandwidth_cost=q, release_slot=1, num_chunks=[[5, 5, 5]],
        latency=Latencies.build("linear", [1.0]), worker_rate=1, worker_demand=1, ps_demand=0,
        exchange_size_mb=1,
    )  # fmt: skip
    job = Job(SiteCosts(instance, Rules()), 0)
    job.left = np.array([1, 1, 5])
    options = job.options(instance.capacity, 2, 2)
    assert options.exchange[0] == pytest.approx(0.04)
    assert job.workers(instance.capacity, int(options.server[0]), 2).tolist() == [1, 0, 1]
    exact = exact_placement(instance.capacity, np.array([1]), np.array([0]), q, 2)
    assert exact.cost == pytest.approx(0.01)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 100_000))
def test_compiled_loops_agree_with_a_literal_reading(seed):
    rng = np.random.default_rng(seed)
    instance = tiny(seed, sites=int(rng.integers(1, 5)), most_chunks=8, slow=False)
    job = Job(SiteCosts(instance, Rules()), 0)
    job.left = rng.integers(0, instance.num_chunks[0] + 1)
    job.left[0] += job.left.sum() == 0
    room = rng.integers(0, instance.capacity + 1)
    assert job.system.preference(room, job.left, job.chunks).tolist() == preference(
        instance, 0, room, job.left
    )
    last = max(3, job.most_workers)
    found = job.options(room, 1, last)
    for number in range(1, last + 1):
        literal = osf(instance, 0, room, job.left, number)
        at = number - 1
        if literal is None:
            assert np.isinf(found.bandwidth[at])
            continue
        assert found.bandwidth[at] == pytest.approx(literal[0])
        assert found.slots[at] == literal[1]
        server = int(found.server[at])
        assert server == literal[3]
        assert job.workers(room, server, number).tolist() == literal[2]
        exact = exact_placement(room, job.worker, job.server, job.talk, number)
        assert found.exchange[at] >= exact.cost - 1e-9
    exact = Job(SiteCosts(instance, Rules(placement="exact", transport="exact")), 0)
    exact.left = job.left
    better = exact.options(room, 1, last)
    assert (np.isinf(better.bandwidth) == np.isinf(found.bandwidth)).all()
    for number in np.flatnonzero(np.isfinite(better.bandwidth)) + 1:
        best = exact_placement(room, job.worker, job.server, job.talk, int(number))
        assert better.exchange[number - 1] == pytest.approx(best.cost)
        assert pa(instance, 0, room, job.left, number)[0] >= best.cost - 1e-9


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 100_000))
def test_every_schedule_is_feasible_and_never_beats_the_optimum(name, seed):
    instance = tiny(seed, jobs=2, most_chunks=4, slow=False)
    schedule = run(name, instance)
    assert check(instance, schedule) == []
    last = completion_slots(instance, schedule)
    if name.startswith("okita"):  # Lemma 4
        assert last.max() <= instance.release_slot.max() - 1 + instance.total_chunks.sum()
    answer = PROBLEM.solve("problem_2_columns", instance)
    assert answer.solution.status is Status.OPTIMAL
    assert cost(instance, schedule) >= answer.solution.objective - 1e-9


@pytest.mark.parametrize("name", ALL)
def test_online_means_that_later_jobs_change_nothing_decided_before(name):
    size = {"jobs": 5, "sites": 3} if name == "reoptimise" else {"jobs": 14, "sites": 5}
    instance = PROBLEM.generate(np.random.default_rng(5), **size, horizon=6)
    whole = run(name, instance)
    for slot in (2, 4):
        early = np.flatnonzero(instance.release_slot <= slot)
        assert 0 < len(early) < instance.jobs
        part = run(name, instance.select_jobs(early))
        for kind in ("worker", "server", "move"):
            columns = [c for c in whole.__dataclass_fields__ if c.startswith(kind)]
            rows = [
                np.column_stack([getattr(one, c) for c in columns])[
                    getattr(one, f"{kind}_slot") <= slot
                ]
                for one in (whole, part)
            ]
            assert len(rows[0]) > 0
            assert sorted(map(tuple, rows[0].tolist())) == sorted(map(tuple, rows[1].tolist()))


def test_every_slot_with_unfinished_jobs_trains_something_and_skipped_jobs_leave_no_trace():
    instance = PROBLEM.generate(np.random.default_rng(2), jobs=30, sites=6, horizon=4)
    done = run_okita(instance)
    deployed = {(d.slot, d.job) for d in done.decisions if d.deployed}
    skipped = {(d.slot, d.job) for d in done.decisions if not d.deployed}
    assert skipped
    schedule = done.schedule
    recorded = set(zip(schedule.worker_slot.tolist(), schedule.worker_job.tolist(), strict=True))
    assert recorded == deployed
    assert {slot for slot, _ in skipped} <= {slot for slot, _ in deployed}
    first_of = {}
    for d in done.decisions:
        first_of.setdefault(d.slot, d)
    assert all(d.deployed and d.migrate is None for d in first_of.values())
    calls = sum(d.workers > 0 for d in done.decisions)
    limit = sum(int(instance.most_workers[d.job]) for d in done.decisions)
    assert calls <= limit


@pytest.mark.parametrize(
    "options",
    [
        {"latency_offset": 0},
        {"placement": "exact"},
        {"transport": "exact"},
        {"migrate_search": "any_n"},
        {"normalise_q": True},
        {"alpha": (2.0, 1.0), "beta": (1.0, 3.0, 1.0)},
        {"piecewise_priority": "printed"},
    ],
)
@pytest.mark.parametrize("latency", ["exponential", "piecewise"])
def test_every_option_gives_a_feasible_schedule(options, latency):
    instance = PROBLEM.generate(
        np.random.default_rng(3), jobs=12, sites=5, horizon=3, latency=latency
    )
    assert check(instance, okita(instance, np.random.default_rng(0), **options)) == []


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": (1.0,)}, {"beta": (1.0, -1.0, 1.0)}, {"latency_offset": 1},
        {"placement": "best"}, {"transport": "lp"}, {"migrate_search": "all"},
        {"piecewise_priority": "none"},
    ],
)  # fmt: skip
def test_unknown_options_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        okita(worked_example(), np.random.default_rng(0), **options)


@pytest.mark.parametrize("name", [name for name in ALL if name != "reoptimise"])
def test_jobs_whose_workers_need_several_slots_per_chunk_are_refused(name):
    slow = replace(worked_example(), rate_numerator=np.array([1, 4]))
    with pytest.raises(InputError, match="A2"):
        run(name, slow)


def test_the_printed_piecewise_priority_prefers_passed_jobs_and_the_corrected_one_does_not():
    law = Latencies.build("piecewise", [9.0, 9.0, 9.0], late=99.0, breakpoint=[3, 3, 3])
    base = worked_example()
    instance = Instance.build(
        capacity=base.capacity, unit_bandwidth_cost=base.unit_bandwidth_cost,
        release_slot=[1, 3, 4], num_chunks=[[4, 2]] * 3, latency=law, worker_rate=4, epochs=2,
        worker_demand=1, ps_demand=1,
    )  # fmt: skip
    system = SiteCosts(instance, Rules())
    jobs = [Job(system, i) for i in range(3)]
    printed = priorities(instance, jobs, 5, (1.0, 0.0), "printed")
    assert printed[0] > printed[1] > printed[2]  # the passed job first, against the intention
    corrected = priorities(instance, jobs, 5, (1.0, 0.0), "corrected")
    assert corrected[1] > corrected[2] > corrected[0] == 0.0
    assert (priorities(instance, jobs[1:], 5, (1.0, 0.0), "printed") == 0.0).all()  # for everybody
