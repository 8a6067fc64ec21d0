"""Algorithm 1, corrected: demands and times of a multi-job's tasks, predicted from its features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from formulations.aerialedge.instance import Floats, Instance
from heuristics.aerialedge.regression import Site, fed_fit
from optsched.errors import InputError

LEAST_SECONDS = 1.0
"""Predicted execution times are at least this long."""


@dataclass(frozen=True, eq=False)
class Estimator:
    """A fitted model of demands and times."""

    theta: Floats
    """Shape (features, resources + 1)."""
    kinds: tuple[str, ...]
    """Job types seen in training; any other has none of their columns."""
    mean: Floats
    """Mean of the numeric features over all training data."""
    deviation: Floats
    least: Floats
    """Smallest positive training value of each resource."""
    task_features: bool
    margin: float = 0.0
    """Estimates are multiplied by 1 + margin."""

    def predict(self, instance: Instance) -> Floats:
        """Estimated demand of every resource, and seconds, shape (tasks, resources + 1)."""
        numeric = (_numeric(instance, self.task_features) - self.mean) / self.deviation
        features = np.column_stack([_kinds(instance, self.kinds), numeric])
        estimate = features @ self.theta
        floor = np.append(self.least, LEAST_SECONDS)
        return np.asarray(np.maximum(estimate, floor) * (1 + self.margin))

    def estimate(self, instance: Instance) -> Instance:
        """ESTIMATE: the multi-job with estimates in the place of its demands and times.

        Job totals are sums over its tasks; Algorithm 2 needs no more.
        """
        estimate = self.predict(instance)
        return replace(
            instance,
            demand=estimate[:, :-1],
            exec_time=estimate[:, -1],
            alternative_task=np.zeros(0, dtype=np.int64),
            alternative_demand=np.zeros((0, len(instance.resources))),
        )


def fit(
    sites: Sequence[Instance],
    *,
    task_features: bool = True,
    margin: float = 0.0,
    **options: Any,
) -> Estimator:
    """Train on what several sites have run; only statistics and models leave a site.

    Features: intercept and one-hot job type, dependency depth and data size of the job, and the
    depth of the task unless all tasks of a job are to get one estimate.

    Args:
        sites: instances whose demands and times are known.
        task_features: tell the tasks of one job apart.
        margin: safety factor less one, >= 0.
        options: of ``fed_fit``.

    Raises:
        InputError: no site, other resources at some site, or a negative margin.
    """
    if not sites or len({one.resources for one in sites}) > 1:
        raise InputError.of("sites", len(sites), "at least one, all with the same resources")
    if not margin >= 0:
        raise InputError.of("margin", margin, "a number >= 0")
    kinds = tuple(sorted({kind for one in sites for kind in one.job_type}))
    numeric = [_numeric(one, task_features) for one in sites]
    pooled = np.concatenate(numeric)
    deviation = pooled.std(axis=0)
    deviation[deviation == 0] = 1.0
    mean = pooled.mean(axis=0)
    local = [
        Site.of(
            np.column_stack([_kinds(one, kinds), (values - mean) / deviation]),
            np.column_stack([one.demand, one.exec_time]),
        )
        for one, values in zip(sites, numeric, strict=True)
    ]
    demand = np.concatenate([one.demand for one in sites])
    least = np.array([column[column > 0].min(initial=np.inf) for column in demand.T])
    least[np.isinf(least)] = 0.0
    theta = fed_fit(local, **options).theta
    return Estimator(theta, kinds, mean, deviation, least, task_features, margin)


def _kinds(instance: Instance, kinds: tuple[str, ...]) -> Floats:
    """Intercept and one-hot job type, shape (tasks, 1 + kinds)."""
    kind = np.array(instance.job_type, dtype=object)[instance.task_job]
    one_hot = (kind[:, None] == np.array(kinds, dtype=object)[None, :]).astype(np.float64)
    return np.column_stack([np.ones(instance.tasks), one_hot])


def _numeric(instance: Instance, task_features: bool) -> Floats:
    """Depth and data size of the job and, if asked for, depth of the task; one row per task."""
    job = instance.task_job
    columns = [instance.depth[job], instance.data_size[job]]
    if task_features:
        columns.append(instance.depth_of_task)
    return np.column_stack(columns).astype(np.float64)
