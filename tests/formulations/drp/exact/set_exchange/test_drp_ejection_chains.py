"""Chains of jobs that send each other on from full servers."""

import copy

import numpy as np
import pytest
from drp_cases import SHARED, examples, free_sets, instances, system
from hypothesis import given
from hypothesis import strategies as st

from formulations.drp.exact.set_exchange.annealing import SetExchange
from formulations.drp.exact.set_exchange.ejection_chains import (
    DEPTH,
    DRAWS,
    LOOK,
    Links,
    anneal,
    best_set,
    follow,
    proposal,
    undo,
)
from formulations.drp.exact.set_exchange.state import (
    JUMP,
    LOAD_WEIGHT,
    ROUNDING,
    enter,
    leave,
    load_cost,
    overfull,
    recount,
    stands,
    storage_cost,
)
from formulations.drp.exact.set_loads import set_loads
from formulations.drp.generator import tiny
from formulations.drp.loads import load_factor, server_load_factor


def searching(instance, seed):
    """A search over all covering sets, and how many jobs have one."""
    search = SetExchange(instance, free_sets(instance), np.random.default_rng(seed))
    return search, int(np.isfinite(search.table.sets.cheapest).sum())


def state_of(search, table, target):
    """A beginning."""
    return search._begin(search.rng, table, target)


def links_of(state):
    """No links; what is before them."""
    none = np.zeros(DEPTH + 1, dtype=np.int64)
    before = state.filled.copy(), state.cost.copy(), state.at.copy()
    return Links(none, none.copy(), none.copy(), *before)


def recounted(search, table, state):
    """Storage and loads of every server, from the jobs inside."""
    instance, sets = search.instance, table.sets
    at = search.association(table, state)
    assert np.array_equal(at >= 0, state.chosen[instance.node_job] >= 0)
    placed, filled = set(), np.zeros((instance.num_servers, 5))
    loads = instance.inbound_load, instance.compute_load, instance.comm_load
    load = np.column_stack([*loads, instance.cross_load])
    for k in np.flatnonzero(state.chosen >= 0).tolist():
        n = state.chosen[k]
        held = sets.server[sets.start[n] : sets.start[n + 1]].tolist()
        placed |= {(int(instance.job_service[k]), j) for j in held}
        for i in instance.job_nodes[k].tolist():
            assert at[i] in held
            filled[at[i], 1:] += load[table.pair[i, at[i]]]
    for service, j in placed:
        filled[j, 0] += instance.service_load[service, j]
    return filled


def costs(filled, weight):
    """Of every server, as the sentences say it."""
    factor = server_load_factor(*filled[:, 2:].T)
    over = [np.where(x > 1 + ROUNDING, x - 1 + JUMP, 0) for x in (*filled[:, :2].T, factor)]
    return weight[:, 0] * over[0] + weight[:, 1] * LOAD_WEIGHT * (over[1] + over[2])


@given(instance=instances(**SHARED), seed=st.integers(0, 99), data=st.data())
@examples(20)
def test_what_is_taken_of_servers_follows_the_jobs_inside(instance, seed, data):
    """A service that several jobs share is stored once."""
    search, usable = searching(instance, seed)
    if not usable:
        return
    rng, table, sets = search.rng, search.table, search.table.sets
    target = data.draw(st.integers(1, usable))
    state = state_of(search, table, target)
    state.weight[:] = rng.uniform(0.5, 2.0, state.weight.shape)
    seen = np.zeros(state.weight.shape, dtype=np.int64)
    anneal(table, state, rng.random((50, DRAWS)), 0.2, seen)
    assert (state.chosen >= 0).sum() == target
    for k in np.flatnonzero(state.chosen >= 0).tolist():
        assert sets.job[state.chosen[k]] == k
    filled = recounted(search, table, state)
    assert state.filled == pytest.approx(filled, abs=1e-12)
    assert state.cost == pytest.approx(costs(filled, state.weight), abs=1e-10)
    full = overfull(state, rng.random())
    factors = [load_factor(*row[2:]) for row in state.filled]
    assert (full >= 0) == (max(*state.filled[:, :2].max(axis=0), *factors) > 1 + ROUNDING)
    for n in range(len(sets.job)):
        held = sets.server[sets.start[n] : sets.start[n + 1]]
        assert stands(table, n, full) == (full < 0 or full in held)
    assert (seen <= len(range(0, 50, LOOK))).all()


