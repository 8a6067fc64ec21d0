"""What a cluster trace says of jobs and machines, whatever its file format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from optsched.errors import InputError


@dataclass(frozen=True, eq=False)
class TraceJobs:
    """Jobs of a trace in order of submission; every array is read-only.

    Raises:
        InputError: columns of different lengths, or jobs that are not in order of submission.
    """

    submit_time: NDArray[np.float64]
    """Shape (jobs,), seconds since the first job of the trace."""
    duration: NDArray[np.float64]
    """Time spent running, shape (jobs,), seconds."""
    gpus: NDArray[np.int64]
    """GPUs held at once, shape (jobs,)."""
    cluster: NDArray[np.str_]
    """Label of the (virtual) cluster, shape (jobs,)."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Records left out, counted by reason."""

    def __post_init__(self) -> None:
        columns = (self.submit_time, self.duration, self.gpus, self.cluster)
        if len({len(column) for column in columns}) > 1:
            raise InputError.of("trace", [len(c) for c in columns], "columns of one length")
        if np.any(np.diff(self.submit_time) < 0):
            raise InputError.of("submit_time", "out of order", "in order of submission")
        for column in columns:
            column.flags.writeable = False

    def __len__(self) -> int:
        return len(self.submit_time)

    def release_slots(self) -> NDArray[np.int64]:
        """Slot of an hour in which each job is submitted, the first job's being 1, shape (jobs,).

        Raises:
            InputError: the trace is empty.
        """
        if len(self) == 0:
            raise InputError.of("trace", "no jobs", "at least one job")
        hours = (self.submit_time - self.submit_time[0]) // 3600
        slots: NDArray[np.int64] = hours.astype(np.int64) + 1
        return slots

    def __getitem__(self, kept: slice | NDArray[np.bool_]) -> TraceJobs:
        """Some of the jobs; submission times still count from the first job of the trace."""
        return TraceJobs(
            self.submit_time[kept], self.duration[kept], self.gpus[kept], self.cluster[kept]
        )


@dataclass(frozen=True, eq=False)
class Machines:
    """Machines of a cluster, in the order of the trace; the array is read-only."""

    name: tuple[str, ...]
    gpus: NDArray[np.int64]
    """Shape (machines,)."""

    def __post_init__(self) -> None:
        if len(self.name) != len(self.gpus):
            raise InputError.of("machines", len(self.gpus), f"one per name ({len(self.name)})")
        self.gpus.flags.writeable = False

    def __len__(self) -> int:
        return len(self.name)
