"""Policies are handed one arrival, or slot, at a time, and what they cannot do is refused."""

import numpy as np
import online_cases
import pytest

import optsched as osd
from optsched.errors import InputError
from optsched.evaluation.heuristic_run import heuristic_rng
from optsched.online import Rerun, simulate
from optsched.problem import Heuristic, problem
from optsched.solvers.solution import FAILED, Status

HEURISTICS = [
    (name, heuristic)
    for name in online_cases.OPTIONS
    for heuristic, made in problem(name).heuristics.items()
    if made.is_online({}) and heuristic != "reoptimise"
]


@pytest.mark.parametrize("name", online_cases.POLICIES)
def test_a_policy_of_ten_lines_is_measured(name):
    found, instance = problem(name), online_cases.instance_of(name, 1)
    policy = online_cases.POLICIES[name]
    own, reference = osd.ratios(found, [policy, "reoptimise"], instances=instance).rows
    assert own.heuristic == policy.__name__
    assert own.status == "optimal", own.message
    assert 1 - 1e-9 <= own.ratio_low <= own.ratio_high
    assert reference.ratio_low >= 1 - 1e-9


@pytest.mark.parametrize(("name", "heuristic"), HEURISTICS, ids=map(".".join, HEURISTICS))
def test_every_online_heuristic_is_a_policy_that_sees_only_what_has_arrived(name, heuristic):
    found = problem(name)
    chosen = found.heuristics[heuristic]
    for seed in range(3):
        instance = online_cases.instance_of(name, seed)
        alone = chosen.run(instance, heuristic_rng(0))
        led = simulate(found, instance, Rerun(chosen, heuristic_rng(0)))
        said = [sorted(found.arrivals.decisions(instance, one, np.inf)) for one in (alone, led)]
        assert said[0] == said[1]
        assert found.cost(instance, alone) == pytest.approx(found.cost(instance, led))


def test_a_policy_knows_of_no_job_that_has_not_arrived():
    instance = online_cases.instance_of("preemptive", 0)
    seen = []

    class Watcher(online_cases.EarliestFinish):
        def arrive(self, job, state):
            seen.append((state.now, state.known.jobs, float(state.known.release_time.max())))
            super().arrive(job, state)

    simulate(problem("preemptive"), instance, Watcher())
    assert [jobs for _, jobs, _ in seen] == list(range(1, instance.jobs + 1))
    assert all(latest <= now for now, _, latest in seen)


def test_work_in_the_past_is_refused_in_words():
    class Backdated:
        def arrive(self, job, state):
            if state.now > 0 and job.id:
                state.send(job, int(job.eligible_workers[0]), start=state.now - 0.5)

    instance = online_cases.instance_of("preemptive", 0)
    with pytest.raises(InputError, match=r"the decision at .*2i"):
        simulate(problem("preemptive"), instance, Backdated())


def test_what_is_done_cannot_be_undone():
    class Forgetful:
        def arrive(self, job, state):
            state.follow(state.problem.arrivals.nothing(state.known))
            online_cases.NearestServer().arrive(job, state)

    with pytest.raises(InputError, match=r"that is gone.*nothing in the past"):
        simulate(problem("batch"), online_cases.instance_of("batch", 1), Forgetful())


def test_more_than_a_server_has_is_refused_in_words():
    class Greedy:
        def arrive(self, job, state):
            state.run(job, {0: 10_000}, 0, slot=int(state.now) + 100)

    with pytest.raises(InputError, match=r"the decision at .*2g"):
        simulate(problem("batch"), online_cases.instance_of("batch", 0), Greedy())


def test_a_policy_that_decides_nothing_is_told_so():
    class Idle:
        def slot(self, state):
            pass

    with pytest.raises(InputError, match="jobs left undecided"):
        simulate(problem("okita"), online_cases.instance_of("okita", 0), Idle())


def test_a_policy_without_arrivals_is_refused():
    drp = problem("drp")
    with pytest.raises(InputError, match="jobs arrive one by one"):
        simulate(drp, None, online_cases.BestFit())


def test_the_optimum_announced_as_online_is_exposed():
    found = problem("preemptive")
    cheat = Heuristic(
        "cheat", lambda instance, rng: found.solve("offline", instance).schedule, "-", "-"
    )
    exposed = False
    for seed in range(4):
        instance = online_cases.instance_of("preemptive", seed)
        rows = osd.ratios(found, [cheat, "a_online"], instances=instance).rows
        exposed |= rows[0].status == Status.FORESEES
        assert rows[1].status == "optimal"
        if rows[0].status == Status.FORESEES:
            assert rows[0].ratio_low is None
            assert rows[0].message.startswith("sees the future: with the jobs that arrive from")
    assert exposed
    assert Status.FORESEES in FAILED
