"""Lemmas 1 to 5, as printed and as they hold, on one schedule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from formulations.preemptive.instance import CLOUD, Floats
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.theorems.record import TOLERANCE, Record
from formulations.preemptive.theorems.rows import RowSummary, cloud_rows, rows
from optsched.problem.certificate import Certificate, StatementVerdict, at_most
from optsched.problem.violation import Violation

PAPER = "Wang et al."


@dataclass(frozen=True, eq=False)
class Premises:
    """A schedule that can be told chunk by chunk, and which assumptions it meets."""

    record: Record
    feasible: bool
    """It passes the checker at its own speed."""
    alpha: Floats | None
    """Price of each chunk; None where nobody says and none follows from the schedule."""
    planned: Floats | None
    """Completion of each chunk planned at dispatch, where it follows from the schedule."""
    by_rule_5: bool
    """The prices are those of (5)."""
    static: bool
    """Workers run the chunk of highest density w_j / p_j."""
    residual: bool
    """Workers run the chunk of highest residual density."""
    cheapest_edge: bool
    """No chunk had a cheaper place at the edge."""
    cheapest_cloud: bool
    """No chunk had a cheaper place in the cloud."""

    @property
    def lacking(self) -> str:
        """Which assumptions of the corrected statements on residual priority do not hold."""
        unmet = [
            words
            for met, words in (
                (self.feasible, "the schedule is feasible"),
                (self.record.common_delays, "every server is equally far from all jobs"),
                (self.residual, "workers run the chunk of highest residual density"),
                (self.by_rule_5, "prices are those of (5)"),
            )
            if not met
        ]
        return "it is not so that " + "; ".join(unmet) if unmet else ""


def lemma_1(record: Record, *, feasible: bool) -> Iterator[Certificate]:
    """Fractional flow time against completion times."""
    weight, time = record.weight, record.duration
    release = record.instance.release_time[record.job]
    length = record.run_end - record.run_start
    middle = (record.run_start + record.run_end) / 2
    trained = np.bincount(record.run_chunk, weights=length * middle, minlength=len(time))
    done = np.bincount(record.run_chunk, weights=length, minlength=len(time))
    fractional = weight / time * (trained - done * release)
    bound = weight * (record.completion - time / 2 - release)
    worst = int(np.argmax(fractional - bound))
    exact = np.abs(done - time) <= TOLERANCE * np.maximum(1.0, time)
    yield Certificate(
        "Lemma 1, corrected",
        f"{PAPER}, Lemma 1",
        "mean age of each chunk's work <= w (c - p/2 - r): left <= right, the worst chunk",
        at_most(float(fractional[worst]), float(bound[worst])),
        expected=feasible and bool(exact.all()),
        left=float(fractional[worst]),
        right=float(bound[worst]),
        where={"job": int(record.job[worst]), "chunk": _number(record, worst)},
        detail="equality where a chunk runs in one piece"
        + ("" if exact.all() else "; some chunk is trained for longer than it needs"),
    )
    whole = all(bool(np.all(x == np.round(x))) for x in (record.run_start, record.run_end, release))
    claim = "(4)-value of the schedule <= sum of w (C - r), C the last slot: left <= right"
    if not whole:
        yield _not_applicable("Lemma 1, as printed", "Lemma 1", claim, "times are not whole slots")
        return
    left = float(np.sum(fractional - weight * done / time / 2))
    right = float(np.sum(weight * (record.completion - 1 - release)))
    yield Certificate(
        "Lemma 1, as printed",
        f"{PAPER}, Lemma 1",
        claim,
        at_most(left, right),
        expected=feasible and bool(exact.all()),
        left=left,
        right=right,
        detail="" if exact.all() else "chunks take more slots than their (fractional) duration",
    )


def _number(record: Record, chunk: int) -> int:
    return int(chunk - record.first_chunk[record.job[chunk]])


def lemma_3(schedule: Schedule, violations: list[Violation]) -> Certificate:
    """(4c), (4d): parameter servers."""
    broken = [v for v in violations if v.constraint in ("2e", "2f")]
    worst = max(broken, key=lambda v: v.amount, default=None)
    return Certificate(
        "Lemma 3",
        f"{PAPER}, Lemma 3",
        "every running job has exactly one parameter server, and no server two jobs",
        "fails" if broken else "holds",
        expected=True,
        left=float(len(broken)),
        right=0.0,
        where={} if worst is None else dict(worst.index),
    )


def lemma_4(case: Premises) -> Iterator[Certificate]:
    """The prices, the weighted flow time and the betas add up to the same."""
    record = case.record
    source = f"{PAPER}, Lemma 4"
    total = float(record.flow.sum())
    claim = "sum of alpha (left) = sum of w (c - r) = sum of beta (right)"
    if case.alpha is None:
        for name in ("Lemma 4, corrected", "Lemma 4, as printed"):
            yield _not_applicable(name, "Lemma 4", claim, "the schedule brings no prices")
        return
    paid = float(case.alpha.sum())
    equal: StatementVerdict = "holds" if _equal(paid, total) else "fails"
    proven = case.feasible and record.common_delays and case.by_rule_5
    yield Certificate(
        "Lemma 4, corrected",
        source,
        claim + ", a chunk counting in beta up to its final completion",
        equal,
        expected=proven and (case.static or case.residual),
        left=paid,
        right=total,
        detail="" if record.common_delays else "proven for delays that do not depend on the job",
    )
    if case.planned is None:
        yield _not_applicable(
            "Lemma 4, as printed", "Lemma 4", claim, "the completions planned are not known"
        )
        return
    release = record.instance.release_time[record.job]
    printed = float(np.sum(record.weight * (case.planned - release)))
    yield Certificate(
        "Lemma 4, as printed",
        source,
        claim + ", a chunk counting in beta up to the completion planned at dispatch",
        "holds" if _equal(paid, printed) else "fails",
        left=paid,
        right=printed,
        detail="fails as soon as a chunk is postponed",
    )


def _equal(left: float, right: float) -> bool:
    return at_most(left, right) == at_most(right, left) == "holds"


def lemma_2(case: Premises) -> Iterator[Certificate]:
    """The rows of the dual, (6a), for the prices and betas of the run; Lemma 5 is the same."""
    record = case.record
    row = "alpha <= w (t - r) + p beta_w(t)"
    named = [
        ("Lemma 2, as printed", f"{row} on every eligible edge worker for t >= r"),
        ("Lemma 2, after the upload", f"{row} on every eligible edge worker for t >= r + Delta"),
        ("Lemma 2, on the chosen worker", f"{row} on the chunk's own worker for t >= r + Delta"),
        ("Lemma 2, corrected", "alpha <= w (t - r) + w p + p beta_w(t) for t >= r + Delta"),
        ("Lemma 2, cloud, as printed", "alpha <= w Delta_c on an unused worker of the cloud"),
        ("Lemma 2, cloud, corrected", "alpha <= 2 w (Delta_c + p^1); without a term for "
         "communication 1 in place of 2"),
        ("Lemma 5", "(11a) for beta / (1 + epsilon): the rows of Lemma 2 after the upload"),
    ]  # fmt: skip
    if case.alpha is None:
        for name, claim in named:
            lemma = "Lemma 5" if name == "Lemma 5" else "Lemma 2"
            yield _not_applicable(name, lemma, claim, "the schedule brings no prices")
        return
    alpha, met = case.alpha, not case.lacking
    after = rows(record, alpha, since="upload", concerned="all", own=False)
    cloud = cloud_rows(record, alpha, own=True)
    results = [
        (rows(record, alpha, since="release", concerned="all", own=False), False),
        (after, False),
        (rows(record, alpha, since="upload", concerned="chosen", own=False), met),
        (rows(record, alpha, since="upload", concerned="all", own=True),
         met and case.cheapest_edge),
        (cloud_rows(record, alpha, own=False), False),
        (cloud, met and case.cheapest_edge and case.cheapest_cloud),
        (after, False),
    ]  # fmt: skip
    for (name, claim), (found, expected) in zip(named, results, strict=True):
        lemma = "Lemma 5" if name == "Lemma 5" else "Lemma 2"
        if name == "Lemma 2, cloud, corrected":
            broken = found.scale < 1 / stretch(record) * (1 - TOLERANCE)
            found = RowSummary(
                found.count,
                int(broken),
                found.scale,
                found.left,
                stretch(record) * found.right,
                found.where,
            )
        yield _rows_certificate(name, lemma, claim, found, expected, case.lacking)


def stretch(record: Record) -> float:
    """theta: 2 where some job's communication takes time and it may use the cloud, else 1."""
    instance = record.instance
    pays = instance.chunk_time_slow > instance.chunk_time_fast * (1 + TOLERANCE)
    return 2.0 if bool(np.any(pays & np.isfinite(instance.upload_delay_cloud))) else 1.0


