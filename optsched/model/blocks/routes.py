"""Routes: the chosen arcs form tours that all pass the depot, and every other node is on one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from optsched.errors import ModelError
from optsched.model.base import Entries, ModelBase
from optsched.model.blocks.circuit import Circuit, checked_arcs
from optsched.model.expression import Expression, Floats
from optsched.model.latex import FormulaWriter
from optsched.model.words import Writer


def routes(
    model: ModelBase,
    arcs: Expression,
    tails: ArrayLike,
    heads: ArrayLike,
    *,
    name: str | None = None,
    formula: str = "",
) -> None:
    """Require that the arcs chosen form any number of tours from node 0, the depot, and back.

    Every other node is on one tour, once; one whose loop (an arc from it to itself) is chosen is
    left out. How many tours there are is ``arcs[tails == 0].sum()``.

    Args:
        model: that requires it.
        arcs: plain binary variables, shape (arcs,).
        tails: the node each arc leaves, 0..n-1.
        heads: the node it enters; every node has an arc, the depot no loop. Without any arc there
            is the depot alone.
        name: of the block.
        formula: LaTeX.

    Example:
        >>> m = Model("two vans")
        >>> tails, heads = np.nonzero(~np.eye(5, dtype=bool))
        >>> go = m.binary("go", len(tails))
        >>> m.routes(go, tails, heads)
        >>> m.add("vans", go[tails == 0].sum() == 2)
        >>> m.minimize(go @ np.abs(tails - heads).astype(float))
        >>> solve(m).objective
        10.0
    """
    name = model.free_name(name, "routes")
    ends = checked_arcs(model, name, arcs, tails, heads)
    if np.any((ends[0] == 0) & (ends[1] == 0)):
        raise ModelError(f"block {name!r}: the depot, node 0, has no loop: it is on every tour")
    model.add_block(Routes(name, formula, arcs, *ends))


@dataclass(frozen=True, eq=False)
class Routes(Circuit):
    """The arcs chosen form tours through node 0; nodes whose loop is chosen are left out."""

    kind = "routes"
    how = "one arc into and out of every node but the depot; numbers of visits grow along the arcs"

    def excess(self, x: Floats) -> Floats:
        """Arcs too many or too few at nodes, or tours that do not pass the depot."""
        on = np.round(self.arcs.at(x)) == 1
        tails, heads = self.tails[on], self.heads[on]
        out, into = (np.bincount(ends, minlength=max(1, self.nodes)) for ends in (tails, heads))
        wrong = np.abs(out[1:] - 1).sum() + np.abs(into[1:] - 1).sum() + abs(out[0] - into[0])
        if wrong:
            return np.asarray(float(wrong))
        follower = dict(zip(tails[tails > 0].tolist(), heads[tails > 0].tolist(), strict=True))
        left = set(follower) - set(tails[tails == heads].tolist())
        for node in heads[tails == 0].tolist():
            while node:
                left.discard(node)
                node = follower[node]
        return np.asarray(float(len(left)))

    def lower(self, model: ModelBase) -> None:
        """Degrees, and an order of visits that grows along every arc between customers."""
        name, count = self.name, self.nodes
        if not count:
            return
        out, into = (self.arcs.sum_by(ends, count) for ends in (self.tails, self.heads))
        model.add(f"{name}:out", out[1:] == 1)
        model.add(f"{name}:in", into[1:] == 1)
        model.add(f"{name}:depot", out[0] == into[0])
        inner = np.flatnonzero((self.tails != self.heads) & (self.tails > 0) & (self.heads > 0))
        visit = model.integer(f"{name}:visit", count, upper=max(0, count - 2))
        step = visit[self.tails[inner]] + 1 - visit[self.heads[inner]]
        model.add(f"{name}:order", step <= (count - 1) * (1 - self.arcs[inner]))

    def words(self, writer: Writer, entries: Entries) -> list[str]:
        told = f"{self.arcs.size} arcs form routes from node 0 through {self.nodes} nodes"
        return [told] * len(entries)

    def latex(self, writer: FormulaWriter) -> str:
        return rf"\{{(i, j) : {writer.expression(self.arcs)} = 1\}} \text{{ are routes from }} 0"
