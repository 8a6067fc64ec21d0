"""A hidden field shows itself when its job is done; no decision depends on it before."""

from dataclasses import replace

import numpy as np
import online_cases
import pytest

from formulations.llm_inference import PROBLEM, Instance, Schedule
from optsched.online import anticipation, reoptimise, simulate

UNSURE = Instance.build(
    memory=12, prompt=[1, 1, 1], output=[2, 3, 8], predicted_least=[1, 1, 8],
    predicted_most=[8, 9, 8],
)  # fmt: skip


class OneByOne:
    """Starts requests in rounds 0, 2 and 5, and notes the outputs that it is shown."""

    def __init__(self):
        self.seen = []

    def slot(self, state):
        self.seen.append(state.known.output.tolist())
        if state.now in (0, 2, 5):
            state.start(state.known.request(len(state.plan.request)))


class ShortestFirst:
    """Starts in every round the shortest of the requests that fit, as far as it is told."""

    def slot(self, state):
        known = state.known
        waiting = np.setdiff1d(np.arange(known.requests), state.plan.request)
        for i in sorted(waiting.tolist(), key=lambda i: known.output[i]):
            if state.earliest(known.request(i)) <= state.now:
                state.start(known.request(i))


def one_after_the_other(order):
    """A heuristic that serves requests one by one, by a key of the instance."""

    def run(instance, rng):
        runs, now = [], 0
        for i in np.argsort(order(instance), kind="stable").tolist():
            now = max(now, int(instance.arrival[i]))
            runs.append((i, now, instance.output[i]))
            now += int(instance.output[i])
        return Schedule.build(runs)

    return run


def test_a_policy_sees_the_greatest_value_until_a_job_is_done():
    policy = OneByOne()
    made = simulate(PROBLEM, UNSURE, policy)
    assert made.start.tolist() == [0, 2, 5]
    assert made.tokens.tolist() == [2, 3, 8]
    assert policy.seen == [[8, 9, 8]] * 2 + [[2, 9, 8]] * 3 + [[2, 3, 8]]


def test_what_is_planned_stays_when_a_value_turns_out_smaller():
    made = simulate(PROBLEM, UNSURE, online_cases.EarliestStart())
    assert made.start.tolist() == [0, 6, 14]  # planned for 8, 9 and 8 tokens
    assert made.tokens.tolist() == [2, 3, 8]
    assert not PROBLEM.check(UNSURE, made)


def test_a_heuristic_that_knows_a_hidden_value_is_found_out():
    honest = one_after_the_other(lambda one: one.most_output)
    assert anticipation(PROBLEM, honest, UNSURE) is None
    ahead = anticipation(PROBLEM, one_after_the_other(lambda one: -one.output), UNSURE)
    assert str(ahead).startswith("sees the future: with output ")
    assert ahead.before > 0


def test_a_value_that_is_certain_is_not_hidden():
    certain = Instance.build(memory=12, prompt=[1, 1, 1], output=[2, 3, 8])
    run = one_after_the_other(lambda one: -one.output)
    assert anticipation(PROBLEM, run, certain) is None
    assert anticipation(PROBLEM, run, UNSURE) is not None


@pytest.mark.parametrize("arrival", [[0, 0, 0], [0, 1, 3]])
@pytest.mark.parametrize("policy", [online_cases.EarliestStart, ShortestFirst])
def test_what_a_policy_is_shown_does_not_let_it_look_ahead(policy, arrival):
    one = replace(UNSURE, arrival=np.array(arrival))
    run = lambda instance, rng: simulate(PROBLEM, instance, policy())  # noqa: E731
    assert not PROBLEM.check(one, run(one, None))
    assert anticipation(PROBLEM, run, one, changes=4) is None


def test_reoptimise_plans_anew_when_a_value_shows_itself():
    made = reoptimise(PROBLEM, UNSURE)
    assert not PROBLEM.check(UNSURE, made)
    assert made.request.tolist() == [0, 2, 1]
    assert made.start.tolist() == [0, 2, 8]  # request 0 is planned for rounds 0 to 7
    assert anticipation(PROBLEM, lambda one, rng: reoptimise(PROBLEM, one), UNSURE) is None
