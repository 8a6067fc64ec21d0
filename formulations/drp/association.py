"""What all models share: admissions y, associations x over pairs, placed services z."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from formulations.drp.instance import Booleans, Floats, Instance, Integers
from formulations.drp.loads import visible
from formulations.drp.residual_capacity import Room
from optsched.model import Model
from optsched.model.expression import Expression


class Numbers(NamedTuple):
    """The numbers of the constraints that (5) and (22) share."""

    nodes: str
    inbound: str
    compute: str
    outbound: str
    deadline: str


DRP = Numbers("5b", "5c", "5d", "5e", "5f")
DSRP = Numbers("22b", "22e", "22f", "22g", "22h")


def numbers(services: bool) -> Numbers:
    """Of DSRP with services, of DRP without."""
    return DSRP if services else DRP


def association(
    name: str,
    instance: Instance,
    *,
    services: bool,
    integer: bool = True,
    integer_assoc: bool | None = None,
    allowed: Booleans | None = None,
    room: Room | None = None,
    full: bool = False,
) -> Model:
    """Objective, (5b) and (5c), or (22a) to (22e).

    Variables: "y" of shape (jobs,), "x" of shape (pairs,), and with services "z" of shape
    (placements,), one for each service and server that a pair links.

    Args:
        name: of the model.
        instance: the system.
        services: whether a server must hold the services of the jobs it trains.
        integer: False relaxes all of it.
        integer_assoc: False relaxes x alone.
        allowed: pairs that may be used, shape (pairs,); None: all.
        room: what is taken of the servers already; None: nothing.
        full: let a variable "full" in [0, 1] stand for what is left of every capacity.
    """
    model = Model(name)
    servers = instance.num_servers
    whole = integer if integer_assoc is None else integer_assoc
    admit = _unit(model, "y", instance.num_jobs, integer, r"y_k")
    upper: ArrayLike = 1.0 if allowed is None else allowed.astype(float)
    assoc = _unit(model, "x", instance.num_pairs, whole, r"x_i^j", upper)
    number = numbers(services)
    model.maximize(admit.sum())
    model.add(
        number.nodes,
        assoc.sum_by(instance.pair_node, instance.num_data_nodes) - admit[instance.node_job] == 0,
        formula=r"\sum_{v_j \in V_i} x_i^j = y_{k(i)}",
    )
    left: Expression | ArrayLike = 1.0 if room is None else np.maximum(0.0, 1.0 - room.inbound)
    if full:
        left = model.continuous("full", upper=1)
    model.add(
        number.inbound,
        (assoc * visible(instance.inbound_load)).sum_by(instance.pair_server, servers) <= left,
        formula=r"\sum_{u_i \in U_j} x_i^j u_i^d \le r_j^d",
    )
    if services:
        add_services(model, instance, integer)
    return model


def _unit(
    model: Model, name: str, size: int, integer: bool, formula: str, upper: ArrayLike = 1.0
) -> Expression:
    """Variables in {0, 1} or [0, 1], some of them fixed to 0."""
    make = model.integer if integer else model.continuous
    return make(name, size, upper=upper, formula=formula)


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


def add_services(model: Model, instance: Instance, integer: bool) -> None:
    """(22c) and (22d)."""
    place = placements(instance)
    placed = _unit(model, "z", len(place.service), integer, r"z_j^l")
    model.add("22c", placed[place.of_pair] - model["x"] >= 0, formula=r"z_j^l \ge x_i^j")
    load = instance.service_load[place.service, place.server]
    model.add(
        "22d",
        (placed * visible(load)).sum_by(place.server, instance.num_servers) <= 1,
        formula=r"\sum_{s_l \in S} z_j^l s_l^o \le r_j^o",
    )


def per_server(model: Model, instance: Instance, weights: Floats) -> Expression:
    """Sum of x weighted by pair, at each server; shape (servers,)."""
    return (model["x"] * visible(weights)).sum_by(instance.pair_server, instance.num_servers)
