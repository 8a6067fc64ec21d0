"""What the mixed-integer programs of (2), (3) and (9) share: starts, placements, running cells.

Rows are named R1 to R7. A binary per (choice, start slot) says when, how
wide and how fast a job runs; whole numbers per (job, server) say where. The cells (job, server,
slot) of the product of the two need no McCormick row from below: R5 and R6 imply it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from formulations.batch.domain_reduction import Choices
from formulations.batch.instance import Booleans, Floats, Instance, Integers
from formulations.batch.schedule import Schedule
from optsched.instances.arrays import compress, ranges
from optsched.model import Model, Variable
from optsched.model.expression import Expression
from optsched.solvers.solution import Solution

EQUATIONS = {
    "2a": "`R2` spreads N workers over servers, and no choice in `b` has more than D_j.",
    "2b": "`R3` gives one parameter server; `R5:z` and `R6:z` hold it while the job runs, "
    "and in no other slot.",
    "2c": "`R5:y` and `R6:y`: all N workers of a run are where `y` says, in each of its slots; "
    "a start in `b` has no gap.",
    "2d": "`R5:z` and `R6:z`, as (2c).",
    "2e": "A start in `b` runs for d_j(N, xi) slots, which is what the work takes.",
    "2f": "`R4` ties the fast speed to one server; the slow speed on one server is allowed, too, "
    "and never ends sooner.",
    "2g": "R7:y",
    "2h": "R7:z",
    "2i": "`y_t` and `z_t` have no slot before a_j + Delta_js.",
    "2j": "A start in `b` names h_j.",
    "2k": "A start in `b` names c_j, which is h_j + d_j(N, xi) - 1.",
    "2l": "b, y, z",
}
"""Where the paper's statements of one job and of capacity are in these rows."""


@dataclass(frozen=True, eq=False)
class SlotIndex:
    """Index sets of the program; every array over one of them has its length."""

    instance: Instance
    choices: Choices
    first: Integers
    """Earliest start of each choice, shape (choices,)."""
    last: Integers
    """Last slot each job may run in, shape (jobs,)."""
    usable: Booleans
    """Servers of each job, shape (jobs, servers)."""

    @cached_property
    def starts(self) -> tuple[Integers, Integers]:
        """Choice and slot of every start."""
        end = self.last[self.choices.job] - self.choices.duration + 2
        return ranges(self.first, end)

    @cached_property
    def start_job(self) -> Integers:
        """Job of every start."""
        return self.choices.job[self.starts[0]]

    @cached_property
    def worker_pair(self) -> tuple[Integers, Integers]:
        """Job and server of every pair that may have workers."""
        job, server = np.nonzero(self.usable & (self.instance.most_workers >= 1))
        return job, server

    @cached_property
    def ps_pair(self) -> tuple[Integers, Integers]:
        """Job and server of every pair that may have the parameter server."""
        job, server = np.nonzero(self.usable & (self.instance.ps_room >= 1))
        return job, server

    def cells(self, pair: tuple[Integers, Integers]) -> tuple[Integers, Integers]:
        """Pair and slot of every cell: from the end of the upload on, which is (2i)."""
        job, server = pair
        reached = self.instance.release_slot[job] + self.instance.upload_delay[job, server]
        return ranges(np.maximum(reached, self.first_slot[job]), self.last[job] + 1)

    @cached_property
    def first_slot(self) -> Integers:
        """First slot each job may run in, shape (jobs,); past the last where there is none."""
        first = self.last + 1
        choice, slot = self.starts
        np.minimum.at(first, self.choices.job[choice], slot)
        return first

    @cached_property
    def run_slots(self) -> tuple[Integers, Integers]:
        """Job and slot of every slot a job may run in."""
        return ranges(self.first_slot, self.last + 1)

    def run_slot(self, job: Integers, slot: Integers) -> Integers:
        """Position in ``run_slots``."""
        length = np.maximum(self.last + 1 - self.first_slot, 0)
        return np.asarray((np.cumsum(length) - length)[job] + slot - self.first_slot[job])


@dataclass(frozen=True, eq=False)
class ServerCells:
    """The cells of workers and of parameter servers, with the variables of the program."""

    y: Variable
    z: Variable
    worker_cell: tuple[Integers, Integers]
    ps_cell: tuple[Integers, Integers]


def build(
    model: Model,
    layout: SlotIndex,
    served: Expression | float,
    *,
    worker_room: Floats | None = None,
    ps_room: Floats | None = None,
    first_slot: int = 1,
    prefix: str = "",
) -> ServerCells:
    """Add R1 to R7.

    Args:
        model: what to add to.
        layout: the index sets.
        served: how often each job runs, shape (jobs,): x_j, or 1.
        worker_room: W_su(t), shape (servers, types, slots) from ``first_slot`` on, in place of
            the instance's capacities.
        ps_room: P_sv(t).
        first_slot: of these rooms.
        prefix: of all names.
    """
    instance, chosen = layout.instance, layout.choices
    jobs = instance.jobs
    choice = layout.starts[0]
    b = model.binary(f"{prefix}b", len(choice), formula=r"b_{jN\xi h}")
    job = layout.start_job
    wj, ws = layout.worker_pair
    pj, ps = layout.ps_pair
    most = instance.most_workers[wj, ws]
    y = model.integer(f"{prefix}y", len(wj), upper=most, formula="y_{js}")
    z = model.binary(f"{prefix}z", len(pj), formula="z_{js}")
    n = chosen.workers[choice].astype(float)
    model.add(f"{prefix}R1", b.sum_by(job, jobs) == served, formula=r"\sum b_{jN\xi h} = x_j")
    model.add(
        f"{prefix}R2",
        y.sum_by(wj, jobs) == (b * n).sum_by(job, jobs),
        formula=r"\sum_s y_{js} = \sum N b",
    )
    model.add(f"{prefix}R3", z.sum_by(pj, jobs) == served, formula=r"\sum_s z_{js} = x_j")
    fast = np.flatnonzero(chosen.fast[choice])
    together = b[fast].sum_by(job[fast], jobs)
    service = np.full((jobs, instance.servers), -1)
    service[pj, ps] = np.arange(len(pj))
    served_there = service[wj, ws] >= 0
    for label, at in (("R4:with PS", served_there), ("R4:without PS", ~served_there)):
        left = y[at] + together[wj[at]] * most[at]
        if label == "R4:with PS":
            left = left - z[service[wj[at], ws[at]]] * most[at]
        model.add(
            prefix + label,
            left <= most[at],
            formula=r"y_{js} \le Y_{js} (z_{js} + 1 - \sum b_{jN1h})",
        )
    return _add_cells(model, layout, y, z, b, (worker_room, ps_room, first_slot), prefix)


