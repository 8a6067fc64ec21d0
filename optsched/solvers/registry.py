"""Back ends by name: found when first asked for, as they need not all be installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from optsched.errors import InputError
from optsched.solvers.backend import Backend

BACKENDS: dict[str, str] = {
    "highs": "optsched.solvers.highs.backend:Highs",
    "cpsat": "optsched.solvers.cpsat.backend:CpSat",
    "scip": "optsched.solvers.mathopt.backend:scip",
    "glop": "optsched.solvers.mathopt.backend:glop",
    "pdlp": "optsched.solvers.mathopt.backend:pdlp",
    "mathopt-highs": "optsched.solvers.mathopt.backend:highs",
    "cbc": "optsched.solvers.pulp.cbc:Cbc",
    "scipy": "optsched.solvers.scipy.backend:Scipy",
}
"""Where each back end lives.

"pulp:NAME" is a back end, too, for every NAME of a solver that PuLP drives."""


def backend(name: str) -> Backend:
    """The back end of that name.

    Raises:
        InputError: no such back end.
    """
    if name.startswith("pulp:"):
        from optsched.solvers.pulp.backend import PulpSolver

        return PulpSolver(name.removeprefix("pulp:"))
    if name not in BACKENDS:
        raise InputError.of(
            "solver", name, "must be one of " + ", ".join([*sorted(BACKENDS), "pulp:NAME"])
        )
    module, _, attribute = BACKENDS[name].partition(":")
    factory: Callable[[], Backend] = getattr(import_module(module), attribute)
    return factory()


def available() -> dict[str, str]:
    """Back ends whose solver is installed, with its version."""
    found = {}
    for name in BACKENDS:
        try:
            found[name] = backend(name).version()
        except ImportError:  # includes a distribution that is not there
            continue
    return found


def installed(name: str) -> tuple[Backend, str]:
    """A back end and its solver's version.

    Raises:
        InputError: it is unknown or not installed.
    """
    try:
        engine = backend(name)
        return engine, engine.version()
    except ImportError as missing:
        raise InputError.of("solver", name, f"is not installed ({missing})") from missing
