"""One job's cheapest schedules by labels: against its lattice, and where that cannot be listed."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from okita_cases import random_terms, tiny

from formulations.okita import PROBLEM
from formulations.okita.check import check, cost
from formulations.okita.exact import method as columns
from formulations.okita.exact.joint_search import Together
from formulations.okita.exact.method import _Search
from formulations.okita.one_job import label_bounds, labels
from formulations.okita.one_job import planner as construct
from formulations.okita.one_job.free_capacity import FreeCapacity
from formulations.okita.one_job.label_bounds import ANY, completion_bounds, labelled_job
from formulations.okita.one_job.labels import cheapest_by_labels
from formulations.okita.one_job.lattice import Levels, build_lattice, lattice_points
from formulations.okita.one_job.planner import Planner
from formulations.okita.one_job.prices import free_terms, priced_terms
from formulations.okita.one_job.terms import cheapest_paths, path_schedule
from formulations.okita.one_job.units import ByUnits
from optsched.errors import InputError
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

SEEDS = st.integers(0, 10_000)


def branched_terms(instance, i, rng):
    """Terms of a job at random prices, some of them within limits that branching may set."""
    terms = random_terms(instance, i, rng)
    slots = len(terms.flow_cost)
    if rng.random() < 0.5:
        return terms
    least, most, must = terms.least.copy(), terms.most.copy(), terms.must_run.copy()
    t, r = int(rng.integers(slots)), int(rng.integers(instance.sites))
    least[t, r] = rng.integers(0, 3)
    must[t] = least[t, r] > 0 or rng.random() < 0.5
    most[rng.integers(slots), :, rng.integers(instance.sites)] = 1
    late = terms.flow_cost.copy()
    late[: int(rng.integers(slots))] = np.inf
    stands = terms.server_price.copy()
    stands[rng.integers(slots), rng.integers(instance.sites)] = np.inf
    return replace(
        terms, least=least, most=most, must_run=must, flow_cost=late, server_price=stands
    )


def least_price(instance, i, terms):
    """Of the job's lattice; infinite where it has no schedule."""
    best = next(
        cheapest_paths(instance, build_lattice(instance, Levels.of(instance, i)), terms), None
    )
    return np.inf if best is None else best.price


@settings(max_examples=150, deadline=None, derandomize=True)
@given(SEEDS)
def test_labels_come_to_the_optimum_of_the_lattice_and_prove_it(seed):
    instance, rng = tiny(seed), np.random.default_rng(seed)
    for i in range(instance.jobs):
        terms = branched_terms(instance, i, rng)
        exact = least_price(instance, i, terms)
        found, bound = cheapest_by_labels(ByUnits(instance, i), terms)
        assert bound == pytest.approx(exact)
        if not np.isfinite(exact):
            assert not found
            continue
        assert found[0].price == pytest.approx(exact)
        for path in found:
            alone = instance.select_jobs([i])
            schedule = path_schedule(alone, 0, path)
            assert check(alone, schedule) == []
            runs = np.flatnonzero(path.server >= 0)
            at = path.server[runs]
            paid = (terms.worker_price[runs, at] * path.workers[runs]).sum()
            paid += terms.server_price[runs, at].sum()
            moved = (path.flow * instance.unit_bandwidth_cost).sum() * instance.chunk_size_mb[i]
            assert min(terms.flow_cost[path.last :]) + paid + moved <= path.price + 1e-7
            assert (path.workers >= terms.least).all()
            assert (path.workers[runs] <= terms.most[runs, at]).all()
            assert (path.server[terms.must_run] >= 0).all()
            assert ByUnits(instance, i).levels.reaches(path.workers)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(SEEDS, st.sampled_from([1, 2, 5]))
