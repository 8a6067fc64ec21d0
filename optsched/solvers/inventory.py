"""What solvers a machine has."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from optsched.errors import InputError
from optsched.solvers.pulp.backend import PulpSolver, found
from optsched.solvers.registry import announced, backend


@dataclass(frozen=True)
class Entry:
    """One back end."""

    name: str
    version: str | None
    """Of its solver; None where there is none."""
    native: tuple[str, ...]
    """Kinds of nonlinear block it takes as they are; all others become linear rows."""
    summary: str
    missing: str = ""
    """Why there is no solver."""


def inventory() -> list[Entry]:
    """Every back end, and every solver that PuLP drives here."""
    entries = [_entry(name) for name in announced()]
    try:
        driven = [PulpSolver(name) for name in found()]
    except ImportError:
        return entries
    return entries + [Entry(s.name, s.version(), (), _summary(s)) for s in driven]


def _entry(name: str) -> Entry:
    try:
        engine = backend(name)
    except (ImportError, InputError) as failure:
        return Entry(name, None, (), "", str(failure))
    native, summary = tuple(sorted(engine.native)), _summary(engine)
    try:
        return Entry(name, engine.version(), native, summary)
    except ImportError as failure:  # includes a distribution that is not there
        return Entry(name, None, native, summary, str(failure))


def _summary(engine: object) -> str:
    """The engine's own words, or the first line of its class's."""
    words = getattr(engine, "summary", "") or inspect.getdoc(type(engine)) or ""
    return words.splitlines()[0].rstrip(".") if words else ""
