"""The paper's objective and constraints, evaluated on a schedule; knows no solver.

| number | index                | amount                                                      |
|--------|----------------------|-------------------------------------------------------------|
| 2a     | job, slot            | workers beyond D_j                                          |
| 2b     | job, slot, end       | parameter servers beyond one (runs of a job that overlap)   |
| 2c     | job                  | runs beyond one: the job stops, or changes its placement    |
| 2e     | job                  | share of its work that is missing                           |
| 2f     | job, slot            | workers that are not on the server of the parameter server  |
| 2g     | server, type, slot   | workers beyond W_su; it holds on slot..end                  |
| 2h     | server, type, slot   | parameter servers beyond P_sv; it holds on slot..end        |
| 2i     | job, server, slot    | slots before the upload to that server is done              |
| 2j     | job                  | 1: it never runs, so h_j and c_j are undefined              |
| 2l     | run, and the value   | 1: a job, server, slot or number of workers out of range    |

(2d) says of parameter servers what (2c) says of workers. (2f) is read one way: a job that happens
to be on one server may run at the slow speed, which is feasible and never better (Lemma 3). All
numbers are whole, and work is compared in exact fractions: there is no tolerance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np

from formulations.batch.instance import Floats, Instance, Integers
from formulations.batch.schedule import Schedule
from optsched.problem.violation import Violation


def completion_slots(instance: Instance, schedule: Schedule) -> Floats:
    """c_j: last slot of the last run, shape (jobs,); infinite for a job that never runs."""
    known = (schedule.run_job >= 0) & (schedule.run_job < instance.jobs)
    completion = np.full(instance.jobs, -np.inf)
    np.maximum.at(completion, schedule.run_job[known], schedule.run_end[known])
    completion[completion == -np.inf] = np.inf
    return completion


def flow_times(instance: Instance, schedule: Schedule) -> Floats:
    """c_j - a_j, shape (jobs,), slots; infinite for a job that never runs."""
    return completion_slots(instance, schedule) - instance.release_slot


def cost(instance: Instance, schedule: Schedule) -> float:
    """Total flow time, sum_j (c_j - a_j), slots (2); infinite if a job never runs."""
    return float(np.sum(flow_times(instance, schedule)))


def weighted_completion(instance: Instance, schedule: Schedule) -> float:
    """Total weighted completion time, sum_j w_j c_j, slots; infinite if a job never runs."""
    return float(completion_slots(instance, schedule) @ instance.weight)


def check(
    instance: Instance,
    schedule: Schedule,
    *,
    allow_preemption: bool = False,
    ignore_upload: bool = False,
    complete: bool = True,
) -> list[Violation]:
    """List every violated constraint of problem (2), as the module's table describes.

    Args:
        instance: the jobs and the system.
        schedule: what was decided. What it claims of itself excuses nothing.
        allow_preemption: a job may have several runs: without (2c) and (2d).
        ignore_upload: every server may be used from slot a_j on.
        complete: every job must run; False judges a part of a schedule, such as a round's.
    """
    found = list(_domains(instance, schedule))
    if found:  # what is out of range cannot be judged further
        return found
    if complete:
        never = np.isinf(completion_slots(instance, schedule))
        found += _listed("2j", {"job": np.flatnonzero(never)}, np.ones(never.sum()))
    found += _runs(instance, schedule, allow_preemption)
    found += _work(instance, schedule)
    found += _uploads(instance, schedule, ignore_upload)
    found += _capacities(instance, schedule)
    return sorted(found, key=lambda violation: violation.constraint)


def _listed(
    label: str, index: Mapping[str, Integers], amount: Integers | Floats
) -> list[Violation]:
    keys = list(index)
    columns = [index[key].tolist() for key in keys]
    return [
        Violation(label, dict(zip(keys, where, strict=True)), float(much))
        for *where, much in zip(*columns, amount.tolist(), strict=True)
    ]


def _domains(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    """(2l): jobs and servers that exist, slots from 1, workers in positive numbers."""
    for name, value, least, end in (
        ("job", schedule.run_job, 0, instance.jobs),
        ("ps_server", schedule.run_ps, 0, instance.servers),
        ("start", schedule.run_start, 1, np.inf),
    ):
        bad = np.flatnonzero((value < least) | (value >= end))
        yield from _listed("2l", {"run": bad, name: value[bad]}, np.ones(len(bad)))
    for name, value, least, end in (
        ("server", schedule.place_server, 0, instance.servers),
        ("workers", schedule.place_workers, 1, np.inf),
    ):
        bad = np.flatnonzero((value < least) | (value >= end))
        run = schedule.place_run[bad]
        yield from _listed("2l", {"run": run, name: value[bad]}, np.ones(len(bad)))
    idle = np.flatnonzero(schedule.run_workers == 0)
    yield from _listed("2l", {"run": idle, "workers": np.zeros_like(idle)}, np.ones(len(idle)))


def _runs(instance: Instance, schedule: Schedule, preemptive: bool) -> Iterator[Violation]:
    """(2a) to (2d) and (2f)."""
    job, start = schedule.run_job, schedule.run_start
    beyond = schedule.run_workers - instance.num_chunks[job]
    bad = np.flatnonzero(beyond > 0)
    yield from _listed("2a", {"job": job[bad], "slot": start[bad]}, beyond[bad])
    order = np.lexsort((start, job))
    first, second = order[:-1], order[1:]
    overlap = (job[first] == job[second]) & (start[second] <= schedule.run_end[first])
    a, b = first[overlap], second[overlap]
    end = np.minimum(schedule.run_end[a], schedule.run_end[b])
    yield from _listed("2b", {"job": job[a], "slot": start[b], "end": end}, np.ones(len(a)))
    if not preemptive:
        runs = np.bincount(job, minlength=instance.jobs)
        several = np.flatnonzero(runs > 1)
        yield from _listed("2c", {"job": several}, runs[several] - 1)
    run = schedule.place_run
    elsewhere = schedule.place_server != schedule.run_ps[run]
    away = np.bincount(
        run[elsewhere], weights=schedule.place_workers[elsewhere], minlength=schedule.runs
    )
    bad = np.flatnonzero(schedule.run_together & (away > 0))
    yield from _listed("2f", {"job": job[bad], "slot": start[bad]}, away[bad])


def _work(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    """(2e), in exact fractions where whole numbers do not decide."""
    length = np.maximum(schedule.run_end - schedule.run_start + 1 - schedule.run_overhead, 0)
    done = length * schedule.run_workers
    job, fast = schedule.run_job, schedule.run_together
    need = np.where(fast, instance.work_fast[job], instance.work_slow[job])
    for j in np.unique(job[done < need]).tolist():  # any run that does it all is enough
        share = Fraction(0)
        for run in np.flatnonzero(job == j).tolist():
            work = (instance.exact_work_fast if fast[run] else instance.exact_work_slow)[j]
            share += int(done[run]) / work
        if share < 1:
            yield Violation("2e", {"job": j}, float(1 - share))


def _uploads(instance: Instance, schedule: Schedule, ignored: bool) -> Iterator[Violation]:
    """(2i), for workers and parameter servers alike."""
    run = np.concatenate([schedule.place_run, np.arange(schedule.runs)])
    server = np.concatenate([schedule.place_server, schedule.run_ps])
    pair = np.unique(run * instance.servers + server)
    run, server = np.divmod(pair, instance.servers)
    job, start = schedule.run_job[run], schedule.run_start[run]
    delay = 0 if ignored else instance.upload_delay[job, server]
    early = instance.release_slot[job] + delay - start
    bad = np.flatnonzero(early > 0)
    index = {"job": job[bad], "server": server[bad], "slot": start[bad]}
    yield from _listed("2i", index, early[bad])


def _capacities(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    """(2g) and (2h)."""
    run = schedule.place_run
    for label, of, server, kinds, capacity, amount in (
        ("2g", run, schedule.place_server, instance.worker_type, instance.worker_capacity,
         schedule.place_workers),
        ("2h", np.arange(schedule.runs), schedule.run_ps, instance.ps_type, instance.ps_capacity,
         np.ones(schedule.runs, dtype=np.int64)),
    ):  # fmt: skip
        types = capacity.shape[1]
        key = server * types + kinds[schedule.run_job[of]]
        key, start, end, load = steps(key, schedule.run_start[of], schedule.run_end[of] + 1, amount)
        beyond = load - capacity.ravel()[key]
        bad = np.flatnonzero(beyond > 0)
        where, kind = np.divmod(key[bad], types)
        index = {"server": where, "type": kind, "slot": start[bad], "end": end[bad] - 1}
        yield from _listed(label, index, beyond[bad])


def steps(
    key: Integers, start: Integers, end: Integers, amount: Integers
) -> tuple[Integers, Integers, Integers, Integers]:
    """Total amount of the intervals [start, end) of each key, piece by piece.

    Returns:
        Key, start, end and load of every piece between neighbouring events of a key; pieces
        without load are left out.
    """
    keys = np.concatenate([key, key])
    time = np.concatenate([start, end])
    change = np.concatenate([amount, -amount])
    order = np.lexsort((time, keys))
    keys, time = keys[order], time[order]
    load = np.cumsum(change[order])  # ends at zero with every key
    kept = np.zeros(len(keys), dtype=bool)
    kept[:-1] = (keys[1:] == keys[:-1]) & (time[1:] > time[:-1])
    at = np.flatnonzero(kept & (load > 0))
    return keys[at], time[at], time[at + 1], load[at]
