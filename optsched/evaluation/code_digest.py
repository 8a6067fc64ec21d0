"""What code a result depends on, as a short digest: other code is another run.

A release number says too little while an algorithm is being written. The digest covers the source
files of the functions a method consists of and every file of the same packages that these import,
directly or not; of optsched itself, its version stands for it.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import inspect
import marshal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from optsched import __version__
from optsched.evaluation.runs import Method
from optsched.problem import Problem
from optsched.solvers.registry import backend

LENGTH = 12
"""Hexadecimal digits of a digest that are kept."""

_PLAIN = (bool, int, float, str, bytes, tuple)


def generator_versions(problem: Problem) -> dict[str, str]:
    """What the instances of a problem depend on."""
    parts = (
        problem.generate,
        problem.instance_type.to_document,
        problem.instance_type.from_document,
    )
    return {"optsched": __version__, "code": digest(parts)}


def method_versions(problem: Problem, method: Method) -> dict[str, str]:
    """What a run of the method depends on beside the instance.

    Raises:
        InputError: a name that is not known.
    """
    common: list[Any] = [
        problem.check,
        problem.cost,
        problem.check_options,
        *problem.measures.values(),
    ]
    versions = {"optsched": __version__}
    if method.kind == "bound":
        return versions | {"code": digest([problem.bounds[method.call].compute])}
    heuristics = [*method.start, *([method.call] if method.kind == "heuristic" else [])]
    parts: list[Any] = [problem.heuristic(text)[0].run for text in heuristics]
    if method.kind == "heuristic":
        parts += [bound.measure for bound in problem.bounds.values()]
    else:
        formulation, _ = problem.formulation(method.call)
        parts += formulation.code
        solver = method.solver or formulation.solver
        versions["solver"] = f"{solver} {backend(solver).version()}"
    return versions | {"code": digest(filter(None, [*common, *parts]))}


def digest(functions: Iterable[Callable[..., Any]]) -> str:
    """Digest of all the code that the functions reach within their own packages."""
    texts: dict[str, bytes] = {}
    waiting: list[str] = []
    for function in functions:
        modules, own = _roots(inspect.unwrap(function))
        waiting += modules
        texts |= own
    within = {name.partition(".")[0] for name in waiting} - {"optsched"}
    while waiting:
        name = waiting.pop()
        path = _file(name) if name.partition(".")[0] in within else None
        if path is None or name in texts:
            continue
        texts[name] = path.read_bytes()
        if path.suffix == ".py":
            package = name if path.name == "__init__.py" else name.rpartition(".")[0]
            waiting += _imports(texts[name], package)
    return _short(b"".join(f"{n} {_short(text)}\n".encode() for n, text in sorted(texts.items())))


def _short(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:LENGTH]


def _roots(function: Any) -> tuple[list[str], dict[str, bytes]]:
    """Modules to start from, and source text that stands for itself.

    A function written in a package's ``__init__`` stands for itself and what it names: such a file
    imports the whole package. So does one that no file holds, as in a notebook. One made by another
    function differs from its like by the values it was given.
    """
    if isinstance(function, functools.partial):
        modules, own = _roots(inspect.unwrap(function.func))
        given = repr((function.args, sorted(function.keywords.items()))).encode()
        return modules, own | {f"arguments {_short(given)}": given}
    if not inspect.isfunction(function):
        return [getattr(function, "__module__", None) or type(function).__module__], {}
    module = function.__module__
    path, written = _file(module), Path(function.__code__.co_filename)
    in_file = path is not None and path == written and path.name != "__init__.py"
    if in_file and "<locals>" not in function.__qualname__:
        return [module], {}
    try:
        text = inspect.getsource(function).encode()
    except (OSError, TypeError):
        text = marshal.dumps(function.__code__)
    closure = inspect.getclosurevars(function)
    named = {**({} if in_file else closure.globals), **closure.nonlocals}
    values: dict[str, Any] = {
        **{f"default {n}": value for n, value in enumerate(function.__defaults__ or ())},
        **(function.__kwdefaults__ or {}),
        **named,
    }
    plain = {name: value for name, value in values.items() if isinstance(value, _PLAIN)}
    text += repr(sorted(plain.items())).encode()
    modules = [
        value.__module__
        for value in values.values()
        if callable(value) and getattr(value, "__module__", module) not in (module, None)
    ]
    own = {f"{module}:{function.__qualname__}:{_short(text)}": text}
    return [*modules, *([module] if in_file else [])], own


def _file(module: str) -> Path | None:
    """The file a module is read from, if there is one."""
    loaded = sys.modules.get(module)
    name = getattr(loaded, "__file__", None)
    if loaded is None:
        try:
            found = importlib.util.find_spec(module)
        except (ImportError, ValueError, AttributeError):
            return None
        name = found.origin if found is not None and found.has_location else None
    path = Path(name) if name else None
    return path if path is not None and path.is_file() else None


@functools.lru_cache(maxsize=4096)
def _imports(text: bytes, package: str) -> tuple[str, ...]:
    """Names of modules a source file may import, wherever it does so."""
    names: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) + 1 - node.level]
            base = ".".join([*parents, node.module or ""]).strip(".") if node.level else node.module
            names += [str(base), *(f"{base}.{alias.name}" for alias in node.names)]
    return tuple(dict.fromkeys(names))
