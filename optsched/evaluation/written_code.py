"""The code of functions and classes that are in no file, such as those of a notebook."""

from __future__ import annotations

import copyreg
import io
import pickle
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from operator import attrgetter
from types import CodeType, FunctionType, ModuleType
from typing import Any

from optsched.problem import Problem

_SETS = (set, frozenset)
"""Their order differs from process to process."""

_UNSAID = {"__doc__", "__dict__", "__weakref__", "__firstlineno__"}
"""Attributes of a class that say nothing of what it does."""

_INNER = ("__wrapped__", "__func__", "__self__", "fget", "fset", "func", "args", "keywords")
"""What decorated and partial functions, methods and properties consist of."""


def written(things: Iterable[Any]) -> tuple[bytes, set[str]]:
    """What things are, and the top-level packages or modules that hold the rest of their code.

    A function or class of a module is its name alone. Any other is what it does, the values that
    it holds and names, and what these are.
    """
    stream = io.BytesIO()
    content = _Content(stream, protocol=5)
    content.modules = set()
    content.dump([*things])
    return stream.getvalue(), content.modules


class _Content(pickle.Pickler):
    """Pickles the names and parts of things, and no lines and files."""

    modules: set[str]

    def reducer_override(self, thing: Any) -> Any:
        name = getattr(thing, "__qualname__", type(thing).__qualname__)
        if isinstance(thing, ModuleType | FunctionType | type):
            self.modules.add(_top(thing))
        if isinstance(thing, ModuleType):
            parts: list[Any] = [thing.__name__]
        elif isinstance(thing, CodeType):
            parts = [thing.co_code, thing.co_names, thing.co_varnames, *thing.co_consts]
        elif isinstance(thing, FunctionType | type):
            if _has_name(thing):
                return NotImplemented
            parts = [*_parts(thing)]
        elif isinstance(thing, Problem):
            parts = _solved_by(thing)
        elif not (parts := [getattr(thing, part) for part in _INNER if hasattr(thing, part)]):
            if not getattr(thing, "__dict__", None):
                return _reduced(thing)
            parts = [type(thing), *chain(*vars(thing).items())]
        return str, (name,), [sorted(map(repr, p)) if isinstance(p, _SETS) else p for p in parts]


def _solved_by(problem: Problem) -> list[Any]:
    """Return what a heuristic calls of the problem that it is handed."""
    exact, _ = problem.formulation(problem.reference)
    return [problem.instance_type, problem.check, problem.cost, problem.arrivals, exact.code]


def _reduced(thing: Any) -> Any:
    """How an object is pickled; one that cannot be, such as a lock, counts by its type."""
    try:
        own = copyreg.dispatch_table.get(type(thing))
        return own(thing) if own is not None else thing.__reduce_ex__(5)
    except Exception:
        return str, (type(thing).__qualname__,)


def _top(thing: Any) -> str:
    """The top-level package or module that a function, class or module belongs to."""
    name = thing.__name__ if isinstance(thing, ModuleType) else thing.__module__
    package = getattr(sys.modules.get(name), "__package__", None)  # of ``python -m``, too
    return str(package or name).partition(".")[0]


def _has_name(thing: Any) -> bool:
    """Whether a module calls a function or class so, and not just the code that runs now."""
    if thing.__module__ == "__main__":
        return False
    with suppress(AttributeError):  # made by a function
        return attrgetter(thing.__qualname__)(sys.modules.get(thing.__module__)) is thing
    return False


def _parts(thing: Any) -> Iterator[Any]:
    """What a function does, holds and names; of a class, its bases and attributes.

    A file says what its globals are. What a function in a function gathers says nothing of it.
    """
    if isinstance(thing, type):
        yield from thing.__bases__
        yield from chain(*(item for item in vars(thing).items() if item[0] not in _UNSAID))
        return
    yield from (thing.__code__, thing.__defaults__, thing.__kwdefaults__)
    codes = [thing.__code__] if thing.__module__ == "__main__" else []
    for code in codes:
        codes += [one for one in code.co_consts if isinstance(one, CodeType)]
        yield from (thing.__globals__.get(name, sys.modules.get(name)) for name in code.co_names)
    for cell in thing.__closure__ or ():
        with suppress(ValueError):  # nothing is in it yet
            if not isinstance(cell.cell_contents, list | dict | set | Iterator):
                yield cell.cell_contents
