"""Invariants of the rounds, and what "online" means."""

from typing import Any

import numpy as np
import pytest
from batch_cases import tiny_instances, worked_example
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.batch import PROBLEM
from formulations.batch.check import check, completion_slots, cost
from formulations.batch.generator import generate
from formulations.batch.instance import Instance
from formulations.batch.problem_2 import problem_2
from formulations.batch.problem_2_intervals import problem_3_intervals
from formulations.batch.schedule import Schedule
from heuristics.batch import HEURISTICS
from heuristics.batch.rounds import RoundScheduler
from heuristics.batch.rules import Rules
from optsched.errors import InputError
from optsched.solve import solve

RNG = np.random.default_rng(0)

VARIANTS = st.fixed_dictionaries(
    {
        "selection": st.sampled_from(["paper", "earliest"]),
        "start_rule": st.sampled_from(["interval_start", "any"]),
        "release_test": st.sampled_from(["printed", "exact"]),
        "value_rule": st.sampled_from(["one", "weight", "scaled"]),
        "job_order": st.sampled_from(["arrival", "shortest_work", "weight_per_cost"]),
    }
)


def round_of(made: Schedule) -> Any:
    """tau of the round that fills the slots each run starts in."""
    return 2 ** np.ceil(np.log2(made.run_start) - 1)


@given(instance=tiny_instances(), options=VARIANTS)
@settings(max_examples=60, deadline=None)
def test_every_job_runs_once_inside_a_window_after_its_arrival(
    instance: Instance, options: dict[str, str]
) -> None:
    made = HEURISTICS["a_online"].run(instance, RNG, **options)
    assert check(instance, made) == []
    assert sorted(made.run_job) == list(range(instance.jobs))
    tau = round_of(made)
    assert (tau < made.run_start).all()
    assert (made.run_end <= 2 * tau).all()
    assert (instance.release_slot[made.run_job] < tau).all()
    if options["start_rule"] == "interval_start":
        assert (made.run_start == tau + 1).all()


@given(instance=tiny_instances(cloud=True), options=VARIANTS)
@settings(max_examples=40, deadline=None)
def test_with_a_cloud_no_job_ends_after_four_times_its_own_bound(
    instance: Instance, options: dict[str, str]
) -> None:
    made = HEURISTICS["a_online"].run(instance, RNG, **options)
    duration = -(-instance.work_fast // instance.num_chunks)
    ready = instance.release_slot + instance.upload_delay[:, -1] + 1
    assert (completion_slots(instance, made) < 4 * np.maximum(ready, duration)).all()


@given(instance=tiny_instances())
@settings(max_examples=15, deadline=None)
def test_no_algorithm_beats_the_offline_optimum_without_preemption(instance: Instance) -> None:
    optimum = solve(problem_2(instance)).objective
    assert optimum is not None
    for name in ("a_online", "batch_sche", "fifo", "drf"):
        made = HEURISTICS[name].run(instance, RNG)
        assert check(instance, made) == []
        assert cost(instance, made) >= optimum


@given(instance=tiny_instances(), selection=st.sampled_from(["paper", "earliest"]))
@settings(max_examples=25, deadline=None)
def test_a_round_accepts_at_most_the_optimum_of_problem_3(
    instance: Instance, selection: Any
) -> None:
    tau = 8
    scheduler = RoundScheduler(instance.system, Rules(selection, "any", "exact"))
    for job in instance.arrivals():
        scheduler.arrive(job)
    accepted = scheduler.hold(tau)
    best = solve(problem_3_intervals(instance, tau=tau), "cpsat").objective
    assert best is not None
    assert min(1, best) <= len(accepted) <= best


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a_online", {}),
        ("a_online", {"selection": "earliest", "start_rule": "any", "release_test": "exact"}),
        ("batch_sche", {"value_rule": "weight"}),
        ("fifo", {}),
        ("drf", {}),
        ("preemptive", {}),
        ("preemptive", {"overhead_slots": 1, "ignore_upload": False}),
    ],
)
def test_jobs_still_to_come_change_nothing_that_has_happened(
    name: str, options: dict[str, Any]
) -> None:
    instance = generate(
        np.random.default_rng(4), jobs=24, servers=6, types=2, time_scale=0.02, horizon=60
    )
    first = np.sort(instance.arrival_order[:12])
    now = int(instance.release_slot[instance.arrival_order[12]])
    assert now > instance.release_slot[first].max()
    whole = HEURISTICS[name].run(instance, RNG, **options)
    part = HEURISTICS[name].run(instance.select_jobs(first), RNG, **options)

    def begun(made: Schedule, jobs: Any) -> set[tuple[int, ...]]:
        """Runs begun before the rest arrives; a preemptive run may then be cut short."""
        rows = zip(
            made.run_job, made.run_start, np.minimum(made.run_end, now - 1), made.run_workers,
            made.run_ps, strict=True,
        )  # fmt: skip
        return {(int(jobs[j]), *map(int, rest)) for j, *rest in rows if rest[0] < now}

    here = begun(part, first)
    assert here == {row for row in begun(whole, np.arange(24)) if row[0] in set(first.tolist())}
    assert here


