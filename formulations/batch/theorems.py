"""What the paper's rounds guarantee, evaluated on one instance and one schedule (Section IV)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from formulations.batch.check import check, completion_slots, cost, weighted_completion
from formulations.batch.domain_reduction import cloud_ends, lb_alone, weighted_alone
from formulations.batch.instance import Floats, Instance
from formulations.batch.schedule import Schedule
from optsched.problem.certificate import Certificate, at_most, feasibility

PAPER = "She et al."
FACTOR = 4.0
"""Factor of doubling intervals, for total weighted completion time (Hall et al., 1997)."""


def certify(instance: Instance, schedule: Schedule) -> list[Certificate]:
    """Rounds, the bound on every job that the cloud may take, and the interval argument."""
    claims = {"allow_preemption": schedule.preemptive, "ignore_upload": schedule.ignores_upload}
    violations = check(instance, schedule, **claims)
    found = [feasibility(f"{PAPER}, problem (2)", violations)]
    if violations:
        return found
    end = completion_slots(instance, schedule)
    return [*found, _rounds(instance, schedule, end), *_four_times(instance, end),
            *_intervals(instance, schedule)]  # fmt: skip


def _rounds(instance: Instance, schedule: Schedule, end: Floats) -> Certificate:
    """Every job inside one window tau + 1..2 tau, its upload done before it."""
    start = np.full(instance.jobs, np.inf)
    np.minimum.at(start, schedule.run_job, schedule.run_start)
    tau = 2.0 ** np.floor(np.log2(np.maximum(start - 1, 1)))
    late = np.flatnonzero((start < 2) | (end > 2 * tau) | (instance.release_slot >= tau))
    return Certificate(
        "Rounds", f"{PAPER}, Algorithm 1",
        "every job arrives before some tau = 1, 2, 4, ... and runs within tau + 1..2 tau",
        "fails" if len(late) else "holds", left=float(len(late)), right=0.0,
        where={"job": int(late[0])} if len(late) else {},
        detail="a property of schedules made in rounds, not of all",
    )  # fmt: skip


def _four_times(instance: Instance, end: Floats) -> Iterator[Certificate]:
    """c_j < 4 X_j, X_j = max(a_j + Delta_jc + 1, slots of the job on D_j workers of the cloud)."""
    name, source = "Four times the cloud", f"{PAPER}, Algorithm 1"
    claim = "c_j < 4 max(a_j + Delta_jc + 1, d_jc) of every job: left <= right, the worst job"
    alone = cloud_ends(instance)
    if (alone < 0).any():
        why = "not every job has a server without limit"
        yield Certificate(name, source, claim, "not_applicable", detail=why)
        return
    duration = -(-instance.work_fast // instance.num_chunks)
    arrived = alone - duration + 1
    right = 4.0 * np.maximum(arrived + 1, duration) - 1
    worst = int(np.argmax(end - right))
    yield Certificate(
        name, source, claim, at_most(float(end[worst]), float(right[worst])),
        left=float(end[worst]), right=float(right[worst]), where={"job": worst},
        detail="proven of A_online as printed: the first round that is long enough takes the job",
    )  # fmt: skip


def _intervals(instance: Instance, schedule: Schedule) -> Iterator[Certificate]:
    """Within four times the optimum: so of completion times, not of flow times."""
    for what, value, bound, detail in (
        ("weighted completion time", weighted_completion(instance, schedule),
         weighted_alone(instance),
         "proven of rounds that accept an optimal set of jobs (Hall et al., 1997)"),
        ("flow time", cost(instance, schedule), lb_alone(instance),
         "false in general: a job of one slot that arrives at 2^k ends after 2^(k + 1)"),
    ):  # fmt: skip
        kept = at_most(value, FACTOR * bound)
        yield Certificate(
            f"Interval argument, {what}", f"{PAPER}, Section IV-B",
            f"total {what} <= 4 times the optimum, by the bound of every job alone: left <= right",
            "holds" if kept == "holds" else "undecided", left=value, right=FACTOR * bound,
            detail=detail,
        )  # fmt: skip
