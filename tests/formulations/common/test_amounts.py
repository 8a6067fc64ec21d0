"""Amounts of one resource as whole numbers."""

import numpy as np
import pytest

from formulations.common.amounts import on_one_grid, whole_steps
from optsched.errors import InputError


def steps(*amounts):
    return [a.tolist() for a in whole_steps("size", *amounts)]


def test_whole_amounts_are_themselves() -> None:
    assert steps([0, 1000001], [2**61]) == [[0, 1000001], [2**61]]


def test_decimals_add_up_as_they_are_written() -> None:
    (one, two, three), (sum_of_computed,) = steps([0.1, 0.2, 0.3], [0.1 + 0.2])
    assert one + two == three == sum_of_computed
    (a, b), (c, d) = steps([1e9, 1e9 + 1e-6], [2e9 + 1e-6, 2e9])
    assert a + b == c > d


def test_small_amounts_keep_nine_digits() -> None:
    (size,), (capacity,) = steps([1.000001e-12], [2.000001e-12])
    assert 2 * size > capacity > 2 * size - 10**4


def test_amounts_that_the_largest_leaves_no_digits_for_are_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"size = \(0\.0, 0\.4\): .* 1 apart, .* 1e\+15"):
        whole_steps("size", [0.4, 1e15])
    assert steps([0.5, 1e14]) == [[5, 10**15]]


def test_amounts_that_whole_numbers_of_64_bits_do_not_hold_are_refused() -> None:
    with pytest.raises(InputError, match=r"size = 1e\+19: at most 4\.6"):
        whole_steps("size", [1e19])


def test_capacities_are_rounded_down_to_what_sizes_share() -> None:
    size, capacity = on_one_grid(np.array([[6], [9]]), np.array([[17], [18]]))
    assert (size.tolist(), capacity.tolist()) == ([[2], [3]], [[5], [6]])
