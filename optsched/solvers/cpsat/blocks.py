"""Nonlinear blocks as CP-SAT's own constraints, one function per kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from optsched.model.blocks import (
    AllDifferent,
    Circuit,
    Cumulative,
    CumulativeProfile,
    Intervals,
    Maximum,
    Product,
    Routes,
    SemiContinuous,
    Table,
)
from optsched.model.blocks.product import convex_hull
from optsched.model.expression import Expression
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.cpsat.extrema import add_active_slots, add_maxima, pressures
from optsched.solvers.cpsat.writer import ProtoWriter, added_up, write
from optsched.solvers.scaling import Integers

NATIVE = frozenset(
    {"indicator", "product", "table", "maximum", "active_slot", "intervals", "cumulative",
     "cumulative_profile", "all_different", "circuit", "routes", "semicontinuous"}
)  # fmt: skip
"""Kinds of block CP-SAT takes as they are."""


def add_blocks(writer: ProtoWriter, compiled: MatrixForm) -> None:
    """Write every nonlinear block.

    Raises:
        UnsupportedError: a block's numbers are not whole or too large.
    """
    blocks = compiled.nonlinear
    if not blocks:
        return
    pressed = pressures(compiled)
    tasks = {_times(b): b for b in blocks if isinstance(b, Intervals)}
    made: dict[tuple[int, ...], list[int]] = {}
    for block in blocks:
        if isinstance(block, Maximum):
            add_maxima(writer, block, pressed)
        elif isinstance(block, Cumulative):
            key = _times(block)
            if key not in made:
                made[key] = _add_intervals(writer, block, tasks.get(key))
            _add_cumulative(writer, block, made[key])
        else:
            _WRITERS[block.kind](writer, block)


def _add_products(writer: ProtoWriter, block: Product) -> None:
    """Rows that are exact if a factor is binary, the solver's own product elsewhere."""
    name, size = block.name, block.result.size
    result, left, right = (e.reshape(size) for e in (block.result, block.left, block.right))
    binary = []
    for factor in (left, right):
        least, most = writer.range_of(name, factor)
        binary.append((least >= 0) & (most <= 1))
    for chosen, one, other in ((binary[0], left, right), (binary[1] & ~binary[0], right, left)):
        if chosen.any():
            _add_switched(writer, name, result[chosen], one[chosen], other[chosen])
    rest = ~(binary[0] | binary[1])
    lines = [writer.lines(name, e[rest], single=True) for e in (result, left, right)]
    constraints = writer.add_copies([writer.template()] * len(lines[0]))
    for constraint, value, a, b in zip(constraints, *lines, strict=True):
        product = constraint.int_prod
        write(product.target, value)
        write(product.exprs.add(), a)
        write(product.exprs.add(), b)


def _add_switched(
    writer: ProtoWriter, name: str, result: Expression, binary: Expression, other: Expression
) -> None:
    for rows in convex_hull(result, binary, other, *writer.range_of(name, other)).values():
        writer.add_rows(name, rows)


def _add_tables(writer: ProtoWriter, block: Table) -> None:
    lines = [writer.lines(block.name, e, single=True) for e in (block.result, block.index)]
    values = Expression(block.result.model, block.table.shape, (), block.table)
    template = writer.template()
    for value in writer.lines(block.name, values):
        write(template.element.exprs.add(), value)
    constraints = writer.add_copies([template] * block.result.size)
    for constraint, result, index in zip(constraints, *lines, strict=True):
        write(constraint.element.linear_target, result)
        write(constraint.element.linear_index, index)