def _rows_certificate(
    name: str, lemma: str, claim: str, found: RowSummary, expected: bool, lacking: str
) -> Certificate:
    if found.count == 0:
        return _not_applicable(name, lemma, claim, "there is no such row")
    detail = f"broken for {found.broken} pairs of job and worker" if found.broken else ""
    if not expected and found.broken and name.endswith(("corrected", "chosen worker")):
        detail += f"; {lacking or 'a chunk had a cheaper place'}"
    return Certificate(
        name,
        f"{PAPER}, {lemma}",
        claim,
        "fails" if found.broken else "holds",
        expected=expected,
        left=found.left,
        right=found.right,
        where=found.where,
        detail=detail,
    )


def storage_rows(case: Premises) -> Iterator[Certificate]:
    """(9a) with eta = 0, where an instance limits storage: what Section VI says still holds."""
    instance = case.record.instance
    servers = np.unique(case.record.worker[case.record.worker != CLOUD])
    limited = np.isfinite(instance.storage_capacity).any() and instance.chunk_storage.any()
    if not limited or case.alpha is None or not len(servers):
        return
    found = rows(case.record, case.alpha, since="upload", concerned="all", own=False)
    yield _rows_certificate(
        "(9a) with eta = 0",
        "(9)",
        "the rows of Lemma 2 after the upload, although storage keeps chunks from workers",
        found,
        False,
        "",
    )


def _not_applicable(name: str, number: str, claim: str, why: str) -> Certificate:
    return Certificate(name, f"{PAPER}, {number}", claim, "not_applicable", detail=why)
