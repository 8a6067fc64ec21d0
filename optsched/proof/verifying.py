"""Verify a proof that no point of a model costs less than a bound, in integers only.

A proof is a JSON document. Its ``nodes`` are a binary tree in preorder. An inner node
``{"split": [columns, a, k]}`` with whole numbers a and k, over integer columns, has two children:
in the first ``a x <= k`` holds, in the second ``a x >= k + 1``, and one of both holds everywhere.
A leaf ``{"rows": r, "y": n, "over": D}`` has a multiplier n / D for each of some rows. Whatever
they are,

    cost x  >=  y b + sum over j of the least (cost_j - y A_j) x_j within the bounds of column j,

where b_i is the row's lower side for y_i > 0 and its upper side for y_i < 0. A leaf closes where
the right side reaches the bound claimed, or, with ``"cost": 0``, is positive where it would have
to be at most 0 (Farkas): there is no point. Where all columns that cost anything are integer,
values lie on a grid, and the right side is rounded up to it first.

A leaf may also have ``parts``, ``{"columns": js, "bound": [p, q], "nodes": tree}``. They share out
columns: by a tree of its own, whose splits come after the branch's, a part's share of the sum over
j is at least its bound at every point of the branch. With prices of the rows that tie jobs together
as multipliers a part is a job, and its tree shows that no schedule of it, no column of column
generation, is cheaper than the bound: those that were generated are complete.

Rows are numbered: the model's own, then the ``extra`` rows, each with what makes it valid. Splits
on several columns are rows -1, -2, ... from the root down to the leaf.

- ``{"rows": r, "y": n, "over": D}``: a combination of rows before it, coefficients rounded up and
  then the side (Chvatal and Gomory); continuous columns replaced by their bounds.
- ``{"cone": i, "s": s, "t": t, "a": a}``: on the rotated cone ``u v >= |w|^2`` every point has
  ``s u + t v >= 2 a w`` if ``s t >= |a|^2``; all three are whole.

Doubles are the rational numbers they are, but for bounds of integer columns, which are read as
every solve reads them: within 1e-9 of a whole number they are it. This module trusts nothing of a
proof, and of optsched it is given the model's matrix only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from optsched.proof.exact_model import Exact, ExactColumn, ExactModel, ExactRow, ProofError, Terms

FORMAT, VERSION = "optsched/proof", 1
Rows = Sequence[ExactRow]
_MALFORMED = (TypeError, LookupError, ValueError, AttributeError, ArithmeticError, RecursionError)


def verify(form: Any, proof: Mapping[str, Any]) -> Fraction | None:
    """Check every step of a proof.

    Args:
        form: the model, compiled with rotated cones as they are.
        proof: the document.

    Returns:
        What no point of the model is better than: from below when it minimises, from above when
        it maximises; None if there is no point at all.

    Raises:
        ProofError: the proof proves nothing.
    """
    try:
        return _verify(ExactModel(form), proof)
    except _MALFORMED as error:
        raise ProofError(f"malformed: {type(error).__name__}: {error}") from error


def _verify(model: ExactModel, proof: Mapping[str, Any]) -> Fraction | None:
    if (proof["format"], proof["version"]) != (FORMAT, VERSION):
        raise ProofError(f"not a document of format {FORMAT!r}, version {VERSION}")
    bound = None
    if proof["bound"] is not None:
        bound = model.sign * _fraction(proof["bound"])
    rows = list(model.rows)
    for extra in proof["extra"]:
        rows.append(tangent(model, extra) if "cone" in extra else rounding(model, rows, extra))
    _walk(model, rows, Branch({}, ()), proof["nodes"], bound)
    return None if bound is None else model.sign * bound


class Branch(NamedTuple):
    """What the splits from the root to a node say."""

    columns: Mapping[int, ExactColumn]
    rows: tuple[ExactRow, ...]


def _walk(
    model: ExactModel, rows: Rows, root: Branch, nodes: Sequence[Any], bound: Fraction | None
) -> None:
    """Every leaf closes, and every node belongs to the tree."""
    open_branches = [root]
    for place, node in enumerate(nodes):
        if not open_branches:
            raise ProofError(f"node {place} hangs on nothing")
        branch = open_branches.pop()
        if "split" in node:
            open_branches += reversed(children(model, branch, *node["split"]))
        elif not closes(model, rows, branch, node, bound):
            raise ProofError(f"leaf {place} does not reach the bound")
    if open_branches:
        raise ProofError("a branch has no leaf")


def children(
    model: ExactModel, branch: Branch, columns: Sequence[int], a: Sequence[int], k: int
) -> list[Branch]:
    terms = {_index(j, model.columns): _integer(x) for j, x in zip(columns, a, strict=True)}
    _integer(k)
    if len(terms) != len(columns) or not all(model.integer[j] for j in terms):
        raise ProofError("a split must be on different integer columns")
    if list(terms.values()) == [1]:
        (j,) = terms
        old = branch.columns.get(j, model.columns[j])
        least = ExactColumn(old.lower, k if old.upper is None else min(k, old.upper))
        most = ExactColumn(k + 1 if old.lower is None else max(k + 1, old.lower), old.upper)
        return [Branch({**branch.columns, j: c}, branch.rows) for c in (least, most)]
    scaled = {j: x * model.unit for j, x in terms.items()}
    below, above = (
        ExactRow(scaled, None, k * model.unit),
        ExactRow(scaled, (k + 1) * model.unit, None),
    )
    return [Branch(branch.columns, (*branch.rows, row)) for row in (below, above)]


def closes(
    model: ExactModel, rows: Rows, branch: Branch, leaf: Mapping[str, Any], bound: Fraction | None
) -> bool:
    """Whether a leaf's multipliers show that there is nothing below the bound."""
    if model.empty or any(column.empty for column in branch.columns.values()):
        return True
    value = leaf_value(model, rows, branch, leaf)
    if value is None:
        return False
    if leaf.get("cost") == 0:
        return value > 0
    return bound is not None and model.raised(value) >= bound


