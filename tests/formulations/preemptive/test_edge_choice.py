"""Exchanging jobs between edge and cloud: never worse, and never below the optimum."""

import numpy as np
import preemptive_enumeration as brute_force
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import OPTIMUM, examples, instances

from formulations.preemptive.check import check, completion_times, cost
from formulations.preemptive.exact.dual_guided import guided_schedule
from formulations.preemptive.exact.edge_choice import EdgeChoice, Times
from formulations.preemptive.exact.lagrangian import price
from formulations.preemptive.generator import generate
from optsched.solvers.deadline import Deadline


@given(instance=instances(fractional=True), seed=st.integers(0, 9))
@examples(25)
def test_exchanges_are_schedules_between_the_optimum_and_the_guided_one(instance, seed) -> None:
    proof = price(instance, slotted=True)
    first = guided_schedule(instance, proof)
    better = guided_schedule(instance, proof, clock=Deadline(None), seed=seed)
    assert check(instance, better, slotted=True) == []
    assert cost(instance, better) <= cost(instance, first) + OPTIMUM
    assert cost(instance, better) >= brute_force.problem_2(instance) - OPTIMUM


def test_what_a_choice_says_it_costs_is_what_its_schedule_costs() -> None:
    instance = generate(np.random.default_rng(0), jobs=90, servers=60, jobs_per_slot=3)
    proof = price(instance, slotted=True)
    times, total = Times.of(instance, slotted=True), 0.0
    for market, priced in zip(proof.markets, proof.priced, strict=True):
        served = EdgeChoice(instance, market, times).settle(market.jobs[np.isfinite(priced.age)])
        total += served.total
    assert total == completion_times(instance, guided_schedule(instance, proof)).sum()


def test_exchanges_help_where_the_edge_is_crowded() -> None:
    instance = generate(np.random.default_rng(0), jobs=90, servers=60, jobs_per_slot=3)
    proof = price(instance, slotted=True)
    first = cost(instance, guided_schedule(instance, proof))
    best = cost(instance, guided_schedule(instance, proof, clock=Deadline(None)))
    assert proof.bound(instance) <= best < first
