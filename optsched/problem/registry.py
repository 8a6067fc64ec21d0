"""How problems are found.

Packages announce problems through the entry-point group ``optsched.problems``, and further
heuristics, for any problem, through ``optsched.heuristics`` (a mapping from name to ``Heuristic``,
under the problem's name).
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any

from optsched.errors import InputError
from optsched.problem.calls import pick
from optsched.problem.definition import Problem


def problems() -> dict[str, Problem]:
    """Load every problem that installed packages announce, with all heuristics announced for it.

    A package that cannot be loaded is left out, with a warning.

    Example:
        >>> import optsched as osd
        >>> {"batch", "okita"} <= set(osd.problems())
        True
    """
    found: dict[str, Problem] = {}
    for name in sorted({entry.name for entry in entry_points(group="optsched.problems")}):
        try:
            found[name] = problem(name)
        except InputError as error:
            warnings.warn(str(error), stacklevel=2)
    return found


def _load(entry: Any) -> Any:
    try:
        return entry.load()
    except Exception as error:
        raise InputError.of(
            f"entry point {entry.group}", entry.value, f"cannot be loaded ({error!r})"
        ) from error


def problem(name: str) -> Problem:
    """Load the problem of that name, with all heuristics announced for it, and no other package.

    Raises:
        InputError: no such problem, or one that cannot be loaded.

    Example:
        >>> from optsched import problem
        >>> "a_online" in problem("batch").heuristics
        True
    """
    announced = {entry.name: entry for entry in entry_points(group="optsched.problems")}
    found: Problem = _load(pick(announced, name, "problem"))
    for entry in entry_points(group="optsched.heuristics", name=name):
        found = replace(found, heuristics={**found.heuristics, **_load(entry)})
    return found
