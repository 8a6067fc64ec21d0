"""Declarations of an instance's fields: shape, unit, range, meaning, the paper's symbol.

A class of instances declares every field once. ``optsched.instances.declared`` derives from it how
an instance is built, checked, read and written; the table of fields is made here.
``fields_of(Instance)`` returns the declarations.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from operator import attrgetter
from typing import (
    Any,
    ClassVar,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import NDArray

from optsched.errors import FieldProblem

LARGEST_WHOLE = 1_000_000_000
"""What a whole number may be where its declaration does not say: products of two stay exact."""
LARGEST_NUMBER = 1e30
"""What a number may be where its declaration does not say: sums and products stay finite."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field of an instance, in a file and in Python.

    A path spells where a file has it: ``jobs[].upload_delay`` is the list ``upload_delay`` of
    every entry of the list ``jobs``. The first axis of an array counts the entries of all lists
    with ``[]`` in its path together, the others lists inside them.
    """

    name: str = ""
    """As an attribute of the instance."""
    file: str = ""
    """Its path in a file; empty: it has none."""
    dims: tuple[str, ...] = ()
    """What each axis counts; none: one value."""
    kind: Any = float
    """float, int, bool, str, Fraction; of what only files have, any type pydantic knows."""
    in_file_only: bool = False
    """Whether the instance keeps something derived from it instead."""
    derived: bool = False
    """Whether a file says it in other words, at this path if one is named."""
    whole: bool = False
    """Whether only whole numbers make sense, whatever they are stored as."""
    meaning: str = ""
    symbol: str = ""
    """The paper's."""
    unit: str = ""
    note: str = ""
    """What else a reader of the format must know."""
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None
    index_of: str = ""
    """Dimension whose entries it names by position."""
    choices: tuple[str, ...] = ()
    """Words a file may hold; an array of integers holds their positions."""
    default: Any = ...
    """Value where nothing is given."""
    null: Any = ...
    """What null stands for in a file; an infinite value is written as null."""
    required: bool = False
    """Whether a file must say it although there is a default."""
    file_default: Any = ...
    """Value where a file says nothing, if that is not ``default``."""

    @cached_property
    def numeric(self) -> bool:
        """Whether it has a range."""
        return self.kind in (int, float) and not self.choices

    @cached_property
    def unlimited(self) -> bool:
        """Whether it may be infinite."""
        return isinstance(self.null, float) and bool(np.isinf(self.null))

    @cached_property
    def stored(self) -> bool:
        """Whether a file has it as the instance does."""
        return not (self.in_file_only or self.derived)

    @property
    def label(self) -> str:
        """What a refusal of the whole calls it."""
        return self.name if not self.file or self.file.endswith("[]") else self.file

    @cached_property
    def as_read(self) -> bool:
        """Whether it keeps entries of a file as they were read."""
        return self.file.endswith("[]") and self.kind is not int

    @property
    def allowed(self) -> str:
        """What may stand here, as a sentence's end."""
        low, high = self.span
        signs = ((">=", low), (">", self.above), ("<", self.below))
        sides = [f"{sign} {side:.12g}" for sign, side in signs if side is not None]
        if self.below is None:
            sides.append(f"<= {high:.12g}")
        what = "an integer " if self.whole else "a finite number "
        return what + " and ".join(sides) + ", or infinite" * self.unlimited

    @cached_property
    def span(self) -> tuple[float | None, float]:
        """Least and greatest value, open ends aside."""
        if self.at_most is not None:
            return self.at_least, self.at_most
        return self.at_least, LARGEST_WHOLE if self.whole else LARGEST_NUMBER

    @property
    def description(self) -> str:
        """Meaning, symbol, unit and note in one line."""
        said = " ".join(filter(None, (self.meaning, self.symbol)))
        said += f", in {self.unit}" if self.unit else ""
        return "; ".join(filter(None, (said, self.note)))

    def value(self, thing: Any) -> Any:
        """The value an instance has."""
        return attrgetter(self.name)(thing)

    def refused(self, value: NDArray[Any]) -> NDArray[np.bool_]:
        """Which numbers are out of range."""
        low, high = self.span
        good = value <= high
        if low is not None:
            good &= value >= low
        if self.above is not None:
            good &= value > self.above
        if self.below is not None:
            good &= value < self.below
        if self.whole and value.dtype.kind == "f":
            good &= value == np.rint(value)
        return ~(good | np.isposinf(value)) if self.unlimited else ~good