def _add_all_different(writer: ProtoWriter, block: AllDifferent) -> None:
    lines = writer.lines(block.name, block.values, single=True)
    width = max(1, block.values.shape[-1])
    constraints = writer.add_copies([writer.template()] * (len(lines) // width))
    for number, constraint in enumerate(constraints):
        add = constraint.all_diff.exprs.add
        for line in lines[number * width : (number + 1) * width]:
            write(add(), line)


def _add_tours(writer: ProtoWriter, block: Circuit) -> None:
    """A circuit or routes; of several loops at one node CP-SAT takes only what they add up to."""
    (constraint,) = writer.add_copies([writer.template()])
    target = constraint.routes if isinstance(block, Routes) else constraint.circuit
    tails, heads, literals = block.tails, block.heads, block.arcs.terms[0].columns
    loop = tails == heads
    nodes, which = np.unique(tails[loop], return_inverse=True)
    if len(nodes) < np.count_nonzero(loop):
        loops = block.arcs[loop].sum_by(which, len(nodes))
        once = writer.add_columns(loops, 0.0, 1.0, loops.at(writer.point))
        writer.add_rows(block.name, loops == once)
        tails, heads = (np.append(ends[~loop], nodes) for ends in (tails, heads))
        literals = np.append(literals[~loop], once.terms[0].columns)
    if isinstance(block, Routes) and len(tails) and len(nodes) == max(tails.max(), heads.max()):
        # no tour at all, where all nodes are left out, is none of CP-SAT's: one more makes a tour
        always, beyond = writer.add_columns(block.arcs[:1], 1.0, 1.0, np.ones(1)), len(nodes) + 1
        tails, heads = np.append(tails, [0, beyond]), np.append(heads, [beyond, 0])
        literals = np.append(literals, [always.terms[0].columns[0]] * 2)
    target.tails.extend(tails.tolist())
    target.heads.extend(heads.tolist())
    target.literals.extend(literals.tolist())


def _add_semicontinuous(writer: ProtoWriter, block: SemiContinuous) -> None:
    """A row over each variable whose sides have a hole, where 0 lies apart."""
    columns = block.result.terms[0].columns.tolist()
    least, most = np.ceil(block.least).ravel().tolist(), np.floor(block.most).ravel().tolist()
    constraints = writer.add_copies([writer.template()] * len(columns))
    for constraint, column, *bounds in zip(constraints, columns, least, most, strict=True):
        low, high = map(int, bounds)
        ends = [(min(low, 0), max(high, 0))]
        if low > high:
            ends = [(0, 0)]
        elif low > 1 or high < -1:  # not side by side, which CP-SAT wants as one range
            ends = sorted([(0, 0), (low, high)])
        constraint.linear.vars.append(column)
        constraint.linear.coeffs.append(1)
        constraint.linear.domain.extend(end for pair in ends for end in pair)


# tasks in time


def _times(block: Intervals | Cumulative) -> tuple[int, ...]:
    """What tells the tasks of one block from those of another."""
    return id(block.start), id(block.end), id(block.presence)


def _presence(block: Intervals | Cumulative) -> Integers | None:
    """Literals of tasks that may be absent, shape (tasks, 1); None if all are present."""
    if not block.presence.terms:
        return None
    _, columns, _ = block.presence.terms[0].spelled_out()
    return columns.astype(np.int64)[:, None]


def _add_task_rows(writer: ProtoWriter, block: Intervals) -> None:
    """``start + duration = end`` and ``duration >= 0`` where present."""
    literals, apart = _presence(block), block.start + block.duration - block.end
    if any(offset or any(line.values()) for line, offset in added_up(apart)):
        # else the end is written as start + duration
        writer.add_rows(block.name, apart == 0, literals)
    if (writer.range_of(block.name, block.duration)[0] < 0).any():
        writer.add_rows(block.name, block.duration >= 0, literals)


def _add_intervals(writer: ProtoWriter, block: Cumulative, tasks: Intervals | None) -> list[int]:
    """One interval per task, by constraint number."""
    name = block.name
    if tasks is not None and (writer.range_of(name, tasks.duration)[0] >= 0).all():
        size, end = tasks.duration, block.end
    else:
        size, end = _length(writer, block)
    lines = [writer.lines(name, e, single=True) for e in (block.start, size, end)]
    first = len(writer.proto.constraints)
    constraints = writer.add_copies([writer.template()] * block.start.size)
    for constraint, *line in zip(constraints, *lines, strict=True):
        for part, value in zip(("start", "size", "end"), line, strict=True):
            write(getattr(constraint.interval, part), value)
    literals = _presence(block)
    if literals is not None:
        for constraint, literal in zip(constraints, literals.tolist(), strict=True):
            constraint.enforcement_literal.extend(literal)
    return list(range(first, first + block.start.size))


def _length(writer: ProtoWriter, block: Cumulative) -> tuple[Expression, Expression]:
    """Length and end of tasks that take no time where they would end before they start.

    Nothing keeps a length from being greater than it must be, which only takes more of a resource.
    """
    apart = block.end - block.start
    _, longest = writer.range_of(block.name, apart)
    known = np.maximum(0.0, apart.at(writer.point))
    length = writer.add_columns(apart, 0.0, np.maximum(0.0, longest), known)
    writer.add_rows(block.name, length >= apart)
    return length, block.start + length


def _add_cumulative(writer: ProtoWriter, block: Cumulative, intervals: list[int]) -> None:
    demands, (capacity,) = (
        writer.lines(block.name, e, single=True) for e in (_counted(writer, block), block.capacity)
    )
    (constraint,) = writer.add_copies([writer.template()])
    cumulative = constraint.cumulative
    cumulative.intervals.extend(intervals)
    for demand in demands:
        write(cumulative.demands.add(), demand)
    write(cumulative.capacity, capacity)


def _counted(writer: ProtoWriter, block: Cumulative) -> Expression:
    """Demands that count: of tasks that may be absent, columns that may then be zero.

    CP-SAT 9.15 can lose points whose absent tasks ask for more than the capacity, where demands
    are variables.
    """
    literals = _presence(block)
    if literals is None or not block.demand.terms:
        return block.demand
    _, most = writer.range_of(block.name, block.demand)
    absent = block.presence.at(writer.point) == 0
    known = np.where(absent, 0.0, block.demand.at(writer.point))
    counted = writer.add_columns(block.demand, 0.0, most, known)
    writer.add_rows(block.name, counted >= block.demand, literals)
    return counted


def _add_profile(writer: ProtoWriter, block: CumulativeProfile) -> None:
    """A cumulative of intervals at fixed distances from the starts, each with one demand.

    An age that a task may not reach is an interval of length 0 or 1; if it is reached, a row makes
    it 1. Time-indexed booleans and rows prove fewer small models and mostly take longer, but bound
    the optimum better where neither proves it, and suit demands that fall with age.
    """
    name, model = block.name, block.start.model
    shortest, longest = writer.range_of(name, block.duration)
    task, first, end = block.pieces(shortest, longest)
    size = Expression(model, task.shape, (), np.where(first < shortest[task], end - first, 0.0))
    (open_,) = np.nonzero(first >= shortest[task])
    if len(open_):
        beyond = block.duration[task[open_]] - first[open_]
        reached = writer.add_columns(beyond, 0.0, 1.0, np.clip(beyond.at(writer.point), 0, 1))
        writer.add_rows(name, (longest[task] - first)[open_] * reached >= beyond)
        size = size + reached.sum_by(open_, len(task))
    start, there = block.start[task] + first, block.presence[task]
    demand = Expression(model, task.shape, (), block.demand[task, first])
    parts = Intervals(name, "", start, size, start + size, there)
    whole = Cumulative(name, "", start, parts.end, there, demand, block.capacity)
    _add_cumulative(writer, whole, _add_intervals(writer, whole, parts))


_WRITERS: dict[str, Callable[[ProtoWriter, Any], None]] = {
    "product": _add_products,
    "table": _add_tables,
    "active_slot": add_active_slots,
    "all_different": _add_all_different,
    "circuit": _add_tours,
    "routes": _add_tours,
    "semicontinuous": _add_semicontinuous,
    "cumulative_profile": _add_profile,
    "intervals": _add_task_rows,
}
