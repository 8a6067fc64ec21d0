"""The storage constraints of (7), evaluated on a schedule whose runs name their chunks.

Each chunk is stored where it is trained, on one server, from the release of its job until
the job completes, or until the chunk itself is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np

from formulations.preemptive.instance import CLOUD, ROUNDING, Floats, Instance, Integers
from formulations.preemptive.rows import Occupancy, listed
from optsched.errors import InputError
from optsched.problem.violation import Violation

StorageRelease = Literal["job", "chunk"]
"""Until when a chunk takes storage: until its job completes, formula (7c), or until it is done
itself, as the text says."""


def refuse_unknown_release(release: str) -> None:
    """Refuse a moment of release that nothing defines.

    Raises:
        InputError: it is neither "job" nor "chunk".
    """
    if release not in get_args(StorageRelease):
        allowed = "must be one of " + ", ".join(get_args(StorageRelease))
        raise InputError.of("storage_release", release, allowed)


def storage_violations(
    instance: Instance, runs: Occupancy, *, release: StorageRelease
) -> Iterator[Violation]:
    """(7a): every chunk on one server; (7b): no server beyond its capacity.

    Args:
        instance: sizes u_j and capacities U_s, GB.
        runs: with chunks that exist.
        release: until when storage is held.
    """
    job_of = np.repeat(np.arange(instance.jobs), instance.num_chunks)
    first = np.cumsum(instance.num_chunks) - instance.num_chunks
    server = np.full(len(runs.job), CLOUD)
    edge = runs.place != CLOUD
    server[edge] = instance.worker_server[runs.place[edge]]
    places = instance.edge_servers + 1
    pairs, inverse = np.unique(
        (first[runs.job] + runs.chunk) * places + server + 1, return_inverse=True
    )
    chunk, place = np.divmod(pairs, places)
    several, count = np.unique(chunk, return_counts=True)
    several, count = several[count > 1], count[count > 1]
    job = job_of[several]
    yield from listed("7a", {"job": job, "chunk": several - first[job]}, count - 1)

    job = job_of[chunk]
    until = np.full(len(pairs), -np.inf)
    np.maximum.at(until, inverse.ravel(), runs.end)
    owner = job if release == "job" else chunk
    latest = np.full(len(job_of), -np.inf)
    np.maximum.at(latest, owner, until)
    limited = np.append(instance.storage.limited, False)[place - 1]
    held = np.flatnonzero(limited & (instance.storage.size[job] > 0))
    yield from _overfull(
        instance,
        place[held] - 1,
        instance.release_time[job[held]],
        latest[owner[held]],
        job[held],
    )


def _overfull(
    instance: Instance, server: Integers, start: Floats, end: Floats, job: Integers
) -> Iterator[Violation]:
    """Where what is held on [start, end) exceeds a server's capacity."""
    server = np.concatenate([server, server])
    time = np.concatenate([start, end])
    storage, amount = instance.storage, instance.chunk_storage[job]
    size = storage.size[job].astype(object)  # sums may exceed 64 bits
    change = np.concatenate([size, -size])
    amount = np.concatenate([amount, -amount])
    for s in np.unique(server):
        mine = np.flatnonzero(server == s)
        mine = mine[np.argsort(time[mine], kind="stable")]
        moment = time[mine]
        held, load = np.cumsum(change[mine]), np.cumsum(amount[mine])
        lasting = np.flatnonzero(np.diff(moment) > ROUNDING)
        bad = lasting[(held[lasting] > int(storage.capacity[s])).astype(bool)]
        index = {"server": np.full(len(bad), s), "time": moment[bad], "end": moment[bad + 1]}
        yield from listed("7b", index, load[bad] - instance.storage_capacity[s])
