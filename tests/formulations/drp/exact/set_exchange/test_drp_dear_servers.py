"""Packing the servers whose storage is dear first, and the others after them."""

import numpy as np
import pytest
from brute_force import optimum
from drp_cases import examples, instances, system
from hypothesis import given
from hypothesis import strategies as st

from formulations.drp import DSRP
from formulations.drp.decode import schedule_of
from formulations.drp.exact.covering_sets import covering_sets
from formulations.drp.exact.service_columns import ServiceColumns
from formulations.drp.exact.set_exchange.tight_servers import PACKINGS, ROUNDING, DearFirst
from formulations.drp.generator import generate, tiny
from optsched.decomposition import GenerationOptions


def held(sets, n):
    """The servers of a set."""
    return set(sets.server[sets.start[n] : sets.start[n + 1]].tolist())


@given(
    instance=instances(jobs=4, servers=4, most_nodes=3, storage=True, shared_services=True),
    dear=st.lists(st.booleans(), min_size=4, max_size=4),
    seed=st.integers(0, 99),
)
@examples(30)
def test_parts_are_what_the_sets_of_a_job_have_in_common_with_some_servers(instance, dear, seed):
    chosen = np.resize(dear, instance.num_servers)
    rent = np.random.default_rng(seed).random(instance.service_load.shape)
    sets = covering_sets(instance, rent, np.zeros(instance.num_pairs))
    parts, of_set = sets.part_on(chosen)
    some = set(np.flatnonzero(chosen).tolist())
    for n, part in enumerate(of_set.tolist()):
        assert parts.job[part] == sets.job[n]
        assert held(parts, part) == held(sets, n) & some
    for part in range(len(parts.job)):
        assert parts.price[part] == sets.price[of_set == part].min()
        assert parts.first[parts.job[part]] <= part < parts.first[parts.job[part] + 1]
    names = [(int(parts.job[p]), *sorted(held(parts, p))) for p in range(len(parts.job))]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("seed", range(10))
def test_dear_servers_first_keep_to_every_constraint_and_below_the_optimum(seed):
    rng = np.random.default_rng(seed)
    instance = tiny(rng, jobs=5, servers=3, storage=True, shared_services=seed % 2 == 0)
    best = int(optimum(instance, services=True))
    rent = instance.service_load * np.array([1.0, 0.5, 0.0])
    sets = covering_sets(instance, rent, np.zeros(instance.num_pairs))
    search = DearFirst(instance, sets, rent, 9.0, rng)
    for target in range(1, best + 2):
        assoc = search.search(target, lambda: True, 3)
        if assoc is not None:
            schedule = schedule_of(instance, assoc, services=True)
            assert DSRP.check(instance, schedule) == []
            assert target == schedule.admit.sum() <= best


@pytest.mark.parametrize(("spare", "found"), [(0.25, True), (0.25 - 2 * ROUNDING, False)])
def test_sets_that_lose_more_than_the_bound_leaves_are_not_used(spare, found):
    """Of two jobs one fits on the cheap server; on the other one, one loses a quarter of a job."""
    instance = system([(0, 1, [0, 1]), (1, 1, [0, 1])], [9, 9], service_size_bytes=[3.0, 3.0],
                      server_storage_bytes=[5.0, 5.0])  # fmt: skip
    rent = np.array([[0.25, 0.5], [0.25, 0.5]])
    sets = covering_sets(instance, rent, np.zeros(instance.num_pairs))
    search = DearFirst(instance, sets, rent, spare, np.random.default_rng(0))
    assert (search.search(2, lambda: True, 3) is not None) == found


def test_a_bound_that_leaves_a_hundredth_of_a_job_is_met():
    """Only four of 19 servers have a price."""
    instance = generate(np.random.default_rng(2), jobs=40)
    columns = ServiceColumns(instance, 9)
    bound = -columns.solve(GenerationOptions()).bound
    assert 29 < bound < 29.01
    assert np.flatnonzero(columns.rent.max(axis=0) > 0.01).tolist() == [3, 7, 8, 12]
    sets = covering_sets(instance, columns.rent, columns.node_price)
    search = DearFirst(instance, sets, columns.rent, bound - 29, np.random.default_rng(0))
    schedule = schedule_of(instance, search.search(29, lambda: True, PACKINGS), services=True)
    assert DSRP.check(instance, schedule) == []
    assert schedule.admit.sum() == 29
