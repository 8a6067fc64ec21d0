"""Random small models of every kind of block, few enough points to enumerate.

Statements may refer to the results of earlier ones, so that kinds are nested in each other. Most
sides are chosen so that one planted point stays feasible; some are not, and models without any
point come up as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from support.drawing import Drawing
from support.random_choices import CHOICES, OWN_VARIABLES
from support.random_tasks import TASKS
from support.recipe import STATEMENTS, Affine, Recipe, build

from optsched.errors import InputError
from optsched.model import Model

_OTHERS = ("rotated_cone", "cumulative", "cumulative_profile")
RANDOM_KINDS = tuple(k for k in STATEMENTS if k not in _OTHERS)
"""What is drawn by default; "interval" includes a cumulative."""

_MOST_POINTS = 2000
"""Integer points from which on nothing is drawn that brings variables of its own."""


def random_model(rng: np.random.Generator, **settings: Any) -> Model:
    """A random small model; settings as for ``random_recipe``."""
    return build(random_recipe(rng, **settings))


def random_recipe(
    rng: np.random.Generator,
    *,
    kinds: Sequence[str] = RANDOM_KINDS,
    continuous: bool = False,
    fractional: bool = False,
    statements: int = 3,
) -> Recipe:
    """A random small model as plain data.

    Args:
        rng: source of randomness.
        kinds: of statement, each as likely as the others; a linear block comes on top.
        continuous: with one or two continuous variables, which products, maxima, indicators and
            rows may touch.
        fractional: with coefficients, sides and tables in quarters (and tenths where all
            variables are integer), not only whole numbers.
        statements: at most so many.

    Raises:
        InputError: an unknown kind.
    """
    for kind in kinds:
        if kind not in STATEMENTS:
            raise InputError.of("kinds", kind, "must be among " + ", ".join(STATEMENTS))
    draw = Drawing(rng, continuous, fractional)
    drawn = [str(rng.choice(kinds)) for _ in range(int(rng.integers(1, statements + 1)))]
    for kind in drawn + ["linear"] * int(rng.integers(0, 3)):
        if kind in OWN_VARIABLES and draw.points > _MOST_POINTS:
            kind = "linear"
        name = f"{kind}{len(draw.statements)}"
        statement = _DRAWERS[kind](draw, name, draw.count(1, 2))
        draw.statements.append({"kind": kind, "name": name, **statement})
    return {
        "variables": draw.variables,
        "statements": draw.statements,
        "objective": draw.affine(max_terms=5, over=draw.atoms()),
        "maximise": bool(rng.random() < 0.5),
    }


def _linear(d: Drawing, name: str, size: int) -> dict[str, Any]:
    rows = [d.affine(max_terms=3) for _ in range(size)]
    lower, upper = d.sides(rows)
    return {"rows": rows, "lower": lower, "upper": upper}


def _indicator(d: Drawing, name: str, size: int) -> dict[str, Any]:
    count = d.count(1, 2)
    return {
        "literals": [d.literals(size) for _ in range(count)],
        "active": [bool(d.rng.random() < 0.6) for _ in range(count)],
        **_linear(d, name, size),
    }


def _product(d: Drawing, name: str, size: int) -> dict[str, Any]:
    if d.rng.random() < 0.5:
        left = [d.binary(atom) for atom in d.literals(size)]
    else:
        left = [d.affine(whole=True) for _ in range(size)]
    right = [d.affine() for _ in range(size)]
    if d.rng.random() < 0.5:
        left, right = right, left
    values = [d.at(a) * d.at(b) for a, b in zip(left, right, strict=True)]
    corners = [
        [p * q for p in d.range(a) for q in d.range(b)] for a, b in zip(left, right, strict=True)
    ]
    whole = all(d.is_whole(t) for t in (*left, *right))
    d.result(name, values, [(min(c), max(c)) for c in corners], whole)
    return {"left": left, "right": right}


def _index(d: Drawing, size: int, length: int) -> list[Affine]:
    """Places in a list, the planted ones almost always within it."""
    index = []
    for _ in range(size):
        terms = d.affine(max_terms=1, whole=True)
        # most points of its range lie in the list
        shift = -d.range(terms)[0] if d.rng.random() < 0.6 else -d.at(terms) + d.count(0, 1)
        index.append([terms[0] + shift, *terms[1:]])
    return index


def _table(d: Drawing, name: str, size: int) -> dict[str, Any]:
    length = d.count(2, 6)
    values = [d.number(-4, 4) for _ in range(length)]
    index = _index(d, size, length)
    at = [int(np.clip(d.at(t), 0, length - 1)) for t in index]
    whole = all(float(v).is_integer() for v in values)
    d.result(name, [values[i] for i in at], [(min(values), max(values))] * size, whole)
    return {"values": values, "index": index}


def _active_slot(d: Drawing, name: str, size: int) -> dict[str, Any]:
    last = name.startswith("last")
    width = d.count(1, 4)
    activity = [[d.binary(a) for a in d.literals(size)] for _ in range(width)]
    slots, times = None, [float(t) for t in range(width)]
    if d.rng.random() < 0.5:
        times = [round(float(t), 2) for t in np.cumsum([d.count(1, 3) * d.step] * width)]
        slots = times
    empty = None
    outside = times[0] - 1 if last else times[-1] + 1
    if d.rng.random() < 0.4:
        outside = empty = times[0] - d.count(0, 2) if last else times[-1] + d.count(0, 2)
    values = []
    for entry in range(size):
        on = [t for t, column in zip(times, activity, strict=True) if d.at(column[entry]) == 1]
        values.append((on[-1] if last else on[0]) if on else outside)
    spread = (outside, times[-1]) if last else (times[0], outside)
    whole = all(float(t).is_integer() for t in (*times, outside))
    d.result(name, values, [spread] * size, whole)
    return {"activity": activity, "slots": slots, "empty": empty}


def _extremum(d: Drawing, name: str, size: int) -> dict[str, Any]:
    arguments = [[d.affine() for _ in range(size)] for _ in range(d.count(1, 3))]
    pick = max if name.startswith("maximum") else min
    columns = list(zip(*arguments, strict=True))
    values = [pick(d.at(t) for t in column) for column in columns]
    spreads = [[d.range(t) for t in column] for column in columns]
    ranges = [(pick(low for low, _ in s), pick(high for _, high in s)) for s in spreads]
    d.result(name, values, ranges, all(d.is_whole(t) for a in arguments for t in a))
    return {"arguments": arguments}


def _absolute(d: Drawing, name: str, size: int) -> dict[str, Any]:
    of = [d.affine() for _ in range(size)]
    ranges = [(0.0, max(map(abs, d.range(t)))) for t in of]
    d.result(name, [abs(d.at(t)) for t in of], ranges, all(map(d.is_whole, of)))
    return {"of": of}


def _rotated_cone(d: Drawing, name: str, size: int) -> dict[str, Any]:
    u, v = ([d.affine(whole=True) for _ in range(size)] for _ in range(2))
    w = [[d.affine(whole=True) for _ in range(size)] for _ in range(d.count(1, 2))]
    for entry in range(size):
        squares = sum(d.at(part[entry]) ** 2 for part in w)
        v[entry][0] += max(0.0, 1 - d.at(v[entry]))
        u[entry][0] += max(0.0, np.ceil(squares / d.at(v[entry])) - d.at(u[entry]))
    return {"u": u, "v": v, "w": w}


def _element(d: Drawing, name: str, size: int) -> dict[str, Any]:
    array = [d.affine() for _ in range(d.count(2, 3))]
    index = _index(d, size, len(array))
    ranges = [d.range(t) for t in array]
    at = [d.at(array[int(np.clip(d.at(t), 0, len(array) - 1))]) for t in index]
    ends = min(low for low, _ in ranges), max(high for _, high in ranges)
    d.result(name, at, [ends] * size, all(map(d.is_whole, array)))
    return {"array": array, "index": index}


def _piecewise(d: Drawing, name: str, size: int) -> dict[str, Any]:
    of = [d.affine(max_terms=1) for _ in range(size)]
    gaps = [d.count(1, 2) for _ in range(d.count(1, 3))]  # powers of two: exact in floats
    first = np.floor(d.at(of[0])) - d.count(0, sum(gaps) - 1)
    points = [float(first + sum(gaps[:i])) for i in range(len(gaps) + 1)]
    values = [d.number(-4, 4) for _ in points]
    at = [float(np.interp(d.at(t), points, values)) for t in of]
    d.result(name, at, [(min(values), max(values))] * size, False)
    return {"of": of, "points": points, "values": values}


def _power(d: Drawing, name: str, size: int) -> dict[str, Any]:
    small = [a for a in d.atoms(whole=True) if max(-d.low[a], d.high[a]) <= 4]
    of: list[Affine] = []
    for _ in range(size):
        sign = 1.0 if d.rng.random() < 0.7 else -1.0
        of.append([float(d.count(-1, 1)), [sign, *small[d.count(0, len(small) - 1)]]])
    exponent = d.count(2, 3)
    ranges = []
    for terms in of:
        low, high = d.range(terms)
        ends = sorted((low**exponent, high**exponent))
        ranges.append((0.0 if exponent == 2 and low < 0 < high else ends[0], ends[1]))
    d.result(name, [d.at(t) ** exponent for t in of], ranges, True)
    return {"of": of, "exponent": exponent}


def _ratio(d: Drawing, name: str, size: int) -> dict[str, Any]:
    """Divisors are 1 or 2 where an exact linear program may follow."""
    most = 1 if d.continuous else 4
    over = [a for a in d.atoms(whole=True) if d.high[a] - d.low[a] <= most]
    left, right = [d.affine() for _ in range(size)], []
    for _ in range(size):
        atom = over[d.count(0, len(over) - 1)]
        sign = 1.0 if d.rng.random() < 0.7 else -1.0
        right.append([sign * (1 - d.low[atom]), [sign, *atom]])
    corners = [
        [p / q for p in d.range(a) for q in d.range(b)] for a, b in zip(left, right, strict=True)
    ]
    values = [d.at(a) / d.at(b) for a, b in zip(left, right, strict=True)]
    d.result(name, values, [(min(c), max(c)) for c in corners], False)
    return {"left": left, "right": right}


_DRAWERS: dict[str, Callable[[Drawing, str, int], dict[str, Any]]] = {
    "linear": _linear,
    "indicator": _indicator,
    "product": _product,
    "table": _table,
    "last_active": _active_slot,
    "first_active": _active_slot,
    "maximum": _extremum,
    "minimum": _extremum,
    "absolute": _absolute,
    "rotated_cone": _rotated_cone,
    "element": _element,
    "piecewise": _piecewise,
    "power": _power,
    "ratio": _ratio,
    **CHOICES,
    **TASKS,
}
