"""What cuts are made of, against every possibility: covers, lifted rows, minimum cuts."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from formulations.batch.domain_reduction import prospects
from formulations.batch.exact.columns import PooledColumns
from formulations.batch.exact.placement_cuts import VIOLATED as MISPLACED
from formulations.batch.exact.placement_cuts import cheapest, placement_cuts
from formulations.batch.exact.server_cuts import Runs, saturate
from formulations.batch.exact.width_cuts import VIOLATED, cover_prices, lift, width_cuts
from formulations.batch.instance import Instance
from optsched.solvers.deadline import Deadline

NUMBERS = st.integers(1, 5)


@st.composite
def slots(draw: st.DrawFn) -> tuple[list[list[int]], np.ndarray, int]:
    """Widths of up to three groups, a share of each, and a room."""
    widths = draw(st.lists(st.lists(NUMBERS, min_size=1, max_size=3, unique=True), min_size=1,
                           max_size=3))  # fmt: skip
    room = draw(st.integers(5, 9))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    shares = [rng.dirichlet(np.ones(len(own))) * rng.uniform(0.5, 1.0) for own in widths]
    return [sorted(own) for own in widths], np.concatenate(shares), room


def patterns(widths: list[list[int]], room: int) -> np.ndarray:
    """All that fits, at most one width of every group, shape (patterns, things)."""
    starts = np.cumsum([0, *map(len, widths)])
    found = []
    for picks in itertools.product(*([None, *range(len(own))] for own in widths)):
        taken = [(g, i) for g, i in enumerate(picks) if i is not None]
        if sum(widths[g][i] for g, i in taken) <= room:
            row = np.zeros(starts[-1])
            row[[starts[g] + i for g, i in taken]] = 1.0
            found.append(row)
    return np.array(found)


@given(slot=slots())
@settings(max_examples=60, deadline=None)
def test_prices_are_those_of_the_cheapest_cover(
    slot: tuple[list[list[int]], np.ndarray, int],
) -> None:
    widths, share, room = slot
    first = np.cumsum([0, *map(len, widths)])
    everything = patterns(widths, room)
    least = linprog(np.ones(len(everything)), A_ub=-everything.T, b_ub=-share).fun
    price = cover_prices.py_func(first, np.concatenate(widths), share, room)
    if price.any():
        assert price @ share == pytest.approx(least)
        assert (everything @ np.maximum(price, 0.0)).max() == pytest.approx(1.0)
        assert least > 1.0 + VIOLATED
    else:
        assert least <= 1.0 + VIOLATED + 1e-9


@given(
    room=st.integers(1, 6),
    counts=st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=4), min_size=1, max_size=3),
)
@settings(max_examples=60, deadline=None)
def test_a_lifted_row_holds_for_all_that_fits_and_no_count_could_be_more(
    room: int, counts: list[list[int]]
) -> None:
    most = np.minimum([len(own) for own in counts], room)
    tables = np.zeros((len(counts), room + 5), dtype=np.int64)
    for own, table in zip(counts, tables, strict=True):
        table[1 : len(own) + 1] = np.maximum.accumulate(own)
    before = tables.copy()
    side = lift.py_func(tables, most, room)
    reach = [range(m + 1) for m in most]
    fitting = [n for n in itertools.product(*reach) if sum(n) <= room]
    value = {n: sum(table[i] for table, i in zip(tables, n, strict=True)) for n in fitting}
    assert max(value.values()) <= side
    for j, own in enumerate(most):
        assert (tables[j, : own + 1] >= before[j, : own + 1]).all()
        for n in range(1, own + 1):  # beside it, something reaches the side
            assert max(v for at, v in value.items() if at[j] == n) == side


@given(
    runs=st.integers(1, 4),
    servers=st.integers(1, 4),
    seed=st.integers(0, 9999),
)
@settings(max_examples=80, deadline=None)
def test_what_finds_no_place_is_what_the_minimum_cut_says(
    runs: int, servers: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    load, room = rng.integers(0, 9, runs), rng.integers(0, 6, servers)
    most = rng.integers(0, 6, (runs, servers))

    def beyond(inside: np.ndarray) -> int:
        """Load that must stand on some servers, beyond their room."""
        return int(np.maximum(load - most[:, ~inside].sum(axis=1), 0).sum() - room[inside].sum())

    left = load.copy()
    met = saturate.py_func(left, most.copy(), room.copy())
    sets = [np.array(bits, dtype=bool) for bits in itertools.product([0, 1], repeat=servers)]
    assert left.sum() == max(map(beyond, sets))
    assert beyond(met) == left.sum()


def test_a_row_counts_every_width_that_leaves_too_little_for_the_others() -> None:
    # three jobs of two workers at least on five: two at a time, whatever halves say of three
    instance = Instance.build(
        worker_capacity=[[5]],
        ps_capacity=[[9]],
        release_slot=[1, 1, 1],
        num_chunks=[2, 2, 2],
        work_slow=[4, 4, 4],
        work_fast=[4, 4, 4],
        upload_delay=[[0], [0], [0]],
    )
    chosen = prospects(instance)
    runs = Runs(chosen, *PooledColumns(chosen).schedules)
    wide = runs.take((runs.start == 1) & (runs.workers == 2) & chosen.choices.fast[runs.choice])
    assert len(wide.start) == 3
    just = (2.0 / 3.0) * (1.0 + VIOLATED)
    assert width_cuts(wide, np.full(3, just - 1e-6)) == []
    (cut,) = width_cuts(wide, np.full(3, just + 1e-6))
    at, counts, side = cut.row(wide)
    assert at.tolist() == [0, 1, 2]
    assert counts.tolist() == [0.5] * 3
    assert side == 1.0


@given(servers=st.integers(1, 3), workers=st.integers(1, 4), seed=st.integers(0, 9999))
@settings(max_examples=80, deadline=None)
def test_no_placement_of_a_run_costs_less_than_the_cheapest(
    servers: int, workers: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    room, reached = rng.integers(1, 5, servers), rng.integers(0, 2, (1, servers))
    spent, served = rng.integers(0, 9, (4, servers)).cumsum(axis=0), rng.random((1, servers)) < 0.7
    reached[0, -1], room[-1], served[0, -1] = 0, 5, True  # so that there is a placement
    start, end = np.array([rng.integers(0, 2)]), np.array([rng.integers(2, 5)])
    price = spent[min(end[0] + 1, 3)] - spent[start[0]]
    most = np.where(reached[0] <= start[0], np.minimum(room, workers), 0)
    every = [y for y in itertools.product(*(range(m + 1) for m in most)) if sum(y) == workers]
    together = [y for y in every if any(n == workers and served[0, s] for s, n in enumerate(y))]
    for fast, placements in ((False, every), (True, together)):
        found = cheapest.py_func(
            np.array([0]), start, end, np.array([workers]), np.array([fast]),
            reached, room, served, spent,
        )  # fmt: skip
        assert found.tolist() == [min(price @ np.array(y) for y in placements)]


def test_a_run_that_would_have_to_change_its_server_is_cut_off() -> None:
    # the first reaches server 0 alone, the last server 1 alone: one or the other is in the way of
    # the second, whose worker each slot by itself has a server for
    instance = Instance.build(
        worker_capacity=[[1], [1]],
        ps_capacity=[[9], [9]],
        release_slot=[1, 2, 3],
        num_chunks=[1, 1, 1],
        work_slow=[2, 2, 1],
        work_fast=[2, 2, 1],
        upload_delay=[[0, 9], [0, 0], [9, 0]],
    )
    chosen = prospects(instance)
    runs = Runs(chosen, *PooledColumns(chosen).schedules)
    soon = (runs.start == instance.release_slot[runs.job]) & ~chosen.choices.fast[runs.choice]
    runs = runs.take(soon)
    assert runs.violated(np.ones(3)) == []
    just = (2.0 / 3.0) * (1.0 + MISPLACED)
    assert placement_cuts(runs, np.full(3, just - 1e-6)) == []
    (cut,) = placement_cuts(runs, np.full(3, just + 1e-6))
    assert placement_cuts(runs, np.full(3, just + 1e-6), Deadline(0.0)) == []
    at, counts, side = cut.row(runs)
    assert at.tolist() == [0, 1, 2]
    assert counts.tolist() == [0.5] * 3
    assert side == 1.0
