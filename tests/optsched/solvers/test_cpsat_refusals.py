"""What CP-SAT cannot take is refused by the name of its block, and never rounded."""

from dataclasses import replace

import numpy as np
import pytest

from optsched import Model, UnsupportedError, solve
from optsched.solvers.cpsat.backend import CpSat
from optsched.solvers.options import Options


def refused(m: Model, words: str) -> None:
    with pytest.raises(UnsupportedError, match=words):
        solve(m, solver="cpsat")


def test_values_that_are_not_whole_are_refused_by_block():
    x = (m := Model()).integer("x", 2, upper=1)
    m.table([0.5, 2.0], x, name="speed")
    refused(m, r"speed\[0\] is continuous: give the table whole numbers")
    x = (m := Model()).integer("x", 2, upper=1)
    m.maximum(x * 0.5, name="most")
    refused(m, "most is continuous: give the maximum whole numbers")
    a = (m := Model()).binary("a", 3)
    m.last_active(a, [0.5, 1.0, 1.5], name="last")
    refused(m, "last is continuous: give the active_slot whole numbers")


def test_a_continuous_factor_is_refused_by_its_own_name():
    m = Model()
    x, y = m.binary("x"), m.continuous("y", upper=1.0)
    m.product(x, y)
    refused(m, "y is continuous: declare it integer")


def test_numbers_that_slip_through_are_refused_and_never_cut_off():
    m = Model()
    m.table([1.0, 2.0], m.binary("x"), name="speed")
    compiled = m.compile(CpSat.native)
    block = replace(compiled.nonlinear[0], table=np.array([0.5, 2.0]))
    with pytest.raises(UnsupportedError, match=r"whole numbers only.*'speed'"):
        CpSat().solve(replace(compiled, nonlinear=(block,)), Options(), None)


def test_values_too_large_for_64_bits_are_refused():
    m = Model()
    x = m.integer("x", 2, upper=1e9)
    m.product(x[0] * 2.0**30, x[1])
    refused(m, r"2\^53")
    m = Model()
    x = m.integer("x", upper=2.0**50)
    m.maximum(x * 2.0**10, 2.0**60 - x * 2.0**10, name="most")
    refused(m, r"2\^53")


def test_a_sum_too_large_for_53_bits_is_refused_by_block():
    m = Model()
    x = m.integer("x", 2, upper=2.0**30)
    m.table([1.0, 2.0], x[0] * 2.0**30 - x[1] * 2.0**30, name="pick")
    refused(m, "block 'pick'")
