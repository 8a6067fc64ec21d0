"""Spear with a tree search in the place of its lists: which ready task next, by random rollouts.

The original guides its search by a learned policy; here rollouts are random, so the result stands
for the search alone.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from pydantic import PositiveInt

from formulations.aerialedge.instance import Instance, Integers
from formulations.aerialedge.problem_ae1 import closest_feasible
from formulations.aerialedge.schedule import Schedule
from heuristics.aerialedge.baselines import SPEAR, bottom_level
from heuristics.aerialedge.cluster import Cluster
from heuristics.aerialedge.policy import place_batches, whole
from optsched.errors import InputError


class _Run:
    """A cluster on which tasks start one by one; a task without room waits for the next end."""

    def __init__(self, instance: Instance, deployment: int) -> None:
        self.instance, self.cluster = instance, Cluster(instance, deployment)
        self.waits_for = np.bincount(instance.edge_child, minlength=instance.tasks)
        self.ready = set(np.flatnonzero(self.waits_for == 0).tolist())
        self.running: list[tuple[float, int, int, int]] = []
        self.now = 0.0
        self.everywhere = np.ones(len(self.cluster.nodes), dtype=bool)

    def start(self, task: int) -> None:
        """Start a ready task, after as many ends as it takes to have room."""
        found = self.cluster.first_fit(task, self.everywhere)
        while found is None and self.running:
            self._advance()
            found = self.cluster.first_fit(task, self.everywhere)
        self.ready.discard(task)
        if found is None:
            return  # it fits no node at all
        self.cluster.put(*found)
        end = self.now + float(self.instance.exec_time[task])
        heapq.heappush(self.running, (end, task, *found))

    def choices(self) -> list[int]:
        """Tasks that may start next; time goes on until there is one, or nothing runs."""
        while not self.ready and self.running:
            self._advance()
        return sorted(self.ready)

    def finish(self) -> float:
        """When the last task ends, seconds."""
        while self.running:
            self._advance()
        return self.now

    def _advance(self) -> None:
        self.now, task, option, place = heapq.heappop(self.running)
        self.cluster.free[place] += self.cluster.size[option]
        for child in self.instance.children[task].tolist():
            self.waits_for[child] -= 1
            if not self.waits_for[child]:
                self.ready.add(child)


@dataclass
class _Node:
    visits: int = 0
    best: float = math.inf
    """Least makespan seen below, seconds."""
    children: dict[int, _Node] = field(default_factory=dict)


def search_order(
    instance: Instance,
    deployment: int,
    rng: np.random.Generator,
    *,
    budget: int = 64,
    least: int = 4,
) -> Integers:
    """Order of starts with the least makespan a tree search finds, shape (tasks,).

    Before each start, budget / depth rollouts (at least so many) are spent on the next task, which
    is then fixed. Choices are tried by UCB on the best makespan below them. The order by bottom
    level is tried as well, so that the result is never worse than it.

    Args:
        instance: tasks, dependencies and execution times.
        deployment: whose nodes to use.
        rng: for the rollouts.
        budget: rollouts before the first start.
        least: rollouts before any start.
    """
    levels = bottom_level(instance)
    fixed: list[int] = []
    root = _Node()
    start = _play(instance, deployment, [], lambda ready: max(ready, key=lambda t: levels[t]))
    best_order, best = start
    scale = max(best, 1e-12)
    while len(fixed) < instance.tasks:
        for _ in range(max(least, budget // (1 + len(fixed)))):
            order, makespan = _rollout(instance, deployment, fixed, root, rng, scale)
            if makespan < best:
                best_order, best = order, makespan
        if not root.children:
            break
        chosen = min(root.children, key=lambda t: (root.children[t].best, t))
        fixed.append(chosen)
        root = root.children[chosen]
    return np.array(best_order, dtype=np.int64)


def _play(
    instance: Instance,
    deployment: int,
    prefix: list[int],
    choose: Callable[[list[int]], int],
) -> tuple[list[int], float]:
    """Start the tasks of a prefix, then whatever is chosen; the order and its makespan."""
    run = _Run(instance, deployment)
    order: list[int] = []
    while ready := run.choices():
        task = prefix[len(order)] if len(order) < len(prefix) else choose(ready)
        run.start(task)
        order.append(task)
    return order, run.finish()


def _rollout(
    instance: Instance,
    deployment: int,
    fixed: list[int],
    root: _Node,
    rng: np.random.Generator,
    scale: float,
) -> tuple[list[int], float]:
    """Down the tree by UCB, one new node, then at random; the makespan goes up to the root."""
    path = [root]
    inside = True

    def choose(ready: list[int]) -> int:
        nonlocal inside
        if not inside:
            return int(rng.choice(ready))
        node = path[-1]
        fresh = [t for t in ready if t not in node.children]
        if fresh:
            task = int(rng.choice(fresh))
            inside = False
        else:
            log = math.log(node.visits + 1)
            task = min(
                ready,
                key=lambda t: (
                    node.children[t].best / scale - math.sqrt(2 * log / node.children[t].visits)
                ),
            )
        path.append(node.children.setdefault(task, _Node()))
        return task

    order, makespan = _play(instance, deployment, fixed, choose)
    for node in path:
        node.visits += 1
        node.best = min(node.best, makespan)
    return order, makespan


def spear_mcts(
    instance: Instance,
    rng: np.random.Generator,
    *,
    budget: PositiveInt = 64,
    share_nodes_across_batches: bool = False,
) -> Schedule:
    """Spear's batches in the order a tree search finds.

    Args:
        instance: what is to be placed.
        rng: for the rollouts.
        budget: rollouts before the first decision; it falls with the depth.
        share_nodes_across_batches: whether a batch may use nodes that earlier ones opened.

    Raises:
        InputError: a budget below one.
    """
    if budget < 1:
        raise InputError.of("budget", budget, "an integer >= 1")
    i = closest_feasible(instance)
    order = search_order(instance, i, rng, budget=budget)
    searched = replace(SPEAR, name="spear_mcts", parts=whole(lambda *_: order))
    return place_batches(
        instance, searched, deployment=i, share_nodes_across_batches=share_nodes_across_batches
    )
