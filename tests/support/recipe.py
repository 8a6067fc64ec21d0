"""Small models as plain data: drawn at random, shrunk, stored as JSON, built again.

A recipe lists variable blocks, statements and an objective. An affine expression is
``[constant, [coefficient, name, index], ...]``; every statement holds a list of entries, one per
element of the block it makes, so arrays are exercised and not only scalars.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from optsched.model import Expression, Model, Relation
from optsched.model.blocks import Intervals

Affine = list[Any]
Recipe = dict[str, Any]
"""``{"variables": [...], "statements": [...], "objective": affine, "maximise": bool}``."""


def build(recipe: Mapping[str, Any]) -> Model:
    """The model a recipe describes."""
    m = Model("recipe")
    tasks: dict[str, Intervals] = {}
    for v in recipe["variables"]:
        lower, upper = [_end(s, -1) for s in v["lower"]], [_end(s, 1) for s in v["upper"]]
        make = {"binary": m.integer, "integer": m.integer, "continuous": m.continuous}[v["kind"]]
        make(v["name"], len(lower), lower=lower, upper=upper)
    for s in recipe["statements"]:
        _STATEMENTS[s["kind"]](m, s, tasks)
    objective = affine(m, recipe["objective"])
    m.maximize(objective) if recipe["maximise"] else m.minimize(objective)
    return m


def affine(m: Model, terms: Affine) -> Expression:
    """One affine expression, shape ()."""
    total = m.stack(terms[0]).sum()
    for coefficient, name, index in terms[1:]:
        total = total + float(coefficient) * m[name][index]
    return total


def vector(m: Model, entries: Sequence[Affine]) -> Expression:
    """Several, shape (entries,)."""
    return m.stack(*(affine(m, terms) for terms in entries))


def plain(m: Model, literals: Sequence[Sequence[Any]]) -> Expression:
    """Entries of one variable block, nothing added: ``[[name, index], ...]``."""
    return m[literals[0][0]][[index for _, index in literals]]


def _end(side: float | None, sign: int) -> float:
    return sign * math.inf if side is None else float(side)


def _relation(m: Model, s: Mapping[str, Any]) -> Relation:
    lower, upper = [_end(v, -1) for v in s["lower"]], [_end(v, 1) for v in s["upper"]]
    return vector(m, s["rows"]).between(lower, upper)


def _linear(m: Model, s: Mapping[str, Any], _: dict[str, Intervals]) -> None:
    m.add(s["name"], _relation(m, s))


def _indicator(m: Model, s: Mapping[str, Any], _: dict[str, Intervals]) -> None:
    literals = [plain(m, one) for one in s["literals"]]
    m.indicator(literals, _relation(m, s), active=s["active"], name=s["name"])


def _product(m: Model, s: Mapping[str, Any], _: dict[str, Intervals]) -> None:
    m.product(vector(m, s["left"]), vector(m, s["right"]), name=s["name"])


def _table(m: Model, s: Mapping[str, Any], _: dict[str, Intervals]) -> None:
    m.table(s["values"], vector(m, s["index"]), name=s["name"])


def _active_slot(m: Model, s: Mapping[str, Any], _: dict[str, Intervals]) -> None:
    activity = m.stack(*(vector(m, column) for column in s["activity"]))  # slots last
    state = m.last_active if s["kind"] == "last_active" else m.first_active
    state(activity, s["slots"], empty=s["empty"], name=s["name"])


def _extremum(m: Model, s: Mapping[str, Any], _: dict[str, Intervals]) -> None:
    state = m.maximum if s["kind"] == "maximum" else m.minimum
    arguments = [vector(m, a) for a in s["arguments"]]
    state(m.stack(*arguments) if len(arguments) == 1 else arguments[0], *arguments[1:],
          name=s["name"])  # fmt: skip


def _absolute(m: Model, s: Mapping[str, Any], _: dict[str, Intervals]) -> None:
    m.absolute(vector(m, s["of"]), name=s["name"])


def _rotated_cone(m: Model, s: Mapping[str, Any], _: dict[str, Intervals]) -> None:
    w = m.stack(*(vector(m, part) for part in s["w"]))
    m.rotated_cone(vector(m, s["u"]), vector(m, s["v"]), w, name=s["name"])


def _interval(m: Model, s: Mapping[str, Any], tasks: dict[str, Intervals]) -> None:
    presence = None if s["presence"] is None else plain(m, s["presence"])
    parts = [vector(m, s[word]) for word in ("start", "duration", "end")]
    tasks[s["name"]] = m.interval(*parts, presence=presence, name=s["name"])


def _cumulative(m: Model, s: Mapping[str, Any], tasks: dict[str, Intervals]) -> None:
    demand, capacity = vector(m, s["demand"]), affine(m, s["capacity"])
    m.cumulative(tasks[s["tasks"]], demand, capacity, name=s["name"])


def _profile(m: Model, s: Mapping[str, Any], tasks: dict[str, Intervals]) -> None:
    capacity = affine(m, s["capacity"])
    m.cumulative_profile(tasks[s["tasks"]], s["demand"], capacity, name=s["name"])


def _entries(m: Model, s: Mapping[str, Any], _: dict[str, Intervals]) -> None:
    state = getattr(m, s["kind"])  # the entries of each in the last axis
    state(m.stack(*(vector(m, column) for column in s["entries"])), name=s["name"])


def _tour(m: Model, s: Mapping[str, Any], _: dict[str, Intervals]) -> None:
    state = m.circuit if s["kind"] == "circuit" else m.routes
    state(plain(m, s["arcs"]), s["tails"], s["heads"], name=s["name"])


def _semicontinuous(m: Model, s: Mapping[str, Any], _: dict[str, Intervals]) -> None:
    state = m.semi_integer if s["whole"] else m.semicontinuous
    lower, upper = [_end(v, -1) for v in s["lower"]], [_end(v, 1) for v in s["upper"]]
    state(s["name"], len(lower), lower=lower, upper=upper)


def _soft(m: Model, s: Mapping[str, Any], _: dict[str, Intervals]) -> None:
    m.soft(s["name"], _relation(m, s))


def _element(m: Model, s: Mapping[str, Any], _: dict[str, Intervals]) -> None:
    m.element(vector(m, s["array"]), vector(m, s["index"]), name=s["name"])


def _piecewise(m: Model, s: Mapping[str, Any], _: dict[str, Intervals]) -> None:
    m.piecewise(vector(m, s["of"]), s["points"], s["values"], name=s["name"])


def _power(m: Model, s: Mapping[str, Any], _: dict[str, Intervals]) -> None:
    m.power(vector(m, s["of"]), s["exponent"], name=s["name"])


def _ratio(m: Model, s: Mapping[str, Any], _: dict[str, Intervals]) -> None:
    m.ratio(vector(m, s["left"]), vector(m, s["right"]), name=s["name"])


def _precedence(m: Model, s: Mapping[str, Any], tasks: dict[str, Intervals]) -> None:
    first, then, lag = tasks[s["first"]], tasks[s["then"]], vector(m, s["lag"])
    m.precedence(first, then, lag, from_=s["from"], to=s["to"], name=s["name"])


def _alternative(m: Model, s: Mapping[str, Any], tasks: dict[str, Intervals]) -> None:
    ways = s["ways"]
    parts = [vector(m, ways[word]).reshape(1, -1) for word in ("start", "duration", "end")]
    there = plain(m, ways["presence"]).reshape(1, -1)
    several = m.interval(*parts, presence=there, name=ways["name"])
    m.alternative(tasks[s["task"]], several, name=s["name"])


def _no_overlap(m: Model, s: Mapping[str, Any], _: dict[str, Intervals]) -> None:
    m.no_overlap(vector(m, s["start"]), s["lengths"], s["setup"], name=s["name"])


_STATEMENTS: dict[str, Callable[[Model, Mapping[str, Any], dict[str, Intervals]], None]] = {
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
    "interval": _interval,
    "cumulative": _cumulative,
    "cumulative_profile": _profile,
    "sos1": _entries,
    "sos2": _entries,
    "all_different": _entries,
    "circuit": _tour,
    "routes": _tour,
    "semicontinuous": _semicontinuous,
    "soft": _soft,
    "element": _element,
    "piecewise": _piecewise,
    "power": _power,
    "ratio": _ratio,
    "precedence": _precedence,
    "alternative": _alternative,
    "no_overlap": _no_overlap,
}
STATEMENTS = tuple(_STATEMENTS)
"""Kinds of statement a recipe may hold."""
