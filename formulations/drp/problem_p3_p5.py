"""[P3], [P4], [P5]: resources eliminated, one 2 by 2 matrix condition (P1) per server left.

Beside the cones stand rows that follow from them and help a solver: (CUT) at a grid of angles,
and for each job and server a bound on how many of the job's nodes fit there. The latter is the
cover inequality that replaces the paper's PRUNE: it removes no feasible association.

The relaxation [P3] is solved without cones, by tangent cuts at the top eigenvectors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from formulations.drp.instance import Booleans, Floats, Instance, Integers
from formulations.drp.loads import Loads, cut_weights, server_loads
from formulations.drp.problem_5 import PROBLEM_5, Numbers, association, per_server
from formulations.drp.problem_22 import PROBLEM_22, add_services
from formulations.drp.residual_capacity import Room
from optsched.decomposition import solve_with_cuts
from optsched.decomposition.cuts import Cut
from optsched.errors import InputError, ModelError
from optsched.model import Model
from optsched.model.latex import ours
from optsched.problem import Bound
from optsched.problem.methods import ExactMethod
from optsched.solvers.answer import Answer
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution, Status

ANGLES = 9
"""Angles of the grid of cuts; they leave at most 1 % of a capacity to the cones."""
TOLERANCE = 1e-7
"""Excess of a load factor over 1 up to which a point of the relaxation counts as feasible."""
COARSE = 1e-3
"""Tolerance where only the whole part of the bound, or a point to round, is wanted."""
FLOOR_SLACK = 1e-6
"""Added to a bound before it is rounded down to whole jobs: the solver's own tolerance."""


def problem_5_projected(instance: Instance, *, angles: int = ANGLES, covers: bool = True) -> Model:
    """[P4]: (5) with (P1) for its resources.

    Args:
        instance: the system.
        angles: (CUT) at so many angles equally spaced on [0, pi / 2], at least 2.
        covers: add the cover inequalities.

    Raises:
        InputError: fewer than two angles.
    """
    return _with_cones(tangent_model(instance, angles=angles, covers=covers), instance)


def problem_22_projected(instance: Instance, *, angles: int = ANGLES, covers: bool = True) -> Model:
    """[P5]: (22) with (P1) for its resources; see ``problem_5_projected``."""
    model = tangent_model(instance, services=True, angles=angles, covers=covers)
    return _with_cones(model, instance)


def problem_5_among(instance: Instance, admit: Booleans, allowed: Booleans) -> Model:
    """[P4] for jobs that are given, on pairs that are given.

    Args:
        instance: the system.
        admit: y_k, shape (jobs,).
        allowed: pairs that may be used, shape (pairs,).
    """
    model = _with_cones(tangent_model(instance, allowed=allowed), instance)
    model.add("chosen", model["y"] == admit.astype(float))
    return model


def _with_cones(model: Model, instance: Instance) -> Model:
    """The tangent model and what it is tangent to."""
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
    services: bool = False,
    angles: int = ANGLES,
    covers: bool = False,
    split: bool = False,
    allowed: Booleans | None = None,
    room: Room | None = None,
    full: bool = False,
) -> Model:
    """[P4] or, with services, [P5] without the cones: a relaxation of it in linear rows.

    The other arguments are the same as of ``association``.

    Raises:
        InputError: fewer than two angles.
    """
    if angles < 2:
        raise InputError.of("angles", angles, "an integer >= 2")
    number = PROBLEM_22 if services else PROBLEM_5
    name = f"problem ({number.problem}), resources eliminated"
    model = association(name, instance, number, split=split, allowed=allowed, room=room, full=full)
    if services:
        add_services(model, instance)
    for name, angle in angle_rows(number, angles):
        model.add(
            name,
            per_server(model, instance, cut_weights(instance, angle))
            <= (model["full"] if full else _cut_room(room, angle)),
            formula=ours(
                r"\sum_i (\cos\varphi \sqrt{\alpha_{ij}} + \sin\varphi \sqrt{\beta_{ij}})^2 x_i^j "
                r"\le 1"
            ),
        )
    if covers:
        _add_covers(model, instance, angles)
    return model


