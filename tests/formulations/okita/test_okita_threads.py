"""Neighbourhoods on a thread beside the columns: the same optima, nothing shared, nothing lost."""

import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from okita_cases import tiny

from formulations.okita import PROBLEM
from formulations.okita.check import check, cost
from formulations.okita.exact import method as columns
from formulations.okita.exact.improve import Neighbourhoods, beside
from formulations.okita.exact.incumbent import BestKnown
from formulations.okita.exact.method import problem_2_columns
from formulations.okita.horizon import affordable, flow_cut_off
from formulations.okita.one_job import planner as construct
from formulations.okita.one_job.planner import Planner
from formulations.okita.one_job.terms import path_cost, path_of
from optsched.solvers.options import Options
from optsched.solvers.solution import Status


def crowd(seed=2, jobs=6):
    return PROBLEM.generate(np.random.default_rng(seed), jobs=jobs, sites=3, horizon=2)


def neighbourhoods_of(instance, heard=lambda schedule: None):
    planner = Planner(instance)
    made = planner.insert(range(instance.jobs))
    paths = [path_of(instance, i, made) for i in range(instance.jobs)]
    return Neighbourhoods(planner.apart(), paths, planner.floors, heard)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_on_two_threads_the_optimum_is_the_same(seed):
    instance = tiny(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(construct, "LARGEST_LATTICES", 0)
        one, two = (problem_2_columns(instance, Options(threads=n)) for n in (1, 2))
    assert one.solution.status is two.solution.status
    assert two.solution.objective == pytest.approx(one.solution.objective)
    assert (two.schedule is None) == (one.schedule is None)
    assert two.schedule is None or check(instance, two.schedule) == []


def test_a_crowd_is_proven_on_two_threads_and_no_thread_is_left(monkeypatch):
    begun = []

    def noted(near, *limits):
        begun.append(near)
        return beside(near, *limits)

    monkeypatch.setattr(columns, "beside", noted)
    monkeypatch.setattr(construct, "LARGEST_LATTICES", 0)
    instance = PROBLEM.generate(np.random.default_rng(1), jobs=3, sites=3, horizon=3)
    before = threading.active_count()
    solution = problem_2_columns(instance, Options(threads=2)).solution
    assert len(begun) == 1
    assert solution.status is Status.OPTIMAL
    assert threading.active_count() == before
    alone = problem_2_columns(instance, Options()).solution
    monkeypatch.undo()
    monkeypatch.setattr(columns, "beside", noted)
    together = problem_2_columns(instance, Options(threads=2)).solution
    assert len(begun) == 1
    assert alone.objective == pytest.approx(solution.objective)
    assert together.objective == pytest.approx(solution.objective)


def test_what_a_thread_finds_is_heard_while_others_work():
    heard = []
    instance = crowd()
    near = neighbourhoods_of(instance, heard.append)
    first = near.best_cost
    with beside(near, None, 50):
        late = time.monotonic() + 60.0
        while not heard and time.monotonic() < late:
            time.sleep(0.01)
    costs = [cost(instance, schedule) for schedule in heard]
    assert costs
    assert max(costs) < first
    assert sorted(costs, reverse=True) == costs
    assert costs[-1] == pytest.approx(near.best_cost)
    assert all(check(instance, schedule) == [] for schedule in heard)


def test_a_thread_begins_anew_from_the_best_as_long_as_there_is_time():
    near, taken, twice = neighbourhoods_of(crowd()), [], threading.Event()
    take = near.take

    def noted(paths):
        taken.append(paths is near.best)
        take(paths)
        if len(taken) > 1:
            twice.set()

    near.take = noted
    with beside(near, None, 1):
        assert twice.wait(60.0)
    assert all(taken)
    taken.clear()
    with beside(near, 1e-9, 1):
        time.sleep(0.05)
    assert not taken


def test_a_thread_ends_when_two_searches_in_a_row_find_nothing():
    near, searches, last = neighbourhoods_of(crowd()), [], threading.Event()

    def search(clock, rounds):
        searches.append(rounds)
        if len(searches) in (1, 3):
            near.best_cost -= 1.0
        if len(searches) == 5:
            last.set()

    near.search, near.take = search, lambda paths: None
    with beside(near, None, 7):
        assert last.wait(60.0)
        time.sleep(0.05)
    assert searches == [7] * 5


def test_neighbourhoods_are_told_what_the_last_relaxation_chooses_and_what_it_costs():
    instance = crowd()
    search = columns._Search(instance, Options(), None, "safe")
    search.plan()
    near = search.neighbourhoods()
    assert not near.chosen
    search.relaxation()
    for i in range(instance.jobs):
        assert sum(share for _, share in near.chosen[i]) == pytest.approx(1.0)
        for path, _ in near.chosen[i]:
            assert path.price == pytest.approx(path_cost(instance, i, path))
    assert any(len(own) > 1 for own in near.chosen.values())


def test_what_was_chosen_last_stays_where_a_relaxation_ends_without_a_choice(monkeypatch):
    search = columns._Search(crowd(), Options(), None, "safe")
    search.plan()
    near = search.neighbourhoods()
    near.chosen = kept = {0: [(near.paths[0], 1.0)]}
    solve = columns.ColumnGeneration.solve_relaxation

    def choiceless(*of, **how):
        return replace(solve(*of, **how), chosen=())

    monkeypatch.setattr(columns.ColumnGeneration, "solve_relaxation", choiceless)
    search.relaxation()
    assert near.prices is not None
    assert near.chosen is kept


def test_what_goes_wrong_on_the_thread_is_raised():
    failed = threading.Event()

    def fail(schedule):
        failed.set()
        raise ZeroDivisionError

    near = neighbourhoods_of(crowd(), fail)
    with pytest.raises(ZeroDivisionError), beside(near, None, 50):
        assert failed.wait(60.0)
    with pytest.raises(KeyError), beside(neighbourhoods_of(crowd()), None, 50):
        raise KeyError  # what goes wrong in the block comes first, and ends the thread


def test_a_planner_for_another_thread_knows_as_much_and_writes_elsewhere():
    planner = Planner(crowd())
    assert "alone" not in planner.apart().__dict__
    floors, other = planner.floors, planner.apart()
    assert other.floors is floors
    assert other.alone is planner.alone
    assert other.lattices is planner.lattices
    pairs = zip(planner.searches, other.searches, strict=True)
    assert not any(a is b or np.shares_memory(a.alpha, b.alpha) for a, b in pairs)


def test_of_schedules_offered_by_many_threads_the_cheapest_is_kept():
    instance, heard = crowd(), []
    near = neighbourhoods_of(instance, heard.append)
    known = BestKnown(instance, Options(), near.schedule, "safe")
    with beside(near, 0.5, 50):
        time.sleep(0.5)
    threads = [threading.Thread(target=known.offer, args=(one,)) for one in heard]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert known.cost == pytest.approx(near.best_cost)
    assert cost(instance, known.schedule) == known.cost


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.integers(0, 12), st.floats(0.0, 50.0))
def test_the_slots_a_job_may_take_for_a_price_are_those_of_the_cut_off(seed, limit, price):
    instance = tiny(seed)
    planner, jobs = Planner(instance), instance.jobs
    most = np.full(jobs, limit - 1)
    flow = flow_cut_off(instance, np.full(jobs, price), most)
    assert [planner._reach(i, price, limit) for i in range(jobs)] == (flow + 1).tolist()


def test_a_price_that_is_met_but_for_rounding_is_affordable():
    for price in (0.0, 3.0, 1e6):
        assert price + 0.9e-9 * max(1.0, price) <= affordable(price) < price + 1e-6 * (1 + price)
