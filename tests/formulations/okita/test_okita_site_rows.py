"""Rows of sites known beforehand, and limits on completion: against listing and exact search."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from okita_cases import tiny

from formulations.okita import PROBLEM
from formulations.okita.exact.pricing import ENDS, Pricing, SiteLimits
from formulations.okita.exact.site_rounding import rounded_limits
from formulations.okita.horizon import windows
from formulations.okita.one_job.lattice import build_lattice
from formulations.okita.one_job.planner import Planner
from formulations.okita.one_job.prices import free_terms
from formulations.okita.one_job.terms import cheapest_paths, path_cost
from optsched.decomposition import Duals

SEEDS = st.integers(0, 10_000)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(SEEDS)
def test_no_packing_of_a_site_breaks_a_rounded_row(seed):
    instance = tiny(seed, jobs=2)
    rows = rounded_limits(instance)
    demand = np.concatenate([instance.worker_demand, instance.ps_demand])
    for r, capacity in enumerate(instance.capacity):
        own = np.flatnonzero(rows.site == r)
        for v in itertools.product(range(9), range(9), range(2), range(2)):
            if (np.array(v) @ demand <= capacity).all():
                used = np.array(v) @ np.vstack([rows.worker, rows.server])[:, own]
                assert (used <= rows.room[own]).all()


def test_workers_of_more_than_half_a_site_keep_each_other_out():
    """3 of 4 units each: the capacity alone lets 4/3 be there at once."""
    instance = replace(
        tiny(3, jobs=2, sites=1, whole_rates=True),
        capacity=np.array([[4]]),
        worker_demand=np.array([[3], [3]]),
        ps_demand=np.array([[0], [1]]),
    )
    rows = rounded_limits(instance)
    assert (rows.worker == [[1.0], [1.0]]).all(axis=0).any()


def pricing_of(instance):
    """Pricing over all slots of the safe horizon, without columns."""
    planner = Planner(instance)
    span = windows(instance)
    limits = SiteLimits.of(instance).and_also(rounded_limits(instance))
    return Pricing(instance, planner.searches, span, limits)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(SEEDS)
def test_pricing_within_limits_on_completion_is_that_of_latencies_changed_alike(seed):
    instance = tiny(seed, most_chunks=2)
    pricing, rng = pricing_of(instance), np.random.default_rng(seed)
    for i in range(instance.jobs):
        slots = int(pricing.windows.last[i] - instance.release_slot[i]) + 1
        early, late = np.sort(rng.integers(1, slots, 2, endpoint=True)).tolist()
        duals = Duals(
            np.zeros(len(pricing.room())), exact=True, lower={ENDS: early}, upper={ENDS: late}
        )
        free = free_terms(instance, i, late)
        cost = np.maximum(free.flow_cost, free.flow_cost[early - 1])
        lattice = build_lattice(instance, pricing.searches[i].levels)
        best = next(cheapest_paths(instance, lattice, replace(free, flow_cost=cost)), None)
        found = pricing(i, duals)
        if best is None:
            assert found.bound == np.inf
            assert not found.columns
            continue
        assert found.bound == pytest.approx(best.price)
        for column in found.columns:
            assert duals.allows(column)
            assert duals.price_of(column) >= found.bound - 1e-9
            assert column.cost >= path_cost(instance, i, column.payload) - 1e-9
        assert min(map(duals.price_of, found.columns)) == pytest.approx(best.price)


def test_a_schedule_said_to_complete_later_is_another_column():
    instance = tiny(0, jobs=3, sites=2, whole_rates=True)
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


def test_a_crowded_site_that_holds_one_large_worker_is_bounded_beyond_its_capacity():
    """Six of eight jobs want 3 or 4 of the 4 GPUs of one site; the last ends at slot 68, where
    capacities alone let all end at slot 60."""
    instance = PROBLEM.generate(np.random.default_rng(1), jobs=8, sites=6, horizon=20)
    large = instance.worker_demand[:, 0] >= 3
    rows = rounded_limits(instance)
    assert ((rows.worker[large] == 1.0).all(axis=0) & (rows.site == 5)).any()