def declare(*dims: str, repr: bool = True, **facts: Any) -> Any:
    """A field of a class of instances.

    The path in a file is its name, in the list that its first dimension counts if there is one.

    Args:
        dims: what each axis counts; none for a single value.
        repr: whether printing an instance shows it.
        facts: what ``Field`` knows.
    """
    field = Field(dims=dims, **facts)
    default = field.default if not dims or field.default is None else ...
    extra: dict[str, Any] = {} if default is ... else {"default": default}
    return dataclasses.field(kw_only=True, repr=repr, metadata={"field": field}, **extra)


def in_file(dim: str, kind: Any, **facts: Any) -> Any:
    """A field that only files have, one per entry of a dimension.

    Args:
        dim: what it is said of.
        kind: its type; any that pydantic knows.
        facts: what ``Field`` knows.
    """
    return Field(dims=(dim,), kind=kind, in_file_only=True, **facts)


@dataclass(frozen=True)
class Group:
    """Entries of a list in a file, or an object inside an entry."""

    file: str
    """Path; ends with ``[]`` if it is a list."""
    doc: str
    """What one entry is."""
    at_least: int = 1
    """Entries a file must have; -1: the list may be left out."""
    rule: Callable[[Any], None] | None = None
    """Raises ValueError where an entry contradicts itself."""


