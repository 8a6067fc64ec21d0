"""Read-only values: arrays and tuples, and classes that return nothing else."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property
from types import FunctionType, MappingProxyType, NoneType
from typing import Any, NoReturn

import numpy as np


def read_only(value: Any) -> Any:
    """A value that nobody can change, with all that is inside it.

    The flags of arrays are changed in place: whoever passes an array gives it away. Lists become
    tuples, sets frozen sets, and dicts mappings that cannot be written.

    Raises:
        TypeError: it is of a type that can be changed, such as a sparse matrix.

    Example:
        >>> rows = read_only({"even": [np.arange(0, 4, 2)]})
        >>> rows["even"][0][0] = 1
        Traceback (most recent call last):
            ...
        ValueError: assignment destination is read-only
    """
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        value.flags.writeable = False
        return value
    if _cannot_change(type(value)):
        return value
    if isinstance(value, tuple) and all(map(_cannot_change, {*map(type, value)})):
        return value
    if isinstance(value, tuple | list):
        parts = tuple(map(read_only, value))
        return value._make(parts) if hasattr(value, "_make") else parts
    if isinstance(value, set | frozenset):
        return frozenset(map(read_only, value))
    if isinstance(value, dict | MappingProxyType):
        return MappingProxyType({key: read_only(part) for key, part in value.items()})
    settings = getattr(value, "__dataclass_params__", None)
    if settings is not None and settings.frozen:
        for field in dataclasses.fields(value):
            object.__setattr__(value, field.name, read_only(getattr(value, field.name)))
        return value
    raise TypeError(
        f"a {type(value).__name__} can be changed by whoever holds it; arrays of numbers, tuples "
        "and frozen dataclasses cannot"
    )


def _cannot_change(kind: type) -> bool:
    """Whether no value of a type can be changed: numbers, texts, what says so of itself."""
    settings = getattr(kind, "model_config", None)  # pydantic's
    frozen = isinstance(settings, Mapping) and bool(settings.get("frozen"))
    plain = (NoneType, bool, int, float, complex, str, bytes, Fraction, np.generic, range, type)
    return frozen or issubclass(kind, (*plain, ReadOnly))


class _Refuses:
    """What a list or a dict does that nobody may change."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("an instance cannot be changed: copy.deepcopy(...) gives what can")

    __setitem__ = __delitem__ = __ior__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = remove = sort = reverse = _refuse
    pop = clear = update = setdefault = popitem = _refuse

    def __reduce__(self) -> tuple[type, tuple[Any]]:
        return type(self), (self._plain(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(self._plain(), memo)

    def _plain(self) -> Any:
        mine: Any = self
        return list(mine) if isinstance(self, list) else dict(mine)


class _FixedList(_Refuses, list[Any]):
    """A list that cannot be written."""


class _FixedDict(_Refuses, dict[Any, Any]):
    """A dict that cannot be written."""


def fixed(value: Any) -> Any:
    """Decoded JSON that nobody can change: lists and dicts remain what they are, and refuse."""
    if isinstance(value, list):
        return _FixedList(map(fixed, value))
    if isinstance(value, dict):
        return _FixedDict({key: fixed(part) for key, part in value.items()})
    return tuple(map(fixed, value)) if type(value) is tuple else value


def changeable(array: np.ndarray[Any, Any]) -> bool:
    """Whether somebody can write into the memory of an array, through it or what it is a part of.

    Example:
        >>> whole = np.arange(4)
        >>> part = whole[:2]
        >>> part.flags.writeable = False
        >>> changeable(part)
        True
    """
    part: Any = array
    while isinstance(part, np.ndarray):
        if part.flags.writeable:
            return True
        part = part.base
    try:
        return part is not None and not memoryview(part).readonly
    except TypeError:  # memory that does not say whose it is
        return True


class ReadOnly:
    """Base of frozen dataclasses that hand out only what nobody can change.

    A property, cached or not, is worked out once and kept as ``read_only`` gives it. An array
    that a method returns is read-only. A pickle or a copy holds the fields alone.

    Raises:
        TypeError: a property is of a type that can be changed.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, value in list(vars(cls).items()):
            if isinstance(value, property | cached_property):
                get: Any = value.func if isinstance(value, cached_property) else value.fget
                kept = cached_property(_then(read_only, get))
                kept.__set_name__(cls, name)
                setattr(cls, name, kept)
            elif isinstance(value, FunctionType) and not name.startswith("__"):
                setattr(cls, name, _then(_read_only_array, value))

    def __getstate__(self) -> dict[str, Any]:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {field.name: getattr(self, field.name) for field in fields}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # arrays that were just read are nobody else's: they need not be copied
        self.__dict__.update({name: read_only(value) for name, value in state.items()})


def _read_only_array(value: Any) -> Any:
    return read_only(value) if isinstance(value, np.ndarray) else value


def _then(last: Callable[[Any], Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with its result handed through another."""

    @functools.wraps(function)
    def both(*arguments: Any, **options: Any) -> Any:
        return last(function(*arguments, **options))

    return both
