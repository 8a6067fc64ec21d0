"""The search over states: optima, bounds at every end, and the cliques that bound it."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from llm_cases import FOUR, NO_ORDER, WAITING_HELPS, brute_force, drawn, schedule_of, tiny

from formulations.llm_inference import PROBLEM
from formulations.llm_inference.check import check, cost, loads
from formulations.llm_inference.exact import relaxation
from formulations.llm_inference.exact.improve import Moves
from formulations.llm_inference.exact.relaxation import pair_rows, reduced_costs
from optsched.evaluation.proofs import check_proof, prove
from optsched.solvers.deadline import Deadline
from optsched.solvers.options import Options


def solved(instance, **options):
    own = {k: options.pop(k) for k in ("width", "growth", "compared") if k in options}
    return PROBLEM.solve("by_states", instance, options=Options(**options), **own).solution


def test_the_worked_examples_are_solved_where_requests_must_wait():
    for instance, optimum in ((FOUR, 16), (WAITING_HELPS, 19), (NO_ORDER, 20)):
        found = solved(instance)
        assert found.status == "optimal"
        assert found.objective == found.bound == optimum


@pytest.mark.parametrize("requests", [3, 4])
@pytest.mark.parametrize("seed", range(8))
def test_the_search_finds_the_least_cost_over_all_starts(seed, requests):
    instance = tiny(seed, requests)
    found = solved(instance)
    assert found.objective == found.bound == brute_force(instance, 5 + int(instance.output.sum()))


@pytest.mark.parametrize("arrivals", ["at_once", "poisson"])
@pytest.mark.parametrize("seed", range(3))
def test_the_search_and_the_integer_program_agree(seed, arrivals):
    instance = drawn(seed, requests=4, arrivals=arrivals)
    program = PROBLEM.solve("hindsight", instance, options=Options(time_limit=60)).solution
    assert program.status == "optimal"
    assert solved(instance).objective == program.objective


@pytest.mark.parametrize("asked", [{"width": 1}, {"width": 1, "compared": 0}, {"growth": 2.0}])
def test_no_parameter_changes_the_optimum(asked):
    instance = drawn(1, requests=6)
    assert solved(instance, **asked).objective == solved(instance).objective


def test_a_search_that_is_cut_short_has_a_schedule_and_a_bound_around_the_optimum():
    instance = drawn(2, requests=8)
    optimum = solved(instance).objective
    short = solved(instance, time_limit=0.3)
    assert short.bound <= optimum <= short.objective


def test_more_requests_than_a_state_holds_are_bounded():
    found = solved(drawn(0, requests=70), time_limit=3)
    assert found.status == "feasible"
    assert 0 < found.bound <= found.objective


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("seed", range(6))
def test_no_schedule_has_two_requests_in_a_row_of_pairs(seed, half):
    instance = tiny(seed, 3)
    rows, used = pair_rows(instance, half), 0
    for starts in itertools.product(range(9), repeat=3):
        made = schedule_of(instance, starts)
        if loads(instance, made)[1].max() <= instance.memory:
            use = rows.matrix(np.arange(3), np.array(starts), 1).sum(axis=1)
            used = max(used, int(use.max()))
    assert used <= 1


def test_the_annealing_keeps_to_the_memory_and_never_ends_above_its_beginning():
    instance = drawn(3, requests=12, arrivals="poisson")
    moves = Moves(instance, 0)
    first = cost(instance, moves.schedule)
    for temperature in (50.0, 5.0, 0.5):
        moves.steps(2000, temperature)
        assert check(instance, moves.schedule) == []
        assert moves.schedule.start.sum() == moves.best.sum()
    assert cost(instance, moves.schedule) < first


def test_prices_of_rows_added_up_still_bound_the_optimum(monkeypatch):
    instance = drawn(2, requests=6)
    optimum = solved(instance).objective
    monkeypatch.setattr(relaxation, "MOST_COLUMNS", 40)
    coarse = solved(instance)
    assert coarse.objective == coarse.bound == optimum


@pytest.mark.parametrize("seed", range(4))
def test_reduced_costs_bound_every_schedule(seed):
    instance = tiny(seed, 3)
    rounds = 20
    last = instance.arrival + 6
    costs = reduced_costs(instance, last, rounds, Deadline(5.0))
    for starts in itertools.product(range(10), repeat=3):
        made = schedule_of(instance, starts)
        if not check(instance, made):
            reduced = costs.cost[np.arange(3), list(starts)].sum() + costs.constant
            assert costs.value - 1e-6 <= reduced <= sum(starts) + 1e-6


@pytest.mark.parametrize("instance", [FOUR, WAITING_HELPS])
def test_an_optimum_of_the_search_is_proven_in_exact_arithmetic_by_the_integer_program(instance):
    answer = PROBLEM.solve("by_states", instance)
    proof = prove(PROBLEM, "by_states", instance, answer, 60)
    verdict = check_proof(PROBLEM, instance, proof)
    assert verdict.bound == verdict.cost == cost(instance, answer.schedule)
    assert verdict.violations == []


@pytest.mark.parametrize(("later", "optimum"), [((1, 1, 1), 19), ((0, 1, 0), 17)])
def test_what_is_found_depends_neither_on_dates_nor_on_idle_gaps(later, optimum):
    arrival = WAITING_HELPS.arrival + np.array(later) * (10**9 - 10)
    instance = replace(WAITING_HELPS, arrival=arrival)
    found = PROBLEM.solve("by_states", instance)
    assert (found.solution.status, found.solution.objective) == ("optimal", optimum)
    for made in (found.schedule, PROBLEM.construct(instance)):
        assert check(instance, made) == []
