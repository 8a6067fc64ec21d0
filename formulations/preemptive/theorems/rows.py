"""The rows of the dual at the prices and betas of a run: (6a), (9a), (11a) and what corrects them.

A row reads alpha_jd <= w_j (t - r_j) + p_jw beta_w(t), where beta_w(t) is the weight of the chunks
sent to worker w and unfinished at t. Its right-hand side grows with t but where a chunk
completes, so it is enough to look at the first moment and at completions. With durations
(1 + epsilon) p and beta / (1 + epsilon), which is (11a), it is the same row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from formulations.preemptive.instance import CLOUD, Floats, Integers
from formulations.preemptive.theorems.record import TOLERANCE, Record
from optsched.instances.arrays import ranges

Since = Literal["release", "upload"]
Concerned = Literal["all", "chosen"]


@dataclass(frozen=True)
class RowSummary:
    """What came of many rows of one kind."""

    count: int
    """Rows looked at: a chunk's worst prices only, and moments that may matter."""
    broken: int
    """Pairs of a job and a worker of which some row fails."""
    scale: float
    """Greatest factor <= 1 by which all prices may be multiplied so that every row holds."""
    left: float
    """Left side of the worst row: alpha_jd."""
    right: float
    where: dict[str, int | float]
    """Job, worker and time of the worst row."""


@dataclass(frozen=True, eq=False)
class Beta:
    """beta_w(t) of one worker, a step function of t."""

    release: Floats
    """Ascending."""
    weight_released: Floats
    """Total weight up to each."""
    completion: Floats
    """Ascending."""
    weight_completed: Floats

    @classmethod
    def of(cls, record: Record, chunks: Integers) -> Beta:
        """That of the worker these chunks were sent to."""
        weight = record.weight[chunks]
        release = record.instance.release_time[record.job[chunks]]
        completion = record.completion[chunks]
        first, last = np.argsort(release), np.argsort(completion)
        return cls(
            release[first], np.concatenate([[0.0], np.cumsum(weight[first])]),
            completion[last], np.concatenate([[0.0], np.cumsum(weight[last])]),
        )  # fmt: skip

    def at(self, time: Floats) -> Floats:
        """Its value: a chunk counts for r_j <= t < c_jd."""
        came = np.searchsorted(self.release, time, side="right")
        went = np.searchsorted(self.completion, time + _ROUNDING * time, side="right")
        return np.asarray(self.weight_released[came] - self.weight_completed[went])


_ROUNDING = 1e-13  # moments closer than this, relatively, are one


def rows(
    record: Record, alpha: Floats, *, since: Since, concerned: Concerned, own: bool
) -> RowSummary:
    """Evaluate the rows of edge workers.

    Args:
        record: what the schedule did.
        alpha: price of each chunk, shape (chunks,).
        since: rows for t >= r_j, as printed, or from the end of the upload on.
        concerned: rows of every eligible worker, or of the one a chunk was sent to.
        own: add w_j p_j on the right, which pays for a worker that does not hold the chunk.
    """
    instance = record.instance
    dearest = np.full(instance.jobs, -np.inf)
    np.maximum.at(dearest, record.job, alpha)
    chunks_at = {w: chunks for w, chunks, _ in record.at_workers()}
    nothing = np.zeros(0, dtype=np.int64)
    count = broken = 0
    scale, worst = 1.0, -np.inf
    found: tuple[float, float, dict[str, int | float]] = (0.0, 0.0, {})
    for w in range(instance.workers):
        chunks = chunks_at.get(w, nothing)
        price = np.where(instance.worker_eligible[:, w], dearest, -np.inf)
        if concerned == "chosen":
            price = np.full(instance.jobs, -np.inf)
            np.maximum.at(price, record.job[chunks], alpha[chunks])
        job = np.flatnonzero(price > -np.inf)
        if not len(job):
            continue
        start = instance.release_time[job]
        if since == "upload":
            start = start + instance.upload_delay_edge[job, instance.worker_server[w]]
        row, moment, right = _right_sides(record, chunks, job, start, price[job], own=own)
        left = price[job][row]
        excess = left - right
        bad = excess > TOLERANCE * np.maximum(1.0, np.maximum(left, right))
        count += len(row)
        broken += len(np.unique(row[bad]))
        scale = min(scale, float(np.min(right[bad] / left[bad], initial=1.0)))
        at = int(np.argmax(excess))
        if excess[at] > worst:
            worst = float(excess[at])
            where = {"job": int(job[row[at]]), "worker": w, "time": float(moment[at])}
            found = (float(left[at]), float(right[at]), where)
    return RowSummary(count, broken, max(scale, 0.0), *found)


