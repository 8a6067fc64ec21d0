"""Instances, the checker and the generator of LLM inference."""

import numpy as np
import pytest
from llm_cases import FOUR, NO_ORDER, WAITING_HELPS, brute_force, drawn, left_shifted, schedule_of

from formulations.llm_inference import Instance, Schedule
from formulations.llm_inference.check import check, cost, loads
from optsched.errors import InputError
from optsched.instances.document import dumps, parse


def broken(instance, runs, **options):
    return [(v.constraint, dict(v.index), v.amount) for v in check(instance, runs, **options)]


def test_the_worked_examples_have_their_optima():
    assert cost(FOUR, schedule_of(FOUR, [5, 1, 3, 2])) == brute_force(FOUR, 12) == 16
    assert not check(FOUR, schedule_of(FOUR, [5, 1, 3, 2]))
    assert brute_force(WAITING_HELPS, 13) == 19


def test_left_shifted_schedules_are_not_dominant():
    assert not check(WAITING_HELPS, schedule_of(WAITING_HELPS, [1, 2, 6]))
    assert cost(WAITING_HELPS, schedule_of(WAITING_HELPS, [1, 2, 6])) == 19
    assert left_shifted(WAITING_HELPS) == 20


def test_no_order_of_insertion_need_be_optimal():
    assert left_shifted(WAITING_HELPS, chronological=False) == 19
    assert left_shifted(NO_ORDER, chronological=False) == 21
    assert brute_force(NO_ORDER, 11) == 20


def test_memory_is_a_ramp_that_ends_with_the_last_token():
    rounds, load = loads(FOUR, Schedule.build([(0, 1, 5)]))
    assert (rounds.tolist(), load.tolist()) == ([1, 2, 3, 4, 5], [2, 3, 4, 5, 6])


def test_each_violation_has_its_number_place_and_amount():
    early = schedule_of(FOUR, [5, 0, 3, 2])
    assert broken(FOUR, early) == [("L1", {"request": 1, "round": 0}, 1.0)]
    at_once = schedule_of(FOUR, [5, 1, 2, 2])
    assert broken(FOUR, at_once) == [("L2", {"round": 2}, 4.0)]
    assert broken(FOUR, Schedule.build([(0, 5, 5), (1, 1, 2), (2, 3, 2)])) == [
        ("H1", {"request": 3}, 1.0)
    ]
    assert broken(FOUR, Schedule.build([(7, 0, 1), (0, -1, 5), (1, 0, 3)])) == [
        ("run", {"run": 0}, 1.0), ("run", {"run": 1}, 1.0), ("run", {"run": 2}, 1.0)
    ]  # fmt: skip


def test_restarts_count_for_memory_and_only_the_complete_run_for_completion():
    rows = [(0, 0, 1), (1, 1, 2), (2, 3, 2), (3, 2, 1), (0, 5, 5)]
    made = Schedule.build(rows)
    assert made.restarts
    assert not check(FOUR, made, restarts=True)
    assert broken(FOUR, made) == [("H1", {"request": 0}, 1.0)]
    assert cost(FOUR, made) == 16
    again = Schedule.build([*rows, (0, 10, 2)])
    assert broken(FOUR, again, restarts=True) == [("H1", {"request": 0}, 2.0)]


def test_a_request_that_never_completes_costs_infinitely_much():
    assert cost(FOUR, Schedule.build([(0, 5, 4)])) == np.inf


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"output": [9]}, r"requests\[0\].output"),
        ({"prompt": [0]}, r"requests\[0\].prompt"),
        ({"predicted_least": [4]}, r"requests\[0\].predicted_least"),
        ({"predicted_most": [2]}, r"requests\[0\].predicted_most"),
        ({"predicted_most": [10]}, r"requests\[0\].output"),
        ({"predicted_least": [2]}, r"requests\[0\].predicted_least = 2: 0 just if"),
        ({"predicted_most": [4]}, r"requests\[0\].predicted_least = 0: 0 just if"),
        ({"memory": 1}, "memory"),
    ],
)
def test_bad_instances_are_refused_by_field(given, field):
    good = {"memory": 10, "prompt": [2], "output": [3]}
    with pytest.raises(InputError, match=field):
        Instance.build(**good | given)


def test_instances_and_schedules_survive_their_files():
    instance = drawn(3, predictions="interval", arrivals="poisson")
    assert dumps(parse(Instance, instance.to_document().model_dump())) == dumps(instance)
    made = schedule_of(FOUR, [5, 1, 3, 2])
    assert dumps(parse(Schedule, made.to_document().model_dump())) == dumps(made)


def test_the_generator_draws_the_ranges_it_states():
    many = [drawn(seed, requests=20) for seed in range(40)]
    assert {one.memory for one in many} <= set(range(30, 51))
    assert {int(s) for one in many for s in one.prompt} == {1, 2, 3, 4, 5}
    assert all((one.prompt + one.output <= one.memory).all() for one in many)
    assert any((one.prompt + one.output == one.memory).any() for one in many)
    assert not any(one.arrival.any() for one in many)
    rates = [drawn(seed, requests=200, arrivals="poisson").arrival[-1] for seed in range(20)]
    assert min(rates) > 110
    assert max(rates) < 480


def test_few_requests_are_the_first_of_many_and_predictions_change_nothing_else():
    few, many = (drawn(4, requests=n, arrivals="poisson") for n in (5, 30))
    for name in ("arrival", "prompt", "output"):
        assert np.array_equal(getattr(few, name), getattr(many, name)[:5])
    for kind in ("interval", "none"):
        other = drawn(4, requests=5, arrivals="poisson", predictions=kind)
        assert np.array_equal(other.output, few.output)
        assert (other.least_output <= few.output).all()
        assert (few.output <= other.most_output).all()
    assert np.array_equal(other.most_output, other.memory - other.prompt)
    assert not few.predicted_least.any()  # a search for bad instances leaves them as they are
    assert not few.predicted_most.any()
    exact = drawn(4, requests=5, predictions="interval", error=0.0)
    assert np.array_equal(exact.least_output, exact.most_output)
