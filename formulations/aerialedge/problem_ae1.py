"""[AE1] and Algorithm 2: which deployment takes the multi-job; (6), (7), (11), (13) to (20)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from formulations.aerialedge.check import order_of_travel, within_reach
from formulations.aerialedge.construct import first_fit_decreasing
from formulations.aerialedge.instance import Floats, Instance
from formulations.aerialedge.metrics import gang_times
from formulations.aerialedge.vector_packing import aggregate
from formulations.common.amounts import on_one_grid
from optsched.errors import InputError
from optsched.model import Model
from optsched.model.latex import ours
from optsched.problem import problem
from optsched.problem.methods import Formulation
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution

Horizon = Literal["sum", "dag"]

PACKING_SECONDS = 10.0
"""Longest time spent on whether tasks fit one deployment."""


def closest(instance: Instance) -> int:
    """The first deployment in order of travel that passes (7), (13) and (14), packing aside.

    Where none passes, the first in that order: whatever is packed there breaks what it breaks.
    """
    order = order_of_travel(instance).tolist()
    return int(next((i for i in order if not within_reach(instance, i)), order[0]))


def algorithm_2(
    instance: Instance, *, check_packing: bool = True, time_limit: float = PACKING_SECONDS
) -> int | None:
    """Return the first feasible deployment in order of travel; None: the multi-job waits.

    Args:
        instance: the deployments and the multi-job.
        check_packing: also ask that the tasks can be packed; the printed algorithm does not, and
            may choose a deployment on which they cannot.
        time_limit: wall seconds per deployment for that question; undecided counts as no.
    """
    for i in order_of_travel(instance).tolist():
        if within_reach(instance, i):
            continue
        if not check_packing or first_fit_decreasing(aggregate(instance, i)) is not None:
            return int(i)
        options = Options(time_limit=time_limit)
        found = problem("aerialedge").solve("packing", instance, options=options, deployment=i)
        if found.solution.has_point:
            return int(i)
    return None


def closest_feasible(instance: Instance) -> int:
    """Return the deployment of ``algorithm_2``, or else the closest one: tasks take turns."""
    chosen = algorithm_2(instance)
    return closest(instance) if chosen is None else chosen


def eligible(
    instance: Instance, *, round_trip: bool = False, horizon: Horizon = "sum"
) -> tuple[Floats, Floats]:
    """Which deployments (7) allows, and which (14), each of shape (deployments,): 1 or 0.

    Args:
        instance: the deployments and the multi-job.
        round_trip: 2 f_i^l + H <= f_i as (14), which is more than (7) asks for.
        horizon: H is the sum of execution times, as printed, or the longest path ("dag").

    Raises:
        InputError: another horizon.
    """
    if horizon not in get_args(Horizon):
        raise InputError.of("horizon", horizon, "must be one of " + ", ".join(get_args(Horizon)))
    time = (
        float(instance.exec_time.sum())
        if horizon == "sum"
        else float(gang_times(instance)[1].max())
    )
    travel, flight = instance.travel_time, instance.flight_time
    if round_trip:
        return np.ones(len(travel)), np.asarray(2 * travel + time <= flight, dtype=np.float64)
    return np.asarray(travel < flight, dtype=np.float64), np.asarray(time <= flight, np.float64)


def dispatch(instance: Instance, *, round_trip: bool = False, horizon: Horizon = "sum") -> Model:
    """[AE1] for one multi-job: the least travel time (seconds) that meets the aggregate rows.

    Which of equally close deployments a solver takes is its own affair; ``closest`` takes the one
    with fewer cores, then the first.
    """
    return dispatch_together([instance], round_trip=round_trip, horizon=horizon)


def dispatch_together(
    instances: Sequence[Instance], *, round_trip: bool = False, horizon: Horizon = "sum"
) -> Model:
    """[AE1] for several multi-jobs at once: they share the deployments' capacities.

    Args:
        instances: one per multi-job, over the same deployments (travel times may differ).
        round_trip: see ``eligible``.
        horizon: see ``eligible``.

    Raises:
        InputError: no instance, or instances over different nodes.
    """
    if not instances:
        raise InputError.of("instances", [], "at least one")
    fleet = instances[0]
    for g, other in enumerate(instances):
        if not np.array_equal(other.capacity_units, fleet.capacity_units) or not np.array_equal(
            other.node_deployment, fleet.node_deployment
        ):
            raise InputError.of(f"instances[{g}]", "other nodes", "the nodes of instances[0]")
    allowed = [eligible(one, round_trip=round_trip, horizon=horizon) for one in instances]
    near, lasting = (np.stack(part) for part in zip(*allowed, strict=True))
    model = Model("[AE1] closest dispatch")
    chosen = model.binary("w", near.shape, formula="w_{gi}")
    travel = np.stack([one.travel_time for one in instances])
    model.minimize((chosen * travel).sum(), formula=ours(r"\sum_{g,i} f_i^l w_{gi}"))
    model.add("7", chosen <= near, formula=ours(r"w_{gi} = 0 \text{ if } f_i^l \ge f_i"))
    model.add(
        "14", chosen <= lasting, formula=ours(r"w_{gi} = 0 \text{ if } \sum_t \tilde E_t > f_i")
    )
    model.add("22", chosen.sum(axis=1) == 1, formula=ours(r"\sum_i w_{gi} = 1"))
    need = np.stack([one.least_demand_units.sum(axis=0) for one in instances])
    offer = np.zeros((fleet.deployments, len(fleet.resources)), dtype=np.int64)
    np.add.at(offer, fleet.node_deployment, fleet.capacity_units)
    for r, name in enumerate(fleet.resources):
        size, capacity = on_one_grid(need[:, r], offer[:, r])
        load = (chosen * size[:, None]).sum(axis=0)
        model.add(
            f"13:{name}", load <= capacity, formula=ours(r"\sum_g \tilde T_g^r w_{gi} \le D_i^r")
        )
    return model


def decode_dispatch(solution: Solution) -> list[int]:
    """Deployment of each multi-job."""
    return [int(i) for i in np.argmax(solution["w"], axis=1)]


_ONE = "`22`: one variable of the multi-job is 1."
_NUMBER = "Whatever is chosen, it is the same number for given tasks."
EQUATIONS = {
    "6": _ONE, "7": "objective, 7", "11": _ONE,
    "13": "13", "14": "14",
    "16": "On a given deployment it is a number. Over deployments it would choose the smallest "
    "that fits, against (7), which is the objective.",
    "17": "22", "18": "14",
    "19": "No node is opened here; it is a variable of the packing, (23) to (26).",
    "20": "13", "21": _NUMBER, "22": "22",
}  # fmt: skip
"""Where the paper's statements are in ``dispatch``."""

DISPATCH = Formulation(
    "dispatch", dispatch, "[AE1]: (7), (13), (14)",
    "travel time to the closest deployment by aggregate capacity (seconds)",
    equations=EQUATIONS,
)  # fmt: skip
