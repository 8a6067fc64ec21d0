"""Which number to branch on: the one whose children cost most by the columns known."""

from __future__ import annotations

from collections.abc import Sequence

from optsched.decomposition.branching import Branching
from optsched.decomposition.columns import ColumnBlock
from optsched.decomposition.limits import Limits, Restriction, SplitRestriction
from optsched.decomposition.master import RestrictedMaster
from optsched.decomposition.nodes import Budget
from optsched.solvers.solution import Status

_LEAST = 1e-3  # of what can be gained, so that a child that gains nothing is not all that counts


def likely(
    found: Sequence[Branching], blocks: Sequence[ColumnBlock], most: int
) -> Sequence[Branching]:
    """The first few, of as many conditions and of a rank; none if one takes its own row."""
    few = [one for one in found if one.score[:2] == found[0].score[:2]][:most]
    return few if all(blocks[one.block].upper <= 1 for one in few) else []


def strongest(
    master: RestrictedMaster,
    blocks: Sequence[ColumnBlock],
    node: tuple[Restriction | SplitRestriction, ...],
    candidates: Sequence[Branching],
    value: float,
    gain: float,
    budget: Budget,
) -> Branching:
    """Return the candidate for which the product of what both children gain is largest.

    The master problem is solved for each child without pricing, so that gains are too large; what
    children are worth is left to the search.

    Args:
        master: at the node, solved.
        blocks: of the columns.
        node: its restrictions.
        candidates: at least one, the first of which is taken if all are alike.
        value: of the node's relaxation over the columns known.
        gain: more than this counts as much as this; positive.
        budget: what is left; those not tried when it is spent are not taken.
    """
    start = master.basis

    def gained(child: Restriction) -> float:
        limits = Limits.of(blocks, (*node, child))
        if limits.empty:
            return gain
        master.enter(limits)
        master.basis = start
        point = master.solve(budget.seconds)
        more = point.value - value if point.status is Status.OPTIMAL else gain
        return min(max(more, _LEAST * gain), gain)

    best, most = candidates[0], -1.0
    for one in candidates:
        if budget.spent:
            break
        product = gained(one.down) * gained(one.up)
        if product > most * (1 + 1e-9):
            best, most = one, product
    return best