def test_where_points_are_dropped_the_optimum_still_lies_between_bound_and_schedule(seed, most):
    instance, rng = tiny(seed), np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labels, "MOST_POINTS", most)
        for i in range(instance.jobs):
            terms = branched_terms(instance, i, rng)
            exact = least_price(instance, i, terms)
            found, bound = cheapest_by_labels(ByUnits(instance, i), terms, thorough=False)
            assert bound <= exact * (1 + 1e-12)
            assert all(path.price >= exact - 1e-7 for path in found)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(SEEDS)
def test_a_search_told_to_be_thorough_goes_on_where_points_were_too_many(seed):
    instance, rng = tiny(seed), np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labels, "MOST_POINTS", 1)
        patch.setattr(labels, "THOROUGH", 10_000)
        for i in range(instance.jobs):
            terms = branched_terms(instance, i, rng)
            _, bound = cheapest_by_labels(ByUnits(instance, i), terms)
            assert bound == pytest.approx(least_price(instance, i, terms))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(SEEDS)
def test_steps_on_prices_of_chunks_never_lower_a_bound_nor_raise_it_beyond_the_optimum(seed):
    instance, rng = tiny(seed), np.random.default_rng(seed)
    i = int(rng.integers(instance.jobs))
    terms, search = branched_terms(instance, i, rng), ByUnits(instance, i)
    exact, job = least_price(instance, i, terms), labelled_job(search, terms)
    before = np.full(len(search.alpha), -np.inf)
    for steps in (1, 4, 30):
        bounds = []
        for first, alpha in enumerate(search.alpha):
            worth, after = completion_bounds(job, alpha, first, exact, steps)
            bounds.append(worth + after.opening[0])
            again = completion_bounds(job, alpha, first, exact, 1)
            assert again[0] + again[1].opening[0] == pytest.approx(bounds[-1])
        assert (np.array(bounds) >= before - 1e-9).all()
        assert min(bounds) <= exact + 1e-7
        before = np.array(bounds)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(SEEDS)
def test_what_a_bound_leaves_untrained_is_its_slope_in_the_prices_of_chunks(seed):
    """Bounds are concave in them: no bound lies above the tangent of another."""
    instance, rng = tiny(seed), np.random.default_rng(seed)
    i = int(rng.integers(instance.jobs))
    terms = branched_terms(instance, i, rng)
    job = labelled_job(ByUnits(instance, i), terms)
    here, there = rng.exponential(2.0, (2, instance.sites))
    worth, bounds = completion_bounds(job, here, ANY, np.inf, 1)
    other, beyond = completion_bounds(job, there, ANY, np.inf, 1)
    low, high = worth + bounds.opening[0], other + beyond.opening[0]
    if not np.isfinite(low):
        assert not np.isfinite(high)
        return
    slope = np.empty(instance.sites)
    label_bounds._miss(job, here, ANY, bounds, slope)
    assert high <= low + slope @ (there - here) + 1e-7


@pytest.mark.parametrize("off", [1e-6, -1e-6])
def test_a_limit_just_above_the_optimum_finds_it_and_one_just_below_proves_that_none_is_cheaper(
    off,
):
    instance = PROBLEM.generate(np.random.default_rng(0), jobs=6, sites=4, horizon=3)
    for i in range(instance.jobs):
        terms = free_terms(instance, i, 8)
        exact = least_price(instance, i, terms)
        limit = exact * (1 + off)
        found, bound = cheapest_by_labels(ByUnits(instance, i), terms, limit)
        if off > 0:
            assert found[0].price == pytest.approx(exact, rel=1e-9)
            assert bound == pytest.approx(exact, rel=1e-9)
        else:
            assert limit <= bound <= exact
            assert all(path.price >= exact * (1 - 1e-9) for path in found)


