"""What the paper proves of Okita, evaluated on one instance and one schedule (Section IV)."""

from __future__ import annotations

import numpy as np

from formulations.okita.check import check, completion_slots
from formulations.okita.instance import Instance, Integers
from formulations.okita.schedule import Schedule
from optsched.problem.certificate import Certificate, at_most, feasibility

PAPER = "Han et al."


def certify(instance: Instance, schedule: Schedule) -> list[Certificate]:
    """Theorems 1 and 2, and the progress that termination rests on."""
    violations = check(instance, schedule)
    found = [feasibility(f"{PAPER}, problem (2)", violations, statement="Theorem 1")]
    if violations:
        return found
    left = chunks_left(instance, schedule)
    present = np.arange(1, len(left) + 1)[:, None] >= instance.release_slot
    waiting = (left > 0) & present
    trained = -np.diff(left, axis=0, append=0).sum(axis=1)
    idle = np.flatnonzero(waiting.any(axis=1) & (trained == 0))
    found.append(
        Certificate(
            "Progress", f"{PAPER}, termination",
            "in every slot with an unfinished job a chunk is trained",
            "fails" if len(idle) else "holds", left=float(len(idle)), right=0.0,
            where={"slot": int(idle[0]) + 1} if len(idle) else {},
        )
    )  # fmt: skip
    latest = float(completion_slots(instance, schedule).max())
    most = float(instance.release_slot.max() - 1 + instance.total_chunks.sum())
    found.append(
        Certificate(
            "Termination, corrected", f"{PAPER}, termination",
            "last slot <= last arrival - 1 + sum of D_i, where there is progress: left <= right",
            at_most(latest, most), expected=not len(idle), left=latest, right=most,
        )
    )  # fmt: skip
    return found + _theorem_2(instance, left, waiting)


def chunks_left(instance: Instance, schedule: Schedule) -> Integers:
    """M_i(t), chunks of each job left before each slot 1..last, shape (slots, jobs)."""
    slots = int(completion_slots(instance, schedule).max())
    done = np.zeros((slots + 1, instance.jobs), dtype=np.int64)
    np.add.at(done, (schedule.move_slot, schedule.move_job), schedule.move_chunks)
    return np.asarray(instance.total_chunks - np.cumsum(done, axis=0)[:-1])


def _theorem_2(instance: Instance, left: Integers, waiting: np.ndarray) -> list[Certificate]:
    """One-shot functions that lines 4 to 10 evaluate, one per number of workers tried."""
    work = instance.work_per_chunk * left
    tried = np.where(waiting, -(-work // instance.rate_numerator), 0)
    calls, slots = float(tried.sum()), len(left)
    printed = slots * instance.jobs * float((instance.total_chunks / instance.epochs).max())
    within = slots * float(instance.most_workers.sum())
    said = "one-shot functions of lines 4 to 10"
    return [
        Certificate(
            "Theorem 2, as printed", f"{PAPER}, Theorem 2",
            f"{said} <= T I D_i / E_i, the largest over jobs: left <= right",
            at_most(calls, printed), left=calls, right=printed,
            detail="the number of workers tried is E_i D_i / rho_i, not D_i / E_i",
        ),
        Certificate(
            "Theorem 2, corrected", f"{PAPER}, Theorem 2",
            f"{said} <= T sum of ceil(E_i D_i / rho_i): left <= right",
            at_most(calls, within), expected=True, left=calls, right=within,
        ),
    ]  # fmt: skip
