"""Clique cuts of slots: against listing, and what they do to pricing and to bounds."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from okita_cases import comes_to, followed, random_terms, tiny

from formulations.okita import PROBLEM
from formulations.okita.check import cost
from formulations.okita.exact import cut_rounds
from formulations.okita.exact.cut_rounds import (
    FIRST_NEAR,
    LEAST_MOVE,
    LEAST_MOVE_TOGETHER,
    NEAR,
    ROUNDS_SEEN,
    CutRounds,
)
from formulations.okita.exact.joint_moves import PricedJob
from formulations.okita.exact.joint_states import JointStates
from formulations.okita.exact.method import _Search
from formulations.okita.exact.pricing import ENDS, Pricing, SiteLimits
from formulations.okita.exact.slot_cuts import Actions, SlotCut, slot_cuts
from formulations.okita.exact.slot_diagram import SlotDiagram
from formulations.okita.horizon import windows
from formulations.okita.one_job import planner as construct
from formulations.okita.one_job.labels import cheapest_by_labels
from formulations.okita.one_job.lattice import build_lattice
from formulations.okita.one_job.planner import Planner
from formulations.okita.one_job.terms import path_along, path_cost
from formulations.okita.one_job.units import ByUnits
from optsched.decomposition import Duals
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

SEEDS = st.integers(0, 10_000)


def all_actions(instance, i):
    """Every one of a job that fits alone: workers, site of the server, what is held."""
    found = []
    for workers in itertools.product(*(range(int(y) + 1) for y in instance.useful_workers[i])):
        for server in range(instance.sites):
            held = np.array(workers)[:, None] * instance.worker_demand[i]
            held[server] += instance.ps_demand[i]
            if any(workers) and (held <= instance.capacity).all():
                found.append((np.array(workers), server, held))
    return found


def counts_in(cut, i, workers, server):
    """Whether an action contains one of a cut's."""
    if i not in cut.least:
        return False
    return any(
        (workers >= least).all() and stands in (-1, server)
        for least, stands in zip(*cut.least[i], strict=True)
    )


def random_path(instance, i, slots, rng):
    """A schedule of a job, whether it trains everything or not, for what it does in its slots."""
    actions = all_actions(instance, i)
    workers, server = np.zeros((slots, instance.sites), dtype=np.int64), np.full(slots, -1)
    for t in range(slots):
        if rng.random() < 0.8:
            n = rng.integers(len(actions))
            workers[t], server[t] = actions[n][:2]
    return path_along(instance, i, workers, server) if _enough(instance, i, workers) else None


def _enough(instance, i, workers):
    return instance.chunks_done(i, workers).sum() >= instance.total_chunks[i]


def random_choice(instance, rng, slots=3):
    """Schedules of all jobs in fractions that add up to one for each."""
    used = []
    for i in range(instance.jobs):
        paths = [random_path(instance, i, slots, rng) for _ in range(4)]
        paths = [path for path in paths if path is not None]
        shares = rng.dirichlet(np.ones(len(paths))) if paths else []
        used += [(i, path, float(share)) for path, share in zip(paths, shares, strict=True)]
    return used


def crowded(seed):
    """A few jobs at sites that hold little."""
    instance = tiny(seed, jobs=3, sites=2, whole_rates=True)
    return replace(instance, release_slot=np.ones(3, dtype=np.int64))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(SEEDS)
def test_no_packing_of_the_sites_holds_two_actions_of_a_clique(seed):
    instance, rng = crowded(seed), np.random.default_rng(seed)
    cuts = slot_cuts(instance, random_choice(instance, rng), lambda: True)
    for cut in cuts:
        jobs = sorted(cut.least)
        assert len(jobs) >= 2
        for i, j in itertools.combinations(jobs, 2):
            mine = [held for y, s, held in all_actions(instance, i) if counts_in(cut, i, y, s)]
            theirs = [held for y, s, held in all_actions(instance, j) if counts_in(cut, j, y, s)]
            for a, b in itertools.product(mine, theirs):
                assert (a + b > instance.capacity).any()


@settings(max_examples=80, deadline=None, derandomize=True)
@given(SEEDS)
def test_a_cut_is_violated_by_the_choice_it_was_found_for(seed):
    instance, rng = crowded(seed), np.random.default_rng(seed)
    used = random_choice(instance, rng)
    for cut in slot_cuts(instance, used, lambda: True):
        held = sum(
            share
            for i, path, share in used
            if path.server[cut.slot] >= 0
            and counts_in(cut, i, path.workers[cut.slot], path.server[cut.slot])
        )
        assert held > 1.02


