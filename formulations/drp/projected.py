"""[P4], [P5]: resources eliminated, one 2 by 2 matrix condition (P1) per server left.

Beside the cones stand rows that follow from them and help a solver: (CUT) at a grid of angles,
and for each job and server a bound on how many of the job's nodes fit there. The latter is the
cover inequality that replaces the paper's PRUNE: it removes no feasible association.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.drp.association import association, numbers, per_server
from formulations.drp.instance import Booleans, Floats, Instance, Integers
from formulations.drp.loads import cut_weights
from formulations.drp.residual_capacity import Room
from optsched.errors import InputError
from optsched.model import Model

ANGLES = 9
"""Angles of the grid of cuts; they leave at most 1 % of a capacity to the cones."""


def projected(
    instance: Instance,
    *,
    services: bool = False,
    angles: int = ANGLES,
    covers: bool = True,
    integer: bool = True,
) -> Model:
    """[P4] or, with services, [P5]; relaxed, [P3].

    Args:
        instance: the system.
        services: (22) in place of (5).
        angles: (CUT) at so many angles equally spaced on [0, pi / 2], at least 2.
        covers: add the cover inequalities.
        integer: False relaxes x, y and z.

    Raises:
        InputError: fewer than two angles.
    """
    model = tangent_model(
        instance, services=services, angles=angles, covers=covers, integer=integer
    )
    a, b, c = (
        per_server(model, instance, load)
        for load in (instance.compute_load, instance.comm_load, instance.cross_load)
    )
    model.rotated_cone(
        1 - a, 1 - b, c, name="P1", formula=r"(1 - a_j)(1 - b_j) \ge c_j^2,\ a_j, b_j \le 1"
    )
    return model


def tangent_model(
    instance: Instance,
    *,
    services: bool,
    angles: int = ANGLES,
    covers: bool = False,
    integer: bool = True,
    integer_assoc: bool | None = None,
    allowed: Booleans | None = None,
    room: Room | None = None,
    full: bool = False,
) -> Model:
    """The same without the cones: a relaxation of it in linear rows.

    Raises:
        InputError: fewer than two angles.
    """
    if angles < 2:
        raise InputError.of("angles", angles, "an integer >= 2")
    model = association(
        f"problem ({22 if services else 5}), resources eliminated",
        instance,
        services=services,
        integer=integer,
        integer_assoc=integer_assoc,
        allowed=allowed,
        room=room,
        full=full,
    )
    names = {0: numbers(services).compute, angles - 1: numbers(services).outbound}
    for step, angle in enumerate(np.linspace(0, np.pi / 2, angles)):
        model.add(
            names.get(step, f"angle:{step}"),
            per_server(model, instance, cut_weights(instance, angle))
            <= (model["full"] if full else cut_room(room, angle)),
            formula=r"\sum_i (\cos\varphi \sqrt{\alpha_{ij}} + \sin\varphi \sqrt{\beta_{ij}})^2 "
            r"x_i^j \le 1",
        )
    if covers:
        _add_covers(model, instance, angles)
    return model


def cut_room(room: Room | None, angle: Floats | float) -> Floats | float:
    """Right-hand side of (CUT): 1 - w' M_j w of what is committed at server j."""
    if room is None:
        return 1.0
    a, b, c = room.loads
    cos, sin = np.cos(angle), np.sin(angle)
    return np.maximum(0.0, 1.0 - (cos**2 * a + sin**2 * b + 2 * sin * cos * c))


class Covers(NamedTuple):
    """Jobs and servers at which not all nodes that reach the server fit."""

    job: Integers
    """Shape (covers,)."""
    most: Integers
    """Most nodes of the job that fit on the server, shape (covers,)."""
    pair: Integers
    """Pairs of the covers, shape (entries,)."""
    of_pair: Integers
    """Cover of each of these pairs, shape (entries,)."""


def covers_of(instance: Instance, angles: int = ANGLES) -> Covers:
    """Cover inequalities sum of x_ij over C_k and U_j <= most y_k that say something."""
    key = instance.pair_job * instance.num_servers + instance.pair_server
    keys, group = np.unique(key, return_inverse=True)
    size = np.bincount(group, minlength=len(keys))
    weights = [cut_weights(instance, angle) for angle in np.linspace(0, np.pi / 2, angles)]
    most = size.copy()
    for weight in [instance.inbound_load, *weights]:
        order = np.lexsort((weight, group))
        total = np.cumsum(weight[order])
        before = np.concatenate([[0.0], total])[np.cumsum(size) - size]
        within = total - before[group[order]] <= 1 + 1e-9
        most = np.minimum(most, np.bincount(group[order], weights=within, minlength=len(keys)))
    short = most < size
    renumbered = np.cumsum(short) - 1
    pair = np.flatnonzero(short[group])
    return Covers(
        keys[short] // instance.num_servers,
        most[short].astype(np.int64),
        pair,
        renumbered[group[pair]],
    )


def _add_covers(model: Model, instance: Instance, angles: int) -> None:
    found = covers_of(instance, angles)
    if not len(found.job):
        return
    model.add(
        "cover",
        model["x"][found.pair].sum_by(found.of_pair, len(found.job))
        - model["y"][found.job] * found.most
        <= 0,
        formula=r"\sum_{u_i \in C_k \cap U_j} x_i^j \le n_{jk} y_k",
    )
