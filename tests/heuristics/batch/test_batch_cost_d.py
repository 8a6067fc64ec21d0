"""COST_D as printed fails, and where."""

import numpy as np
import pytest

from formulations.batch.check import check
from formulations.batch.domain_reduction import Choices
from formulations.batch.generator import tiny
from formulations.batch.problem_9 import ServerView, offers
from heuristics.batch import HEURISTICS
from heuristics.batch.printed_costs import cost_d_printed


def market(
    worker_price: list[list[float]],
    ps_price: list[list[float]],
    workers: list[float],
    services: list[float],
) -> ServerView:
    slots = len(worker_price[0])
    whole = np.ones(slots)
    return ServerView(
        1,
        np.array(worker_price),
        np.array(ps_price),
        np.array(workers)[:, None] * whole,
        np.array(services)[:, None] * whole,
        np.ones(len(workers), dtype=np.int64),
    )


def spread(workers: int, duration: int) -> Choices:
    return Choices(
        np.zeros(1, dtype=np.int64), np.array([workers]), np.array([False]), np.array([duration])
    )


def test_it_credits_the_parameter_servers_price_for_every_worker_it_moves() -> None:
    # the only parameter server is on the dearer server, to which both workers move
    view = market([[0.0], [1.0]], [[0.0], [4.0]], [2.0, 2.0], [0.0, 1.0])
    answer = cost_d_printed(view, 2, 1)
    exact = float(offers(view, spread(2, 1), 1).cost[0])
    assert exact == 4.0
    assert answer is None  # all servers pass the test of line 22, so nothing is ever stored
    wider = market([[0.0], [5.0]], [[0.0], [4.0]], [2.0, 2.0], [0.0, 1.0])
    stored = cost_d_printed(wider, 2, 1)
    assert stored is not None
    assert stored.claimed == stored.cost(wider, 1) == 4.0


def test_it_returns_nothing_although_a_schedule_exists() -> None:
    view = market([[0.0]], [[0.0]], [2.0], [1.0])
    assert cost_d_printed(view, 1, 1) is None
    assert float(offers(view, spread(1, 1), 1).cost[0]) == 0.0


def test_on_random_states_it_misses_misstates_and_undercuts() -> None:
    rng = np.random.default_rng(1)
    missing = misstated = below = 0
    for _ in range(1500):
        servers, slots = int(rng.integers(2, 5)), int(rng.integers(1, 4))
        paid, rent = (rng.integers(0, 6, (servers, slots)).astype(float) for _ in range(2))
        view = market(
            paid.tolist(),
            rent.tolist(),
            rng.integers(0, 4, servers).astype(float).tolist(),
            rng.integers(0, 2, servers).astype(float).tolist(),
        )
        n = int(rng.integers(1, 4))
        exact = float(offers(view, spread(n, slots), 1).cost[0])
        answer = cost_d_printed(view, n, slots)
        if not np.isfinite(exact):
            continue
        if answer is None:
            missing += 1
            continue
        assert answer.workers.sum() == n
        assert answer.cost(view, slots) >= exact - 1e-9
        misstated += abs(answer.claimed - answer.cost(view, slots)) > 1e-9
        below += answer.claimed < exact - 1e-9
    assert missing > 0
    assert misstated > 0
    assert below > 0


@pytest.mark.parametrize("start_rule", ["interval_start", "any"])
def test_with_its_schedules_billed_truly_it_can_still_be_run(start_rule: str) -> None:
    for seed in range(8):
        instance = tiny(np.random.default_rng(seed))
        made = HEURISTICS["a_online"].run(
            instance, np.random.default_rng(0), cost_d="printed", start_rule=start_rule
        )
        assert check(instance, made) == []