@settings(max_examples=80, deadline=None, derandomize=True)
@given(SEEDS)
def test_what_a_least_action_has_it_needs_to_be_a_rival(seed):
    """With a worker or the server less it fits beside a least action of some other job."""
    instance, rng = crowded(seed), np.random.default_rng(seed)
    for cut in slot_cuts(instance, random_choice(instance, rng), lambda: True):
        last = min(cut.least, key=lambda i: len(cut.least[i].server))
        others = np.concatenate(
            [own.held(instance, j) for j, own in cut.least.items() if j != last]
        )

        def rival(workers, server, last=last, others=others):
            held = Actions(workers[None], np.array([server])).held(instance, last)
            return (held + others > instance.capacity).any(axis=(1, 2)).all()

        for workers, server in zip(*cut.least[last], strict=True):
            assert rival(workers, server)
            assert server < 0 or not rival(workers, -1)
            for r in np.flatnonzero(workers):
                assert not rival(workers - (np.arange(len(workers)) == r), server)


def test_three_jobs_that_meet_in_pairs_at_three_sites_are_cut_where_no_site_alone_is():
    """Each works at two sites, half of the time: every site is full, and only one job can run."""
    one = np.ones((3, 1), dtype=np.int64)
    instance = replace(
        tiny(3, jobs=3, sites=3, whole_rates=True),
        capacity=one,
        worker_demand=one,
        ps_demand=0 * one,
        release_slot=one[:, 0],
        num_chunks=np.ones((3, 3), dtype=np.int64),
    )
    used = []
    for i in range(3):
        workers = np.repeat((np.arange(3) != i)[None].astype(np.int64), 3, axis=0)
        used.append((i, path_along(instance, i, workers, np.full(3, (i + 1) % 3)), 0.5))
    at_sites = sum(share * path.workers for _, path, share in used)
    assert (at_sites == 1.0).all()  # that one job works there at a time leaves no site violated
    cuts = slot_cuts(instance, used, lambda: True)
    assert {cut.slot for cut in cuts} == {0, 1, 2}
    assert all(sorted(cut.least) == [0, 1, 2] for cut in cuts)
    for cut in cuts:
        for i, path, _ in used:
            assert counts_in(cut, i, path.workers[cut.slot], int(path.server[cut.slot]))


def random_cuts(instance, rng, slots):
    """Cuts as they are found, and some of actions at will."""
    cuts = slot_cuts(instance, random_choice(instance, rng, slots), lambda: True)
    for _ in range(4):
        least = {}
        for i in range(instance.jobs):
            n = int(rng.integers(1, 4))
            workers = rng.integers(0, 3, (n, instance.sites))
            least[i] = Actions(workers, rng.integers(-1, instance.sites, n))
        cuts.append(SlotCut(int(rng.integers(slots)), least))
    return cuts


@settings(max_examples=60, deadline=None, derandomize=True)
@given(SEEDS)
def test_a_diagram_counts_an_action_where_it_contains_one_of_a_cut(seed):
    instance, rng = crowded(seed), np.random.default_rng(seed)
    cuts = random_cuts(instance, rng, 3)
    price = rng.exponential(1.0, len(cuts))
    for i in range(instance.jobs):
        diagram = SlotDiagram.of(instance, i, 3, cuts)
        for workers, server, _ in all_actions(instance, i):
            for t in range(3):
                rows, at = np.zeros((3, instance.sites), dtype=np.int64), np.full(3, -1)
                rows[t], at[t] = workers, server
                own = [
                    n
                    for n, cut in enumerate(cuts)
                    if cut.slot == t and counts_in(cut, i, workers, server)
                ]
                assert diagram.charged(price).of(rows, at) == pytest.approx(price[own].sum())


@settings(max_examples=100, deadline=None, derandomize=True)
@given(SEEDS)
def test_labels_find_the_cheapest_schedule_where_actions_are_charged(seed):
    """Against labels that list: every action of a slot in turn is the only one allowed there."""
    instance, rng = crowded(seed), np.random.default_rng(seed)
    i = int(rng.integers(instance.jobs))
    terms = random_terms(instance, i, rng)
    slots = len(terms.flow_cost)
    cuts = random_cuts(instance, rng, slots)
    diagram = SlotDiagram.of(instance, i, slots, cuts)
    price = rng.exponential(4.0, len(cuts)) * (rng.random(len(cuts)) < 0.7)
    charged = replace(terms, charges=diagram.charged(price))
    search = ByUnits(instance, i)
    found, bound = cheapest_by_labels(search, charged)
    t = int(rng.integers(slots))
    only_here = [cut for n, cut in enumerate(cuts) if cut.slot == t and price[n] > 0]
    own = np.array([price[n] for n, cut in enumerate(cuts) if cut.slot == t and price[n] > 0])
    elsewhere = np.array([0.0 if cut.slot == t else p for cut, p in zip(cuts, price, strict=True)])
    rest = replace(terms, charges=diagram.charged(elsewhere))
    best = np.inf
    options = [(np.zeros(instance.sites, dtype=np.int64), -1)]
    options += [(y, s) for y, s, _ in all_actions(instance, i)]
    for workers, server in options:
        fee = sum(
            p for cut, p in zip(only_here, own, strict=True) if counts_in(cut, i, workers, server)
        ) if server >= 0 else 0.0  # fmt: skip
        fixed = _fixed(rest, t, workers, server)
        paths, _ = cheapest_by_labels(search, fixed)
        if paths:
            best = min(best, paths[0].price + fee)
    assert bound == pytest.approx(best)
    assert not found or found[0].price == pytest.approx(best)


