"""What a job pays for its completion, against worker time bought unit by unit."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from purchase_cases import PRICE_BITS, Shop

from formulations.preemptive.exact import cheapest_purchase as ages
from formulations.preemptive.exact.cheapest_purchase import BITS, JOB, NEVER, STEP, cheapest_ages


@pytest.mark.parametrize("slotted", [False, True])
def test_a_job_completes_in_its_cheapest_way_rounded_down(slotted: bool) -> None:
    for seed in range(250):
        shop = Shop(np.random.default_rng(seed), slotted=slotted)
        job = shop.jobs[0]
        value = int(shop.sold()[0][0])
        ways, fast = list(shop.ways(job)), int(job["fast"]) << PRICE_BITS
        least = min([fast, *((at << PRICE_BITS) + paid for at, paid in floored(ways))])
        exact = min([fast, *(at * 2**PRICE_BITS + paid for at, paid in ways)])
        assert least <= value <= exact
        if job["chunks"] == 1:
            assert value == least


def floored(ways: list[tuple[Fraction, int]]) -> list[tuple[int, int]]:
    """The ways, ages in whole units of time."""
    return [(int(at), paid) for at, paid in ways]


@pytest.mark.parametrize("slotted", [False, True])
def test_what_is_bought_and_the_age_make_the_value_and_can_be_had(slotted: bool) -> None:
    for seed in range(150):
        shop = Shop(np.random.default_rng(seed), slotted=slotted)
        job = shop.jobs[0]
        (value,), (age,), use = shop.sold()
        if age < 0:
            assert value == job["fast"] << PRICE_BITS
            assert not use.any()
            continue
        assert value == (age << PRICE_BITS) + (shop.price * use).sum()
        end = job["release"] + age
        end += not slotted or end >= shop.edges[-2]  # the age may be rounded down
        steps = shop.steps[job["first"] : job["last"]]
        changes = np.append(shop.edges, job["release"] + np.append(steps["age"], job["cloud"]))
        until = changes[changes >= end].min()  # as if the cheapest came first
        free = max(0, end - job["release"] - job["cloud"]) * job["chunks"]
        assert job["work"] - free <= use.sum() <= job["work"]
        for pool in range(len(use)):
            mine = steps[steps["pool"] == pool]
            for cell, (low, high) in enumerate(pairwise(shop.edges.tolist())):
                begin = np.maximum(job["release"] + mine["age"], low)
                most = np.maximum(np.minimum(high, until) - begin, 0) @ mine["workers"]
                assert 0 <= use[pool, cell] <= most


@pytest.mark.parametrize("slotted", [False, True])
def test_jobs_buy_as_if_each_were_alone(slotted: bool) -> None:
    for seed in range(30):
        shop = Shop(np.random.default_rng(seed), slotted=slotted, jobs=4)
        value, age, use = shop.sold()
        alone = [
            cheapest_ages(
                shop.jobs[j : j + 1], shop.steps, shop.edges, shop.price, PRICE_BITS, slotted
            )
            for j in range(4)
        ]
        assert value.tolist() == [int(one[0][0]) for one in alone]
        assert age.tolist() == [int(one[1][0]) for one in alone]
        np.testing.assert_array_equal(use, sum(one[2] for one in alone))


def test_no_price_is_too_large_for_the_sum_of_a_job() -> None:
    """Eight units at 2 ** 62 each are more than an integer holds; the free cell is taken."""
    job = np.array([(0, 1, 8, NEVER, NEVER, 0, 1)], dtype=JOB)
    steps = np.array([(0, 0, 1)], dtype=STEP)
    price = np.array([[1 << 62, 1 << 62, 0]])
    value, age, use = cheapest_ages(job, steps, np.array([0, 1, 9, 20]), price, 1, False)
    assert (value.tolist(), age.tolist(), use.tolist()) == ([34], [17], [[0, 0, 8]])
    assert 8 * ((1 << (BITS - 1)) // 8) + (20 << 1) < 1 << BITS


def test_a_job_that_nobody_serves_stays_without_an_age() -> None:
    job = np.array([(0, 1, 1, NEVER, NEVER, 0, 0)], dtype=JOB)
    none = np.zeros(0, dtype=STEP)
    value, age, use = cheapest_ages(job, none, np.array([0, 1, 4]), np.ones((1, 2), int), 1, True)
    assert (value.tolist(), age.tolist(), use.any()) == ([1 << 62], [-1], False)


def test_of_a_job_that_reaches_workers_one_by_one_there_is_room_for_every_purchase(monkeypatch):
    """Nine purchases in one cell; machine code would write beyond the array without a word."""
    for name in ("_buy", "push"):
        monkeypatch.setattr(ages, name, getattr(ages, name).py_func)
    job = np.array([(0, 9, 50, NEVER, 12, 0, 9)], dtype=JOB)
    steps = np.array([(k, 0, 1) for k in range(9)], dtype=STEP)
    price = np.array([[1, 0]])
    value, age, use = cheapest_ages.py_func(job, steps, np.array([0, 20, 99]), price, 4, False)
    assert (value.tolist(), age.tolist(), use.tolist()) == ([(9 << 4) + 50], [9], [[50, 0]])


def test_work_of_less_than_a_unit_is_done_where_the_first_worker_is_reached() -> None:
    steps = np.array([(3, 0, 1)], dtype=STEP)
    for cloud, fast, value in ((NEVER, NEVER, 12), (2, NEVER, 8), (2, 1, 4), (4, 3, 12)):
        job = np.array([(5, 1, 0, fast, cloud, 0, 1)], dtype=JOB)
        found = cheapest_ages(job, steps, np.array([0, 9, 20]), np.array([[7, 0]]), 2, False)
        assert found[0].tolist() == [value]
        assert not found[2].any()
