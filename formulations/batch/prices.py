"""Prices (7) and (8) in a round, and (9) at these prices: what a job costs beside those placed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from formulations.batch.check import check
from formulations.batch.instance import Floats, Instance, System
from formulations.batch.problem_2_literal import EQUATIONS as LITERAL
from formulations.batch.problem_2_literal import problem_9_literal
from formulations.batch.problem_9 import ServerPrices, problem_9
from formulations.batch.schedule import Schedule
from formulations.batch.time_indexed import EQUATIONS
from optsched.errors import InputError
from optsched.instances.document import load
from optsched.model import Model
from optsched.problem import OBJECTIVE
from optsched.problem.methods import Formulation
from optsched.problem.violation import describe

Tau = Annotated[int, Field(ge=1)]


def growth(system: System) -> tuple[float, float]:
    """theta_1 and theta_2 of (7) and (8); S counts every server, the cloud included."""
    span = 2.0 * system.horizon * system.servers
    return (
        span * system.worker_types * system.worker_price_cap + 1,
        span * system.ps_types * system.ps_price_cap + 1,
    )


def price(used: Floats, capacity: Floats, theta: float) -> Floats:
    """theta^(used / capacity) - 1; 0 where capacity is unlimited, infinite where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(capacity > 0, used / capacity, np.inf)
    return np.power(theta, share) - 1.0


def prices_beside(instance: Instance, job: int, tau: int, placed: Schedule) -> ServerPrices:
    """Return prices and free amounts in the window tau + 1..2 tau, beside all jobs but one."""
    taken = [
        np.zeros((instance.servers, kinds, tau))
        for kinds in (instance.worker_types, instance.ps_types)
    ]
    run = np.concatenate([placed.place_run, np.arange(placed.runs)])
    workers = np.arange(len(run)) < len(placed.place_run)
    server = np.concatenate([placed.place_server, placed.run_ps])
    amount = np.concatenate([placed.place_workers, np.ones(placed.runs, dtype=np.int64)])
    owner = placed.run_job[run]
    amount[owner == job] = 0
    kind = np.where(workers, instance.worker_type[owner], instance.ps_type[owner])
    begin = np.maximum(placed.run_start[run] - tau - 1, 0)
    end = np.maximum(placed.run_end[run] - tau, 0)
    rows = (workers, server, kind, begin, end, amount)
    for of_workers, s, k, first, last, n in zip(*(row.tolist() for row in rows), strict=True):
        taken[0 if of_workers else 1][s, k, first:last] += n
    held = [
        (used, np.broadcast_to(capacity[:, :, None], used.shape), theta)
        for used, capacity, theta in zip(
            taken, (instance.worker_capacity, instance.ps_capacity), growth(instance), strict=True
        )
    ]
    bills = [price(used, capacity, theta) for used, capacity, theta in held]
    free = [capacity - used for used, capacity, _ in held]
    return ServerPrices(tau + 1, *bills, *free)


def _state(instance: Instance, job: int, tau: int, placed: str) -> ServerPrices:
    """Prices that a job sees, by options of a formulation."""
    if not 0 <= job < instance.jobs:
        raise InputError.of("job", job, f"a job of the instance, 0..{instance.jobs - 1}")
    there = load(Schedule, Path(placed)) if placed else Schedule.build(runs=(), placements=())
    violations = check(instance, there, complete=False)
    if violations:
        allowed = f"a schedule of jobs of this instance: it {describe(violations)}"
        raise InputError.of("placed", placed, allowed)
    return prices_beside(instance, job, tau, there)


def problem_9_beside(instance: Instance, *, job: int = 0, tau: Tau = 8, placed: str = "") -> Model:
    """(9) for one job, beside jobs that are placed already.

    Args:
        instance: the jobs and the system.
        job: whose schedule is looked for.
        tau: end of the slot in which the round happens; its window is tau + 1..2 tau.
        placed: schedule file of the other jobs of the round; by default there are none.

    Raises:
        InputError: no such job, or a file that is no schedule of this instance.
    """
    return problem_9(instance, job, _state(instance, job, tau, placed))


def problem_9_beside_literal(
    instance: Instance, *, job: int = 0, tau: Tau = 8, placed: str = ""
) -> Model:
    """(9) under the paper's numbers; see ``problem_9_beside``."""
    return problem_9_literal(instance, job, _state(instance, job, tau, placed))


_PRICES = {
    number: f"The prices in the objective: theta^({used} / {of}) - 1, by what is placed already."
    for number, used, of in (("7", "f", "W"), ("8", "g", "P"))
}
_OF_ONE_JOB = [number for number in LITERAL if number not in ("2g", "2h")]

FORMULATIONS = (
    Formulation(
        "problem_9", problem_9_beside, "problem (9)",
        "the cheapest schedule of one job in a round, beside jobs that are placed; a binary per "
        "start",
        equations=_PRICES | {
            "9": OBJECTIVE, "9a": "R7:y", "9b": "R7:z",
            "9c": "(2a) to (2f) and (2i) to (2l) are listed here by their own numbers.",
        } | {number: EQUATIONS[number] for number in _OF_ONE_JOB},
    ),
    Formulation(
        "problem_9_literal", problem_9_beside_literal, "problem (9)",
        "the same, row by row under the paper's numbers; small rounds", solver="cpsat",
        equations=_PRICES | {
            "9": OBJECTIVE, "9a": "9a", "9b": "9b",
            "9c": "(2a) to (2f) and (2i) to (2l) are listed here by their own numbers.",
        } | {number: LITERAL[number] for number in _OF_ONE_JOB},
    ),
)  # fmt: skip
