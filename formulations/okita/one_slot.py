"""(5) and (7) as formulations: one job in one slot, beside what a schedule file has placed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from formulations.okita.check import check
from formulations.okita.instance import Instance, Integers
from formulations.okita.problem_5 import problem_5
from formulations.okita.problem_7 import problem_7
from formulations.okita.schedule import Schedule
from optsched.errors import InputError
from optsched.instances.document import load
from optsched.model import Model
from optsched.problem import OBJECTIVE
from optsched.problem.methods import Formulation
from optsched.problem.violation import describe

Count = Annotated[int, Field(ge=1)]


def placement(
    instance: Instance, *, job: int = 0, slot: int | None = None, workers: Count = 1,
    placed: str = "",
) -> Model:  # fmt: skip
    """(5) for one job in one slot.

    Args:
        instance: the system and its jobs.
        job: whose workers and server are placed.
        slot: by default that of its release.
        workers: N, how many workers.
        placed: schedule file of jobs placed already; what others hold in the slot is not free.

    Raises:
        InputError: no such job or slot, or a file that is no schedule of this instance.
    """
    there, at = _state(instance, job, slot, placed)
    room = instance.capacity.copy()
    mine = (there.worker_slot == at) & (there.worker_job != job)
    held = instance.worker_demand[there.worker_job] * there.worker_count[:, None]
    np.subtract.at(room, there.worker_site[mine], held[mine])
    mine = (there.server_slot == at) & (there.server_job != job)
    np.subtract.at(room, there.server_site[mine], instance.ps_demand[there.server_job[mine]])
    price = instance.unit_bandwidth_cost * instance.exchange_size_mb[job]
    return problem_5(room, instance.worker_demand[job], instance.ps_demand[job], price, workers)


def transport(
    instance: Instance, *, job: int = 0, slot: int | None = None,
    trained: list[int] | None = None, placed: str = "", printed: bool = False,
) -> Model:  # fmt: skip
    """(7') for one job in one slot, or (7) as printed.

    Args:
        instance: the system and its jobs.
        job: whose chunks are moved.
        slot: by default that of its release.
        trained: chunks to be trained at each site; None: all that are left, at the first.
        placed: schedule file; chunks of the job that it trains in earlier slots are not left.
        printed: nothing limits what a site sends.

    Raises:
        InputError: no such job or slot, a file that is no schedule of this instance, or numbers of
            chunks that are not one per site, from 0 on, within what is left.
    """
    there, at = _state(instance, job, slot, placed)
    left = instance.num_chunks[job].copy()
    mine = (there.move_slot < at) & (there.move_job == job)
    np.subtract.at(left, there.move_source[mine], there.move_chunks[mine])
    wanted: Integers = np.zeros_like(left) if trained is None else np.array(trained)
    if trained is None:
        wanted[0] = left.sum()
    if wanted.shape != left.shape or (wanted < 0).any():
        raise InputError.of("trained", trained, f"{len(left)} numbers >= 0, one per site")
    price = instance.unit_bandwidth_cost * instance.chunk_size_mb[job]
    return problem_7(left, wanted, price, printed=printed)


def _state(instance: Instance, job: int, slot: int | None, placed: str) -> tuple[Schedule, int]:
    """What is placed already, and the slot."""
    if not 0 <= job < instance.jobs:
        raise InputError.of("job", job, f"a job of the instance, 0..{instance.jobs - 1}")
    release = int(instance.release_slot[job])
    at = release if slot is None else slot
    if at < release:
        raise InputError.of("slot", at, f"a slot from the job's release, {release}, on")
    there = load(Schedule, Path(placed)) if placed else Schedule.build()
    # a part of a schedule need not train every chunk, nor run every job
    found = [v for v in check(instance, there) if v.constraint not in ("2a", "2e")]
    if not found:
        done = np.zeros_like(instance.num_chunks)
        np.add.at(done, (there.move_job, there.move_source), there.move_chunks)
        found = [v for v in check(instance, there) if (done > instance.num_chunks).any()]
    if found:
        allowed = f"a schedule of jobs of this instance: it {describe(found)}"
        raise InputError.of("placed", placed, allowed)
    return there, at


_TRANSPORT = {
    "3": "M_i^r(t), the chunks left at the start of the slot, stands on the right of `supply`.",
    "7": OBJECTIVE,
}

FORMULATIONS = (
    Formulation(
        "problem_5", placement, "problem (5)",
        "where the workers and the server of one job go in one slot, beside jobs that are placed",
        equations={"5": OBJECTIVE, "5a": "5a", "5b": "5b", "5c": "5c", "5d": "y", "5e": "s"},
    ),
    Formulation(
        "problem_7", transport, "problem (7), corrected",
        "how the chunks of one job move in one slot; no site sends more than it has",
        equations=_TRANSPORT | {
            "7a": "`demand` and `supply` stand for it: as printed, a site may send chunks that it "
            "does not have.",
            "7b": "`g` need not be declared whole: the optimum of a transport problem with whole "
            "amounts is, at every corner.",
        },
    ),
    Formulation(
        "problem_7_printed", partial(transport, printed=True), "problem (7)",
        "the same as printed: nothing limits what a site sends",
        equations={"7": OBJECTIVE, "7a": "7a", "7b": "g"},
    ),
)  # fmt: skip
