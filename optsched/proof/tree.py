"""Find a proof in floating point: branch and bound with a known optimum.

HiGHS solves the linear relaxation of every node. Its row multipliers, rounded to as few bits as
possible, close a leaf. ``verifying`` decides in exact arithmetic whether they do.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from optsched.model.blocks import RotatedCone
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.proof.exact_model import ExactModel
from optsched.proof.mending import mended
from optsched.proof.relaxation import Relaxation, Relaxed, Sum
from optsched.proof.verifying import (
    Branch,
    children,
    leaf_value,
    row_at,
    tangent,
)

TOLERANCE = 1e-6
"""Relative distance to the claim at which a leaf closes where values lie on no grid; the bound
claimed is then the one that was shown."""

BITS = (0, 4, 10, 20, 30, 45, 60)  # of the multipliers' denominators, tried in this order
_HALVES = 2  # choices, and as many columns beside them, or else
_TRIED = 8  # columns, whose children are solved to choose one to branch on
_KNOWN = 4  # times a column is tried before its gains are taken from experience
_WHOLE = 1e-6  # distance to a whole number that is rounding
_NEAR = 1e-9  # relative distance of a relaxation to what is asked for that is rounding
_SPARE = 2e-7  # relative, of what parts must show beyond what is asked for, for rounding
_CUT = 1e-4  # by which a rounding is violated that is added
_OUTSIDE = 1e-7  # excess of a cone from which on a tangent is added
_FINEST = 2**30  # of one, to which the vectors of tangents are rounded


class NotProvenError(Exception):
    """No proof was found; the message says why."""


class NoPointError(NotProvenError):
    """The model has no point, of whatever value."""


class TooLargeError(NotProvenError):
    """The tree has too many nodes."""


_Split = tuple[list[int], list[int], int]
"""Columns, coefficients and k, as in a proof."""


class Node(NamedTuple):
    """What is known of one while the tree grows."""

    branch: Branch
    lower: Floats
    upper: Floats
    sums: tuple[Sum, ...]
    """Sums of the branch's rows."""
    relaxed: Relaxed


