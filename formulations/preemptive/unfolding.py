"""(2) for what is known by and by: one scenario's part of the model of all online algorithms.

Windows that are cut for one future are not valid here. A job may begin at the edge in the hope
that nobody else comes, and be caught up with: it then ends after the slot by which it would have
been done whole in the cloud. Or it may wait for the cloud, and end after the slot by which the edge
would have been done with all who came. What does hold, whatever comes, is that from the moment its
data are in the cloud all work left may be done there at once, with communication, and that no
worker idles beside a job that may not use the cloud.
"""

from __future__ import annotations

import numpy as np

from formulations.preemptive.decode import fits_slots, slot_schedule, whole_units
from formulations.preemptive.grid import add_capacity, build_grid
from formulations.preemptive.instance import Instance
from formulations.preemptive.schedule import Schedule
from optsched.errors import InputError
from optsched.model import Model
from optsched.problem.arrivals import Copy, Decisions
from optsched.solvers.solution import Solution


def unfold(model: Model, name: str, instance: Instance, known: float) -> Copy:
    """Add (2) in whole units per slot, by completion binaries over hubs, with room for any future.

    Whether a job runs whole in the cloud is no decision of its own: it is what came of where its
    work was done.

    Args:
        model: what to add to.
        name: of the scenario.
        instance: times are taken up to whole slots.
        known: does not matter, as the windows hold whatever comes.

    Raises:
        InputError: eligibility of single workers: pools must mean the same in all scenarios; or
            slots that are longer than the jobs, whose optima are in continuous time.
    """
    if instance.explicit_worker_eligible is not None:
        raise InputError.of("worker_eligible", "a table", "null: eligibility by type")
    if not fits_slots(instance):
        shortest = float(instance.chunk_time_slow.min())
        raise InputError.of("chunk_time_slow", shortest, "jobs that fill whole slots, about")
    grid = build_grid(instance, slow_cloud=True, edge_suffices=False)
    jobs, chunks = instance.jobs, instance.num_chunks.astype(float)
    job, slot = grid.windows
    windows = len(job)
    earliest = np.minimum(grid.earliest_slow_end, grid.fast_end)
    pending = model.integer(
        f"{name}.pending", windows, lower=(slot < earliest[job]).astype(float), upper=1
    )
    y = model.integer(f"{name}.y", grid.cells, upper=grid.cell_limit)
    x = model.integer(f"{name}.x", len(grid.cloud_job), upper=chunks[grid.cloud_job])
    together = model.integer(f"{name}.together", jobs, upper=np.isfinite(grid.fast_end))
    edge = y.sum_by(grid.cell_window, windows)
    busy = edge + x.sum_by(grid.cloud_window, windows)
    done = y.sum_by(grid.cell_job, jobs) + x.sum_by(grid.cloud_job, jobs)
    slow, saved = instance.work_slow, instance.work_slow - instance.work_fast
    model.add(f"{name}.2b", done + together * saved >= slow)
    model.add(f"{name}.2c", busy <= pending * chunks[job])
    add_capacity(model, f"{name}.2d", grid, y)
    model.add(f"{name}.2h", edge + together[job] * chunks[job] <= chunks[job])
    follows = np.flatnonzero(job[1:] == job[:-1])
    model.add(f"{name}.2j", pending[follows] >= pending[follows + 1])

    server = np.full(grid.cells, -1)
    server[grid.named] = instance.worker_classes.server[grid.cell_class[grid.named]]
    kind = instance.job_worker_type[grid.cell_job]

    def decode(solution: Solution) -> Schedule:
        units = [whole_units(solution[f"{name}.{part}"], part) for part in ("y", "x")]
        return slot_schedule(grid, *units)

    late = float((grid.first_slot - instance.release_time).sum())
    return Copy(
        pending.sum() + late,
        {
            "y": Decisions(
                y, grid.cell_slot.astype(float),
                np.column_stack([grid.cell_job, server, kind, grid.cell_slot]),
            ),
            "x": Decisions(
                x, grid.cloud_slot.astype(float), np.column_stack([grid.cloud_job, grid.cloud_slot])
            ),
        },
        decode,
    )  # fmt: skip