def _add_cells(
    model: Model,
    layout: SlotIndex,
    y: Variable,
    z: Variable,
    b: Variable,
    rooms: tuple[Floats | None, Floats | None, int],
    prefix: str,
) -> ServerCells:
    """R5 to R7."""
    instance, chosen = layout.instance, layout.choices
    choice, start = layout.starts
    slots = len(layout.run_slots[0])
    running, slot = ranges(start, start + chosen.duration[choice])
    window = layout.run_slot(layout.start_job[running], slot)
    width = (b[running] * chosen.workers[choice[running]].astype(float)).sum_by(window, slots)
    active = b[running].sum_by(window, slots)
    cells = []
    for label, variable, pair, total, kinds, capacity, room in (
        ("y", y, layout.worker_pair, width, instance.worker_type, instance.worker_capacity,
         rooms[0]),
        ("z", z, layout.ps_pair, active, instance.ps_type, instance.ps_capacity, rooms[1]),
    ):  # fmt: skip
        of, slot = layout.cells(pair)
        job, server = pair[0][of], pair[1][of]
        limit = instance.most_workers[job, server] if label == "y" else 1.0
        cell = model.continuous(
            f"{prefix}{label}_t", len(of), upper=limit, formula=f"{label}_{{js}}(t)"
        )
        model.add(
            f"{prefix}R5:{label}",
            cell.sum_by(layout.run_slot(job, slot), slots) == total,
            formula=rf"\sum_s {label}_{{jst}} = \sum_{{A_j(t)}} b",
        )
        model.add(
            f"{prefix}R6:{label}",
            cell <= variable[of],
            formula=rf"{label}_{{jst}} \le {label}_{{js}}",
        )
        kind = kinds[job]
        span = int(layout.last.max(initial=0)) + 2
        side = capacity[server, kind] if room is None else room[server, kind, slot - rooms[2]]
        scarce = np.flatnonzero(np.isfinite(side))
        key = (server * capacity.shape[1] + kind) * span + slot
        row, used = compress(key[scarce])
        limits = np.zeros(len(used))
        limits[row] = side[scarce]
        model.add(
            f"{prefix}R7:{label}",
            cell[scarce].sum_by(row, len(used)) <= limits,
            formula=rf"\sum_j {label}_{{jst}} \le capacity",
        )
        cells.append((cell, (of, slot)))
    (worker, worker_cell), (service, ps_cell) = cells
    return ServerCells(worker, service, worker_cell, ps_cell)


def decode(layout: SlotIndex, solution: Solution | Mapping[str, Floats]) -> Schedule:
    """The schedule of the jobs that run; of a solution, b, y and z count."""
    choice, start = layout.starts
    on = np.flatnonzero(solution["b"] > 0.5)
    chosen = layout.choices.take(choice[on])
    order = np.argsort(chosen.job, kind="stable")
    on, chosen = on[order], chosen.take(order)
    ps = np.full(layout.instance.jobs, -1)
    served = np.flatnonzero(solution["z"] > 0.5)
    ps[layout.ps_pair[0][served]] = layout.ps_pair[1][served]
    run = np.full(layout.instance.jobs, -1)
    run[chosen.job] = np.arange(len(on))
    begin = start[on]
    end = begin + chosen.duration - 1
    job, server = layout.worker_pair
    workers = np.round(solution["y"]).astype(np.int64)
    used = (workers > 0) & (run[job] >= 0)
    return Schedule.build(
        runs=np.column_stack([chosen.job, begin, end, chosen.fast, ps[chosen.job]]),
        placements=np.column_stack([run[job[used]], server[used], workers[used]]),
    )


def encode(layout: SlotIndex, schedule: Schedule) -> dict[str, Floats]:
    """Values of b, y and z of a schedule with one run per job, for a warm start.

    A run with a choice that the layout does not have is left out.
    """
    choice, start = layout.starts
    chosen = layout.choices
    of = np.full(layout.instance.jobs, -1)
    of[schedule.run_job] = np.arange(schedule.runs)
    run = of[chosen.job[choice]]
    same = (
        (run >= 0)
        & (schedule.run_workers[run] == chosen.workers[choice])
        & (schedule.run_together[run] == chosen.fast[choice])
        & (schedule.run_start[run] == start)
    )
    table = np.zeros((layout.instance.jobs, layout.instance.servers))
    table[schedule.run_job[schedule.place_run], schedule.place_server] = schedule.place_workers
    service = np.zeros_like(table)
    service[schedule.run_job, schedule.run_ps] = 1.0
    return {
        "b": same.astype(float),
        "y": table[layout.worker_pair],
        "z": service[layout.ps_pair],
    }
