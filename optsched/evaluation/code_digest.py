"""Say by what code a result was made: other code, other result.

A function counts by every ``.py`` file below its top-level package, or below the folder of its
script. Libraries count by their versions.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from optsched.evaluation.runs import MethodSpec
from optsched.evaluation.written_code import written
from optsched.problem import Problem
from optsched.solvers.registry import backend

LIBRARIES = ("optsched", "numpy", "scipy", "numba", "highspy", "ortools", "pulp")
"""Packages that count by their versions."""


def generator_versions(problem: Problem) -> dict[str, str]:
    """What the instances of a problem depend on."""
    return code_versions([problem.generate, problem.instance_type])


def method_versions(problem: Problem, method: MethodSpec) -> dict[str, str]:
    """What a run of the method depends on beside the instance.

    Raises:
        InputError: a name that is not known.
    """
    parts: list[Any] = [problem.instance_type, problem.check, problem.cost, problem.check_options]
    parts += [*problem.measures.values(), *(one.numerator for one in problem.bounds.values())]
    heuristics = [*method.start, *([method.call] if method.kind == "heuristic" else [])]
    parts += [problem.heuristic(text)[0].run for text in heuristics]
    versions = {}
    if method.kind == "bound":
        parts.append(problem.bounds[method.call].compute)
    elif method.kind == "proof":
        parts += [problem.proof_parts, *(one.code for one in problem.formulations.values())]
    elif method.kind == "exact":
        formulation, _ = problem.formulation(method.call)
        solver = method.solver or formulation.solver
        parts += [type(formulation), formulation.code, type(backend(solver))]
        versions["solver"] = f"{solver} {backend(solver).version()}"
    return versions | code_versions(parts)


def code_versions(things: Iterable[Any]) -> dict[str, str]:
    """What results of functions and classes depend on beside their arguments."""
    return {"code": digest(things), "libraries": _libraries()}


@functools.cache
def _libraries() -> str:
    found = []
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    return ", ".join(found)


def digest(things: Iterable[Any]) -> str:
    """Digest of the code of functions and classes."""
    content, tops = written(things)
    lines = [content.decode("latin-1")]
    for top in sorted(tops - {*LIBRARIES, *sys.stdlib_module_names}):
        lines += _files(top)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


def _files(top: str) -> list[str]:
    """The ``.py`` files of a package, or those below the folder of a script, each by its digest."""
    module = sys.modules.get(top)
    file = os.path.abspath(getattr(module, "__file__", None) or "")
    lines = []
    for folder in getattr(
        module, "__path__", [os.path.dirname(file)] if file.endswith(".py") else []
    ):
        shared = os.path.basename(folder) in ("site-packages", "dist-packages")
        for path in [file] if shared else _scripts(folder):
            with suppress(OSError):  # a link that leads nowhere
                there = os.stat(path)
                known = (path, there.st_mtime_ns, there.st_size)
                if known not in _CONTENT:
                    with open(path, "rb") as script:
                        _CONTENT[known] = hashlib.sha256(script.read()).hexdigest()[:12]
                lines.append(f"{path[len(folder) :].lstrip(os.sep)} {_CONTENT[known]}")
    return lines


_CONTENT: dict[tuple[str, int, int], str] = {}
"""Digests of files by path, time of change and size."""


def _scripts(folder: str) -> list[str]:
    """The ``.py`` files below a folder, but not below a hidden one or an environment."""
    try:
        with os.scandir(folder) as there:
            entries = {entry.name: entry for entry in there}
    except OSError:  # a folder that must not be read
        return []
    if "pyvenv.cfg" in entries:
        return []
    names = sorted(entries)
    folders = [name for name in names if entries[name].is_dir()]
    scripts = [entries[name].path for name in names if name.endswith(".py") and name not in folders]
    for name in folders:
        if not (name.startswith(".") or name == "__pycache__" or entries[name].is_symlink()):
            scripts += _scripts(entries[name].path)
    return scripts