def _fixed(terms, t, workers, server):
    """The same with one action in one slot and no other."""
    least, most, must = terms.least.copy(), terms.most.copy(), terms.must_run.copy()
    stands = terms.server_price.copy()
    if server < 0:
        stands[t] = np.inf
    else:
        least[t] = workers
        most[t] = np.minimum(most[t], workers)
        must[t] = True
        stands[t, np.arange(len(stands[t])) != server] = np.inf
    return replace(terms, least=least, most=most, must_run=must, server_price=stands)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(SEEDS, st.sampled_from([0.1, 1.0, 10.0]))
@example(6918, 1.0)
def test_jobs_planned_together_at_prices_of_cuts_come_to_the_optimum_and_to_none_below(seed, price):
    instance, rng = crowded(seed), np.random.default_rng(seed)
    # the schedule's own cost: HiGHS's may be below it by its tolerance, as with seed 6918
    answer = PROBLEM.solve("problem_2_aggregated", instance, solver="highs")
    optimum = cost(instance, answer.schedule)
    planner = Planner(instance)
    span = windows(instance, known_cost=optimum, job_bounds=planner.floors)
    pricing = Pricing(instance, planner.searches, span, SiteLimits.of(instance))
    found = slot_cuts(instance, random_choice(instance, rng), lambda: True)
    pricing = pricing.cut(None, [cut for cut in found if cut.slot < pricing.slots])
    rows = -price * rng.exponential(1.0, len(pricing.room()))
    assert comes_to(JointStates(planner.lattices, pricing, rows), optimum)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(SEEDS)
def test_moves_know_of_charges_what_labels_find(seed):
    """Two ways to the least price of a job, and the cheapest schedule is made of moves."""
    instance, rng = crowded(seed), np.random.default_rng(seed)
    i = int(rng.integers(instance.jobs))
    terms, search = random_terms(instance, i, rng), ByUnits(instance, i)
    cuts = random_cuts(instance, rng, len(terms.flow_cost))
    diagram = SlotDiagram.of(instance, i, len(terms.flow_cost), cuts)
    terms = replace(terms, charges=diagram.charged(rng.exponential(4.0, len(cuts))))
    paths, least = cheapest_by_labels(search, terms)
    lattice, spare = build_lattice(instance, search.levels), float(rng.exponential(2.0))
    job = PricedJob(instance, lattice, terms, least).within(least + spare)
    assert job.least == pytest.approx(least)
    for path in paths:
        if path.price <= least + spare:
            assert followed(job, path, spare) == pytest.approx(path.price)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(SEEDS)
def test_relaxations_cut_in_slots_do_not_exceed_the_optimum_and_never_fall(seed):
    instance = crowded(seed)
    search = _Search(instance, Options(), None, "safe")
    search.plan()
    pricing, values = search.pricing(), []
    for _ in range(4):
        found = search.generation(pricing).solve_relaxation()
        values.append(found.objective)
        used = [(c.block, c.payload, share) for c, share in found.chosen]
        cuts = slot_cuts(instance, used, lambda: True)
        pricing = pricing.cut(found.prices, cuts)
    assert (np.diff(values) >= -1e-6 * max(values)).all()
    optimum = PROBLEM.solve("problem_2_aggregated", instance, solver="highs").solution
    assert optimum.status is Status.OPTIMAL
    assert values[-1] <= optimum.objective * (1 + 1e-6)


