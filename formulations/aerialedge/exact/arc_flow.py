"""Arc-flow: a node's filling as a path through a graph of loads, one item an arc."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from formulations.aerialedge.instance import Instance, Integers
from formulations.aerialedge.problem_ae1 import closest
from formulations.aerialedge.schedule import Schedule
from formulations.aerialedge.vector_packing import (
    Bin,
    VectorPacking,
    aggregate,
    to_schedule,
)
from optsched.errors import ModelError
from optsched.model import Model
from optsched.problem.methods import Formulation
from optsched.solvers.deadline import Deadline
from optsched.solvers.solution import Solution

MOST_ARCS = 400_000
"""Largest graph worth handing to a solver."""


@dataclass(frozen=True, eq=False)
class Graph:
    """Loads a node of one type can have, and the items that lead from one to the next."""

    states: int
    """State 0 is the empty node; the sink is not counted."""
    tail: Integers
    """Shape (arcs,)."""
    head: Integers
    option: Integers
    """Option each arc packs."""


def build_graph(
    packing: VectorPacking,
    node_type: int,
    *,
    most_arcs: int = MOST_ARCS,
    deadline: Deadline | None = None,
) -> Graph:
    """All loads reachable when types are packed in order of decreasing size.

    Args:
        packing: what to pack.
        node_type: whose loads.
        most_arcs: beyond which it is given up.
        deadline: after which it is given up too.

    Raises:
        ModelError: it was given up.
    """
    capacity = packing.capacity[node_type]
    order = np.argsort(-packing.shares.max(axis=1), kind="stable")
    loads = np.zeros((1, packing.resources), dtype=np.int64)
    arcs: list[tuple[Integers, Integers, int]] = []
    count = 0
    for k in order.tolist():
        if not packing.fits[k, node_type] or not packing.size[k].any():
            continue
        source = loads
        for _ in range(int(packing.number[packing.type_of_option[k]])):
            target = source + packing.size[k]
            kept = (target <= capacity).all(axis=1)
            source, target = source[kept], target[kept]
            if not len(target):
                break
            arcs.append((source, target, k))
            count += len(target)
            if count > most_arcs:
                raise ModelError(f"the arc-flow graph has more than {most_arcs} arcs")
            if deadline is not None and deadline.over():
                raise ModelError("the arc-flow graph takes longer than there is time for")
            source = target
        loads = np.unique(np.vstack([loads, *(a[1] for a in arcs if a[2] == k)]), axis=0)
    if not arcs:
        nothing = np.zeros(0, dtype=np.int64)
        return Graph(1, nothing, nothing, nothing)
    tails, heads = np.vstack([a[0] for a in arcs]), np.vstack([a[1] for a in arcs])
    options = np.repeat([a[2] for a in arcs], [len(a[0]) for a in arcs])
    rows = np.vstack([loads[:1], tails, heads])  # loads are sorted: the first is empty
    number = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    cut = 1 + len(tails)
    edges = np.unique(np.column_stack([number[1:cut], number[cut:], options]), axis=0)
    return Graph(int(number.max()) + 1, edges[:, 0], edges[:, 1], edges[:, 2])


def arc_flow(instance: Instance, *, deployment: int | None = None) -> Model:
    """Flows of nodes through the graphs of loads, one graph per node type.

    Its linear relaxation is as strong as that of [AE3].

    Raises:
        ModelError: a graph is too large: demands on no common step, or too small beside the nodes.
    """
    i = closest(instance) if deployment is None else deployment
    packing = aggregate(instance, i)
    return packing_flow(packing, build_graphs(packing))


def build_graphs(
    packing: VectorPacking, deadline: Deadline | None = None, most_arcs: int = MOST_ARCS
) -> list[Graph]:
    """The graph of each node type, with so many arcs at most together; see ``build_graph``."""
    graphs: list[Graph] = []
    for s in range(packing.node_types):
        left = most_arcs - sum(len(graph.tail) for graph in graphs)
        graphs.append(build_graph(packing, s, most_arcs=left, deadline=deadline))
    return graphs


def packing_flow(packing: VectorPacking, graphs: Sequence[Graph]) -> Model:
    """The model of ``arc_flow`` for a packing problem, given its graphs; see there."""
    model = Model("arc-flow")
    used = model.integer("z", packing.node_types, upper=packing.available.astype(float))
    model.minimize(used @ (packing.weight * packing.weight_unit))
    served: Any = 0.0
    for s, graph in enumerate(graphs):
        kinds = packing.type_of_option[graph.option]
        limit = np.minimum(packing.number[kinds], packing.available[s])
        flow = model.integer(f"x:{s}", len(graph.tail), upper=limit.astype(float), formula="x_a")
        loss = model.integer(f"loss:{s}", graph.states, upper=float(packing.available[s]))
        net = flow.sum_by(graph.head, graph.states) - flow.sum_by(graph.tail, graph.states)
        source = np.zeros(graph.states)
        source[0] = 1.0
        model.add(
            f"flow:{s}",
            net + used[np.full(graph.states, s)] * source - loss == 0,
            formula=r"\text{flow is kept}",
        )
        served = flow.sum_by(kinds, packing.task_types) + served
        weightless = _weightless(packing)
        if len(weightless):  # no arc leads anywhere with them; a node in use takes any number
            number = packing.number[packing.type_of_option[weightless]]
            light = model.integer(f"light:{s}", len(weightless), upper=number.astype(float))
            model.add(f"light:{s}", light - used[np.full(len(weightless), s)] * number <= 0)
            served = light.sum_by(packing.type_of_option[weightless], packing.task_types) + served
    model.add("demand", served >= packing.number, formula=r"\sum_{a: l} x_a \ge n_l")
    return model


def _weightless(packing: VectorPacking) -> Integers:
    """Options without any demand."""
    return np.flatnonzero(~packing.size.any(axis=1))


def decode_flow(packing: VectorPacking, graphs: Sequence[Graph], solution: Solution) -> list[Bin]:
    """Paths from the empty load, one bin each."""
    bins = []
    for s, graph in enumerate(graphs):
        flow = np.round(solution[f"x:{s}"]).astype(np.int64)
        leaving: dict[int, list[int]] = {}
        for arc in np.flatnonzero(flow).tolist():
            leaving.setdefault(int(graph.tail[arc]), []).extend([arc] * int(flow[arc]))
        loss = np.round(solution[f"loss:{s}"]).astype(np.int64)
        light: list[int] = []
        if f"light:{s}" in solution.values:
            times = np.round(solution[f"light:{s}"]).astype(np.int64)
            light = np.repeat(_weightless(packing), times).tolist()
        for _ in range(round(float(solution["z"][s]))):
            state, options = 0, []
            while leaving.get(state) and (state == 0 or loss[state] == 0):
                arc = leaving[state].pop()
                options.append(int(graph.option[arc]))
                state = int(graph.head[arc])
            loss[state] -= 1
            options += light
            light = []
            if options:
                bins.append(Bin(s, tuple(sorted(options))))
    return bins


def decode_arc_flow(
    instance: Instance, solution: Solution, *, deployment: int | None = None
) -> Schedule:
    """The schedule of a point of ``arc_flow``."""
    i = closest(instance) if deployment is None else deployment
    packing = aggregate(instance, i)
    return to_schedule(instance, packing, decode_flow(packing, build_graphs(packing), solution), i)


ARC_FLOW = Formulation(
    "arc_flow", arc_flow, "after [AE3]",
    "flows through the graph of loads; for demands on a common step", decode_arc_flow,
)  # fmt: skip
