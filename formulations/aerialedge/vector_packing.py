"""Variable-sized vector bin packing with counts, the combinatorial core of [AE2] and [AE3].

Tasks with the same demands are one task type, nodes with the same capacities and weight one node
type. All numbers are whole, divided by their greatest common divisor: what a bound exceeds by a
fraction may be rounded up to the next whole weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from formulations.aerialedge.instance import UNIT, Booleans, Floats, Instance, Integers
from formulations.aerialedge.schedule import NOWHERE, Schedule
from formulations.common.amounts import on_one_grid
from optsched.errors import InputError


@dataclass(frozen=True, eq=False)
class VectorPacking:
    """Pack every item; minimise the weight of the nodes used."""

    size: Integers
    """T_l^r of each option, shape (options, resources)."""
    type_of_option: Integers
    """Task type of each option, ascending, shape (options,); a type with one option has one way
    to be served."""
    number: Integers
    """n_l, shape (task types,)."""
    capacity: Integers
    """C_s^r, shape (node types, resources)."""
    available: Integers
    """N_s, shape (node types,)."""
    weight: Integers
    """omega_s in whole units of ``weight_unit``, shape (node types,)."""
    weight_unit: float
    """Objective value of one unit of weight."""
    tasks: tuple[Integers, ...]
    """Tasks of each type."""
    nodes: tuple[Integers, ...]
    """Nodes of each type."""

    @property
    def task_types(self) -> int:
        """Number of task types."""
        return len(self.number)

    @property
    def node_types(self) -> int:
        """Number of node types."""
        return len(self.weight)

    @property
    def resources(self) -> int:
        """Number of resources."""
        return int(self.size.shape[1])

    @property
    def one_way(self) -> bool:
        """Whether every task is served in one way only."""
        return len(self.size) == self.task_types

    @property
    def items(self) -> int:
        """Items in all."""
        return int(self.number.sum())

    @cached_property
    def fits(self) -> Booleans:
        """Whether an option fits an empty node, shape (options, node types)."""
        return np.asarray((self.size[:, None, :] <= self.capacity[None, :, :]).all(axis=2))

    @cached_property
    def least_size(self) -> Integers:
        """Least demand for each resource over the options of a type, shape (types, resources)."""
        first = np.searchsorted(self.type_of_option, np.arange(self.task_types))
        return np.minimum.reduceat(self.size, first, axis=0)

    @cached_property
    def stranded(self) -> Integers:
        """Task types none of whose options fits any node."""
        fits = self.fits.any(axis=1)
        some = np.zeros(self.task_types, dtype=bool)
        some[self.type_of_option[fits]] = True
        return np.flatnonzero(~some)

    @cached_property
    def shares(self) -> Floats:
        """Demand over the largest capacity of each resource, shape (options, resources)."""
        return np.asarray(self.size / np.maximum(self.capacity.max(axis=0), 1))


@dataclass(frozen=True)
class Bin:
    """One node in use: how often each option is packed into it."""

    node_type: int
    options: tuple[int, ...]
    """One entry per item, ascending."""


def weights(instance: Instance) -> tuple[Integers, float]:
    """omega_b of every node as whole numbers, and the objective value of one of them.

    Under "lex" a node weighs 1 + C_b^c / (1 + sum C^c), so that the count decides first. Under
    "cost" six digits after the leading one of the largest cost count, and millionths in any case.
    """
    cores = instance.capacity_units[:, 0]
    if instance.objective == "count":
        return np.ones(instance.nodes, dtype=np.int64), 1.0
    if instance.objective == "lex":
        step = max(int(np.gcd.reduce(cores)), 1)
        shares = cores // step
        base = 1 + int(shares.sum())
        return base + shares, 1.0 / base
    unit, whole = UNIT, cores
    if instance.objective == "cost":
        unit *= min(1.0, _power_of_ten(float(instance.node_cost.max())))
        whole = np.rint(instance.node_cost / unit).astype(np.int64)
    step = max(int(np.gcd.reduce(whole)), 1)
    return whole // step, step * unit


def _power_of_ten(amount: float) -> float:
    """The largest power of ten up to an amount; 1 for nothing."""
    return 10.0 ** math.floor(math.log10(amount)) if amount > 0 else 1.0


def aggregate(instance: Instance, deployment: int) -> VectorPacking:
    """The packing problem of all tasks on the nodes of one deployment.

    Raises:
        InputError: no such deployment.
    """
    if not 0 <= deployment < instance.deployments:
        allowed = f"an index in 0..{instance.deployments - 1}"
        raise InputError.of("deployment", deployment, allowed)
    mine = instance.nodes_of(deployment)
    weight, unit = weights(instance)
    size, capacity = on_one_grid(instance.option_units, instance.capacity_units[mine])
    kinds, of_node = np.unique(
        np.column_stack([capacity, weight[mine]]), axis=0, return_inverse=True
    )
    of_node = of_node.reshape(-1)
    options, type_of_option, of_task = _task_types(instance, size)
    types = int(of_task.max()) + 1
    return VectorPacking(
        size=options,
        type_of_option=type_of_option,
        number=np.bincount(of_task, minlength=types),
        capacity=kinds[:, :-1],
        available=np.bincount(of_node, minlength=len(kinds)),
        weight=kinds[:, -1],
        weight_unit=unit,
        tasks=tuple(np.flatnonzero(of_task == k) for k in range(types)),
        nodes=tuple(mine[of_node == s] for s in range(len(kinds))),
    )


def _task_types(instance: Instance, size: Integers) -> tuple[Integers, Integers, Integers]:
    """Options of every type, their type, and the type of every task."""
    n = instance.tasks
    if not len(instance.alternative_task):
        options, of_task = np.unique(size, axis=0, return_inverse=True)
        return options, np.arange(len(options)), of_task.reshape(-1)
    order = np.lexsort((instance.option_number, instance.option_task))
    rows = np.split(size[order], np.flatnonzero(np.diff(instance.option_task[order])) + 1)
    keys: dict[bytes, int] = {}
    of_task = np.array([keys.setdefault(row.tobytes(), len(keys)) for row in rows])
    first = [rows[int(np.argmax(of_task == k))] for k in range(len(keys))]
    owner = np.repeat(np.arange(len(keys)), [len(row) for row in first])
    return np.concatenate(first), owner, of_task[:n]


def to_schedule(
    instance: Instance, packing: VectorPacking, bins: list[Bin], deployment: int
) -> Schedule:
    """Name the tasks and the nodes of a packing.

    Items beyond the number of a type are dropped: a packing may cover more than it must.
    """
    node = np.full(instance.tasks, NOWHERE)
    option = np.zeros(instance.tasks, dtype=np.int64)
    left = [list(tasks) for tasks in packing.tasks]
    free = [list(nodes) for nodes in packing.nodes]
    first = np.searchsorted(packing.type_of_option, np.arange(packing.task_types))
    for bin_ in bins:
        served = [k for k in bin_.options if left[packing.type_of_option[k]]]
        if not served:
            continue
        b = free[bin_.node_type].pop(0)
        for k in served:
            kind = int(packing.type_of_option[k])
            if left[kind]:
                task = left[kind].pop(0)
                node[task], option[task] = b, k - first[kind]
    return Schedule.build(node=node, option=option, deployment=deployment)


def to_bins(instance: Instance, packing: VectorPacking, schedule: Schedule) -> list[Bin]:
    """The bins of a schedule whose tasks are all placed in one phase."""
    type_of_task = np.zeros(instance.tasks, dtype=np.int64)
    for kind, tasks in enumerate(packing.tasks):
        type_of_task[tasks] = kind
    first = np.searchsorted(packing.type_of_option, np.arange(packing.task_types))
    type_of_node = {int(b): s for s, nodes in enumerate(packing.nodes) for b in nodes}
    chosen = first[type_of_task] + schedule.option
    return [
        Bin(type_of_node[int(b)], tuple(sorted(chosen[schedule.node == b].tolist())))
        for b in schedule.opened
    ]


def total_weight(packing: VectorPacking, bins: list[Bin]) -> int:
    """Weight of the nodes used, in whole units."""
    return int(sum(int(packing.weight[b.node_type]) for b in bins))
