"""LB-PRICES: valid at any prices, in exact arithmetic, wherever it is computed."""

from dataclasses import replace

import numpy as np
import preemptive_enumeration as brute_force
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import examples, instances

from formulations.preemptive.bounds import lb_alone, lb_theta
from formulations.preemptive.check import cost
from formulations.preemptive.exact.components import MOST_CELLS, TIME_BITS, Component, components
from formulations.preemptive.exact.lagrangian import (
    PricedComponent,
    PriceProof,
    improve,
    lb_prices,
    price,
    proof,
)
from formulations.preemptive.generator import generate, tiny
from formulations.preemptive.instance import Instance
from formulations.preemptive.workload import philly_workload
from heuristics.preemptive.a_online import a_online
from optsched.errors import InputError
from optsched.parallel.cluster import DaskCluster
from optsched.parallel.local import Processes


def proven(instance: Instance, prices: list[np.ndarray], cut: list[Component]) -> float:
    """The bound that these prices prove."""
    whole = [
        PricedComponent(proof(component, p)[0], p, np.zeros(0), np.zeros(1), np.zeros(1))
        for component, p in zip(cut, prices, strict=True)
    ]
    return PriceProof(cut[0].slotted, cut, whole).bound(instance)


def drawn(component: Component, rng: np.random.Generator) -> np.ndarray:
    """Random prices, half of them zero; the last cell has none."""
    shape = (len(component.capacity), len(component.edges) - 1)
    found = rng.exponential(0.4, shape) * (rng.random(shape) < 0.5)
    found[:, -1] = 0.0
    return found


