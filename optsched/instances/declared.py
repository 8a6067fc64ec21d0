"""Instances made of declared fields: built, checked, cut, read and written by the declarations."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optsched.errors import FieldProblem, InputError
from optsched.instances.arrays import freeze
from optsched.instances.declared_files import (
    assembled,
    collected,
    document_type,
    plain,
    ragged,
)
from optsched.instances.document import Document
from optsched.instances.fields import (
    Declares,
    Field,
    fields_of,
    problems_of,
)
from optsched.instances.read_only import ReadOnly, read_only

R = TypeVar("R")


class _DocumentType:
    """The pydantic twin of a class, made when first asked for."""

    def __get__(self, thing: Any, cls: type[Declared]) -> type[Document]:
        if not cls.format:
            raise AttributeError(f"{cls.__name__} is part of an instance, and has no file")
        return document_type(cls)


class Declared(ReadOnly, Declares):
    """Base of frozen dataclasses whose fields are declared (``optsched.instances.fields.declare``).

    Every array is of the shape, kind and range declared. All that an instance hands out is
    read-only, whatever it is derived from (``optsched.instances.read_only``).

    Raises:
        InputError: a field has the wrong shape or a value out of range.
    """

    document_type: ClassVar[type[Document]] = cast("Any", _DocumentType())

    def __post_init__(self) -> None:
        freeze(self)
        problems = list(problems_of(self, self.filled)) or list(self.contradictions())
        if problems:
            raise InputError(problems)

    def contradictions(self) -> Iterator[FieldProblem]:
        """Fields that contradict each other, each of the right shape and in its range."""
        yield from ()

    @classmethod
    def build(cls, **given: Any) -> Self:
        """Build from array-likes by the names of the fields; scalars spread over their shape.

        A dimension is as long as the first field declared with it; where that is a scalar, as
        the largest position given of one of its entries asks for; or as another field.

        Raises:
            InputError: a field is missing or unknown, no number, not whole where it must be, does
                not fit, or is refused by the class.
        """
        fields = {f.name: f for f in fields_of(cls) if not f.in_file_only and "." not in f.name}
        given = {
            name: field.default for name, field in fields.items() if field.default is not ...
        } | given
        arrays = {
            name: _listed(field, given[name])
            for name, field in fields.items()
            if field.dims and given.get(name) is not None and not field.as_read
        }
        sizes: dict[str, int] = {}
        for dim in dict.fromkeys(dim for field in fields.values() for dim in field.dims):
            sizes[dim] = _size(dim, [(fields[name], array) for name, array in arrays.items()])
        built = given | {
            name: spread(fields[name], array, tuple(sizes[d] for d in fields[name].dims))
            for name, array in arrays.items()
        }
        problems = list(_misgiven(cls, built))
        if problems:
            raise InputError(problems)
        return cls(**built)

    def select(self, kept: Mapping[str, ArrayLike], **renumbered: Any) -> Self:
        """The instance with these entries of each dimension only, in that order.

        Args:
            kept: positions by dimension.
            renumbered: fields that name entries of one by position; others keep what they name.
        """
        chosen = {dim: np.asarray(index, dtype=np.int64) for dim, index in kept.items()}
        changes: dict[str, Any] = {}
        for item in dataclasses.fields(cast("Any", self)):
            field, value = item.metadata.get("field"), getattr(self, item.name)
            if field is None or not field.dims or field.dims[0] not in chosen or value is None:
                continue
            index = chosen[field.dims[0]]
            if isinstance(value, Declared):
                changes[item.name] = value.select(kept)
            elif isinstance(value, tuple):
                changes[item.name] = tuple(value[i] for i in index.tolist())
            else:
                picked = value[index]  # nobody else's, so that it need not be copied again
                picked.flags.writeable = False
                changes[item.name] = picked
        return cast("Self", dataclasses.replace(cast("Any", self), **changes | renumbered))

    def entry(self, index: int, kind: type[R], **more: Any) -> R:
        """One entry of a list, of all jobs say, as a record of the fields that both classes have.

        Args:
            index: which entry.
            kind: the record, a dataclass.
            more: its other fields.
        """
        own, asked = (cast("Any", one).__dataclass_fields__ for one in (self, kind))
        row = {name: getattr(self, name)[index] for name in asked if name in own}
        plain = {n: v.item() if isinstance(v, np.generic) else v for n, v in row.items()}
        return cast("R", read_only(kind(**plain, **more)))

    @classmethod
    def from_document(cls, document: Any) -> Self:
        """Arrays from a validated file.

        Raises:
            InputError: fields that contradict each other, such as lists of different lengths.
        """
        return cls.build(**cls.read(document))

    @classmethod
    def read(cls, document: Any) -> dict[str, Any]:
        """Arguments of ``build`` from a validated file.

        Raises:
            InputError: lists of different lengths.
        """
        problems = list(ragged(cls, document))
        if problems:
            raise InputError(problems)
        given = {}
        for field in fields_of(cls):
            if field.stored:
                value = collected(field, document)
                if value is not None:
                    given[field.name] = value
        return given

    def to_document(self) -> Any:
        """The file that gives back this instance."""
        return document_type(type(self)).model_validate(assembled(self.written()))

    def written(self) -> dict[str, Any]:
        """What a file holds, by path: one value, or one per entry of the lists in the path."""
        return {
            field.file: plain(field, value)
            for field in fields_of(type(self))
            if field.stored
            if (value := field.value(self)) is not None
        }


class Given(dict[str, Any]):
    """Arguments of ``build`` by name; one that is asked for and missing is refused."""

    def __missing__(self, name: str) -> Any:
        raise InputError([_missing(name)])

    def take(self, name: str) -> Any:
        """An argument, which is none of a field.

        Raises:
            InputError: it is missing.
        """
        value = self[name]
        del self[name]
        return value


def _missing(name: str) -> FieldProblem:
    return FieldProblem(name, "(missing)", "must be given")


def _misgiven(cls: type[Declared], given: dict[str, Any]) -> Iterator[FieldProblem]:
    """Arguments that ``cls`` does not know, and those that it lacks."""
    fields = {field.name: field for field in dataclasses.fields(cast("Any", cls)) if field.init}
    for name in given.keys() - fields.keys():
        yield FieldProblem(name, given[name], "not a field; there are " + ", ".join(fields))
    for name, field in fields.items():
        if name not in given and field.default is field.default_factory is dataclasses.MISSING:
            yield _missing(name)


def _listed(field: Field, value: Any) -> Any:
    """What was given for an array, as an array; texts and fractions as they are."""
    if field.kind in (int, float, bool):
        return np.asarray(value)
    return value if isinstance(value, str) else tuple(value)


def _size(dim: str, given: Sequence[tuple[Field, Any]]) -> int:
    said = []
    for field, array in given:
        if dim in field.dims:
            shape = np.shape(array) if isinstance(array, np.ndarray | str) else (len(array),)
            axis = field.dims.index(dim) - len(field.dims)
            said.append(shape[axis] if len(shape) >= -axis else None)
    if said and said[0] is not None:
        return int(said[0])
    named = [array for field, array in given if field.index_of == dim]
    largest = [int(array.max(initial=-1)) for array in named if array.dtype.kind in "biuf"]
    if largest:
        return max(largest) + 1
    return int(next((size for size in said if size is not None), 1))


def spread(field: Field, given: Any, shape: tuple[int, ...]) -> Any:
    """Numbers of one kind, repeated to fill a shape.

    Raises:
        InputError: they are no numbers, not whole where they must be, or do not fit.
    """
    name = field.label
    if not isinstance(given, np.ndarray):
        return (given,) * shape[0] if isinstance(given, str) else given
    try:
        if given.dtype.kind in "US":
            raise TypeError
        with np.errstate(invalid="ignore"):  # what does not fit is refused right here
            array: NDArray[Any] = read_only(given.astype(field.kind))
    except (TypeError, ValueError, OverflowError):
        raise InputError.of(name, given.tolist(), "numbers") from None
    if field.kind is int and not np.array_equal(array, given):
        raise InputError.of(name, given.tolist(), "whole numbers of 64 bits")
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        allowed = f"{field.name} must fit shape {shape}: {', '.join(field.dims)}"
        raise InputError.of(name, f"shape {given.shape}", allowed) from None


# files
