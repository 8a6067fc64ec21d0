"""The offline optimum of problem (2), proven where it can be and bounded where it cannot."""

from __future__ import annotations

from formulations.preemptive.decode import fits_slots
from formulations.preemptive.exact.by_component import BY_MARKET
from formulations.preemptive.exact.dual_guided import PRICE_GUIDED
from formulations.preemptive.grid import window_slots
from formulations.preemptive.instance import Instance
from formulations.preemptive.problem_2 import (
    decode_problem_2_compact,
    encode_problem_2_compact,
    problem_2_compact,
)
from formulations.preemptive.schedule import Schedule
from optsched.problem.methods import HONOURED_BY_MODELS, ExactMethod, Formulation
from optsched.solvers.answer import Answer
from optsched.solvers.options import Options

SMALLEST = 1_500
"""Slots of all jobs' windows from which on problem (2) is taken market by market."""

LARGEST = 200_000
"""Slots of all jobs' windows up to which problem (2) is left to a solver."""

COMPACT = Formulation(
    "problem_2_compact", problem_2_compact, "problem (2)",
    "total completion time, work may migrate; completion binaries over hubs: the model for "
    "scale, without parameter servers, which never bind",
    decode_problem_2_compact, encode_problem_2_compact,
)  # fmt: skip


def offline(
    instance: Instance,
    options: Options,
    *,
    solver: str | None = None,
    start: Schedule | None = None,
) -> Answer:
    """(2) by a solver, market by market unless it is small, or by ``price_guided``: it is large.

    Args:
        instance: any.
        options: limits and tolerances; the method that suits refuses those that it does not heed.
        solver: back end.
        start: a schedule to start from; prices need none.
    """
    if fits_slots(instance):
        windows = window_slots(instance)
        if windows <= LARGEST:
            method = COMPACT if windows < SMALLEST else BY_MARKET
            return method.solve(instance, solver=solver, options=options, start=start)
    return PRICE_GUIDED.solve(instance, solver=solver, options=options)


OFFLINE = ExactMethod(
    "offline", offline, "problem (2)",
    "total completion time: problem_2_compact where it is small, by_market where it is larger, "
    "price_guided where no proof is in reach",
    honours=HONOURED_BY_MODELS,
)  # fmt: skip
