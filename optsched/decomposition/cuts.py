"""Cutting planes: rows too many to write down, added when a point violates them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from optsched.decomposition.cones import TIGHT, Tangents, foreign_cones
from optsched.errors import InputError, UnsupportedError
from optsched.model import Model, VariableType
from optsched.model.expression import Floats, Relation
from optsched.solvers.backend import Backend, Solver
from optsched.solvers.check import AGREEMENT
from optsched.solvers.direct import solve_directly, start_vector
from optsched.solvers.options import Options, merged
from optsched.solvers.registry import installed
from optsched.solvers.solution import Limit, Listener, Progress, Solution, Status
from optsched.solvers.trajectory import SearchProgress

Cut: TypeAlias = tuple[str, Relation]
"""A name and rows that every solution satisfies; names may repeat."""

Separate: TypeAlias = Callable[[Mapping[str, Floats]], Sequence[Cut]]
"""Rows that a point, given by variable name, violates; none if it violates no row."""

_BOX = 1e6  # a point this far out tells which cut an unbounded relaxation lacks
_SAME = 1e-9  # distance up to which two points are the same
_TAIL = 3  # rounds in which the relaxation's bound must move, relatively by the next
_MOVES = 1e-4

_NO_POINT = (Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED)


@dataclass(frozen=True, eq=False)
class CutResult:
    """A solution, and what it took."""

    solution: Solution
    model: Model
    """The model with every row that was added, each block named "name:number"."""
    rounds: int
    """Solves."""
    cuts: int
    """Rows added."""


def solve_with_cuts(
    model: Model,
    separate: Separate | None = None,
    solver: Solver = "highs",
    *,
    options: Options | None = None,
    relaxation_first: bool = True,
    round_limit: int | None = None,
    **settings: Any,
) -> CutResult:
    """Solve a model of which some rows are known only to a separation routine.

    Solve, separate, add, solve again: from scratch with the best point known as a start, which
    every back end can do. (Of the back ends, only SCIP calls back for lazy constraints during
    its search; HiGHS reached through MathOpt accepts such callbacks and never calls them. So
    there is no use of callbacks here.) Every bound on the way is a bound on the full problem.

    First the relaxation to continuous variables is cut, which is cheap and leaves little for
    the integer solves. Where integers and continuous variables are mixed, the integers of each
    integer solution are fixed and the rest is cut until it satisfies every row: this gives
    feasible points early, and the cuts that matter most.

    Rotated cones that the back end does not take are separated by their tangents. The model
    itself then checks the point that is returned.

    Args:
        model: a relaxation of the problem, with the rows that are known.
        separate: what a point violates. It sees fractional points too if ``relaxation_first``,
            and must be exact at integer points: the answer is as right as "nothing is violated".
            None if there are no rows but the tangents of cones.
        solver: name of a back end, or one of your own.
        options: limits over all rounds together, and gaps.
        relaxation_first: whether to begin with the relaxation.
        round_limit: most solves; None: no limit.
        settings: single fields of ``Options``, such as ``time_limit=60``.

    Raises:
        InputError: an option out of range, or a solver that is unknown or not installed.
        ModelError: a cut that does not fit the model.

    Example:
        >>> import numpy as np
        >>> from optsched import Model
        >>> from optsched.decomposition import solve_with_cuts
        >>> m = Model("a disc in a square")
        >>> x = m.continuous("x", 2, upper=1.0)
        >>> m.maximize(x.sum())
        >>> def tangent(values):
        ...     p = values["x"]
        ...     r = np.linalg.norm(p)
        ...     return [("disc", x @ (p / r) <= 1.0)] if r > 1 + 1e-6 else []
        >>> round(solve_with_cuts(m, tangent).solution.objective, 4)
        1.4142
    """
    options = merged(options, settings)
    if round_limit is not None and round_limit < 1:
        raise InputError.of("round_limit", round_limit, "an integer >= 1, or None")
    engine, _ = installed(solver)
    separators = [] if separate is None else [separate]
    cones, relaxed = foreign_cones(model, engine.native), model
    if cones:
        tangents = Tangents(model, cones)
        relaxed = tangents.relaxed
        separators.append(tangents)
        if engine.name == "highs":
            options = replace(options, extra={**TIGHT, **options.extra})
    loop = _Loop(relaxed, separators, engine, options, round_limit)
    solution = loop.run(relaxation_first)
    if cones:
        loop.model.blocks |= {cone.name: cone for cone in cones}
        solution = _checked(model, solution, f"{loop.rounds} rounds, {loop.cuts} rows added")
    return CutResult(solution, loop.model, loop.rounds, loop.cuts)


def _checked(model: Model, solution: Solution, said: str) -> Solution:
    """The answer, its point evaluated by the model with its cones."""
    said = f"outer approximation by tangents: {said}"
    broken = model.violations(solution.values) if solution.has_point else []
    if not broken:
        message = "; ".join(filter(None, (solution.message, said)))
        return replace(solution, checked=solution.has_point, message=message)
    worst = max(broken, key=lambda violation: violation.amount)
    return replace(
        solution,
        status=Status.ERROR,
        objective=None,
        values={},
        checked=False,
        trajectory=(),
        message=f"the point found breaks {worst.kind} {worst.block!r} by {worst.amount:g}; {said}",
    )


class _Loop:
    """Rounds of solving and separating, and what is known so far."""

    def __init__(
        self,
        model: Model,
        separators: Sequence[Separate],
        engine: Backend,
        options: Options,
        round_limit: int | None,
    ) -> None:
        self.model = model.copy()
        self.separators = separators
        self.engine = engine
        self.progress = SearchProgress(options, maximise=model.maximise)
        self.options = replace(options, stop=self.progress.stop, on_progress=None)
        self.round_limit = math.inf if round_limit is None else round_limit
        self.sign = -1.0 if model.maximise else 1.0
        self.bound = -math.inf
        """On ``sign`` times the optimum, from below."""
        self.incumbent: Solution | None = None
        self.rounds = self.cuts = self.nodes = 0
        integer = [
            v.type is not VariableType.CONTINUOUS for v in model.variables.values() if v.size
        ]
        self.has_integers = any(integer)
        self.mixed = self.has_integers and not all(integer)

    def run(self, relaxation_first: bool) -> Solution:
        try:
            self._offer_start()
            if relaxation_first and self.has_integers:
                self._cut_relaxation()
            solution = self._cut_solutions()
        except KeyboardInterrupt:
            solution = self._finished(Status.INTERRUPTED, None)
        return self.progress.ended(solution)

    def _cut_solutions(self) -> Solution:
        """Solve and cut until a solution violates nothing, or the bound meets the incumbent."""
        last: Floats | None = None
        while True:
            if limit := self._spent():
                return self._finished(Status.FEASIBLE, limit)
            listener = self.progress.live(self._on_progress)
            solution = self._solve(self.model, self._start(), on_progress=listener)
            self.progress.catch_up(solution, self._on_progress)
            if solution.status in _NO_POINT and self._cut_far_out():
                continue
            if not solution.has_point:
                return self._without_point(solution)
            self._raise_bound(solution)
            added = self._cut(self.model, solution)
            interrupted = solution.status is Status.INTERRUPTED
            if not added:
                self._offer(solution)
            elif self.mixed and not (interrupted or self._closed()):
                self._complete(solution)
            if not added or self._closed() or solution.limit or interrupted:
                return self._finished(solution.status, solution.limit)
            point = self.model.vector(solution.values)
            if last is not None and np.abs(point - last).max(initial=0.0) <= _SAME:
                said = "the solver returns a point again that a row added cuts off"
                return replace(self._finished(Status.FEASIBLE, None), message=said)
            last = point

    # one solve

    def _spent(self) -> Limit | None:
        if self.rounds >= self.round_limit:
            return Limit.NODES
        return Limit.TIME if self.progress.left <= 0 else None

    def _on_progress(self, progress: Progress) -> None:
        """Points on the way may break rows that come later; bounds hold."""
        self.progress.report(bound=progress.bound)

    def _solve(
        self,
        model: Model,
        start: Mapping[str, Floats] | None = None,
        on_progress: Listener | None = None,
    ) -> Solution:
        limit = self.progress.within(1.0)
        options = replace(self.options, time_limit=limit, warm_start=start, on_progress=on_progress)
        solution = solve_directly(model, self.engine, options)
        self.rounds += 1
        self.nodes += solution.nodes or 0
        return solution

    def _solve_aside(self, model: Model) -> Solution:
        """A solve whose interruption ends everything."""
        solution = self._solve(model)
        if solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return solution

    def _start(self) -> Mapping[str, Floats] | None:
        return self.options.warm_start if self.incumbent is None else self.incumbent.values

    def _offer_start(self) -> None:
        """The start, if it violates no row: then no limit loses it."""
        if self.options.warm_start is None:
            return
        x = start_vector(self.model, self.options.warm_start)
        if np.isnan(x).any():
            return
        values = self.model.compile(self.model.kinds).split(x)
        violated = any(separate(values) for separate in self.separators)
        if not violated and not self.model.violations(values):
            value = self.model.value(values)
            self._offer(Solution(Status.FEASIBLE, value, values=values, solver=self.engine.name))

    def _cut(self, model: Model, solution: Solution) -> int:
        """Add what a point violates to the model, and to the copy at hand; how many rows."""
        rows = 0
        found = [cut for separate in self.separators for cut in separate(solution.values)]
        for name, relation in found:
            numbered = self.model.free_name(None, name)
            self.model.add(numbered, relation)
            if model is not self.model:
                model.add(numbered, relation)
            rows += relation.expression.size
        self.cuts += rows
        return rows

    # stages

    def _cut_relaxation(self) -> None:
        """Cut the continuous relaxation until nothing is violated or its bound hardly moves."""
        seen: list[float] = []
        while not self._spent():
            try:
                solution = self._solve_aside(self.model.relax())
            except UnsupportedError:  # a back end for integers only
                return
            if solution.status in _NO_POINT and self._cut_far_out():
                continue
            if solution.status is not Status.OPTIMAL:
                return
            self._raise_bound(solution)
            seen.append(self.bound)
            stale = len(seen) > _TAIL and (
                seen[-1] - seen[-1 - _TAIL] <= _MOVES * max(1.0, abs(seen[-1]))
            )
            if not self._cut(self.model, solution) or stale:
                return

    def _complete(self, solution: Solution) -> None:
        """Fix the integers of a point and cut the rest until it satisfies every row."""
        fixed = self.model.copy()
        for v in self.model.variables.values():
            if v.type is not VariableType.CONTINUOUS and v.size:
                fixed.add(f"{v.name} fixed", v == solution[v.name])
        last: Floats | None = None
        while not self._spent():
            completed = self._solve_aside(fixed)
            if completed.status is not Status.OPTIMAL:
                return
            if not self._cut(fixed, completed):
                self._offer(completed)
                return
            point = self.model.vector(completed.values)
            if last is not None and np.abs(point - last).max(initial=0.0) <= _SAME:
                return
            last = point

    def _cut_far_out(self) -> bool:
        """Cut an unbounded relaxation at its best point in a large box; whether that cut it."""
        boxed = self.model.relax()
        for v in self.model.variables.values():
            if v.size:
                low, high = np.maximum(v.lower, -_BOX), np.minimum(v.upper, _BOX)
                boxed.add(f"{v.name} boxed", v.between(np.minimum(low, high), high))
        try:
            solution = self._solve_aside(boxed)
        except UnsupportedError:
            return False
        return solution.status is Status.OPTIMAL and self._cut(self.model, solution) > 0

    # what is known

    def _raise_bound(self, solution: Solution) -> None:
        if solution.bound is not None:
            self.bound = max(self.bound, self.sign * solution.bound)
            self.progress.report(bound=solution.bound)

    def _offer(self, solution: Solution) -> None:
        best = self.incumbent
        if best is None or self._value(solution) < self._value(best):
            self.incumbent = solution
            self.progress.report(objective=solution.objective)

    def _value(self, solution: Solution) -> float:
        return math.inf if solution.objective is None else self.sign * solution.objective

    def _closed(self) -> bool:
        """Whether the bound meets the incumbent, up to the gaps asked for."""
        if self.incumbent is None:
            return False
        value = self._value(self.incumbent)
        options = self.options
        allowed = max(options.absolute_gap, options.gap * abs(value), _agreement(value))
        return value - self.bound <= allowed

    # the answer

    def _without_point(self, solution: Solution) -> Solution:
        """The relaxation has no point to separate."""
        if solution.status is Status.INFEASIBLE and self.incumbent is not None:
            # every row that is added holds at the incumbent, up to the tolerance of both
            return self._finished(Status.FEASIBLE, None)
        if solution.status in (Status.NO_SOLUTION, Status.INTERRUPTED):
            self._raise_bound(solution)
            return self._finished(solution.status, solution.limit)
        seconds = self.progress.spent
        message = solution.message
        if solution.status in _NO_POINT:
            if limit := self._spent():  # the rows that bound it may have been to come
                return self._finished(Status.NO_SOLUTION, limit)
            message = "unbounded without rows that no cut found supplies"
            solution = replace(solution, status=Status.INFEASIBLE_OR_UNBOUNDED)
        return replace(solution, seconds=seconds, nodes=self.nodes, message=message)

    def _finished(self, status: Status, limit: Limit | None) -> Solution:
        value = math.inf if self.incumbent is None else self._value(self.incumbent)
        bound = self.sign * min(self.bound, value) if math.isfinite(self.bound) else None
        seconds = self.progress.spent
        if self.incumbent is None:
            word = Status.INTERRUPTED if status is Status.INTERRUPTED else Status.NO_SOLUTION
            return Solution(
                word,
                bound=bound,
                limit=limit,
                seconds=seconds,
                nodes=self.nodes,
                solver=self.engine.name,
            )
        if value - self.bound <= _agreement(value):
            status, limit = Status.OPTIMAL, None
        elif self._closed():
            status, limit = Status.FEASIBLE, Limit.GAP
        elif status is not Status.INTERRUPTED:
            status = Status.FEASIBLE
        return replace(
            self.incumbent,
            status=status,
            bound=bound,
            limit=limit,
            seconds=seconds,
            nodes=self.nodes,
        )


def _agreement(value: float) -> float:
    return AGREEMENT * max(1.0, abs(value))
