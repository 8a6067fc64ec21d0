"""The one door to the compiler: loops over arrays that numpy cannot say without loops.

Compiling takes a hundred times longer than a small instance does without. Where no machine code
is on disk yet, a function is therefore interpreted first; when that takes long it is given up, its
arguments are put back as they were, and the compiler is called. Both ways are the same source, and
the compiler is not even imported before it is needed.
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
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from optsched.jit.alone import alone
from optsched.jit.interpreting import copied, interruptible, plain, put_back, source

Function = TypeVar("Function", bound=Callable[..., Any])
Result = TypeVar("Result")

PATIENCE = 0.5
"""Processor seconds for which one run is interpreted before the compiler is called; on a busy
machine the clock on the wall says nothing of the work."""

PATIENCE_IN_ALL = 20.0
"""Processor seconds for which a thread interprets in all its runs: what compiling costs once."""

MAKING = 10.0
"""Processor seconds that must be left of a time limit for the compiler to be waited for, which
cannot be called off."""

MAKING_EACH = 1.0
"""The same for each function that it consists of, where they are many."""

CONSTANT = bool, int, float, str, tuple
"""What a module may name for machine code to be made of."""

_building = threading.RLock()
"""Held while compiled functions come to know those that they call, the compiler's import within."""


def njit_cached(function: Function) -> Function:
    """A function that is compiled when that pays, its machine code kept on disk.

    The function takes and returns arrays and numbers only, alone or in tuples; it may draw from a
    ``Generator`` by ``random()``. What was written remains as its attribute ``py_func``;
    ``machine`` is the compiled function. Machine code is used again only while everything it was
    made from is the same: the file the function is in, those of the compiled functions and classes
    it imports, and the constants of its module.
    """
    return cast(Function, Dispatcher(function))


@dataclass
class Stopwatch:
    """Wall seconds of what ran under a watch; what machine code took to get is apart."""

    seconds: float = 0.0
    compile_seconds: float = 0.0
    """Importing the compiler, compiling or loading, and interpreting that was given up."""
    interpreted_seconds: float = 0.0
    """Those of ``seconds`` that went to loops without machine code, often 100 times slower."""


class _Clock(threading.local):
    """What a thread has spent."""

    compiling: float = 0.0
    interpreted: float = 0.0
    tried: float = 0.0
    """Processor seconds of interpreting, what was given up included."""
    tried_before: float = 0.0
    """When the outermost watch started."""
    depth: int = 0
    """Of the compiler's calls of itself."""
    since: float = 0.0
    """When the outermost of them began."""
    watches: int = 0
    deadline: float | None = None
    """Of the interpreting under way, processor seconds."""
    latest: float = math.inf
    """Moment on the wall after which whatever is under way is late."""
    slowness: float = 1.0
    """Seconds on the wall for one of the processor, when last interpreting was given up."""


_clock = _Clock()


def _working() -> float:
    """Seconds of a clock that stands still while this thread waits for machine code."""
    return time.perf_counter() - _clock.compiling


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Let loops end in time: the compiler is waited for only where it will come to its end.

    Where it will not, the loop is interpreted; TimeoutError is raised in it when the time is over.
    What has machine code on disk, or no source to interpret, is loaded or compiled whatever the
    limit.

    Args:
        seconds: wall time from now; None: no limit.
    """
    before = _clock.latest
    if seconds is not None:
        _clock.latest = min(before, time.perf_counter() + seconds)
    try:
        yield
    finally:
        _clock.latest = before


def limit_left() -> float | None:
    """Seconds left of this thread's limit, for another thread to be limited too; None: none."""
    return None if math.isinf(_clock.latest) else _clock.latest - time.perf_counter()


@contextmanager
def continued() -> Iterator[Callable[[Callable[[], Result]], Result]]:
    """What lets another thread do this one's work, under its limit and on its watches.

    The time spent there counts here if the work ends within.
    """
    before, after = dict(vars(_clock)), dict[str, Any]()

    def there(work: Callable[[], Result]) -> Result:
        vars(_clock).update(before)
        try:
            return work()
        finally:
            after.update(vars(_clock))

    yield there
    vars(_clock).update(after)


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    """Measure a run; its seconds are there at the end, however that comes.

    Example:
        >>> with stopwatch() as watch:
        ...     total = sum(range(10))
        >>> watch.seconds > 0, watch.compile_seconds
        (True, 0.0)
    """
    watch = Stopwatch()
    if not _clock.watches:
        _clock.tried_before = _clock.tried
    _clock.watches += 1
    began, compiling, interpreted = _working(), _clock.compiling, _clock.interpreted
    try:
        yield watch
    finally:
        _clock.watches -= 1
        watch.compile_seconds = _clock.compiling - compiling
        watch.interpreted_seconds = _clock.interpreted - interpreted
        watch.seconds = max(0.0, _working() - began)


class _LateError(BaseException):
    """Interpreting takes too long."""