def leaf_value(
    model: ExactModel, rows: Rows, branch: Branch, leaf: Mapping[str, Any]
) -> Fraction | None:
    """The bound a leaf's multipliers prove on the cost, or on nothing with ``"cost": 0``.

    None if a column has no bound on the side that counts.
    """
    over = _positive(leaf["over"])
    terms, side = combined(rows, branch.rows, leaf["rows"], leaf["y"])
    priced = leaf.get("cost", 1)
    if priced not in (0, 1):
        raise ProofError("a leaf counts the cost or does not")
    reduced: dict[int, Exact] = {j: -g for j, g in terms.items()}
    if priced:
        for j, c in model.cost.items():
            reduced[j] = reduced.get(j, 0) + c * over
    parts = _shared_out(model, rows, branch, reduced, over, leaf.get("parts", ()))
    least = _least(reduced, model.columns, branch.columns)
    if least is None:
        return None
    return Fraction(side + least, over * model.unit) + parts + (model.offset if priced else 0)


def _shared_out(
    model: ExactModel,
    rows: Rows,
    branch: Branch,
    reduced: dict[int, Exact],
    over: int,
    parts: Sequence[Mapping[str, Any]],
) -> Fraction:
    """The sum of the bounds of parts; their shares of the reduced costs are taken out.

    Raises:
        ProofError: parts share a column, or the tree of one does not show its bound.
    """
    total, taken = Fraction(0), set[int]()
    for part in parts:
        columns = {_index(j, model.columns) for j in part["columns"]}
        if columns & taken:
            raise ProofError("a column is in two parts")
        taken |= columns
        share = {j: Fraction(reduced.pop(j, 0), over * model.unit) for j in columns}
        bound = _fraction(part["bound"])
        _walk(model.of_cost(share), rows, branch, part["nodes"], bound)
        total += bound
    return total


