"""Whole services: their pricing, cuts on storage, and inserting jobs one after the other."""

import itertools

import numpy as np
import pytest
from brute_force import optimum

from formulations.drp import DSRP
from formulations.drp.decode import schedule_of
from formulations.drp.exact.job_insertion import Insertion
from formulations.drp.exact.service_columns import ServiceColumns, cheapest_use
from formulations.drp.exact.storage_cuts import storage_cut
from formulations.drp.generator import generate, tiny
from formulations.drp.instance import NO_SERVER
from formulations.drp.problem_p3_p5 import tangent_model, whole_jobs
from optsched.decomposition import GenerationOptions
from optsched.solve import solve
from optsched.solvers.options import Options
from optsched.solvers.solution import Status


def subsets(number):
    """All subsets of 0..number - 1, as masks."""
    return [np.array(mask, dtype=bool) for mask in itertools.product([0, 1], repeat=number)]


def crowded(seed):
    """Few jobs that share services, more than servers can store."""
    return tiny(
        np.random.default_rng(seed), jobs=5, servers=3, storage=True, shared_services=seed % 2 == 0
    )


@pytest.mark.parametrize("seed", range(30))
def test_the_cheapest_use_of_a_service_is_that_of_enumeration(seed):
    rng = np.random.default_rng(seed)
    table = np.where(rng.random((6, 5)) < 0.6, rng.uniform(0, 0.4, (6, 5)), np.inf)
    rent, job = rng.uniform(-0.05, 0.4, 5), np.array([0, 0, 1, 1, 1, 2])
    value, server = cheapest_use(rent, table, job, 1.0)
    least = 0.0
    for held in subsets(5):
        nodes = np.where(held, table, np.inf).min(axis=1)
        least = min(least, rent[held].sum() + np.minimum(0, np.bincount(job, nodes) - 1.0).sum())
    assert value == pytest.approx(least, abs=1e-12)
    served = server >= 0
    assert np.isfinite(table[served, server[served]]).all()
    assert all(len(set(served[job == k])) == 1 for k in range(3))
    trained = len(np.unique(job[served]))
    paid = table[served, server[served]].sum() - trained
    paid += rent[np.unique(server[served])].sum()
    assert paid >= value - 1e-12
    if (rent >= 0).all():
        assert paid == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_a_storage_cut_holds_for_every_set_that_fits_and_not_for_its_point(seed):
    rng = np.random.default_rng(seed)
    size = rng.uniform(0.1, 0.6, 9)
    size[0] = 0.0 if seed % 3 else 1.5
    point = np.zeros(9)
    active = rng.permutation(9)[:6]
    point[active] = rng.random(6)
    point[size > 1] = 0.0
    point /= max(1.0, point @ size)
    cut = storage_cut(point, size)
    fitting = [mask for mask in subsets(9) if size @ mask <= 1]
    if cut is not None:
        assert cut @ point > 1
        assert max(cut @ mask for mask in fitting) <= 1 + 1e-9
        assert (cut >= 0).all()
        assert cut[size == 0].sum() == 0


def test_a_point_in_between_sets_that_fit_is_not_cut():
    size = np.array([0.5, 0.4, 0.3, 0.2])
    assert storage_cut(np.array([0.5, 0.5, 0.5, 0.5]), size) is None  # of {0, 2} and {1, 3}
    assert storage_cut(np.array([1.0, 1.0, 0.0, 0.0]), size) is None


def test_a_set_that_nearly_fills_a_server_is_cut():
    """Two of size 0.6 do not fit; by sizes alone 5 / 6 of each would."""
    cut = storage_cut(np.array([5 / 6, 5 / 6, 0.0]), np.array([0.6, 0.6, 0.7]))
    assert cut == pytest.approx([1.0, 1.0, 1.0])


@pytest.mark.parametrize("seed", range(8))
def test_bounds_of_whole_services_lie_between_the_optimum_and_the_relaxation_by_pairs(seed):
    instance = crowded(seed)
    best = optimum(instance, services=True)
    columns = ServiceColumns(instance, 9)
    before = solve(tangent_model(instance, services=True).relax()).objective
    for _ in range(10):
        found = columns.solve(GenerationOptions())
        assert best - 1e-6 <= -found.bound <= before + 1e-6
        before = -found.bound
        if not columns.cut(found.chosen):
            break


def test_storage_cuts_prove_what_storage_by_sizes_leaves_open():
    """Two services of 0.6 of the one server: by sizes alone 5 / 3 of the two jobs fit."""
    instance = two_services()
    columns = ServiceColumns(instance, 9)
    first = columns.solve(GenerationOptions())
    assert -first.bound == pytest.approx(5 / 3)
    assert columns.cut(first.chosen)
    assert -columns.solve(GenerationOptions()).bound == pytest.approx(1.0)


def two_services():
    """Two small jobs on one server that stores the service of one."""
    return DSRP.instance_type.build(
        node_job=[0, 1], node_rate_bps=[1, 1], node_data_bytes=[1, 1], node_servers=[[0], [0]],
        job_flops_per_batch=[0.1, 0.1], job_model_bytes=[0.01, 0.01], job_sync_period=[1, 1],
        job_deadline_s=[1, 1], job_service=[0, 1], server_inbound_bps=[9],
        server_compute_flops=[1], server_outbound_bps=[1], server_storage_bytes=[5],
        service_size_bytes=[3, 3],
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_insertion_keeps_to_every_constraint_and_below_the_optimum(seed):
    instance = crowded(seed)
    jobs = Insertion(instance, np.random.default_rng(seed), instance.service_load)
    assoc = jobs.search(instance.num_jobs, lambda: True)
    schedule = schedule_of(instance, assoc, services=True)
    assert DSRP.check(instance, schedule) == []
    assert schedule.admit.sum() <= optimum(instance, services=True)
    assert ((assoc == NO_SERVER) == ~schedule.admit[instance.node_job]).all()


@pytest.mark.parametrize("seed", range(8))
def test_the_search_finds_the_optimum_of_enumeration(seed):
    instance = crowded(seed)
    answer = DSRP.solve("problem_22_projected", instance, options=Options(time_limit=60))
    assert answer.solution.status is Status.OPTIMAL
    assert answer.solution.objective == optimum(instance, services=True)


def test_at_forty_jobs_prices_of_storage_fill_it():
    """A first filling at the relaxation's prices, and its bound, which the checker agrees with."""
    instance = generate(np.random.default_rng(1), jobs=40)
    columns = ServiceColumns(instance, 9)
    bound = whole_jobs(-columns.solve(GenerationOptions()).bound)
    jobs = Insertion(instance, np.random.default_rng(0), columns.rent)
    schedule = schedule_of(instance, jobs.search(25, lambda: True), services=True)
    assert DSRP.check(instance, schedule) == []
    assert 25 <= schedule.admit.sum() <= bound == 33
