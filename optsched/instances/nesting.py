"""Lists of a file from flat tables: entries inside entries, and entries that name others by key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from optsched.errors import InputError
from optsched.instances.columns import meant
from optsched.instances.fields import Declares, Field, fields_of, singular

_SEPARATORS = re.compile(r"[\s;,|]+")


@dataclass(frozen=True)
class ListFields:
    """One list of a file, and the fields of its entries by the names that columns have."""

    name: str
    path: str = ""
    """Where a file has it, such as ``jobs[].tasks[]``; empty: a file has a list per field."""
    fields: dict[str, Field] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The column by which other tables name its entries."""
        return singular(self.name).replace(" ", "_")

    @property
    def outer(self) -> str:
        """The list whose entries hold it, or nothing."""
        return self.path.rpartition(".")[0].removesuffix("[]")

    @property
    def outer_key(self) -> str:
        """The column that names the entry of the outer list, or nothing."""
        return ListFields(self.outer).key if self.outer else ""

    @cached_property
    def columns(self) -> list[str]:
        """The names that a column may have."""
        names = dict.fromkeys([*self.fields, self.key, self.outer_key])
        return [name for name in names if name]

    def beside(self, leaf: str) -> bool:
        """Whether a file has the field as a separate list."""
        return not self.path or (leaf in self.fields and "[]" not in self.fields[leaf].file)


@dataclass
class Entries:
    """Entries of one list as they were given, with the names that messages have for them."""

    rows: list[dict[str, Any]]
    lines: list[str] = field(default_factory=list)
    """Lines of a file, one per row; empty: it came from none."""

    def place(self, name: str, index: int) -> str:
        """How a message names an entry."""
        return self.lines[index] if self.lines else f"{name}[{index}]"


def lists_of(cls: type[Declares]) -> dict[str, ListFields]:
    """Return the lists that a file of a class of instances has, by the names that tables have."""
    found: dict[str, ListFields] = {}
    for one in fields_of(cls):
        if not one.dims or not one.file or one.derived or one.file.endswith("[]"):
            continue
        prefix, bracket, leaf = one.file.rpartition("[].")
        name = prefix.rpartition(".")[2] if bracket else one.dims[0]
        known = found.setdefault(name, ListFields(name))
        if bracket and not known.path:
            known = found[name] = ListFields(name, f"{prefix}[]", known.fields)
        known.fields[leaf] = one
    return found


def joined(lists: Mapping[str, ListFields], found: dict[str, Entries]) -> dict[str, Any]:
    """Return what a file holds of the lists, each entry inside that which its key names.

    Args:
        lists: of the class.
        found: the entries of each list that is given; their keys are removed from them.

    Raises:
        InputError: a key that no entry has, or two.
    """
    for name in [name for name in found if lists[name].outer]:
        _complete(lists, found, name)
    keys = {name: _keys(lists[name], entries) for name, entries in found.items()}
    owners = {
        name: _owners(lists[name], entries, keys[lists[name].outer])
        for name, entries in found.items()
        if lists[name].outer
    }
    for name, entries in found.items():
        for leaf, one in lists[name].fields.items():
            if one.index_of in found:
                _resolve(entries, name, leaf, one, keys[one.index_of], owners.get(name))
    content: dict[str, Any] = {}
    for name, entries in found.items():
        content |= _beside(lists[name], entries)
        if lists[name].path and not lists[name].outer:
            content[name] = entries.rows
    for name, owner in owners.items():
        outer = found[lists[name].outer].rows
        for row in outer:
            row[name] = []
        for row, at in zip(found[name].rows, owner, strict=True):
            outer[at][name].append(row)
    return content


def places(lists: Mapping[str, ListFields], found: Mapping[str, Entries]) -> dict[str, str]:
    """Return the line of every entry of a file by the name that the file has for it."""
    said: dict[str, str] = {}
    for name, entries in found.items():
        listed = lists[name]
        at = {id(row): f"{name}[{i}]" for i, row in enumerate(entries.rows)}
        if listed.outer in found:
            for j, owner in enumerate(found[listed.outer].rows):
                inner = owner.get(name, ())
                at |= {id(r): f"{listed.outer}[{j}].{name}[{i}]" for i, r in enumerate(inner)}
        for i, (row, line) in enumerate(zip(entries.rows, entries.lines, strict=False)):
            said[at[id(row)]] = line
            beside = filter(listed.beside, listed.fields)
            said |= {f"{leaf}[{i}]": f"{line}, {leaf}" for leaf in beside}
    return said


