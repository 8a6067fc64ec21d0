"""Refuse plans with the same instance twice, which would make intervals too narrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from optsched.errors import FieldProblem, InputError
from optsched.study.plan import Plan, StudyGrid, listed, plan


def plan_of_distinct(grids: Sequence[StudyGrid]) -> Plan:
    """The plan of some grids; see ``plan``.

    Raises:
        InputError: what ``plan`` refuses, or an instance that a grid has twice.
    """
    problems: list[FieldProblem] = []
    grids = [replace(grid, seeds=listed(grid.seeds)) for grid in grids]  # read more than once
    for number, grid in enumerate(grids):
        place = f"grid[{number}]." if len(grids) > 1 else ""
        problems += [replace(one, field=place + one.field) for one in repeated(grid)]
    if problems:
        raise InputError(problems)
    whole = plan(grids)
    known = Counter((case.grid, case.name, case.seed) for case in whole.cases)
    for (_, name, _), times in known.items():
        if times > 1:  # "3" and "3.0" may be one value
            raise InputError.of("instance", name, "given once, however its options are written")
    return whole


def repeated(grid: StudyGrid) -> Iterator[FieldProblem]:
    """Lists of a grid with nothing in them, and what stands in one twice."""
    seeds = listed(grid.seeds)
    yield from _refused("seeds", seeds, seeds)
    for name, values in (grid.generator or {}).items():
        yield from _refused(name, list(values), values)
    if grid.files:
        places = [str(Path(file).resolve()) for file in grid.files]
        yield from _refused("files", places, [str(file) for file in grid.files])


def _refused(field: str, values: list[Any], written: Sequence[Any]) -> Iterator[FieldProblem]:
    if not values:
        yield FieldProblem(field, [], "one value or more")
    known: set[Hashable] = set()  # seeds may be a hundred thousand
    for i, value in enumerate(values):
        key = _key(value)
        if key in known:
            yield FieldProblem(f"{field}[{i}]", written[i], "given once: it is there before")
            return
        known.add(key)


def _key(value: object) -> Hashable:
    """What equal values have in common; one that cannot be hashed is known by its text."""
    try:
        hash(value)
    except TypeError:
        return type(value), repr(value)
    return value
