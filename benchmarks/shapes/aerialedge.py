"""Small packing problems of kinds that the generators of the package do not draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from formulations.aerialedge.instance import Instance, Objective

OTHER_OPTIMA = {"dispatch", "packing_printed"}
"""Models with another optimum: of the deployments alone, and of the printed rows."""


@dataclass(frozen=True)
class Kind:
    """What a shape says of its problems; ranges include their ends."""

    tasks: tuple[int, int] = (12, 24)
    resources: int = 2
    size: tuple[int, int] = (10, 60)
    """Demand of a task, of each resource."""
    opposed: bool = False
    """Whether a task that asks for much of one resource asks for little of the next."""
    kinds: int = 0
    """Sizes that tasks have; 0: each its own."""
    node: tuple[int, int] = (100, 100)
    """Capacity of a node, of each resource."""
    tight: int | None = None
    """The resource of which nodes have half as much."""
    large: int = 0
    """Tasks that take a node for themselves."""
    nodes: int | None = None
    """Nodes there are; None: one for each task."""
    alternatives: bool = False
    """Whether each third task may be served in another way."""
    objective: Objective = "count"

    def draw(self, rng: Generator) -> Instance:
        """Draw a problem."""
        tasks = int(rng.integers(*self.tasks, endpoint=True))
        rows = self.kinds or tasks
        size = rng.integers(*self.size, (rows, self.resources), endpoint=True)
        if self.opposed:
            size[:, 1:] = sum(self.size) - size[:, :1]
        size = size[rng.integers(0, rows, tasks)] if self.kinds else size
        size[: self.large] = self.node[0]
        capacity = rng.integers(*self.node, (self.nodes or tasks, self.resources), endpoint=True)
        if self.tight is not None:
            capacity[:, self.tight] //= 2
            size[:, self.tight] = np.minimum(size[:, self.tight], self.node[0] // 2)
        other = np.arange(0, tasks, 3) if self.alternatives else np.arange(0)
        return Instance.build(
            demand=size,
            capacity=capacity,
            alternative_task=other,
            alternative_demand=size[other][:, ::-1],
            node_cost=capacity.sum(axis=1) // 10,
            flight_time=1e6,
            objective=self.objective,
        )


SHAPES: dict[str, Callable[[Generator], Instance]] = {
    "ties": Kind(size=(1, 5), node=(10, 10)).draw,
    "triples": Kind(tasks=(18, 30), resources=1, size=(25, 50)).draw,
    "one resource": Kind(tasks=(20, 40), resources=1, size=(5, 70)).draw,
    "five resources": Kind(resources=5, size=(5, 50)).draw,
    "one resource tight": Kind(tight=1).draw,
    "opposed demands": Kind(size=(5, 95), opposed=True).draw,
    "identical tasks": Kind(tasks=(20, 60), kinds=1).draw,
    "three kinds": Kind(tasks=(20, 60), kinds=3).draw,
    "many small and few large": Kind(tasks=(30, 50), size=(1, 15), large=3).draw,
    "few nodes": Kind(tasks=(8, 14), size=(5, 40), nodes=6).draw,
    "unlike nodes": Kind(node=(70, 200), objective="capacity").draw,
    "dear nodes": Kind(node=(70, 200), objective="cost").draw,
    "count then capacity": Kind(node=(70, 200), objective="lex").draw,
    "alternatives": Kind(size=(5, 60), alternatives=True).draw,
}
"""Kinds of problems by name."""
