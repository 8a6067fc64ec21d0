"""What code a result was made by, as a short digest: other code, other result.

A release number says nothing while an algorithm is being written. The digest covers the source
files of the functions that a result comes from, and every file that these import, directly or not,
within optsched and the packages that announce problems, heuristics, claims or solvers. A mended
lowering is therefore another code to every model it may have lowered; a plot or a command is not.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import inspect
import marshal
import re
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from types import CodeType
from typing import Any

from optsched.errors import InputError
from optsched.evaluation.proofs import proven_bound, proven_by
from optsched.evaluation.runs import InstanceRunner, MethodSpec
from optsched.problem import Problem
from optsched.solvers.registry import backend

LENGTH = 12
"""Hexadecimal digits of a digest that are kept."""

LIBRARIES = ("numpy", "scipy", "numba", "highspy", "ortools", "pulp")
"""Whose versions count, as numbers may come out otherwise under another."""

GROUPS = ("optsched.problems", "optsched.heuristics", "optsched.claims", "optsched.solvers")
"""Entry points whose packages are followed."""

RUNNER = (
    "optsched.evaluation.runs",
    "optsched.evaluation.heuristic_run",
    "optsched.calls",
    "optsched.calendar",
)
"""By what any method is run. The solvers that these know are no part of a heuristic."""

_PLAIN = (bool, int, float, str, bytes, tuple)

_IMPORT = re.compile(
    rb"^[ \t]*from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)"
    rb"|^[ \t]*import[ \t]+([^\n]*)",
    re.MULTILINE,
)


def generator_versions(problem: Problem) -> dict[str, str]:
    """What the instances of a problem depend on."""
    kind = problem.instance_type
    return code_versions([problem.generate, kind.to_document, kind.from_document])


def method_versions(problem: Problem, method: MethodSpec) -> dict[str, str]:
    """What a run of the method depends on beside the instance.

    Raises:
        InputError: a name that is not known.
    """
    parts: list[Any] = []
    versions = {}
    if method.kind == "bound":
        return code_versions([problem.bounds[method.call].compute], RUNNER)
    if method.kind == "proof":
        return code_versions([proven_bound, *_proven_code(problem, method.call)], RUNNER)
    parts += [problem.check, problem.cost, problem.check_options, *problem.measures.values()]
    heuristics = [*method.start, *([method.call] if method.kind == "heuristic" else [])]
    parts += [problem.heuristic(text)[0].run for text in heuristics]
    if method.kind == "heuristic":
        parts += [bound.numerator for bound in problem.bounds.values()]
    else:
        formulation, _ = problem.formulation(method.call)
        parts += [InstanceRunner, type(formulation), *formulation.code]
        solver = method.solver or formulation.solver
        versions["solver"] = f"{solver} {backend(solver).version()}"
    return versions | code_versions(filter(None, parts), RUNNER)


def _proven_code(problem: Problem, call: str) -> Iterable[Callable[..., Any]]:
    """What makes the models that a proof may be about; nothing where there is none."""
    try:
        models = proven_by(problem, call)
    except InputError:
        return ()
    parted = (
        [problem.proof_parts, *problem.formulation(call)[0].code] if problem.proof_parts else []
    )
    return [*parted, *(part for model in models for part in problem.formulation(model)[0].code)]


def code_versions(
    functions: Iterable[Callable[..., Any]], alone: Iterable[str] = ()
) -> dict[str, str]:
    """What a result of the functions depends on beside their arguments; see ``digest``."""
    return {"code": digest(functions, alone), "libraries": _libraries()}


@functools.cache
def _libraries() -> str:
    found = []
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


@functools.cache
def _announced() -> frozenset[str]:
    """Modules that packages announce."""
    return frozenset(entry.module for group in GROUPS for entry in entry_points(group=group))


def digest(functions: Iterable[Callable[..., Any]], alone: Iterable[str] = ()) -> str:
    """Digest of all the code that the functions reach within optsched and the packages around it.

    Solvers are found by name, so whoever reaches the solvers reaches those of every package.

    Args:
        functions: what a result comes from.
        alone: modules that count themselves, and not what they import.
    """
    texts = {name: path.read_bytes() for name in alone if (path := _file(name)) is not None}
    waiting: list[str] = []
    for function in functions:
        modules, own = _roots(inspect.unwrap(function))
        waiting += modules
        texts |= own
    within = frozenset(_top(name) for name in (*waiting, *_announced(), "optsched"))
    while waiting:
        name = waiting.pop()
        if name in texts or _top(name) not in within:
            continue
        path = _file(name)
        if path is None:
            continue
        texts[name] = path.read_bytes()
        if path.suffix == ".py":
            package = name if path.name == "__init__.py" else name.rpartition(".")[0]
            waiting += _imports(texts[name], package, within)
        if name == backend.__module__:
            waiting += [entry.module for entry in entry_points(group="optsched.solvers")]
    return _short(b"".join(f"{n} {_short(text)}\n".encode() for n, text in sorted(texts.items())))


def _top(module: str) -> str:
    return module.partition(".")[0]


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
        arguments = [*enumerate(function.args), *sorted(function.keywords.items())]
        for part in (part for _, value in arguments for part in _functions(value)):
            more, texts = _roots(inspect.unwrap(part))
            modules, own = [*modules, *more], own | texts
        given = repr([(k, "" if _functions(value) else value) for k, value in arguments]).encode()
        return modules, own | {f"arguments {_short(given)}": given}
    if not inspect.isfunction(function):
        return [getattr(function, "__module__", None) or type(function).__module__], {}
    module = function.__module__
    path, written = _file(module), Path(function.__code__.co_filename)
    in_file = path is not None and path == written and path.name != "__init__.py"
    if in_file and "<" not in function.__qualname__:  # neither local nor without a name
        return [module], {}
    try:
        text = inspect.getsource(function).encode()
    except (OSError, TypeError):
        text = marshal.dumps(function.__code__)
    if function.__name__ == "<lambda>":  # the source is the whole line, with what else is on it
        text += repr(_instructions(function.__code__)).encode()
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


def _functions(value: Any) -> list[Callable[..., Any]]:
    """The functions that an argument stands for: itself, or those by which a problem is solved."""
    if isinstance(value, Problem):
        exact, _ = value.formulation(value.reference)
        parts = [value.check, value.cost, *exact.code, *_fields(value.arrivals)]
        return [part for part in parts if callable(part)]
    return [value] if callable(value) else []


def _fields(thing: Any) -> list[Any]:
    """What a record holds; nothing of None."""
    return [] if thing is None else list(vars(thing).values())


def _instructions(code: CodeType) -> tuple[Any, ...]:
    """What a function does, wherever it is written."""
    constants = [_instructions(c) if isinstance(c, CodeType) else c for c in code.co_consts]
    return code.co_code, code.co_names, constants


@functools.lru_cache(maxsize=16384)
def _file(module: str) -> Path | None:
    """The file a module is read from, if there is one."""
    name = getattr(sys.modules.get(module), "__file__", None)
    if name is None:
        parent, _, last = module.rpartition(".")
        above = _file(parent) if parent else None
        if above is not None:
            if above.name != "__init__.py":
                return None  # a name within a module
            tried = (above.with_name(f"{last}.py"), above.parent / last / "__init__.py")
            return next((path for path in tried if path.is_file()), None)
        try:
            found = importlib.util.find_spec(module)
        except (ImportError, ValueError, AttributeError):
            return None
        name = found.origin if found is not None and found.has_location else None
    path = Path(name) if name else None
    return path if path is not None and path.is_file() else None


@functools.lru_cache(maxsize=4096)
def _imports(text: bytes, package: str, within: frozenset[str]) -> tuple[str, ...]:
    """Modules that a source file imports from the packages ``within``, wherever it does so."""
    names: list[str] = []
    for origin, imported, plain in _IMPORT.findall(text):
        if plain:
            names += [part.split()[0] for part in plain.decode().split(",") if part.split()]
            continue
        base = origin.decode()
        level = len(base) - len(base.lstrip("."))
        if level:
            parents = package.split(".")[: len(package.split(".")) + 1 - level]
            base = ".".join([*parents, base.lstrip(".")]).strip(".")
        listed = re.sub(rb"#[^\n]*", b"", imported).decode().strip("()")
        for name in (part.split()[0] for part in listed.split(",") if part.split()):
            module = f"{base}.{name}"  # else a name within it
            names.append(module if _top(base) in within and _file(module) else base)
    return tuple(dict.fromkeys(names))
