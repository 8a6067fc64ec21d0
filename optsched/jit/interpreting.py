"""Run a loop as plain Python: its turns are counted, it can be stopped, its changes undone."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any, cast

import numpy as np

from optsched.jit.ingredients import source

COUNT = "_turns.done += 1\nif _turns.done > _turns.stop:\n    _turns.look()"
"""What every turn of a loop begins with; written into it, as a call costs as much as the turn."""


class Turns:
    """The loop turns of one run.

    Args:
        look: what is done when ``stop`` is passed; it raises, or writes a later ``stop``.
    """

    __slots__ = ("done", "look", "stop")

    def __init__(self, look: Callable[[], None]) -> None:
        self.done = 0
        self.stop: float = 0
        self.look = look


def countable(function: FunctionType, called: list[str]) -> FunctionType | None:
    """What makes the plain function of a ``Turns`` and the plain functions that it calls.

    Args:
        function: written without a closure.
        called: names, in its module, of the functions that stand for others.

    Returns:
        None without the function's source.
    """
    try:
        tree = ast.parse(_written(function))
    except (OSError, SyntaxError):
        return None
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef) or function.__closure__:
        return None
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
    definition.decorator_list = []
    for part in ast.walk(definition.args):
        if isinstance(part, ast.arg):
            part.annotation = None
    definition.returns = None
    for node in ast.walk(definition):
        if isinstance(node, ast.For | ast.While):
            counting = ast.parse(COUNT).body
            node.body[:0] = [ast.copy_location(step, node) for step in counting]
    outer = ast.parse(
        f"def make({', '.join(['_turns', *called])}):\n    return {function.__name__}"
    )
    make = cast(ast.FunctionDef, outer.body[0])
    make.body.insert(0, definition)
    names: dict[str, Any] = {}
    exec(_code(ast.fix_missing_locations(outer), function), function.__globals__, names)
    return cast(FunctionType, names["make"])


class Rows(dict[Any, dict[str, Any]]):
    """A table of records as Python's own numbers, each row read when it is first asked for.

    Numpy makes an object of every record and of every number in it, which takes most of the time
    of a plain run. Rows have numbers for indices; columns and slices are not there.
    """

    def __init__(self, table: np.ndarray[Any, Any]) -> None:
        self._table = table
        self._fields = cast(tuple[str, ...], table.dtype.names)

    def __missing__(self, i: int) -> dict[str, Any]:
        if i < 0:
            return self[i + len(self)]
        row = dict(zip(self._fields, self._table[i].item(), strict=True))
        super().__setitem__(i, row)
        return row

    def __setitem__(self, i: int, row: dict[str, Any]) -> None:
        self[i].update(row)  # as an array does, which has no other way to hold a row

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(len(self)))

    def write(self) -> None:
        """Write the rows that were asked for into the table."""
        for i, row in self.items():
            self._table[i] = tuple(row.values())


def in_rows(value: Any) -> Any:
    """An argument with ``Rows`` for its tables of records."""
    if isinstance(value, np.ndarray) and value.dtype.names:
        return Rows(value)
    if isinstance(value, tuple):
        parts = map(in_rows, value)
        return value._make(parts) if hasattr(value, "_make") else tuple(parts)
    return value


def write_rows(value: Any) -> None:
    """Write what a run has changed in the ``Rows`` of an argument."""
    if isinstance(value, Rows):
        value.write()
    elif isinstance(value, tuple):
        for part in value:
            write_rows(part)


def _code(tree: ast.Module, function: FunctionType) -> CodeType:
    return compile(tree, function.__code__.co_filename, "exec", dont_inherit=True)


def _written(function: FunctionType) -> str:
    """The text of a function as its module was imported, whatever is in the file by now."""
    lines = source(function.__code__.co_filename).splitlines(keepends=True)
    if not lines:
        return textwrap.dedent(inspect.getsource(function))  # of a notebook
    block = inspect.getblock(lines[function.__code__.co_firstlineno - 1 :])
    return textwrap.dedent("".join(block))


def copied(value: Any) -> Any:
    """What of an argument a function may change."""
    if isinstance(value, np.ndarray | np.void):
        return value.copy()
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    return [copied(part) for part in value] if isinstance(value, tuple) else None


def put_back(value: Any, saved: Any) -> None:
    """Make an argument again what it was when ``copied`` saw it."""
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value[...] = saved
    elif isinstance(value, np.random.Generator):
        value.bit_generator.state = saved
    elif isinstance(value, np.void):
        for name in value.dtype.names or ():
            value[name] = saved[name]
    elif isinstance(value, tuple):
        for part, before in zip(value, saved, strict=True):
            put_back(part, before)


def plain(value: Any) -> Any:
    """A result as machine code gives it: Python's own numbers."""
    if isinstance(value, tuple):
        parts = map(plain, value)
        return value._make(parts) if hasattr(value, "_make") else tuple(parts)
    if isinstance(value, np.generic) and not isinstance(value, np.void):
        return value.item()
    return value
