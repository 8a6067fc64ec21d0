"""Eq. (4): who is deployed first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from formulations.okita.instance import Floats, Instance
from formulations.okita.latency import PIECEWISE
from heuristics.okita.online import Job

PiecewisePriority = Literal["corrected", "printed"]
"""corrected: the closer to the breakpoint the higher, nothing once it has passed; printed: the
term as it stands, with 0/0 := 0."""


def priorities(
    instance: Instance,
    jobs: Sequence[Job],
    slot: int,
    alpha: tuple[float, float],
    piecewise: PiecewisePriority,
) -> Floats:
    """O_i(t) of the jobs present, shape (jobs present,); first if high."""
    index = np.array([job.id for job in jobs])
    waited = slot - instance.release_slot[index]
    left = np.array([job.left.sum() for job in jobs])
    urgent = instance.latency.weight[index] * waited
    first = urgent / urgent.max() if urgent.max() > 0 else np.zeros(len(index))
    stepped = instance.latency.kind[index] == PIECEWISE
    if stepped.any():
        beyond = waited[stepped] - instance.latency.breakpoint[index[stepped]]
        first[stepped] = _printed(beyond) if piecewise == "printed" else _corrected(beyond)
    return np.asarray(alpha[0] * first - alpha[1] * left / instance.total_chunks[index])


def _printed(beyond: Floats) -> Floats:
    most = beyond.max()
    return np.minimum(beyond / most, 0.0) if most != 0 else np.zeros(len(beyond))


def _corrected(beyond: Floats) -> Floats:
    ahead = np.abs(np.minimum(beyond, 0))
    return np.where(beyond < 0, 1.0 - ahead / (1.0 + ahead.max()), 0.0)