@pytest.mark.parametrize("by_server", [False, True])
@pytest.mark.parametrize("slotted", [False, True])
@given(data=st.data())
@examples(30)
def test_any_prices_prove_a_bound(slotted: bool, by_server: bool, data: st.DataObject) -> None:
    instance = data.draw(
        instances(fractional=data.draw(st.booleans()), tables=data.draw(st.booleans()))
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    cut = components(instance, slotted=slotted, by_server=by_server)
    optimum = brute_force.problem_2(instance)
    for scale in (0.0, 0.3, 1.0, 1e6):
        found = proven(instance, [scale * drawn(component, rng) for component in cut], cut)
        assert found <= optimum + 1e-12


@given(instance=instances(jobs=(2, 4)))
@examples(30)
def test_without_prices_every_job_runs_as_if_alone(instance: Instance) -> None:
    cut = components(instance)
    free = [np.zeros((len(m.capacity), len(m.edges) - 1)) for m in cut]
    assert proven(instance, free, cut) == lb_alone(instance)


@given(data=st.data())
@examples(30)
def test_the_bound_found_lies_between_alone_and_the_optimum(data: st.DataObject) -> None:
    instance = data.draw(instances(tables=data.draw(st.booleans())))
    found = price(instance, steps=60).bound(instance)
    assert lb_alone(instance) - 1e-9 <= found <= brute_force.problem_2(instance)
    assert price(instance, slotted=False, steps=60).bound(instance) <= found + 1e-3


@given(data=st.data())
@examples(25)
def test_what_is_bought_is_a_subgradient(data: st.DataObject) -> None:
    """The value at other prices lies below the plane that use minus capacity spans."""
    component = components(data.draw(instances(tables=True)))[0]
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    here, there = drawn(component, rng), drawn(component, rng)
    use = component.evaluate(component.whole(here))[2]
    slope = use - component.capacity[:, None] * np.diff(component.edges)
    plane = float(proof(component, here)[0]) + (slope * (there - here)).sum()
    assert float(proof(component, there)[0]) <= plane + 1e-6


def test_the_worked_example_is_bounded_by_its_optimum(example: Instance, doubled: Instance) -> None:
    assert lb_prices(example) == 15
    assert lb_prices(doubled) == 21
    assert price(example, slotted=False).bound(example) <= 15


@given(instance=instances(fractional=True))
@examples(15)
def test_times_are_rounded_so_that_jobs_only_get_easier(instance: Instance) -> None:
    """Moving everything off the grid of time changes the bound by next to nothing, downwards."""
    nudge = 2.0 ** -(TIME_BITS + 2)
    moved = replace(
        instance,
        release_time=instance.release_time + nudge,
        chunk_time_slow=instance.chunk_time_slow + nudge,
        chunk_time_fast=instance.chunk_time_fast + nudge,
    )
    found = [price(one, slotted=False, steps=20).bound(one) for one in (instance, moved)]
    assert found[0] - 1e-3 <= found[1] <= found[0] + 1e-3


def test_jobs_without_the_cloud_are_priced_until_all_work_is_done() -> None:
    """One worker, three jobs of 1, 2 and 3 slots at once: shortest first is best, 1 + 3 + 6."""
    instance = Instance.build(
        release_time=[1, 1, 1],
        num_chunks=1,
        chunk_time_slow=[1, 2, 3],
        upload_delay_edge=np.zeros((3, 1)),
        upload_delay_cloud=np.inf,
        worker_server=[0],
    )
    assert components(instance)[0].edges[0] == 1
    assert components(instance)[0].edges[-2] >= 7
    assert 9 <= lb_prices(instance) <= 10


@pytest.mark.parametrize("cloud", [9.0, np.inf])
def test_a_job_of_next_to_no_work_costs_no_more_than_its_upload(cloud: float) -> None:
    """Its work was no unit of time, and nothing was taken to complete it but the cloud."""
    instance = Instance.build(
        release_time=[0.25],
        num_chunks=1,
        chunk_time_slow=1e-7,
        upload_delay_edge=[[2.5]],
        upload_delay_cloud=cloud,
        worker_server=[0],
    )
    assert price(instance, slotted=False, steps=2).bound(instance) == 2.5


def test_long_overloads_are_priced_on_longer_cells() -> None:
    instance = Instance.build(
        release_time=[0, 0],
        num_chunks=1,
        chunk_time_slow=[MOST_CELLS, 2 * MOST_CELLS],
        upload_delay_edge=np.zeros((2, 1)),
        upload_delay_cloud=np.inf,
        worker_server=[0],
    )
    (component,) = components(instance)
    assert not component.slotted
    assert len(component.edges) <= MOST_CELLS + 2
    few = improve(component, steps=3)
    assert float(few.bound) <= 4 * MOST_CELLS


def test_jobs_of_one_type_are_a_market_of_their_own() -> None:
    instance = generate(np.random.default_rng(0), jobs=30, servers=8, types=3, span=10)
    cut = components(instance)
    assert len(cut) == len(np.unique(instance.job_worker_type))
    assert sorted(np.concatenate([m.jobs for m in cut])) == list(range(30))
    named = replace(instance, explicit_worker_eligible=instance.worker_eligible)
    assert price(named).bound(named) == price(instance).bound(instance)


def test_it_proves_the_same_on_several_processes() -> None:
    instance = generate(np.random.default_rng(1), jobs=40, servers=8, types=3, span=10)
    alone = price(instance, steps=30)
    shared = price(instance, steps=30, executor=Processes(2))
    assert alone.bound(instance) == shared.bound(instance)
    for one, other in zip(alone.priced, shared.priced, strict=True):
        np.testing.assert_array_equal(one.price, other.price)


def test_it_proves_the_same_on_a_cluster() -> None:
    distributed = pytest.importorskip(
        "distributed", reason="the extra optsched[dask] is not installed"
    )
    instance = generate(np.random.default_rng(1), jobs=40, servers=8, types=3, span=10)
    alone = price(instance, steps=30)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        shared = price(instance, steps=30, executor=DaskCluster(cluster.scheduler_address))
    assert alone.bound(instance) == shared.bound(instance)


def test_the_search_may_stop_at_any_step_with_a_proof() -> None:
    instance = generate(np.random.default_rng(4), jobs=60, servers=12, types=3, span=20)
    cut = price(instance, time_limit=1e-9)
    assert all(len(found.best) == 1 for found in cut.priced)
    assert cut.bound(instance) == pytest.approx(lb_alone(instance))
    seconds, best = price(instance, steps=50).curve()
    assert np.all(np.diff(seconds) >= 0)
    assert np.all(np.diff(best) >= 0)
    assert best[-1] > best[0]


def test_at_larger_sizes_it_beats_the_linear_programs_and_stays_below_a_schedule() -> None:
    for seed in (0, 4):
        instance = generate(np.random.default_rng(seed), jobs=60, servers=12, types=3, span=20)
        found = lb_prices(instance)
        assert found > lb_theta(instance) > lb_alone(instance)
        assert found <= cost(instance, a_online(instance, np.random.default_rng(0)))


@pytest.mark.parametrize(("option", "value"), [("time_limit", -0.1), ("steps", 0)])
def test_limits_out_of_range_are_refused_by_name(example: Instance, option, value) -> None:
    with pytest.raises(InputError, match=option):
        price(example, **{option: value})


def test_the_drawn_trace_of_1000_jobs_has_the_bound_of_the_sheet() -> None:
    """Section 11: 1242.85 in continuous time."""
    instance = philly_workload(np.random.default_rng(0), 1000)
    assert price(instance, slotted=False, steps=40).bound(instance) == pytest.approx(1242, abs=1)


BY_CLASS = (30, 19, 64, 45, 33, 21, 26, 32, 37, 35, 31, 13, 4159)
"""What 100 steps prove with a price per class of workers and slot, and per group and slot."""


def test_it_is_no_weaker_than_prices_per_class_and_group() -> None:
    """On small instances the servers' workers have prices of their own."""
    small = [tiny(np.random.default_rng(seed), types=1) for seed in range(12)]
    larger = generate(np.random.default_rng(0), jobs=60, servers=12, types=3, span=20)
    for instance, by_class in zip((*small, larger), BY_CLASS, strict=True):
        assert lb_prices(instance) >= by_class
