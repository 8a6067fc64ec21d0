"""The paper's objective and constraints, evaluated on a schedule; knows no solver.

A constraint that speaks of slots is read at every instant, so schedules in continuous time are
judged by the same rules; a slot schedule is the special case. ``v_jw`` and ``o_jp`` stand where
the paper prints them: work on a worker that is not qualified breaks (2a) and does not count in
(2b) to (2d), a parameter server that is not qualified does not count in (2e) and (2f).

| number       | index                        | amount                                       |
|--------------|------------------------------|----------------------------------------------|
| 2a           | job, worker, time            | time spent on a worker that is not qualified |
| 2b           | job                          | worker-slots missing                         |
| 2c           | job, time, end               | workers beyond D_j                           |
| 2d           | worker, time, end            | runs beyond one                              |
| 2e           | job, servers, time, end      | difference of ``servers`` from one           |
| 2f           | parameter_server, time, end  | services beyond one                          |
| 2g, 2h       | job                          | 1                                            |
| 2i           | job, worker, time            | time worked before the upload is done        |
| 2i           | job, parameter_server, time  | time served before it may                    |
| 2j           | job                          | 1: it never runs, so c_j is undefined        |
| 2k           | run or service, and value    | distance of the value from its domain        |
| 4a           | job, chunk                   | slots of training missing                    |
| 4e           | job, chunk, time, end        | workers beyond one                           |
| no-migration | job, chunk                   | workers beyond one that train the chunk      |
| 7a           | job, chunk                   | servers beyond one that train the chunk      |
| 7b           | server, time, end            | GB beyond U_s                                |

Times are in slots. "time" is when the violation begins; it holds on [time, end) where an end is
given, and then the amount is constant on that interval.

Tolerances, in slots and absolute: an interval no longer than ``ROUNDING`` (1e-9) counts for
nothing, and a constraint is broken if what exceeds it adds up to more than ``TOLERANCE`` (1e-6)
over its job, worker, parameter server or chunk. (7b) has none: storage is compared as whole
numbers of one amount (``Instance.storage``), whole or decimal as it is written.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from formulations.preemptive.check_storage import (
    StorageRelease,
    refuse_unknown_release,
    storage_violations,
)
from formulations.preemptive.instance import (
    CLOUD,
    ROUNDING,
    Floats,
    Instance,
    Integers,
)
from formulations.preemptive.rows import (
    TOLERANCE,
    CheckedSchedule,
    Occupancy,
    domains,
    judge,
    listed,
    rows_of,
    within,
)
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.sweep import Spans, Steps, count_open, excess
from optsched.errors import InputError
from optsched.problem.violation import Violation


def completion_times(instance: Instance, schedule: Schedule) -> Floats:
    """c_j: right end of the last run, shape (jobs,), slots; infinite if a job never runs."""
    job = schedule.run_job
    counted = (schedule.run_end - schedule.run_start > ROUNDING) & within(job, 0, instance.jobs)
    completion = np.full(instance.jobs, -np.inf)
    np.maximum.at(completion, job[counted], schedule.run_end[counted])
    completion[completion == -np.inf] = np.inf
    return completion


def flow_times(instance: Instance, schedule: Schedule) -> Floats:
    """c_j - r_j, shape (jobs,), slots; infinite if a job never runs."""
    return completion_times(instance, schedule) - instance.release_time


def cost(instance: Instance, schedule: Schedule) -> float:
    """Total job completion time, sum_j (c_j - r_j), slots; infinite if a job never runs.

    The printed (2j) counts to the left end of the last slot, one less per job.
    """
    return float(np.sum(flow_times(instance, schedule)))


def check(
    instance: Instance,
    schedule: Schedule,
    *,
    speed: float = 1.0,
    chunks: bool | None = None,
    slotted: bool = False,
    ps_delay_applies: bool = False,
    storage: bool = False,
    storage_release: StorageRelease = "job",
) -> list[Violation]:
    """List every violated constraint of problem (2), as the module's table describes.

    Args:
        instance: the jobs and the system.
        schedule: what was decided. The speed it says it was run at excuses nothing.
        speed: 1 + epsilon, by which chunk times are divided.
        chunks: also check the narrated model, in which each chunk is trained on one worker:
            (4a), (4e) and "no-migration". By default, if every run names its chunk; with
            ``storage``, only what (7) needs of it, and chunks may change workers of a server.
        slotted: also check that everything happens in whole slots of the horizon, and round
            the work of each job (and chunk) up to whole slots.
        ps_delay_applies: read (2i) for parameter servers as printed, from the end of the upload;
            otherwise they may serve from the release time on, for they need no training data.
        storage: also check (7a) and (7b); every run must then name its chunk.
        storage_release: until when a chunk takes storage.

    Raises:
        InputError: ``speed`` is not a positive number, or ``storage_release`` is unknown.
    """
    if not (np.isfinite(speed) and speed > 0):
        raise InputError.of("speed", speed, "a finite number > 0")
    refuse_unknown_release(storage_release)
    stay = chunks
    if chunks is None:
        told = len(schedule.run_chunk) > 0 and bool(np.all(schedule.run_chunk >= 0))
        chunks, stay = told or storage, told and not storage
    runs, services = rows_of(schedule)
    found = list(domains(instance, schedule, runs, services, chunks=chunks, slotted=slotted))
    case = judge(instance, schedule, runs, services, speed=speed, slotted=slotted)
    found += _work(case)
    found += _workers(case)
    found += _parameter_servers(case)
    found += _places(case)
    found += _uploads(case, ps_delay_applies=ps_delay_applies)
    found += _chunks(case, stay=bool(stay)) if chunks else ()
    if storage:
        named = case.runs.take(within(case.runs.chunk, 0, instance.num_chunks[case.runs.job]))
        found += storage_violations(instance, named, release=storage_release)
    unfinished = np.flatnonzero(np.isinf(completion_times(instance, schedule)))
    found += listed("2j", {"job": unfinished}, np.ones(len(unfinished)))
    return sorted(found, key=lambda violation: violation.constraint)


def _work(case: CheckedSchedule) -> Iterator[Violation]:
    """(2a) and (2b): only qualified workers, and enough of their time."""
    yield from _per_pair("2a", "worker", case.astray, case.astray.length)
    jobs = case.instance.jobs
    done = np.bincount(case.useful.job, weights=case.useful.length, minlength=jobs)
    missing = case.needed(case.instance.num_chunks * case.chunk_time) - done
    short = np.flatnonzero(missing > TOLERANCE)
    yield from listed("2b", {"job": short}, missing[short])


def _per_pair(label: str, place: str, rows: Occupancy, amount: Floats) -> list[Violation]:
    """Add up what is wrong for each pair of a job and a place."""
    rows, amount = rows.take(amount > 0), amount[amount > 0]
    width = int(rows.place.max(initial=0)) + 2
    pair, first, inverse = np.unique(
        rows.job * width + rows.place, return_index=True, return_inverse=True
    )
    total = np.bincount(inverse, weights=amount, minlength=len(pair))
    time = np.full(len(pair), np.inf)
    np.minimum.at(time, inverse, rows.start)
    bad = total > TOLERANCE
    first = first[bad]
    index = {"job": rows.job[first], place: rows.place[first], "time": time[bad]}
    return listed(label, index, total[bad])


def _significant(steps: Steps) -> Steps:
    """The pieces, joined where equal, of keys on which they add up to more than the tolerance."""
    total = np.bincount(steps.pieces.key, weights=steps.pieces.end - steps.pieces.start)
    return steps.take((total > TOLERANCE)[steps.pieces.key]).merged()


def _open_too_many(label: str, name: str, intervals: Spans, limit: Integers) -> list[Violation]:
    over = _significant(excess(intervals, limit))
    key = over.pieces.key
    index = {name: key, "time": over.pieces.start, "end": over.pieces.end}
    return listed(label, index, over.counts[0] - limit[key])


def _workers(case: CheckedSchedule) -> Iterator[Violation]:
    """(2c) and (2d): at most D_j workers at once, and one job at a time on each."""
    of_job = case.useful.by(case.useful.job)
    yield from _open_too_many("2c", "job", of_job, case.instance.num_chunks)
    edge = case.useful.take(case.useful.place != CLOUD)
    one = np.ones(case.instance.workers, dtype=np.int64)
    yield from _open_too_many("2d", "worker", edge.by(edge.place), one)


def _parameter_servers(case: CheckedSchedule) -> Iterator[Violation]:
    """(2e) and (2f): one parameter server while a job runs, and one job at a time on each."""
    running, serving = case.useful, case.serving
    steps = count_open(running.by(running.job).apart(), serving.by(serving.job))
    workers, servers = steps.counts
    wrong = Steps(steps.pieces, (servers,)).take((workers > 0) & (servers != 1))
    wrong = _significant(wrong)
    pieces, servers = wrong.pieces, wrong.counts[0]
    index = {"job": pieces.key, "servers": servers, "time": pieces.start, "end": pieces.end}
    yield from listed("2e", index, np.abs(servers - 1))
    edge = serving.take(serving.place != CLOUD)
    one = np.ones(case.instance.parameter_servers, dtype=np.int64)
    yield from _open_too_many("2f", "parameter_server", edge.by(edge.place), one)


def _places(case: CheckedSchedule) -> Iterator[Violation]:
    """(2g) and (2h): zeta_j = 1 exactly if everything of the job is in the cloud."""
    active = np.zeros(case.instance.jobs, dtype=bool)
    at_edge = np.zeros(case.instance.jobs, dtype=bool)
    for rows in (case.runs, case.services):
        active[rows.job] = True
        at_edge[rows.job[rows.place != CLOUD]] = True
    in_cloud = active & ~at_edge
    for label, bad in (("2g", in_cloud & ~case.together), ("2h", at_edge & case.together)):
        job = np.flatnonzero(bad)
        yield from listed(label, {"job": job}, np.ones(len(job)))


def _uploads(case: CheckedSchedule, *, ps_delay_applies: bool) -> Iterator[Violation]:
    """(2i): nothing before the upload is done; a barred cloud is a matter of (2a)."""
    instance, services = case.instance, case.services
    barred = (case.runs.place == CLOUD) & np.isinf(instance.upload_delay_cloud)[case.runs.job]
    runs = case.runs.take(~barred)
    yield from _early("2i", "worker", runs, _upload_done(instance, runs, instance.worker_server))
    ready = (
        _upload_done(instance, services, instance.ps_server)
        if ps_delay_applies
        else instance.release_time[services.job]
    )
    yield from _early("2i", "parameter_server", services, ready)


def _early(label: str, place: str, rows: Occupancy, ready: Floats) -> list[Violation]:
    return _per_pair(label, place, rows, np.minimum(rows.end, ready) - rows.start)


def _upload_done(instance: Instance, rows: Occupancy, server_of: Integers) -> Floats:
    """r_j + Delta_js where each row takes place, slots."""
    delay = instance.upload_delay_cloud[rows.job]
    edge = rows.place != CLOUD
    delay[edge] = instance.upload_delay_edge[rows.job[edge], server_of[rows.place[edge]]]
    return np.asarray(instance.release_time[rows.job] + delay)


def _chunks(case: CheckedSchedule, *, stay: bool) -> Iterator[Violation]:
    """Each chunk fully trained, never on two workers at once; on one worker if it must stay."""
    size = case.instance.num_chunks
    job_of = np.repeat(np.arange(len(size)), size)
    offset = np.cumsum(size) - size
    chunk_of = np.arange(len(job_of)) - offset[job_of]
    runs, useful = (
        rows.take(within(rows.chunk, 0, size[rows.job])) for rows in (case.runs, case.useful)
    )

    def where(chunk: Integers) -> dict[str, Integers | Floats]:
        return {"job": job_of[chunk], "chunk": chunk_of[chunk]}

    done = np.bincount(
        offset[useful.job] + useful.chunk, weights=useful.length, minlength=len(job_of)
    )
    missing = case.needed(case.chunk_time)[job_of] - done
    short = np.flatnonzero(missing > TOLERANCE)
    yield from listed("4a", where(short), missing[short])

    key = offset[runs.job] + runs.chunk
    over = _significant(excess(runs.by(key), np.ones(len(job_of), dtype=np.int64)))
    pieces = over.pieces
    index = where(pieces.key) | {"time": pieces.start, "end": pieces.end}
    yield from listed("4e", index, over.counts[0] - 1)

    if stay:
        chunk, workers = _several_places(key, runs.place, len(job_of))
        yield from listed("no-migration", where(chunk), workers - 1)


def _several_places(key: Integers, place: Integers, keys: int) -> tuple[Integers, Integers]:
    """The keys seen in more than one place, and in how many."""
    some_place = np.full(keys, CLOUD)
    some_place[key] = place
    moved = np.zeros(keys, dtype=bool)
    moved[key[place != some_place[key]]] = True
    seen = moved[key]
    pairs = np.unique(np.stack([key[seen], place[seen]]), axis=1)
    several, count = np.unique(pairs[0], return_counts=True)
    return several, count
