"""Loops over the rows of a table leave it alike, as machine code and on Python's own numbers."""

import sys

import numpy as np
import pytest

from optsched.jit import always, limited

ROWS = """
import numpy as np
from optsched.jit import njit_cached, njit_rows

PAIR = np.dtype([("count", "i4"), ("time", "f8")])


@njit_cached
def later(row, by):
    row["time"] += by
    return row["count"]


@njit_rows
def passed_on(table, times, turns):
    total = 0
    for k in range(turns):
        i = k % len(table)
        table[i] = table[i - 1]
        total += later(table[i], times[i])
        table[i]["count"] += 1
        times[i] += 1.0
    return total
"""


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """A loop over the rows of a table of records; no machine code is on disk."""
    (tmp_path / "over_rows.py").write_text(ROWS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "over_rows", raising=False)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "machine"))
    import over_rows

    return over_rows


def test_rows_are_left_as_machine_code_leaves_them(rows):
    found = []
    for compiled in (False, True):
        table, times = np.ones(3, dtype=rows.PAIR), np.arange(3.0)
        with always(compiled=compiled):
            total = rows.passed_on(table, times, 8)
        found.append((total, table.tolist(), times.tolist()))
    assert found[0] == found[1]
    assert found[0][0] > 8


def test_rows_of_a_run_that_is_given_up_are_as_before(rows):
    table, times = np.ones(3, dtype=rows.PAIR), np.arange(3.0)
    with always(compiled=False), limited(0.05), pytest.raises(TimeoutError):
        rows.passed_on(table, times, 10**9)
    assert table.tolist() == [(1, 1.0)] * 3
    assert times.tolist() == [0.0, 1.0, 2.0]
