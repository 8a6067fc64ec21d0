"""Back ends by name, found through the entry-point group ``optsched.solvers``.

All back ends are announced there, ours like those of other packages. An entry point names a class,
or a function without arguments, that returns a :class:`~optsched.solvers.backend.Backend`. Its
module is imported when it is first used, because not every solver is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points

from optsched.errors import InputError
from optsched.solvers.backend import Backend, Solver

GROUP = "optsched.solvers"


def announced() -> dict[str, EntryPoint]:
    """Every back end that an installed package announces, by name.

    "pulp:NAME" is a back end, too, for every NAME of a solver that PuLP drives.
    """
    return _announced(tuple(sys.path))


@lru_cache(maxsize=1)
def _announced(_path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """Read from disk once for every search path."""
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        found.setdefault(entry.name, entry)
    return found


def backend(solver: Solver) -> Backend:
    """The back end of that name; one of your own is its own.

    Raises:
        InputError: no such back end, or one that cannot be loaded.
        ImportError: it needs a package that is not installed.
    """
    if not isinstance(solver, str):
        if not hasattr(solver, "features"):
            said = "must declare its features, see optsched.solvers.backend.Feature"
            raise InputError.of("solver", solver.name, said)
        return solver
    if solver.startswith("pulp:"):
        from optsched.solvers.pulp.backend import PulpSolver

        return PulpSolver(solver.removeprefix("pulp:"))
    entry = _announced(tuple(sys.path)).get(solver)
    if entry is None:
        known = ", ".join([*announced(), "pulp:NAME"])
        hint = "" if "highs" in announced() else " (optsched must be installed again)"
        raise InputError.of("solver", solver, f"must be one of {known}{hint}")
    try:
        return _factory(entry)()
    except ImportError:
        raise
    except Exception as failure:
        raise InputError.of("solver", solver, f"cannot be loaded ({failure!r})") from failure


@lru_cache
def _factory(entry: EntryPoint) -> Callable[[], Backend]:
    factory: Callable[[], Backend] = entry.load()
    return factory


def family(solver: Solver) -> str:
    """Return whose code a back end runs; it is no witness for another of the same family."""
    return backend(solver).family


def available() -> dict[str, str]:
    """List the back ends whose solver is installed, with its version.

    Example:
        >>> import optsched as osd
        >>> "highs" in osd.solvers()
        True
    """
    found = {}
    for name in announced():
        try:
            found[name] = backend(name).version()
        except (ImportError, InputError):  # includes a distribution that is not there
            continue
    return found


def installed(solver: Solver) -> tuple[Backend, str]:
    """A back end and its solver's version.

    Raises:
        InputError: it is unknown or not installed.
    """
    try:
        engine = backend(solver)
        return engine, engine.version()
    except ImportError as missing:
        raise InputError.of("solver", solver, f"is not installed ({missing})") from missing
