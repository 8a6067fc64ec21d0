"""Run a loop as plain Python: it can be stopped, and its changes undone."""

from __future__ import annotations

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, cast

import numpy as np


def interruptible(function: FunctionType, ask: Callable[[], None]) -> FunctionType | None:
    """The function, with ``ask`` called in every turn of a loop; None without its source."""
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
            asking = ast.Expr(ast.Call(ast.Name("_ask", ast.Load()), [], []))
            node.body.insert(0, ast.copy_location(asking, node))
    outer = ast.parse(f"def make(_ask):\n    return {function.__name__}").body[0]
    cast(ast.FunctionDef, outer).body.insert(0, definition)
    names: dict[str, Any] = {}
    whole = ast.fix_missing_locations(ast.Module([outer], []))
    exec(_code(whole, function), function.__globals__, names)
    made: FunctionType = names["make"](ask)
    made.__defaults__ = function.__defaults__
    return made


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


@cache
def source(path: str) -> str:
    """The text of a file; "" if there is none."""
    file = Path(path)
    return file.read_text(encoding="utf-8") if file.is_file() else ""


@cache
def file_digest(path: str) -> str:
    """The digest of a Python file as its module was imported; that of "" if there is none."""
    return hashlib.sha256((source(path) if path.endswith(".py") else "").encode()).hexdigest()
