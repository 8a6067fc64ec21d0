"""Policies for LLM inference: worked examples, memory, hidden outputs."""

from dataclasses import replace

import numpy as np
import pytest
from llm_cases import FOUR, WAITING_HELPS, drawn

import optsched as osd
from formulations.llm_inference import PROBLEM, Instance, Schedule
from formulations.llm_inference.check import check, cost
from formulations.llm_inference.online import relabel
from heuristics.llm_inference import HEURISTICS
from heuristics.llm_inference.policies import Checked
from heuristics.llm_inference.serving import serve
from optsched.evaluation.runs import check_names
from optsched.evaluation.tables import granted_more
from optsched.online import anticipation, simulate
from optsched.problem import problem
from optsched.study.spec import presets

ONLINE = [name for name in HEURISTICS if name != "reoptimise"]
CHECKED = ["mc_sf", "fcfs", "longest_first"]


def run(name, instance, **options):
    return HEURISTICS[name].run(instance, np.random.default_rng(0), **options)


def starts(made, requests):
    return [int(made.start[made.request == i][-1]) for i in range(requests)]


@pytest.mark.parametrize(
    ("name", "instance", "expected", "total"),
    [
        ("mc_sf", FOUR, [0, 5, 7, 5], 22),
        ("fcfs", FOUR, [0, 5, 7, 9], 26),
        ("mc_sf", WAITING_HELPS, [0, 5, 5], 20),
        ("fcfs", WAITING_HELPS, [0, 5, 5], 20),
    ],
)
def test_the_worked_examples_run_as_written(name, instance, expected, total):
    made = run(name, instance)
    assert starts(made, instance.requests) == expected
    assert cost(instance, made) == total


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize("predictions", ["true", "interval", "none"])
def test_a_policy_with_the_check_never_evicts_if_it_plans_with_the_longest_output(
    name, predictions
):
    for seed in range(4):
        arrivals = "poisson" if seed % 2 else "at_once"
        instance = drawn(seed, requests=15, arrivals=arrivals, predictions=predictions)
        made = run(name, instance)
        assert not check(instance, made)


@pytest.mark.parametrize("name", CHECKED)
def test_planning_with_the_shortest_output_evicts_and_completes_all(name):
    restarted = 0
    for seed in range(4):
        instance = drawn(seed, requests=15, predictions="interval")
        made = run(name, instance, assume="least")
        assert not check(instance, made, restarts=True)
        restarted += made.restarts
    assert restarted


def test_protected_greedy_leaves_requests_undone_that_evict_each_other_forever():
    instance = Instance.build(memory=10, prompt=[1, 1], output=[8, 8])
    made = run("protected_greedy", instance, alpha=0.1)
    found = check(instance, made, restarts=True)
    assert [(v.constraint, v.amount) for v in found] == [("H1", 1.0), ("H1", 1.0)]
    assert cost(instance, made) == np.inf
    done = run("protected_clearing", instance, alpha=0.1)
    assert not check(instance, done, restarts=True)


def test_restarts_cannot_beat_the_optimum_and_no_table_says_that_they_may():
    restarted = 0
    for seed in range(6):
        instance = drawn(seed, requests=6)
        made = run("protected_clearing", instance)
        restarted += made.restarts
        whole = made.tokens == instance.output[made.request]
        rows = np.column_stack([made.request, made.start, made.tokens])[whole]
        assert not check(instance, Schedule.build(rows))
        assert cost(instance, Schedule.build(rows)) == cost(instance, made)
    assert restarted
    found = osd.ratios("llm_inference", ["protected_clearing", "mc_sf"], instances=instance)
    assert all(row.ratio_low >= 1 and not row.may_beat for row in found.rows)
    assert not granted_more(found.table())


def test_protected_greedy_evicts_all_on_overflow():
    instance = Instance.build(memory=9, arrival=[0, 1], prompt=[1, 1], output=[4, 7])
    made = run("protected_greedy", instance, alpha=0.3)
    rows = np.column_stack([made.request, made.start, made.tokens]).tolist()
    assert rows == [[0, 0, 4], [1, 1, 7]]
    larger = replace(instance, output=np.array([6, 7]))
    made = run("protected_greedy", larger, alpha=0.4)
    rows = np.column_stack([made.request, made.start, made.tokens]).tolist()
    # 5 + 4 tokens in round 3 fit, 6 + 5 in round 4 do not; then both start at once, and again
    assert rows[:4] == [[0, 0, 4], [1, 1, 3], [0, 4, 3], [1, 4, 3]]


