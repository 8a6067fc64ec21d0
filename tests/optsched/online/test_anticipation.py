"""What is announced as online is held to it: other futures change nothing that is decided."""

import itertools
import json
from functools import partial

import numpy as np
import online_cases
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.preemptive import Instance
from optsched.evaluation.heuristic_run import heuristic_rng
from optsched.online import anticipation
from optsched.problem import problem
from optsched.testing import check_online

ONLINE = [
    (name, heuristic)
    for name in online_cases.OPTIONS
    for heuristic, made in problem(name).heuristics.items()
    if made.is_online({}) and heuristic != "reoptimise"
]
SEES_ALL = ("aerialedge", "pack_greedy", "tetris", "graphene", "spear", "first_fit_decreasing")


@pytest.mark.parametrize(("name", "heuristic"), ONLINE, ids=map(".".join, ONLINE))
def test_no_heuristic_announced_as_online_looks_ahead(name, heuristic):
    options = online_cases.OPTIONS[name]
    assert check_online(f"{name}.{heuristic}", instances=2, generator=options) is None


@pytest.mark.parametrize("heuristic", SEES_ALL)
def test_rules_that_see_all_tasks_at_once_are_offline_and_found_out(heuristic):
    assert not problem("aerialedge").heuristics[heuristic].is_online({})
    found = check_online(
        f"aerialedge.{heuristic}", instances=4, generator=online_cases.OPTIONS["aerialedge"]
    )
    assert found is not None


def test_a_quantile_of_later_jobs_is_offline_and_found_out():
    tiresias = problem("preemptive").heuristics["tiresias_l"]
    assert tiresias.is_online({"promote_knob": 2.0})
    assert not tiresias.is_online({"service_quantile": 0.5})
    instance = Instance.build(  # the short third job would send the first down at its arrival
        release_time=[0, 1, 8],
        num_chunks=[1, 1, 1],
        chunk_time_slow=[10.0, 10.0, 2.0],
        upload_delay_edge=np.zeros((3, 1)),
        upload_delay_cloud=[50.0, 50.0, 50.0],
        worker_server=[0],
    )
    found = problem("preemptive")
    assert anticipation(found, tiresias.run, instance) is None
    ahead = anticipation(found, partial(tiresias.run, service_quantile=0.0), instance)
    assert ahead is not None
    assert (ahead.before, ahead.job) == (8.0, 0)


@pytest.mark.parametrize(
    ("heuristic", "name"), [("a_online", "batch"), ("a_online", "preemptive"), ("okita", "okita")]
)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), data=st.data())
def test_shuffling_the_future_changes_nothing_decided(heuristic, name, seed, data):
    found, instance = problem(name), online_cases.instance_of(name, seed)
    arrivals, run = found.arrivals, found.heuristics[heuristic].run
    times = np.asarray(arrivals.times(instance), dtype=float)
    order = np.lexsort((np.arange(len(times)), times))
    k = data.draw(st.integers(1, len(order) - 1))
    tail = data.draw(st.permutations(order[k:].tolist()))
    moment = times[order[k]]
    seen = order[:k][times[order[:k]] < moment]
    others = np.setdiff1d(order[:k], seen).tolist()
    kept = np.sort(seen).tolist()
    other = arrivals.select(instance, kept + others + tail)

    def decided(one, names):
        made = run(one, heuristic_rng(0))
        return sorted((names[j], said) for j, said in arrivals.decisions(one, made, moment))

    assert decided(instance, list(range(len(times)))) == decided(other, kept + others + tail)


def test_a_change_of_mind_is_said_in_words():
    found, instance = problem("aerialedge"), online_cases.instance_of("aerialedge", 0)
    run = found.heuristics["first_fit_decreasing"].run
    seen = [
        anticipation(found, run, online_cases.instance_of("aerialedge", seed)) for seed in range(3)
    ]
    said = next(str(one) for one in seen if one is not None)
    assert said.startswith("sees the future: with the jobs that arrive from")
    assert "on node" in said
    assert anticipation(found, found.heuristics["first_fit"].run, instance) is None


def test_one_that_decides_otherwise_on_the_same_jobs_shows_nothing():
    found, instance = problem("aerialedge"), online_cases.instance_of("aerialedge", 0)
    runs = itertools.cycle(found.heuristics[name].run for name in ("first_fit", "next_fit"))
    assert anticipation(found, lambda one, rng: next(runs)(one, rng), instance) is None


def test_one_that_decides_otherwise_on_another_future_only_sometimes_shows_nothing():
    found, instance = problem("aerialedge"), online_cases.instance_of("aerialedge", 0)
    rules = itertools.cycle(found.heuristics[name].run for name in ("next_fit", "first_fit"))

    def hurried(one, rng):  # the whole instance always ends in time, others every other time
        whole = one.tasks == instance.tasks
        return (found.heuristics["first_fit"].run if whole else next(rules))(one, rng)

    def wrong(one, rng):
        whole = one.tasks == instance.tasks
        return found.heuristics["first_fit" if whole else "next_fit"].run(one, rng)

    assert anticipation(found, hurried, instance, changes=0) is None
    assert anticipation(found, wrong, instance, changes=0) is not None


def test_the_command_line_says_yes_and_no(cli):
    generator = ["--tasks", "10", "--jobs", "4", "--instances", "2", "--json"]
    for heuristic, code in (("first_fit", 0), ("first_fit_decreasing", 1)):
        answer = cli("check", f"aerialedge.{heuristic}", "--online", *generator)
        assert answer.exit_code == code
        assert json.loads(answer.stdout)["sees_the_future"] is bool(code)
