"""[AE3]: patterns of items per node, for column generation: a knapsack prices them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from formulations.aerialedge.construct import shuffled
from formulations.aerialedge.instance import Floats, Integers
from formulations.aerialedge.vector_packing import Bin, VectorPacking, total_weight
from optsched.decomposition import (
    Column,
    ColumnBlock,
    ColumnChoice,
    ColumnGeneration,
    Duals,
    Priced,
)
from optsched.decomposition.columns import Feature
from optsched.decomposition.knapsack import NODES, Knapsack, ThresholdValue

_FEW = 500  # items up to which so many packings take little time
_QUICK = 10_000  # partial patterns bounded, as long as that finds good ones
_A_SECOND = 200_000  # partial patterns bounded in a second, so that pricing ends in time
_KEEP = 8  # patterns offered at a time
_DISJOINT = 20  # patterns offered at a time that share no item
_BRIEF = 5_000  # partial patterns bounded for each of those
_ROUNDING = 1e-10  # of a bound that is a sum of floats, relative
_VARIANTS = 6  # packings by perturbed sizes to begin with


def _option(feature: Feature) -> int:
    """Features are the numbers of options."""
    assert isinstance(feature, int)
    return feature


class PatternModel:
    """Rows: every task type is served; blocks: the node types; columns: patterns."""

    def __init__(self, packing: VectorPacking) -> None:
        self.packing = packing
        self.first = np.searchsorted(packing.type_of_option, np.arange(packing.task_types))
        self.knapsacks = [
            Knapsack(packing.size, packing.type_of_option, packing.number, capacity)
            for capacity in packing.capacity
        ]

    def column(self, node_type: int, options: Sequence[int]) -> Column:
        """The pattern that packs these options, named as often as they are packed."""
        return self.column_of(node_type, np.bincount(options, minlength=len(self.packing.size)))

    def column_of(self, node_type: int, units: Integers) -> Column:
        """The pattern with so many units of each option, shape (options,)."""
        rows = np.add.reduceat(units, self.first)
        used = np.flatnonzero(rows)
        features: dict[Feature, int] = {int(k): int(units[k]) for k in np.flatnonzero(units)}
        return Column(
            block=node_type,
            cost=float(self.packing.weight[node_type]),
            rows=used,
            values=rows[used].astype(np.float64),
            features=features,
            payload=tuple(np.repeat(np.arange(len(units)), units).tolist()),
        )

    def price(self, block: int, duals: Duals) -> Priced:
        """The cheapest patterns of a node type, exactly unless too many partial ones remain."""
        cost = duals.weight * float(self.packing.weight[block])
        value = duals.rows[self.packing.type_of_option]
        terms = [
            ThresholdValue({_option(c.feature): c.at_least for c in t.conditions}, t.price)
            for t in duals.terms
        ]
        beat = cost - duals.threshold if np.isfinite(duals.threshold) else -np.inf
        beat = max(beat, 0.0) if not terms else beat
        thorough = int(min(NODES, max(_QUICK, _A_SECOND * duals.seconds)))
        for nodes in (thorough,) if duals.exact else (_QUICK, thorough):
            found = self.knapsacks[block].solve(
                value, beat=beat, terms=terms, keep=_KEEP, nodes=nodes
            )
            if len(found.units) or found.most <= beat:
                break
        units = list(found.units)
        if len(units) and not terms:
            units += self._disjoint(block, value, beat, units[0])
        return Priced([self.column_of(block, u) for u in units], bound=cost - found.most)

    def _disjoint(
        self, block: int, value: Floats, beat: float, units: Integers
    ) -> Iterator[Integers]:
        """Yield patterns that share no item with this one or each other: they help other rows."""
        left = self.packing.number.copy()
        for _ in range(_DISJOINT):
            left -= np.add.reduceat(units, self.first)
            best = self.knapsacks[block].solve(value, beat=beat, keep=1, nodes=_BRIEF, left=left)
            if not len(best.units):
                return
            units = best.units[0]
            yield units

    def problem(self, start: Sequence[Bin] = (), known: Sequence[Column] = ()) -> ColumnGeneration:
        """Return the master problem, with some patterns to begin with.

        Its optimum is right; before that, a solution heavier than the start may use more nodes
        than there are.

        Args:
            start: a packing that the tree is to beat.
            known: further patterns; by default those of quick packings.
        """
        packing = self.packing
        few = packing.items <= _FEW
        first = () if known else shuffled(packing, _VARIANTS if few else 2)
        worst = total_weight(packing, list(start)) if start else np.inf
        # a limit that no solution as good as the start can reach weakens the bound for nothing
        most = np.where(packing.available * packing.weight >= worst, np.inf, packing.available)
        blocks = [
            ColumnBlock(lower=0.0, upper=float(n), least_cost=float(w))
            for n, w in zip(most, packing.weight, strict=True)
        ]
        return ColumnGeneration(
            packing.number.astype(np.float64),
            np.full(packing.task_types, np.inf),
            blocks,
            self.price,
            initial=[*known, *(self.column(b.node_type, b.options) for b in first)],
            known=[self.column(b.node_type, b.options) for b in start],
            branching=len(packing.size),
        )


def bins_of(packing: VectorPacking, incumbent: ColumnChoice | None) -> list[Bin] | None:
    """Return the patterns chosen as nodes; None if there are none, or more than may be used."""
    if incumbent is None:
        return None
    bins = [
        Bin(column.block, column.payload)
        for column, times in incumbent.chosen
        for _ in range(round(times))
    ]
    used = np.bincount([b.node_type for b in bins], minlength=packing.node_types)
    return bins if (used <= packing.available).all() else None


def relaxation_bound(packing: VectorPacking, *, time_limit: float | None = None) -> float:
    """The bound of [AE3]'s linear relaxation, in units of weight, rounded up: weights are whole."""
    solution = PatternModel(packing).problem().solve_relaxation(time_limit=time_limit)
    if solution.bound is None or not np.isfinite(solution.bound):
        return -np.inf if solution.bound is None else solution.bound
    return float(np.ceil(solution.bound - _ROUNDING * max(1.0, solution.bound)))
