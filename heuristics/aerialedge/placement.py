"""How a batch of tasks is put on nodes: first-fit, next-fit, and Tetris's alignment.

A rule places what it can and returns the tasks it found no room for, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from formulations.aerialedge.instance import Booleans
from heuristics.aerialedge.cluster import Cluster

Placed: TypeAlias = dict[int, tuple[int, int]]
"""Task to (option, place)."""

Rule: TypeAlias = Callable[[Cluster, Sequence[int], Booleans, Placed], list[int]]
"""(cluster, tasks in order, places allowed, what is placed so far) -> tasks without room."""


def first_fit(
    cluster: Cluster, tasks: Sequence[int], allowed: Booleans, placed: Placed
) -> list[int]:
    """Each task on the first node with room."""
    left = []
    for task in tasks:
        found = cluster.first_fit(task, allowed)
        if found is None:
            left.append(task)
        else:
            cluster.put(*found)
            placed[task] = found
    return left


def next_fit(
    cluster: Cluster, tasks: Sequence[int], allowed: Booleans, placed: Placed
) -> list[int]:
    """The next task on the current node, else on the next one; never back."""
    current = 0
    for number, task in enumerate(tasks):
        onward = allowed.copy()
        onward[:current] = False
        found = cluster.first_fit(task, onward)
        if found is None:
            return list(tasks[number:])
        current = found[1]
        cluster.put(*found)
        placed[task] = found
    return []


def alignment(
    cluster: Cluster, tasks: Sequence[int], allowed: Booleans, placed: Placed
) -> list[int]:
    """Tetris: one node after the other, the task of largest alignment with its free space.

    The alignment of a way to serve a task is the sum over resources of demand times free space,
    each as a share of the node's capacity; ties go to the task that comes first.
    """
    owner = np.array([t for t in tasks for _ in cluster.ways[t]], dtype=np.int64)
    option = np.array([k for t in tasks for k in cluster.ways[t]], dtype=np.int64)
    size = cluster.size[option]
    for place in np.flatnonzero(allowed).tolist():
        if not len(owner):
            break
        scale = np.maximum(cluster.capacity[place], 1)
        share = size / scale
        waiting = (size <= cluster.free[place]).all(axis=1)
        while waiting.any():
            score = np.where(waiting, share @ (cluster.free[place] / scale), -1.0)
            best = int(np.argmax(score >= score.max() - 1e-12))
            task = int(owner[best])
            cluster.put(int(option[best]), place)
            placed[task] = int(option[best]), place
            waiting &= (owner != task) & (size <= cluster.free[place]).all(axis=1)
        keep = ~np.isin(owner, list(placed))
        owner, option, size = owner[keep], option[keep], size[keep]
    return [t for t in tasks if t not in placed]
