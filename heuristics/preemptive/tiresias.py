"""Tiresias-L: whole jobs in queues by attained service, the least served first (Gu et al., 2019).

Attained service is the number of workers times the time they are held. Nobody is preempted by
another of the same queue.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import Field

from formulations.preemptive.instance import Instance
from heuristics.common.count_placement import THRESHOLDS
from heuristics.preemptive.gang import GangMode, GangRun, run_gang_scheduler
from optsched.errors import FieldProblem, InputError
from optsched.problem.calls import Positive


def is_online(service_quantile: float | None = None, **_: object) -> bool:
    """A quantile of the service of all jobs is known of later ones, too: that is offline."""
    return service_quantile is None


def tiresias_l(
    instance: Instance,
    rng: np.random.Generator,
    *,
    thresholds_gpu_slots: Sequence[Positive] | None = None,
    service_quantile: Annotated[float, Field(ge=0, le=1)] | None = None,
    promote_knob: Annotated[float, Field(gt=0)] | None = None,
    gang_mode: GangMode = "fluid",
) -> GangRun:
    """Discretised least attained service among whole jobs on edge workers.

    Args:
        instance: storage limits are not looked at.
        rng: never drawn from.
        thresholds_gpu_slots: service at which a job leaves each queue but the last, worker-slots;
            by default 3,250 and 7,200 worker-seconds, the limits of the released simulator.
        service_quantile: in their place one threshold, this quantile of the total service
            D_j p^0_j of all jobs, later ones included: offline, it stands for an operator's
            experience with such jobs.
        promote_knob: a job below the first queue returns to it once it has waited this many times
            as long as it has held workers; None: never.
        gang_mode: how the chunks of a job share its gang.

    Raises:
        InputError: an option out of range, or two that contradict each other.
    """
    problems = []
    limits = np.array(THRESHOLDS if thresholds_gpu_slots is None else thresholds_gpu_slots)
    if thresholds_gpu_slots is None:
        limits = limits / (3600 * instance.slot_hours)
    if not (np.isfinite(limits).all() and (np.diff(limits, prepend=0.0) > 0).all()):
        problems.append(
            FieldProblem(
                "thresholds_gpu_slots", thresholds_gpu_slots, "finite numbers > 0, ascending"
            )
        )
    if service_quantile is not None:
        if thresholds_gpu_slots is not None:
            allowed = "None where thresholds_gpu_slots is given"
            problems.append(FieldProblem("service_quantile", service_quantile, allowed))
        if not 0 <= service_quantile <= 1:
            problems.append(FieldProblem("service_quantile", service_quantile, "in 0..1"))
    if promote_knob is not None and not promote_knob > 0:
        problems.append(FieldProblem("promote_knob", promote_knob, "a number > 0, or None"))
    if problems:
        raise InputError(problems)
    if service_quantile is not None:
        service = instance.num_chunks * instance.chunk_time_slow
        limits = np.array([np.quantile(service, service_quantile)])
    return run_gang_scheduler(
        instance,
        rng,
        mode=gang_mode,
        by_service=True,
        thresholds=limits,
        promote=math.inf if promote_knob is None else promote_knob,
    )
