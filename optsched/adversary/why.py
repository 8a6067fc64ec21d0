"""Explain a heuristic's loss by the ratio after single changes of the case."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from optsched.adversary.judging import ANY, Judge, Score
from optsched.adversary.space import LIKE, Path, Space, at, replaced
from optsched.problem import Problem


@dataclass(frozen=True)
class Change:
    """The ratio after one change."""

    kind: Literal["option", "entry", "value"]
    change: str
    """Such as "start_rule='any'", "without job 2", "jobs[0].num_chunks: 27 -> 12"."""
    ratio_low: float | None
    """None if there is no ratio then: the instance is none, or the heuristic fails."""
    ratio_high: float | None = None
    cost: float | None = None


def why(judge: Judge, space: Space, document: Any) -> list[Change]:
    """Each option flipped, each entry of a list left out, each value made typical.

    Args:
        judge: of the case's heuristic.
        space: of the instances it was found among.
        document: the instance, as decoded JSON.

    Returns:
        Those first after which the least of the loss is left.
    """
    judge = _other(judge, judge.heuristic)  # a change need not be one that a generator makes
    changes = [
        *_options(judge, document),
        *_entries(judge, space, document),
        *_values(judge, space, document),
    ]
    return sorted(changes, key=lambda one: (one.ratio_low is None, one.ratio_low))


def _change(kind: Any, what: str, score: Score | None) -> Change:
    if score is None:
        return Change(kind, what, None)
    return Change(kind, what, score.low, score.high, score.cost)


def _options(judge: Judge, document: Any) -> Iterator[Change]:
    for call, what in () if judge.heuristic == ANY else flipped(judge.problem, judge.heuristic):
        yield _change("option", what, _other(judge, call).document(document))


def _other(judge: Judge, call: str) -> Judge:
    """A judge of any candidates, of another heuristic."""
    return type(judge)(
        judge.problem, call, reference=judge.reference, options=judge.options, seeds=judge.seeds
    )


def flipped(problem: Problem, heuristic: str) -> Iterator[tuple[str, str]]:
    """Calls with one option of few values set otherwise, and what was set."""
    chosen, given = problem.heuristic(heuristic)
    parameters = list(inspect.signature(chosen.run).parameters.values())[2:]
    hints = _hints(chosen.run)
    for parameter in parameters:
        now = given.get(parameter.name, parameter.default)
        for value in _few(hints.get(parameter.name)):
            if value != now:
                options = {**given, parameter.name: value}
                listed = ", ".join(f"{name}={one!r}" for name, one in options.items())
                yield f"{chosen.name}({listed})", f"{parameter.name}={value!r}"


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Types of a function's arguments; none if they cannot be told."""
    function = getattr(function, "func", function)
    try:
        return get_type_hints(inspect.unwrap(function))
    except (TypeError, NameError):
        return {}


def _few(hint: Any) -> tuple[Any, ...]:
    """All values of an option that has but a few."""
    if hint is bool:
        return (False, True)
    if get_origin(hint) is Literal:
        return get_args(hint)
    if get_origin(hint) in (Union, types.UnionType):
        return tuple(value for part in get_args(hint) for value in _few(part))
    return ()


def _entries(judge: Judge, space: Space, document: Any) -> Iterator[Change]:
    for dim in space.entries.dims:
        count = space.entries.size(document, dim)
        for i in range(count) if count > 1 else ():
            score = judge.document(space.entries.without(document, dim, i))
            yield _change("entry", f"without {dim.removesuffix('s')} {i}", score)


def _values(judge: Judge, space: Space, document: Any) -> Iterator[Change]:
    """Like values together: a table that a person reads has a line per field, not per number."""
    for key, paths in space.varying(document).items():
        typical = space.pools[key].typical
        if len(paths) > 1:
            candidate = document
            for path in paths:
                candidate = replaced(candidate, path, typical)
            yield _change("value", f"{spelled(key)} -> {typical}", judge.document(candidate))
        for path in paths:
            old = at(document, path)
            if old != typical:
                score = judge.document(replaced(document, path, typical))
                yield _change("value", f"{spelled(path)}: {old} -> {typical}", score)


def spelled(path: Path) -> str:
    """A place as errors spell it: ``jobs[2].num_chunks``."""
    text = ""
    for place in path:
        if place == LIKE:
            text += LIKE
        elif isinstance(place, int):
            text += f"[{place}]"
        else:
            text += f".{place}" if text else str(place)
    return text
