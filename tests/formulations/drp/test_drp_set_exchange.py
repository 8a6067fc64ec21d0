"""Covering sets of servers, and exchanging jobs over them."""

import itertools

import numpy as np
import pytest
from brute_force import optimum
from drp_cases import examples, instances, system
from hypothesis import given
from hypothesis import strategies as st

from formulations.drp import DSRP
from formulations.drp.congestion_prices import congestion_prices
from formulations.drp.covering_sets import covering_sets
from formulations.drp.decode import schedule_of
from formulations.drp.generator import generate, tiny
from formulations.drp.service_columns import ServiceColumns
from formulations.drp.set_exchange import SetExchange, shift
from optsched.decomposition import GenerationOptions

SHARED = {"jobs": 4, "servers": 4, "most_nodes": 3, "storage": True, "shared_services": True}


def free_sets(instance):
    """All covering sets, at prices of nothing."""
    return covering_sets(instance, np.zeros(instance.num_servers), np.zeros(instance.num_pairs))


def listed(sets, k):
    """The sets of a job, as tuples of servers."""
    parts = range(sets.first[k], sets.first[k + 1])
    return [tuple(sets.server[sets.start[n] : sets.start[n + 1]].tolist()) for n in parts]


def covers(instance, k, servers):
    """Whether servers reach every node of a job and can store its service."""
    fits = all(instance.service_load[instance.job_service[k], j] <= 1 for j in servers)
    reach = instance.node_servers()
    return fits and all(set(reach[i]) & set(servers) for i in instance.job_nodes[k].tolist())


@given(instance=instances(**SHARED))
@examples(30)
def test_covering_sets_are_all_those_without_a_superfluous_server(instance):
    sets = free_sets(instance)
    for k in range(instance.num_jobs):
        every = itertools.chain.from_iterable(
            itertools.combinations(range(instance.num_servers), size)
            for size in range(1, instance.num_servers + 1)
        )
        wanted = [
            held
            for held in every
            if covers(instance, k, held)
            and not any(covers(instance, k, set(held) - {j}) for j in held)
        ]
        assert sorted(listed(sets, k)) == sorted(wanted)


@given(instance=instances(**SHARED))
@examples(20)
def test_a_set_takes_the_service_and_equal_shares_of_each_node(instance):
    sets, reach = free_sets(instance), instance.node_servers()
    for n in range(len(sets.job)):
        k, held = sets.job[n], sets.server[sets.start[n] : sets.start[n + 1]].tolist()
        for q, j in zip(range(sets.start[n], sets.start[n + 1]), held, strict=True):
            nodes = [i for i in instance.job_nodes[k].tolist() if j in reach[i]]
            inbound = sum(
                instance.inbound_load[instance.pair_of(i, j)] / len(set(reach[i]) & set(held))
                for i in nodes
            )
            assert sets.use[q, 0] == instance.service_load[instance.job_service[k], j]
            assert sets.use[q, 1] == pytest.approx(inbound)


def test_listing_that_is_cut_short_keeps_true_sets(monkeypatch):
    instance = generate(np.random.default_rng(0), jobs=2)
    every = free_sets(instance)
    monkeypatch.setattr("formulations.drp.covering_sets.MOST_STEPS", 50)
    some = free_sets(instance)
    assert 0 < len(some.job) < len(every.job)
    for k in range(2):
        assert set(listed(some, k)) < set(listed(every, k))


def test_the_dearest_of_too_many_sets_are_left_out(monkeypatch):
    monkeypatch.setattr("formulations.drp.covering_sets.MOST_SETS", 2)
    instance = system([(0, 1, [0, 1, 2])], [9, 9, 9], service_size_bytes=[1.0],
                      server_storage_bytes=[1.0, 1.0, 1.0])  # fmt: skip
    sets = covering_sets(instance, np.array([0.36, 0.1, 0.34]), np.zeros(3))
    assert sorted(listed(sets, 0)) == [(1,), (2,)]
    assert sorted(sets.price) == pytest.approx([0.1, 0.34])


def test_a_service_larger_than_a_server_is_not_put_there():
    instance = system([(0, 1, [0, 1]), (1, 1, [0])], [9, 9], service_size_bytes=[2.0, 2.0],
                      server_storage_bytes=[1.0, 2.0])  # fmt: skip
    sets = free_sets(instance)
    assert [listed(sets, k) for k in range(2)] == [[(1,)], []]
    search = SetExchange(instance, sets, np.random.default_rng(0))
    assert search.search(1, lambda: True) is not None
    assert search.search(2, lambda: True) is None


