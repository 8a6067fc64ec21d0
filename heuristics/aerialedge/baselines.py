"""The policies AerialEdge is compared with, simplified to orders, batches and rules."""

from __future__ import annotations

import numpy as np

from formulations.aerialedge.check import cost
from formulations.aerialedge.instance import Booleans, Floats, Instance, Integers
from formulations.aerialedge.problem_ae1 import closest_feasible
from formulations.aerialedge.schedule import NOWHERE, Schedule
from heuristics.aerialedge import placement
from heuristics.aerialedge.cluster import Cluster, shares
from heuristics.aerialedge.policy import (
    GRAPHENE_ROUNDING,
    BatchPolicy,
    in_index_order,
    place_batches,
    whole,
)

TROUBLESOME = 60.0
"""Percentile of the score from which on Graphene takes a task for troublesome."""


def bottom_level(instance: Instance) -> Floats:
    """Longest path from the start of each task to an exit, shape (tasks,), seconds."""
    level = instance.exec_time.copy()
    for t in instance.topological_order[::-1].tolist():
        after = instance.children[t]
        if len(after):
            level[t] += level[after].max()
    return level


def _related(instance: Instance, seeds: Booleans, *, upwards: bool) -> Booleans:
    """Ancestors (or descendants) of some tasks; a seed counts only if it is one of another's."""
    found = np.zeros(instance.tasks, dtype=bool)
    order = instance.topological_order
    for t in (order[::-1] if upwards else order).tolist():
        near = instance.children[t] if upwards else instance.parents[t]
        found[t] = bool((found[near] | seeds[near]).any())
    return found


def troublesome(instance: Instance, deployment: int) -> Booleans:
    """Tasks that are long or large, and all on paths between two of them, shape (tasks,)."""
    longest = max(float(instance.exec_time.max()), 1e-12)
    score = np.maximum(instance.exec_time / longest, shares(instance, deployment))
    chosen = score >= np.percentile(score, TROUBLESOME)
    above = _related(instance, chosen, upwards=True)
    below = _related(instance, chosen, upwards=False)
    return np.asarray(chosen | (above & below))


def graphene_parts(instance: Instance, deployment: int) -> list[Integers]:
    """Troublesome tasks, then their ancestors, their descendants, and the others."""
    first = troublesome(instance, deployment)
    above = _related(instance, first, upwards=True) & ~first
    below = _related(instance, first, upwards=False) & ~first & ~above
    parts = (first, above, below, ~(first | above | below))
    return [np.flatnonzero(part) for part in parts if part.any()]


def _critical_first(instance: Instance, deployment: int) -> Integers:
    return np.argsort(-bottom_level(instance), kind="stable")


def _large_first(instance: Instance, deployment: int) -> Integers:
    return np.argsort(-shares(instance, deployment), kind="stable")


def _heavy_first(instance: Instance, deployment: int) -> Integers:
    """By decreasing sum of the shares that the tasks' own demands take of the largest node."""
    largest = np.maximum(instance.capacity_units[instance.nodes_of(deployment)].max(axis=0), 1)
    share = instance.option_units[: instance.tasks] / largest
    return np.argsort(-share.sum(axis=1), kind="stable")


TETRIS = BatchPolicy("tetris", whole(in_index_order), placement.alignment, 0.5)
GRAPHENE = BatchPolicy("graphene", graphene_parts, placement.first_fit, 0.4, GRAPHENE_ROUNDING)
SPEAR = BatchPolicy("spear", whole(_critical_first), placement.first_fit, 0.15)
NEXT_FIT = BatchPolicy("next_fit", whole(in_index_order), placement.next_fit)
FIRST_FIT = BatchPolicy("first_fit", whole(in_index_order), placement.first_fit)
FIRST_FIT_DECREASING = BatchPolicy("first_fit_decreasing", whole(_large_first), placement.first_fit)
ORDERS = (
    FIRST_FIT_DECREASING,
    BatchPolicy("heavy_first", whole(_heavy_first), placement.first_fit),
    BatchPolicy("alignment", whole(_large_first), placement.alignment),
)
"""Ways to place all tasks at once, of which ``best_order`` takes the best."""

