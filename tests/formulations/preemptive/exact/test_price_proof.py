"""What prices prove, to the last digit, and how the search for them is shared out."""

import math
from fractions import Fraction

import numpy as np
import pytest

from formulations.preemptive.exact import lagrangian as prices
from formulations.preemptive.exact.components import MOST_CELLS, components
from formulations.preemptive.exact.lagrangian import (
    PricedComponent,
    PriceProof,
    improve,
    price,
    proof,
)
from formulations.preemptive.instance import Instance
from optsched.parallel.local import Serial


def queue(jobs: int = 2, **changes: object) -> Instance:
    """Jobs of one slot that wait for one worker, and nothing else."""
    fields: dict = {
        "release_time": np.zeros(jobs),
        "num_chunks": 1,
        "chunk_time_slow": 1,
        "upload_delay_edge": np.zeros((jobs, 1)),
        "upload_delay_cloud": np.inf,
        "worker_server": [0],
    }
    return Instance.build(**{**fields, **changes})


def found(
    bound: Fraction, best: tuple[float, ...] = (0.0,), seconds: float = 1.0
) -> PricedComponent:
    """A component priced, with what it took."""
    took = seconds * np.arange(1, len(best) + 1)
    return PricedComponent(bound, np.zeros((1, 1)), np.zeros(1), np.array(best), took)


@pytest.mark.parametrize(
    ("first", "proven"),
    [(0.0, 2), (2.0**-30, 2 + 2.0**-30), (0.5, 2.5), (1.0, 3), (2.0, 2), (-1.0, 2)],
)
def test_a_price_of_the_first_slot_is_paid_by_one_and_saves_the_other_waiting(first, proven):
    """Two jobs of a slot: at price p of the first, both pay 1 + p or 2, and p is given back."""
    (component,) = components(queue())
    at = np.zeros((1, len(component.edges) - 1))
    at[0, 0] = first
    bound, age = proof(component, at)
    assert bound == proven
    if first != 1.0:  # else either is as cheap
        assert age.tolist() == [1 if first < 1 else 2] * 2


def test_the_pools_are_paid_by_their_workers_and_cells_by_their_length():
    """A job of a slot in each of two pools of two workers; half a slot at 1 costs both a half."""
    instance = queue(
        worker_server=[0, 0, 0, 0], worker_type=[0, 0, 1, 1], job_worker_type=[0, 1],
        upload_delay_edge=np.zeros((2, 1)), chunk_time_slow=[1.0, 1.0],
    )  # fmt: skip
    for component in components(instance, slotted=False):
        length = np.diff(component.edges) * 2.0**-component.time_bits
        at = np.zeros((1, len(length)))
        cell = int(np.flatnonzero(length == 0.5)[0])
        at[0, cell] = 1.0
        bound, _ = proof(component, at)
        assert bound == 1 + 0.5 - 2 * 0.5


def test_what_rounding_releases_may_add_is_taken_off():
    (component,) = components(queue(release_time=[2.0**-21, 2.0**-22]), slotted=False)
    free = np.zeros((1, len(component.edges) - 1))
    assert proof(component, free)[0] == 2 - 2 * Fraction(1, 2**20)


def test_sums_of_all_jobs_are_larger_than_an_integer_holds():
    long = 2 * MOST_CELLS
    instance = queue(
        64, upload_delay_cloud=long, chunk_time_slow=long, chunk_time_fast=long,
        upload_delay_edge=np.full((64, 1), 2 * long),
    )  # fmt: skip
    (component,) = components(instance)
    free = np.zeros((1, len(component.edges) - 1))
    assert 128 * long << (component.time_bits + component.price_bits) > 1 << 63
    bound, age = proof(component, free)
    assert bound == 128 * long
    assert age.tolist() == [-1] * 64


