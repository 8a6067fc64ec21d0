"""DSRP: problem (22), in which a server trains a job only if it holds the job's service."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.drp.instance import Instance, Integers
from formulations.drp.loads import visible
from formulations.drp.problem_5 import (
    TIMES,
    Level,
    Numbers,
    add_deadline_cones,
    add_times,
    association,
    holders,
)
from optsched.model import Model
from optsched.problem import OBJECTIVE

PROBLEM_22 = Numbers("22", "22b", "22e", "22f", "22g", "22h")
EQUATIONS = {
    **TIMES, "22a": OBJECTIVE, "22b": "22b", "22c": "22c", "22d": "22d", "22e": "22e",
    "22f": "22f", "22g": "22g", "22h": "22h", "22i": "y", "22j": "x", "22k": "z",
    "22l": "`compute` and `outbound`, at least 0: r_jk, the sum of r_ij over the nodes of job k, "
    "which is all that (22h) asks about.",
}  # fmt: skip
"""Where the paper's statements are in ``problem_22``."""


def problem_22(instance: Instance) -> Model:
    """(22) with r_jk for the sum of r_ij over the nodes of job k."""
    model = add_services(association("problem (22)", instance, PROBLEM_22), instance)
    return add_times(model, instance, PROBLEM_22)


def problem_22_cone(instance: Instance, *, level: Level = "job") -> Model:
    """(22) with (22h) as the cone (C1).

    Args:
        instance: the system.
        level: a cone per job and server, or per data node and server: both have the same optima.

    Raises:
        InputError: no such level.
    """
    name = "problem (22) as second-order cones"
    model = add_services(association(name, instance, PROBLEM_22), instance)
    return add_deadline_cones(model, instance, PROBLEM_22, holders(instance, level))


class Placements(NamedTuple):
    """The z_lj that exist, sorted by service, then server."""

    service: Integers
    server: Integers
    of_pair: Integers
    """The z that each pair needs, shape (pairs,)."""


def placements(instance: Instance) -> Placements:
    """Every service and server that a pair links."""
    key = instance.job_service[instance.pair_job] * instance.num_servers + instance.pair_server
    keys, of_pair = np.unique(key, return_inverse=True)
    return Placements(*np.divmod(keys, instance.num_servers), of_pair)


def add_services(model: Model, instance: Instance) -> Model:
    """(22c) and (22d), with "z" of shape (placements,): whether a server holds a service."""
    place = placements(instance)
    z = model.binary("z", len(place.service), formula="z_j^l")
    model.add("22c", z[place.of_pair] - model["x"] >= 0, formula=r"z_j^l \ge x_i^j")
    load = instance.service_load[place.service, place.server]
    model.add(
        "22d",
        (z * visible(load)).sum_by(place.server, instance.num_servers) <= 1,
        formula=r"\sum_{s_l \in S} z_j^l s_l^o \le r_j^o",
    )
    return model
