"""Branch-and-price: a tree of restrictions, each node solved by column generation."""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from optsched.decomposition.branching import (
    INTEGRAL,
    Branching,
    SplitBranching,
    find_branchings,
    find_splits,
)
from optsched.decomposition.columns import Column, Duals, PricingError
from optsched.decomposition.generation import SATISFIED, Generator
from optsched.decomposition.limits import Limits, Restriction, SplitRestriction
from optsched.decomposition.listed import ListedColumns
from optsched.decomposition.master import RestrictedMaster
from optsched.decomposition.nodes import Budget, NodeResult, Outcome
from optsched.decomposition.outcome import ColumnProblem, ColumnSolution, GenerationOptions
from optsched.decomposition.primal import ColumnChoice, IntegerMaster, dive
from optsched.decomposition.rows import CutRounds, CutRow
from optsched.solvers.check import AGREEMENT
from optsched.solvers.deadline import Deadline
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Status

_NOISE = 1e-9  # relative difference in cost that is rounding
_HEURISTIC_SHARE = 0.25  # of the time so far; at the root they run in any case
_PLUNGE = 50  # children followed one after the other; without an incumbent nothing else ends it
_ROOT_SHARE = 0.7  # of the time limit, before the columns at hand are tried as they are


@dataclass(frozen=True, order=True)
class Node:
    """A part of the solutions still to be searched; ordered by bound, deep ones first."""

    bound: float
    """Proven lower bound on every solution in it."""
    height: int
    """Minus the depth in the tree."""
    number: int
    restrictions: tuple[Restriction | SplitRestriction, ...] = field(compare=False)
    listed: ListedColumns | None = field(compare=False, default=None)
    """Columns it may use, if they are listed."""
    left_out: float = field(compare=False, default=math.inf)
    """Least cost of solutions with columns that left the list."""


