"""Small instances, and their optimum by enumeration."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from formulations.aerialedge.instance import Instance
from formulations.aerialedge.vector_packing import weights

E7 = (10.0, 20.0, 30.0, 40.0, 50.0)
EDGES7 = [(0, 1), (0, 2), (1, 2), (3, 4)]


def worked_example() -> Instance:
    """Examples 7.1 and 7.3."""
    return Instance.build(
        demand=[[1, 1], [0.5, 2], [1, 1], [0.5, 0.5], [1, 0.5]],
        capacity=[[2, 3]] * 4,
        exec_time=E7,
        edges=EDGES7,
    )


@st.composite
def instances(
    draw: st.DrawFn,
    *,
    most_tasks: int = 6,
    alternatives: bool = True,
    resources: tuple[int, int] = (1, 3),
) -> Instance:
    """Few tasks with demands on a coarse grid, few nodes of one to three kinds."""
    width = draw(st.integers(*resources))
    tasks = draw(st.integers(1, most_tasks))
    amount = st.integers(0, 6).map(lambda k: k / 2)
    demand = [[draw(amount) for _ in range(width)] for _ in range(tasks)]
    kinds = [
        [draw(st.sampled_from([0, *range(2, 9)])) / 2 for _ in range(width)]
        for _ in range(draw(st.integers(1, 3)))
    ]
    capacity = [k for k in kinds for _ in range(draw(st.integers(1, 3)))]
    other = []
    if alternatives and draw(st.booleans()):
        other = sorted(draw(st.lists(st.integers(0, tasks - 1), max_size=3)))
    return Instance.build(
        demand=demand,
        capacity=capacity,
        node_cost=[float(draw(st.integers(1, 4))) for _ in capacity],
        alternative_task=other,
        alternative_demand=np.array([[draw(amount) for _ in range(width)] for _ in other]).reshape(
            -1, width
        ),
        objective=draw(st.sampled_from(["count", "capacity", "lex", "cost"])),
        flight_time=1e9,
    )


def enumerated_optimum(instance: Instance) -> float | None:
    """Least weight over all assignments of tasks to nodes; None where nothing fits."""
    weight, unit = weights(instance)
    ways = [np.flatnonzero(instance.option_task == t) for t in range(instance.tasks)]
    free = instance.capacity_units.copy()
    used = np.zeros(instance.nodes, dtype=int)
    best: list[int | None] = [None]

    def assign(t: int, cost: int) -> None:
        if best[0] is not None and cost >= best[0]:
            return
        if t == instance.tasks:
            best[0] = cost
            return
        for b in range(instance.nodes):
            for k in ways[t]:
                size = instance.option_units[k]
                if (free[b] >= size).all():
                    free[b] -= size
                    used[b] += 1
                    assign(t + 1, cost + (int(weight[b]) if used[b] == 1 else 0))
                    used[b] -= 1
                    free[b] += size

    assign(0, 0)
    return None if best[0] is None else best[0] * unit
