"""The tree over sets of servers: its sets, its rows, and what it decides, beside enumeration."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from brute_force import optimum
from drp_cases import SHARED, examples, instances, system
from hypothesis import assume, given
from hypothesis import strategies as st
from set_tree_cases import OWN, always, drawn_limits, drawn_prices, tree_for

from formulations.drp.check import check_dsrp
from formulations.drp.decode import schedule_of
from formulations.drp.exact.node_placement import place_nodes
from formulations.drp.exact.service_columns import ServiceColumns
from formulations.drp.exact.set_tree import branching as set_branching
from formulations.drp.exact.set_tree import near_sets as near
from formulations.drp.exact.set_tree.burden_rows import BurdenRows
from formulations.drp.exact.set_tree.configurations import SAFE
from formulations.drp.exact.set_tree.counts import ALIKE, LARGE, alike, counts_of
from formulations.drp.exact.set_tree.near_sets import near_sets
from formulations.drp.exact.set_tree.nodes import Limits, Narrowing
from formulations.drp.exact.set_tree.tree import End
from formulations.drp.problem_p3_p5 import ANGLES
from optsched.solvers.options import Options


def enough(bounds):
    """Ten rounds of rows."""
    return len(bounds) < 10


def listed(sets, k):
    parts = range(sets.first[k], sets.first[k + 1])
    return {tuple(sets.server[sets.start[n] : sets.start[n + 1]].tolist()): n for n in parts}


@given(instances(**OWN), st.integers(0, 2**32 - 1))
@examples(40)
def test_near_sets_are_all_that_lose_no_more_than_is_spare(instance, seed):
    columns = ServiceColumns(instance, ANGLES)
    cost = columns.charges(drawn_prices(instance, seed))
    found = near_sets(instance, cost.rent, cost.pair, cost.total, 1)
    load = instance.service_load[instance.job_service]
    price = {}
    for k in range(instance.num_jobs):
        reached = np.unique(instance.pair_server[instance.job_pairs[k]]).tolist()
        for size in range(1, len(reached) + 1):
            for held in itertools.combinations(reached, size):
                total = sum(cost.rent[instance.job_service[k], j] for j in held)
                for i in instance.job_nodes[k].tolist():
                    pairs = instance.pair_of(np.full(size, i), np.array(held))
                    total += min((cost.pair[p] for p in pairs if p >= 0), default=np.inf)
                if np.isfinite(total) and all(load[k, j] <= 1 for j in held):
                    price[k, held] = total
    gain = [
        max(0.0, 1 - min((p for (k, _), p in price.items() if k == job), default=np.inf))
        for job in range(instance.num_jobs)
    ]
    spare = cost.total + sum(gain) - 1
    assert found.spare == pytest.approx(spare, abs=1e-6)
    margin = 1e-6
    for k in range(instance.num_jobs):
        have = listed(found.sets, k)
        for (job, held), total in price.items():
            lost = gain[k] - (1 - total)
            if job == k and abs(lost - spare) > margin:
                assert (held in have) == (lost < spare)
                if held in have:
                    assert found.sets.price[have[held]] == pytest.approx(total)
        if abs(gain[k] - spare) > margin:
            assert found.must[k] == (gain[k] > spare)


@given(instances(**OWN))
@examples(12)
def test_the_tree_decides_every_number_of_jobs_as_enumeration_does(instance):
    best = optimum(instance, services=True)
    for target in range(1, instance.num_jobs + 1):
        tree = tree_for(instance, target)
        tree.cut(always, enough)
        assert tree.bound >= min(best, target - 1) - 1e-9
        if best >= target:
            assert tree.bound >= target
        end = tree.search(always)
        assert end is (End.FOUND if target <= best else End.REFUTED)
        assert (tree.done == 1.0) == (end is End.REFUTED)
        if end is End.FOUND:
            schedule = schedule_of(instance, tree.association, services=True)
            assert not check_dsrp(instance, schedule)
            assert target <= schedule.admit.sum() <= best
        else:
            assert tree.bound == target - 1


@given(instances(**OWN), st.integers(0, 2**32 - 1))
@examples(8)
def test_any_prices_decide_the_same(instance, seed):
    best = optimum(instance, services=True)
    prices = drawn_prices(instance, seed)
    if best:
        assert tree_for(instance, best, prices).search(always) is End.FOUND
    if best < instance.num_jobs:
        assert tree_for(instance, best + 1, prices).search(always) is End.REFUTED


@given(instances(**OWN), st.integers(0, 2**32 - 1))
@examples(8)
def test_several_threads_decide_what_one_does(instance, seed):
    best = optimum(instance, services=True)
    prices = drawn_prices(instance, seed)
    for target in (best, best + 1):
        if 0 < target <= instance.num_jobs:
            tree = tree_for(instance, target, prices, threads=3)
            assert tree.search(always) is (End.FOUND if target == best else End.REFUTED)


@given(instances(**OWN))
@examples(12)
def test_rows_hold_for_what_a_schedule_uses(instance):
    best = optimum(instance, services=True)
    if not best:
        return
    tree = tree_for(instance, best)
    seen = []
    add = BurdenRows.cut

    def noted(self, weight, least):
        seen.append(self)
        return add(self, weight, least)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BurdenRows, "cut", noted)
        tree.cut(always, enough)
        assert tree.search(always) is End.FOUND
    at = tree.association
    sets = tree.sets
    used = []
    for k in np.unique(instance.node_job[at >= 0]).tolist():
        held = tuple(np.unique(at[instance.job_nodes[k]]).tolist())
        used.append(listed(sets, k)[held])
    for rows in seen[:1]:
        weight = rows.weighed(np.array(used), np.ones(len(used)))
        none = rows.most_urgent.only(np.zeros(0, dtype=np.int64))
        assert not len(rows.broken(weight, none, 100, 1e-7).server)
        left = rows.coefficients(rows.most_urgent, np.array(used)).sum(axis=1)
        assert (left <= 1 + 1e-7).all()


def selections(tree, target):
    """All choices of sets for as many jobs or more; storage and loads are not looked at."""
    sets = tree.sets
    options = [(None, *range(sets.first[k], sets.first[k + 1])) for k in range(len(sets.first) - 1)]
    for chosen in itertools.product(*options):
        found = np.array([n for n in chosen if n is not None], dtype=np.int64)
        if len(found) >= target:
            yield found


def kept(limits, amounts):
    """Whether counts, shape (counts,), are within limits."""
    found = amounts[limits.number]
    return bool((found >= limits.least).all() and (found <= limits.most).all())


@given(instances(**OWN))
@examples(25)
def test_counts_are_of_services_on_servers_and_on_two_of_which_one_stands_in(instance):
    tree = tree_for(instance, 1)
    sets, held = tree.sets, tree._branching.held[:, :-1]
    size = instance.service_load[instance.job_service]
    servers = instance.num_servers
    have = [set(listed(sets, k)) for k in range(len(sets.first) - 1)]

    def common(one, other):
        """Sets with one that are sets with the other, or the same one, in its place."""
        return sum(
            tuple(sorted({*found} - {one} | {other})) in of_job
            for of_job in have
            for found in of_job
            if one in found and (one == other or other not in found)
        )

    share = alike(sets.job, held)
    pairs = []
    for one, other in itertools.combinations(range(servers), 2):
        either = max(common(one, one), 1) * max(common(other, other), 1)
        assert share[one, other] == pytest.approx(common(one, other) / np.sqrt(either))
        if share[one, other] >= ALIKE:
            pairs.append((one, other))
    groups = [(j,) for j in range(servers)] + pairs
    counts = counts_of(sets.job, held, size)
    for n in range(len(sets.job)):
        large = size[sets.job[n]] >= LARGE
        assert counts.of_set[n].tolist() == [
            *(sum(held[n, j] for j in group) for group in groups),
            *(sum(held[n, j] & large[j] for j in group) for group in groups),
        ]
    for chosen in selections(tree, 1):
        assert (counts.of_set[chosen].sum(axis=0) <= counts.most).all()


def test_limits_become_narrower_one_after_the_other():
    first = Limits.none().within(4, 0, 7).within(2, 3, 9)
    then = first.within(4, 2, 8).within(2, 1, 5)
    assert [part.tolist() for part in first] == [[4, 2], [0, 3], [7, 9]]
    assert [part.tolist() for part in then] == [[4, 2], [2, 3], [7, 5]]


@given(instances(**OWN), st.integers(0, 2**32 - 1))
@examples(15)
def test_a_node_bounds_every_schedule_whose_servers_hold_so_many_services(instance, seed):
    rng = np.random.default_rng(seed)
    target = max(1, optimum(instance, services=True) - int(rng.integers(2)))
    tree = tree_for(instance, target)
    counts = tree._branching.counts
    limits = drawn_limits(rng, counts)
    node = replace(tree._open[0], limits=limits)
    held, size = tree._branching.held[:, :-1], instance.service_load[instance.job_service]
    best = 0
    for chosen in selections(tree, target):
        full = (held[chosen] * size[tree.sets.job[chosen]]).sum(axis=0) > 1
        if full.any() or not kept(limits, counts.of_set[chosen].sum(axis=0)):
            continue
        if len(chosen) > best and node.must.sum() == node.must[tree.sets.job[chosen]].sum():
            placed = place_nodes(instance, tree.sets, chosen, Options())
            best = best if isinstance(placed, bool) else len(chosen)
    relaxed = tree._relaxations[0].solve(node, 1, 0.02, always)
    if relaxed is None:
        assert best == 0
    else:
        assert relaxed.bound >= best - 1e-9
        number = relaxed.amount[limits.number]
        assert (number >= limits.least - 1e-5).all()
        assert (number <= limits.most + 1e-5).all()


@given(instances(**OWN), st.integers(0, 2**32 - 1))
@examples(40)
def test_narrowing_leaves_all_that_storage_and_counts_allow(instance, seed):
    rng = np.random.default_rng(seed)
    tree = tree_for(instance, 1)
    sets, held = tree.sets, tree._branching.held[:, :-1]
    size = instance.service_load[instance.job_service]
    counts = tree._branching.counts
    limits = drawn_limits(rng, counts)
    must = rng.random(instance.num_jobs) < 0.4
    there = np.flatnonzero(rng.random(len(sets.job)) < 0.7)
    left = Narrowing(sets.job, held, size, counts).narrowed(there, must, limits, 1)
    for chosen in selections(tree, 1):
        allowed = (
            np.isin(chosen, there).all()
            and must.sum() == must[sets.job[chosen]].sum()
            and ((held[chosen] * size[sets.job[chosen]]).sum(axis=0) <= 1).all()
            and kept(limits, counts.of_set[chosen].sum(axis=0))
        )
        if allowed:
            assert left is not None
            assert np.isin(chosen, left).all()


@pytest.mark.parametrize(("beyond", "there"), [(0.5 * SAFE, True), (2 * SAFE, False)])
def test_a_service_that_is_too_large_by_what_the_checker_forgives_stays(beyond, there):
    instance = system([(0, 0.1, [0])], [1.0], job_service=[0], service_size_bytes=[1 + beyond],
                      server_storage_bytes=[1.0])  # fmt: skip
    found = near_sets(instance, np.zeros((1, 1)), np.zeros(1), 0.0, 1)
    assert (len(found.sets.job) == 1) is there


def two_nodes_of_either(load, second=0.1):
    """Two jobs, each of a node that may use either of two servers, the second a small one."""
    return system(
        [(0, load, [0, 1]), (1, load, [0, 1])], [1.0, second], job_service=[0, 1],
        service_size_bytes=[1.0, 1.0], server_storage_bytes=[9.0, 9.0],
    )  # fmt: skip


@pytest.mark.parametrize(("load", "end"), [(0.5, End.FOUND), (0.6, End.REFUTED)])
def test_nodes_that_can_choose_are_placed_before_anything_is_found(load, end):
    assert tree_for(two_nodes_of_either(load), 2).search(always) is end


def test_a_point_that_cannot_be_placed_is_divided_until_nothing_is_left():
    asked = []

    def refuses(sets, chosen):
        asked.append(tuple(chosen.tolist()))
        return False

    tree = tree_for(two_nodes_of_either(0.1, second=1.0), 2, place=refuses)
    assert tree.search(always) is End.REFUTED
    sets = tree.sets
    per_job = np.diff(sets.first)
    assert len(set(asked)) == per_job.prod()  # every pair of sets was asked about


def test_what_could_not_be_placed_in_time_refutes_nothing():
    tree = tree_for(two_nodes_of_either(0.1, second=1.0), 2, place=lambda sets, chosen: True)
    before = tree.bound
    assert tree.search(always) is End.UNDECIDED
    assert tree.bound == before


@given(instances(**OWN), st.integers(1, 6))
@examples(10)
def test_a_search_that_a_limit_ended_goes_on(instance, steps):
    target = max(1, optimum(instance, services=True))
    whole, parts = tree_for(instance, target), tree_for(instance, target)
    end = End.LIMIT
    for more in range(200):
        looks = iter(range(steps + more))
        end = parts.search(lambda looks=looks: next(looks, None) is not None)
        if end is not End.LIMIT:
            break
    assert end is whole.search(always)


@given(instances(**OWN))
@examples(10)
def test_all_of_a_refuted_tree_has_ended_and_no_more_of_one_than_before(instance):
    tree = tree_for(instance, optimum(instance, services=True) + 1)
    shares, end = [tree.done], End.LIMIT
    for steps in range(200):
        looks = iter(range(steps))
        end = tree.search(lambda looks=looks: next(looks, None) is not None)
        shares.append(tree.done)
        if end is not End.LIMIT:
            break
    assert end is End.REFUTED
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)  # halves add up exactly


@given(instances(**OWN), st.integers(0, 2**32 - 1))
@examples(10)
def test_several_threads_try_what_one_does_and_learn_the_same(instance, seed):
    target, prices = optimum(instance, services=True) + 1, drawn_prices(instance, seed)
    learned = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(set_branching, "MANY", 1)
        for threads in (1, 3):
            tree = tree_for(instance, target, prices, threads=threads)
            relaxation, branching = tree._relaxations[0], tree._branching
            relaxed = relaxation.solve(tree._open[0], 0, 0.0, always)
            assume(relaxed is not None and not relaxed.decided)
            children = branching.children(relaxation.program, relaxed, target - 1.0, always)
            learned.append((branching._gained, branching._times, [c.sets for c in children]))
    (gained, times, sets), (same, as_often, equal) = learned
    assert np.array_equal(times, as_often)
    assert same == pytest.approx(gained, abs=1e-9)
    assert all(np.array_equal(*pair) for pair in zip(sets, equal, strict=True))


@pytest.mark.parametrize(
    ("above", "time", "tries"),
    [
        (0.5, True, range(2, 99)),
        (0.5, False, [0, 1]),
        (2e-4, True, range(2, 99)),
        (5e-5, True, [0]),
    ],
)
def test_no_more_is_tried_without_time_or_where_nothing_can_be_gained(above, time, tries):
    instance = system(
        [(k, 0.1, [0, 1]) for k in range(3)], [1.0, 1.0], job_service=[0, 1, 2],
        service_size_bytes=[6.0, 6.0, 6.0], server_storage_bytes=[9.0, 9.0],
    )  # fmt: skip
    tree = tree_for(instance, 3, np.zeros_like(drawn_prices(instance, 0)))
    relaxation, branching = tree._relaxations[0], tree._branching
    relaxed = relaxation.solve(tree._open[0], 0, 0.0, always)
    tried = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(branching), "_try", lambda *args: tried.append(args) or np.zeros(2))
        program, least = relaxation.program, relaxed.bound - above
        children = branching.children(program, relaxed, least, lambda: time)
    assert len(children) == 2
    assert len(tried) in tries


def test_a_search_without_time_says_nothing():
    tree = tree_for(two_nodes_of_either(0.6), 2)
    before = tree.bound
    tree.cut(lambda: False, enough)
    assert tree.search(lambda: False) is End.LIMIT
    assert (tree.bound, tree.nodes) == (before, 0)


def test_no_tree_is_made_where_jobs_share_a_service():
    shared = system(
        [(0, 0.1, [0]), (1, 0.1, [0])], [1.0], job_service=[0, 0],
        service_size_bytes=[1.0], server_storage_bytes=[9.0],
    )  # fmt: skip
    assert SHARED["shared_services"]
    assert tree_for(shared, 2) is None


@pytest.mark.parametrize(("name", "value"), [("MOST_SETS", 3), ("MOST_SERVERS", 1)])
def test_no_tree_is_made_of_too_many_sets_or_servers(monkeypatch, name, value):
    instance = two_nodes_of_either(0.1)
    assert tree_for(instance, 2) is not None
    monkeypatch.setattr(near, name, value)
    assert tree_for(instance, 2) is None


def test_a_solver_that_fails_refutes_nothing(monkeypatch):
    tree = tree_for(two_nodes_of_either(0.1, second=1.0), 2)
    solve = tree._relaxations[0].program.solve

    def fails(*args, **options):
        point = solve(*args, **options)
        nothing = {"weights": 0 * point.weights, "duals": 0 * point.duals}
        return replace(point, optimal=False, **nothing)

    monkeypatch.setattr(tree._relaxations[0].program, "solve", fails)
    tree.cut(always, enough)
    assert tree.search(always) is End.UNDECIDED