@pytest.mark.parametrize("name", ONLINE)
@pytest.mark.parametrize("predictions", ["true", "interval", "none"])
def test_no_decision_depends_on_later_arrivals_or_on_outputs_of_requests_that_run(
    name, predictions
):
    for seed in range(2):
        arrivals = "poisson" if seed % 2 else "at_once"
        instance = drawn(seed, requests=8, arrivals=arrivals, predictions=predictions)
        assert anticipation(PROBLEM, HEURISTICS[name].run, instance) is None


def by_true_outputs(instance, rng):
    """mc_sf, if it knew the outputs."""
    return serve(instance, Checked(lambda request, _: instance.output[request.id], "most"))


def test_a_policy_that_knows_outputs_before_requests_end_is_found_out():
    found = [
        anticipation(PROBLEM, by_true_outputs, drawn(seed, requests=8, predictions=predictions))
        for seed in range(3)
        for predictions in ("interval", "none")
    ]
    assert all(one is not None and "with output" in str(one) for one in found)
    known = drawn(0, requests=8, arrivals="poisson")
    assert anticipation(PROBLEM, by_true_outputs, known) is None


def test_a_plan_ends_with_the_last_token_whatever_was_planned_after_it():
    instance = Instance.build(memory=9, prompt=[1, 1], output=[2, 3])
    plan = Schedule.build([(0, 0, 8), (1, 0, 2), (1, 2, 3), (0, 9, 4)])
    made = relabel(instance, plan, np.array([1, 0]))
    rows = np.column_stack([made.request, made.start, made.tokens]).tolist()
    assert rows == [[0, 0, 2], [1, 0, 3]]


def test_reoptimise_with_all_known_is_optimal():
    for instance, optimum in ((FOUR, 16), (WAITING_HELPS, 19)):
        assert cost(instance, run("reoptimise", instance, lookahead="all")) == optimum
    assert cost(FOUR, run("reoptimise", FOUR)) >= 16


class Earliest:
    """Every request as early as it fits."""

    def arrive(self, job, state):
        state.start(job)


def test_a_policy_of_ones_own_decides_by_the_verbs_of_the_state():
    made = simulate(PROBLEM, FOUR, Earliest())
    assert not check(FOUR, made)
    assert starts(made, 4) == [0, 5, 7, 5]


def long_one_first(n):
    """A long request, and n whose prompts leave no room beside it."""
    memory = n * n + 3
    return Instance.build(
        memory=memory, prompt=[1] + [memory - 2] * n, output=[memory - 1] + [1] * n
    )


def large_prompts_with_short_outputs(n):
    """n requests that need all memory for a round, and n^2 small ones that need two rounds."""
    memory = 3 * n * n
    return Instance.build(
        memory=memory, prompt=[memory - 1] * n + [1] * n * n, output=[1] * n + [2] * n * n
    )


@pytest.mark.parametrize(
    ("policy", "family", "better"),
    [
        ("fcfs", long_one_first, "mc_sf"),
        ("mc_sf", large_prompts_with_short_outputs, "longest_first"),
    ],
)
def test_a_policy_exceeds_the_optimum_by_a_factor_that_grows(policy, family, better):
    factors = []
    for n in (4, 8, 16):
        instance = family(n)
        made, other = run(policy, instance), run(better, instance)
        assert check(instance, made) == check(instance, other) == []
        factors.append(cost(instance, made) / cost(instance, other))
    assert np.all(np.diff(factors) > 0)
    assert factors[-1] > 1.7 * factors[-2] > 2.5 * factors[0]


def test_every_preset_names_what_there_is():
    found = problem("llm_inference")
    assert set(presets(found)) == {"quick", "predictions"}
    for preset in presets(found).values():
        check_names(found, preset.heuristics, found.reference, None, preset.bounds or ())
        for option, values in preset.cells.items():
            for value in values:
                found.generator_call({option: value})