def _in_time() -> None:
    late = time.thread_time() > cast(float, _clock.deadline)
    if late or time.perf_counter() > _clock.latest:
        raise _LateError


def _time_to_compile(parts: int) -> bool:
    """Whether machine code of so many functions would be there in time, on a machine so busy."""
    left = _clock.latest - time.perf_counter()
    return left >= max(MAKING, parts * MAKING_EACH) * _clock.slowness


class Dispatcher:
    """A function with two ways to run it; which one a call takes changes nothing but its time."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = cast(FunctionType, function)
        self.digest = hashlib.sha256("\n".join(_ingredients(function)).encode()).hexdigest()
        named = function.__globals__.items()
        self._constants = {name: value for name, value in named if isinstance(value, CONSTANT)}
        self._compiled = False

    def __call__(self, *args: Any) -> Any:
        if _clock.deadline is not None:
            return self._interpretable(*args)  # it is called by one that is interpreted
        if not self._compiled:
            finished, result = self._tried(args)
            if finished:
                return result
            with _compiling():
                self._compiled = self.machine is not None
        return self.machine(*args)

    def _tried(self, args: tuple[Any, ...]) -> tuple[bool, Any]:
        """Whether the compiler is not needed, and the result.

        Raises:
            TimeoutError: under a limit, it is needed and would not come to its end.
        """
        finished, result = False, None
        if self._on_disk or self._interpretable is None:
            return finished, result
        if _time_to_compile(self._parts):
            spent = _clock.tried
            allowed = min(PATIENCE - (spent - _clock.tried_before), PATIENCE_IN_ALL - spent)
            if allowed > 0:
                finished, result = self._interpret(args, allowed)
        if not finished and not _time_to_compile(self._parts):
            finished, result = self._interpret(args, math.inf)
            if not finished:
                raise TimeoutError("no time was left for machine code")
        return finished, result

    def _interpret(self, args: tuple[Any, ...], seconds: float) -> tuple[bool, Any]:
        """Whether it came to its end in time, and its result; else nothing has changed."""
        began, worked, finished = time.perf_counter(), time.thread_time(), True
        before = [copied(value) for value in args]
        _clock.deadline = worked + seconds
        try:
            with np.errstate(all="ignore"):  # as machine code does
                return True, plain(self._interpretable(*args))
        except _LateError:
            finished = False
            for value, saved in zip(args, before, strict=True):
                put_back(value, saved)
            return False, None
        finally:
            _clock.deadline = None
            spent, used = time.perf_counter() - began, time.thread_time() - worked
            _clock.tried += used
            if finished:
                _clock.interpreted += spent
            else:
                _clock.compiling += spent
                _clock.slowness = max(1.0, spent / max(used, 1e-3))

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
            half[self] = numba.njit(cache=True, nogil=True)(_in(names, self.py_func))
        finally:
            settings.CACHE_DIR = given
        for name, value in list(names.items()):
            if isinstance(value, Dispatcher):
                names[name] = value._half_made(half)
        return half[self]

    @cached_property
    def _parts(self) -> int:
        """Functions to be compiled for it: itself, what it calls, what that calls."""
        parts, ahead = {self}, [self]
        while ahead:
            function = ahead.pop().py_func
            called = (function.__globals__.get(name) for name in function.__code__.co_names)
            more = {one for one in called if isinstance(one, Dispatcher)} - parts
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
    def _interpretable(self) -> Any:
        return interruptible(self.py_func, _in_time)


def _in(names: dict[str, Any], function: FunctionType) -> FunctionType:
    """The function among other globals."""
    made = FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    return made


@contextmanager
def _compiling() -> Iterator[None]:
    """Count what passes within to the compiler, once where it calls itself."""
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    _clock.depth += 1
    if _clock.depth == 1:
        _clock.since = time.perf_counter()


def _leave() -> None:
    _clock.depth -= 1
    if _clock.depth == 0:
        _clock.compiling += time.perf_counter() - _clock.since


@cache
def _numba() -> Any:
    """The compiler, which takes long to import, and whose work is timed from then on."""
    import numba
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            _enter()

        def on_end(self, event: Any) -> None:
            _leave()

    register: Any = event.register
    register("numba:compiler_lock", Listener())
    return numba


def _ingredients(function: Callable[..., Any]) -> Iterator[str]:
    """What the machine code of a function depends on; numba itself looks at its file only."""
    yield _numba_version()
    yield source(function.__code__.co_filename)
    package = function.__module__.partition(".")[0]
    for name, value in sorted(function.__globals__.items(), key=lambda item: item[0]):
        if name.startswith("__"):
            continue
        if isinstance(value, Dispatcher):
            yield value.digest
        elif isinstance(value, type) and value.__module__.partition(".")[0] == package:
            yield source(getattr(sys.modules[value.__module__], "__file__", None) or "")
        elif isinstance(value, CONSTANT):
            yield f"{name} = {value!r}"


@cache
def _numba_version() -> str:
    return version("numba")
