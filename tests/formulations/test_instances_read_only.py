"""Whatever an instance hands out, nobody can write into it: methods share one instance."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from fractions import Fraction
from functools import cache, cached_property
from types import MappingProxyType, NoneType
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from optsched.instances.declared import Declared
from optsched.instances.document import PlainDocument, dumps, parse
from optsched.problem import problems

VALUES = (NoneType, bool, int, float, str, Fraction, np.generic)
ENTRIES = {"kept": [0]}
"""Arguments of methods; others are 1 or, where they name an entry by its position, 0."""
POSITIONS = {"j", "job", "node", "server", "deployment"}


def writable(value: Any, at: str) -> Iterator[str]:
    """What can be changed in a value, all that is inside it included."""
    if isinstance(value, np.ndarray):
        if value.flags.writeable:
            yield at
    elif isinstance(value, tuple | frozenset):
        for k, part in enumerate(value):
            yield from writable(part, f"{at}[{k}]")
    elif isinstance(value, list | dict):
        with pytest.raises(TypeError):
            value.clear()
        yield from writable(tuple(value.values() if isinstance(value, dict) else value), at)
    elif isinstance(value, MappingProxyType):
        yield from writable(tuple(value.values()), at)
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from writable(getattr(value, name), f"{at}.{name}")
    elif is_dataclass(value) and type(value).__dataclass_params__.frozen:  # type: ignore[union-attr]
        yield from handed_out(value, at)
    elif isinstance(value, Iterator):
        yield from writable(tuple(value), at)
    elif not isinstance(value, VALUES):
        yield f"{at}, a {type(value).__name__}"


def handed_out(thing: Any, at: str) -> Iterator[str]:
    """What can be changed of the attributes of a thing, and of what its methods return."""
    if isinstance(thing, BaseModel):
        yield from writable(thing, at)
        return
    kind = type(thing)
    properties = (
        name
        for name, value in inspect.getmembers_static(kind)
        if isinstance(value, property | cached_property)
    )
    for name in {*vars(thing), *properties}:
        yield from writable(getattr(thing, name), f"{at}.{name}")
    for name, method in inspect.getmembers_static(kind, inspect.isfunction):
        if name.startswith("_") or hasattr(Declared, name):
            continue
        asked = [*inspect.signature(method).parameters][1:]
        given = {one: ENTRIES.get(one, int(one not in POSITIONS)) for one in asked}
        made = getattr(thing, name)(**given)
        if not isinstance(made, kind):  # its own methods would be called without an end
            yield from writable(made, f"{at}.{name}()")


@cache
def generated(paper: str) -> Any:
    problem = problems()[paper]
    sizes = {"jobs": 3} if "jobs" in problem.generator_options.model_fields else {}
    return problem.generate(np.random.default_rng(5), **sizes)


WAYS: dict[str, Callable[[Any], Any]] = {
    "generated": lambda thing: thing,
    "read from a file": lambda thing: parse(type(thing), json.loads(dumps(thing))),
    "sent to another process": lambda thing: pickle.loads(pickle.dumps(thing)),
    "copied in depth": copy.deepcopy,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("paper", problems())
def test_nobody_can_write_into_what_an_instance_hands_out(paper: str, way: str) -> None:
    instance = WAYS[way](generated(paper))
    assert list(handed_out(instance, "instance")) == []
    assert list(handed_out(instance, "instance")) == []  # of what was worked out before, too


def test_lists_and_dicts_of_an_instance_in_plain_data_refuse_to_be_written() -> None:
    class Jobs(PlainDocument):
        times: list[list[int]]
        names: dict[str, list[int]]

    jobs = Jobs(times=[[3], [1]], names={"a": [1]})
    for one in (jobs, pickle.loads(pickle.dumps(jobs.times)), copy.deepcopy(jobs)):
        times = one.times if isinstance(one, Jobs) else one
        assert times == [[3], [1]]
        with pytest.raises(TypeError, match="cannot be changed"):
            times[0][0] = 9
        with pytest.raises(TypeError, match="cannot be changed"):
            times.sort()
    with pytest.raises(TypeError, match="cannot be changed"):
        jobs.names["a"].append(2)
    with pytest.raises(TypeError, match="cannot be changed"):
        jobs.names.update(b=[])
    mine = copy.deepcopy(jobs.times)
    mine[0][0] = 9
    assert jobs.times == [[3], [1]]
    assert json.loads(dumps(jobs))["times"] == [[3], [1]]


@pytest.mark.parametrize("paper", problems())
def test_a_part_of_an_instance_is_read_only_as_well(paper: str) -> None:
    instance = generated(paper)
    if hasattr(instance, "select_jobs"):
        assert list(handed_out(instance.select_jobs(np.array([0, 2])), "part")) == []


def test_dividing_the_useful_workers_of_an_instance_in_place_is_refused() -> None:
    room = generated("okita").useful_workers
    with pytest.raises(ValueError, match="read-only"):
        room //= 2


def test_what_can_be_written_is_seen() -> None:
    seen = list(writable((np.arange(2), {1}, bytearray(1)), "x"))
    assert seen == ["x[0]", "x[1], a set", "x[2], a bytearray"]
