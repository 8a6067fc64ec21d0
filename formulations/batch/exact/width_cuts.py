"""Cuts on pooled schedules by which numbers of workers fit together in a slot.

In slot t every job has one of its numbers of workers N, or does not run, and all jobs of a type
together have at most W workers. Rows that every such choice satisfies,

    sum over runs in slot t of pi_j(N) <= pi_0,

say more than the capacity: of three jobs with two workers each, two fit into W = 5. The pi_j(N)
that a fractional point violates are a polar cut. They are then lifted, job by job, to every number
of workers of every job that may run in the slot.
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from formulations.batch.exact.server_cuts import Row, Runs
from formulations.batch.instance import Floats, Integers
from optsched.decomposition.polar_cuts import violated_row

LEAST = 3e-3
"""Violation of a cut that is worth a row, as part of its right-hand side."""
MOST = 5_000
"""Choices to look for a row with; lifting makes it hold for all others, too."""
UNITS = 10_000
"""Units of a right-hand side, in which coefficients are whole, so that sums of them are exact."""


def width_rows(runs: Runs, part: Runs, share: Floats) -> list[Row]:
    """Return rows that a fractional choice of runs violates, at most one for each type and slot.

    Args:
        runs: all that may be chosen.
        part: those with a share.
        share: of each of them, > 0.
    """
    instance, rows = runs.chosen.instance, []
    for t, now, own, capacity in part.by_slot(share):
        room, jobs = int(capacity.sum()), np.unique(now.job)
        at = np.flatnonzero((runs.start <= t) & (t <= runs.end))
        at = at[np.isin(instance.worker_type[runs.job[at]], instance.worker_type[jobs])]
        there = runs.take(at)
        order = np.concatenate([jobs, np.setdiff1d(there.job, jobs)])  # in which they are lifted
        place = np.zeros(instance.jobs, dtype=np.int64)
        place[order] = np.arange(len(order))
        allowed = np.zeros((len(order), int(there.workers.max()) + 1))
        allowed[place[there.job], there.workers] = 1.0
        load = np.zeros((len(jobs), allowed.shape[1]))
        np.add.at(load, (place[now.job], now.workers), own)
        found = violated_worth(load, room)
        if found is not None:
            worth = np.zeros_like(allowed)
            worth[: len(jobs)] = found
            side = lift(worth, allowed, room)
            if (worth[: len(jobs)] * load).sum() > (1.0 + LEAST / 2.0) * side:
                counts = worth[place[there.job], there.workers] / side
                rows.append((at[counts > 0], counts[counts > 0], 1.0))
    return rows


def violated_worth(load: Floats, room: int) -> Floats | None:
    """Return pi_j(N), whole numbers, of a row that a load violates, if one is found.

    Args:
        load: share of each job with each number of workers, 0 with none, shape (jobs, numbers).
        room: workers of all jobs together.
    """
    job, number = np.nonzero(load)
    members = fitting_choices(job, number, room)

    def heaviest(weight: Floats) -> tuple[float, Floats]:
        """Return the most that a choice is worth, and the choice."""
        worth = members @ weight
        best = int(worth.argmax())
        return float(worth[best]), members[best]

    row = violated_row(load[job, number], heaviest, least=LEAST)
    if row is None:
        return None
    worth = np.zeros_like(load)
    worth[job, number] = np.rint(UNITS * row)
    return worth


def fitting_choices(job: Integers, number: Integers, room: int) -> Floats:
    """Return choices of a number of workers for some jobs that fit together, 1 if it is chosen.

    Args:
        job: of each number, ascending, shape (numbers,).
        number: workers.
        room: workers of all jobs together.

    Returns:
        All choices, or some if they are more than ``MOST``; shape (choices, numbers).
    """
    found, left = np.zeros((1, len(job))), np.array([room])
    for j in np.unique(job):
        parts = [(found, left)]
        for k in np.flatnonzero(job == j):
            more = found[left >= number[k]]
            more[:, k] = 1.0
            parts.append((more, left[left >= number[k]] - number[k]))
        found, left = (np.concatenate(part) for part in zip(*parts, strict=True))
        step = -(-len(found) // MOST)
        found, left = found[::step], left[::step]
    return found


def lift(worth: Floats, allowed: Floats, room: int) -> float:
    """Raise what each job counts as far as all others allow, one job after the other.

    Args:
        worth: of each job by its number of workers, whole numbers, 0 with none; changed.
        allowed: 1 for a job's numbers of workers, else 0, shape (jobs, numbers).
        room: workers of all jobs together.

    Returns:
        What all jobs together count at most, before and after.
    """
    before = np.zeros(room + 1)
    after = list(accumulate(worth[::-1], together, initial=before))[::-1]
    side = after[0][room]
    for j in range(len(worth)):
        n = np.flatnonzero(allowed[j, : room + 1])
        worth[j, n] = side - together(before, after[j + 1])[room - n]
        before = together(before, worth[j])
    return float(side)


def together(first: Floats, second: Floats) -> Floats:
    """Return the most that two count together in c workers, for every c.

    Args:
        first: the most that one counts in c workers, for every c.
        second: the same of the other one, or what a job counts by its number of workers.
    """
    left = np.arange(len(first))[:, None] - np.arange(len(second))
    return np.asarray(np.where(left >= 0, first[np.maximum(left, 0)] + second, -np.inf).max(axis=1))
