"""Instances made of declared fields: built, checked, cut, read and written by the declarations."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, cast, get_args

import numpy as np
import pydantic
from numpy.typing import ArrayLike, NDArray
from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from optsched.arrays import freeze
from optsched.document import Document
from optsched.errors import FieldProblem, InputError
from optsched.fields import (
    Declares,
    Field,
    fields_of,
    per_class,
    problems_of,
    singular,
)

R = TypeVar("R")


class _DocumentType:
    """The pydantic twin of a class, made when first asked for."""

    def __get__(self, thing: Any, cls: type[Declared]) -> type[Document]:
        return document_type(cls)


class Declared(Declares):
    """Base of frozen dataclasses whose fields are declared (``optsched.fields.declare``).

    Every array is read-only, and of the shape, kind and range declared.

    Raises:
        InputError: a field has the wrong shape or a value out of range.
    """

    filled: ClassVar[tuple[str, ...]] = ("jobs",)
    """Dimensions that must have an entry."""
    format: ClassVar[str] = ""
    """What a file says it is."""
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
        return kind(**plain, **more)

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
        problems = list(_ragged(cls, document))
        if problems:
            raise InputError(problems)
        given = {}
        for field in fields_of(cls):
            if field.stored:
                value = _collected(field, document)
                if value is not None:
                    given[field.name] = value
        return given

    def to_document(self) -> Any:
        """The file that gives back this instance."""
        return document_type(type(self)).model_validate(_assembled(self.written()))

    def written(self) -> dict[str, Any]:
        """What a file holds, by path: one value, or one per entry of the lists in the path."""
        return {
            field.file: _plain(field, value)
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
            array: NDArray[Any] = given.astype(field.kind)
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


def exactly(value: Any) -> Fraction:
    """A number, or a text such as "1/3", as the fraction it spells.

    A float stands for its shortest decimal: 0.1 is one tenth.

    Raises:
        ValueError: it is neither, or negative, or not finite.
    """
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction):
        raise ValueError('should be a number, or a text such as "1/3"')
    try:
        fraction = Fraction(repr(value) if isinstance(value, float) else value)
    except (ValueError, ZeroDivisionError):
        raise ValueError('should be a finite number, or a text such as "1/3"') from None
    if fraction < 0:
        raise ValueError("should be greater than or equal to 0")
    return fraction


Rational = Annotated[
    Fraction,
    PlainValidator(exactly),
    PlainSerializer(lambda value: int(value) if value.denominator == 1 else str(value)),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0}, {"type": "string"}]}),
]
"""A non-negative number that is kept exactly."""


@per_class
def document_type(cls: type[Declared]) -> type[Document]:
    """The pydantic class of the files of a class of instances, made from its declarations."""
    tree: dict[str, Any] = {}
    for field in fields_of(cls):
        *outer, leaf = field.file.split(".")
        if not field.derived and not leaf.endswith("[]"):
            inner = tree
            for key in outer:
                inner = inner.setdefault(key, {})
            inner[leaf] = field
    what = {"format": (Literal[cls.format], cls.format), "version": (Literal[1], 1)}
    return _model(cls, "Instance", (cls.__doc__ or "").partition("\n")[0], tree, "", what)


def entry_type(cls: type[Declared], key: str) -> type[Document]:
    """The pydantic class of the entries of a list in a file."""
    return cast("type[Document]", get_args(document_type(cls).model_fields[key].annotation)[0])


def _model(
    cls: type[Declared], name: str, doc: str, tree: dict[str, Any], path: str, known: dict[str, Any]
) -> type[Document]:
    """The pydantic class of an object in a file, and of those inside it."""
    content = dict(known)
    groups = {group.file: group for group in cls.groups.values()}
    for key, inner in tree.items():
        if isinstance(inner, Field):
            content[key] = _entry(inner, cls.filled)
            continue
        at, plain = f"{path}{key}", key.removesuffix("[]")
        title = singular(plain).title().replace(" ", "")
        model = _model(cls, title, groups[at].doc, inner, f"{at}.", {})
        if key == plain:
            content[key] = (model, ...)
        elif groups[at].at_least < 0:
            content[plain] = (list[model], pydantic.Field(default_factory=list))  # type: ignore[valid-type]
        else:
            least = groups[at].at_least or None
            content[plain] = (list[model], pydantic.Field(min_length=least))  # type: ignore[valid-type]
    rule = groups[path.removesuffix(".")].rule if path else None
    checks = {"rule": pydantic.model_validator(mode="after")(rule)} if rule else {}
    return pydantic.create_model(
        f"{name}Document",
        __base__=Document,
        __doc__=doc,
        __module__=cls.__module__,
        __validators__=cast("Any", checks),
        **content,
    )


def _entry(field: Field, filled: tuple[str, ...]) -> tuple[Any, Any]:
    """Type and default of a field in a file, as pydantic takes them."""
    kind = field.kind
    if field.choices:
        kind = Literal[field.choices]
    elif kind is Fraction:
        kind = Rational
    elif kind in (int, float):
        low, high = field.span
        bounds = pydantic.Field(ge=low, gt=field.above, le=high, lt=field.below)
        kind = Annotated[int if field.whole else float, bounds]
    if field.null is not ...:
        kind = kind | None
    inside = 0 if field.in_file_only else len(field.dims) - ("[]" in field.file)
    for _ in range(inside):
        kind = list[kind]  # type: ignore[valid-type]
    least = 1 if "[]" not in field.file and set(field.dims[:1]) & set(filled) else None
    default = field.default if field.file_default is ... else field.file_default
    if field.required:
        default = ...
    elif field.choices and field.kind is int and default is not ...:
        default = field.choices[default]
    elif field.file_default is ... and default is not ... and (inside or default == np.inf):
        default = None
    kind = kind | None if default is None else kind
    return kind, pydantic.Field(default, description=field.description, min_length=least)


def _entries(document: Any, path: str) -> list[tuple[str, Any]]:
    """What stands at a path, one object per entry of the lists in it, each as a file spells it."""
    found = [("", document)]
    for part in filter(None, path.split(".")):
        key = part.removesuffix("[]")
        found = [(f"{where}.{key}".lstrip("."), getattr(thing, key)) for where, thing in found]
        if part != key:
            found = [(f"{at}[{i}]", one) for at, listed in found for i, one in enumerate(listed)]
    return found


def _collected(field: Field, document: Any) -> Any:
    """The value of a field in a file, as ``build`` takes it."""
    if field.file.endswith("[]") and not field.as_read:
        outer = field.file.rpartition("].")[0] + "]"
        key = field.file.removeprefix(f"{outer}.").removesuffix("[]")
        lengths = [len(getattr(one, key)) for _, one in _entries(document, outer)]
        return np.repeat(np.arange(len(lengths)), lengths)
    values: Any = [value for _, value in _entries(document, field.file)]
    if field.null is not ...:
        values = _with(field.null, values)
    if field.choices and field.kind is int:
        values = [field.choices.index(value) for value in values]
    if field.as_read:
        return tuple(values)
    return values if "[]" in field.file else values[0]


def _with(meaning: Any, values: Any) -> Any:
    """Nested lists with what null stands for in its place."""
    if isinstance(values, list):
        return [_with(meaning, value) for value in values]
    return meaning if values is None else values


def _ragged(cls: type[Declared], document: Any) -> Iterator[FieldProblem]:
    """Lists of a file that have not one entry per entry of their dimension."""
    sizes = {dim: int(dim) for field in fields_of(cls) for dim in field.dims if dim.isdigit()}
    for dim, group in cls.groups.items():
        if group.file.endswith("[]"):
            sizes[dim] = len(_entries(document, group.file))
    for field in fields_of(cls):
        if field.derived or field.file.endswith("[]"):
            continue
        lists = "[]" in field.file
        dims = field.dims[lists : 1 if field.in_file_only else None]
        found = _entries(document, field.file) if dims else []
        for dim in dims:
            found = [(at, value) for at, value in found if value is not None]
            if found:
                width = sizes.setdefault(dim, len(found[0][1]))
            for at, value in found:
                if len(value) != width:
                    yield FieldProblem(at, value, f"one entry per {singular(dim)} ({width})")
                    return
            found = [(f"{at}[{i}]", one) for at, value in found for i, one in enumerate(value)]


def _plain(field: Field, value: Any) -> Any:
    """The value of a field as JSON has it."""
    if not isinstance(value, np.ndarray):
        return list(value) if isinstance(value, tuple) else value
    if field.choices:
        return [field.choices[i] for i in value.tolist()]
    if not field.unlimited:
        return value.tolist()
    kind = int if field.whole else float
    plain = np.empty(value.size, dtype=object)
    plain[:] = [None if number == np.inf else kind(number) for number in value.ravel().tolist()]
    return plain.reshape(value.shape).tolist()


def _assembled(columns: dict[str, Any]) -> dict[str, Any]:
    """Decoded JSON from its columns by path."""
    root: dict[str, Any] = {}
    entries: dict[str, Any] = {}
    owners = {path: value for path, value in columns.items() if path.endswith("[]")}
    ready = {path: value for path, value in owners.items() if path.count("[]") == 1}
    for path, value in columns.items():
        prefix, _, leaf = path.rpartition(".")
        if path in owners or prefix in ready:
            continue
        if not prefix:
            root[leaf] = value
            continue
        for entry, one in zip(entries.setdefault(prefix, [{} for _ in value]), value, strict=True):
            entry[leaf] = one
    for path, listed in (entries | ready).items():
        outer, _, key = path.rpartition(".")
        plain = key.removesuffix("[]")
        if not outer:
            root[plain] = listed
        elif key == plain:
            for parent, entry in zip(entries[outer], listed, strict=True):
                parent[plain] = entry
        else:
            for parent in entries[outer]:
                parent[plain] = []
            for owner, entry in zip(owners[path], listed, strict=True):
                entries[outer][owner][plain].append(entry)
    return root
