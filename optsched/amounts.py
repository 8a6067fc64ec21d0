"""Amounts of a resource as whole numbers, so that what fits is decided and not estimated.

Bytes, millionths of a core and cents nearly tie: two times 1000001 are one more than 2000001. A
checker compares such numbers exactly. A solver takes a row for kept that is broken by a small
share of its coefficients, so rows of large numbers are written digit by digit.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optsched.errors import InputError
from optsched.model import Expression, Model

Integers = NDArray[np.int64]

_PLACES = 9  # decimals, of which amounts in GB have so many in bytes
_EXACT = 2**52  # steps up to which a float tells one from the next
_MOST = 2**62  # steps
_NOISE = 4.0  # units in the last place that a few operations lose
_DECIDED = 1_000_000  # largest number in a row that every solver decides to the last unit
_BASE = 10_000  # of the digits of larger ones, times a tolerance of 1e-6 far below 1


def is_whole(*amounts: ArrayLike) -> bool:
    """Whether all amounts are whole numbers."""
    return all(bool((np.asarray(a) == np.rint(a)).all()) for a in amounts)


def whole_steps(field: str, *amounts: ArrayLike) -> tuple[Integers, ...]:
    """Amounts of one resource as multiples of one step.

    The step is 1 if all amounts are whole. Otherwise it is a power of ten: 1e-9, or nine digits
    of the largest amount if that is below 1. An amount between two multiples is rounded.

    Args:
        field: name that an error begins with.
        amounts: finite and not negative, of any shapes.

    Raises:
        InputError: two different amounts are the same number of steps, since the largest amount
            leaves no digits for what they differ by.
    """
    arrays = [np.asarray(a, dtype=np.float64) for a in amounts]
    flat = np.concatenate([np.zeros(1), *(a.ravel() for a in arrays)])
    largest = float(flat.max())
    scale, fine = 1.0, True
    if not is_whole(flat):
        size = math.ceil(math.log10(largest))
        finest = _PLACES - min(size, 0)
        places = min(finest, math.floor(math.log10(_EXACT / largest)))
        scale, fine = 10.0**places, places == finest
    if largest * scale >= _MOST:
        raise InputError.of(field, largest, f"at most {_MOST / scale:g} where amounts are compared")
    if not fine:
        ordered = np.sort(flat)
        same = np.diff(np.rint(ordered * scale)) == 0
        same &= np.diff(ordered) > _NOISE * np.spacing(ordered[1:])
        if same.any():
            k = int(np.argmax(same))
            pair = (float(ordered[k]), float(ordered[k + 1]))
            allowed = f"equal, or at least {1 / scale:g} apart, beside amounts up to {largest:.15g}"
            raise InputError.of(field, pair, allowed)
    return tuple(np.rint(a * scale).astype(np.int64) for a in arrays)


def on_one_grid(size: Integers, capacity: Integers) -> tuple[Integers, Integers]:
    """Whole sizes and capacities, column by column, in multiples of what all sizes share.

    A capacity is rounded down: no sum of sizes lies in between.
    """
    step = np.maximum(np.gcd.reduce(size, axis=0), 1)
    return size // step, capacity // step


def decided(*amounts: Integers) -> bool:
    """Whether all are small enough for every solver to decide a row of them to the last unit."""
    return all(int(a.max(initial=0)) <= _DECIDED for a in amounts)


def add_capacity(
    model: Model,
    name: str,
    excess: Callable[[Integers, Integers], Expression],
    size: Integers,
    capacity: Integers,
    *,
    most: int,
    formula: str = "",
) -> None:
    """State that loads of whole sizes do not exceed whole capacities.

    Numbers beyond a million are written in digits. With sizes a + B b and capacities c + B d, a
    load fits if and only if there is a whole carry k with a x <= c + B k and b x + k <= d.

    Args:
        model: to which the rows are added, and the carries.
        name: of the rows.
        excess: (sizes, capacities) -> load less capacity, as rows of integer variables; linear in
            both arguments, and at least minus the capacities.
        size: shape as ``excess`` expects it.
        capacity: shape as ``excess`` expects it.
        most: of all things together that a row may hold.
        formula: of the rows.
    """
    if decided(size, capacity):
        model.add(name, excess(size, capacity) <= 0, formula=formula)
        return
    largest = max(int(size.max()), int(capacity.max()))
    digits = math.ceil(math.log(largest + 1, _BASE))
    base = math.ceil((largest + 1) ** (1 / digits))
    rest = largest
    carried: Expression | int = 0
    for digit in range(digits - 1):
        rest //= base
        rows = excess(size % base, capacity % base)
        carry = model.integer(f"{name}:carry {digit}", rows.shape, upper=float(min(most, rest)))
        model.add(f"{name}:digit {digit}", rows + carried - carry * base <= 0, formula=formula)
        size, capacity, carried = size // base, capacity // base, carry
    model.add(name, excess(size, capacity) + carried <= 0, formula=formula)