@given(instance=instances(**SHARED), seed=st.integers(0, 99))
@examples(20)
def test_what_is_taken_of_servers_follows_the_jobs_inside(instance, seed):
    """A service that several jobs share is stored once."""
    rng, sets = np.random.default_rng(seed), free_sets(instance)
    state = SetExchange(instance, sets, rng)._begin(0)
    inside = {}
    for n in rng.integers(len(sets.job), size=12).tolist() if len(sets.job) else []:
        k = int(sets.job[n])
        if k in inside:
            shift(sets, state, inside.pop(k), -1)
        else:
            inside[k] = n
            shift(sets, state, n, 1)
    stored, inbound = set(), np.zeros(instance.num_servers)
    for n in inside.values():
        at = slice(sets.start[n], sets.start[n + 1])
        stored |= {(int(sets.service[n]), int(j)) for j in sets.server[at]}
        np.add.at(inbound, sets.server[at], sets.use[at, 1])
    storage = np.zeros(instance.num_servers)
    for service, j in stored:
        storage[j] += instance.service_load[service, j]
    assert state.load[:, 0] == pytest.approx(storage, abs=1e-12)
    assert state.load[:, 1] == pytest.approx(inbound, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_exchanges_keep_to_every_constraint_and_below_the_optimum(seed, monkeypatch):
    monkeypatch.setattr("formulations.drp.set_exchange.BEGINNINGS", 2)
    options = {"jobs": 5, "servers": 3, "storage": True, "shared_services": seed % 2 == 0}
    instance = tiny(np.random.default_rng(seed), **options)
    best = int(optimum(instance, services=True))
    search = SetExchange(instance, free_sets(instance), np.random.default_rng(seed))
    for target in range(1, best + 2):
        assoc = search.search(target, lambda: True)
        if assoc is not None:
            schedule = schedule_of(instance, assoc, services=True)
            assert DSRP.check(instance, schedule) == []
            assert target == schedule.admit.sum() <= best


@pytest.mark.parametrize(("size", "found"), [(0.5, True), (0.5 + 1e-6, False)])
def test_two_services_fill_a_server_and_no_more(size, found, monkeypatch):
    monkeypatch.setattr("formulations.drp.set_exchange.BEGINNINGS", 2)
    instance = system([(0, 1, [0]), (1, 1, [0])], [9], service_size_bytes=[size, size],
                      server_storage_bytes=[1.0])  # fmt: skip
    search = SetExchange(instance, free_sets(instance), np.random.default_rng(0))
    assert (search.search(2, lambda: True) is not None) == found


def test_at_forty_jobs_exchanges_fit_in_what_insertion_does_not():
    instance = generate(np.random.default_rng(2), jobs=40)
    columns = ServiceColumns(instance, 9)
    columns.solve(GenerationOptions())
    sets = covering_sets(instance, columns.rent, columns.node_price)
    assoc = SetExchange(instance, sets, np.random.default_rng(0)).search(27, lambda: True)
    schedule = schedule_of(instance, assoc, services=True)
    assert DSRP.check(instance, schedule) == []
    assert schedule.admit.sum() == 27


@given(instance=instances(**SHARED), margin=st.floats(0, 3))
@examples(20)
def test_the_sets_within_a_margin_are_those_that_cost_little_more_than_the_cheapest(
    instance, margin
):
    sets = covering_sets(
        instance, np.linspace(0.1, 1, instance.num_servers), np.zeros(instance.num_pairs)
    )
    some = sets.within(margin)
    for k in range(instance.num_jobs):
        price = sets.price[sets.first[k] : sets.first[k + 1]]
        cheap = price <= price.min(initial=np.inf) + margin
        assert listed(some, k) == [s for s, c in zip(listed(sets, k), cheap, strict=True) if c]
        assert sets.cheapest[k] == price.min(initial=np.inf)
    entries = [q for n in np.flatnonzero(sets.price <= sets.cheapest[sets.job] + margin)
               for q in range(sets.start[n], sets.start[n + 1])]  # fmt: skip
    assert np.array_equal(some.use, sets.use[entries])


@given(instance=instances(**SHARED), sharpness=st.floats(1, 30), data=st.data())
@examples(20)
def test_congestion_prices_make_the_dearest_of_so_many_jobs_cost_one(instance, sharpness, data):
    sets = free_sets(instance)
    usable = int(np.isfinite(sets.cheapest).sum())
    if not usable:
        return
    target = data.draw(st.integers(1, usable))
    price = congestion_prices(sets, instance.num_servers, target, sharpness, 5)
    assert (price >= 0).all()
    assert np.sort(sets._replace(price=price).cheapest)[target - 1] == pytest.approx(1)


def test_congestion_makes_the_fuller_server_dearer_even_below_its_capacity():
    instance = system([(0, 1, [0]), (1, 1, [0, 1])], [9, 9], service_size_bytes=[1.0, 1.0],
                      server_storage_bytes=[10.0, 10.0])  # fmt: skip
    sets = free_sets(instance)
    price = congestion_prices(sets, 2, 2, 10.0, 50)
    prices = {(int(sets.job[n]), *listed(sets, sets.job[n])[n - sets.first[sets.job[n]]]): p
              for n, p in enumerate(price)}  # fmt: skip
    assert prices[0, 0] == pytest.approx(1)
    assert prices[1, 1] < prices[1, 0]
