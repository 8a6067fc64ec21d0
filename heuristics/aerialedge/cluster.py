"""The nodes of one deployment while a policy fills them."""

from __future__ import annotations

import numpy as np

from formulations.aerialedge.instance import Booleans, Floats, Instance


class Cluster:
    """Free space per node, in whole units; placements of the current phase."""

    def __init__(self, instance: Instance, deployment: int) -> None:
        self.nodes = instance.nodes_of(deployment)
        self.capacity = instance.capacity_units[self.nodes]
        self.size = instance.option_units
        order = np.argsort(instance.option_task, kind="stable")
        cut = np.searchsorted(instance.option_task[order], np.arange(1, instance.tasks))
        self.ways = [part.tolist() for part in np.split(order, cut)]
        """Ways to serve each task, its own demand first."""
        self.number = instance.option_number
        self.free = self.capacity.copy()
        self.empty = np.ones(len(self.nodes), dtype=bool)

    def clear(self) -> None:
        """All reservations end."""
        self.free = self.capacity.copy()
        self.empty[:] = True

    def put(self, option: int, place: int) -> None:
        """Reserve."""
        self.free[place] -= self.size[option]
        self.empty[place] = False

    def first_fit(self, task: int, allowed: Booleans) -> tuple[int, int] | None:
        """(option, place) on the first node allowed with room for the task."""
        for option in self.ways[task]:
            room = allowed & (self.free >= self.size[option]).all(axis=1)
            place = int(np.argmax(room))
            if room[place]:
                return option, place
        return None


def shares(instance: Instance, deployment: int) -> Floats:
    """max_r T^r / C^r of each task over the largest node, the least among its alternatives."""
    largest = np.maximum(instance.capacity_units[instance.nodes_of(deployment)].max(axis=0), 1)
    share = (instance.option_units / largest).max(axis=1)
    least = np.array(share[: instance.tasks])
    np.minimum.at(least, instance.alternative_task, share[instance.tasks :])
    return least
