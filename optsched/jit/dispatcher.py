"""Compile loops over arrays that numpy cannot express.

Small inputs run as plain Python, because compiling takes a hundred times longer than they do. A
function runs as plain Python for a stated number of loop iterations. Then it stops, its arguments
are restored, and it is compiled; compiled code is kept on disk. A process that has the compiler
loaded uses compiled code from disk at once. No clock decides, so the same calls take the same path
however busy the machine is, except under a time limit. Both paths have the same source, and the
compiler is imported only when it is needed.
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from optsched.jit.alone import alone
from optsched.jit.clock import clock, compiling, enter, leave, time_to_compile
from optsched.jit.ingredients import CONSTANT, ingredients
from optsched.jit.interpreting import (
    Turns,
    copied,
    countable,
    in_rows,
    plain,
    put_back,
    write_rows,
)
from optsched.jit.one_process import held

Function = TypeVar("Function", bound=Callable[..., Any])

PLAIN_TURNS = 80_000
"""Loop turns that a function runs as plain Python before it is compiled, once for itself and once
for each that it calls. They take 0.1 to 0.3 s; to compile one function takes 0.4 to 1 s. So many
turns of all functions together come before the compiler is imported to load what is on disk."""

TURNS_A_LOOK = 256
"""Loop turns from one look at a time limit to the next."""

_building = threading.RLock()
"""Held while compiled functions come to know those that they call, the compiler's import within."""


def njit_cached(function: Function) -> Function:
    """A function that is compiled when that pays, its machine code kept on disk.

    The function takes and returns arrays and numbers only, alone or in tuples; it may draw from a
    ``Generator`` by ``random()``. What was written remains as its attribute ``py_func``;
    ``machine`` is the compiled function. Machine code is used again only while everything it was
    made from is the same: the version of numba, the file the function is in, those of the compiled
    functions, classes and modules that it can name, and the constants of its module.
    """
    return cast(Function, Dispatcher(function))


def njit_rows(function: Function) -> Function:
    """The same for a function that takes of its tables of records single rows only.

    As plain Python it then works on Python's own numbers, which is several times faster; columns
    and slices of these tables are not there.
    """
    return cast(Function, Dispatcher(function, rows=True))


class _LateError(BaseException):
    """Interpreting takes too long."""


class _PlainRun(threading.local):
    """What the plain runs of a thread have in common."""

    def __init__(self) -> None:
        self.turns = Turns(self._look)
        self.most: float = 0
        """Turns that end the run."""
        self.functions: dict[Dispatcher, Any] = {}
        """What functions run as; they count their turns in ``turns``."""

    def start(self, most: float) -> None:
        """Begin to count."""
        self.most = most
        self.turns.done, self.turns.stop = 0, min(most, TURNS_A_LOOK)

    def _look(self) -> None:
        if self.turns.done > self.most or time.perf_counter() > clock.latest:
            raise _LateError
        self.turns.stop = min(self.most, self.turns.done + TURNS_A_LOOK)


_plain_run = _PlainRun()


class _Way:
    """How loops run in this process."""

    turns: int = 0
    """Loop turns of all functions as plain Python."""
    compiled: bool | None = None
    """None: as their work and the machine code on disk decide."""


@contextmanager
def always(*, compiled: bool) -> Iterator[None]:
    """Run all loops of the process compiled, or all as plain Python, whatever their work is."""
    before, _Way.compiled = _Way.compiled, compiled
    try:
        yield
    finally:
        _Way.compiled = before


class _Held:
    """What the thread knows that has numba's lock."""

    by_this_process: bool = False
    """Whether a function is being loaded or compiled."""


