"""What cuts are made of, against every possibility: minimum cuts, rows of numbers of workers."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from formulations.batch.domain_reduction import prospects
from formulations.batch.exact.columns import PooledColumns
from formulations.batch.exact.server_cuts import Runs, saturate
from formulations.batch.exact.width_cuts import LEAST, MOST, lift, violated_worth, width_rows
from formulations.batch.instance import Instance


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


def choices(allowed: np.ndarray, room: int) -> list[tuple[int, ...]]:
    """Numbers of workers of every job, 0 or allowed, together at most ``room``."""
    every = itertools.product(*([0, *np.flatnonzero(own)] for own in allowed))
    return [n for n in every if sum(n) <= room]


@given(room=st.integers(3, 7), jobs=st.integers(1, 3), seed=st.integers(0, 9999))
@settings(max_examples=80, deadline=None)
def test_a_lifted_row_holds_for_all_that_fits_and_no_coefficient_could_be_larger(
    room: int, jobs: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    allowed = (rng.random((jobs, 6)) < 0.6).astype(float)
    allowed[:, 0] = 0.0
    worth = np.rint(5 * rng.random(allowed.shape)) * allowed
    before = worth.copy()
    side = lift(worth, allowed, room)
    value = {
        n: sum(own[k] for own, k in zip(worth, n, strict=True)) for n in choices(allowed, room)
    }
    assert max(value.values()) <= side
    fits = allowed[:, : room + 1] > 0
    assert (worth[:, : room + 1] >= before[:, : room + 1]).all()
    for j, n in np.argwhere(fits):  # beside it, something reaches the right-hand side
        assert max(v for at, v in value.items() if at[j] == n) == side


@given(room=st.integers(4, 7), jobs=st.integers(2, 3), seed=st.integers(0, 9999))
@settings(max_examples=80, deadline=None)
def test_a_row_is_found_if_no_mixture_of_what_fits_covers_a_load(
    room: int, jobs: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    load = rng.random((jobs, 5)) * (rng.random((jobs, 5)) < 0.6)
    load[:, 0], load[:, 1] = 0.0, load[:, 1] + 0.1
    load /= np.maximum(load.sum(axis=1, keepdims=True), 1.0)
    at = np.nonzero(load)
    members = np.array([[n[j] == k for j, k in zip(*at, strict=True)]
                        for n in choices(load > 0, room)], dtype=float)  # fmt: skip
    least = linprog(np.ones(len(members)), A_ub=-members.T, b_ub=-load[at]).fun
    worth = violated_worth(load, room)
    if worth is None:
        assert least <= 1.0 + 1.1 * LEAST
    else:
        assert worth[at] @ load[at] > (1.0 + 0.5 * LEAST) * (members @ worth[at]).max()


@pytest.mark.parametrize(("more", "rows"), [(-1e-4, 0), (1e-4, 1)])
def test_of_three_jobs_with_two_workers_two_fit_into_five(more: float, rows: int) -> None:
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
    wide = (runs.start == 1) & (runs.workers == 2) & chosen.choices.fast[runs.choice]
    part = runs.take(wide)
    assert len(part.start) == 3
    found = width_rows(runs, part, np.full(3, 2.0 / 3.0 * (1.0 + LEAST) + more))
    assert len(found) == rows
    for at, counts, side in found:
        assert counts[np.isin(at, np.flatnonzero(wide))].tolist() == [0.5] * 3
        assert side == 1.0


def test_no_row_cuts_off_what_fits_if_there_are_more_choices_than_are_looked_at() -> None:
    jobs = 14
    assert 2**jobs > MOST
    instance = Instance.build(
        worker_capacity=[[jobs]],
        ps_capacity=[[jobs]],
        release_slot=[1] * jobs,
        num_chunks=[1] * jobs,
        work_slow=[1] * jobs,
        work_fast=[1] * jobs,
        upload_delay=[[0]] * jobs,
    )
    chosen = prospects(instance)
    runs = Runs(chosen, *PooledColumns(chosen).schedules)
    first = runs.take((runs.start == 1) & chosen.choices.fast[runs.choice])
    assert len(first.start) == jobs
    assert width_rows(runs, first, np.ones(jobs)) == []