class TreeSearch:
    """Search a tree for a model; a subclass may know of further ways to close a leaf."""

    def __init__(
        self, form: MatrixForm, model: ExactModel, deadline: float, most_nodes: int
    ) -> None:
        self.form, self.model = form, model
        self.deadline, self.most_nodes = deadline, most_nodes
        self.integer = np.flatnonzero(form.integer)
        self.cones = [block for block in form.nonlinear if isinstance(block, RotatedCone)]
        self.rows = list(self.model.rows)
        self.extra: list[dict[str, Any]] = []
        self.relaxation = Relaxation(form)
        self.choices = _choices(form)
        self.bits: tuple[int, ...] = BITS
        self.target: Fraction | None = None
        """What the bound of a leaf must reach; None: only contradictions close it."""
        self.step = Fraction(0)
        """Bounds that are nearer to the target are rounded up to it."""
        self.near = math.inf
        """The value of a relaxation from which on it may close a leaf."""
        self.gains: dict[int, tuple[int, float, float]] = {}
        """Gains by column: how often its children were solved, and what they gained per unit."""
        self.shown: list[Fraction] = []
        """The bounds of leaves, where values lie on no grid."""

    def aim(self, claim: Fraction, size: float) -> None:
        """Where the claim is on a grid, all below it is a step away; else every bit counts."""
        slack = Fraction(TOLERANCE * size)
        on_grid = self.model.raised(claim - slack)
        if self.model.grid > slack and on_grid <= claim + slack:
            self.target, self.step = on_grid, self.model.grid
            self.near = float(on_grid - self.model.grid) - _NEAR * size
        else:
            self.target, self.bits = claim - slack, BITS[-1:]
            self.near = float(claim) - _NEAR * size

    def run(self) -> list[dict[str, Any]]:
        """The nodes, depth first and so in preorder.

        Raises:
            NotProvenError: a limit was reached, or the claim seems to be false.
        """
        nodes: list[dict[str, Any]] = []
        waiting = [self.root()]
        while waiting:
            if len(nodes) + len(waiting) > self.most_nodes:
                raise TooLargeError(f"no proof of {self.most_nodes} nodes or fewer")
            node = waiting.pop()
            leaf = self._leaf(node)
            while leaf is None and self._cut(node):
                node = self.node(*node[:4])
                leaf = self._leaf(node)
            if leaf is None:
                leaf, node = self.otherwise(node, not nodes)
            if leaf is None:
                tried = self._children(node)
                if tried is not None:
                    split, two = tried
                    nodes.append({"split": split})
                    waiting += reversed(two)
                    continue
                leaf = self._rounded(node, 1)
            if leaf is None:
                value = f"{self.model.sign * node.relaxed.value:.12g}"
                if self.target is not None and node.relaxed.value >= self.target:
                    raise NotProvenError(
                        f"rounded multipliers do not close a node of value {value}"
                    )
                raise NotProvenError(f"a point of value {value} seems to be better")
            nodes.append(leaf)
        return nodes

    def otherwise(self, node: Node, root: bool) -> tuple[dict[str, Any] | None, Node]:
        """The leaf that a node's relaxation does not close, closed otherwise; else the node to
        split.
        """
        return None, node

    def root(self) -> Node:
        return self.node(Branch({}, ()), self.form.lower, self.form.upper, ())

    def node(self, branch: Branch, lower: Floats, upper: Floats, sums: tuple[Sum, ...]) -> Node:
        relaxed = self.relaxation.solve(lower, upper, self.deadline - time.perf_counter(), sums)
        if time.perf_counter() > self.deadline:
            raise NotProvenError("no proof within the time")
        return Node(branch, lower, upper, sums, relaxed)

    # leaves

    def _leaf(self, node: Node) -> dict[str, Any] | None:
        """The node closed by the multipliers of its relaxation; None if they do not do."""
        relaxed = node.relaxed
        if self.model.empty:
            return {"rows": [], "y": [], "over": 1, "cost": 0}
        if relaxed.x is not None:
            return self._rounded(node, 1) if relaxed.value >= self.near else None
        size = max(1e-300, np.abs(relaxed.y).max(initial=0), np.abs(relaxed.split).max(initial=0))
        for scale in (1 / size, -1 / size):
            leaf = self._rounded(node, 0, scale)
            if leaf is not None:
                return leaf
        raise NotProvenError("HiGHS gives no multipliers that show a node to be empty")

    def _rounded(self, node: Node, priced: int, scale: float = 1.0) -> dict[str, Any] | None:
        """A leaf with the node's multipliers, rounded to as few bits as close it."""
        y, split = scale * node.relaxed.y, scale * node.relaxed.split
        if self.cones:
            y[len(self.model.rows) :] /= _FINEST  # the relaxation has tangents smaller
        y = np.concatenate([y, split[::-1]])  # the root's split is row -1
        for bits in self.bits if priced else BITS:
            whole = np.rint(np.ldexp(y, bits))
            rows = []
            for place in np.flatnonzero(whole).tolist():
                i = place if place < len(self.rows) else place - len(y)
                row = row_at(self.rows, node.branch.rows, i)
                if (row.lower if whole[place] > 0 else row.upper) is not None:
                    rows.append(i)
            leaf: dict[str, Any] = {
                "rows": rows,
                "y": [int(whole[i]) for i in rows],
                "over": 2**bits,
            }
            if not priced:
                leaf["cost"] = 0
            closed = self.closed(node, leaf)
            if closed is not None:
                return closed
        return None

    def closed(self, node: Node, leaf: dict[str, Any]) -> dict[str, Any] | None:
        """The leaf, mended if need be; None if it does not close."""
        value = leaf_value(self.model, self.rows, node.branch, leaf)
        if value is None:
            leaf = mended(self.model, self.rows, leaf, node.branch.rows) or leaf
            value = leaf_value(self.model, self.rows, node.branch, leaf)
        if value is None:
            return None
        if leaf.get("cost", 1) == 0:
            return leaf if value > 0 else None
        if self.target is None or self.model.raised(value) < self.target:
            return None
        if len(self.bits) == 1:
            self.shown.append(value)
        return leaf

    # tangents

    def _cut(self, node: Node) -> bool:
        """Add tangents of the cones that a node's optimum lies outside of, if any."""
        x, first, before = node.relaxed.x, 0, len(self.extra)
        assert x is not None
        for cone in self.cones:
            count, width = cone.u.size, cone.w.shape[-1]
            u, v, w = cone.u.at(x).ravel(), cone.v.at(x).ravel(), cone.w.at(x).reshape(-1, width)
            for i in np.flatnonzero(cone.excess(x).ravel() > _OUTSIDE).tolist():
                direction = np.append(2 * w[i], u[i] - v[i])
                length = float(np.linalg.norm(direction))
                unit = direction / length if length else direction
                self._add_tangent(first + i, unit.tolist(), x)
            first += count
        return len(self.extra) > before

    def _add_tangent(self, cone: int, unit: list[float], x: Floats) -> None:
        """A tangent, if rounding leaves enough of it to cut off the point."""
        s, t = math.ceil(_FINEST * (1 - unit[-1])), math.ceil(_FINEST * (1 + unit[-1]))
        a = [math.trunc(_FINEST * part) for part in unit[:-1]]
        extra = {"cone": cone, "s": s, "t": t, "a": a}
        row, scale = tangent(self.model, extra), self.model.unit * _FINEST
        value = math.fsum(c / scale * x[j] for j, c in row.terms.items())
        if value < (row.lower or 0) / scale - 0.1 * _OUTSIDE:
            self.relaxation.add(row.terms, row.lower or 0, scale)
            self.extra.append(extra)
            self.rows.append(row)

    # splits

    def _children(self, node: Node) -> tuple[list[Any], list[Node]] | None:
        """The split, of those tried, whose children come nearest to the target; None: no split."""
        best: tuple[float, _Split, list[Node] | None] | None = None
        for split in self._splits(node):
            two, ends = None, self._expected(node, split)
            if ends is None:
                two = self._split(node, *split)
                ends = [child.relaxed.value for child in two]
                self._learn(node, split, ends)
            score = self._score(node.relaxed.value, ends)
            if best is None or score > best[0]:
                best = score, split, two
            if two is not None and score >= 1.0:
                break
        if best is None:
            return None
        _, split, two = best
        return list(split), two or self._split(node, *split)

    def _learn(self, node: Node, split: _Split, ends: list[float]) -> None:
        """Keep how far the values of the children of a column's split rose, per unit of it."""
        (j, *others), _, k = split
        if not others and self.target is not None:
            tries, down, up = self.gains.get(j, (0, 0.0, 0.0))
            low, high = (min(end, self.near) - node.relaxed.value for end in ends)
            assert node.relaxed.x is not None
            part = node.relaxed.x[j] - k
            self.gains[j] = tries + 1, down + low / part, up + high / (1 - part)

    def _expected(self, node: Node, split: _Split) -> list[float] | None:
        """The values of the children of a column's split, where enough is known of it."""
        (j, *others), _, k = split
        tries, down, up = self.gains.get(j, (0, 0.0, 0.0))
        if others or tries < _KNOWN:
            return None
        assert node.relaxed.x is not None
        value, part = node.relaxed.value, node.relaxed.x[j] - k
        return [value + down / tries * part, value + up / tries * (1 - part)]

    def _splits(self, node: Node) -> Iterator[_Split]:
        """Halves of columns of which one is chosen, then single columns: the most undecided."""
        x = node.relaxed.x
        assert x is not None
        halves = []
        for columns in self.choices:
            below = np.cumsum(x[columns])
            middle = int(np.argmin(np.abs(below - 0.5)))
            if _WHOLE < below[middle] < 1 - _WHOLE:
                halves.append((abs(below[middle] - 0.5), columns[: middle + 1].tolist()))
        for _, half in sorted(halves)[:_HALVES]:
            yield half, [1] * len(half), 0
        away = self._away(x)
        order = np.argsort(-away, kind="stable")[: _HALVES if halves else _TRIED]
        for j in self.integer[order[away[order] > _WHOLE]].tolist():
            yield [j], [1], math.floor(x[j])

    def _away(self, x: Floats) -> Floats:
        """Distances of the integer columns to whole numbers."""
        return np.abs(x[self.integer] - np.rint(x[self.integer]))

    def whole(self, x: Floats) -> bool:
        """Whether there is nothing to split at a point."""
        return bool((self._away(x) <= _WHOLE).all())

    def _split(self, node: Node, columns: list[int], a: list[int], k: int) -> list[Node]:
        """Both children, in the order of the proof."""
        nodes = []
        two = children(self.model, node.branch, columns, a, k)
        ends = ((-np.inf, k), (k + 1, np.inf))
        for branch, (low, high) in zip(two, ends, strict=True):
            lower, upper, sums = node.lower.copy(), node.upper.copy(), node.sums
            if len(columns) > 1:
                sums = (*sums, Sum(tuple(columns), low, high))
            else:
                lower[columns] = np.maximum(lower[columns], low)
                upper[columns] = np.minimum(upper[columns], high)
            nodes.append(self.node(branch, lower, upper, sums))
        return nodes

    def _score(self, value: float, ends: Iterable[float]) -> float:
        """1 if both children close; otherwise the product of how far they come."""
        need = 1.0 if self.target is None else max(self.near - value, 1e-9)
        return math.prod(max(min((end - value) / need, 1.0), 1e-6) for end in ends)


def _choices(form: MatrixForm) -> list[np.ndarray]:
    """Columns of every row that lets one of its binaries be chosen at most, cheapest first."""
    matrix, rows = form.rows.matrix, form.rows
    row = np.repeat(np.arange(rows.count), rows.lengths)
    binary = form.integer & (form.lower == 0) & (form.upper == 1)
    other = (matrix.data != 1.0) | ~binary[matrix.indices]
    plain = np.bincount(row, other, rows.count) == 0
    sign = -1.0 if form.maximise else 1.0
    found = []
    for i in np.flatnonzero(plain & (rows.upper == 1.0) & (rows.lengths > 2)).tolist():
        columns = matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]]
        found.append(columns[np.argsort(sign * form.cost[columns], kind="stable")])
    return found
