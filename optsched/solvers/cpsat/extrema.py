"""Maxima, minima and active slots for CP-SAT, with the rows that make them tight."""

from __future__ import annotations

import numpy as np

from optsched.model.blocks import ActiveSlot, Maximum
from optsched.model.expression import Expression
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.cpsat.implications import negated
from optsched.solvers.cpsat.writer import ProtoWriter, write
from optsched.solvers.scaling import Flags


def add_maxima(writer: ProtoWriter, block: Maximum, pressed: tuple[Flags, Flags]) -> None:
    """Write a maximum or minimum.

    By default CP-SAT's linear relaxation knows only that the value is no less than any argument.
    Where nothing presses the value up that is all there is, and more rows only cost time.
    Elsewhere the bound of the search stays far off, and a choice of argument, redundant for
    integers, closes it.

    Args:
        writer: where to.
        block: what.
        pressed: up and down, as ``pressures`` says.
    """
    sign = float(block.sign)
    result = (block.result * sign).reshape(block.result.size)
    arguments = (block.arguments * sign).reshape(result.size, block.arguments.shape[-1])
    _add_lin_max(writer, block.name, result, arguments)
    columns = block.result.terms[0].columns
    against = np.flatnonzero(pressed[0 if block.sign > 0 else 1][columns])
    if len(against):
        _add_choice(writer, block.name, result[against], arguments[against])


def add_active_slots(writer: ProtoWriter, block: ActiveSlot) -> None:
    """Write a first or last active slot.

    A column per slot says whether that slot or a later one is active. The value is a sum of steps
    over them, which is tight, and each bounds it by its slot, which propagates.
    """
    # the first slot is the last one counted backwards
    sign, order = (1.0, slice(None)) if block.last else (-1.0, slice(None, None, -1))
    slots, empty = sign * block.slots[order], sign * block.empty
    shape = (block.result.size, len(slots))
    active = block.activity[..., order].reshape(shape)
    result = (block.result * sign).reshape(shape[0], 1)
    known = np.maximum.accumulate(active.at(writer.point)[:, ::-1], axis=1)[:, ::-1]
    seen = writer.add_columns(active, 0.0, 1.0, known)
    now, later = seen[:, :-1], seen[:, 1:]
    writer.add_rows(block.name, seen >= active)
    writer.add_rows(block.name, now >= later)
    writer.add_rows(block.name, now <= active[:, :-1] + later)
    writer.add_rows(block.name, seen[:, -1] <= active[:, -1])
    before = np.append(empty, slots[:-1])
    steps = (seen * (slots - before)).sum(axis=-1)
    writer.add_rows(block.name, result.reshape(shape[0]) == steps + empty)
    value = result.broadcast_to(shape)
    true = seen.terms[0].columns.reshape(-1, 1).astype(np.int64)
    writer.add_rows(block.name, value >= slots, true)
    writer.add_rows(block.name, value <= before, negated(true))


def _add_lin_max(writer: ProtoWriter, name: str, result: Expression, arguments: Expression) -> None:
    """``result = max(arguments)`` along the last of two axes."""
    targets = writer.lines(name, result, single=True)
    lines = writer.lines(name, arguments)
    width = arguments.shape[-1]
    template = writer.template()
    for _ in range(width):
        template.lin_max.exprs.add()
    constraints = writer.add_copies([template] * len(targets))
    for i, (constraint, target) in enumerate(zip(constraints, targets, strict=True)):
        write(constraint.lin_max.target, target)
        mine = lines[i * width : (i + 1) * width]
        for expression, line in zip(constraint.lin_max.exprs, mine, strict=True):
            write(expression, line)


def _add_choice(writer: ProtoWriter, name: str, result: Expression, arguments: Expression) -> None:
    """The result is no greater than the one argument that is chosen."""
    shape = arguments.shape
    least, most = writer.range_of(name, arguments)
    may_win = (most >= least.max(axis=1, keepdims=True)).astype(float)
    values = arguments.at(writer.point)
    known = np.where(np.isnan(values).any(axis=1, keepdims=True), np.nan, np.zeros(shape))
    known[np.arange(len(known)), values.argmax(axis=1)] += 1.0
    wins = writer.add_columns(arguments, 0.0, may_win, known)
    spread = result.reshape(shape[0], 1).broadcast_to(shape)
    chosen = wins.terms[0].columns.astype(np.int64)[:, None]
    writer.add_rows(name, spread - arguments <= 0, chosen)
    writer.add_rows(name, wins.sum(axis=-1) == 1)


def pressures(compiled: MatrixForm) -> tuple[Flags, Flags]:
    """For each column, whether anything may press it up, and whether anything may press it down.

    The objective and rows press one way each; a nonlinear block presses its variables both ways,
    but for the one that is its value.
    """
    cost = -compiled.cost if compiled.maximise else compiled.cost
    matrix, rows = compiled.rows.lines, compiled.rows
    row = np.repeat(np.arange(rows.count), rows.lengths)
    at_least, at_most = np.isfinite(rows.lower)[row], np.isfinite(rows.upper)[row]
    grows = matrix.data > 0
    up, down = cost < 0, cost > 0
    up[matrix.indices[np.where(grows, at_least, at_most)]] = True
    down[matrix.indices[np.where(grows, at_most, at_least)]] = True
    mentioned = [
        terms.columns
        for block in compiled.nonlinear
        for expression in block.expressions()
        for terms in expression.terms
    ]
    none = np.zeros(0, dtype=np.int32)
    both = np.bincount(np.concatenate([none, *mentioned]), minlength=len(cost)) > 1
    for indicator in compiled.indicators:
        both[indicator.rows.lines.indices] = True
        both[indicator.literals.reshape(-1)] = True
    return up | both, down | both