POLICIES = {
    policy.name: policy
    for policy in (TETRIS, GRAPHENE, SPEAR, NEXT_FIT, FIRST_FIT, FIRST_FIT_DECREASING)
}
"""Everything but Random, which fills nodes differently."""


def tetris(
    instance: Instance, rng: np.random.Generator, *, share_nodes_across_batches: bool = False
) -> Schedule:
    """Half of the tasks at a time, each node filled by alignment; ``rng`` is never drawn from."""
    return place_batches(instance, TETRIS, share_nodes_across_batches=share_nodes_across_batches)


def graphene(
    instance: Instance, rng: np.random.Generator, *, share_nodes_across_batches: bool = False
) -> Schedule:
    """Troublesome tasks first, some 40 % at a time, first-fit; ``rng`` is never drawn from."""
    return place_batches(instance, GRAPHENE, share_nodes_across_batches=share_nodes_across_batches)


def spear(
    instance: Instance, rng: np.random.Generator, *, share_nodes_across_batches: bool = False
) -> Schedule:
    """Critical path first, some 15 % at a time, first-fit; ``rng`` is never drawn from."""
    return place_batches(instance, SPEAR, share_nodes_across_batches=share_nodes_across_batches)


def next_fit(instance: Instance, rng: np.random.Generator) -> Schedule:
    """FFBP as the paper describes it; ``rng`` is never drawn from."""
    return place_batches(instance, NEXT_FIT)


def first_fit(instance: Instance, rng: np.random.Generator) -> Schedule:
    """FFBP as its name says; ``rng`` is never drawn from."""
    return place_batches(instance, FIRST_FIT)


def first_fit_decreasing(instance: Instance, rng: np.random.Generator) -> Schedule:
    """Tasks by decreasing largest share of a node, first-fit; ``rng`` is never drawn from."""
    return place_batches(instance, FIRST_FIT_DECREASING)


def best_order(instance: Instance, rng: np.random.Generator) -> Schedule:
    """BestOrder, beyond the paper: the cheapest of ``ORDERS``; ``rng`` is never drawn from.

    What is lost on worst instances of Tetris is nodes that the second half may not share, and
    small tasks that took the room of large ones: here all tasks are placed at once, large ones
    first, by largest share, by sum of shares, and by alignment.
    """
    return min((place_batches(instance, p) for p in ORDERS), key=lambda made: cost(instance, made))


def random_queued(instance: Instance, rng: np.random.Generator) -> Schedule:
    """Place each task on an empty node drawn at random; what finds none waits for a later phase."""
    return _one_per_node(instance, rng, queue=True)


def random_at_once(instance: Instance, rng: np.random.Generator) -> Schedule:
    """Place each task on an empty node drawn at random; what finds none is left out."""
    return _one_per_node(instance, rng, queue=False)


def _one_per_node(instance: Instance, rng: np.random.Generator, *, queue: bool) -> Schedule:
    i = closest_feasible(instance)
    cluster = Cluster(instance, i)
    n = instance.tasks
    node, option = np.full(n, NOWHERE), np.zeros(n, dtype=np.int64)
    phase = np.zeros(n, dtype=np.int64)
    now = 0
    for task in range(n):
        found = _drawn(cluster, task, rng)
        if found is None and queue and not cluster.empty.all():
            now += 1
            cluster.clear()
            found = _drawn(cluster, task, rng)
        if found is not None:
            cluster.put(*found)
            node[task], option[task] = cluster.nodes[found[1]], cluster.number[found[0]]
            phase[task] = now
    return Schedule.build(
        deployment=i, node=node, option=option, batch=np.arange(n), phase=phase, partial=not queue
    )


def _drawn(cluster: Cluster, task: int, rng: np.random.Generator) -> tuple[int, int] | None:
    for option in cluster.ways[task]:
        fits = np.flatnonzero(
            cluster.empty & (cluster.size[option] <= cluster.capacity).all(axis=1)
        )
        if len(fits):
            return option, int(rng.choice(fits))
    return None
