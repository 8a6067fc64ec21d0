"""A_online on the worked example, every variant traced by hand."""

import numpy as np
import pytest
from batch_cases import worked_example

from formulations.batch.check import check, completion_slots, cost
from formulations.batch.prices import growth, price
from heuristics.batch import HEURISTICS
from heuristics.batch.ledger import PriceLedger

RNG = np.random.default_rng(0)

Row = tuple[int, int, int, int]
"""First slot, last slot, workers, server of the parameter server."""


@pytest.mark.parametrize(
    ("options", "rows", "total"),
    [
        ({}, [(5, 5, 2, 0), (5, 8, 1, 1), (9, 9, 3, 0)], 18),
        ({"selection": "earliest"}, [(5, 5, 2, 0), (5, 6, 2, 0), (5, 7, 1, 1)], 14),
        ({"start_rule": "any"}, [(5, 5, 2, 0), (6, 6, 4, 0), (5, 7, 1, 1)], 14),
        ({"release_test": "exact"}, [(3, 3, 2, 0), (5, 5, 4, 0), (5, 5, 3, 2)], 9),
        (
            {"selection": "earliest", "release_test": "exact"},
            [(3, 3, 2, 0), (3, 4, 2, 0), (5, 5, 3, 0)],
            8,
        ),
    ],
)
def test_every_variant_runs_as_traced(options: dict[str, str], rows: list[Row], total: int) -> None:
    example = worked_example()
    made = HEURISTICS["a_online"].run(example, RNG, **options)
    assert check(example, made) == []
    found = zip(made.run_start, made.run_end, made.run_workers, made.run_ps, strict=True)
    assert list(found) == rows
    assert cost(example, made) == total


def test_the_cloud_theorems_numbers() -> None:
    example = worked_example()
    made = HEURISTICS["a_online"].run(example, RNG)
    duration = -(-example.work_fast // example.num_chunks)
    latest = np.maximum(example.release_slot + example.upload_delay[:, 2] + 1, duration)
    assert latest.tolist() == [5, 5, 6]
    assert (completion_slots(example, made) < 4 * latest).all()


def test_prices_follow_what_is_in_use() -> None:
    example = worked_example()
    assert growth(example.system) == (49.0, 49.0)
    ledger = PriceLedger(example.system, 4)
    job = example.job(0)
    y = np.array([2, 0, 0])
    ledger.book(job, 5, 5, y, 0)
    market, rows = ledger.market(example.job(1), np.full(3, 5))
    assert rows.tolist() == [0, 1, 2]
    assert market.worker_price[0].tolist() == [6.0, 0.0, 0.0, 0.0]
    assert market.ps_price[0].tolist() == [6.0, 0.0, 0.0, 0.0]
    assert market.workers[0].tolist() == [2.0, 4.0, 4.0, 4.0]


def test_a_price_is_zero_where_nothing_is_scarce_and_infinite_where_nothing_is() -> None:
    used = np.array([0.0, 2.0, 5.0, 0.0])
    capacity = np.array([4.0, 4.0, np.inf, 0.0])
    assert price(used, capacity, 49.0).tolist() == [0.0, 6.0, 0.0, np.inf]
