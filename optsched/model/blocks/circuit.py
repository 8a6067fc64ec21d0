"""Circuits: the chosen arcs form one tour, lowered by the order of visits (Miller, Tucker, Zemlin
1960).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optsched.errors import ModelError
from optsched.model.base import Block, Entries, Linear, ModelBase
from optsched.model.blocks.indicator import check_literal
from optsched.model.expression import Expression, Floats, Shape
from optsched.model.latex import FormulaWriter
from optsched.model.words import Writer

Nodes = NDArray[np.integer[Any]]


def circuit(
    model: ModelBase,
    arcs: Expression,
    tails: ArrayLike,
    heads: ArrayLike,
    *,
    name: str | None = None,
    formula: str = "",
) -> None:
    """Require that the arcs chosen form one tour through every node.

    A node whose loop (an arc from it to itself) is chosen is left out of the tour.

    Args:
        model: that requires it.
        arcs: plain binary variables, shape (arcs,).
        tails: the node each arc leaves, 0..n-1.
        heads: the node it enters; every node has an arc.
        name: of the block.
        formula: LaTeX.

    Example:
        >>> m = Model()
        >>> tails, heads = np.nonzero(~np.eye(4, dtype=bool))
        >>> go = m.binary("go", len(tails))
        >>> m.circuit(go, tails, heads)
        >>> m.minimize(go @ np.abs(tails - heads).astype(float))
        >>> solve(m).objective
        6.0
    """
    name = model.free_name(name, "circuit")
    model.add_block(Circuit(name, formula, arcs, *checked_arcs(model, name, arcs, tails, heads)))


def checked_arcs(
    model: ModelBase, name: str, arcs: Expression, tails: ArrayLike, heads: ArrayLike
) -> tuple[Nodes, Nodes]:
    """Tails and heads of arcs as arrays.

    Raises:
        ModelError: they are no nodes, not as many, or the arcs are not plain binaries.
    """
    ends = np.asarray(tails), np.asarray(heads)
    for one in ends:
        if one.shape != arcs.shape or one.ndim != 1 or one.dtype.kind not in "iu":
            raise ModelError(f"block {name!r}: whole numbers for tails and heads, one per arc")
    nodes = np.unique(np.concatenate(ends))
    if not np.array_equal(nodes, np.arange(len(nodes))):
        raise ModelError(f"block {name!r}: nodes must be 0..n-1, each with an arc")
    check_literal(model, name, arcs)
    return ends[0].copy(), ends[1].copy()


@dataclass(frozen=True, eq=False)
class Circuit(Block):
    """The arcs chosen form one tour; nodes whose loop is chosen are left out."""

    arcs: Expression
    """Binary variables, shape (arcs,)."""
    tails: Nodes
    """Shape (arcs,)."""
    heads: Nodes
    kind = "circuit"
    becomes = (Linear,)
    how = "one arc into and out of every node; numbers of visits grow along the arcs chosen"

    @property
    def shape(self) -> Shape:
        return ()

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return int(max(self.tails.max(initial=-1), self.heads.max(initial=-1))) + 1

    def excess(self, x: Floats) -> Floats:
        """Arcs too many or too few at nodes, or tours beyond the first."""
        on = np.round(self.arcs.at(x)) == 1
        tails, heads = self.tails[on], self.heads[on]
        counts = [np.bincount(ends, minlength=self.nodes) for ends in (tails, heads)]
        wrong = sum(int(np.abs(count - 1).sum()) for count in counts)
        if wrong:
            return np.asarray(float(wrong))
        follower = np.empty(self.nodes, dtype=np.int64)
        follower[tails] = heads
        left, tours = set(tails[tails != heads].tolist()), 0
        while left:
            tours += 1
            node = left.pop()
            while (node := int(follower[node])) in left:
                left.remove(node)
        return np.asarray(float(max(0, tours - 1)))

    def lower(self, model: ModelBase) -> None:
        """Degrees, and an order of visits that ends at one node only."""
        name, count = self.name, self.nodes
        if not count:
            return
        model.add(f"{name}:out", self.arcs.sum_by(self.tails, count) == 1)
        model.add(f"{name}:in", self.arcs.sum_by(self.heads, count) == 1)
        moves = np.flatnonzero(self.tails != self.heads)
        skips = len(moves) < len(self.tails)
        first = np.zeros(count)
        first[0] = 1.0  # the tour begins at node 0, unless it may be left out
        begins: Any = model.binary(f"{name}:begins", count) if skips else first
        if skips:
            model.add(f"{name}:begin", begins.sum() == 1)
        visit = model.integer(f"{name}:visit", count, upper=count - 1)
        step = visit[self.tails[moves]] + 1 - visit[self.heads[moves]]
        slack = count * (1 - self.arcs[moves]) + count * begins[self.heads[moves]]
        model.add(f"{name}:order", step <= slack)

    def words(self, writer: Writer, entries: Entries) -> list[str]:
        return [f"{self.arcs.size} arcs form a circuit of {self.nodes} nodes"] * len(entries)

    def latex(self, writer: FormulaWriter) -> str:
        return rf"\{{(i, j) : {writer.expression(self.arcs)} = 1\}} \text{{ is a circuit}}"