class Declares:
    """Base of classes with declared fields: keeps the declarations in order."""

    groups: ClassVar[dict[str, Group]] = {}
    """Lists of a file by the dimension they count, and objects inside their entries."""
    own_fields: ClassVar[dict[str, Field]] = {}
    filled: ClassVar[tuple[str, ...]] = ("jobs",)
    """Dimensions that must have an entry."""
    format: ClassVar[str] = ""
    """What a file says it is."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.own_fields = {}
        for name, value in list(cls.__dict__.items()):
            if isinstance(value, Field):
                cls.own_fields[name] = value
                delattr(cls, name)
            elif isinstance(value, dataclasses.Field) and "field" in value.metadata:
                cls.own_fields[name] = value.metadata["field"]


T = TypeVar("T")


def per_class(make: Callable[[Any], T]) -> Callable[[Any], T]:
    """A function of a class that is worked out once for each."""
    return cast("Callable[[Any], T]", cache(make))


@per_class
def fields_of(cls: type[Declares]) -> tuple[Field, ...]:
    """The declarations of a class of instances, in the order of its files."""
    hints = get_type_hints(cls)
    found: list[Field] = []
    for base in reversed(cls.__mro__):
        for name, field in base.__dict__.get("own_fields", {}).items():
            part = hints.get(name)
            if isinstance(part, type) and issubclass(part, Declares):
                found += [
                    dataclasses.replace(inner, name=f"{name}.{inner.name}")
                    for inner in fields_of(part)
                ]
            else:
                found.append(_completed(name, field, part, cls.groups))
    return tuple(found)


def _completed(name: str, field: Field, hint: Any, groups: dict[str, Group]) -> Field:
    """A declaration with all that follows from where it stands."""
    kind, choices = (field.kind, field.choices) if field.in_file_only else _kind(hint)
    group = groups.get(field.dims[0]) if field.dims else None
    path = f"{group.file}.{name}" if group else name
    return dataclasses.replace(
        field,
        name=name,
        kind=kind,
        choices=choices or field.choices,
        whole=field.whole or kind is int,
        file=field.file or path * (not field.derived),
        at_least=0 if field.index_of else field.at_least,
    )


def _kind(hint: Any) -> tuple[Any, tuple[str, ...]]:
    """Type of one entry, and the words it may be."""
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(part for part in get_args(hint) if part is not type(None))
    if get_origin(hint) is Literal:
        return str, get_args(hint)
    if get_origin(hint) is tuple:
        return get_args(hint)[0], ()
    if get_origin(hint) in (np.ndarray, NDArray):  # an alias of its own from numpy 2.5 on
        scalar = get_args(hint)[-1]
        scalar = next(iter(get_args(scalar)), scalar)  # what an array's data type is one of
        return {np.int64: int, np.float64: float, np.bool_: bool}[scalar], ()
    return hint, ()


def located(cls: type[Declares], thing: Any, field: Field, index: tuple[int, ...]) -> str:
    """One entry of a field as a file spells it: ``jobs[2].worker_demand[0]``."""
    lists, rest = field.file.count("[]"), list(index)
    if not field.file or field.file.endswith("[]"):
        return field.name + "".join(f"[{i}]" for i in index)
    if lists == 2:
        owner = owner_of(cls, field.file.rpartition(".")[0]).value(thing)
        outer = int(owner[rest[0]])
        rest[:1] = [outer, int((owner[: rest[0]] == outer).sum())]
    parts = field.file.split("[]")
    spelled = parts[0] + "".join(f"[{i}]{p}" for i, p in zip(rest, parts[1:], strict=False))
    return spelled + "".join(f"[{i}]" for i in rest[lists:])


def owner_of(cls: type[Declares], prefix: str) -> Field:
    """The field that says in which entry of the outer list each entry of an inner one stands."""
    return next(field for field in fields_of(cls) if field.file == prefix)


def refused(
    thing: Any, name: str, bad: NDArray[np.bool_], allowed: str, *, most: int = 3
) -> Iterator[FieldProblem]:
    """The first entries of a declared field that cannot be accepted, spelled as in a file.

    Args:
        thing: what has the field.
        name: of the field.
        bad: which entries: in the field's shape, or of its first axes.
        allowed: what may stand there.
        most: entries named.
    """
    if bad.any():
        (field,) = (one for one in fields_of(type(thing)) if one.name == name)
        values = field.value(thing)
        for index in map(tuple, np.argwhere(bad)[:most].tolist()):
            value = values[index] if isinstance(values, np.ndarray) else str(values[index[0]])
            plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
            yield FieldProblem(located(type(thing), thing, field, index), plain, allowed)


def problems_of(thing: Declares, filled: tuple[str, ...]) -> Iterator[FieldProblem]:
    """Entries of the wrong shape, or else out of their range.

    Args:
        thing: an instance.
        filled: dimensions that must have an entry.
    """
    listed = [(one, one.value(thing)) for one in fields_of(type(thing)) if not one.in_file_only]
    listed = [(field, value) for field, value in listed if value is not None]
    shapes = {
        field.name: value.shape if isinstance(value, np.ndarray) else (len(value),)
        for field, value in listed
        if field.dims
    }
    sizes: dict[str, int] = {}
    for field, _ in listed:
        for dim, size in zip(field.dims, shapes.get(field.name, ()), strict=False):
            sizes.setdefault(dim, int(dim) if dim.isdigit() else size)
    wrong = False
    for field, _ in listed:
        wanted = tuple(map(sizes.__getitem__, field.dims))
        if field.dims and shapes[field.name] != wanted:
            wrong = True
            allowed = f"{field.name} has shape {wanted}: {', '.join(field.dims)}"
            yield FieldProblem(field.label, f"shape {shapes[field.name]}", allowed)
    for dim in filled:
        if not sizes[dim]:
            wrong = True
            first = next(field for field, _ in listed if dim in field.dims)
            yield FieldProblem(first.label, [], f"at least one {singular(dim)}")
    if not wrong:
        for field, value in listed:
            yield from _out_of_range(thing, field, value, sizes)


def _out_of_range(
    thing: Any, field: Field, value: Any, sizes: dict[str, int]
) -> Iterator[FieldProblem]:
    if field.choices and field.kind is str and value not in field.choices:
        yield FieldProblem(field.file, value, "must be one of " + ", ".join(field.choices))
    if not field.numeric:
        return
    if field.index_of:
        field = dataclasses.replace(field, at_most=sizes[field.index_of] - 1)
    bad = field.refused(np.asarray(value))
    if not bad.any():
        return
    allowed = field.allowed
    if field.index_of:
        allowed = f"position of one of the {field.index_of.replace('_', ' ')}, 0..{field.at_most}"
    if isinstance(value, np.ndarray):
        yield from refused(thing, field.name, bad, allowed)
    else:
        yield FieldProblem(field.file, value, allowed)


def singular(dim: str) -> str:
    """The name of one entry of a dimension."""
    return dim.removesuffix("s").replace("_", " ")


def field_table(cls: type[Declares]) -> str:
    """The fields as a table in Markdown, one row each, in the order of files."""
    rows = [("in a file", "in Python", "shape", "range", "unit", "default", "symbol", "meaning")]
    for field in fields_of(cls):
        if field.as_read:
            continue
        shown = "" if field.in_file_only else f"`{field.name}`"
        default = "" if field.default is ... else f"{field.default}"
        span = field.allowed if field.numeric else ", ".join(field.choices)
        if field.index_of:
            span = f"position of one of the {field.index_of.replace('_', ' ')}"
        meaning = "; ".join(filter(None, (field.meaning, field.note)))
        rows.append(
            (f"`{field.file}`" if field.file else "", shown, " x ".join(field.dims), span,
             field.unit, default, field.symbol, meaning)
        )  # fmt: skip
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    lines.insert(1, "|" + " --- |" * len(rows[0]))
    return "\n".join(lines)