@pytest.mark.parametrize("ages", [Fraction(1, 10), Fraction(1, 3), Fraction(5, 2), Fraction(7)])
def test_a_bound_is_the_largest_number_that_does_not_exceed_what_is_proven(ages):
    bound = PriceProof(False, [], [found(ages - 2), found(Fraction(2))]).bound(queue())
    assert Fraction(bound) <= ages < Fraction(math.nextafter(bound, math.inf))


@pytest.mark.parametrize(("ages", "bound"), [(4, 4.5), (Fraction(41, 10), 5.5), (5, 5.5)])
def test_in_slots_a_bound_is_a_total_that_whole_completion_times_can_have(ages, bound):
    """Jobs released at 1/2 and 2 begin at 1 and 2; ages count from there."""
    late = queue(release_time=[0.5, 2])
    assert PriceProof(True, [], [found(Fraction(ages))]).bound(late) == bound


def test_seconds_and_bounds_of_all_markets_add_up_over_their_steps():
    both = [found(Fraction(0), (1, 2, 5)), found(Fraction(0), (10,), 0.5)]
    seconds, best = PriceProof(True, [], both).curve()
    assert seconds.tolist() == [1.5, 2.5, 3.5]
    assert best.tolist() == [11, 12, 15]


def test_ages_of_the_best_prices_are_slots_and_infinite_whole_in_the_cloud():
    near = queue(upload_delay_cloud=[np.inf, 0.5], upload_delay_edge=[[1.5], [1.5]],
                 chunk_time_slow=[1, 3], chunk_time_fast=[1, 0.5])  # fmt: skip
    (component,) = components(near, slotted=False)
    assert improve(component, steps=1).age.tolist() == [2.5, np.inf]


# how the search is shared out


@pytest.fixture
def searches(monkeypatch):
    """Jobs, steps and seconds of every component that is priced, in order."""
    seen = []

    def improved(component, *, steps, seconds, stop):
        seen.append((len(component.jobs), steps, seconds))
        return found(Fraction(0))

    monkeypatch.setattr(prices, "improve", improved)
    return seen


class Two(Serial):
    """As if two worked at a time."""

    def size(self) -> int:
        return 2


def three() -> Instance:
    """Markets of one, three and two jobs."""
    return queue(
        6, worker_server=[0, 0, 0], worker_type=[0, 1, 2], job_worker_type=[0, 1, 1, 1, 2, 2]
    )


@pytest.mark.parametrize(("executor", "share"), [(None, 3), (Serial(), 3), (Two(), 6)])
def test_time_that_is_left_is_shared_by_the_markets_largest_first(searches, executor, share):
    proven = price(three(), time_limit=9, steps=7, executor=executor)
    assert searches == [(3, 7, share), (2, 7, share), (1, 7, share)]
    assert [len(component.jobs) for component in proven.components] == [1, 3, 2]


def test_without_time_no_step_but_the_first_is_made():
    assert [len(found.best) for found in price(three(), time_limit=0).priced] == [1, 1, 1]


def test_unless_told_otherwise_jobs_keep_to_slots_and_servers_share_a_pool():
    proven = price(queue(1, worker_server=[0, 1], upload_delay_edge=np.zeros((1, 2))), steps=1)
    assert proven.slotted
    assert proven.components[0].capacity.tolist() == [2]


def test_without_a_limit_there_is_none(searches):
    price(three())
    assert searches == [(size, prices.STEPS, math.inf) for size in (3, 2, 1)]


@pytest.mark.parametrize(("few", "by_server"), [(17, False), (18, True)])
def test_workers_are_priced_by_server_where_that_is_cheap(monkeypatch, few, by_server):
    monkeypatch.setattr(prices, "FEW", few)
    seen = []

    def priced(instance, **options):
        seen.append(options)
        return PriceProof(True, [], [found(Fraction(3))])

    monkeypatch.setattr(prices, "price", priced)
    assert prices.lb_prices(three()) == 3
    assert seen == [{"slotted": True, "by_server": by_server}]