def test_cuts_move_the_bound_of_a_crowd_that_cannot_be_planned_together():
    """At 20 jobs and 8 sites, from 3,587 to 3,596 by the first of them (seed 100)."""
    instance = PROBLEM.generate(np.random.default_rng(100), jobs=20, sites=8, horizon=40)
    search = _Search(instance, Options(), None, "safe")
    search.plan()
    pricing = search.pricing()
    assert search.together is None
    before = search.generation(pricing).solve_relaxation(absolute_gap=1.0)
    used = [(c.block, c.payload, share) for c, share in before.chosen]
    pricing = pricing.cut(before.prices, slot_cuts(instance, used, lambda: True))
    after = search.generation(pricing).solve_relaxation(absolute_gap=1.0)
    assert after.bound > before.bound + 5.0
    assert after.bound <= search.cost


def test_cuts_that_are_free_are_dropped_and_the_rest_keep_their_rows():
    instance = crowded(1)
    search = _Search(instance, Options(), None, "safe")
    search.plan()
    cuts = random_cuts(instance, np.random.default_rng(1), 3)
    pricing = search.pricing().cut(None, cuts)
    rows = np.zeros(len(pricing.room()))
    rows[[2, -len(cuts) + 1]] = -1.0
    fewer = pricing.cut(rows, [])
    assert fewer.cuts == (cuts[1],)
    assert len(fewer.room()) == len(rows) - len(cuts) + 1
    assert fewer.tight == (2, len(rows) - len(cuts))
    asked = fewer(0, Duals(np.zeros(len(fewer.room())), exact=True))
    assert asked.columns


def test_the_worth_of_cuts_of_one_slot_is_added_up():
    instance, rng = crowded(1), np.random.default_rng(1)
    search = _Search(instance, Options(), None, "safe")
    search.plan()
    pricing = search.pricing()
    cuts = random_cuts(instance, rng, pricing.slots)
    price, slots = rng.exponential(1.0, len(cuts)), [cut.slot for cut in cuts]
    assert len(set(slots)) < len(slots)
    rows = np.append(np.zeros(len(pricing.room())), -price)
    worth = np.zeros(pricing.slots)
    for t, one in zip(slots, price, strict=True):
        worth[t] += one
    assert pricing.cut(None, cuts).worth_of_cuts(rows) == pytest.approx(worth)


@pytest.mark.parametrize("seed", range(6))
def test_where_nothing_is_to_be_cut_the_relaxation_is_solved_to_the_end(seed, monkeypatch):
    instance = crowded(seed)
    monkeypatch.setattr(construct, "LARGEST_LATTICES", 0)
    monkeypatch.setattr(cut_rounds, "slot_cuts", lambda *_: [])
    bounds = []
    for near in (0.0, 0.9):
        monkeypatch.setattr(cut_rounds, "FIRST_NEAR", near)
        search = _Search(instance, Options(), None, "safe")
        search.plan()
        search.bound, search.cost = -np.inf, 3.0 * search.cost  # or nothing would be looked for
        search.cut()
        bounds.append(search.bound)
    assert bounds[1] == pytest.approx(bounds[0])


def test_a_schedule_said_to_complete_later_is_another_column():
    instance = crowded(0)
    planner = Planner(instance)
    span = windows(instance, known_cost=1e6, job_bounds=planner.floors)
    pricing = Pricing(instance, planner.searches, span, SiteLimits.of(instance))
    path = planner.alone[0][0]
    end = path.last
    for earliest in (0, end + 1, 0):
        column = pricing.column(0, path, earliest)
        assert column.features[ENDS] == max(end, earliest) + 1
        late = instance.latency.cost(0, max(end, earliest)) - instance.latency.cost(0, end)
        assert column.cost == pytest.approx(path_cost(instance, 0, path) + late)


@pytest.mark.parametrize(
    ("together", "least", "first"),
    [(False, LEAST_MOVE, FIRST_NEAR), (True, LEAST_MOVE_TOGETHER, 0.0)],
)
def test_rounds_end_where_the_last_of_them_moved_next_to_nothing(together, least, first):
    rounds = CutRounds(tiny(0), lambda: True, together)
    assert (rounds.first_gap, rounds.near_enough(200.0)) == (first, 0.0)
    rounds.values = [100.0 - 2 * least * 100.0, *[100.0] * ROUNDS_SEEN]
    assert rounds.move(200.0)
    rounds.values[0] = 100.0 - least * 100.0 * (1 - 1e-6)
    assert not rounds.move(200.0)
    rounds.values[0] = 100.0 - least * 100.0 * (1 + 1e-6)
    assert rounds.move(200.0)
    assert rounds.move(np.inf)
    assert rounds.near_enough(200.0) == pytest.approx(NEAR * 100.0)
    assert rounds.near_enough(np.inf) == 0.0
    rounds.exact = True
    assert (rounds.first_gap, rounds.near_enough(200.0)) == (0.0, 0.0)
