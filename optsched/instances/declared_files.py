"""The files of declared instances: their pydantic classes, and columns from and to JSON."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Any, Literal, cast, get_args

import numpy as np
import pydantic
from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from optsched.errors import FieldProblem
from optsched.instances.document import Document
from optsched.instances.fields import Declares, Field, fields_of, per_class, singular


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
def document_type(cls: type[Declares]) -> type[Document]:
    """The pydantic class of the files of a class of instances, made from its declarations.

    What it reads cannot be changed: lists of a file are tuples.
    """
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


def entry_type(cls: type[Declares], key: str) -> type[Document]:
    """The pydantic class of the entries of a list in a file."""
    return cast("type[Document]", get_args(document_type(cls).model_fields[key].annotation)[0])


def _model(
    cls: type[Declares], name: str, doc: str, tree: dict[str, Any], path: str, known: dict[str, Any]
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
            content[plain] = (tuple[model, ...], ())  # type: ignore[valid-type]
        else:
            least = groups[at].at_least or None
            content[plain] = (tuple[model, ...], pydantic.Field(min_length=least))  # type: ignore[valid-type]
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
        kind = tuple[kind, ...]  # type: ignore[valid-type]
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


def collected(field: Field, document: Any) -> Any:
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
    if isinstance(values, list | tuple):
        return [_with(meaning, value) for value in values]
    return meaning if values is None else values


def ragged(cls: type[Declares], document: Any) -> Iterator[FieldProblem]:
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


def plain(field: Field, value: Any) -> Any:
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


def assembled(columns: dict[str, Any]) -> dict[str, Any]:
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
