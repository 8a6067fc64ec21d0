"""The online lower bound: facts that hold of it, and brute force over tiny trees."""

import itertools
import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from online_cases import instance_of
from scipy.optimize import linprog

from formulations.preemptive import Instance
from optsched.errors import InputError
from optsched.evaluation.runs import instance_rng
from optsched.instances.document import save
from optsched.online import information_relaxation, online_lower_bound, stopping_scenarios
from optsched.problem import problem

CLOSE = 1e-6


@pytest.mark.parametrize("name", ["preemptive", "batch"])
@pytest.mark.parametrize("seed", range(5))
def test_who_knows_the_future_pays_nothing(name, seed):
    options = {"jobs": 2, "servers": 2, "types": 1, "time_scale": 0.03}
    one = problem(name).generate(instance_rng(seed), **options)
    paid = online_lower_bound(problem(name), [one])
    for known in (paid.deterministic, paid.randomised, paid.mean):
        assert (known.low, known.high) == pytest.approx((1.0, 1.0), abs=CLOSE)


def test_without_a_common_past_nothing_is_unknown():
    scenarios = [instance_of("preemptive", seed) for seed in (0, 1)]
    paid = online_lower_bound(problem("preemptive"), scenarios)
    assert paid.deterministic.high == pytest.approx(1.0, abs=CLOSE)
    assert paid.hardest == [0.5, 0.5]  # as hard as any probabilities


@pytest.mark.parametrize(
    ("name", "seed", "heuristics"),
    [
        ("preemptive", 3, ["a_online", "a_online_ns", "reoptimise"]),
        ("batch", 1, ["a_online", "reoptimise"]),
    ],
)
def test_no_online_algorithm_does_better_than_the_lower_bound(name, seed, heuristics):
    chosen = problem(name)
    scenarios = stopping_scenarios(chosen, instance_of(name, seed).select_jobs(np.arange(3)))
    paid = online_lower_bound(chosen, scenarios)
    assert paid.mean.low <= paid.randomised.low <= paid.deterministic.low + CLOSE
    for known in (paid.deterministic, paid.randomised, paid.mean):
        assert known.low <= known.high + CLOSE
    assert information_relaxation(chosen, scenarios, rounds=5).low <= paid.mean.low + CLOSE
    for heuristic in heuristics:
        ratios = [
            chosen.cost(one, chosen.run(heuristic, one, np.random.default_rng(0))) / best.low
            for one, best in zip(scenarios, paid.optima, strict=True)
        ]
        assert max(ratios) >= paid.deterministic.low - CLOSE
        assert np.mean(ratios) >= paid.mean.low - CLOSE


def test_what_the_best_algorithm_does_depends_on_the_past_alone():
    chosen = problem("batch")
    scenarios = stopping_scenarios(chosen, instance_of("batch", 1).select_jobs(np.arange(3)))
    schedules = online_lower_bound(chosen, scenarios).schedules
    for (one, made), (later, its) in itertools.pairwise(zip(scenarios, schedules, strict=True)):
        parting = float(np.max(later.release_slot))
        assert sorted(chosen.arrivals.decisions(one, made, parting)) == sorted(
            chosen.arrivals.decisions(later, its, parting)
        )


# brute force: two edge workers behind one delay, and the cloud

WORKERS = 2
JOBS = [
    # release, chunks, slow, fast, delay to the edge, delay to the cloud
    (1, 2, 3, 1, 0, 3),
    (2, 2, 2, 2, 0, 7),
    (2, 1, 2, 1, 0, 5),
    (3, 2, 1, 1, 0, 6),
    (1, 1, 2, 1, 1, 4),
]


def instance(jobs):
    release, chunks, slow, fast, edge, cloud = (list(column) for column in zip(*jobs, strict=True))
    return Instance.build(
        release_time=release, num_chunks=chunks, chunk_time_slow=slow, chunk_time_fast=fast,
        upload_delay_edge=[[delay] for delay in edge], upload_delay_cloud=cloud,
        worker_server=[0] * WORKERS,
    )  # fmt: skip


def scenarios_of(lists):
    return [instance([JOBS[j] for j in one]) for one in lists]


def strategies(scenarios):
    """Costs, one per scenario, of all deterministic online algorithms that are not dominated."""

    @cache
    def reached(group, slot, state):
        seen = {}
        for i in group:
            there = tuple(j for j in scenarios[i] if JOBS[j][0] <= slot)
            seen.setdefault(there, []).append(i)
        if len(seen) > 1:
            parts = [reached(tuple(part), slot, state) for part in seen.values()]
            return frozenset(
                tuple(sorted(itertools.chain(*choice))) for choice in itertools.product(*parts)
            )
        here, known = dict(state), next(iter(seen))
        waiting = [j for j in known if not here.get(j, (0, False, False))[2]]
        if not waiting and all(len(scenarios[i]) == len(known) for i in group):
            return frozenset({tuple((i, 0) for i in group)})
        rooms = [
            range(min(JOBS[j][1], WORKERS) + 1 if slot >= JOBS[j][0] + JOBS[j][4] else 1)
            for j in waiting
        ]
        found = set()
        for edge in itertools.product(*rooms):
            if sum(edge) > WORKERS:
                continue
            after = dict(here)
            for j, units in zip(waiting, edge, strict=True):
                release, chunks, slow, fast, _, cloud = JOBS[j]
                done, at_edge, _ = here.get(j, (0, False, False))
                done += units + (chunks - units if slot >= release + cloud else 0)
                at_edge = at_edge or units > 0
                needed = chunks * (slow if at_edge else fast)
                after[j] = (done, at_edge, done >= needed)
            rest = reached(group, slot + 1, tuple(sorted(after.items())))
            found |= {tuple((i, cost + len(waiting)) for i, cost in costs) for costs in rest}
        return frozenset(
            one
            for one in found
            if not any(
                other != one and all(a[1] <= b[1] for a, b in zip(other, one, strict=True))
                for other in found
            )
        )

    everything = reached(tuple(range(len(scenarios))), 1, ())
    return np.array([[cost for _, cost in one] for one in everything], dtype=float)


