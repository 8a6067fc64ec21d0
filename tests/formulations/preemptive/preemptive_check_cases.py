"""The worked example of the checker's tests: the algorithm's schedule on two servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from preemptive_cases import worked_example

from formulations.preemptive.instance import CLOUD, Instance
from formulations.preemptive.schedule import Schedule
from optsched.problem.violation import Violation

A, B, C = 0, 1, 2
"""Jobs of the worked example."""

RUNS = (
    (A, 0, 0, 2, 3),
    (C, 0, 0, 3, 5),
    (A, 0, 0, 5, 8),
    (A, 1, 1, 2, 6),
    (A, 2, CLOUD, 5, 9),
    (B, 0, CLOUD, 5, 7),
    (B, 1, CLOUD, 5, 7),
    (B, 2, CLOUD, 5, 7),
)
"""(job, chunk, worker, start, end) of the algorithm's schedule."""
SERVICES = ((A, 0, 2, 9), (C, 1, 3, 5), (B, CLOUD, 5, 7))
"""(job, parameter server, start, end)."""
TOGETHER = (False, True, False)


def two_servers() -> Instance:
    """Two servers with a worker and a parameter server each; on the second one a worker and a
    parameter server of a type that no job asks for stand idle.
    """
    servers, types = np.array([0, 1, 1]), np.array([0, 0, 1])
    return replace(
        worked_example(),
        worker_server=servers,
        worker_type=types,
        ps_server=servers,
        ps_type=types,
    )


def schedule(
    runs: tuple[tuple[float, ...], ...] = RUNS,
    services: tuple[tuple[float, ...], ...] = SERVICES,
    together: tuple[bool, ...] = TOGETHER,
    speed: float = 1.0,
) -> Schedule:
    return Schedule.build(runs=runs, services=services, together=together, speed=speed)


def swap(
    rows: tuple[tuple[float, ...], ...], old: tuple[float, ...], *new: tuple[float, ...]
) -> tuple[tuple[float, ...], ...]:
    """The rows with one of them replaced."""
    assert rows.count(old) == 1
    return tuple(r for row in rows for r in (new if row == old else (row,)))


def facts(violations: list[Violation]) -> list[tuple[str, Mapping[str, float], float]]:
    return [(v.constraint, dict(v.index), v.amount) for v in violations]
