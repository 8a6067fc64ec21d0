"""Preemptive earliest-deadline-first on one worker: feasible whenever anything is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple


class Task(NamedTuple):
    """Equal chunks of one job that wait for one worker."""

    arrival: int
    """Slot from which they may run."""
    deadline: int
    duration: int
    """Slots one chunk takes."""
    chunks: int
    """How many."""
    job: int
    first_chunk: int
    """Number of the first; the others follow."""


def earliest_deadline_first(tasks: Sequence[Task]) -> Iterator[tuple[int, int, int, int]]:
    """Run every task, ties by job.

    Yields:
        (job, chunk, start, end) of every uninterrupted run, in order of time.
    """
    waiting = sorted(tasks)
    ready: list[tuple[int, int, int, Task]] = []  # deadline, job, work left, task
    now, arrived = 0, 0
    while ready or arrived < len(waiting):
        if not ready:
            now = max(now, waiting[arrived].arrival)
        while arrived < len(waiting) and waiting[arrived].arrival <= now:
            task = waiting[arrived]
            heappush(ready, (task.deadline, task.job, task.chunks * task.duration, task))
            arrived += 1
        deadline, job, left, task = heappop(ready)
        done = task.chunks * task.duration - left
        chunk, spent = divmod(done, task.duration)
        end = now + task.duration - spent  # a chunk at a time
        if arrived < len(waiting):
            end = min(end, waiting[arrived].arrival)
        yield job, task.first_chunk + chunk, now, end
        left -= end - now
        now = end
        if left:
            heappush(ready, (deadline, job, left, task))