def _complete(lists: Mapping[str, ListFields], found: dict[str, Entries], name: str) -> None:
    """Make the outer list from the keys that its inner list names, if it is not given."""
    outer, key = lists[name].outer, lists[name].outer_key
    if outer not in found:
        named = dict.fromkeys(str(row[key]) for row in found[name].rows if key in row)
        found[outer] = Entries([{lists[outer].key: one} for one in named] or [{}])


def _keys(listed: ListFields, entries: Entries) -> list[str | None]:
    """Remove the keys from the entries of a list, and return them."""
    if listed.key in listed.fields:
        return [None] * len(entries.rows)
    found = [row.pop(listed.key, None) for row in entries.rows]
    return [None if key is None else str(key) for key in found]


def _owners(listed: ListFields, entries: Entries, keys: Sequence[str | None]) -> list[int]:
    """The position in the outer list of each entry."""
    key = listed.outer_key
    if len(keys) == 1 and not any(key in row for row in entries.rows):
        return [0] * len(entries.rows)
    found = []
    for i, row in enumerate(entries.rows):
        place = f"{entries.place(listed.name, i)}, {key}"
        if key not in row:
            raise InputError.of(place, "(missing)", f"one of the {listed.outer}")
        named = row.pop(key)
        at = _position(named, keys, place, listed.outer)
        if not isinstance(at, int) or not 0 <= at < len(keys):
            allowed = f"the position of one of the {listed.outer}, 0..{len(keys) - 1}"
            raise InputError.of(place, named, allowed)
        found.append(at)
    return found


def _resolve(
    entries: Entries,
    name: str,
    leaf: str,
    one: Field,
    keys: Sequence[str | None],
    owners: Sequence[int] | None,
) -> None:
    """Put positions in the place of keys; an inner list counts within its owner."""
    within = owners if one.index_of == name else None
    for i, row in enumerate(entries.rows):
        if row.get(leaf) is None:
            continue
        near = keys
        if within is not None:
            near = [key for key, owner in zip(keys, within, strict=True) if owner == within[i]]
        place = f"{entries.place(name, i)}, {leaf}"
        if one.kind is int:
            row[leaf] = _position(row[leaf], near, place, one.index_of)
        else:
            row[leaf] = [_position(v, near, place, one.index_of) for v in _several(row[leaf], near)]


def _several(value: Any, keys: Sequence[str | None]) -> list[Any]:
    """The keys or positions in a cell: a list, one of them, or several with blanks between."""
    if isinstance(value, list):
        return value
    if not isinstance(value, str) or value in keys:
        return [value]
    words = filter(None, _SEPARATORS.split(value))
    return [int(word) if word.isdecimal() and word not in keys else word for word in words]


def _position(value: Any, keys: Sequence[str | None], place: str, of: str) -> Any:
    """The position of an entry that is named by key, or else by position."""
    text = str(value).strip()
    known = [key for key in keys if key is not None]
    times = known.count(text)
    if times == 1:
        return keys.index(text)
    if times:
        raise InputError.of(place, value, f"the key of one of the {of}, not of {times}")
    if isinstance(value, str) or any(key.isdecimal() for key in known):
        shown = ", ".join(known[:10]) + ", ..." * (len(known) > 10)
        allowed = f"the key of one of the {of}: {shown or 'which have none'}"
        raise InputError.of(place, value, allowed + meant(text, known))
    return value


def _beside(listed: ListFields, entries: Entries) -> Iterator[tuple[str, list[Any]]]:
    """Remove the lists that stand beside the lists of entries from the rows, and return them."""
    leaves = list(dict.fromkeys(leaf for row in entries.rows for leaf in row))
    for leaf in filter(listed.beside, leaves):
        yield leaf, [row.pop(leaf, None) for row in entries.rows]