class TreeSearch:
    """Best bound first; before there is an incumbent, into the child rounded up."""

    def __init__(self, problem: ColumnProblem, options: GenerationOptions) -> None:
        self.problem = problem
        self.options = options
        self.began = time.perf_counter()
        seconds = math.inf if options.time_limit is None else options.time_limit
        self.budget = Budget(
            self.began + seconds,
            math.inf if options.iteration_limit is None else options.iteration_limit,
            options.stop,
        )
        master = RestrictedMaster(problem.lower, problem.upper, problem.blocks)
        master.add(problem.initial)
        self.generator = Generator(
            master,
            problem.blocks,
            problem.price,
            self.budget,
            options.smoothing,
            options.integral_objective,
            None if options.on_progress is None else self._report_root,
        )
        self.integer = IntegerMaster(problem.lower, problem.upper, problem.blocks)
        self.incumbent: ColumnChoice | None = None
        self.open: list[Node] = []
        self.closed_bound = math.inf
        """Least bound among nodes put aside for being no better than the incumbent."""
        self.root_bound = -math.inf
        self.duals: Duals | None = None
        """For the bound of the relaxation alone."""
        self.nodes = 0
        self._decided = False  # whether the last point, if whole, is a solution
        self.heuristic_seconds = 0.0
        self.unresolved = ""
        """Why some node could be neither solved nor branched on."""
        self._numbers = itertools.count()

    # the relaxation alone

    def relaxation(self) -> ColumnSolution:
        """Column generation at the root, without branching."""
        self.generator.integral_objective = False
        self.generator.gap = self.options.gap
        self.generator.absolute_gap = self.options.absolute_gap
        limits = Limits.of(self.problem.blocks)
        try:
            result, _ = self._cut(limits, self.generator.solve(limits), math.inf)
        except PricingError as error:
            return self._answer(Status.ERROR, None, message=str(error))
        except KeyboardInterrupt:
            result = NodeResult(Outcome.STOPPED, self._proven_at_root(), None)
        self.nodes, self.root_bound, self.duals = 1, result.bound, result.duals
        if result.point is None:
            return self._answer(_without_point(result.outcome), result.bound, self._limit(result))
        weights, value = result.point.weights, result.point.value
        met = value - result.bound <= AGREEMENT * max(1.0, abs(value))
        status = Status.OPTIMAL if met else Status.FEASIBLE
        if result.outcome is Outcome.STOPPED:
            status = Status.INTERRUPTED
        pool = self.generator.master.pool
        chosen = [(pool.columns[k], float(weights[k])) for k in np.flatnonzero(weights)]
        limit = Limit.GAP if result.outcome is Outcome.CONVERGED else self._limit(result)
        return self._answer(
            status,
            min(result.bound, value),
            None if met else limit,
            ColumnChoice(tuple(chosen), value),
        )

    def _limit(self, result: NodeResult) -> Limit | None:
        if result.outcome is not Outcome.LIMIT:
            return None
        return Limit.TIME if self.budget.seconds <= 0 else Limit.NODES

    # the tree

    def run(self) -> ColumnSolution:
        """Search until the proof is complete or a limit is reached."""
        listed = self.problem.price if isinstance(self.problem.price, ListedColumns) else None
        root = Node(-math.inf, 0, next(self._numbers), (), listed)
        self.open = [root]
        self._offer_columns(self.problem.known)
        reason: Outcome | None = None
        try:
            reason = self._search()
        except PricingError as error:
            return self._answer(Status.ERROR, None, message=str(error), incumbent=self.incumbent)
        except KeyboardInterrupt:
            reason = Outcome.STOPPED
            self.root_bound = max(self.root_bound, self._proven_at_root())
        return self._finished(reason)

    def _proven_at_root(self) -> float:
        """The best bound among the root's iterations, for when it was cut short."""
        steps = (i for i in self.generator.history if i.node == 0)
        return max((i.bound for i in steps if i.bound is not None), default=-math.inf)

    def _search(self) -> Outcome | None:
        """Process nodes; the one under way stays open until its children are."""
        follow: Node | None = None
        steps = 0
        while self.open:
            self._report()
            if reason := self.budget.spent:
                return reason
            if self.options.node_limit is not None and self.nodes >= self.options.node_limit:
                return Outcome.LIMIT
            plunge = self.incumbent is None and follow in self.open and steps < _PLUNGE
            steps = steps + 1 if plunge else 0
            node = follow if follow is not None and steps else self.open[0]
            if node.bound >= self.cutoff:
                self._close(node, node.bound)
                continue
            result = self._solve(node)
            if result.outcome in (Outcome.LIMIT, Outcome.STOPPED):
                self._push(replace(node, bound=result.bound))
                self._close(node)
                if node.restrictions or self.budget.spent:
                    continue
                self._try_columns(result)  # the root took its share of the time
                continue
            if result.outcome is Outcome.UNBOUNDED and not node.restrictions:
                return Outcome.UNBOUNDED
            follow = self._branch(node, result)
        return None

    @property
    def cutoff(self) -> float:
        """Cost from which on solutions are of no interest."""
        if self.incumbent is None:
            return self.options.cutoff
        cost, options = self.incumbent.cost, self.options
        slack = max(options.absolute_gap, options.gap * abs(cost), _NOISE * max(1.0, abs(cost)))
        return min(cost - slack, options.cutoff)

    def _solve(self, node: Node) -> NodeResult:
        limits = self._limits(node)
        if node.listed is not None:
            self.generator.price = node.listed
        first = self.nodes == 0
        if first and self.options.time_limit is not None:
            self.generator.budget = self.budget.within(_ROOT_SHARE * self.options.time_limit)
        result = self.generator.solve(limits, node=self.nodes, cutoff=self.cutoff, known=node.bound)
        result, self._decided = self._cut(limits, result, self.cutoff)
        result = replace(result, bound=max(result.bound, node.bound))
        if result.bound > node.left_out:  # nothing is proven of solutions with other columns
            outcome = result.outcome
            outcome = Outcome.CUT_OFF if outcome is Outcome.INFEASIBLE else outcome
            result = replace(result, outcome=outcome, bound=node.left_out)
        self.budget.iterations = min(self.budget.iterations, self.generator.budget.iterations)
        self.generator.budget = self.budget
        self.nodes += 1
        if not node.restrictions:
            self.root_bound = max(self.root_bound, result.bound)
        return result

    def _limits(self, node: Node) -> Limits:
        """What branching and reduced costs have left of a node."""
        kept = None
        if node.listed is not None and node.listed is not self.problem.price:
            assert isinstance(self.problem.price, ListedColumns)
            kept = np.zeros(int(self.problem.price.number.max()) + 1, dtype=np.bool_)
            kept[node.listed.number] = True
        return Limits.of(self.problem.blocks, node.restrictions, kept)

    def _cut(self, limits: Limits, result: NodeResult, cutoff: float) -> tuple[NodeResult, bool]:
        """Rounds of cuts at a node that is solved; and whether a whole point is a solution."""
        rounds, node = CutRounds(self.options.cut_gain), self.nodes
        while result.outcome is Outcome.CONVERGED and result.point is not None:
            solution = self._as_solution(result)
            if not (solution.whole or rounds.promising(result.point.value, cutoff)):
                break
            rows = self._violated(solution)
            if not rows:
                return result, rows is not None
            self.generator.master.cut(rows)
            again = self.generator.solve(limits, node=node, cutoff=cutoff, known=result.bound)
            if again.duals is None:
                again = replace(again, duals=result.duals, value=result.value)
            if again.outcome in (Outcome.LIMIT, Outcome.STOPPED):
                again = replace(again, point=again.point or result.point)
            result = again
        return result, False

    def _as_solution(self, result: NodeResult) -> ColumnSolution:
        """A node's fractional point, for separation and splits."""
        assert result.point is not None
        weights = result.point.weights
        pool = self.generator.master.pool
        chosen = [(pool.columns[k], float(weights[k])) for k in np.flatnonzero(weights > _NOISE)]
        return ColumnSolution(
            Status.FEASIBLE, result.point.value, result.bound, tuple(chosen), duals=result.duals
        )

    def _violated(self, solution: ColumnSolution) -> list[CutRow] | None:
        """Rows that a point violates; None if separation could not tell."""
        if self.problem.separate is None:
            return []
        deadline = Deadline(self.generator.budget.seconds, self.options.stop)
        try:
            rows = self.problem.separate(solution, deadline)
        except TimeoutError:
            return None
        return [row for row in rows if _violates(solution.chosen, row)]

    def _solution(self, candidate: ColumnChoice | None) -> ColumnChoice | None:
        """A choice of columns, if no row cuts it off; otherwise the rows are taken."""
        if candidate is None or self.problem.separate is None:
            return candidate
        point = ColumnSolution(Status.FEASIBLE, candidate.cost, None, candidate.chosen)
        rows = self._violated(point)
        self.generator.master.cut(rows or ())
        return candidate if rows == [] else None

    def _branch(self, node: Node, result: NodeResult) -> Node | None:
        """Close a solved node, leaving its children open; the child to go on with."""
        if result.outcome is Outcome.INFEASIBLE:
            self._close(node)
            return None
        if result.outcome is Outcome.CUT_OFF or result.bound >= self.cutoff:
            self._close(node, result.bound)
            return None
        if result.outcome is Outcome.OPEN:
            self.unresolved = "pricing, or the master problem, did not prove a node's bound"
        if result.point is None:
            self._close(node, result.bound)
            return None
        weights = result.point.weights
        candidate = self.integer.accept(self.generator.master.pool, weights)
        candidate = candidate if self._decided else self._solution(candidate)
        self._offer(candidate)
        whole = (np.abs(weights - np.round(weights)) <= INTEGRAL).all()
        branching = None if whole else self._branching(node, result)
        self._try_heuristics(node, result)
        bound = result.bound
        if bound >= self.cutoff:
            self._close(node, bound)
            return None
        if branching is None:
            if candidate is None:
                reason = "rounding breaks a row" if whole else "no branching that pricing supports"
                self.unresolved = f"a node was left open: {reason}"
            self._close(node, bound)
            return None
        child = replace(self._narrowed(node, result), bound=bound, height=node.height - 1)
        self._push(replace(child, restrictions=(*node.restrictions, branching.down)))
        up = self._push(replace(child, restrictions=(*node.restrictions, branching.up)))
        self._close(node)
        return up

    def _narrowed(self, node: Node, result: NodeResult) -> Node:
        """A node without the columns that reduced costs keep out of better solutions."""
        if node.listed is None or not math.isfinite(self.cutoff - result.value):
            return node
        assert result.duals is not None
        least = self.cutoff
        if self.options.integral_objective:
            least = min(least, math.ceil(least - INTEGRAL) - 1.0 + 2 * INTEGRAL)
        limits = Limits.of(self.problem.blocks, node.restrictions)
        listed = node.listed.allowed(limits)
        listed = listed.within(result.duals, least - result.value, limits.lower)
        if len(listed) == len(node.listed):
            return node
        return replace(node, listed=listed, left_out=min(node.left_out, self.cutoff))

    def _branching(self, node: Node, result: NodeResult) -> Branching | SplitBranching | None:
        problem, master, point = self.problem, self.generator.master, result.point
        assert point is not None
        if problem.splits is not None:
            solution = self._as_solution(result)
            sums = find_splits(problem.splits(solution), solution.chosen)
            if sums:
                return sums[0]
        if problem.branching == 0:
            return None
        found = find_branchings(
            master.pool, point.weights, problem.blocks, problem.branching, problem.rank
        )
        return found[0] if found else None

    def _push(self, node: Node) -> Node:
        node = replace(node, number=next(self._numbers))
        heapq.heappush(self.open, node)
        return node

    def _close(self, node: Node, bound: float = math.inf) -> None:
        """Take a node off the open ones, once what replaces it is there.

        In this order, an interrupt at any moment leaves a true bound.
        """
        self.closed_bound = min(self.closed_bound, bound)
        self.open.remove(node)
        heapq.heapify(self.open)

    # incumbents

    def _offer(self, candidate: ColumnChoice | None) -> None:
        cost = self.options.cutoff if self.incumbent is None else self.incumbent.cost
        if candidate is not None and candidate.cost < cost:
            self.incumbent = candidate
            self._report()

    def _offer_columns(self, columns: Sequence[Column]) -> None:
        """A solution made of some columns, if they are one."""
        if columns:
            pool = self.generator.master.pool
            self.generator.master.add(columns)
            self._offer(self._solution(self.integer.accept(pool, pool.numbers(columns))))

    def _try_heuristics(self, node: Node, result: NodeResult) -> None:
        """Look for a better incumbent, as long as that takes a small part of the time."""
        now = time.perf_counter()
        if self.nodes > 1 and self.heuristic_seconds > _HEURISTIC_SHARE * (now - self.began):
            return
        if self._due(self.options.dive_every):
            seconds = self.options.heuristic_seconds
            found = dive(self.generator, self.integer, self._limits(node), seconds)
            self._offer(self._solution(found))
        if self._due(self.options.master_every):
            self._try_columns(result)
        self.heuristic_seconds += time.perf_counter() - now

    def _due(self, every: int | None) -> bool:
        wanted = every is not None and (self.nodes - 1) % every == 0
        return wanted and self.open[0].bound < self.cutoff and not self.budget.spent

    def _try_columns(self, result: NodeResult) -> None:
        """The master problem over the columns known that may be part of something better."""
        pool = self.generator.master.pool
        candidates = np.arange(len(pool))
        if result.point is not None and self.incumbent is not None:
            duals = result.point.duals
            reduced = pool.prices(1.0, np.pad(duals, (0, pool.height - len(duals))))
            reduced -= result.point.thresholds[pool.block]
            candidates = np.flatnonzero(reduced <= self.incumbent.cost - result.bound)
        if not len(candidates):
            return
        seconds = min(self.options.heuristic_seconds, max(1e-3, self.budget.seconds))
        options = Options(time_limit=seconds, stop=self.options.stop)
        found = self.integer.best_of(pool, candidates, self.incumbent, options)
        self._offer(self._solution(found))

    # progress

    def _report_root(self, node: int, bound: float) -> None:
        """Report a bound of the root, which rises while it is solved."""
        if node == 0:
            self._report(bound)

    def _report(self, bound: float = -math.inf) -> None:
        """Report the incumbent and the bound on all solutions, by the open nodes or otherwise."""
        if self.options.on_progress is None:
            return
        if self.open:
            bound = max(bound, self.root_bound, min(self.closed_bound, self.open[0].bound))
        cost = math.inf if self.incumbent is None else self.incumbent.cost
        if math.isfinite(bound := min(self.generator.rounded(bound), cost)):
            self.options.on_progress(bound, self.incumbent)

    # the answer

    def _finished(self, reason: Outcome | None) -> ColumnSolution:
        if reason is Outcome.UNBOUNDED:
            return self._answer(Status.INFEASIBLE_OR_UNBOUNDED, None)
        bound = max(self.root_bound, min([self.closed_bound, *(node.bound for node in self.open)]))
        bound = min(bound, self.options.cutoff)
        limit = None
        if reason is Outcome.LIMIT:
            limit = Limit.TIME if self.budget.seconds <= 0 else Limit.NODES
        if self.incumbent is None:
            if not self.open and math.isinf(bound):
                return self._answer(Status.INFEASIBLE, None)
            status = _without_point(reason or Outcome.OPEN)
            return self._answer(status, bound, limit, message=self.unresolved)
        cost = self.incumbent.cost
        bound = min(self.generator.rounded(bound), cost)
        if bound >= cost - _NOISE * max(1.0, abs(cost)):
            bound = cost  # nodes are closed at the cutoff, which lies below the cost by no more
        noise = AGREEMENT * max(1.0, abs(cost))
        if cost - bound <= (min(noise, 0.5) if self.options.integral_objective else noise):
            return self._answer(Status.OPTIMAL, bound, incumbent=self.incumbent)
        status = Status.INTERRUPTED if reason is Outcome.STOPPED else Status.FEASIBLE
        if reason is None and not self.unresolved:
            limit = Limit.GAP
        return self._answer(status, bound, limit, self.incumbent, self.unresolved)

    def _answer(
        self,
        status: Status,
        bound: float | None,
        limit: Limit | None = None,
        incumbent: ColumnChoice | None = None,
        message: str = "",
    ) -> ColumnSolution:
        def finite(value: float | None) -> float | None:
            return value if value is not None and math.isfinite(value) else None

        return ColumnSolution(
            status=status,
            objective=None if incumbent is None else incumbent.cost,
            bound=finite(bound),
            chosen=() if incumbent is None else incumbent.chosen,
            limit=limit,
            root_bound=None if status is Status.ERROR else finite(self.root_bound),
            duals=self.duals,
            nodes=self.nodes,
            columns=len(self.generator.master.pool),
            iterations=tuple(self.generator.history),
            seconds=time.perf_counter() - self.began,
            message=message,
        )


def _violates(chosen: Sequence[tuple[Column, float]], row: CutRow) -> bool:
    held = math.fsum(row.of(column) * number for column, number in chosen)
    return held > row.upper + SATISFIED * max(1.0, abs(row.upper))


def _without_point(outcome: Outcome) -> Status:
    """Return the status if no solution is known."""
    return {
        Outcome.INFEASIBLE: Status.INFEASIBLE,
        Outcome.UNBOUNDED: Status.INFEASIBLE_OR_UNBOUNDED,
        Outcome.STOPPED: Status.INTERRUPTED,
    }.get(outcome, Status.NO_SOLUTION)
