"""The offline optimum of problem (2), proven if it can be, else bounded."""

from __future__ import annotations

from functools import partial

from pydantic import Field

from formulations.preemptive import online
from formulations.preemptive.exact.by_component import BY_MARKET, SearchParams
from formulations.preemptive.exact.guided import PRICE_GUIDED
from formulations.preemptive.instance import Instance
from formulations.preemptive.problem_2 import COMPACT
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.time_indexed.decode import fits_slots
from formulations.preemptive.time_indexed.grid import window_slots
from optsched.problem.methods import SUPPORTED_BY_MODELS, ExactMethod
from optsched.solvers.answer import Answer
from optsched.solvers.options import Options


class OfflineParams(SearchParams):
    """Sizes that decide between the methods, and the parameters of these."""

    small: int = Field(
        1_500, ge=0, description="slots of all jobs' windows from which on components are searched "
        "apart, not problem_2_compact solved",
    )  # fmt: skip
    large: int = Field(
        200_000, ge=0, description="slots of all jobs' windows up to which a proof is looked for"
    )


def offline(
    instance: Instance,
    options: Options,
    *,
    solver: str | None = None,
    start: Schedule | None = None,
    params: OfflineParams,
) -> Answer:
    """Solve (2) by a solver if it is small, else by component, or by prices alone if it is large.

    Args:
        instance: any.
        options: limits and tolerances; the method chosen refuses those that it does not support.
        solver: back end.
        start: a schedule to start from; prices need none.
        params: of the methods.
    """
    windows = window_slots(instance) if fits_slots(instance) else None
    if windows is None or windows > params.large:
        return PRICE_GUIDED.solve(instance, solver=solver, options=options, steps=params.steps)
    if windows < params.small:
        return COMPACT.solve(instance, solver=solver, options=options, start=start)
    own = params.model_dump(include=set(SearchParams.model_fields))
    return BY_MARKET.solve(instance, solver=solver, options=options, start=start, **own)


OFFLINE = ExactMethod(
    "offline", offline, "problem (2)",
    "total completion time: problem_2_compact where it is small, by_market where it is larger, "
    "price_guided where no proof is in reach",
    supports=SUPPORTED_BY_MODELS, params=OfflineParams,
)  # fmt: skip

replan = partial(online.replan, OFFLINE, PRICE_GUIDED)
