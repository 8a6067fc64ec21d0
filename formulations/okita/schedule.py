"""What was decided: workers, parameter servers and data moves, slot by slot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from optsched.errors import InputError
from optsched.instances.arrays import freeze
from optsched.instances.document import LARGEST_INDEX, Document

Integers = NDArray[np.int64]
Index = Annotated[int, Field(ge=-LARGEST_INDEX, le=LARGEST_INDEX)]


class WorkersDocument(Document):
    """y_i^r(t) > 0."""

    job: Index
    slot: Index
    site: Index
    count: Index


class ServerDocument(Document):
    """s_i^r(t) = 1."""

    job: Index
    slot: Index
    site: Index


class MoveDocument(Document):
    """g_i^{rr'}(t) > 0; source = target: chunks trained where they lie."""

    job: Index
    slot: Index
    source: Index
    target: Index
    chunks: Index


class ScheduleDocument(Document):
    """A schedule of one instance."""

    format: Literal["optsched/okita/schedule"] = "optsched/okita/schedule"
    version: Literal[1] = 1
    workers: list[WorkersDocument]
    servers: list[ServerDocument]
    moves: list[MoveDocument]


@dataclass(frozen=True, eq=False)
class Schedule:
    """Workers, parameter servers and chunks trained, as columns; only what is not zero.

    Raises:
        InputError: columns of different lengths.
    """

    document_type: ClassVar[type[Document]] = ScheduleDocument

    worker_job: Integers
    """Shape (rows,)."""
    worker_slot: Integers
    worker_site: Integers
    worker_count: Integers
    """y_i^r(t)."""
    server_job: Integers
    """Shape (servers,): one entry per s_i^r(t) = 1."""
    server_slot: Integers
    server_site: Integers
    move_job: Integers
    """Shape (moves,)."""
    move_slot: Integers
    move_source: Integers
    move_target: Integers
    move_chunks: Integers
    """g_i^{rr'}(t)."""

    def __post_init__(self) -> None:
        freeze(self)
        for kind in ("worker", "server", "move"):
            names = [f.name for f in fields(self) if f.name.startswith(kind + "_")]
            lengths = {name: len(getattr(self, name)) for name in names}
            if len(set(lengths.values())) > 1:
                raise InputError.of(kind, lengths, "columns of one length")

    @classmethod
    def build(
        cls, *, workers: ArrayLike = (), servers: ArrayLike = (), moves: ArrayLike = ()
    ) -> Schedule:
        """Build from rows; rows that count nothing are left out.

        Args:
            workers: rows (job, slot, site, count), shape (rows, 4).
            servers: rows (job, slot, site), shape (rows, 3).
            moves: rows (job, slot, source, target, chunks), shape (rows, 5).
        """
        w: Integers = np.asarray(workers, dtype=np.int64).reshape(-1, 4)
        s: Integers = np.asarray(servers, dtype=np.int64).reshape(-1, 3)
        g: Integers = np.asarray(moves, dtype=np.int64).reshape(-1, 5)
        w, g = w[w[:, 3] != 0], g[g[:, 4] != 0]
        return cls(*w.T.copy(), *s.T.copy(), *g.T.copy())

    @classmethod
    def merged(cls, parts: Iterable[Schedule]) -> Schedule:
        """Schedules of different jobs as one."""
        listed = list(parts)
        columns = {
            item.name: np.concatenate([getattr(part, item.name) for part in listed])
            for item in fields(cls)
        }
        return cls(**columns)

    def later(self, slots: Integers) -> Schedule:
        """Every job served so many slots later, shape (jobs,)."""
        last = len(slots) - 1
        return replace(
            self,
            worker_slot=self.worker_slot + slots[np.minimum(self.worker_job, last)],
            server_slot=self.server_slot + slots[np.minimum(self.server_job, last)],
            move_slot=self.move_slot + slots[np.minimum(self.move_job, last)],
        )

    @classmethod
    def from_document(cls, document: ScheduleDocument) -> Schedule:
        """Arrays from a validated file."""
        return cls.build(
            workers=_rows(document.workers),
            servers=_rows(document.servers),
            moves=_rows(document.moves),
        )

    def to_document(self) -> ScheduleDocument:
        """The file that gives back this schedule."""
        kinds: dict[str, tuple[type[Document], str]] = {
            "workers": (WorkersDocument, "worker"),
            "servers": (ServerDocument, "server"),
            "moves": (MoveDocument, "move"),
        }
        listed: dict[str, Any] = {}
        for name, (document, prefix) in kinds.items():
            columns = [getattr(self, f"{prefix}_{part}").tolist() for part in document.model_fields]
            listed[name] = [
                dict(zip(document.model_fields, row, strict=True))
                for row in zip(*columns, strict=True)
            ]
        return ScheduleDocument.model_validate(listed)


def _rows(documents: Iterable[Document]) -> list[tuple[int, ...]]:
    return [tuple(document.model_dump().values()) for document in documents]
