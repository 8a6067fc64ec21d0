"""Read and check the numbers that a model is given."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.errors import ModelError, NoMeaningError
from optsched.model.terms import Floats

_KINDS = "fiub"
"""Data types that are numbers: floating, whole, without sign, truth values."""


def given_numbers(where: str, value: Any) -> Floats:
    """An array of numbers, none of which was something else before.

    Args:
        where: what takes them, for the message.
        value: numbers, or arrays of them.

    Raises:
        ModelError: text, None, dates or complex numbers, or an entry that a mask leaves out.

    Example:
        >>> given_numbers("bounds", ["3", 4])
        Traceback (most recent call last):
            ...
        optsched.errors.ModelError: bounds: not an array of numbers: ['3', 4]
    """
    kind = type(value)
    if kind is float or kind is int or (kind is np.ndarray and value.dtype.kind in _KINDS):
        return np.asarray(value, dtype=np.float64)
    parts = value if isinstance(value, list | tuple) else (value,)
    if {*map(type, parts)} <= {int, float}:
        return np.asarray(value, dtype=np.float64)
    if any(isinstance(part, np.ma.MaskedArray) and part.mask.any() for part in parts):
        raise ModelError(f"{where}: a mask leaves entries out: filled(...) says what they are")
    try:
        array = np.asarray(value)
        if array.dtype.kind not in _KINDS and not _number_objects(array):
            raise TypeError
        return np.asarray(array, dtype=np.float64)
    except NoMeaningError:
        raise ModelError(f"{where}: a list of expressions; np.stack makes one of it") from None
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{where}: not an array of numbers: {value!r}") from None


def _number_objects(array: Any) -> bool:
    """Whether an array holds Python's own numbers, such as fractions."""
    return array.dtype.kind == "O" and not any(
        part is None or isinstance(part, str | bytes | complex) for part in array.flat
    )


def has_nan(value: Floats | float) -> bool:
    """Whether one of them is no number."""
    return value != value if isinstance(value, float) else bool(np.isnan(value).any())