@given(instance=instances(**SHARED), seed=st.integers(0, 99))
@examples(20)
def test_a_chain_that_is_undone_leaves_no_trace(instance, seed):
    search, usable = searching(instance, seed)
    if not usable:
        return
    rng, table = search.rng, search.table
    state = state_of(search, table, usable - usable // 3)
    recount(table, state)
    before, links = copy.deepcopy(state), links_of(state)
    extra = np.empty(len(table.burdened) + 1)
    for _ in range(10):
        link = follow(table, state, links, rng.random(DRAWS), -1.0, extra)
        assert 1 <= link <= DEPTH + 1
        assert len({*links.came[:link].tolist()}) == link  # none twice
        undo(table, state, links, link)
        for now, then in zip(state, before, strict=True):
            assert np.array_equal(now, then)


@given(instance=instances(**SHARED), seed=st.integers(0, 99))
@examples(20)
def test_the_best_set_of_a_job_costs_least_of_all_its_others(instance, seed):
    """Costs are those of its burdens: nodes that are free are placed afterwards."""
    search, usable = searching(instance, seed)
    rng, sets = search.rng, search.table.sets
    table = search.table._replace(first_free=0 * search.table.first_free)
    k = int(rng.integers(instance.num_jobs))
    state = state_of(search, table, usable)
    state.weight[:] = rng.uniform(0.5, 2.0, state.weight.shape)
    recount(table, state)
    without = int(state.chosen[k])
    if without < 0:
        return
    leave(table, state, k)
    extra, before = np.empty(len(table.burdened) + 1), state.cost.sum()
    best = best_set(table, state, k, without, extra)
    added = {}
    for n in set(range(sets.first[k], sets.first[k + 1])) - {without}:
        enter(table, state, n, 0.0)
        added[n] = state.cost.sum() - before
        leave(table, state, k)
    if not added:
        assert best == -1
        return
    assert added[best] == pytest.approx(min(added.values()), abs=1e-10)
    assert extra[-1] == pytest.approx(added[best], abs=1e-10)


def test_a_job_that_goes_first_stands_on_a_server_that_is_too_full():
    """Of three jobs two share a server that has room for one; the third is never taken."""
    instance = system([(0, 1, [0]), (1, 1, [0]), (2, 1, [1])], [9, 9],
                      service_size_bytes=[3.0] * 3, server_storage_bytes=[5.0] * 2)  # fmt: skip
    search = SetExchange(instance, free_sets(instance), np.random.default_rng(0))
    table = search.table
    state = state_of(search, table, 3)
    draws = np.random.default_rng(1).random((200, DRAWS))
    assert {overfull(state, where) for where in draws[:, 2]} == {0}
    draws[:, 1] = 0.0
    assert {proposal(table, state, row)[0] for row in draws} == {0, 1}
    draws[:, 1] = 1.0
    assert {proposal(table, state, row)[0] for row in draws} == {0, 1, 2}


def test_two_services_change_places_where_storage_leaves_no_room_between():
    """Either job alone would overfill a server; both together do not."""
    instance = system([(0, 1, [0, 1]), (1, 1, [0, 1])], [9, 9], service_size_bytes=[4.0, 5.0],
                      server_storage_bytes=[5.0, 5.0])  # fmt: skip
    sets = free_sets(instance)
    search = SetExchange(instance, sets, np.random.default_rng(0))
    table = search.table
    state = state_of(search, table, 0)
    for k in range(2):
        enter(table, state, int(sets.first[k]) + k, 0.0)
    state.weight[:] = 0.5  # so that one job alone is not hopeless
    links = links_of(state)
    draws = np.zeros(DRAWS)
    draws[[1, 3, 5]] = 0.9, 0.9, 0.6  # any job, its own set, the second one
    assert proposal(table, state, draws) == (0, int(sets.first[0]) + 1)
    assert follow(table, state, links, draws, 0.0, np.empty(9)) == 2
    assert state.chosen.tolist() == [int(sets.first[0]) + 1, int(sets.first[1])]
    assert state.filled[:, 0].tolist() == [1.0, 0.8]
    assert state.cost.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("share", "over"), [(1 + ROUNDING / 2, False), (1 + 2 * ROUNDING, True)])
def test_a_server_that_is_too_full_costs_a_jump_however_little_it_is(share, over):
    cost = pytest.approx(JUMP if over else 0.0, abs=1e-9)
    assert storage_cost(share) == cost
    for loads in [(share, 0.0, 0.0, 0.0), (0.0, share, 0.0, 0.0), (0.0, share / 2, share / 2,
                  share / 2)]:  # fmt: skip
        assert load_cost(*loads) / LOAD_WEIGHT == cost


@given(instance=instances(**SHARED), seed=st.integers(0, 99))
@examples(20)
def test_a_set_asks_what_the_nodes_of_its_job_do(instance, seed):
    """Each node loads the one server that reaches it, or is free; some sets alone ask the same."""
    rng, sets = np.random.default_rng(seed), free_sets(instance)
    table = set_loads(instance, sets)
    loads = instance.inbound_load, instance.compute_load, instance.comm_load
    load = np.column_stack([*loads, instance.cross_load])
    for n in range(len(sets.job)):
        nodes, span = instance.job_nodes[sets.job[n]], slice(sets.start[n], sets.start[n + 1])
        options = (table.pair[np.ix_(nodes, sets.server[span])] >= 0).sum(axis=1)
        assert (options > 0).all()
        free = table.free[table.first_free[n] : table.first_free[n + 1]]
        assert free.tolist() == nodes[options > 1].tolist()
        for j, v in zip(sets.server[span], table.burden[span], strict=True):
            own = table.pair[nodes[options == 1], j]
            assert table.burdened[v] == j
            assert table.first_burden[sets.job[n]] <= v < table.first_burden[sets.job[n] + 1]
            assert table.load[v] == pytest.approx(load[own[own >= 0]].sum(axis=0), abs=1e-12)
    kept = rng.random(len(sets.job)) < 0.5
    some, anew = table.only(kept), set_loads(instance, sets.only(kept))
    for one, other in zip((*some.sets, *some[1:]), (*anew.sets, *anew[1:]), strict=True):
        assert np.array_equal(one, other)


def test_where_only_storage_counts_sets_ask_nothing_of_nodes():
    instance = tiny(np.random.default_rng(0), jobs=5, servers=3, storage=True)
    table = set_loads(instance, free_sets(instance), storage_only=True)
    assert not table.load.any()
    assert len(table.free) == 0
    assert len(table.burden) == len(table.sets.server) > 0
