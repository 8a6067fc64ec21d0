"""Models of which a little changes from step to step: a rolling horizon and a loop of cuts.

- ``horizon``: production on machines over slots, with stock and backlog. As time moves on, what
  the last slot made is fixed, and some demands and a machine's room turn out different.
- ``cuts``: the subtour relaxation of a travelling salesman. Each round adds the cuts found.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components, maximum_flow

from optsched import Model, Solution, solve
from optsched.session import Session

Index = np.ndarray
SIZE, ROUNDS = 40, 10
"""Products or cities, and steps."""


class Step(NamedTuple):
    """A step, which may be taken any number of times."""

    model: Callable[[], Model]
    """The model as it is then."""
    edit: Callable[[Session], None]
    """Changes the model of the step before to it."""


def recorded(sort: str) -> list[Step]:
    """All steps, each as it follows from the optimum of the one before."""
    coming = SORTS[sort](np.random.default_rng(0))
    steps = [next(coming)]
    while True:
        try:
            steps.append(coming.send(solve(steps[-1].model(), profile="tiny")))
        except StopIteration:
            return steps


def rebuilt(steps: list[Step]) -> Index:
    """The optima, each of a model that is built anew."""
    return np.array([solve(step.model(), profile="tiny").objective for step in steps])


def edited(steps: list[Step]) -> Index:
    """The optima, by edits of one model."""
    session = Session(steps[0].model())
    optima = [session.solve().objective]
    for step in steps[1:]:
        step.edit(session)
        optima.append(session.solve().objective)
    return np.array(optima)


def horizon(rng: np.random.Generator) -> Generator[Step, Solution, None]:
    products, machines, slots = SIZE, 4, ROUNDS + 20
    shape = products, slots
    demand = rng.uniform(0.0, 2.0, shape) * (rng.random(shape) < 0.6)
    takes = rng.uniform(0.5, 1.5, (machines, products)) * (rng.random((machines, products)) < 0.5)
    room = np.tile(takes.sum(axis=1)[:, None] * 0.65, slots)
    cost = rng.uniform(1.0, 3.0, shape)
    lower, upper = np.zeros(shape), np.full(shape, 4.0)

    def step(lower: Index, upper: Index, demand: Index, room: Index) -> Step:
        def model() -> Model:
            m = Model("horizon")
            make = m.continuous("make", shape, lower=lower, upper=upper)
            hold, owe = m.continuous("hold", shape), m.continuous("owe", shape)
            m.minimize((make * cost).sum() + 0.2 * hold.sum() + 5.0 * owe.sum())
            stock = hold - owe
            m.add("first", make[:, 0] - stock[:, 0] == demand[:, 0])
            m.add("balance", make[:, 1:] + stock[:, :-1] - stock[:, 1:] == demand[:, 1:])
            m.add("room", takes @ make <= room)
            return m

        def edit(session: Session) -> None:
            rhs = {"first": demand[:, 0], "balance": demand[:, 1:], "room": room}
            session.update(lower={"make": lower}, upper={"make": upper}, rhs=rhs)

        return Step(model, edit)

    for now in range(ROUNDS):
        solution = yield step(lower.copy(), upper.copy(), demand.copy(), room.copy())
        lower[:, now] = upper[:, now] = np.clip(solution["make"][:, now], 0.0, 4.0)
        some = rng.random(products) < 0.1
        demand[some, now + 1] *= rng.uniform(0.8, 1.2, int(some.sum()))
        room[rng.integers(machines), now + 1] *= rng.uniform(0.9, 1.1)


def cuts(rng: np.random.Generator) -> Generator[Step, Solution, None]:
    size = SIZE
    place = rng.random((size, 2))
    one, other = np.triu_indices(size, 1)
    length = np.hypot(*(place[one] - place[other]).T)
    degree = sp.csr_array(
        (np.ones(2 * len(one)), (np.r_[one, other], np.tile(np.arange(len(one)), 2))),
        shape=(size, len(one)),
    )

    def step(added: list[sp.csr_array]) -> Step:
        def model() -> Model:
            m = Model("tour")
            x = m.continuous("x", len(one), upper=1)
            m.minimize(length @ x)
            m.add("degree", degree @ x == 2)
            for number, cut in enumerate(added):
                m.add(f"cut {number}", cut @ x >= 2)
            return m

        def edit(session: Session) -> None:
            session.add(f"cut {len(added) - 1}", added[-1] @ session.model["x"] >= 2)

        return Step(model, edit)

    added: list[sp.csr_array] = []
    for _ in range(ROUNDS):
        solution = yield step(added)
        sides = separated(size, one, other, solution["x"])
        if not len(sides):
            return
        added = [*added, sp.csr_array((sides[:, one] != sides[:, other]).astype(float))]


def separated(size: int, one: Index, other: Index, x: np.ndarray) -> np.ndarray:
    """Sets of cities that the point joins to the others by less than two, one a row."""
    whole = np.rint(1e6 * x).astype(np.int32)
    graph = sp.csr_array((np.r_[whole, whole], (np.r_[one, other], np.r_[other, one])),
                         shape=(size, size))  # fmt: skip
    graph.eliminate_zeros()
    count, parts = connected_components(graph, directed=False)
    if count > 1:
        return np.unique(parts)[:, None] == parts
    found = set()
    for city in range(1, size):
        flow = maximum_flow(sp.csr_matrix(graph), 0, city)
        if flow.flow_value < 2e6 - 1e3:
            left = sp.csr_array(graph - flow.flow)
            left.eliminate_zeros()
            reached = breadth_first_order(left, 0, return_predecessors=False)
            found.add(tuple(np.isin(np.arange(size), reached).tolist()))
    return np.array(sorted(found), dtype=bool).reshape(len(found), size)


SORTS = {"horizon": horizon, "cuts": cuts}
