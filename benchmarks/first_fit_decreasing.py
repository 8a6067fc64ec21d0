"""How bad first-fit decreasing can be for packing vectors: searched for exactly, by a solver.

A model whose solutions are instances: sizes, a packing into few bins, and the packing into many
that first-fit decreasing makes. What a solver finds is replayed by the product; where it finds
nothing, there is none among instances of so many items whose sizes are whole parts of the bin.

    python benchmarks/first_fit_decreasing.py            # half a minute
    python benchmarks/first_fit_decreasing.py --larger   # optima 3 and 4 as well, two minutes
"""

from __future__ import annotations

import argparse
import time
from typing import Literal

import numpy as np

from formulations.aerialedge.construct import first_fit_decreasing
from formulations.aerialedge.instance import Integers
from formulations.aerialedge.vector_packing import VectorPacking
from optsched import Model, solve

Key = Literal["sum", "max"]
"""By what items are sorted: the sum of their sizes in both resources, or the larger (the product's
own)."""


def adversary(items: int, optimum: int, bins: int, part: int, key: Key) -> Model:
    """Instances that fit into ``optimum`` bins, and that first-fit decreasing puts into ``bins``.

    Args:
        items: with two sizes each, in the order they are placed.
        optimum: bins that are enough.
        bins: that are opened.
        part: size of a bin; those of items are whole.
        key: of the order.
    """
    m = Model("worst instances of first-fit decreasing")
    size = m.integer("size", shape=(items, 2), upper=part)
    packed = m.binary("packed", shape=(items, optimum))
    placed = m.binary("placed", shape=(items, bins))
    for label, where in (("packed", packed), ("placed", placed)):
        m.add(f"{label} once", where.sum(axis=1) == 1)
        for d in range(2):
            load = m.product(where, size[:, [d] * where.shape[1]], name=f"{label} {d}")
            m.add(f"{label} fits {d}", load.sum(axis=0) <= part)
    m.add("every bin", placed[-1, -1] == 1)
    m.add("first", placed[0, 0] == 1)
    for label, where in (("packed", packed), ("placed", placed)):  # bins by their first item
        for b in range(1, where.shape[1]):
            for i in range(items):
                m.add(f"{label} {b} after {b - 1}: {i}", where[i, b] <= where[:i, b - 1].sum())
    m.add("volume", size.sum(axis=0) <= optimum * part)
    m.add("resources", size[0, 0] >= size[0, 1])
    by = size.sum(axis=1)
    if key == "max":
        by, first = m.integer("larger", shape=items, upper=part), m.binary("first", shape=items)
        for d in range(2):
            m.add(f"at least {d}", by >= size[:, d])
            m.indicator(first, by <= size[:, d], active=d == 0, name=f"at most {d}")
    m.add("decreasing", by[:-1] >= by[1:])
    for i in range(1, items):  # an item in a later bin would not have fit into this one
        for b in range(bins - 1):
            full = m.binary(f"full {i} {b}", shape=2)
            m.add(f"not fit {i} {b}", full.sum() >= placed[i, b + 1 :].sum())
            for d in range(2):
                load = sum((m[f"placed {d}"][j, b] for j in range(i)), start=size[i, d])
                m.indicator(full[d], load >= part + 1, name=f"over {i} {b} {d}")
    m.minimize(0 * size[0, 0])
    return m


def replayed(size: Integers, part: int, key: Key) -> int:
    """Bins that the product's first-fit decreasing opens."""
    items = len(size)
    each = np.arange(items)
    packing = VectorPacking(
        size=size, type_of_option=each, number=np.ones(items, dtype=np.int64),
        capacity=np.array([[part, part]]), available=np.array([items]), weight=np.array([1]),
        weight_unit=1.0, tasks=tuple(each[:, None]), nodes=(np.arange(items),),
    )  # fmt: skip
    by = size.sum(axis=1).astype(float) if key == "sum" else None  # whole: ties stay ties
    bins = first_fit_decreasing(packing, key=by)
    return 0 if bins is None else len(bins)


RUNS: tuple[tuple[int, int, int, int, Key], ...] = (
    (5, 2, 4, 12, "sum"),
    (6, 2, 4, 12, "sum"),
    (7, 2, 4, 10, "max"),
    (8, 2, 4, 10, "max"),
)
"""(items, bins that are enough, bins opened, size of a bin, key)."""

LARGER: tuple[tuple[int, int, int, int, Key], ...] = ((9, 3, 6, 12, "sum"), (12, 4, 8, 12, "sum"))


def main() -> None:
    """Print a line per run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--larger", action="store_true", help="optima 3 and 4 as well")
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds of each solve")
    arguments = parser.parse_args()
    print("items  optimum  opened  part  key  seconds  answer")
    for run in (*RUNS, *LARGER) if arguments.larger else RUNS:
        items, optimum, bins, part, key = run
        began = time.perf_counter()
        answer = solve(adversary(*run), solver="cpsat", time_limit=arguments.time_limit)
        seconds = time.perf_counter() - began
        said = str(answer.status)
        if answer.has_point:
            size = np.round(answer["size"]).astype(np.int64)
            said = f"{size.tolist()}, replayed: {replayed(size, part, key)} bins"
        print(f"{items:>5}  {optimum:>7}  {bins:>6}  {part:>4}  {key}  {seconds:>7.1f}  {said}")


if __name__ == "__main__":
    main()
