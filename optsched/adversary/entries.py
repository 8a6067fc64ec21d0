"""Remove an entry from the lists of an instance's file, or add one, consistently everywhere.

The field declarations tell which lists have an entry per job, which lists inside others do, and
which numbers name a job by its position.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any, NamedTuple

from optsched.instances.fields import Declares, Field, fields_of


class EntryPlace(NamedTuple):
    """Where a file has an entry per entry of a dimension."""

    key: str
    """At the top."""
    inner: tuple[str, ...] | None
    """Below every entry of the list there; None: the list itself."""
    axis: int
    """How deep within lists."""

    @property
    def whole(self) -> bool:
        """Whether it is a list at the top of the file, one entry for each."""
        return self.inner is None and self.axis == 0


class Entries:
    """The dimensions of a file that can be made shorter and longer.

    Args:
        kind: of instances; one without declared fields has none.
        documents: files that tell what is there.
    """

    def __init__(self, kind: type[Any], documents: Sequence[Any]) -> None:
        fields = fields_of(kind) if issubclass(kind, Declares) else ()
        there = {key for document in documents for key in document}
        self._fields = [
            field
            for field in fields
            if not field.derived and field.file.count("[]") < 2 and _top(field) in there
        ]
        places: dict[str, list[EntryPlace]] = {}
        for dim, place in (found for field in self._fields for found in _places(field)):
            if place not in places.setdefault(dim, []):
                places[dim].append(place)
        self._places = {dim: of for dim, of in places.items() if any(p.whole for p in of)}

    @property
    def dims(self) -> list[str]:
        """Dimensions that a list at the top of the file counts."""
        return list(self._places)

    def lists(self, dim: str) -> list[str]:
        """The keys of those lists."""
        return [place.key for place in self._places[dim] if place.whole]

    def size(self, document: Any, dim: str) -> int:
        """Entries of a dimension."""
        return len(document.get(self.lists(dim)[0]) or ())

    def put(self, document: Any, dim: str, i: int, donor: Any, k: int) -> Any:
        """The document with an entry of another in place of one of its own."""
        taken = {key: copy.deepcopy(donor[key][k]) for key in self.lists(dim)}
        return document | {
            key: [*document[key][:i], entry, *document[key][i + 1 :]]
            for key, entry in taken.items()
        }

    def repeat(self, document: Any, dim: str, i: int) -> Any:
        """The document with an entry twice, the second time at the end."""
        return document | {
            key: [*document[key], copy.deepcopy(document[key][i])] for key in self.lists(dim)
        }

    def without(self, document: Any, dim: str, i: int) -> Any:
        """The document without an entry, and without all that names it by position."""
        document = copy.deepcopy(document)
        for field in self._fields:
            if field.index_of == dim and field.dims:
                document = self._renumbered(document, field, i)
        for place in self._places[dim]:
            for listed in _at(document, place):
                _drop(listed, place.axis, i)
        return document

    def _renumbered(self, document: Any, field: Field, i: int) -> Any:
        """Positions after an entry that goes, one less; entries that name it go too."""
        prefix, _, key = field.file.partition("[].")
        if prefix not in document:
            return document
        listed, going = document[prefix], []
        for k, entry in enumerate(listed):
            position = entry.get(key) if key else entry
            if position == i:
                going.append(k)
            elif isinstance(position, int) and position > i:
                owner, at = (entry, key) if key else (listed, k)
                owner[at] = position - 1
        for k in reversed(going):
            document = self.without(document, field.dims[0], k)
        return document


def _top(field: Field) -> str:
    return field.file.partition("[]")[0].partition(".")[0]


def _places(field: Field) -> Iterator[tuple[str, EntryPlace]]:
    """Where a field has an entry per entry of each of its dimensions."""
    prefix, nested, rest = field.file.partition("[]")
    if "." in prefix:
        return
    for axis, dim in enumerate(field.dims):
        if not nested or axis == 0:
            yield dim, EntryPlace(prefix, None, axis)
        else:
            yield dim, EntryPlace(prefix, tuple(rest.lstrip(".").split(".")), axis - 1)


def _at(document: Any, place: EntryPlace) -> Iterator[Any]:
    """The lists that are there."""
    found = document.get(place.key)
    for owner in () if found is None else [found] if place.inner is None else found:
        listed = reduce(lambda at, key: (at or {}).get(key), place.inner or (), owner)
        if listed is not None:
            yield listed


def _drop(listed: Any, axis: int, i: int) -> None:
    if axis == 0:
        del listed[i]
        return
    for inner in listed:
        _drop(inner, axis - 1, i)
