"""Packings by diving, against enumeration."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from aerialedge_cases import enumerated_optimum, instances
from hypothesis import given, settings

from formulations.aerialedge.check import check, cost
from formulations.aerialedge.construct import best_start
from formulations.aerialedge.exact.dive import Dives
from formulations.aerialedge.exact.patterns import solve_patterns
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.vector_packing import aggregate, to_schedule, total_weight
from optsched.solvers.solution import Status


@given(instance=instances())
@settings(max_examples=40, deadline=None)
def test_packings_are_feasible_ever_lighter_and_no_better_than_the_optimum(
    instance: Instance,
) -> None:
    packing = aggregate(instance, 0)
    if len(packing.stranded):
        return
    expected, last = enumerated_optimum(instance), np.inf
    for bins in Dives(packing, ()).packings():
        weight = total_weight(packing, bins)
        assert weight < last
        last = weight
        assert expected is not None
        schedule = to_schedule(instance, packing, bins, 0)
        assert check(instance, schedule, gang=True) == []
        assert cost(instance, schedule) >= expected - 1e-9


def bins_of_two_sizes() -> Instance:
    """120 items in bins of 100 and 150 that cost what they hold."""
    rng = np.random.default_rng(3)
    size = rng.integers(20, 101, (120, 1)).astype(float)
    capacity = np.repeat([[100.0], [150.0]], 90, axis=0)
    return Instance.build(
        demand=size, capacity=capacity, node_cost=capacity[:, 0], objective="cost",
        resources=("size",),
    )  # fmt: skip


def test_dives_meet_the_bound_that_quick_rules_miss() -> None:
    packing = aggregate(bins_of_two_sizes(), 0)
    start = best_start(packing)
    dives = Dives(packing, start)
    lightest = [total_weight(packing, bins) for bins in dives.packings()][-1]
    assert lightest < total_weight(packing, start)
    known = solve_patterns(packing, start=start, known=dives.patterns(), time_limit=60)
    assert known.solution.root_bound is not None
    assert lightest == round(known.solution.root_bound)


def cut_short(dives: Dives, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Let the fourth relaxation and all later ones end at a limit; numbers of those to come."""
    solve, calls = dives.master.solve, count(1)
    in_time, late = Status.OPTIMAL, Status.NO_SOLUTION
    monkeypatch.setattr(
        dives.master,
        "solve",
        lambda seconds: replace(solve(seconds), status=in_time if next(calls) < 4 else late),
    )
    return calls


def test_a_relaxation_cut_short_keeps_the_prices_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    packing = aggregate(bins_of_two_sizes(), 0)
    dives = Dives(packing, best_start(packing))
    calls = cut_short(dives, monkeypatch)
    dives.relax()
    assert next(calls) == 5  # it ended early
    found = dives.prices(np.inf)
    optimum = solve_patterns(packing, start=best_start(packing), time_limit=60).solution
    assert optimum.bound is not None
    assert found
    assert all(0 < prices.bound <= optimum.bound for prices in found)


def test_no_packing_comes_of_relaxations_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dive begins at the last one solved, which does not know the patterns found after it."""
    packing = aggregate(bins_of_two_sizes(), 0)
    dives = Dives(packing, best_start(packing))
    calls = cut_short(dives, monkeypatch)
    assert list(dives.packings()) == []
    assert next(calls) > 5  # a dive was begun


def test_a_dive_ends_when_it_is_asked_to() -> None:
    packing = aggregate(bins_of_two_sizes(), 0)
    stop = threading.Event()
    stop.set()
    assert list(Dives(packing, (), stop=stop).packings()) == []
