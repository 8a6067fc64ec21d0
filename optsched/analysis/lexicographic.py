"""Lexicographic solves: the best of the second objective among the best of the first, and so on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from optsched.errors import InputError
from optsched.model import Expression, Model
from optsched.solve import solve
from optsched.solvers.backend import Solver
from optsched.solvers.options import Options, merged
from optsched.solvers.solution import Solution, Status

Goal = tuple[Literal["min", "max"], Expression]


def solve_in_order(
    model: Model,
    goals: Sequence[Goal],
    solver: Solver = "highs",
    *,
    slack: float = 0.0,
    options: Options | None = None,
    **settings: Any,
) -> list[Solution]:
    """Optimise goals lexicographically; the model's own objective counts for nothing.

    Args:
        model: left alone.
        goals: ("min" or "max", single expression), the first counts most.
        solver: as for ``solve``; each solve starts with the last one's point.
        slack: by how much a goal may be worse than its best for the sake of those after it,
            relative to ``max(1, |best|)``.
        options: limits and tolerances of each solve.
        settings: single fields of ``Options``.

    Returns:
        One solution per goal, its objective the value of that goal; the last is the answer. Fewer
        if a solve does not end optimal: that one is the last.

    Raises:
        InputError: no goal, a sense that is neither, or a negative slack.

    Example:
        >>> from optsched import Model
        >>> from optsched.analysis.lexicographic import solve_in_order
        >>> m = Model()
        >>> x = m.integer("x", shape=2, upper=4)
        >>> m.add("work", x.sum() >= 5)
        >>> [s.objective for s in solve_in_order(m, [("min", x.sum()), ("max", x[1] - x[0])])]
        [5.0, 3.0]
    """
    if not goals:
        raise InputError.of("goals", list(goals), "at least one pair of a sense and an expression")
    for place, (sense, _) in enumerate(goals):
        if sense not in ("min", "max"):
            raise InputError.of(f"goals[{place}]", sense, "'min' or 'max'")
    if not slack >= 0:
        raise InputError.of("slack", slack, "at least 0")
    staged, chosen = model.copy(), merged(options, settings)
    found: list[Solution] = []
    for sense, goal in goals:
        (staged.maximize if sense == "max" else staged.minimize)(goal)
        solution = solve(staged, solver, options=chosen)
        found.append(solution)
        if solution.status is not Status.OPTIMAL or solution.objective is None:
            break
        worse = slack * max(1.0, abs(solution.objective))
        name = staged.free_name(None, "goal")
        if sense == "max":
            staged.add(name, goal >= solution.objective - worse)
        else:
            staged.add(name, goal <= solution.objective + worse)
        chosen = replace(chosen, warm_start=solution.values)
    return found
