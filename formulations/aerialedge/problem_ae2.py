"""[AE2]: variable-sized vector bin packing by assignment, and (23) to (26) as printed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from formulations.aerialedge.instance import Booleans, Instance, Integers
from formulations.aerialedge.problem_ae1 import closest
from formulations.aerialedge.schedule import Schedule
from formulations.aerialedge.vector_packing import weights
from formulations.common.amounts import on_one_grid
from optsched.errors import InputError
from optsched.model import Model
from optsched.model.latex import ours
from optsched.problem import OBJECTIVE
from optsched.problem.methods import Formulation
from optsched.solvers.solution import Solution


def assignment(
    instance: Instance,
    *,
    deployment: int | None = None,
    symmetry: bool = True,
    at_least: float = 0.0,
) -> Model:
    """[AE2]: one binary per (way to serve a task, node).

    Args:
        instance: its objective decides the weights omega.
        deployment: whose nodes to use; None: the closest by Algorithm 2's aggregate tests.
        symmetry: keep one of the solutions that differ in the names of identical nodes.
        at_least: a proven bound on the objective, stated as a row.
    """
    i = closest(instance) if deployment is None else deployment
    nodes = instance.nodes_of(i)
    size, capacity = on_one_grid(instance.option_units, instance.capacity_units[nodes])
    task = instance.option_task
    options, width = len(size), len(nodes)
    model = Model("[AE2] vector bin packing by assignment")
    fits = (size[:, None, :] <= capacity[None, :, :]).all(axis=2)
    groups = _groups(instance, nodes)
    single = bool((groups == groups[0]).all())
    allowed = fits & _triangle(instance, size, capacity) if symmetry and single else fits
    place = model.integer(
        "Gamma", (options, width), upper=allowed.astype(float), formula=r"\Gamma_{tb}"
    )
    opened = model.binary("beta", width, formula=r"\beta_b")
    weight, unit = weights(instance)
    value = opened @ (weight[nodes] * unit)
    model.minimize(value, formula=ours(r"\sum_b \omega_b \beta_b"))
    model.add(
        "26",
        place.sum(axis=1).sum_by(task, instance.tasks) == 1,
        formula=ours(r"\sum_b \Gamma_{tb} = 1"),
    )
    for r, name in enumerate(instance.resources):
        model.add(
            f"25:{name}",
            (place * size[:, r][:, None]).sum(axis=0) - opened * capacity[:, r] <= 0,
            formula=ours(r"\sum_t \tilde T_t^r \Gamma_{tb} \le C_b^r \beta_b"),
        )
    if not size.any(axis=1).all():  # a task without demand opens its node all the same
        model.add("beta", place - opened <= 0, formula=r"\Gamma_{tb} \le \beta_b")
    if symmetry:
        alike = np.flatnonzero(groups[1:] == groups[:-1])
        if len(alike):
            model.add("order", opened[alike] - opened[alike + 1] >= 0)
    if at_least > 0:
        model.add("bound", value >= at_least)
    return model


def _groups(instance: Instance, nodes: Integers) -> Integers:
    """A number per kind of node, shape (nodes,)."""
    weight = weights(instance)[0][nodes]
    rows = np.column_stack([instance.capacity_units[nodes], weight])
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)


def _triangle(instance: Instance, size: Integers, capacity: Integers) -> Booleans:
    """With identical nodes, the k-th task in order needs only the first k nodes.

    Tasks of which no two fit together come first, so that they get a node each.
    """
    least = size[: instance.tasks].copy()
    np.minimum.at(least, instance.alternative_task, size[instance.tasks :])
    alone = (least[:, None, :] + least[None, :, :] > capacity[0]).any(axis=2)
    largest = np.argsort(-(least / np.maximum(capacity[0], 1)).max(axis=1), kind="stable")
    clique: list[int] = []
    for t in largest.tolist():
        if alone[t, clique].all():
            clique.append(t)
    order = np.concatenate([clique, [t for t in largest.tolist() if t not in set(clique)]])
    rank = np.empty(instance.tasks, dtype=np.int64)
    rank[order.astype(np.int64)] = np.arange(instance.tasks)
    column = np.arange(len(capacity))
    allowed = column[None, :] <= rank[:, None]
    in_clique = rank < len(clique)
    allowed[in_clique] = column[None, :] == rank[in_clique][:, None]
    return np.asarray(allowed[instance.option_task])


def decode_assignment(
    instance: Instance, solution: Solution, *, deployment: int | None = None, **_: Any
) -> Schedule:
    """The schedule of a point of ``assignment``."""
    i = closest(instance) if deployment is None else deployment
    option, column = np.nonzero(np.round(solution["Gamma"]))
    task = instance.option_task[option]
    node, number = (
        np.empty(instance.tasks, dtype=np.int64),
        np.zeros(instance.tasks, dtype=np.int64),
    )
    node[task] = instance.nodes_of(i)[column]
    number[task] = instance.option_number[option]
    return Schedule.build(deployment=i, node=node, option=number)


def encode_assignment(instance: Instance, schedule: Schedule) -> Mapping[str, Any]:
    """Values of ``assignment`` (without symmetry) for a schedule in one phase."""
    nodes = instance.nodes_of(schedule.deployment)
    column = np.searchsorted(nodes, schedule.node)
    place = np.zeros((len(instance.option_task), len(nodes)))
    chosen = schedule.option[instance.option_task] == instance.option_number
    option = np.flatnonzero(chosen)
    place[option, column[instance.option_task[option]]] = 1.0
    return {"Gamma": place, "beta": (place.sum(axis=0) > 0).astype(float)}


def same_deployment(
    instance: Instance, schedule: Schedule, *, deployment: int | None = None, **_: Any
) -> bool:
    """Whether a schedule uses the deployment that ``assignment`` with these options is of."""
    return schedule.deployment == (closest(instance) if deployment is None else deployment)


def packing_printed(
    instance: Instance,
    *,
    deployment: int | None = None,
    granularity: Literal["job", "task"] = "job",
    exactly_one: bool = False,
    linked: bool = False,
) -> Model:
    """(23) to (26) as printed, in which I_b is read as a variable that says the node is open.

    Nothing ties it to the assignment and no row places anything: the optimum is 0. With both
    options and tasks for items it is [AE2].

    Args:
        instance: its objective is not asked: (23) counts nodes.
        deployment: D_star; None: the closest.
        granularity: items are whole jobs, as printed, or tasks.
        exactly_one: add the row "each job in exactly one node" that the text asks for.
        linked: multiply the capacity in (25) by the variable.

    Raises:
        InputError: a granularity that is none of the two, or "job" where tasks have alternatives.
    """
    if granularity not in ("job", "task"):
        raise InputError.of("granularity", granularity, "must be one of job, task")
    i = closest(instance) if deployment is None else deployment
    whole = instance.with_jobs_as_tasks() if granularity == "job" else instance
    nodes = instance.nodes_of(i)
    size, capacity = on_one_grid(whole.option_units, whole.capacity_units[nodes])
    model = Model("(23) to (26) as printed")
    place = model.binary("Gamma", (len(size), len(nodes)), formula=r"\Gamma[J, I_i]")
    opened = model.binary("I", len(nodes), formula="I_i")
    model.minimize(opened.sum(), formula=r"\sum_{I_i \in D_{edge_\star}} I_i")
    for r, name in enumerate(instance.resources):
        load = (place * size[:, r][:, None]).sum(axis=0)
        side = opened * capacity[:, r] if linked else capacity[:, r]
        formula = r"\sum_J \Gamma[J, I_i] \tilde T^{c, m \prime} \le I_i^{c, m}"
        model.add(f"25:{name}", load - side <= 0, formula=ours(formula) if linked else formula)
    if exactly_one:
        one = place.sum(axis=1).sum_by(whole.option_task, whole.tasks) == 1
        model.add("26", one, formula=ours(r"\sum_i \Gamma[J, I_i] = 1"))
    return model


_ONE_DEPLOYMENT = "The nodes are those of one deployment, that of the option or the closest."
EQUATIONS = {
    "15": "beta", "19": "beta",
    "23": OBJECTIVE, "24": _ONE_DEPLOYMENT, "25": "25",
    "26": "26, Gamma",
}  # fmt: skip
"""Where the paper's statements are in ``assignment``: tasks are placed, each exactly once, and only
on nodes that are open."""

FORMULATIONS = (
    Formulation(
        "assignment", assignment, "[AE2]",
        "a binary per task and node, in HiGHS", decode_assignment, encode_assignment,
        admits=same_deployment, equations=EQUATIONS,
    ),
    Formulation(
        "assignment_cpsat", assignment, "[AE2]",
        "a binary per task and node, in CP-SAT", decode_assignment, encode_assignment,
        solver="cpsat", admits=same_deployment,
    ),
)  # fmt: skip
PRINTED = Formulation(
    "packing_printed", packing_printed, "(23) to (26)",
    "as printed: whole jobs, no row that places them, the optimum is 0",
    equations={"23": OBJECTIVE, "24": _ONE_DEPLOYMENT, "25": "25", "26": "Gamma"},
)  # fmt: skip
