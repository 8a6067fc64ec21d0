"""Find a proof in floating point: by the parts that rows couple, or by one tree."""

from __future__ import annotations

import math
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.proof.exact_model import ExactModel, ExactRow
from optsched.proof.pricing import OVER, Offer, Part, Prices
from optsched.proof.tree import BITS, Node, NoPointError, NotProvenError, TooLargeError, TreeSearch
from optsched.proof.verifying import FORMAT, VERSION, combined, rounding
from optsched.solvers.scaling import with_whole_bounds

_PLAIN = 2500  # nodes of a tree without prices, after which every node gets its own
_MOST = 100_000  # nodes of a part's tree
_AT_ONCE = 0.6  # of the time, to see whether the parts alone reach the claim
_SPARE = 2e-7  # relative, of what parts must show beyond what is asked for, for rounding
_CUT = 1e-4  # by which a rounding is violated that is added


def find(
    form: MatrixForm,
    claim: float | None,
    *,
    tying: Collection[str] = (),
    seconds: float = math.inf,
    most_nodes: int = 100_000,
) -> dict[str, Any]:
    """A proof that no point is better than a value, or that there is no point.

    Args:
        form: the model, compiled with rotated cones as they are.
        claim: the value, such as that of an optimal point; None: there is no point.
        tying: blocks of rows without which the model falls apart; "room" stands for "room:2" as
            well. Where they have prices at which the parts show the claim, each by itself, that is
            the proof; else a tree is grown, and where that is large, one with prices at each node.
            A model with cones is not taken apart.
        seconds: wall time it may take.
        most_nodes: of the tree.

    Returns:
        The document that ``verify`` reads.

    Raises:
        NotProvenError: a limit was reached, or the claim seems to be false; ``NoPointError`` where
            a value was claimed and there is no point.
        ProofError: the model has blocks a proof cannot speak of.

    Example:
        >>> from optsched import Model
        >>> from optsched.proof import find, verify
        >>> m = Model("two shops, one van")
        >>> x = m.integer("x", (2, 2), upper=5)
        >>> m.add("shop", 2 * x[:, 0] + 3 * x[:, 1] <= 10)
        >>> m.add("van", x.sum() <= 6)
        >>> m.maximize(3 * x[:, 0].sum() + 4 * x[:, 1].sum())
        >>> proof = find(m.compile(), 24.0, tying=["van"])
        >>> print(verify(m.compile(), proof))
        24
    """
    form = with_whole_bounds(form)
    deadline, model = time.perf_counter() + seconds, ExactModel(form)
    prices = Prices(form, tying) if tying and claim is not None and not form.nonlinear else None
    searches = [TreeSearch(form, model, deadline, most_nodes)]
    if prices is not None and len(prices.parts) > 1:
        searches = [
            _ByParts(form, model, deadline, min(most_nodes, _PLAIN), prices, at_root=True),
            _ByParts(form, model, deadline, most_nodes, prices),
        ]
    *first, last = searches
    for search in first:
        with suppress(TooLargeError):
            return _document(search, claim)
    return _document(last, claim)


def _document(search: TreeSearch, claim: float | None) -> dict[str, Any]:
    if claim is not None:
        search.aim(Fraction(search.model.sign * claim), max(1.0, abs(claim)))
    nodes, bound = search.run(), search.target
    if bound is not None and all("split" in n or n.get("cost") == 0 for n in nodes):
        raise NoPointError("the model has no point, of whatever value")
    if search.shown:
        bound = Fraction(math.nextafter(float(min(search.shown)), -math.inf))
    pair = None if bound is None else (search.model.sign * bound).as_integer_ratio()
    return {
        "format": FORMAT,
        "version": VERSION,
        "bound": None if pair is None else list(pair),
        "extra": search.extra,
        "nodes": nodes,
    }


