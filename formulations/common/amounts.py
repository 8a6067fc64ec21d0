"""Amounts of a resource as integers, so that comparisons are exact.

Sums of bytes, millionths of a core or cents may differ in the last digit only, such as
2 * 1000001 and 2000001. A checker compares such numbers exactly, and so does
:func:`optsched.solve` in rows of integers.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optsched.errors import InputError

Integers = NDArray[np.int64]

_PLACES = 9  # decimals, of which amounts in GB have so many in bytes
_EXACT = 2**52  # steps up to which a float tells one from the next
_MOST = 2**62  # steps
_NOISE = 4.0  # units in the last place that a few operations lose


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
