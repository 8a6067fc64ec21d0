"""Random statements that choose: sets, all different, tours, semi-continuous, soft."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from support.drawing import Drawing
from support.recipe import Affine


def _special_ordered(d: Drawing, name: str, size: int) -> dict[str, Any]:
    order, width = int(name[3]), d.count(2, 4)
    entries = [[d.affine(max_terms=1) for _ in range(size)] for _ in range(width)]
    for place in range(size):
        begin = d.count(0, max(0, width - order))
        for j, column in enumerate(entries):
            if not begin <= j < begin + order:
                column[place][0] -= d.at(column[place])
    return {"entries": entries}


def _all_different(d: Drawing, name: str, size: int) -> dict[str, Any]:
    entries: list[list[Affine]] = [[] for _ in range(d.count(2, 3))]
    for _ in range(size):
        seen: set[float] = set()
        for column in entries:
            terms = d.affine(max_terms=1, whole=True)
            while d.at(terms) in seen:
                terms[0] += 1
            seen.add(d.at(terms))
            column.append(terms)
    return {"entries": entries}


def _tour(d: Drawing, name: str, size: int) -> dict[str, Any]:
    """Arcs of their own: a planted tour, or two of routes, and others at random."""
    nodes = d.count(2, 4)
    order = [int(v) for v in 1 + d.rng.permutation(nodes - 1)]
    skipped = [order.pop()] if d.rng.random() < 0.3 else []
    ends = [[0, *order, 0]] if order else []
    if name.startswith("routes") and d.rng.random() < 0.5:
        ends = [[0, v, 0] for v in order]
    planted = [pair for tour in ends for pair in itertools.pairwise(tour)]
    planted += [(v, v) for v in skipped]
    if name.startswith("circuit") and not order:
        planted.append((0, 0))
    others = [] if ends else [(0, 1)]
    while len(planted) + len(others) < 5:
        tail, head = d.count(0, nodes - 1), d.count(0, nodes - 1)
        if tail or head or name.startswith("circuit"):
            others.append((tail, head))
    arcs = [(pair, 1.0) for pair in planted] + [(pair, 0.0) for pair in others]
    arcs = [arcs[i] for i in d.rng.permutation(len(arcs))]
    block, count = f"{name}:go", len(arcs)
    d.variables.append(
        {"name": block, "kind": "binary", "lower": [0] * count, "upper": [1] * count}
    )
    for i, (_, at) in enumerate(arcs):
        d.own((block, i), 0, 1, at, True)
    tails, heads = ([pair[end] for pair, _ in arcs] for end in (0, 1))
    return {"arcs": [[block, i] for i in range(count)], "tails": tails, "heads": heads}


def _semicontinuous(d: Drawing, name: str, size: int) -> dict[str, Any]:
    whole = not d.continuous or d.rng.random() < 0.5
    lower = [float(d.count(-3, 2) if whole else d.number(-3, 2)) for _ in range(size)]
    upper = [low + d.count(0, 2) for low in lower]
    for i, (low, high) in enumerate(zip(lower, upper, strict=True)):
        at = 0.0 if d.rng.random() < 0.5 else low + d.count(0, int(high - low))
        d.own((name, i), min(low, 0.0), max(high, 0.0), at, whole)
    return {"lower": lower, "upper": upper, "whole": whole}


def _soft(d: Drawing, name: str, size: int) -> dict[str, Any]:
    """Rows with a side at most three short of what they may reach, so that little is given up."""
    rows = [d.affine(whole=not d.continuous) for _ in range(size)]
    below, whole = bool(d.rng.random() < 0.5), all(map(d.is_whole, rows))
    sides, amounts = [], []
    for row in rows:
        low, high = d.range(row)
        room = d.count(0, min(3, int(high - low)))
        side = low + room if below else high - room
        sides.append(side)
        amounts.append((room, max(0.0, side - d.at(row) if below else d.at(row) - side)))
    for i, (room, at) in enumerate(amounts):
        d.own((name, i), 0.0, float(room), at, whole)
    none: list[float | None] = [None] * size
    lower, upper = (sides, none) if below else (none, sides)
    return {"rows": rows, "lower": lower, "upper": upper}


CHOICES: dict[str, Callable[[Drawing, str, int], dict[str, Any]]] = {
    "sos1": _special_ordered,
    "sos2": _special_ordered,
    "all_different": _all_different,
    "circuit": _tour,
    "routes": _tour,
    "semicontinuous": _semicontinuous,
    "soft": _soft,
}
OWN_VARIABLES = ("circuit", "routes", "semicontinuous", "soft", "no_overlap")
"""Kinds that bring variables which are free to choose."""
