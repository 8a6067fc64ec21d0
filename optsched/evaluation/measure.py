"""How far from optimal a schedule is, as an interval that is true.

When minimising, the ratio is cost / optimum; when maximising, optimum / cost: 1 is perfect, and
more is worse. Where the optimum is not proven, the ratio lies between the one against the best
known schedule and the one against the best proven bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from optsched.evaluation.heuristic_run import with_heuristics
from optsched.evaluation.ratios import ComparisonSpec, Row, best_start, ratio_rows
from optsched.evaluation.runs import (
    InstanceRunner,
    MethodKind,
    MethodRun,
    MethodSpec,
    check_names,
    starts,
)
from optsched.problem import Heuristic, Problem
from optsched.solvers.options import Options


def measure(
    problem: Problem,
    instance: Any,
    heuristics: Sequence[str | Heuristic | Callable[..., Any]],
    *,
    seed: int = 0,
    name: str = "",
    reference: str | None = None,
    solver: str | None = None,
    options: Options | None = None,
    bounds: Sequence[str] = (),
    parameters: Mapping[str, Any] | None = None,
    heuristic_limits: Options | None = None,
) -> list[Row]:
    """Run heuristics on one instance and compare each with the offline optimum.

    Whatever a heuristic, a bound or the solver does, there is one row per heuristic.

    Args:
        problem: what is being solved.
        instance: on what.
        heuristics: names with options, ``"a_online(epsilon=0.5)"``; heuristics; functions
            (instance, rng) -> schedule; classes of policies, which are handed the jobs one by
            one (``optsched.online.Policy``).
        seed: of every heuristic's random generator.
        name: what to call the instance.
        reference: formulation ratios refer to; None: the problem's reference.
        solver: back end; None: the formulation's own.
        options: limits of the reference formulation.
        bounds: further bounds; the best one counts, and each has columns of its own.
        parameters: columns to carry along, such as the generator's options.
        heuristic_limits: of each heuristic's run; see ``optsched.evaluation.heuristic_run``.

    Raises:
        InputError: a name or option that is not known.

    Example:
        >>> import numpy as np
        >>> from optsched import measure, problem
        >>> batch = problem("batch")
        >>> instance = batch.generate(np.random.default_rng(1), jobs=4, servers=2)
        >>> [row] = measure(batch, instance, ["a_online"])
        >>> row.status, row.ratio_low >= 1
        ('optimal', True)
    """
    reference = reference or problem.reference
    problem, names = with_heuristics(problem, heuristics)
    check_names(problem, names, reference, solver, bounds, options)
    useful = starts(problem, reference, names)
    exact = MethodSpec("exact", reference, solver, options, useful)
    runner = InstanceRunner(problem, instance, seed)
    runs: dict[tuple[MethodKind, str], MethodRun] = {}
    for text in names:
        runs["heuristic", text] = runner.run(
            MethodSpec("heuristic", text, options=heuristic_limits)
        )
    for text in bounds:
        runs["bound", text] = runner.run(MethodSpec("bound", text))
    start = best_start(problem.sense, {text: runs["heuristic", text] for text in useful})
    runs["exact", reference] = runner.run(exact, start)
    comparison = ComparisonSpec.of(problem, names, bounds, reference, [reference])
    return ratio_rows(comparison, runs, seed=seed, name=name, parameters=parameters or {})
