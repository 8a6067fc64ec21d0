"""The SQLite file of a study: its tables, its one writer, and reading it meanwhile.

Results are written by the process that runs a study, each as soon as it is known: a kill loses only
the runs under way, and a power failure may lose the last seconds.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from optsched.errors import InputError, clean

T = TypeVar("T")

APPLICATION = 0x6F707473
"""Marks an SQLite file as a store of studies."""

FORMAT = 7
"""Version of the tables below."""

PATIENCE = 30.0
"""Seconds to wait for another connection to let go."""

TO_DISK = 5.0
"""Seconds between two times that results are forced through to the disk, which takes long."""

_TABLES = """
CREATE TABLE instances (
    recipe TEXT PRIMARY KEY,   -- digest of the generator's options, its code and the seed
    problem TEXT NOT NULL, name TEXT NOT NULL, seed INTEGER NOT NULL,
    digest TEXT NOT NULL,      -- of the instance's content; empty where it could not be made
    message TEXT NOT NULL, took REAL NOT NULL
);
CREATE TABLE methods (
    key TEXT PRIMARY KEY,      -- digest of everything that follows; of a proof, of its solve too
    problem TEXT NOT NULL, kind TEXT NOT NULL, call TEXT NOT NULL, solver TEXT,
    start TEXT NOT NULL, settings TEXT NOT NULL, versions TEXT NOT NULL
);
CREATE TABLE runs (
    instance TEXT NOT NULL,    -- digest of the instance's content
    method TEXT NOT NULL REFERENCES methods(key),
    seed INTEGER NOT NULL,     -- -1 where the result depends on none
    status TEXT NOT NULL, cost REAL, bound REAL, offline INTEGER NOT NULL,
    foresight TEXT NOT NULL,   -- of an online heuristic: none found, found, not tried
    may_beat INTEGER NOT NULL, seconds REAL NOT NULL,
    compile_seconds REAL NOT NULL, interpreted_seconds REAL NOT NULL,
    solver TEXT NOT NULL, "limit" TEXT NOT NULL, nodes INTEGER, message TEXT NOT NULL,
    interpretation TEXT NOT NULL, -- how the instance was taken to have this optimum or bound
    trace TEXT NOT NULL,       -- traceback of what it raised
    measures TEXT NOT NULL, quantities TEXT NOT NULL, schedule TEXT, rows TEXT,
    flow_times TEXT, trajectory TEXT,
    took REAL NOT NULL,        -- wall seconds, everything included
    finished REAL NOT NULL,    -- seconds since 1970
    PRIMARY KEY (instance, method, seed)
);
CREATE TABLE grids (number INTEGER PRIMARY KEY, facts TEXT NOT NULL);
CREATE TABLE cases (
    number INTEGER PRIMARY KEY, grid INTEGER NOT NULL REFERENCES grids(number),
    recipe TEXT NOT NULL, name TEXT NOT NULL, seed INTEGER NOT NULL, cell TEXT NOT NULL
);
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE VIEW results AS
    SELECT cases.grid, cases.name AS instance, cases.seed, methods.problem, methods.kind,
        methods.call, runs.status, runs.cost, runs.bound, runs.seconds,
        runs.compile_seconds, runs.solver, runs."limit", runs.message
    FROM cases JOIN instances USING (recipe)
    JOIN runs ON runs.instance = instances.digest AND runs.seed IN (cases.seed, -1)
    JOIN methods ON methods.key = runs.method AND methods.problem = instances.problem;
