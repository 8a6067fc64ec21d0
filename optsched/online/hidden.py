"""Fields of a job that show themselves when it is done; until then their greatest value is seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.problem.arrivals import Arrivals


def hiding(arrivals: Arrivals, instance: Any) -> NDArray[np.bool_]:
    """Which jobs have a hidden field that may have several values, shape (jobs,)."""
    jobs = np.zeros(len(arrivals.times(instance)), dtype=bool)
    for least, most in arrivals.hidden.values():
        jobs |= getattr(instance, least) < getattr(instance, most)
    return jobs


def moments(arrivals: Arrivals, instance: Any, plan: Any) -> NDArray[np.float64]:
    """When the hidden fields of each job show themselves if a plan goes on.

    Args:
        arrivals: which fields are hidden.
        instance: with their true values.
        plan: a schedule of the first jobs of the instance, whatever it takes for hidden fields;
            None: of no job.

    Returns:
        Shape (jobs,); -inf if a job hides nothing.
    """
    hidden, done = hiding(arrivals, instance), np.inf
    if plan is not None and hidden.any():
        done = arrivals.done(instance, arrivals.relabel(instance, plan, np.arange(len(hidden))))
    return np.where(hidden, done, -np.inf)


def shown(arrivals: Arrivals, instance: Any, plan: Any, now: float) -> Any:
    """The instance as a policy may see it at a moment; arguments as in ``moments``."""
    later = moments(arrivals, instance, plan) > now
    if not later.any():
        return instance
    values = {
        name: np.where(later, getattr(instance, most), getattr(instance, name))
        for name, (_, most) in arrivals.hidden.items()
    }
    return replace(instance, **values)


def redrawn(
    arrivals: Arrivals, instance: Any, job: int, draw: np.random.Generator
) -> tuple[Any, str]:
    """The instance with other values of the hidden fields of a job, and these in words."""
    changes: dict[str, NDArray[np.int64]] = {}
    for name, ends in arrivals.hidden.items():
        low, high = (int(getattr(instance, end)[job]) for end in ends)
        if low < high:
            changes[name] = values = getattr(instance, name).copy()
            step = draw.integers(1, high - low, endpoint=True)
            values[job] = low + (values[job] - low + step) % (high - low + 1)
    said = " and ".join(f"{name} {values[job]}" for name, values in changes.items())
    return replace(instance, **changes), f"{said} of job {job}"
