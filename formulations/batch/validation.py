"""What an instance may hold: every field that cannot be accepted, named."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from optsched.arrays import refused
from optsched.errors import FieldProblem

if TYPE_CHECKING:
    from formulations.batch.instance import Booleans, Instance

LARGEST_WORK = 10**9
"""Worker-slots of a job."""


def problems_of(instance: Instance) -> Iterator[FieldProblem]:
    """The entries of an instance that are out of range or contradict each other."""
    shape = list(_shapes(instance))
    yield from shape
    if not shape:
        yield from _ranges(instance)
        yield from _placements(instance)


def _shapes(instance: Instance) -> Iterator[FieldProblem]:
    if instance.jobs == 0:
        yield FieldProblem("release_slot", [], "at least one job")
    servers = len(instance.worker_capacity)
    if len(instance.ps_capacity) != servers:
        yield FieldProblem(
            "ps_capacity", len(instance.ps_capacity), f"one row per server ({servers})"
        )
    for name in ("exact_work_slow", "exact_work_fast"):
        given = len(getattr(instance, name))
        if given != instance.jobs:
            yield FieldProblem(name, given, f"one number per job ({instance.jobs})")


def _ranges(instance: Instance) -> Iterator[FieldProblem]:
    refuse = partial(refused, instance)
    for name in ("worker_capacity", "ps_capacity"):
        value = getattr(instance, name)
        whole = (value >= 0) & ((value == np.round(value)) | np.isposinf(value))
        yield from refuse(name, ~whole, "a whole number >= 0, or infinite")
    for name in ("release_slot", "num_chunks"):
        yield from refuse(name, getattr(instance, name) < 1, "an integer >= 1")
    yield from refuse("upload_delay", instance.upload_delay < 0, "an integer >= 0")
    weight = instance.weight
    yield from refuse("weight", ~(np.isfinite(weight) & (weight > 0)), "a finite number > 0")
    for name, types in (
        ("worker_type", instance.worker_types),
        ("ps_type", instance.ps_types),
    ):
        value = getattr(instance, name)
        yield from refuse(name, (value < 0) | (value >= types), f"a type in 0..{types - 1}")
    pairs = zip(instance.exact_work_slow, instance.exact_work_fast, strict=True)
    for j, (slow, fast) in enumerate(pairs):
        if not 0 < fast <= slow <= LARGEST_WORK:
            allowed = f"0 < work_fast <= work_slow <= {LARGEST_WORK}"
            yield FieldProblem(f"work[{j}]", (str(slow), str(fast)), allowed)
    if instance.horizon < 1:
        yield FieldProblem("horizon", instance.horizon, "an integer >= 1")
    for name in ("worker_price_cap", "ps_price_cap", "slot_hours"):
        cap = getattr(instance, name)
        if not (math.isfinite(cap) and cap > 0):
            yield FieldProblem(name, cap, "a finite number > 0")
    cloud, servers = instance.cloud_index, instance.servers
    if cloud is not None and not 0 <= cloud < servers:
        yield FieldProblem("cloud_index", cloud, f"a server in 0..{servers - 1}, or null")


def _placements(instance: Instance) -> Iterator[FieldProblem]:
    """(A1): somewhere a worker and a parameter server of each job's types."""
    for name, capacity in (
        ("worker_type", instance.worker_capacity),
        ("ps_type", instance.ps_capacity),
    ):
        kind = getattr(instance, name)
        known = (kind >= 0) & (kind < capacity.shape[1])
        there: Booleans = np.asarray((capacity >= 1).any(axis=0))
        lacking = known & ~there[np.where(known, kind, 0)]
        yield from refused(instance, name, lacking, "a type that some server has")
