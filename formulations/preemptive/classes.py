"""Workers and parameter servers that nothing tells apart, counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class WorkerClasses:
    """Edge workers that nothing tells apart: same server, same eligibility for every job."""

    server: Integers
    """Shape (classes,)."""
    size: Integers
    """C_k, shape (classes,)."""
    of_worker: Integers
    """Class of each worker, shape (workers,)."""
    eligible: Booleans
    """Shape (jobs, classes)."""


def count_alike(
    server: Integers, kind: Integers, explicit: Booleans | None, job_kind: Integers
) -> WorkerClasses:
    """Group what stands on one server and serves the same jobs.

    Args:
        server: of each, shape (n,).
        kind: its type, shape (n,).
        explicit: eligibility, shape (jobs, n); None: by type.
        job_kind: type asked for by each job, shape (jobs,).
    """
    if explicit is None:
        group = kind
    else:  # columns of the eligibility table take the place of types
        group = np.unique(explicit, axis=1, return_inverse=True)[1].reshape(-1)
    keys, first, of_worker, size = np.unique(
        np.stack([server, group]),
        axis=1,
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    eligible = np.equal.outer(job_kind, kind[first]) if explicit is None else explicit[:, first]
    return WorkerClasses(keys[0], size, of_worker.reshape(-1), eligible)
