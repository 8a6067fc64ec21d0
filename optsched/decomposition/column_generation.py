"""Column generation and branch-and-price, as a researcher states them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from optsched.decomposition.branch_and_price import TreeSearch
from optsched.decomposition.columns import Column, ColumnBlock, Price, Rank, alike, check_column
from optsched.decomposition.outcome import (
    ColumnSolution,
    GenerationOptions,
    Separate,
    Splits,
    merged,
)
from optsched.errors import InputError
from optsched.model.expression import Floats


class ColumnGeneration:
    """Minimise the total cost of columns, with rows and numbers per block within their limits.

    Each column is used a whole number of times. Columns are not listed but priced: for every
    block the caller solves "which column is cheapest at these dual values?", exactly if a proof is
    wanted. ``bound`` is the Lagrangian bound of dual values that were used, computed from what
    pricing proved. It holds at every moment, before convergence too.

    What pricing must support:

    * ``duals.rows`` of any sign, and ``duals.weight``: with weight 0 (asked when rows seem
      impossible to satisfy) costs do not count. :meth:`Duals.price_of` defines the price.
    * ``bound``: a proven lower bound on the price of all columns of the block. Heuristic
      pricing returns None and is asked again with ``duals.exact`` once it finds nothing.
    * ``duals.lower`` and ``duals.upper``, if ``branching >= 1`` and the block has ``upper <= 1``:
      only columns within these bounds on features may be offered or counted in the bound.
    * ``duals.terms``, if ``branching >= 1`` and the block has ``upper > 1``: a price more or less
      for columns with at least so many units of up to ``branching`` features together. One
      condition is enough where features are arcs of a path or binary and disjoint; pairs
      (``branching=2``) include Ryan and Foster's rule. Branching is complete when columns of a
      block that differ in coefficients or cost differ in features and ``branching`` is as large
      as the number of features (one, for blocks with ``upper <= 1``); if it is not, the
      search ends with what is proven and says so.
    * ``duals.added``, if there is ``separate`` or ``splits``: rows with dual values, of which a
      column pays its coefficient. :class:`ListedColumns` supports all of these.

    Args:
        lower: left-hand sides of the coupling rows, shape (rows,); -inf for none.
        upper: right-hand sides, shape (rows,); inf for none.
        blocks: how many columns of each block are chosen.
        price: cheapest columns of a block; what it raises is not caught.
        initial: columns to begin with; none are needed.
        known: columns of a solution that the tree is to beat, once for every time one is used.
        branching: how many conditions on features pricing supports in one term; 0: none at all.
        rank: of features; those of the highest are branched on first.
        separate: rows that a point violates and every solution satisfies, at the root and at nodes.
            A point is a solution if it is whole and no row cuts it off: so ``separate`` must be
            exact at whole points. ``TimeoutError`` leaves a whole point undecided.
        splits: sums of columns that must be whole; those that are fractional are branched on
            before features.

    Raises:
        InputError: sides that do not fit, no block, or a column given that does not fit.

    Example:
        Two rolls of length 10 give four pieces of length 5, or pieces of 6 and 4:

        >>> import numpy as np
        >>> from optsched.decomposition import Column, ColumnBlock, ColumnGeneration, Priced
        >>> patterns = [(0, 0, 2), (1, 1, 0), (0, 1, 1)]      # pieces of 6, 4 and 5
        >>> columns = [Column(0, 1.0, np.arange(3), np.array(p, float)) for p in patterns]
        >>> def price(block, duals):
        ...     best = min(columns, key=duals.price_of)
        ...     return Priced([best], bound=duals.price_of(best))
        >>> rolls = [ColumnBlock(lower=0, upper=np.inf, least_cost=1.0)]
        >>> problem = ColumnGeneration([1, 1, 4], [np.inf] * 3, rolls, price)
        >>> problem.solve(integral_objective=True).objective
        3.0
    """

    def __init__(
        self,
        lower: ArrayLike,
        upper: ArrayLike,
        blocks: Sequence[ColumnBlock],
        price: Price,
        *,
        initial: Sequence[Column] = (),
        known: Sequence[Column] = (),
        branching: int = 0,
        rank: Rank = alike,
        separate: Separate | None = None,
        splits: Splits | None = None,
    ) -> None:
        self.lower = _sides("lower", lower)
        self.upper = _sides("upper", upper)
        self.blocks = tuple(blocks)
        self.price = price
        self.initial = tuple(initial)
        self.known = tuple(known)
        self.branching = branching
        self.rank = rank
        self.separate = separate
        self.splits = splits
        if self.lower.shape != self.upper.shape:
            raise InputError.of("upper", self.upper.shape, f"shape {self.lower.shape}")
        wrong = ~(self.lower <= self.upper) | np.isposinf(self.lower) | np.isneginf(self.upper)
        if wrong.any():
            row = int(np.argmax(wrong))
            sides = (float(self.lower[row]), float(self.upper[row]))
            raise InputError.of(f"row {row}", sides, "lower <= upper, neither out of reach")
        if not self.blocks:
            raise InputError.of("blocks", blocks, "at least one")
        if branching < 0:
            raise InputError.of("branching", branching, "an integer >= 0")
        for column in (*self.initial, *self.known):
            check_column(column, len(self.blocks), len(self.lower))

    def solve(self, options: GenerationOptions | None = None, **settings: Any) -> ColumnSolution:
        """Return the best whole numbers of columns, by branch and price.

        Args:
            options: limits and tolerances.
            settings: single fields of the options, such as ``time_limit=60``.

        Raises:
            InputError: an option, or a column offered by pricing, that cannot be accepted.
        """
        return TreeSearch(self, merged(options, settings)).run()

    def solve_relaxation(
        self, options: GenerationOptions | None = None, **settings: Any
    ) -> ColumnSolution:
        """Return the relaxation, in which columns may be fractional; do not branch."""
        return TreeSearch(self, merged(options, settings)).relaxation()


def _sides(name: str, values: ArrayLike) -> Floats:
    array = np.array(values, dtype=np.float64)
    if array.ndim != 1 or np.isnan(array).any():
        raise InputError.of(name, values, "a vector of numbers, one per row")
    return array
