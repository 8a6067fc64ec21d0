"""Placement near the data: what it spares, and that nothing else changes."""

import numpy as np
import pytest

from formulations.okita import PROBLEM, Instance
from formulations.okita.check import check, cost
from heuristics.okita import HEURISTICS
from heuristics.okita.okita import okita
from optsched.evaluation.runs import instance_rng
from optsched.instances.document import parse

RNG = np.random.default_rng(0)


def one_job(exchange: float, weight: float = 10000.0) -> Instance:
    """Data at three sites, each with room for a worker; the first has room for all of them."""
    job = {
        "release_slot": 1,
        "num_chunks": [10, 10, 10],
        "worker_rate": 10,
        "chunk_size_mb": 50.0,
        "exchange_size_mb": exchange,
        "worker_demand": [1],
        "ps_demand": [0],
        "latency": {"kind": "linear", "weight": weight},
    }
    return parse(
        Instance,
        {
            "format": "optsched/okita/instance",
            "version": 1,
            "horizon": 5,
            "capacity": [[9], [1], [1]],
            "unit_bandwidth_cost": [[0, 1, 1], [1, 0, 1], [1, 1, 0]],
            "jobs": [job],
        },
    )


def test_workers_go_where_the_data_lie_where_talking_costs_less_than_moving():
    instance = one_job(exchange=100.0)
    assert cost(instance, okita(instance, RNG)) == 20 * 50  # two sites' chunks move to the first
    assert cost(instance, okita(instance, RNG, placement="exact")) == 20 * 50
    assert cost(instance, okita(instance, RNG, placement="near_data")) == 2 * 100


def test_workers_stay_together_where_talking_costs_more():
    instance = one_job(exchange=600.0)
    assert cost(instance, okita(instance, RNG, placement="near_data")) == 20 * 50


def test_sites_take_turns_where_waiting_costs_less_than_sending():
    instance = one_job(exchange=600.0, weight=1.0)
    made = okita(instance, RNG, placement="near_data")
    assert check(instance, made) == []
    assert made.server_site.tolist() == [0, 1, 2]  # ten chunks a slot, each where it lies
    best = PROBLEM.solve(PROBLEM.reference, instance)
    assert cost(instance, made) == pytest.approx(best.solution.objective)
    assert cost(instance, okita(instance, RNG)) > 100 * cost(instance, made)


@pytest.mark.parametrize("seed", range(4))
def test_schedules_near_the_data_hold_all_constraints(seed):
    instance = PROBLEM.generate(instance_rng(seed), jobs=6, sites=4, horizon=6)
    made = HEURISTICS["okita_near_data"].run(instance, RNG)
    assert check(instance, made) == []
