"""Instances on which every online algorithm must lose: judged, certified, derived again."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from formulations.preemptive import Instance
from optsched.adversary import (
    Hunt,
    OnlineBoundCase,
    adversarial,
    check_online_bound_case,
    make_online_bound_case,
    why,
)
from optsched.adversary.judging import ANY, Wanted
from optsched.adversary.online_bound import OnlineBoundJudge
from optsched.adversary.picture import both_schedules
from optsched.errors import InputError
from optsched.instances.document import dumps, load, parse, save
from optsched.online import online_lower_bound, stopping_scenarios
from optsched.problem import problem

KEPT = sorted((Path(__file__).parents[3] / "notebooks" / "trees").glob("*.json"))
TINY = {"jobs": 2, "servers": 2, "types": 1, "time_scale": 0.03}
LOST = Instance.build(
    release_time=[1, 2], num_chunks=[2, 2], chunk_time_slow=[3, 2], chunk_time_fast=[1, 2],
    upload_delay_edge=[[0], [0]], upload_delay_cloud=[3, 7], worker_server=[0, 0],
)  # fmt: skip
"""Alone the first job should use the edge, and else the cloud: 7/6, by brute force over all
deterministic algorithms (``tests/optsched/online/test_lower_bound.py``)."""


@pytest.fixture(scope="module")
def case():
    """The certificate of ``LOST``."""
    hunt = Hunt("preemptive", ANY, TINY)
    return make_online_bound_case(hunt.judge((0,)), hunt.space(), TINY, json.loads(dumps(LOST)))


def change(case, **changes):
    return parse(OnlineBoundCase, {**case.model_dump(), **changes})


def test_the_score_of_an_instance_is_the_lower_bound_of_its_stopping_scenarios():
    score = OnlineBoundJudge(problem("preemptive"), ANY).instance(LOST)
    paid = online_lower_bound(
        problem("preemptive"), stopping_scenarios(problem("preemptive"), LOST)
    )
    assert score.low == pytest.approx(paid.deterministic.low) == pytest.approx(7 / 6)
    assert score.second >= paid.mean.low - 1e-9  # of an algorithm that is online


def test_where_an_online_algorithm_loses_nothing_the_lower_bound_is_not_solved_for():
    judge = OnlineBoundJudge(problem("preemptive"), ANY)
    score = judge.instance(LOST.select_jobs([0]))
    assert (score.low, score.high, judge.solved) == (1.0, 1.0, 0)
    assert judge.instance(LOST, Wanted(2.0)).low == 0.0  # nor where it is certain to be too low
    assert judge.solved == 0


def test_where_slots_are_longer_than_the_jobs_nothing_is_said_of_the_lower_bound():
    """Optima are in continuous time there, and the model of all online algorithms is in slots."""
    judge = OnlineBoundJudge(problem("preemptive"), ANY)
    slow, fast = (0.1 * times for times in (LOST.chunk_time_slow, LOST.chunk_time_fast))
    alone = Instance.build(
        release_time=[1], num_chunks=1, chunk_time_slow=0.25, upload_delay_edge=[[0]],
        upload_delay_cloud=math.inf, worker_server=[0],
    )  # fmt: skip
    for short in (replace(LOST, chunk_time_slow=slow, chunk_time_fast=fast), alone):
        assert judge.instance(short) is None
    assert judge.failed == 2
    assert "jobs that fill whole slots" in judge.failure


def test_a_case_against_all_algorithms_holds_and_is_proven(case, tmp_path):
    save(case, tmp_path / "case.json")
    checked = check_online_bound_case(load(OnlineBoundCase, tmp_path / "case.json"))
    assert checked.holds, checked.complaints
    assert checked.optimum == "proven"
    assert checked.ratio_low == pytest.approx(7 / 6)
    assert checked.ratio_high == pytest.approx(7 / 6)
    assert "every deterministic online algorithm costs at least 1.16667" in case.sentence
    assert "one that draws lots 1.11111 times" in case.sentence
    assert "jobs[0].num_chunks" in case.outside  # no generated job has so few


def test_without_a_proof_the_bound_is_solved_for_again(case):
    checked = check_online_bound_case(change(case, proof=None))
    assert (checked.holds, checked.optimum) == (True, "not proven here")
    assert checked.ratio_low == pytest.approx(7 / 6)


@pytest.mark.parametrize("proof", [True, False])
def test_a_case_that_says_more_of_lots_than_can_be_shown_does_not_hold(case, proof):
    said = change(case, lots_low=1.15, lots_proof=case.lots_proof if proof else None)
    complaint = "the randomised lower bound is at least 1.11111111, not 1.15"
    assert check_online_bound_case(said).complaints == [complaint]


@pytest.mark.parametrize("weight", [[1.0], [0.7, 0.7], [-0.5, 1.5]])
def test_a_case_whose_probabilities_are_none_is_refused(case, weight):
    with pytest.raises(InputError, match="hardest"):
        check_online_bound_case(change(case, hardest=weight))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_on_a_kept_tree_every_algorithm_loses_and_on_none_of_its_futures(path):
    case = load(OnlineBoundCase, path)
    chosen = problem(case.problem)
    futures = stopping_scenarios(chosen, parse(chosen.instance_type, case.instance))
    assert len(case.instance["jobs"]) <= 5
    checked = check_online_bound_case(case)
    assert (checked.holds, checked.optimum) == (True, "proven")
    assert case.lots_proof is not None
    paid = online_lower_bound(chosen, futures)
    assert paid.deterministic.low == pytest.approx(checked.ratio_low)
    assert paid.randomised.low == pytest.approx(case.lots_low)
    assert checked.ratio_low >= 1.17
    assert case.lots_low >= 1.09
    for one in futures:
        assert online_lower_bound(chosen, [one]).deterministic.high == pytest.approx(1.0)


def test_a_kept_tree_is_drawn_future_by_future():
    drawn = both_schedules(load(OnlineBoundCase, KEPT[-1]))
    titles = [axis.get_title(loc="left") for axis in drawn.axes]
    assert titles == [
        "1 of 2 jobs come, best online: 4 slots",
        "1 of 2 jobs come, best schedule known: 4 slots",
        "2 of 2 jobs come, best online: 10 slots",
        "2 of 2 jobs come, best schedule known: 8 slots",
    ]


@pytest.mark.parametrize("proof", [True, False])
def test_a_case_that_says_more_than_can_be_shown_does_not_hold(case, proof):
    said = change(case, ratio_low=1.2, proof=case.proof if proof else None)
    assert check_online_bound_case(said).complaints == [
        "the online lower bound is at least 1.16666667, not 1.2"
    ]


def test_optima_that_no_schedule_has_do_not_hold(case):
    said = change(case, incumbents=[2.0, 6.0], proof=None)
    assert any("better cost in future 0" in one for one in check_online_bound_case(said).complaints)


def test_a_strategy_that_knows_the_future_does_not_hold(case):
    said = change(case, strategy=case.better, costs=case.incumbents)
    assert any(
        "the strategy tells future 0" in one for one in check_online_bound_case(said).complaints
    )


def test_a_search_for_the_lower_bound_finds_no_more_than_brute_force_allows():
    found = adversarial(f"preemptive.{ANY}", TINY, evaluations=12)
    chosen = problem("preemptive")
    futures = stopping_scenarios(chosen, parse(chosen.instance_type, found.document))
    assert 1.0 <= found.score.low <= online_lower_bound(chosen, futures).deterministic.high + 1e-9


def test_problems_without_a_model_of_online_algorithms_are_refused():
    with pytest.raises(InputError, match="a model of its online algorithms"):
        adversarial(f"okita.{ANY}", evaluations=4)


def test_why_says_what_the_lower_bound_hangs_on(case):
    hunt = Hunt("preemptive", ANY, TINY)
    changes = why(hunt.judge((0,)), hunt.space(), case.instance)
    assert not [one for one in changes if one.kind == "option"]
    alone = next(one for one in changes if one.change == "without job 1")
    assert alone.ratio_low == pytest.approx(1.0)
    assert all(math.isfinite(one.ratio_low) for one in changes if one.ratio_low is not None)


def test_the_command_line_checks_a_case_against_all_algorithms(cli, case, tmp_path):
    path = tmp_path / "case.json"
    save(case, path)
    said = cli("adversarial", "check", path)
    assert said.exit_code == 0
    assert "(the online lower bound is proven)" in said.stdout
    drawn = cli("adversarial", "check", path, "--why", "--plot", tmp_path / "why.svg")
    assert drawn.exit_code == 0
    assert (tmp_path / "why.svg").exists()
    save(change(case, ratio_low=1.5), path)
    assert cli("adversarial", "check", path).exit_code == 1


def test_the_command_line_finds_a_case_against_all_algorithms(cli, tmp_path):
    path = tmp_path / "found.json"
    made = cli("adversarial", "find", "preemptive.any_online",
               "--jobs", 2, "--servers", 2, "--types", 1,
               "--time-scale", 0.03, "--evaluations", 4, "--no-shrink", "--workers", 1,
               "-o", path)  # fmt: skip
    assert made.exit_code == 0
    found = load(OnlineBoundCase, path)
    assert found.ratio_low <= found.ratio_high + 1e-9
    assert found.search.evaluated <= 4
    assert cli("adversarial", "check", path).exit_code == 0