def _right_sides(
    record: Record,
    chunks: Integers,
    job: Integers,
    start: Floats,
    price: Floats,
    *,
    own: bool,
) -> tuple[Integers, Floats, Floats]:
    """Right-hand sides at one worker, at every moment that may matter to each job.

    Args:
        record: what the schedule did.
        chunks: sent to the worker.
        job: whose rows are wanted, shape (n,).
        start: first moment of each, slots.
        price: on the left of each.
        own: as in ``rows``.

    Returns:
        Position in ``job``, moment (slots) and right-hand side of each row.
    """
    weight, time = record.instance.weight[job], record.edge_time[job]
    release = record.instance.release_time[job]
    beta = Beta.of(record, chunks)
    # from r_j + alpha / w_j on, a row holds whatever beta is
    low = np.searchsorted(beta.completion, start, side="right")
    high = np.searchsorted(beta.completion, release + price / weight, side="left")
    row, event = ranges(low, high)
    moment = np.concatenate([start, beta.completion[event]])
    row = np.concatenate([np.arange(len(job)), row])
    right = weight[row] * (moment - release[row]) + time[row] * beta.at(moment)
    return row, moment, right + (weight * time)[row] if own else right


def cloud_rows(record: Record, alpha: Floats, *, own: bool) -> RowSummary:
    """The rows of an unused worker of the fast cloud, when the upload is done.

    alpha_jd <= w_j Delta_jc, with ``own`` w_j (Delta_jc + p^1_j).
    """
    instance = record.instance
    right = instance.upload_delay_cloud + (record.cloud_time if own else 0.0)
    right = instance.weight * right
    dearest = np.full(instance.jobs, -np.inf)
    np.maximum.at(dearest, record.job, alpha)
    known = np.flatnonzero(np.isfinite(right))
    if not len(known):
        return RowSummary(0, 0, 1.0, 0.0, 0.0, {})
    left, right = dearest[known], right[known]
    bad = left - right > TOLERANCE * np.maximum(1.0, np.maximum(left, right))
    ratio = right[bad] / left[bad]
    at = int(np.argmax(left - right))
    moment = instance.release_time[known[at]] + instance.upload_delay_cloud[known[at]]
    return RowSummary(
        len(known),
        int(bad.sum()),
        float(np.min(ratio, initial=1.0)),
        float(left[at]),
        float(right[at]),
        {"job": int(known[at]), "worker": CLOUD, "time": float(moment)},
    )


def edge_beta_total(record: Record) -> float:
    """Integral of the betas of all edge workers: the flow of the chunks sent there (slots)."""
    return float(record.flow[record.worker != CLOUD].sum())


def pieces_of_beta(record: Record) -> list[dict[str, float]]:
    """The betas as pieces (worker, start, end, value) on which they are constant and not 0."""
    listed: list[dict[str, float]] = []
    for w, chunks, _ in record.at_workers():
        beta = Beta.of(record, chunks)
        moments = np.unique(np.concatenate([beta.release, beta.completion]))
        value = beta.at(moments)
        kept = np.flatnonzero(value[:-1] > TOLERANCE)
        columns = (moments[kept], moments[kept + 1], value[kept])
        listed += [
            {"worker": w, "start": a, "end": b, "value": v}
            for a, b, v in zip(*(column.tolist() for column in columns), strict=True)
        ]
    return listed