def test_the_first_job_of_a_round_is_never_postponed_without_need() -> None:
    instance = worked_example(worker_capacity=[[4], [1]], ps_capacity=[[2], [1]],
                              upload_delay=[1, 1], cloud_index=None)  # fmt: skip
    made = HEURISTICS["a_online"].run(instance, RNG)
    assert check(instance, made) == []


def test_batch_sche_never_uses_the_fast_speed() -> None:
    instance = generate(np.random.default_rng(1), jobs=20, servers=5, time_scale=0.1)
    made = HEURISTICS["batch_sche"].run(instance, RNG)
    assert not made.run_together.any()
    assert check(instance, made) == []


def test_prices_that_veto_postpone_jobs() -> None:
    instance = generate(np.random.default_rng(1), jobs=12, servers=4, types=1, cloud=False,
                        time_scale=0.02)  # fmt: skip
    veto = HEURISTICS["a_online"].run(instance, RNG)
    free = HEURISTICS["a_online"].run(instance, RNG, selection="earliest")
    assert cost(instance, veto) > cost(instance, free)


def test_unknown_rules_are_refused() -> None:
    for option in ("selection", "start_rule", "release_test", "value_rule", "job_order", "cost_d"):
        with pytest.raises(InputError, match=option):
            HEURISTICS["a_online"].run(worked_example(), RNG, **{option: "none"})


@pytest.mark.parametrize("given", [{"selection": "earliest"}, {"start_rule": "any"}])
def test_the_printed_algorithm_refuses_what_it_does_not_read(given: dict[str, str]) -> None:
    with pytest.raises(InputError, match="printed"):
        HEURISTICS["a_online"].run(worked_example(), RNG, printed=True, **given)


def test_as_printed_a_job_is_booked_at_every_completion_slot() -> None:
    instance = worked_example(worker_capacity=[[np.inf]] * 3, ps_capacity=[[np.inf]] * 3)
    printed = HEURISTICS["a_online"].run(instance, RNG, printed=True)
    assert check(instance, printed) == []  # with room for all bookings nobody notices
    assert [v.constraint for v in check(worked_example(), HEURISTICS["a_online"].run(
        worked_example(), RNG, printed=True))]  # fmt: skip


def test_the_problem_finds_its_heuristics_by_name() -> None:
    from optsched.problem import problem
    from optsched.study.spec import presets

    found = problem("batch")
    assert set(HEURISTICS) <= set(found.heuristics)
    assert found.reference == PROBLEM.reference
    for preset in presets(found).values():
        for text in preset.heuristics:
            found.heuristic(text)
        for exact in preset.exact or ():
            found.formulation(exact.formulation)
        for name, values in preset.cells.items():
            for value in values:
                found.generator_call({name: value})