class _ByParts(TreeSearch):
    """A tree whose leaves may be closed by the parts of the model, at prices of what ties them."""

    def __init__(
        self,
        form: MatrixForm,
        model: ExactModel,
        deadline: float,
        most_nodes: int,
        prices: Prices,
        *,
        at_root: bool = False,
    ) -> None:
        super().__init__(form, model, deadline, most_nodes)
        self.prices, self.at_root = prices, at_root
        if not at_root:
            self.choices = []  # splits of single columns, which bound those of parts

    def otherwise(self, node: Node, root: bool) -> tuple[dict[str, Any] | None, Node]:
        """By its parts; else the node has a mix of their points for its relaxation's."""
        if self.at_root:
            return self._priced(node) if root else (None, node)
        leaf, node = self._priced(node)
        while leaf is None and self._round(node):
            leaf, node = self._priced(self.node(*node[:4]))
        return leaf, node

    def _priced(self, node: Node) -> tuple[dict[str, Any] | None, Node]:
        assert self.target is not None
        enough = float(self.target - self.step - self.model.offset)
        spare = _SPARE * max(1.0, abs(enough))
        now = time.perf_counter()
        until = now + (self.deadline - now) * (_AT_ONCE if self.at_root else 1.0)
        offer = self.prices.search(
            node.lower, node.upper, enough + spare, until, generate=not self.at_root
        )
        if offer.point is not None and not self.whole(offer.point):
            node = node._replace(relaxed=node.relaxed._replace(x=offer.point))
        leaf = None
        if enough + 0.5 * spare <= offer.value < math.inf:
            with suppress(NotProvenError):
                leaf = self.closed(node, self._leaf_of(node, offer, offer.value - enough))
        return leaf, node

    def _leaf_of(self, node: Node, offer: Offer, spare: float) -> dict[str, Any]:
        """What the parts cost; what there is to spare is given to those that are hard to judge."""
        asked = np.flatnonzero(offer.y)
        rows, y = self.prices.rows[asked].tolist(), offer.y[asked].tolist()
        reduced, parts = self.prices.reduced(offer.y / OVER), self.prices.parts
        terms, _ = combined(self.rows, (), rows, y)
        searches = [self._of_part(node, part, reduced, terms) for part in parts]
        least, relaxed = np.array(offer.least), [s.root().relaxed.value for s in searches]
        hard = np.maximum(least - relaxed, 0.0) + _SPARE
        bounds = least - 0.9 * spare * hard / hard.sum()
        proven = []
        for part, search, bound in zip(parts, searches, bounds.tolist(), strict=True):
            search.target, search.near = Fraction(bound), bound + 0.05 * spare / len(parts)
            proven.append(
                {
                    "columns": part.columns.tolist(),
                    "bound": list(bound.as_integer_ratio()),
                    "nodes": [_renumbered(one, part) for one in search.run()],
                }
            )
        return {"rows": rows, "y": y, "over": OVER, "parts": proven}

    def _of_part(
        self, node: Node, part: Part, reduced: Floats, terms: dict[int, int]
    ) -> TreeSearch:
        """A search of a part's tree at these prices, within the node's bounds."""
        j = part.columns
        form = replace(part.form, cost=reduced[j], lower=node.lower[j], upper=node.upper[j])
        model = part.model.of_cost(
            {
                local: Fraction(self.model.cost.get(c, 0) * OVER - terms.get(c, 0))
                / (OVER * self.model.unit)
                for local, c in enumerate(j.tolist())
            }
        )
        model.columns = [node.branch.columns.get(c, self.model.columns[c]) for c in j.tolist()]
        search = TreeSearch(form, model, self.deadline, _MOST)
        search.bits = BITS[3:]
        return search

    def _round(self, node: Node) -> bool:
        """Add what rounding says of rows that tie, divided by a coefficient, if it cuts any."""
        before = len(self.extra)
        for i in self.prices.rows[self.prices.rows < len(self.model.rows)].tolist():
            row = self.rows[i]
            if row.upper is not None:
                sizes = {abs(a) for j, a in row.terms.items() if a and self.model.integer[j]}
                for size in sorted(sizes):
                    extra = {"rows": [i], "y": [-self.model.unit], "over": size}
                    self._cut_off(node, extra, rounding(self.model, self.rows, extra))
        return len(self.extra) > before

    def _cut_off(self, node: Node, extra: dict[str, Any], cut: ExactRow) -> None:
        """Add a row that ties if the node's point violates it."""
        x, unit, side = node.relaxed.x, self.model.unit, cut.lower or 0
        assert x is not None
        terms = np.zeros(len(x))
        terms[list(cut.terms)] = [a / unit for a in cut.terms.values()]
        if terms @ x < side / unit - _CUT and cut not in self.rows:
            self.relaxation.add(cut.terms, side, unit)
            self.prices.add(len(self.rows), terms, side / unit)
            self.extra.append(extra)
            self.rows.append(cut)


def _renumbered(node: dict[str, Any], part: Part) -> dict[str, Any]:
    """A node of a part's tree as one of the whole model's."""
    if "split" in node:
        columns, a, k = node["split"]
        return {"split": [part.columns[columns].tolist(), a, k]}
    return {**node, "rows": [int(part.rows[i]) if i >= 0 else i for i in node["rows"]]}
