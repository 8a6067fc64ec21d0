"""Whether limits hold: every back end on models that are hard to end, and every exact method.

Each solve is asked to end after ``--seconds``; the promise is 1.2 times as many and 2 more. The
models: an assignment of n x n binaries, a dense linear program, a market split that nobody
proves. The exact methods get instances larger than they can settle, and what a method with a
memory limit comes to is shown last. Wall time, waiting for machine code included; where there is
none yet, it is made beside the search, and the process ends a little later than the answer.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from optsched import InputError, Model, UnsupportedError, solve
from optsched.problem import problem
from optsched.problem.methods import ExactMethod
from optsched.solvers.options import Options
from optsched.solvers.registry import available

LARGE = {
    "aerialedge": {"kind": "hard", "tasks": 400},
    "batch": {"jobs": 100, "servers": 100, "time_scale": 0.1},
    "batch_completion": {"jobs": 100, "servers": 100, "time_scale": 0.1},
    "drp": {"jobs": 300},
    "dsrp": {"jobs": 300},
    "llm_inference": {"requests": 200},
    "okita": {"jobs": 30},
    "preemptive": {"jobs": 60, "servers": 20},
    "preemptive_storage": {"jobs": 40, "servers": 12},
}


def assignment(n: int = 700) -> Model:
    m = Model("assignment")
    x = m.binary("x", (n, n))
    m.add("row", x.sum(axis=1) == 1)
    m.add("column", x.sum(axis=0) == 1)
    m.minimize((np.random.default_rng(0).uniform(1, 100, (n, n)).round(2) * x).sum())
    return m


def dense(rows: int = 1500, columns: int = 2000) -> Model:
    rng = np.random.default_rng(0)
    m = Model("dense LP")
    x = m.continuous("x", columns)
    m.add("rows", rng.uniform(0, 1, (rows, columns)) @ x >= rng.uniform(1, 2, rows))
    m.minimize(rng.uniform(1, 2, columns) @ x)
    return m


def split() -> Model:
    rng = np.random.default_rng(7)
    weights = rng.integers(1, 100, (5, 40)).astype(float)
    m = Model("market split")
    x = m.binary("x", 40)
    over, under = (m.integer(name, 5, upper=5000) for name in ("over", "under"))
    m.add("split", weights @ x + under - over == np.floor(weights.sum(axis=1) / 2))
    m.minimize((over + under).sum())
    return m


def line(what: str, who: str, limit: float, solving: Callable[[], object]) -> None:
    began = time.perf_counter()
    try:
        said = str(solving())
    except (InputError, UnsupportedError) as refusal:
        said = f"refused: {str(refusal)[:50]}"
    took = time.perf_counter() - began
    held = "" if took <= 1.2 * limit + 2.0 else "  LATE"
    print(f"{what:<20}{who:<32}{limit:>7.1f}{took:>8.2f}  {said}{held}", flush=True)


def back_ends(limit: float) -> None:
    for model in (assignment, dense, split):
        built = model()
        for solver in available():

            def solving(built: Model = built, solver: str = solver) -> str:
                found = solve(built, solver, time_limit=limit)
                return f"{found.status}, {found.objective}, bound {found.bound}"

            line(built.name, solver, limit, solving)


def methods(limit: float, memory: float | None) -> None:
    for name, options in LARGE.items():
        found = problem(name)
        instance = found.generate(np.random.default_rng(1), **found.generator_call(options))
        for key, method in found.formulations.items():
            if not isinstance(method, ExactMethod) or "time_limit" not in method.supports:
                continue

            def solving(method: ExactMethod = method, instance: object = instance) -> str:
                limits = Options(time_limit=limit, memory_limit=memory)
                found = method.solve(instance, options=limits).solution
                return f"{found.status}, {found.limit}, {found.objective}, bound {found.bound}"

            line(name, key, limit, solving)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, nargs="+", default=[1.0])
    parser.add_argument("--only", choices=["back ends", "methods"])
    parser.add_argument("--memory", type=float, help="GiB, for the methods")
    given = parser.parse_args()
    print(f"{'what':<20}{'solver or method':<32}{'asked':>7}{'took':>8}  answer")
    for limit in given.seconds:
        if given.only != "methods":
            back_ends(limit)
        if given.only != "back ends":
            methods(limit, given.memory)


if __name__ == "__main__":
    main()
