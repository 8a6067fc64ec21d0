"""Entries in another order: the function itself is applied to the places of entries."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.errors import ModelError, NoMeaningError
from optsched.model.expression import Expression
from optsched.model.given_numbers import given_numbers
from optsched.model.numpy_like import FUNCTIONS, implements, refuse
from optsched.model.terms import side_by_side

_REORDERING = (
    "reshape", "ravel", "transpose", "permute_dims", "matrix_transpose",
    "swapaxes", "moveaxis", "rollaxis", "squeeze", "expand_dims",
    "flip", "fliplr", "flipud", "rot90", "roll",
    "repeat", "tile", "take", "take_along_axis", "delete",
    "resize", "diag", "diagonal", "diagflat", "tril",
    "triu", "broadcast_to", "broadcast_arrays", "atleast_1d", "atleast_2d",
    "atleast_3d", "split", "array_split", "hsplit", "vsplit",
    "dsplit", "unstack", "copy", "concatenate", "concat",
    "stack", "vstack", "hstack", "dstack", "column_stack",
    "block",
)  # fmt: skip
_ORDERS: dict[str, tuple[int, ...]] = {  # and at which positions they take arrays of entries
    **dict.fromkeys(_REORDERING, (0,)),
    "append": (0, 1),
    "insert": (0, 2),
    "where": (1, 2),
    "compress": (1,),
    "extract": (1,),
    "choose": (1,),
    "select": (1, 2),
}
_EVERY_POSITION = ("broadcast_arrays", "atleast_1d", "atleast_2d", "atleast_3d")


class _EntryPlaces:
    """Entries of expressions and numbers, one after the other; the first is the number zero."""

    def __init__(self, operation: str) -> None:
        self.operation, self.size = operation, 1
        self.parts: list[Expression | NDArray[np.float64]] = [np.zeros(())]

    def of(self, value: Any) -> Any:
        """The places that an argument's entries are given, nested lists as they are."""
        if isinstance(value, list | tuple) and _mentions(value):
            return [self.of(item) for item in value]
        if not isinstance(value, Expression):
            value = given_numbers(self.operation, value)
        first, self.size = self.size, self.size + value.size
        self.parts.append(value)
        return np.arange(first, self.size, dtype=np.int32).reshape(value.shape)

    def expressions(self, places: Any) -> Any:
        """What stands at these places; of a list, each."""
        if isinstance(places, list | tuple):
            return type(places)(self.expressions(one) for one in places)
        places = np.asarray(places)
        mine = [part for part in self.parts if isinstance(part, Expression)]
        if len(mine) == 1 and len(self.parts) == 2 and places.min(initial=1) > 0:
            return mine[0]._picked(places - np.int32(1))
        model = owner(*mine)
        sizes = [(p.size, p.terms if isinstance(p, Expression) else ()) for p in self.parts]
        numbers = [
            np.broadcast_to(p.constant, p.shape) if isinstance(p, Expression) else p
            for p in self.parts
        ]
        if all(isinstance(p, Expression) for p in self.parts[1:]) and places.min(initial=1) > 0:
            sizes, numbers, places = sizes[1:], numbers[1:], places - np.int32(1)
        constant: Any = np.concatenate([one.reshape(-1) for one in numbers])
        if not constant.any():
            constant = 0.0
        size = sum(size for size, _ in sizes)
        return Expression(model, (size,), side_by_side(sizes), constant)._picked(places)


def owner(*expressions: Expression) -> Any:
    """The model that all of them belong to."""
    model: Any = expressions[0].model
    for one in expressions[1:]:
        if one.model is not model:
            model = model.common_ground(one.model)
    model.check_own("an operation", *expressions)
    return model


def _mentions(value: Any) -> bool:
    """Whether an argument is or holds an expression."""
    if isinstance(value, list | tuple):
        return any(map(_mentions, value))
    return isinstance(value, Expression)


def _reordered(name: str, function: Any, arrays: tuple[int, ...], *args: Any, **kwargs: Any) -> Any:
    if name in _EVERY_POSITION:
        arrays = tuple(range(len(args)))
    others = [args[i] for i in range(len(args)) if i not in arrays] + list(kwargs.values())
    if _mentions(others) or "out" in kwargs:
        raise NoMeaningError(
            f"np.{name}: what chooses or receives entries must be numbers known now; "
            "m.indicator, m.element and m.table choose by a variable"
        )
    held = _EntryPlaces(f"np.{name}")
    placed = [held.of(arg) if i in arrays else arg for i, arg in enumerate(args)]
    try:
        return held.expressions(function(*placed, **kwargs))
    except (ValueError, IndexError, TypeError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"np.{name}: {error}") from None


for _name, _positions in _ORDERS.items():
    _function: Any = getattr(np, _name, None)
    if _function is not None:  # a numpy of today
        FUNCTIONS[_function] = partial(_reordered, _function.__name__, _function, _positions)


@implements("pad")
def _pad(x: Expression, width: Any, mode: str = "constant") -> Any:
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap", "empty"):
        refuse(f"np.pad with mode {mode!r}")
    return _reordered("pad", np.pad, (0,), x, width, mode=mode)
