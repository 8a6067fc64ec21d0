"""SRTF: the whole job with the shortest remaining training time first, preemptively."""

from __future__ import annotations

import numpy as np

from formulations.preemptive.instance import Instance
from heuristics.preemptive.gang import GangMode, GangRun, run_gang_scheduler


def srtf(instance: Instance, rng: np.random.Generator, *, gang_mode: GangMode = "fluid") -> GangRun:
    """Shortest remaining time first among whole jobs on edge workers.

    A job's remaining time is its remaining work over the size of its gang, loading left out; equal
    ones go by (r_j, index).

    Args:
        instance: storage limits are not looked at.
        rng: never drawn from.
        gang_mode: how the chunks of a job share its gang.

    Raises:
        InputError: an option that is not known.
    """
    return run_gang_scheduler(instance, rng, mode=gang_mode)