def test_a_lattice_of_millions_of_points_is_searched_exactly():
    instance = PROBLEM.generate(np.random.default_rng(103), jobs=20, sites=8, horizon=40)
    i = 6
    search = ByUnits(instance, i)
    assert lattice_points(search.levels) > 2_000_000
    rng = np.random.default_rng(0)
    shape = (6, instance.sites)
    terms = priced_terms(
        free_terms(instance, i, 6), *rng.exponential(20.0, (2, *shape)), 1.0
    )  # fmt: skip
    found, bound = cheapest_by_labels(search, terms)
    assert bound == found[0].price
    _, low = ByUnits(instance, i).cheapest(terms, steps=100)
    assert low <= bound <= 1.02 * low
    alone = instance.select_jobs([i])
    assert check(alone, path_schedule(alone, 0, found[0])) == []


@settings(max_examples=30, deadline=None, derandomize=True)
@given(SEEDS)
def test_a_deployment_reaches_an_end_of_the_lattice_or_does_not(seed):
    instance, rng = tiny(seed), np.random.default_rng(seed)
    for i in range(instance.jobs):
        levels = Levels.of(instance, i)
        lattice = build_lattice(instance, levels)
        ends = {row.tobytes() for row in lattice.level[lattice.ends]}
        workers = rng.integers(0, 4, (3, instance.sites))
        gained = [[dict(zip(levels.option_workers, levels.option_levels, strict=True)).get(y, 0)
                   for y in row] for row in workers.tolist()]  # fmt: skip
        idle = ~np.isin(workers, np.append(0, levels.option_workers))
        level = np.array(gained).sum(axis=0)
        assert levels.reaches(workers) == (not idle.any() and level.tobytes() in ends)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(SEEDS, st.booleans())
def test_a_cheaper_schedule_beside_others_is_found_exactly_where_there_is_one(seed, listed):
    instance = tiny(seed, jobs=2)
    with pytest.MonkeyPatch.context() as patch:
        if not listed:
            patch.setattr(construct, "LARGEST_LATTICES", 0)
        planner = Planner(instance)
        room = FreeCapacity(instance)
        room.hold(0, planner.alone[0][0])
        best = planner.optimum(1, room).price
        found = planner.cheaper(1, room, best * (1 + 1e-6) + 1e-6)
        assert found is not None
        assert found.price == pytest.approx(best)
        assert planner.cheaper(1, room, best * (1 - 1e-6)) is None


def test_the_schedule_known_is_where_the_tree_begins():
    instance = PROBLEM.generate(np.random.default_rng(1), jobs=5, sites=4, horizon=3)
    search = _Search(instance, Options(), None, "safe")
    search.plan()
    pricing = search.pricing()
    known = search.standing(pricing)
    assert sorted(column.block for column in known) == list(range(instance.jobs))
    found = search.generation(pricing, known=known).solve(
        node_limit=1, dive_every=None, master_every=None
    )
    assert found.objective == pytest.approx(cost(instance, search.schedule))


def test_without_lattices_branch_and_price_proves_what_it_proves_with_them(monkeypatch):
    instance = PROBLEM.generate(np.random.default_rng(3), jobs=4, sites=3, horizon=3)
    exact = PROBLEM.solve("problem_2_columns", instance).solution
    assert exact.status is Status.OPTIMAL
    monkeypatch.setattr(construct, "LARGEST_LATTICES", 0)
    answer = PROBLEM.solve("problem_2_columns", instance)
    assert answer.solution.status is Status.OPTIMAL
    assert answer.solution.objective == pytest.approx(exact.objective)
    assert check(instance, answer.schedule) == []


def test_a_horizon_mode_that_is_unknown_is_refused():
    with pytest.raises(InputError, match="horizon_mode"):
        columns.problem_2_columns(tiny(0), Options(), horizon_mode="endless")


def test_the_bound_of_columns_is_that_of_the_root_and_plans_nothing_together(monkeypatch):
    def refused(*given):
        raise AssertionError

    monkeypatch.setattr(Together, "search", refused)
    instance = PROBLEM.generate(np.random.default_rng(1), jobs=5, sites=4, horizon=3)
    assert 0.0 < columns.column_bound(instance) < 700.9471645959146
