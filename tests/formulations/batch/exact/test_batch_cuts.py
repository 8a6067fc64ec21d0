"""Minimum cuts between runs and servers, against every set of servers."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.batch.exact.server_cuts import saturate


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
