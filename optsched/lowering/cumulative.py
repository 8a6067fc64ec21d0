"""Tasks on a resource: a time-indexed model of starts and lengths.

For every task and slot, binaries say whether it has started and whether it has not yet ended;
where both hold it is under way, and its demand counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optsched.errors import ModelError
from optsched.model.blocks import Cumulative, Intervals
from optsched.model.expression import Expression
from optsched.model.ranges import finite_range, is_integral, range_of

if TYPE_CHECKING:
    from optsched.model.model import Model


def lower_intervals(model: Model, block: Intervals) -> None:
    """Replace ``start + duration = end`` where present by indicator rows."""
    apart = block.start + block.duration - block.end
    constant = not block.presence.terms
    if constant:
        model.add(f"{block.name}:length", apart == 0)
        model.add(f"{block.name}:sign", block.duration >= 0)
        return
    model.indicator(block.presence, apart == 0, name=f"{block.name}:length")
    model.indicator(block.presence, block.duration >= 0, name=f"{block.name}:sign")


def lower_cumulative(model: Model, block: Cumulative) -> None:
    """Replace a cumulative by time-indexed rows.

    Raises:
        ModelError: a start or end is not integer, or lacks a bound.
    """
    domains = model.domains()
    for part in (block.start, block.end):
        if not is_integral(part, domains).all():
            raise ModelError(f"block {block.name!r}: starts and ends must be integer")
    if (range_of(block.capacity, domains)[0] < 0).any():  # no task under way needs zero
        model.add(f"{block.name}:idle", block.capacity >= 0)
    first, _ = finite_range(block.name, block.start, domains, model.column_name)
    _, last = finite_range(block.name, block.end, domains, model.column_name)
    tasks = block.start.size
    if tasks == 0:
        return
    slots = np.arange(int(first.min()), int(last.max()))
    shape = (tasks, len(slots))
    started = model.binary(f"{block.name}:started", shape)
    going = model.binary(f"{block.name}:going", shape)
    busy = model.binary(f"{block.name}:busy", shape)
    start = block.start.reshape(tasks, 1).broadcast_to(shape)
    end = block.end.reshape(tasks, 1).broadcast_to(shape)
    model.indicator(started, start <= slots, name=f"{block.name}:started on")
    model.indicator(started, start >= slots + 1, active=False, name=f"{block.name}:started off")
    model.indicator(going, end >= slots + 1, name=f"{block.name}:going on")
    model.indicator(going, end <= slots, active=False, name=f"{block.name}:going off")
    presence = block.presence.reshape(tasks, 1).broadcast_to(shape)
    model.add(f"{block.name}:busy", busy >= started + going + presence - 2)
    demand = block.demand.reshape(tasks, 1).broadcast_to(shape)
    used: Expression
    if block.demand.terms:
        used = model.product(busy, demand, name=f"{block.name}:used")
    else:
        used = busy * np.broadcast_to(demand.constant, shape)
    model.add(f"{block.name}:capacity", used.sum(axis=0) <= block.capacity)
