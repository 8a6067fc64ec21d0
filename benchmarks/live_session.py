"""What editing a live model costs against building it anew: a rolling horizon and a loop of cuts.

- ``horizon``: jobs with a release, a size and a weight share servers over slots; as time moves on,
  what the last slot did is fixed, a job's size and a server's room turn out different.
- ``cuts``: a linear packing model; in each round the five rows of a pool that the last point
  breaks most are added.

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

from optsched import Model, Session, Solution, solve

Step = tuple[Callable[[], Model], Callable[[Session], None]]
"""The model as it is now, and the edits that make it of the step before's."""


def horizon(rng: np.random.Generator, size: int, rounds: int) -> Iterator[Step]:
    jobs, servers, slots = size, 5, rounds + 4
    shape = jobs, servers, slots
    release = rng.integers(0, slots - 4, jobs)
    rate = rng.uniform(0.5, 1.5, (jobs, servers))
    age = np.maximum(np.arange(slots) + 1.0 - release[:, None], 0.0)
    cost = (rng.uniform(1.0, 5.0, jobs)[:, None] * age)[:, None, :] * rate[:, :, None]
    lower = np.zeros(shape)
    upper = np.ones(shape) * (np.arange(slots) >= release[:, None])[:, None, :]
    work = rng.uniform(0.5, 2.0, jobs)
    room = np.full((servers, slots), 2.0 * jobs / (servers * slots))

    def model() -> Model:
        m = Model("horizon")
        x = m.continuous("x", shape, lower=lower, upper=upper)
        late = m.continuous("late", jobs)
        m.minimize((x * cost).sum() + 1e3 * late.sum())
        m.add("work", (x * rate[:, :, None]).sum(axis=(1, 2)) + late >= work)
        m.add("room", x.sum(axis=0) <= room)
        return m

    def edit(session: Session) -> None:
        session.update(lower={"x": lower}, upper={"x": upper}, rhs={"work": work, "room": room})

    for now in range(rounds):
        solution: Solution = yield model, edit  # type: ignore[misc]
        done = np.clip(solution["x"][:, :, now], 0.0, upper[:, :, now])
        lower[:, :, now] = upper[:, :, now] = done
        work[rng.integers(jobs)] *= rng.uniform(0.9, 1.1)
        room[rng.integers(servers), now + 1 :] *= rng.uniform(0.97, 1.03)


def cuts(rng: np.random.Generator, size: int, rounds: int) -> Iterator[Step]:
    weight = rng.uniform(5.0, 20.0, size)
    matrix = (rng.random((size, size)) < 6.0 / size).astype(float)
    pool = (rng.random((40 * rounds, size)) < 20.0 / size) * rng.uniform(1.0, 3.0, size)
    side = 0.1 * pool.sum(axis=1)
    added: list[list[int]] = []

    def rows(m: Model, cut: list[int]) -> tuple[str, object]:
        return f"cuts {cut[0]}", pool[cut] @ m["x"] <= side[cut]

    def model() -> Model:
        m = Model("packing")
        x = m.continuous("x", size, upper=1)
        m.maximize(weight @ x)
        m.add("rows", matrix @ x <= 1.0)
        for cut in added:
            m.add(*rows(m, cut))  # type: ignore[arg-type]
        return m

    def edit(session: Session) -> None:
        if added:
            session.add(*rows(session.model, added[-1]))  # type: ignore[arg-type]

    for _ in range(rounds):
        solution: Solution = yield model, edit  # type: ignore[misc]
        over = pool @ solution["x"] - side
        added.append([row for row in np.argsort(-over)[:5].tolist() if over[row] > 1e-6])
        if not added[-1]:
            return


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
    parser.add_argument("--size", type=int, default=200, help="jobs, or columns")
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
