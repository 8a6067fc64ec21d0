"""The smallest recipe that still shows what a large one showed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from support.recipe import Recipe

from optsched.errors import ModelError


def shrink(recipe: Mapping[str, Any], shows: Callable[[Recipe], bool], tries: int = 2000) -> Recipe:
    """Drop statements and entries, fix variables and simplify numbers while ``shows`` stays true.

    Args:
        recipe: for which ``shows`` is true.
        shows: whether a recipe is still wrong in the same way; a recipe that cannot be built
            counts as not.
        tries: calls of ``shows`` at most.
    """
    best: Recipe = copy.deepcopy(dict(recipe))
    progress = True
    while progress:
        progress = False
        for candidate in _smaller(best):
            tries -= 1
            if tries < 0:
                return best
            if _safely(shows, candidate):
                best, progress = candidate, True
                break
    return best


def _safely(shows: Callable[[Recipe], bool], recipe: Recipe) -> bool:
    try:
        return shows(recipe)
    except (ModelError, KeyError, IndexError, ValueError):  # refers to what is gone
        return False


def _smaller(recipe: Recipe) -> Iterator[Recipe]:
    """Recipes a step smaller, the largest steps first."""
    for i in reversed(range(len(recipe["statements"]))):
        new = copy.deepcopy(recipe)
        del new["statements"][i]
        yield new
    for i in reversed(range(len(recipe["variables"]))):
        new = copy.deepcopy(recipe)
        del new["variables"][i]
        yield new
    for i, statement in enumerate(recipe["statements"]):
        for key in ("literals", "arguments", "activity", "w", "entries", "array"):
            for j in range(len(statement.get(key, ()))):
                new = copy.deepcopy(recipe)
                del new["statements"][i][key][j]
                if key == "literals":
                    del new["statements"][i]["active"][j]
                if key == "activity" and statement["slots"] is not None:
                    del new["statements"][i]["slots"][j]
                yield new
        for key in ("lower", "upper"):
            for j, side in enumerate(statement.get(key, ())):
                if side is not None:
                    new = copy.deepcopy(recipe)
                    new["statements"][i][key][j] = None
                    yield new
    for path, terms in _affines(recipe):
        for j in range(1, len(terms)):
            yield _replaced(recipe, path, terms[:j] + terms[j + 1 :])
        if terms[0]:
            yield _replaced(recipe, path, [0, *terms[1:]])
        for j, term in enumerate(terms[1:], 1):
            if term[0] != 1:
                yield _replaced(recipe, path, [*terms[:j], [1, *term[1:]], *terms[j + 1 :]])
    for i, variable in enumerate(recipe["variables"]):
        for j, (low, high) in enumerate(zip(variable["lower"], variable["upper"], strict=True)):
            if low is not None and high is not None and low < high:
                for key, value in (("upper", low), ("lower", high), ("upper", high - 1)):
                    new = copy.deepcopy(recipe)
                    new["variables"][i][key][j] = value
                    yield new


Path = tuple[Any, ...]


def _affines(node: Any, path: Path = ()) -> Iterator[tuple[Path, list[Any]]]:
    """Every affine expression in a recipe, and the keys that lead to it."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _affines(value, (*path, key))
    elif isinstance(node, list):
        if node and isinstance(node[0], int | float) and not {*path} & _NUMBERS:
            yield path, node
        else:
            for i, value in enumerate(node):
                yield from _affines(value, (*path, i))


_NUMBERS = {"lower", "upper", "values", "slots", "active", "points", "tails", "heads", "lengths",
            "setup"}  # fmt: skip
"""Keys of numbers that are no expressions."""


def _replaced(recipe: Recipe, path: Path, terms: list[Any]) -> Recipe:
    new = copy.deepcopy(recipe)
    node: Any = new
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = terms
    return new
