"""Column generation at one node: master problem and pricing in turn until a bound is proven."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from optsched.decomposition.bound import Smoothing, lagrangian_value
from optsched.decomposition.columns import (
    AddedRow,
    Column,
    ColumnBlock,
    Duals,
    Price,
    Priced,
    PricingError,
    Term,
    check_column,
)
from optsched.decomposition.limits import Limits
from optsched.decomposition.master import MasterPoint, Phase, RestrictedMaster
from optsched.decomposition.nodes import Budget, Iteration, NodeResult, Outcome
from optsched.model.expression import Floats
from optsched.solvers.solution import Status

IMPROVES = 1e-9
"""A column improves the master problem when its price undercuts by this, relative to
``max(1, largest cost)``."""

SATISFIED = 1e-6
"""A row counts as satisfied up to this, relative to ``max(1, |side|)``; rows that must miss by
more in all are proven unsatisfiable."""

ROUNDING = 1e-6
"""Bounds are rounded up to whole numbers, if the objective is whole, beyond this."""

CONVERGED = 1e-9
"""Bound and value of the relaxation have met at this distance, relative to ``max(1, |value|)``."""


@dataclass
class Generator:
    """Column generation over one master problem, from node to node."""

    master: RestrictedMaster
    blocks: Sequence[ColumnBlock]
    price: Price
    budget: Budget
    smoothing: float
    integral_objective: bool
    on_progress: Callable[[int, float], None] | None = None
    """Told a node's number and the bound on it after each round of pricing."""
    gap: float = 0.0
    """Distance of value and bound, relative to the value, at which a node may end."""
    absolute_gap: float = 0.0
    """The same, not relative."""
    history: list[Iteration] = field(default_factory=list)

    def rounded(self, bound: float) -> float:
        """A bound, raised to a whole number if every solution has a whole cost."""
        if not self.integral_objective or not math.isfinite(bound):
            return bound
        return float(math.ceil(bound - ROUNDING))

    def solve(
        self, limits: Limits, *, node: int = 0, cutoff: float = math.inf, known: float = -math.inf
    ) -> NodeResult:
        """Solve the relaxation of a node.

        Args:
            limits: what branching asks for.
            node: its number, for the history.
            cutoff: solutions of this cost or more are of no interest; bounds may rely on that.
            known: a lower bound on the node proven before.
        """
        if limits.empty:
            return NodeResult(Outcome.INFEASIBLE, math.inf, None)
        self.master.enter(limits)
        return _NodeRun(self, limits, node, cutoff, known).run()

    def improve(self, rounds: int) -> MasterPoint:
        """Solve the master problem as it stands, adding columns a few times; for dives.

        Nothing is proven: a dive has fixed columns that the node has not.
        """
        point = self.master.solve(self.budget.seconds)
        limits = self.master.limits
        for _ in range(rounds):
            if point.status is not Status.OPTIMAL or self.budget.spent:
                break
            answers = self.ask(limits, point.duals, point.thresholds, exact=False)
            if not self.master.add(self.improving(answers, point)):
                break
            self.budget.iterations -= 1
            point = self.master.solve(self.budget.seconds)
        return point

    def ask(
        self, limits: Limits, duals: Floats, thresholds: Floats, *, exact: bool
    ) -> list[Priced]:
        """Return what pricing of every block offers at these dual values.

        Raises:
            PricingError: a bound exceeds the price of a column the block is known to have.
            InputError: a column that does not fit.
        """
        master = self.master
        terms, added = self.added(duals[master.pool.coupling :])
        answers = []
        for b in range(len(self.blocks)):
            if limits.upper[b] <= 0:
                answers.append(Priced(bound=math.inf))
                continue
            if self.budget.spent:
                answers.append(Priced())
                continue
            question = Duals(
                rows=duals[: master.pool.coupling],
                weight=master.weight,
                threshold=float(thresholds[b]),
                terms=tuple(terms.get(b, ())),
                added=added,
                lower=limits.least.get(b, {}),
                upper=limits.most.get(b, {}),
                exact=exact,
                seconds=self.budget.seconds,
            )
            answer = self.price(b, question)
            self._check(b, question, answer)
            answers.append(answer)
        self._check_bounds(limits, duals, answers)
        return answers

    def added(
        self, duals: Floats
    ) -> tuple[dict[int, list[Term]], tuple[tuple[AddedRow, float], ...]]:
        """Return the dual values of added rows for pricing: terms by block, and the others."""
        terms: dict[int, list[Term]] = {}
        others: list[tuple[AddedRow, float]] = []
        for key, dual in zip(self.master.pool.added, duals.tolist(), strict=True):
            if dual and isinstance(key, tuple):
                terms.setdefault(key[0], []).append(Term(key[1], dual))
            elif dual and not isinstance(key, tuple):
                others.append((key, dual))
        return terms, tuple(others)

    def _check(self, block: int, question: Duals, answer: Priced) -> None:
        for column in answer.columns:
            check_column(column, len(self.blocks), self.master.pool.coupling)
            if column.block != block or not question.allows(column):
                raise PricingError(
                    f"block {block}: a column was offered that is not one of those allowed"
                )
            if answer.bound is None:
                continue
            price = question.price_of(column)
            if price < answer.bound - SATISFIED * max(1.0, abs(price)):
                raise PricingError(
                    f"block {block}: the bound {answer.bound:g} exceeds the price {price:g} "
                    "of a column offered with it"
                )

    def _check_bounds(self, limits: Limits, duals: Floats, answers: Sequence[Priced]) -> None:
        """Raise an error if a known column is cheaper than its block's bound."""
        pool = self.master.pool
        bounds = np.array([-np.inf if a.bound is None else a.bound for a in answers])
        prices = pool.prices(self.master.weight, duals)
        slack = prices + SATISFIED * np.maximum(1.0, np.abs(prices)) - bounds[pool.block]
        wrong = limits.allowed(pool) & (limits.upper[pool.block] > 0) & (slack < 0)
        if wrong.any():
            k = int(np.argmax(wrong))
            raise PricingError(
                f"block {pool.block[k]}: the bound {bounds[pool.block[k]]:g} exceeds the price "
                f"{prices[k]:g} of a column that is known"
            )

    def improving(self, answers: Sequence[Priced], point: MasterPoint) -> list[Column]:
        """Return the columns offered that have a negative reduced cost in the master problem."""
        pool, weight = self.master.pool, self.master.weight
        least = IMPROVES * max(1.0, weight * float(np.abs(pool.cost).max(initial=0.0)))
        taken = []
        for column in (column for answer in answers for column in answer.columns):
            rows, values = pool.entries(column)
            price = weight * column.cost - float(point.duals[rows] @ values)
            if price < point.thresholds[column.block] - least:
                taken.append(column)
        return taken


