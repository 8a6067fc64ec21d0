"""FIFO, DRF and OASiS in Okita's system, and the problem as optsched finds it."""

from dataclasses import replace

import numpy as np
import pytest
from okita_cases import worked_example

import optsched as osd
from formulations.okita.check import check, completion_slots, exchange_costs
from formulations.okita.generator import generate
from formulations.okita.instance import Instance, workers_beside_server, workers_within
from formulations.okita.latency import Latencies
from heuristics.okita.drf import drf
from heuristics.okita.fifo import fifo
from heuristics.okita.fixed import even_quota
from heuristics.okita.kernels import fitting, in_a_slot
from heuristics.okita.oasis import oasis
from optsched.errors import InputError
from optsched.evaluation.runs import check_names
from optsched.problem import problem
from optsched.study.spec import presets


def starts(instance, schedule):
    first = np.full(instance.jobs, np.iinfo(np.int64).max)
    np.minimum.at(first, schedule.worker_job, schedule.worker_slot)
    return first


def test_fifo_starts_jobs_in_order_of_arrival_and_keeps_their_deployment():
    instance = generate(np.random.default_rng(1), jobs=15, sites=4, horizon=4)
    schedule = fifo(instance, np.random.default_rng(0))
    assert (np.diff(starts(instance, schedule)) >= 0).all()
    for job in range(instance.jobs):
        mine = schedule.worker_job == job
        slots = np.unique(schedule.worker_slot[mine])
        assert (np.diff(slots) == 1).all()
        shapes = {
            tuple(zip(schedule.worker_site[mine & (schedule.worker_slot == t)].tolist(),
                      schedule.worker_count[mine & (schedule.worker_slot == t)].tolist(),
                      strict=True))
            for t in slots
        }  # fmt: skip
        assert len(shapes) == 1


def test_fifo_draws_its_workers_from_the_seed():
    instance = generate(np.random.default_rng(1), jobs=6, sites=4, horizon=4)
    one, same, other = (fifo(instance, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert one.worker_count.tolist() == same.worker_count.tolist()
    assert one.worker_count.tolist() != other.worker_count.tolist()


def test_even_quotas_follow_the_workers_and_then_the_data():
    assert even_quota(np.array([5, 0, 2]), np.array([1, 1, 0])).tolist() == [4, 3, 0]
    assert even_quota(np.array([4, 4]), np.array([3, 1])).tolist() == [6, 2]


def test_drf_gives_equal_jobs_that_arrive_together_equal_shares():
    base = worked_example().select_jobs([0, 0])
    instance = replace(base, capacity=np.array([[4], [4]]))
    schedule = drf(instance, np.random.default_rng(0))
    first = schedule.worker_slot == 1
    held = np.bincount(schedule.worker_job[first], schedule.worker_count[first])
    assert held.tolist() == [3.0, 3.0]
    assert check(instance, schedule) == []


def test_drf_lets_a_job_that_fits_pass_one_that_does_not():
    base = worked_example()
    big = replace(base, capacity=np.array([[3], [5]]), worker_demand=np.array([[2], [1]]))
    instance = replace(big.select_jobs([0, 0, 0, 1]), release_slot=np.array([1, 1, 1, 1]))
    schedule = drf(instance, np.random.default_rng(0))
    first = starts(instance, schedule)
    assert first[3] < first[2]
    assert check(instance, schedule) == []


def test_oasis_reserves_on_arrival_and_avoids_what_is_reserved():
    instance = worked_example()
    schedule = oasis(instance, np.random.default_rng(0))
    assert check(instance, schedule) == []
    alone = oasis(instance.select_jobs([0]), np.random.default_rng(0))
    mine = schedule.worker_job == 0
    assert schedule.worker_slot[mine].tolist() == alone.worker_slot.tolist()
    assert schedule.worker_site[mine].tolist() == alone.worker_site.tolist()


def test_oasis_trains_what_the_rounding_of_rates_leaves_over():
    instance = replace(worked_example(), rate_numerator=np.array([5, 5]), epochs=np.array([2, 2]))
    schedule = oasis(instance, np.random.default_rng(0))
    assert check(instance, schedule) == []


def test_oasis_refuses_prices_that_fall():
    with pytest.raises(InputError, match="largest_price"):
        oasis(worked_example(), np.random.default_rng(0), least_price=2.0, largest_price=1.0)


@pytest.mark.parametrize("run", [fifo, drf, oasis])
def test_baselines_finish_every_job_of_a_crowded_instance(run):
    instance = generate(np.random.default_rng(4), jobs=40, sites=6, horizon=5)
    schedule = run(instance, np.random.default_rng(0))
    assert check(instance, schedule) == []
    assert (completion_slots(instance, schedule) >= instance.release_slot).all()
    assert np.isfinite(exchange_costs(instance, schedule)).all()


def test_every_preset_names_what_there_is():
    found = problem("okita")
    for preset in presets(found).values():
        check_names(found, preset.heuristics, found.reference, None, preset.bounds or ())
        for option, values in preset.cells.items():
            for value in values:
                found.generator_call({option: value})


def test_ratios_are_points_where_the_optimum_is_proven():
    found = problem("okita")
    instance = generate(np.random.default_rng(0), jobs=3, sites=3, horizon=3)
    rows = osd.ratios(found, list(found.heuristics), instances=instance,
                      bounds=("lb_alone", "lb_columns"), time_limit=30).rows  # fmt: skip
    assert {row.status for row in rows} == {"optimal"}
    for row in rows:
        assert row.ratio_low == row.ratio_high == pytest.approx(row.cost / row.optimum)
        assert row.ratio_low >= 1 - 1e-9
        assert row.extra["bound_lb_alone"] <= row.extra["bound_lb_columns"] + 1e-9
        assert row.extra["bound_lb_columns"] <= row.optimum * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_what_fits_at_a_site_is_what_its_free_resources_hold_with_the_server_and_without(seed):
    rng = np.random.default_rng(seed)
    room, worker = rng.integers(0, 9, (4, 3)), rng.integers(0, 3, 3)
    worker[rng.integers(3)] = 2
    server = rng.integers(0, 4, 3)
    alone, beside = fitting(room, worker, server)
    assert alone.tolist() == workers_within(room, worker).tolist()
    at = np.arange(4)
    assert beside.tolist() == workers_beside_server(room, worker, server)[at, at].tolist()


def test_a_slot_trains_local_chunks_first_and_then_those_of_the_first_sites():
    flow = np.array([[2, 3, 0], [1, 4, 0], [0, 5, 1]])
    trained = in_a_slot(flow, np.array([2, 8, 0]))
    assert trained.tolist() == [[2, 3, 0], [0, 4, 0], [0, 1, 0]]


def test_oasis_puts_the_server_where_a_worker_still_fits():
    """On site 0 it is cheapest, and would leave no room for a worker anywhere."""
    instance = Instance.build(
        capacity=[2, 1],
        unit_bandwidth_cost=[[0, 1], [1, 0]],
        release_slot=1,
        num_chunks=[[1, 0]],
        latency=Latencies.build("linear", [1.0]),
        worker_rate=1,
        worker_demand=2,
        ps_demand=1,
    )
    schedule = oasis(instance, np.random.default_rng(0))
    assert check(instance, schedule) == []
    assert completion_slots(instance, schedule).tolist() == [1]