def combined(rows: Rows, more: Rows, chosen: Sequence[int], y: Sequence[int]) -> tuple[Terms, int]:
    """The sum of rows times multipliers: ``terms x >= side``.

    Raises:
        ProofError: a multiplier whose sign asks for a side the row does not have.
    """
    terms: Terms = {}
    total = 0
    for i, n in zip(chosen, y, strict=True):
        row = row_at(rows, more, i)
        side = row.lower if _integer(n) > 0 else row.upper
        if side is None:
            raise ProofError(f"row {i} has no such side")
        total += n * side
        for j, a in row.terms.items():
            terms[j] = terms.get(j, 0) + n * a
    return terms, total


def row_at(rows: Rows, more: Rows, i: int) -> ExactRow:
    """The row of a number: -1, -2, ... are the splits from the root on."""
    return rows[_index(i, rows)] if _integer(i) >= 0 else more[_index(-1 - i, more)]


def _least(
    terms: Mapping[int, Exact], columns: Sequence[ExactColumn], tightened: Mapping[int, ExactColumn]
) -> Exact | None:
    """The least value within the bounds; None: there is none."""
    total: Exact = 0
    for j, d in terms.items():
        if d:
            column = tightened.get(j) or columns[j]
            end = column.lower if d > 0 else column.upper
            if end is None:
                return None
            total += d * end
    return total


def rounding(model: ExactModel, rows: Rows, extra: Mapping[str, Any]) -> ExactRow:
    """The row that is left of a combination when it is rounded.

    Raises:
        ProofError: a bound it needs is missing.
    """
    terms, side = combined(rows, (), extra["rows"], extra["y"])
    scale = _positive(extra["over"]) * model.unit
    total: Exact = side
    whole: Terms = {}
    for j, g in terms.items():
        low, high = model.columns[j]
        if model.integer[j]:
            whole[j] = -(-g // scale)  # at least as much, as x - lower >= 0
            if whole[j] * scale != g and low is None:
                raise ProofError(f"column {j} has no lower bound to round from")
            total += (whole[j] * scale - g) * (low or 0)
        elif g:
            end = high if g > 0 else low
            if end is None:
                raise ProofError(f"column {j} has no bound to replace it by")
            total -= g * end
    least = -(-Fraction(total) // scale)
    return ExactRow({j: a * model.unit for j, a in whole.items() if a}, least * model.unit, None)


def tangent(model: ExactModel, extra: Mapping[str, Any]) -> ExactRow:
    """A row that holds on a rotated cone.

    Raises:
        ProofError: the vector is none of those that prove one.
    """
    cone = model.cones[_index(extra["cone"], model.cones)]
    s, t = _integer(extra["s"]), _integer(extra["t"])
    a = [_integer(x) for x in extra["a"]]
    if s < 0 or t < 0 or s * t < sum(x * x for x in a):
        raise ProofError("a tangent needs s, t >= 0 with s t >= |a|^2")
    side = 0
    terms: Terms = {}
    for factor, (constant, part) in zip((s, t, *(-2 * x for x in a)), cone, strict=True):
        side -= factor * model.whole(constant)
        for j, c in part.items() if factor else ():
            terms[j] = terms.get(j, 0) + factor * model.whole(c)
    return ExactRow(terms, side, None)


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise ProofError(f"{value!r} is not a whole number")
    return int(value)


def _fraction(pair: Any) -> Fraction:
    numerator, denominator = pair
    return Fraction(_integer(numerator), _positive(denominator))


def _positive(value: Any) -> int:
    if _integer(value) <= 0:
        raise ProofError("a denominator must be positive")
    return int(value)


def _index(value: Any, things: Sequence[Any]) -> int:
    if not 0 <= _integer(value) < len(things):
        raise ProofError(f"there is no number {value!r}")
    return int(value)