def angle_rows(number: Numbers, angles: int) -> list[tuple[str, float]]:
    """Names and angles of the rows (CUT); those at 0 and at pi / 2 are the capacities alone."""
    names = {0: number.compute, angles - 1: number.outbound}
    grid = np.linspace(0, np.pi / 2, angles).tolist()
    return [(names.get(step, f"angle:{step}"), angle) for step, angle in enumerate(grid)]


def _cut_room(room: Room | None, angle: Floats | float) -> Floats | float:
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


def soc_relaxation(
    instance: Instance,
    *,
    services: bool = False,
    tolerance: float = TOLERANCE,
    angles: int = ANGLES,
    allowed: Booleans | None = None,
    room: Room | None = None,
    options: Options | None = None,
) -> Solution:
    """Solve [P3], or its counterpart for (22).

    Its bound is true whatever the tolerance: every cut holds on the whole cone.

    Args:
        instance: the system.
        services: (22) in place of (5).
        tolerance: on load factors.
        angles: of the grid of cuts to begin with.
        allowed: pairs that may be used, shape (pairs,); None: all.
        room: what is taken of the servers already; None: nothing.
        options: limits over all rounds together.
    """
    model = tangent_model(
        instance, services=services, angles=angles, allowed=allowed, room=room
    ).relax()

    def separate(values: Mapping[str, Floats]) -> list[Cut]:
        loads = server_loads(instance, values["x"])
        if room is not None:
            loads = Loads(*(new + old for new, old in zip(loads, room.loads, strict=True)))
        return _eigenvector_cuts(model, instance, loads, tolerance, room)

    return solve_with_cuts(model, separate, options=options).solution


def _eigenvector_cuts(
    model: Model, instance: Instance, loads: Loads, tolerance: float, room: Room | None = None
) -> list[Cut]:
    """The most violated (CUT) of every server whose load factor exceeds 1 by the tolerance."""
    over = np.flatnonzero(loads.factor > 1 + tolerance)
    if not len(over):
        return []
    angle = loads.angle
    weight = cut_weights(instance, angle[instance.pair_server])
    row = np.full(instance.num_servers, -1)
    row[over] = np.arange(len(over))
    pairs = np.flatnonzero(row[instance.pair_server] >= 0)
    load = (model["x"][pairs] * weight[pairs]).sum_by(row[instance.pair_server[pairs]], len(over))
    right = np.broadcast_to(_cut_room(room, angle), angle.shape)
    return [("CUT", load <= right[over])]


def whole_jobs(bound: float) -> float:
    """A bound on a number of jobs, rounded down."""
    return float(math.floor(bound + FLOOR_SLACK))


def soc_bound(instance: Instance, *, services: bool = False) -> float:
    """floor(z_SOC + 1e-6).

    Raises:
        ModelError: the linear programs fail.
    """
    solution = soc_relaxation(instance, services=services, tolerance=COARSE)
    if solution.status is not Status.OPTIMAL or solution.bound is None:
        raise ModelError(f"the relaxation ended {solution.status}: {solution.message}")
    return whole_jobs(solution.bound)


def _cards(services: bool, source: str, of: str) -> tuple[ExactMethod, Bound]:
    """The relaxation as an exact method and as a bound."""

    def search(instance: Instance, options: Options, *, tolerance: float = TOLERANCE) -> Answer:
        return Answer(
            soc_relaxation(instance, services=services, tolerance=tolerance, options=options)
        )

    summary = f"second-order-cone relaxation of {of}"
    supports = frozenset(Options.__dataclass_fields__) - {"warm_start"}  # all that HiGHS supports
    return (
        ExactMethod("soc", search, source, summary, supports, relaxation=True),
        Bound("soc", partial(soc_bound, services=services), source, f"whole jobs of the {summary}"),
    )


SOC, SOC_BOUND = _cards(False, "[P3]", "(5)")
SOC_SERVICES, SOC_SERVICES_BOUND = _cards(True, "[P5] relaxed", "(22)")
