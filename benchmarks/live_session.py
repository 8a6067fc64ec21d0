"""What editing a live model costs against building it anew: a rolling horizon and a loop of cuts.

- ``horizon``: production on machines over slots, with stock and backlog; as time moves on, what
  the last slot made is fixed, and some demands and a machine's room turn out different.
- ``cuts``: the subtour relaxation of a travelling salesman; each round adds the cuts found.

Both ways take every step together: ``rebuild`` makes a ``Model`` from the arrays and solves it,
``session`` makes the same step by edits, with the same profile; the optima must agree, and the
next step follows from the rebuilt model's point. One process; CPU time; medians over seeds of
paired sums.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components, maximum_flow

from optsched import Model, Solution, solve
from optsched.session import Session

Index = np.ndarray
Cuts = sp.csr_array
Step = tuple[Callable[[], Model], Callable[[Session], None]]
"""The model as it is now, and the edits that make it of the step before's."""


def horizon(rng: np.random.Generator, size: int, rounds: int) -> Iterator[Step]:
    products, machines, slots = size, 4, rounds + 20
    shape = products, slots
    demand = rng.uniform(0.0, 2.0, shape) * (rng.random(shape) < 0.6)
    takes = rng.uniform(0.5, 1.5, (machines, products)) * (rng.random((machines, products)) < 0.5)
    room = np.tile(takes.sum(axis=1)[:, None] * 0.65, slots)
    cost = rng.uniform(1.0, 3.0, shape)
    lower, upper = np.zeros(shape), np.full(shape, 4.0)

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

    for now in range(rounds):
        solution: Solution = yield model, edit  # type: ignore[misc]
        lower[:, now] = upper[:, now] = np.clip(solution["make"][:, now], 0.0, 4.0)
        some = rng.random(products) < 0.1
        demand[some, now + 1] *= rng.uniform(0.8, 1.2, int(some.sum()))
        room[rng.integers(machines), now + 1] *= rng.uniform(0.9, 1.1)


def cuts(rng: np.random.Generator, size: int, rounds: int) -> Iterator[Step]:
    place = rng.random((size, 2))
    one, other = np.triu_indices(size, 1)
    length = np.hypot(*(place[one] - place[other]).T)
    degree = sp.csr_array(
        (np.ones(2 * len(one)), (np.r_[one, other], np.tile(np.arange(len(one)), 2))),
        shape=(size, len(one)),
    )
    added: list[Cuts] = []

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

    for _ in range(rounds):
        solution: Solution = yield model, edit  # type: ignore[misc]
        sides = separated(size, one, other, solution["x"])
        if not len(sides):
            return
        added.append(sp.csr_array((sides[:, one] != sides[:, other]).astype(float)))


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


def paired(name: str, seed: int, size: int, rounds: int) -> tuple[float, float, int]:
    """CPU seconds of rebuilding and of editing after the first step, and steps."""
    steps, seconds, taken = SORTS[name](np.random.default_rng(seed), size, rounds), [0.0, 0.0], 0
    model, _ = next(steps)
    session = Session(model())
    solution = session.solve()
    while True:
        try:
            model, edit = steps.send(solution)  # type: ignore[attr-defined]
        except StopIteration:
            return seconds[0], seconds[1], taken
        began = time.process_time()
        solution = solve(model(), profile="tiny")
        built = time.process_time()
        edit(session)
        other = session.solve()
        edited = time.process_time()
        np.testing.assert_allclose(solution.objective, other.objective, rtol=1e-6)
        seconds[0] += built - began
        seconds[1] += edited - built
        taken += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=60, help="products, or cities")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    print(f"{'':<10}{'steps':>7}{'rebuild':>12}{'session':>12}{'ratio':>8}   (ms a step, medians)")
    for name in SORTS:
        found = [paired(name, seed, given.size, given.rounds) for seed in range(given.seeds)]
        slow, fast = (1e3 * median(f[i] / f[2] for f in found) for i in (0, 1))
        ratio = median(f[0] / f[1] for f in found)
        steps = median(f[2] for f in found)
        print(f"{name:<10}{steps:>7}{slow:>12.2f}{fast:>12.2f}{ratio:>8.1f}")


if __name__ == "__main__":
    main()
