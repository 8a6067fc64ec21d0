"""Whether each problem's reference method is about as fast as the fastest of its exact methods.

Instances are of the shapes in ``benchmarks/shapes``, which the generators do not draw. All exact
methods of a problem solve the same instances. Prints a line per shape: the optima that the
reference proves, its seconds, the method that proves most in the least time beside it, and the
largest of the reference's seconds on an instance over those it may take: twice those of the fastest
other method, and half a second. Then it lists each answer that another one refutes. Seconds are of
the processor, of all threads and processes of a solve; each method solves one instance before.

    python benchmarks/references.py --papers drp,dsrp,aerialedge
    python benchmarks/references.py --papers dsrp --shapes "tight storage" --seeds 103 --limit 30
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from optsched.problem import Problem, problem
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution, Status

AGREEMENT = 1e-6
"""Relative; what two optima of one instance may differ by."""
TIMES, SECONDS = 2.0, 0.5
"""Times the fastest other method's seconds, and seconds beside, that a reference may take."""


@dataclass(frozen=True)
class Run:
    """One method on one instance."""

    shape: str
    seed: int
    method: str
    proven: bool
    objective: float | None
    bound: float | None
    seconds: float
    said: str
    """The status, and what breaks the schedule."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--papers", default="drp,dsrp,aerialedge", help="problems, by commas")
    parser.add_argument("--shapes", help="names of shapes, by commas; default: all")
    parser.add_argument("--methods", help="other exact methods, by commas; default: all")
    parser.add_argument("--seeds", type=int, default=3, help="instances of each shape")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=5.0, help="seconds of a solve")
    given = parser.parse_args()
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    for name in given.papers.split(","):
        chosen = problem(name)
        methods = [chosen.reference, *others(chosen)]
        if given.methods:
            methods = [chosen.reference, *given.methods.split(",")]
        shapes = shapes_of(chosen)
        names = given.shapes.split(",") if given.shapes else list(shapes)
        runs = []
        print(f"{name}: {chosen.reference} against {', '.join(methods[1:])}")
        for shape in names:
            found = list(measured(chosen, shape, shapes[shape], methods, seeds, given.limit))
            runs += found
            print(line(shape, found, chosen.reference, given.limit), flush=True)
        for sentence in refuted(chosen, runs):
            print(sentence)


def shapes_of(chosen: Problem) -> dict[str, Callable[[np.random.Generator], object]]:
    """The shapes of a problem's package, by name."""
    shapes: dict[str, Callable[[np.random.Generator], object]] = _module(chosen).SHAPES
    return shapes


def others(chosen: Problem) -> list[str]:
    """The exact methods of a problem that have the optimum of its reference, without that."""
    left_out = {chosen.reference, *_module(chosen).OTHER_OPTIMA}
    return [n for n, f in chosen.formulations.items() if not f.relaxation and n not in left_out]


def _module(chosen: Problem) -> Any:
    return importlib.import_module(f"shapes.{chosen.instance_type.__module__.split('.')[1]}")


def measured(
    chosen: Problem,
    shape: str,
    draw: Callable[[np.random.Generator], object],
    methods: Sequence[str],
    seeds: Sequence[int],
    limit: float,
) -> Iterator[Run]:
    """All methods on a shape's instances."""
    for method in methods:
        _run(chosen, draw, shape, seeds[0], method, limit)
    for seed in seeds:
        for method in methods:
            yield _run(chosen, draw, shape, seed, method, limit)


def _run(
    chosen: Problem,
    draw: Callable[[np.random.Generator], object],
    shape: str,
    seed: int,
    method: str,
    limit: float,
) -> Run:
    instance = draw(np.random.default_rng(seed))
    began = sum(os.times()[:4])
    answer = chosen.solve(method, instance, options=Options(time_limit=limit))
    seconds = sum(os.times()[:4]) - began
    solution: Solution = answer.solution
    said = str(solution.status)
    if answer.schedule is not None and (broken := chosen.check(instance, answer.schedule)):
        said += f", breaks {broken[0]}"
    proven = solution.status in (Status.OPTIMAL, Status.INFEASIBLE)
    value, bound = solution.objective, solution.bound
    return Run(shape, seed, method, proven, value, bound, seconds, said)


def line(shape: str, runs: Sequence[Run], reference: str, limit: float) -> str:
    """What a shape's runs say of the reference."""
    frame = pd.DataFrame([vars(run) for run in runs])
    frame["charged"] = frame["seconds"].where(frame["proven"], np.maximum(frame["seconds"], limit))
    table = frame.pivot(index="seed", columns="method", values="charged")
    proven = frame.pivot(index="seed", columns="method", values="proven").sum()
    rest = table.drop(columns=reference)
    best = rest.sum().idxmin()
    worst = (table[reference] / (TIMES * rest.min(axis=1) + SECONDS)).max()
    return (
        f"  {shape:<24} {proven[reference]:>3} of {len(table)} {table[reference].sum():8.1f} s"
        f"   {best:<22} {proven[best]:>3} {rest[best].sum():8.1f} s   worst {worst:5.2f}"
    )


def refuted(chosen: Problem, runs: Sequence[Run]) -> Iterator[str]:
    """Bounds that a schedule of another method refutes, optima that differ, broken schedules."""
    sign = -1.0 if chosen.sense == "maximise" else 1.0
    best: dict[tuple[str, int], float] = {}
    for run in runs:
        key = run.shape, run.seed
        if run.objective is not None and "breaks" not in run.said:
            best[key] = min(best.get(key, math.inf), sign * run.objective)
    for run in runs:
        known = best.get((run.shape, run.seed), math.inf)
        bound = -math.inf if run.bound is None else sign * run.bound
        false = bound > known + AGREEMENT * max(1.0, abs(known))
        missed = run.proven and math.isfinite(known) and (
            run.objective is None
            or abs(sign * run.objective - known) > AGREEMENT * max(1.0, abs(known))
        )  # fmt: skip
        if false or missed or "breaks" in run.said or "error" in run.said:
            yield (
                f"  REFUTED: {run.method}, {run.shape}, seed {run.seed}: {run.said}, "
                f"{run.objective}, bound {run.bound}; {sign * known:g} is known"
            )


if __name__ == "__main__":
    main()
