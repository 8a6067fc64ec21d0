"""Covering sets of servers, and exchanging jobs over them."""

import itertools

import numpy as np
import pytest
from brute_force import optimum
from drp_cases import SHARED, examples, free_sets, instances, system
from hypothesis import given
from hypothesis import strategies as st

from formulations.drp import DSRP
from formulations.drp.decode import schedule_of
from formulations.drp.exact.covering_sets import covering_sets
from formulations.drp.exact.service_columns import ServiceColumns
from formulations.drp.exact.set_exchange.annealing import LEARNED, WEIGHTS, SetExchange, learn
from formulations.drp.generator import generate, tiny
from optsched.decomposition import GenerationOptions


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


def test_listing_that_is_cut_short_keeps_true_sets(monkeypatch):
    instance = generate(np.random.default_rng(0), jobs=2)
    every = free_sets(instance)
    monkeypatch.setattr("formulations.drp.exact.covering_sets.MOST_STEPS", 50)
    some = free_sets(instance)
    assert 0 < len(some.job) < len(every.job)
    for k in range(2):
        assert set(listed(some, k)) < set(listed(every, k))


def test_the_dearest_of_too_many_sets_are_left_out(monkeypatch):
    monkeypatch.setattr("formulations.drp.exact.covering_sets.MOST_SETS", 2)
    instance = system([(0, 1, [0, 1, 2])], [9, 9, 9], service_size_bytes=[1.0],
                      server_storage_bytes=[1.0, 1.0, 1.0])  # fmt: skip
    sets = covering_sets(instance, np.array([[0.36, 0.1, 0.34]]), np.zeros(3))
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


def test_servers_that_are_overfull_for_longer_gain_weight_and_the_mean_stays():
    weight, full = np.ones((3, 2)), np.array([[1.0, 0.5], [0.5, 0.5], [0.0, 0.5]])
    learn(weight, full)
    assert weight[0, 0] > weight[1, 0] > weight[2, 0]
    assert weight[:, 1].tolist() == [1, 1, 1]
    assert weight[0, 0] / weight[2, 0] == pytest.approx(np.exp(LEARNED))
    for _ in range(2000):
        learn(weight, full)
    assert weight.mean(axis=0) == pytest.approx([1, 1])
    assert weight.max() / weight.min() <= WEIGHTS[1] / WEIGHTS[0]


@pytest.mark.parametrize("seed", range(10))
def test_exchanges_keep_to_every_constraint_and_below_the_optimum(seed, monkeypatch):
    monkeypatch.setattr("formulations.drp.exact.set_exchange.annealing.BEGINNINGS", 2)
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
    monkeypatch.setattr("formulations.drp.exact.set_exchange.annealing.BEGINNINGS", 2)
    instance = system([(0, 1, [0]), (1, 1, [0])], [9], service_size_bytes=[size, size],
                      server_storage_bytes=[1.0])  # fmt: skip
    search = SetExchange(instance, free_sets(instance), np.random.default_rng(0))
    assert (search.search(2, lambda: True) is not None) == found


def test_one_job_alone_is_found():
    instance = system([(0, 1, [0])], [9], service_size_bytes=[1.0],
                      server_storage_bytes=[1.0])  # fmt: skip
    search = SetExchange(instance, free_sets(instance), np.random.default_rng(0))
    assert search.search(1, lambda: True).tolist() == [0]


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
        instance,
        instance.service_load * np.linspace(0.1, 1, instance.num_servers),
        np.zeros(instance.num_pairs),
    )
    some = sets.only(sets.reduced_cost <= margin)
    for k in range(instance.num_jobs):
        price = sets.price[sets.first[k] : sets.first[k + 1]]
        cheap = price <= price.min(initial=np.inf) + margin
        assert listed(some, k) == [s for s, c in zip(listed(sets, k), cheap, strict=True) if c]
        assert sets.cheapest[k] == price.min(initial=np.inf)


@pytest.mark.parametrize("seed", range(1, 4))
def test_several_beginnings_at_a_time_find_what_one_after_the_other_does(seed):
    instance = tiny(np.random.default_rng(seed), jobs=5, servers=3, storage=True)
    sets = free_sets(instance)
    found = [
        SetExchange(instance, sets, np.random.default_rng(seed), threads).search(2, lambda: True)
        for threads in (1, 3)
    ]
    assert np.array_equal(*found)
    assert len(np.unique(instance.node_job[found[0] >= 0])) == 2


def test_beginnings_at_a_time_end_when_they_are_told_to():
    instance = system([(0, 1, [0]), (1, 1, [0])], [9], service_size_bytes=[1.0, 1.0],
                      server_storage_bytes=[1.0])  # fmt: skip
    search = SetExchange(instance, free_sets(instance), np.random.default_rng(0), threads=2)
    looks = iter(range(3))
    assert search.search(2, lambda: next(looks, None) is not None) is None
