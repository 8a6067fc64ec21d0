"""The space of candidates: which numbers of an instance's file vary, and over which range.

Candidates are decoded JSON. Sixty generated files show which values vary, in which range, and which
are integers. Values that never vary are structure and stay. If the length of a list varies among
the files, or its entries hold lists of different lengths, all its entries have one range. In other
lists each position has its own range, because positions mean something, such as the delay of a
server.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from optsched.adversary.entries import Entries
from optsched.adversary.pool import Pool, number
from optsched.evaluation.runs import instance_rng
from optsched.instances.document import dumps, parse
from optsched.problem import Problem

SAMPLES = 60
"""Generated instances that tell the ranges."""

Path = tuple[str | int, ...]
"""Where a value stands: keys and positions."""

Key = tuple[str | int, ...]
"""A path with ``LIKE`` for the positions whose entries are alike."""

LIKE = "[]"

RETIMED = 0.15
"""Share of changes that say when jobs come, where that is known."""

TRIES = 5
"""Changes after which a neighbour may be the document itself."""


def leaves(document: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    """Every value that is no list and no object, and where it stands."""
    found: list[tuple[Path, Any]] = []

    def walk(value: Any, path: Path) -> None:
        if isinstance(value, dict):
            for place, inner in value.items():
                walk(inner, (*path, place))
        elif isinstance(value, list):
            for at, inner in enumerate(value):
                walk(inner, (*path, at))
        else:
            found.append((path, value))

    walk(document, path)
    return found


def _differing(before: Any, after: Any, path: Path = ()) -> Iterator[Path | None]:
    """Where values differ; None: where lists or objects do. What is shared is not looked into."""
    if before is after:
        return
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for place, value in before.items():
            yield from _differing(value, after[place], (*path, place))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for i, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _differing(one, other, (*path, i))
    elif isinstance(before, dict | list) or isinstance(after, dict | list):
        yield None
    elif before != after:
        yield path


def at(document: Any, path: Path) -> Any:
    """What stands there."""
    for place in path:
        document = document[place]
    return document


def replaced(document: Any, path: Path, value: Any) -> Any:
    """A copy with another value in one place; the rest is shared."""
    if not path:
        return value
    other: Any = dict(document) if isinstance(document, dict) else list(document)
    other[path[0]] = replaced(document[path[0]], path[1:], value)
    return other


class Space:
    """The instances that a search may look at.

    Args:
        problem: whose instances.
        options: of its generator; with ``jobs`` given, instances of as many jobs or fewer.
    """

    def __init__(self, problem: Problem, options: Mapping[str, Any]) -> None:
        self.problem = problem
        self._keys: dict[Path, Key] = {}
        self.documents = list(_generated(problem, options))
        lengths: dict[Path, set[int]] = {}
        for document in self.documents:
            _measure(document, (), lengths)
        self._alike = {
            path
            for path in lengths
            if any(len(lengths[inner]) > 1 for inner in lengths if inner[: len(path)] == path)
        }
        self.sizes = {path: (min(found), max(found)) for path, found in lengths.items()}
        """Entries of a list, at least and at most, by path."""
        seen: dict[Key, Counter[Any]] = {}
        for document in self.documents:
            for path, value in leaves(document):
                seen.setdefault(self.key(path), Counter())[value] += 1
        self.pools = {key: Pool(tuple(of), min(of.values())) for key, of in seen.items()}
        self._fields = list(dict.fromkeys(_field(key) for key in self.pools if self.pool(key)))
        """Fields that vary, each once: a file may list hundreds of servers."""
        self.entries = Entries(problem.instance_type, self.documents)
        self.lists = [
            dim for dim in self.entries.dims if (self.entries.lists(dim)[0],) in self._alike
        ]
        """Dimensions whose entries are alike."""
        self._arrival = self._arrivals()

    def _arrivals(self) -> Key | None:
        """The field that says when jobs come; None if none does, or jobs never come."""
        if self.problem.arrivals is None:
            return None
        kind, times, some = self.problem.instance_type, self.problem.arrivals.times, range(5)
        wanted = [list(times(parse(kind, self.documents[i]))) for i in some]
        listed = [key for dim in self.lists for key in self.entries.lists(dim)]
        for field in self._fields:
            places = [self._places(self.documents[i], field) for i in some]
            said = [[number(at(self.documents[i], path)) for path in places[i]] for i in some]
            if said == wanted and field[0] in listed:
                return field
        return None

    def key(self, path: Path) -> Key:
        """The like places that a place belongs to."""
        if path not in self._keys:
            self._keys[path] = self._key(path)
        return self._keys[path]

    def _key(self, path: Path) -> Key:
        generic: list[str | int] = []
        wild: list[str | int] = []
        for place in path:
            alike = isinstance(place, int) and tuple(wild) in self._alike
            generic.append(LIKE if alike else place)
            wild.append(LIKE if isinstance(place, int) else place)
        return tuple(generic)

    def pool(self, path: Path) -> Pool | None:
        """What may stand in a place; None if that is unknown, or never varies."""
        found = self.pools.get(self.key(path))
        return found if found is not None and len(found.values) > 1 else None

    def varying(self, document: Any) -> dict[Key, list[Path]]:
        """Where a document may be changed, by like places."""
        places: dict[Key, list[Path]] = {}
        for field in self._fields:
            for path in self._places(document, field):
                places.setdefault(self.key(path), []).append(path)
        return places

    def _places(self, document: Any, field: Key) -> list[Path]:
        """Where a document has a field, and it may be changed."""
        found: list[tuple[Path, Any]] = [((), document)]
        for name in field:
            inner: list[tuple[Path, Any]] = []
            for path, thing in found:
                if name == LIKE and isinstance(thing, list):
                    inner += [((*path, i), entry) for i, entry in enumerate(thing)]
                elif isinstance(thing, dict) and name in thing:
                    inner.append(((*path, name), thing[name]))
            found = inner
        return [
            path for path, value in found if self.pool(path) and not isinstance(value, dict | list)
        ]

    def outside(self, document: Any) -> list[Path]:
        """Where a document holds what no generated one does, as far as ranges tell."""
        return [
            path
            for path, value in leaves(document)
            if (pool := self.pools.get(self.key(path))) is None or not pool.admits(value)
        ]

    # changes

    def mutate(
        self, document: Any, rng: np.random.Generator, dull: Mapping[Key, int] | None = None
    ) -> Any:
        """A neighbour: one change, or a few at once.

        Args:
            document: to change.
            rng: drawn from.
            dull: how often a change of a field made no difference: the more, the rarer it is.
        """
        changed = document
        for _ in range(TRIES):
            for _ in range(int(rng.geometric(0.6))):
                changed = self._change(changed, rng, dull or {})
            if self.problem.repair is not None:
                changed = self.problem.repair(changed)
            if changed != document:
                break
        return changed

    def changed(self, document: Any, other: Any) -> set[Key]:
        """The fields in which two documents differ; none if their lists are not as long."""
        fields = set()
        for path in _differing(document, other):
            if path is None:
                return set()
            fields.add(_field(path))
        return fields

    def _change(self, document: Any, rng: np.random.Generator, dull: Mapping[Key, int]) -> Any:
        if not self._fields:
            return document
        if self._arrival is not None and rng.random() < RETIMED:
            return self._retimed(document, rng)
        weight = np.array([1.0 / (1 + dull.get(field, 0)) for field in self._fields])
        field = self._fields[rng.choice(len(weight), p=weight / weight.sum())]
        paths = self._places(document, field)
        if not paths:
            return document
        path = paths[rng.integers(len(paths))]
        pool, value = self.pool(path), at(document, path)
        assert pool is not None
        what = rng.random()
        if what < 0.25:
            return replaced(document, path, pool.draw(rng))
        if what < 0.55:
            return replaced(document, path, pool.nudge(value, rng))
        if what < 0.75:
            return self._align(document, path, rng)
        if what < 0.80:
            return self._graft(document, path, rng)
        return self._rearrange(document, rng)

    def _graft(self, document: Any, path: Path, rng: np.random.Generator) -> Any:
        """Take what is around a place, such as a row of a table, from a generated file."""
        donor = self.documents[rng.integers(len(self.documents))]
        around = path[: int(rng.integers(1, len(path) + 1))]
        try:
            taken = at(donor, around)
        except (KeyError, IndexError):
            return document
        same = [path for path, _ in leaves(taken)] == [
            path for path, _ in leaves(at(document, around))
        ]
        return replaced(document, around, taken) if same else document

    def _align(self, document: Any, path: Path, rng: np.random.Generator) -> Any:
        """Take the value of a like place, swap with it, or move all from there on alike."""
        key, value = self.key(path), at(document, path)
        places = self._places(document, _field(path))
        like = [other for other in places if other != path and self.key(other) == key]
        if not like:
            return document
        other = like[rng.integers(len(like))]
        what = rng.random()
        if what < 0.4:
            return replaced(document, path, at(document, other))
        if what < 0.7:
            document = replaced(document, path, at(document, other))
            return replaced(document, other, value)
        return self._shifted(document, path, like, rng)

    def _shifted(
        self, document: Any, path: Path, like: Sequence[Path], rng: np.random.Generator
    ) -> Any:
        """Move a number, and those of like places that are no smaller, by the same."""
        pool, value = self.pools[self.key(path)], at(document, path)
        moved = pool.nudge(value, rng)
        old, new = number(value), number(moved)
        if old is None or new is None:
            return document
        for place in like:
            there = number(at(document, place))
            if there is not None and there >= old:
                document = replaced(document, place, pool.nearest(there + new - old))
        return replaced(document, path, moved)

    def _retimed(self, document: Any, rng: np.random.Generator) -> Any:
        """Let a job come several times at once, or again when another does, or later ones move."""
        assert self._arrival is not None
        dim = next(one for one in self.lists if self._arrival[0] in self.entries.lists(one))
        places = self._places(document, self._arrival)
        if not places:
            return document
        i, k = rng.integers(len(places), size=2).tolist()
        what = rng.random()
        if what < 0.4:
            most = self.sizes[(self.entries.lists(dim)[0],)][1]
            for _ in range(int(rng.geometric(0.5))):
                if self.entries.size(document, dim) < most:
                    document = self.entries.repeat(document, dim, i)
                else:
                    k = int(rng.integers(most))
                    document = self.entries.put(document, dim, k, document, i)
            return document
        if what < 0.7:
            copied = self.entries.put(document, dim, k, document, i)
            return replaced(copied, places[k], at(document, places[k]))
        return self._shifted(document, places[i], places, rng)

    def _rearrange(self, document: Any, rng: np.random.Generator) -> Any:
        """Copy an entry over another of its list, take one of another file, drop or repeat one."""
        if not self.lists:
            return document
        dim = self.lists[rng.integers(len(self.lists))]
        count = self.entries.size(document, dim)
        if not count:
            return document
        what, i = rng.random(), int(rng.integers(count))
        fewest, most = self.sizes[(self.entries.lists(dim)[0],)]
        if what < 0.2:
            return self.entries.without(document, dim, i) if count > fewest else document
        if what < 0.4:
            return self.entries.repeat(document, dim, i) if count < most else document
        donor = document if what < 0.7 else self.documents[rng.integers(len(self.documents))]
        there = self.entries.size(donor, dim)
        if not there:
            return document
        changed = self.entries.put(document, dim, i, donor, int(rng.integers(there)))
        if donor is not document:
            return changed
        own = [
            path
            for key in self.entries.lists(dim)
            for path, _ in leaves(changed[key][i], (key, i))
            if self.pool(path)
        ]  # a copy that differs in one place, such as its time
        if not own:
            return changed
        path = own[rng.integers(len(own))]
        return replaced(changed, path, self.pools[self.key(path)].nudge(at(changed, path), rng))


def _field(path: Path) -> Key:
    """A path without its positions."""
    return tuple(LIKE if isinstance(place, int) else place for place in path)


def _measure(document: Any, path: Path, lengths: dict[Path, set[int]]) -> None:
    if isinstance(document, list):
        lengths.setdefault(path, set()).add(len(document))
        for entry in document:
            _measure(entry, (*path, LIKE), lengths)
    elif isinstance(document, dict):
        for key, entry in document.items():
            _measure(entry, (*path, key), lengths)


def _generated(problem: Problem, options: Mapping[str, Any]) -> Iterator[Any]:
    """Documents of generated instances, every other one with fewer jobs where that can be asked."""
    for seed in range(SAMPLES):
        call = problem.generator_call(options)
        if seed % 2 and isinstance(call.get("jobs"), int):
            call["jobs"] = 1 + seed // 2 % call["jobs"]
        instance = problem.generate(instance_rng(seed), **call)
        yield json.loads(dumps(instance))