class Dispatcher:
    """A function with two ways to run it; which one a call takes changes nothing but its time."""

    def __init__(self, function: Callable[..., Any], *, rows: bool = False) -> None:
        functools.update_wrapper(self, function)
        self.py_func = cast(FunctionType, function)
        self._rows = rows
        self.digest = hashlib.sha256(
            "\n".join(ingredients(function, Dispatcher)).encode()
        ).hexdigest()
        named = function.__globals__.items()
        self._constants = {name: value for name, value in named if isinstance(value, CONSTANT)}
        self._compiled = False
        self._turns = 0  # as plain Python, what was given up included

    def __call__(self, *args: Any) -> Any:
        if clock.runs_plain:
            return self.as_plain(*args)  # it is called by one that is interpreted
        if not self._compiled or _Way.compiled is False:
            finished, result = self._tried(args)
            if finished:
                return result
            with compiling():
                self._compiled = self.machine is not None
        return self.machine(*args)

    def _tried(self, args: tuple[Any, ...]) -> tuple[bool, Any]:
        """Whether the compiler is not needed, and the result.

        Raises:
            TimeoutError: under a limit, it is needed and would not come to its end.
        """
        finished, result, always_plain = False, None, _Way.compiled is False
        if self._countable is None or _Way.compiled:
            return finished, result
        ready = self._on_disk and not always_plain
        # to load numba takes as long as small work does as plain Python
        if ready and ("numba" in sys.modules or not time_to_compile(self._parts)):
            return finished, result
        if not always_plain and time_to_compile(self._parts):
            allowed = PLAIN_TURNS - _Way.turns if ready else PLAIN_TURNS * self._parts - self._turns
            if allowed > 0:
                finished, result = self._interpret(args, allowed)
        if not (finished or ready) and (always_plain or not time_to_compile(self._parts)):
            finished, result = self._interpret(args, math.inf)
            if not finished:
                raise TimeoutError("no time was left for machine code")
        return finished, result

    def _interpret(self, args: tuple[Any, ...], turns: float) -> tuple[bool, Any]:
        """Whether it came to its end in time, and its result; else nothing has changed."""
        began, finished = time.perf_counter(), True
        given = in_rows(args) if self._rows else args
        before = copied(given)
        _plain_run.start(turns)
        clock.runs_plain = True
        try:
            with np.errstate(all="ignore"):  # as machine code does
                result = plain(self.as_plain(*given))
            write_rows(given)
            return True, result
        except _LateError:
            finished = False
            put_back(given, before)
            return False, None
        finally:
            clock.runs_plain = False
            self._turns += _plain_run.turns.done
            _Way.turns += _plain_run.turns.done
            spent = time.perf_counter() - began
            if finished:
                clock.interpreted += spent
            else:
                clock.compiling += spent

    @cached_property
    def machine(self) -> Any:
        """What the compiler makes of the function: at the first call, once per signature."""
        return alone(_building, self._made)

    def _made(self) -> Any:
        """The compiled function; it and all those that it calls are known from now on."""
        half: dict[Dispatcher, Any] = {}
        machine = self._half_made(half)
        for part, made in half.items():  # now that each knows those that it calls
            part.__dict__["machine"] = made
        return machine

    def _half_made(self, half: dict[Dispatcher, Any]) -> Any:
        """The compiled function, which may not know all yet that it calls; entered in ``half``.

        No other thread may have it so.
        """
        known = self.__dict__.get("machine", half.get(self))
        if known is not None:
            return known
        numba = _numba()
        settings, given = numba.config, numba.config.CACHE_DIR
        # in which compiled functions call compiled ones, and constants are those of the digest
        names = self.py_func.__globals__ | self._constants
        settings.CACHE_DIR = str(self._folder)
        try:  # without the interpreter's lock, other threads go on meanwhile
            made = numba.njit(cache=True, nogil=True)(_in(names, self.py_func))
        finally:
            settings.CACHE_DIR = given
        made.compile = self._by_one_process(made.compile)
        half[self] = made
        for name, value in list(names.items()):
            if isinstance(value, Dispatcher):
                names[name] = value._half_made(half)
        return half[self]

    def _by_one_process(self, load_or_compile: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The same while no other process does it, so that this one finds what that one made.

        A process holds one lock at a time, that of the function which calls the others: two
        processes never wait for each other.

        Numba makes separate machine code for every constant that a compiled function passes to
        another; here all numbers of a type share it.
        """

        def compile_or_wait(literal: tuple[Any, ...]) -> Any:
            types = _numba().types
            constant = types.IntegerLiteral, types.BooleanLiteral  # lists must stay what they are
            signature = tuple(
                types.unliteral(one) if isinstance(one, constant) else one for one in literal
            )
            with compiling(), _numba().core.compiler_lock.global_compiler_lock:
                if _Held.by_this_process:
                    return load_or_compile(signature)
                _Held.by_this_process = True
                try:
                    with held(self._folder / "lock"):
                        return load_or_compile(signature)
                finally:
                    _Held.by_this_process = False

        return compile_or_wait

    @cached_property
    def _called(self) -> dict[str, Dispatcher]:
        """The functions to be compiled that it calls, by their names in its module."""
        code, names = self.py_func.__code__, self.py_func.__globals__
        called = ((name, names.get(name)) for name in code.co_names)
        return {name: one for name, one in called if isinstance(one, Dispatcher)}

    @cached_property
    def _parts(self) -> int:
        """Functions to be compiled for it: itself, what it calls, what that calls."""
        parts, ahead = {self}, [self]
        while ahead:
            more = set(ahead.pop()._called.values()) - parts
            parts |= more
            ahead.extend(more)
        return len(parts)

    @property
    def _folder(self) -> Path:
        beside = Path(self.py_func.__code__.co_filename).parent / "__pycache__"
        return Path(os.environ.get("NUMBA_CACHE_DIR") or beside) / f"compiled-{self.digest[:16]}"

    @cached_property
    def _on_disk(self) -> bool:
        """Whether there was machine code when it was first asked for."""
        return any(self._folder.glob(f"**/*{self.py_func.__name__}-*.nbi"))

    @cached_property
    def _countable(self) -> Any:
        return countable(self.py_func, list(self._called))

    @property
    def as_plain(self) -> Any:
        """The plain function in this thread, which calls plain functions directly."""
        functions = _plain_run.functions
        if self not in functions:
            made = self._countable(_plain_run.turns, *self._called.values())
            made.__defaults__ = self.py_func.__defaults__
            functions[self] = made  # before those that it calls, which may call it
            cells = made.__closure__ or ()
            for name, cell in zip(made.__code__.co_freevars, cells, strict=True):
                if name in self._called:
                    cell.cell_contents = self._called[name].as_plain
        return functions[self]


def _in(names: dict[str, Any], function: FunctionType) -> FunctionType:
    """The function among other globals."""
    made = FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    return made


@cache
def _numba() -> Any:
    """The compiler, which takes long to import, and whose work is timed from then on."""
    import numba
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            enter()

        def on_end(self, event: Any) -> None:
            leave()

    register: Any = event.register
    register("numba:compiler_lock", Listener())
    return numba