class _NodeRun:
    """One node, from entering it to its result."""

    def __init__(
        self, generator: Generator, limits: Limits, node: int, cutoff: float, known: float
    ) -> None:
        self.g = generator
        self.limits = limits
        self.node = node
        self.cutoff = cutoff
        self.bound = known
        self.duals: Duals | None = None
        self.value = -math.inf
        self.smoothing = Smoothing(generator.smoothing)
        self.numbers = (limits.lower, self._capped(limits.upper))
        self.capped = self.numbers[1] is not limits.upper

    def _capped(self, upper: Floats) -> Floats:
        """Return upper limits on numbers of columns that the cutoff on the cost implies."""
        endless = np.isinf(upper)
        if not endless.any() or math.isinf(self.cutoff):
            return upper
        floor = np.array([-np.inf if b.least_cost is None else b.least_cost for b in self.g.blocks])
        if np.isinf(floor).any() or (floor[endless] <= 0).any():
            return upper
        number = np.where(floor >= 0, self.limits.lower, np.where(endless, 0.0, upper))
        others = (floor * number).sum() - floor * number
        most = np.floor((self.cutoff - others[endless]) / floor[endless] + ROUNDING)
        capped = upper.copy()
        capped[endless] = np.maximum(most, self.limits.lower[endless])
        return capped

    def run(self) -> NodeResult:
        while True:
            if reason := self.g.budget.spent:
                return self._ended(reason, None)
            point = self.g.master.solve(self.g.budget.seconds)
            if point.status is not Status.OPTIMAL:
                return self._failed(point.status)
            if point.shortfall <= SATISFIED and self.g.master.phase is Phase.FEASIBILITY:
                self._change_phase(Phase.STRICT)
                continue
            if self._closed(point):
                return self._ended(Outcome.CONVERGED, point)
            result = self._price(point)
            if result is not None:
                return result

    def _failed(self, status: Status) -> NodeResult:
        if status is Status.UNBOUNDED:
            return self._ended(Outcome.UNBOUNDED, None)
        if status is Status.NO_SOLUTION:
            return self._ended(Outcome.LIMIT, None)
        return self._ended(Outcome.OPEN, None)

    def _ended(self, outcome: Outcome, point: MasterPoint | None) -> NodeResult:
        satisfied = (
            point is not None
            and point.shortfall <= SATISFIED
            and self.g.master.phase is not Phase.FEASIBILITY
        )
        proven = point if satisfied else None
        return NodeResult(outcome, self.bound, proven, self.duals, self.value)

    def _closed(self, point: MasterPoint) -> bool:
        """Return whether the bound meets the relaxation's value, up to gaps and rounding."""
        if self.g.master.phase is Phase.FEASIBILITY or point.shortfall > SATISFIED:
            return False
        apart = self.g.rounded(point.value) - self.bound
        near = max(self.g.gap * abs(point.value), self.g.absolute_gap)
        return apart <= max(CONVERGED * max(1.0, abs(point.value)), near)

    def _change_phase(self, phase: Phase) -> None:
        self.g.master.enter_phase(phase)
        self.smoothing = Smoothing(self.g.smoothing)

    def _price(self, point: MasterPoint) -> NodeResult | None:
        """Price until the master problem has a new column, or the node is decided."""
        exact = False
        while True:
            trial, own = self.smoothing.trial(point.duals)
            answers = self.g.ask(self.limits, trial, point.thresholds, exact=exact)
            value = self._value(trial, answers)
            before = len(self.g.master.pool)
            phase = self.g.master.phase
            if decided := self._learn(trial, value):
                self._record(point, value, phase, 0)
                return decided
            self.g.master.add(self.g.improving(answers, point))
            added = len(self.g.master.pool) - before
            self.smoothing.learn(trial, value, missed=not added)
            self.g.budget.iterations -= 1
            self._record(point, value, phase, added)
            if added:
                return None
            if self._closed(point):
                return self._ended(Outcome.CONVERGED, point)
            if reason := self.g.budget.spent:
                return self._ended(reason, point)
            if not own:
                continue
            if exact or (value is not None and point.value - value <= self._noise(point)):
                return self._without_columns(point, value)
            exact = True

    def _noise(self, point: MasterPoint) -> float:
        """Return the distance between value and bound that errors of dual values may cause."""
        return SATISFIED * max(1.0, abs(point.value))

    def _without_columns(self, point: MasterPoint, value: float | None) -> NodeResult | None:
        """No column improves the master problem at its own prices, even by exact pricing."""
        phase = self.g.master.phase
        if value is None:
            return self._ended(Outcome.OPEN, point)  # nothing says that no column exists
        if phase is Phase.PENALISED and point.shortfall > SATISFIED:
            self._change_phase(Phase.FEASIBILITY)
            return None
        # in the feasibility phase: rows are missed, yet there is no proof that they must be
        proven = phase is not Phase.FEASIBILITY and point.value - value <= self._noise(point)
        return self._ended(Outcome.CONVERGED if proven else Outcome.OPEN, point)

    def _value(self, trial: Floats, answers: Sequence[Priced]) -> float | None:
        bounds = [answer.bound for answer in answers]
        if any(bound is None for bound in bounds):
            return None
        return lagrangian_value(
            trial,
            self.g.master.sides,
            np.array(bounds, dtype=np.float64),
            self.numbers,
            self.g.blocks,
            self.g.master.weight,
        )

    def _learn(self, trial: Floats, value: float | None) -> NodeResult | None:
        """Take the Lagrangian value of a trial; return the node's result if that decides it."""
        if value is None:
            return None
        if self.g.master.phase is Phase.FEASIBILITY:
            value = math.inf if value > SATISFIED else self.bound
        if self.capped:  # nothing is proven of solutions that cost more
            value = min(value, self.cutoff)
        if (proven := self.g.rounded(value)) > self.bound:
            terms, added = self.g.added(trial[self.g.master.pool.coupling :])
            self.bound, self.value = proven, -math.inf if terms else value
            self.duals = Duals(rows=trial[: self.g.master.pool.coupling], added=added)
        if self.bound == math.inf:
            return NodeResult(Outcome.INFEASIBLE, math.inf, None)
        if self.bound >= self.cutoff:
            return NodeResult(Outcome.CUT_OFF, self.bound, None)
        return None

    def _record(self, point: MasterPoint, value: float | None, phase: Phase, columns: int) -> None:
        bound = None if phase is Phase.FEASIBILITY else value
        self.g.history.append(Iteration(self.node, phase, point.value, bound, columns))
        if self.g.on_progress is not None:
            self.g.on_progress(self.node, self.bound)
