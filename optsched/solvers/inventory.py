"""List the solvers that are installed."""

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
    """Version of its solver; None if there is none."""
    native: tuple[str, ...]
    """Kinds of nonlinear block it takes as they are; all others become linear rows."""
    summary: str
    missing: str = ""
    """Why there is no solver."""


def inventory() -> list[Entry]:
    """Every back end, and every solver that PuLP drives here."""
    entries = [_entry(name) for name in announced()]
    driven = [PulpSolver(name) for name in found()]
    said = "as PuLP drives it: linear and mixed-integer linear models"
    return entries + [Entry(s.name, s.version(), (), f"{s.solver} {said}") for s in driven]


def _entry(name: str) -> Entry:
    try:
        engine = backend(name)
    except (ImportError, InputError) as failure:
        return Entry(name, None, (), "", str(failure))
    native = tuple(sorted(engine.native))
    words = inspect.getdoc(announced()[name].load()) or ""
    summary = words.partition("\n")[0].rstrip(".")
    try:
        return Entry(name, engine.version(), native, summary)
    except ImportError as failure:  # includes a distribution that is not there
        return Entry(name, None, native, summary, str(failure))
