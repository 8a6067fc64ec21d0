"""The exact adversary of first-fit decreasing: what it finds is true; else there is nothing."""

import sys
from pathlib import Path

import numpy as np
import pytest

from optsched import solve

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
from first_fit_decreasing import adversary, replayed


@pytest.mark.parametrize(("items", "part", "key"), [(6, 12, "sum"), (8, 10, "max")])
def test_first_fit_decreasing_takes_twice_the_optimum(items, part, key):
    answer = solve(adversary(items, 2, 4, part, key), solver="cpsat", time_limit=60)
    size = np.round(answer["size"]).astype(np.int64)
    assert replayed(size, part, key) == 4
    bins = [size[answer["packed"][:, b] > 0.5].sum(axis=0) for b in range(2)]
    assert np.max(bins) <= part
    assert len(size) == sum((answer["packed"] > 0.5).sum(axis=0))


@pytest.mark.parametrize(("items", "part", "key"), [(5, 12, "sum"), (7, 10, "max")])
def test_with_an_item_less_it_does_not(items, part, key):
    model = adversary(items, 2, 4, part, key)
    assert solve(model, solver="cpsat", time_limit=60).status == "infeasible"
