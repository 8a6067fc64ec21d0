"""The paper's lemmas and theorems as checks that run on any instance and schedule.

What is proven, under assumptions that are checked too, must hold; what the paper prints is
reported as it turns out. A schedule brings its prices if an algorithm wrote them there; where a
server is equally far from every job, they follow from the schedule itself.
"""

from __future__ import annotations

import numpy as np

from formulations.preemptive.check import check
from formulations.preemptive.instance import Instance
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.theorems.lemmas import (
    PAPER,
    Premises,
    lemma_1,
    lemma_2,
    lemma_3,
    lemma_4,
    storage_rows,
)
from formulations.preemptive.theorems.prices import (
    Levels,
    Priority,
    cheapest,
    levels,
    obeys,
    prices,
)
from formulations.preemptive.theorems.record import TOLERANCE, Record, record
from formulations.preemptive.theorems.theorems import theorem_3, theorem_4
from optsched.problem.certificate import Certificate, feasibility

__all__ = ["certify", "certify_with_storage"]

_RULES: tuple[Priority, ...] = ("residual", "static")
"""The one that theorems are proven of comes first: it prices a schedule that obeys both."""


def certify(
    instance: Instance, schedule: Schedule, *, storage: bool = False, time_limit: float = 10.0
) -> list[Certificate]:
    """Every statement of Section V on one schedule, at the speed it says it was run at.

    Args:
        instance: chunk times are of the offline machine.
        schedule: the statements on chunks need runs that name them.
        storage: a schedule that does not fit into storage is not feasible.
        time_limit: wall seconds for each optimum that a verdict needs.

    Raises:
        InputError: the schedule brings prices, but not one per chunk.
    """
    told = record(instance, schedule)
    violations = check(instance, schedule, speed=schedule.speed, storage=storage)
    found = [
        feasibility(
            f"{PAPER}, problems (2), (4), (7)",
            violations,
            claim="the schedule breaks no constraint at its own speed",
        ),
        lemma_3(schedule, violations),
    ]
    sound = not any(v.constraint not in ("2e", "2f", "2g") for v in violations)
    if isinstance(told, str) or not sound:
        why = told if isinstance(told, str) else "the schedule is not feasible"
        claim = "statements on chunks, prices and the dual"
        found.append(
            Certificate(
                "Lemmas 1, 2, 4, 5, Theorems 3, 4",
                f"{PAPER}, Section V",
                claim,
                "not_applicable",
                detail=why,
            )
        )
        return found
    case = case_of(told, feasible=not violations)
    found += lemma_1(told, feasible=case.feasible)
    found += lemma_2(case)
    found += lemma_4(case)
    found += storage_rows(case)
    found += theorem_3(case, time_limit=time_limit)
    found += theorem_4(told)
    return found


def certify_with_storage(instance: Instance, schedule: Schedule) -> list[Certificate]:
    """As ``certify``; a schedule that does not fit into storage is not feasible."""
    return certify(instance, schedule, storage=True)


def case_of(told: Record, *, feasible: bool) -> Premises:
    """Which assumptions a schedule meets, and its prices."""
    obeyed: list[Priority] = [rule for rule in _RULES if obeys(told, rule)]
    alpha, planned = told.schedule.alpha, None
    base: Levels | None = None
    agreeing: list[Priority] = []
    if told.common_delays:
        for rule in obeyed:
            candidate = levels(told, rule)
            following, completions = prices(told, candidate)
            if alpha is None:
                alpha = following
            size = np.maximum(1.0, following)
            if np.all(np.abs(following - alpha) <= TOLERANCE * size):
                base = candidate if base is None else base
                planned = completions  # where both rules agree, by static density as printed
                agreeing.append(rule)
    at_edge, in_cloud = (False, False) if base is None else cheapest(told, base)
    return Premises(
        record=told,
        feasible=feasible,
        alpha=alpha,
        planned=planned,
        by_rule_5=bool(agreeing),
        static="static" in obeyed,
        residual="residual" in obeyed and (not agreeing or "residual" in agreeing),
        cheapest_edge=at_edge,
        cheapest_cloud=in_cloud,
    )
