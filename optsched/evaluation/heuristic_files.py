"""Heuristics in Python files that belong to no package: ``mine.py:worst_fit(k=3)``."""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

from optsched.errors import InputError, words
from optsched.online.simulator import is_policy, policy_heuristic
from optsched.problem import Heuristic, Problem

_FORM = "must read FILE.py:NAME or FILE.py:NAME(option=value)"
_ALLOWED = "a function (instance, rng, **options) -> schedule, a class of policies, or a Heuristic"


def names_file(text: str) -> bool:
    """Whether a text names a heuristic in a file, and not one of the problem's."""
    return re.search(r"\.py\s*(:|$)", text) is not None


def heuristic_from_file(problem: Problem, text: str) -> tuple[Heuristic, str]:
    """Load a heuristic from a file.

    The folder of the file is on ``sys.path`` while the file is loaded, and nothing is written
    there. Another process loads the heuristic from the text that the file has now.

    Args:
        problem: what it schedules.
        text: ``mine.py:worst_fit`` or ``mine.py:worst_fit(option=value)``.

    Returns:
        The heuristic, and how it is called: its name in tables, with the options of the text.

    Raises:
        InputError: the file cannot be loaded, or holds no such heuristic.
    """
    file, colon, rest = re.match(r"(.*?\.py)\s*(:?)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    call = re.fullmatch(r"\s*([\w.]+)\s*(\(.*\))?\s*", rest, re.DOTALL)
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        allowed = f"{file} cannot be read ({error.strerror}){_like(file, _scripts(file))}"
        raise InputError.of("heuristic", text, allowed) from None
    path = os.path.abspath(file)
    try:
        module = _module(path, content)
    except (Exception, SystemExit) as error:  # a file may raise anything
        allowed = f"{file} cannot be loaded{_line(path, error)}: {words(error)}"
        raise InputError.of("heuristic", text, allowed) from error
    if not colon or call is None:
        raise InputError.of("heuristic", text, f"{_FORM}; {_holds(file, module)}")
    name, options = call[1], call[2] or ""
    try:
        found = attrgetter(name)(module)
    except AttributeError:
        allowed = f"{_holds(file, module)}{_like(name, _heuristics(module))}"
        raise InputError.of("heuristic", text, allowed) from None
    if not _is_heuristic(found):
        kind = "a class" if isinstance(found, type) else f"of type {type(found).__name__}"
        allowed = f"{name} of {file} is {kind}, and must be {_ALLOWED}"
        raise InputError.of("heuristic", text, allowed)
    one = _heuristic(problem, found, FromFile(path, content, name))
    return one, one.name + options


@dataclass(frozen=True)
class FromFile:
    """Stand for a function of a file, which each process loads from the same text.

    Args:
        path: of the file.
        content: the text of the file.
        name: of the function there, such as ``worst_fit`` or ``BEST.run``.
        problem: of a class of policies: whose jobs they are handed.
    """

    path: str
    content: bytes
    name: str
    problem: Problem | None = None

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The function, for its signature and its code."""
        function: Any = attrgetter(self.name)(_module(self.path, self.content))
        return function if self.problem is None else policy_heuristic(self.problem, function).run

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function."""
        return self.__wrapped__(*arguments, **options)


def _heuristic(problem: Problem, found: Any, stand_in: FromFile) -> Heuristic:
    """Return what a file holds as a heuristic all of whose functions other processes can load."""
    name = stand_in.name
    if isinstance(found, Heuristic):
        parts = {
            part: replace(stand_in, name=f"{name}.{part}")
            for part in ("run", "online", "rules")
            if callable(getattr(found, part))
        }
        return replace(found, **parts)  # type: ignore[arg-type]
    if is_policy(found):
        return replace(
            policy_heuristic(problem, found, name), run=replace(stand_in, problem=problem)
        )
    summary = (inspect.getdoc(found) or "").partition("\n")[0]
    return Heuristic(name, stand_in, source="", summary=summary, online=False)


def _is_heuristic(thing: Any) -> bool:
    if isinstance(thing, Heuristic):
        return True
    if isinstance(thing, type):
        return is_policy(thing)
    if not callable(thing):
        return False
    try:
        inspect.signature(thing).bind(None, None)
    except (TypeError, ValueError):  # of other arguments, or without a signature
        return False
    return True


def _heuristics(module: ModuleType) -> list[str]:
    """Return the names of the heuristics that a file holds, less those that it imports."""
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and _is_heuristic(thing)
        and getattr(thing, "__module__", module.__name__) in (module.__name__, Heuristic.__module__)
    ]


def _holds(file: str, module: ModuleType) -> str:
    there = _heuristics(module)
    return f"{file} holds " + (", ".join(there) if there else f"no heuristic, that is {_ALLOWED}")


@lru_cache
def _module(path: str, content: bytes) -> ModuleType:
    """Run the text of a file as a module that no import finds."""
    stem = re.sub(r"\W", "_", Path(path).stem)
    digest = hashlib.sha256(path.encode("utf-8", "surrogateescape") + content).hexdigest()
    module = ModuleType(f"{stem}_{digest[:12]}")
    module.__file__ = path
    sys.modules[module.__name__] = module  # where dataclasses and pickle look
    folder, writes = os.path.dirname(path), sys.dont_write_bytecode
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = True
    try:
        exec(compile(content, path, "exec", dont_inherit=True), vars(module))
    except BaseException:
        del sys.modules[module.__name__]
        raise
    finally:
        sys.dont_write_bytecode = writes
        with suppress(ValueError):  # the file has taken it away
            sys.path.remove(folder)
    return module


def _line(path: str, error: BaseException) -> str:
    """Return ", line 3" if an error comes from a line of the file."""
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == path else None
    frames = error.__traceback__
    while frames is not None and line is None:
        if frames.tb_frame.f_code.co_filename == path:
            line = frames.tb_lineno
        frames = frames.tb_next
    return "" if line is None else f", line {line}"


def _scripts(file: str) -> list[str]:
    """Return the Python files beside a file."""
    with suppress(OSError):
        folder = os.path.dirname(file)
        there = sorted(os.listdir(folder or "."))
        return [os.path.join(folder, name) for name in there if name.endswith(".py")]
    return []


def _like(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, 1)
    return f"; did you mean {near[0]}?" if near else ""