"""


class StoreLostError(OSError):
    """The store cannot be written or read any more; what else it has is there."""


class StoreFile:
    """The file; use ``open``, ``reading`` or ``in_memory``."""

    def __init__(self, connection: sqlite3.Connection, lock: sqlite3.Connection | None) -> None:
        self._sql = connection
        self._lock = lock
        self._on_disk = time.monotonic()
        self.damage = ""
        """What is wrong with the first line that could not be read, if any could not."""
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")

    @classmethod
    def in_memory(cls) -> Self:
        """A store that is gone when it is closed."""
        store = cls(_connection(":memory:"), None)
        store._create()
        return store

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open for writing, as the only one; made if there is none.

        Raises:
            InputError: the file is another one's, is of another format, or is being written.
        """
        path = Path(path)
        if path.name == ":memory:":  # which SQLite takes for no file
            raise InputError.of("store", str(path), "a file that keeps the results")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            allowed = f"a file in a folder that can be written ({error})"
            raise InputError.of("store", str(path), allowed) from None
        lock = _claim(path)
        try:
            sql = _connection(str(path))
            new = _is_new(path, sql)
            # a commit then outlives this process without waiting for the disk
            sql.execute("PRAGMA journal_mode = WAL")
            sql.execute("PRAGMA synchronous = NORMAL")
            store = cls(sql, lock)
            if new:
                store._create()
            return store
        except BaseException as error:
            lock.close()
            if isinstance(error, sqlite3.DatabaseError):
                raise InputError.of("store", str(path), f"cannot be written ({error})") from None
            raise

    @classmethod
    def reading(cls, path: str | Path) -> Self:
        """Open for reading, while a study may be running.

        Raises:
            InputError: there is no such file, or it is another one's or of another format.
        """
        path = Path(path)
        if not path.is_file():
            raise InputError.of("store", str(path), "a store that optsched study run has written")
        # what a kill has left half written can only be mended by one who may write
        mode = "rw" if os.access(path, os.W_OK) else "ro"
        sql = _connection(f"{path.absolute().as_uri()}?mode={mode}", uri=True)
        sql.execute("PRAGMA query_only = ON")
        if _is_new(path, sql):
            sql.close()
            raise InputError.of("store", str(path), "a store with a study: this one is empty")
        return cls(sql, None)

    @classmethod
    def reopened(cls, source: Path | bytes) -> Self:
        """Open for reading what ``source`` of another store has told.

        Raises:
            InputError: see ``reading``.
        """
        if isinstance(source, Path):
            return cls.reading(source)
        sql = _connection(":memory:")
        sql.deserialize(source)
        return cls(sql, None)

    def source(self) -> Path | bytes:
        """The file; of a store in memory, all that it holds."""
        ((_, _, file), *_) = self._sql.execute("PRAGMA database_list").fetchall()
        return Path(file) if file else self._sql.serialize()

    @staticmethod
    def is_being_written(path: str | Path) -> bool:
        """Whether a study has it open for writing at this moment."""
        lock = Path(f"{path}-lock")
        if not lock.is_file():
            return False
        with closing(_connection(f"{lock.absolute().as_uri()}?mode=ro", uri=True)) as sql:
            sql.execute("PRAGMA busy_timeout = 0")
            try:
                sql.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
            except sqlite3.DatabaseError as error:
                return "locked" in str(error)
        return False

    @contextmanager
    def one_moment(self) -> Iterator[None]:
        """Everything read within is of the same moment, whatever is written meanwhile."""
        self._ask("BEGIN")
        try:
            yield
        finally:
            with suppress(sqlite3.DatabaseError):  # nothing was written
                self._sql.execute("COMMIT")

    def _create(self) -> None:
        # one transaction: a kill leaves the whole of it or nothing
        self._sql.executescript(
            f"BEGIN IMMEDIATE; {_TABLES} PRAGMA application_id = {APPLICATION};"
            f" PRAGMA user_version = {FORMAT}; COMMIT;"
        )

    def close(self) -> None:
        """Let go of the file."""
        if self._lock is None:
            self._sql.close()
            return
        with suppress(sqlite3.DatabaseError):  # a reader is in the way, or the disk is full
            self._sql.execute("PRAGMA busy_timeout = 500")
            self._sql.execute("PRAGMA journal_mode = DELETE")  # a single file, readable anywhere
        self._sql.close()
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Everything written within is there afterwards, or nothing of it.

        Raises:
            StoreLostError: it cannot be written.
        """
        try:
            self._sql.execute("BEGIN IMMEDIATE")
            yield
            self._sql.execute("COMMIT")
        except BaseException as error:
            with suppress(sqlite3.DatabaseError):  # a full disk has ended it already
                self._sql.execute("ROLLBACK")
            broken = isinstance(error, sqlite3.DatabaseError)
            if broken and not isinstance(error, sqlite3.IntegrityError):
                raise StoreLostError(f"the store cannot be written: {error}") from None
            raise
        if time.monotonic() - self._on_disk > TO_DISK:
            with suppress(sqlite3.DatabaseError):  # the next result tells
                self._sql.execute("PRAGMA wal_checkpoint(PASSIVE)")
            self._on_disk = time.monotonic()

    def _insert(self, question: str, lines: Iterable[Sequence[Any]]) -> None:
        self._sql.executemany(
            question, [[clean(v) if isinstance(v, str) else v for v in line] for line in lines]
        )

    def _ask(self, question: str, given: Sequence[Any] = ()) -> list[Any]:
        """The answer to a question.

        Raises:
            StoreLostError: it cannot be read.
        """
        try:
            return self._sql.execute(question, given).fetchall()
        except sqlite3.DatabaseError as error:
            raise StoreLostError(f"the store is damaged: {error}") from None

    def _readable(
        self, question: str, make: Callable[..., T], given: Sequence[Any] = ()
    ) -> Iterator[T]:
        """What each line of the answer says; see ``damage`` for those that cannot be read."""
        lines = self._sql.cursor()
        try:
            for line in lines.execute(question, given):
                try:
                    yield make(*line)
                except (TypeError, ValueError, LookupError, AttributeError):
                    self.damage = self.damage or f"a line holds {line!r:.60}"
        except sqlite3.DatabaseError as error:
            self.damage = self.damage or str(error)


def _connection(path: str, *, uri: bool = False) -> sqlite3.Connection:
    # transactions are begun and ended by hand; another thread may close the store
    return sqlite3.connect(
        path, timeout=PATIENCE, isolation_level=None, uri=uri, check_same_thread=False
    )


def _claim(path: Path) -> sqlite3.Connection:
    """Become the only writer: the lock ends with the process, however that ends."""
    try:
        lock = sqlite3.connect(
            f"{path}-lock", timeout=0.5, isolation_level=None, check_same_thread=False
        )
    except sqlite3.OperationalError as error:
        raise InputError.of("store", str(path), f"a file that can be written ({error})") from None
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.DatabaseError as error:
        lock.close()
        allowed = f"a store that no other study is writing at this moment ({error})"
        raise InputError.of("store", str(path), allowed) from None
    return lock


def _is_new(path: Path, sql: sqlite3.Connection) -> bool:
    """Whether the file is still empty.

    Raises:
        InputError: it is another one's, or of another format.
    """
    try:
        (application,) = sql.execute("PRAGMA application_id").fetchone()
        (version,) = sql.execute("PRAGMA user_version").fetchone()
        (tables,) = sql.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    except (sqlite3.DatabaseError, UnicodeError) as error:
        raise InputError.of("store", str(path), f"cannot be read ({error})") from None
    if not tables and not application:
        return True
    if application != APPLICATION:
        raise InputError.of("store", str(path), "an SQLite file that a study has written")
    if version != FORMAT:
        allowed = f"of format {FORMAT}: this one is {version}; choose another file"
        raise InputError.of("store", str(path), allowed)
    return False