@pytest.mark.parametrize(
    "scenarios",
    [
        [(0,), (0, 1)],
        [(0, 4), (0, 1, 4), (0, 2, 4)],
        [(0,), (0, 2), (0, 2, 3), (0, 1)],
        [(0, 4), (0, 3, 4), (0, 2, 4), (0, 1, 2, 4)],
    ],
)
def test_brute_force_over_tiny_trees_agrees(scenarios):
    paid = online_lower_bound(problem("preemptive"), scenarios_of(scenarios))
    best = np.array([strategies([one]).min() for one in scenarios])
    assert [one.low for one in paid.optima] == pytest.approx(best)
    ratios = strategies(scenarios) / best
    rows = len(ratios)
    mixed = linprog(
        np.append(np.zeros(rows), 1.0),
        A_ub=np.column_stack([ratios.T, -np.ones(len(scenarios))]),
        b_ub=np.zeros(len(scenarios)),
        A_eq=[[1.0] * rows + [0.0]],
        b_eq=[1.0],
    ).fun
    for known, told in (
        (paid.deterministic, ratios.max(axis=1).min()),
        (paid.randomised, mixed),
        (paid.mean, ratios.mean(axis=1).min()),
    ):
        assert (known.low, known.high) == pytest.approx((told, told), abs=1e-5)
    for weight, known in ((None, paid.mean), (paid.hardest, paid.randomised)):
        bound = information_relaxation(
            problem("preemptive"), scenarios_of(scenarios), weight, target=known.high
        )
        assert bound.hindsight == pytest.approx(1.0)  # who knows the future pays nothing
        assert bound.low == pytest.approx(known.low)
        assert bound.rounds <= 5


def test_a_job_that_may_be_alone_or_not_costs_a_sixth():
    """Alone it ends after 3 slots at the edge, 4 in the cloud. If the second comes, it should have
    gone to the cloud (6 slots in all, not 7): edge first is 7/6, cloud first 4/3, and two parts of
    the one with one of the other are 10/9 either way."""
    scenarios = [instance([JOBS[0]]), instance([JOBS[0], JOBS[1]])]
    paid = online_lower_bound(problem("preemptive"), scenarios)
    assert [one.low for one in paid.optima] == [3, 6]
    assert (paid.deterministic.low, paid.deterministic.high) == pytest.approx((7 / 6, 7 / 6))
    assert (paid.randomised.low, paid.randomised.high) == pytest.approx((10 / 9, 10 / 9))
    assert paid.strategies >= 2
    assert paid.hardest == pytest.approx([1 / 3, 2 / 3])


def test_what_is_no_tree_of_futures_is_refused():
    one = instance(JOBS[:1])
    with pytest.raises(InputError, match="differ in some job"):
        online_lower_bound(problem("preemptive"), [one, one])
    with pytest.raises(InputError, match="at least one instance"):
        online_lower_bound(problem("preemptive"), [])
    with pytest.raises(InputError, match="a model of its online algorithms"):
        online_lower_bound(problem("okita"), [instance_of("okita", 0)])


def test_what_no_model_in_whole_slots_can_price_is_refused():
    """Optima of jobs shorter than slots are in continuous time; workers are pooled by type."""
    one = instance([JOBS[0], JOBS[1]])
    slow, fast = (0.3 * times for times in (one.chunk_time_slow, one.chunk_time_fast))
    short = replace(one, chunk_time_slow=slow, chunk_time_fast=fast)
    with pytest.raises(InputError, match=r"chunk_time_slow = .*: jobs that fill whole slots"):
        online_lower_bound(problem("preemptive"), stopping_scenarios(problem("preemptive"), short))
    table = replace(one, explicit_worker_eligible=one.worker_eligible)
    with pytest.raises(InputError, match="worker_eligible = 'a table': null: eligibility by type"):
        online_lower_bound(problem("preemptive"), stopping_scenarios(problem("preemptive"), table))


@pytest.mark.parametrize("weight", [[0.5], [0.7, 0.7], [-0.5, 1.5]])
def test_probabilities_are_one_a_scenario_and_add_up_to_one(weight):
    with pytest.raises(InputError, match="2 numbers that add up to 1"):
        information_relaxation(problem("preemptive"), scenarios_of([(0,), (0, 1)]), weight)


def test_who_may_stop_sending_jobs_may_do_so_after_any_moment_of_arrival():
    late_first = instance([JOBS[1], JOBS[0], JOBS[2]])
    futures = stopping_scenarios(problem("preemptive"), late_first)
    assert [one.release_time.tolist() for one in futures] == [[1], [1, 2, 2]]


def test_the_command_prints_the_lower_bound(cli, tmp_path):
    files = []
    for k in (1, 2):
        save(instance([JOBS[0], JOBS[1]][:k]), tmp_path / f"{k}.json")
        files.append(str(tmp_path / f"{k}.json"))
    said = cli("online-bound", "preemptive", "--instances", ",".join(files), "--json")
    told = online_lower_bound(
        problem("preemptive"), [instance([JOBS[0]]), instance([JOBS[0], JOBS[1]])]
    )
    assert json.loads(said.stdout)["deterministic"]["low"] == pytest.approx(told.deterministic.low)
