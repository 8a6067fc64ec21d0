"""The bound of all configurations, beside a linear program that lists them."""

from dataclasses import replace

import numpy as np
import pytest
from brute_force import optimum
from drp_cases import examples, instances
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from set_tree_cases import OWN, always, configurations, drawn_limits, drawn_prices, tree_for

from formulations.drp.exact.set_tree import tree as tree_module
from formulations.drp.exact.set_tree.configuration_prices import (
    AT_LEAST,
    MOST_ASKED,
    RECENT,
    ConfigurationPrices,
    _promising,
)
from formulations.drp.exact.set_tree.nodes import Node
from formulations.drp.exact.set_tree.relaxation import UnsolvedError
from formulations.drp.exact.set_tree.tree import End
from formulations.drp.generator import tiny

ANY = -1e9
"""A bound below every other."""


def relaxed_node(instance, seed):
    """A node with limits on counts, its program solved with few rows; None where that ends it."""
    rng = np.random.default_rng(seed)
    tree = tree_for(instance, 1, drawn_prices(instance, seed))
    relaxation, limits = tree._relaxations[0], drawn_limits(rng, tree._branching.counts)
    relaxation.goal = ANY
    node = Node(
        tree._open[0].sets, rng.random(instance.num_jobs) < 0.3, limits, tree._open[0].columns,
        tree._open[0].rows,
    )  # fmt: skip
    try:
        return tree, relaxation, relaxation.solve(node, 0, 1.0, always)
    except UnsolvedError:  # nothing keeps the limits, and any number of jobs is of interest
        return tree, relaxation, None


def all_configurations(tree, rows, relaxed):
    """Most jobs if sets are chosen in part and servers mix configurations; None: not at all."""
    sets, must, limits = relaxed.sets, relaxed.must, relaxed.limits
    burden, first = rows.burdens(sets)
    used = np.unique(burden)
    weight = np.zeros((len(used), len(sets)))
    weight[np.searchsorted(used, burden), np.repeat(np.arange(len(sets)), np.diff(first))] = 1
    job = np.searchsorted(rows.table.first_burden, used, side="right") - 1
    mixed, of_server = [], []
    for j in range(rows.servers):
        own = np.flatnonzero(rows.table.burdened[used] == j)
        begin = np.searchsorted(job[own], np.arange(len(must) + 1))
        size = rows.table.size[rows.table.service[job[own]], j]
        for one in configurations(begin, size, rows.table.load[used[own]]):
            column = np.zeros(len(used))
            column[own] = one
            mixed.append(column)
            of_server.append(j)
    mixed, servers = np.array(mixed).T, np.eye(rows.servers)[:, of_server]
    member = np.eye(len(must))[:, tree.sets.job[sets]]
    counts = tree._branching.counts.of(sets, limits.number).T
    above = np.vstack([
        np.hstack([weight, -mixed]),
        np.hstack([np.vstack([member, -member[must], rows.nodes[sets][None], counts, -counts]),
                   np.zeros((len(must) + must.sum() + 1 + 2 * len(counts), mixed.shape[1]))]),
        np.hstack([np.zeros((rows.servers, len(sets))), servers]),
    ])  # fmt: skip
    limit = np.concatenate([
        np.zeros(len(used)), np.ones(len(must)), -np.ones(must.sum()), [1.0],
        limits.most, -limits.least, np.ones(rows.servers),
    ])  # fmt: skip
    worth = np.concatenate([-np.ones(len(sets)), np.zeros(mixed.shape[1])])
    found = linprog(worth, A_ub=above, b_ub=limit)
    assert found.status in (0, 2)
    return -found.fun if found.status == 0 else None


@given(instances(**OWN), st.integers(0, 2**32 - 1))
@examples(40)
def test_the_bound_lies_between_those_of_all_configurations_and_of_the_program(instance, seed):
    tree, relaxation, relaxed = relaxed_node(instance, seed)
    if relaxed is None:
        return
    rows = relaxation._rows
    least = all_configurations(tree, rows, relaxed)
    prices = ConfigurationPrices(rows, tree._branching.counts)
    if least is None:
        assert prices.bound(relaxed, 0.0, always).bound < relaxed.bound + 1e-9
        return
    found = prices.bound(relaxed, least + 1e-3, always)
    assert least - 1e-6 <= found.bound <= relaxed.bound + 1e-9
    assert found.bound == pytest.approx(least, abs=0.05)
    for n, lost in zip(relaxed.sets.tolist(), found.lost.tolist(), strict=True):
        others = relaxed.sets[tree.sets.job[relaxed.sets] != tree.sets.job[n]]
        must = relaxed.must.copy()
        must[tree.sets.job[n]] = True
        only = replace(relaxed, sets=np.sort(np.append(others, n)), must=must)
        with_it = all_configurations(tree, rows, only)
        assert with_it is None or with_it <= found.bound - lost + 1e-6


@given(instances(**OWN), st.integers(0, 2**32 - 1))
@examples(12)
def test_a_tree_that_always_asks_for_them_decides_what_enumeration_does(instance, seed):
    best = optimum(instance, services=True)
    prices = drawn_prices(instance, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_module, "PRICED", (-np.inf, np.inf))
        for target in (best, best + 1):
            if 0 < target <= instance.num_jobs:
                tree = tree_for(instance, target, prices)
                end = End.FOUND if target == best else End.REFUTED
                assert tree.search(always) is end


def test_trees_ask_and_refute_by_the_answers(monkeypatch):
    narrowed, ended = ConfigurationPrices.narrowed, []

    def noted(self, relaxed, goal, go_on):
        found = narrowed(self, relaxed, goal, go_on)
        ended.append(found is None)
        return found

    monkeypatch.setattr(tree_module, "PRICED", (-np.inf, np.inf))
    monkeypatch.setattr(ConfigurationPrices, "narrowed", noted)
    for seed in range(25):
        instance = tiny(np.random.default_rng(seed), jobs=5, servers=3, storage=True)
        best = optimum(instance, services=True)
        if best < instance.num_jobs:
            tree = tree_for(instance, best + 1)
            if tree is not None:
                assert tree.search(always) is End.REFUTED
    assert any(ended)


@given(instances(**OWN), st.integers(0, 2**32 - 1))
@examples(10)
def test_without_time_nothing_is_asked_and_nothing_lost(instance, seed):
    tree, relaxation, relaxed = relaxed_node(instance, seed)
    if relaxed is not None:
        prices = ConfigurationPrices(relaxation._rows, tree._branching.counts)
        narrowed = prices.narrowed(relaxed, relaxed.bound - 0.1, lambda: False)
        assert narrowed.sets.tolist() == relaxed.sets.tolist()


@pytest.mark.parametrize(
    ("sums", "more"),
    [
        ([np.inf] + [9.0] * (AT_LEAST - 1), True),  # too few to tell
        ([np.inf] + [9.0] * AT_LEAST, False),  # nothing gained
        ([np.inf] + [9.0] * AT_LEAST + [1.34] + [1.0] * RECENT, True),
        ([np.inf] + [9.0] * AT_LEAST + [1.33] + [1.0] * RECENT, False),
        ([np.inf] + [9.0 - 0.5 * t for t in range(MOST_ASKED - 1)], True),
        ([np.inf] + [99.0 - 0.5 * t for t in range(MOST_ASKED)], False),  # enough of them
    ],
)
def test_questions_end_where_the_last_ones_gained_too_little(sums, more):
    assert _promising(sums, 0.0) is more
