"""What was decided: in which rounds each request ran.

A request has one run, unless a policy evicts it: then it has several, of which the last is
complete.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from formulations.llm_inference.instance import Integers
from optsched.errors import InputError
from optsched.instances.arrays import freeze
from optsched.instances.document import LARGEST_INDEX, Document, Index


class RunDocument(Document):
    """A request runs without interruption."""

    request: Index
    start: int = Field(ge=0, le=LARGEST_INDEX, description="first round")
    tokens: int = Field(ge=1, le=LARGEST_INDEX, description="rounds, and tokens generated")


class ScheduleDocument(Document):
    """A schedule of one instance."""

    format: Literal["optsched/llm_inference/schedule"] = "optsched/llm_inference/schedule"
    version: Literal[1] = 1
    runs: list[RunDocument]


@dataclass(frozen=True, eq=False)
class Schedule:
    """Runs of requests.

    Raises:
        InputError: columns of different lengths.
    """

    document_type: ClassVar[type[Document]] = ScheduleDocument

    request: Integers
    """Shape (runs,)."""
    start: Integers
    """First round of each run, shape (runs,)."""
    tokens: Integers
    """Rounds of each run, shape (runs,)."""

    def __post_init__(self) -> None:
        freeze(self)
        shapes = [np.shape(c) for c in (self.request, self.start, self.tokens)]
        if len(set(shapes)) > 1 or len(shapes[0]) != 1:
            raise InputError.of("runs", shapes, "three columns of one length")

    @classmethod
    def build(cls, runs: ArrayLike) -> Schedule:
        """Build from rows (request, start, tokens), sorted by start and request."""
        rows = np.asarray(runs, dtype=np.int64).reshape(-1, 3)
        return cls(*rows[np.lexsort((rows[:, 0], rows[:, 1]))].T)

    @property
    def restarts(self) -> bool:
        """Whether a request has several runs."""
        return len(np.unique(self.request)) < len(self.request)

    def later(self, slots: Integers) -> Schedule:
        """Every request served so many rounds later, shape (requests,)."""
        by = slots[np.minimum(self.request, len(slots) - 1)]
        return replace(self, start=self.start + by)

    @classmethod
    def from_document(cls, document: ScheduleDocument) -> Schedule:
        """Arrays from a validated file."""
        return cls.build([(r.request, r.start, r.tokens) for r in document.runs])

    def to_document(self) -> ScheduleDocument:
        """The file that gives back this schedule."""
        columns = (self.request.tolist(), self.start.tolist(), self.tokens.tolist())
        runs = [RunDocument(request=i, start=p, tokens=k) for i, p, k in zip(*columns, strict=True)]
        return ScheduleDocument(runs=runs)
