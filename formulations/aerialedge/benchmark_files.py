"""Public benchmark files of vector bin packing: ``.vbp`` and multiple-choice ``.mvp``.

``.vbp``: number of dimensions; capacity in each; number of item types; then per item type its
demand in each dimension and its number of copies.

``.mvp``: number of dimensions; number of bin types; then per bin type its capacities, its cost and
how many there are (-1: no limit); number of item types; then per item type the number of its
incarnations (alternatives, one of which is packed) and its number of copies, followed by the
demands of each incarnation.

Both may be wrapped in ``$INSTANCE { ... };`` with options after it, which say nothing of the
problem and are left aside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from formulations.aerialedge.instance import LARGEST, Instance
from optsched.errors import InputError

MOST_ITEMS = 1_000_000
"""Copies of all items together that an instance may have."""


def load_benchmark(path: str | Path) -> Instance:
    """Read a ``.vbp`` or ``.mvp`` file: one deployment, one job of independent tasks.

    The objective is the number of bins for ``.vbp`` and their cost for ``.mvp``. There are as many
    bins without limit as there are items.

    Raises:
        InputError: the file cannot be read, or says something else than the format.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError.of("file", str(path), f"cannot be read ({error})") from None
    if file.suffix not in (".vbp", ".mvp"):
        raise InputError.of("file", str(path), "a .vbp or .mvp file")
    wrapped = re.search(r"\$INSTANCE\s*\{(.*?)\}", text, re.DOTALL)
    numbers = _Numbers(str(path), (wrapped[1] if wrapped else text).split())
    instance = _vbp(numbers) if file.suffix == ".vbp" else _mvp(numbers)
    numbers.finish()
    return instance


class _Numbers:
    """The whole numbers of a file, one after the other."""

    def __init__(self, name: str, words: list[str]) -> None:
        self.name, self.words, self.at = name, words, 0

    def take(self, what: str, least: int = 0, most: float = LARGEST) -> int:
        where = f"{self.name}, number {self.at + 1} ({what})"
        if self.at >= len(self.words):
            raise InputError.of(where, "end of file", "a whole number")
        word = self.words[self.at]
        self.at += 1
        try:
            value = int(word)
        except ValueError:
            raise InputError.of(where, word, "a whole number") from None
        if not least <= value <= most:
            raise InputError.of(where, value, f"a whole number in {least}..{most:g}")
        return value

    def several(self, what: str, count: int) -> list[int]:
        return [self.take(what) for _ in range(count)]

    def finish(self) -> None:
        if self.at < len(self.words):
            raise InputError.of(
                f"{self.name}, number {self.at + 1}", self.words[self.at], "end of file"
            )


def _vbp(numbers: _Numbers) -> Instance:
    dimensions = numbers.take("dimensions", 1, 1000)
    capacity = numbers.several("capacity", dimensions)
    demand, copies = [], []
    for _ in range(numbers.take("item types", 1, MOST_ITEMS)):
        demand.append(numbers.several("demand", dimensions))
        copies.append(numbers.take("copies", 0, MOST_ITEMS))
    items = _total(numbers, copies)
    return Instance.build(
        demand=np.repeat(demand, copies, axis=0),
        capacity=np.tile(capacity, (items, 1)),
        resources=_dimension_names(dimensions),
    )


def _mvp(numbers: _Numbers) -> Instance:
    dimensions = numbers.take("dimensions", 1, 1000)
    bins = [
        (
            numbers.several("capacity", dimensions),
            numbers.take("cost"),
            numbers.take("quantity", -1),
        )
        for _ in range(numbers.take("bin types", 1, MOST_ITEMS))
    ]
    items = [list(_incarnations(numbers, dimensions)) for _ in range(numbers.take("item types", 1))]
    copies = [item[0][1] for item in items]
    total = _total(numbers, copies)
    task = np.repeat(np.arange(len(items)), copies)
    others = [(t, demand) for t, kind in enumerate(task) for demand, _ in items[kind][1:]]
    count = [total if quantity < 0 else min(quantity, total) for *_, quantity in bins]
    if not sum(count):
        raise InputError.of(numbers.name, "no bins", "at least one bin")
    return Instance.build(
        demand=[items[kind][0][0] for kind in task],
        capacity=np.repeat([capacity for capacity, *_ in bins], count, axis=0),
        node_cost=np.repeat([float(cost) for _, cost, _ in bins], count),
        alternative_task=[t for t, _ in others],
        alternative_demand=np.array([demand for _, demand in others]).reshape(-1, dimensions),
        resources=_dimension_names(dimensions),
        objective="cost",
    )


def _incarnations(numbers: _Numbers, dimensions: int) -> Iterator[tuple[list[int], int]]:
    ways = numbers.take("incarnations", 1)
    copies = numbers.take("copies", 0, MOST_ITEMS)
    for _ in range(ways):
        yield numbers.several("demand", dimensions), copies


def _total(numbers: _Numbers, copies: list[int]) -> int:
    total = sum(copies)
    if not 1 <= total <= MOST_ITEMS:
        raise InputError.of(f"{numbers.name}, copies", total, f"1..{MOST_ITEMS} in all")
    return total


def _dimension_names(dimensions: int) -> tuple[str, ...]:
    return tuple(f"dimension_{d}" for d in range(dimensions))
