"""What the loop that puts jobs anew passes over."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from formulations.batch.exact.moves import next_start


@given(
    idle=st.lists(st.integers(0, 6), min_size=1, max_size=12),
    work=st.integers(1, 20),
    most=st.integers(1, 6),
)
def test_a_start_is_passed_over_only_where_no_run_would_end_in_time(
    idle: list[int], work: int, most: int
) -> None:
    """Starts found one after the other are all from which some run has enough free workers."""
    slots = len(idle)

    def may_start(start: int) -> bool:
        ends = range(start, slots)
        return any(min(most, *idle[start : e + 1]) * (e - start + 1) >= work for e in ends)

    found = []
    start = next_start.py_func(np.array(idle), work, most, 0, slots - 1)
    while start < slots:
        found.append(start)
        start = next_start.py_func(np.array(idle), work, most, start + 1, slots - 1)
    assert found == [start for start in range(slots) if may_start(start)]
