"""Where servers and data nodes stand, and which servers each node can reach."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np

from formulations.drp.instance import Booleans, Floats, Integers
from optsched.errors import InputError
from optsched.instances.streams import streams

Topology = Literal["hexagon", "grid"]

HEXAGON_RADIUS = 2
"""Rings of cells around the middle one: 19 cells."""
GRID_SHAPE = (5, 4)
GRID_COVERAGE = 1.0
"""Distance up to which a node reaches a server on the grid, whose spacing is 1; not in the paper.
"""
_AXIAL = np.array(
    [
        (a, b)
        for a in range(-HEXAGON_RADIUS, HEXAGON_RADIUS + 1)
        for b in range(-HEXAGON_RADIUS, HEXAGON_RADIUS + 1)
        if abs(a + b) <= HEXAGON_RADIUS
    ]
)


class Positions(NamedTuple):
    """Positions in cell units."""

    server_xy: Floats
    """Shape (servers, 2)."""
    node_xy: Floats
    """Shape (nodes, 2)."""
    reach: Booleans
    """Whether server j is in V_i, shape (nodes, servers)."""


def hexagon_centres() -> Floats:
    """The 19 centres (sqrt(3) (a + b / 2), 3 b / 2), ordered by a, then b; circumradius 1."""
    a, b = _AXIAL.T
    return np.column_stack([np.sqrt(3) * (a + b / 2), 1.5 * b])


def hexagon_neighbours() -> Booleans:
    """Whether two cells are the same or adjacent, shape (cells, cells)."""
    da, db = (np.subtract.outer(axis, axis) for axis in _AXIAL.T)
    apart = np.maximum.reduce([np.abs(da), np.abs(db), np.abs(da + db)])
    return np.asarray(apart <= 1)


def hexagon(rng: np.random.Generator, nodes: int) -> Positions:
    """Nodes uniform over the 19 cells, reaching their own cell's server and the adjacent ones."""
    centres = hexagon_centres()
    of_cells, of_offsets = streams(rng, 2)
    cell: Integers = of_cells.integers(0, len(centres), nodes)
    offset = np.empty((nodes, 2))
    left = np.arange(nodes)
    while len(left):  # reject what falls outside the cell
        offset[left] = of_offsets.spawn(1)[0].uniform(-1, 1, (nodes, 2))[left]
        x, y = np.abs(offset[left]).T
        left = left[~((x <= np.sqrt(3) / 2) & (x / np.sqrt(3) + y <= 1))]
    return Positions(centres, centres[cell] + offset, hexagon_neighbours()[cell])


def grid(rng: np.random.Generator, nodes: int) -> Positions:
    """19 servers on 20 places of a 5 by 4 grid, nodes uniform and within reach of one."""
    width, height = GRID_SHAPE
    places = np.array([(a + 0.5, b + 0.5) for a in range(width) for b in range(height)])
    of_gap, of_nodes = streams(rng, 2)
    servers = np.delete(places, of_gap.integers(0, len(places)), axis=0)
    position = np.empty((nodes, 2))
    left = np.arange(nodes)
    while len(left):  # redraw what reaches no server
        position[left] = of_nodes.spawn(1)[0].uniform(0, GRID_SHAPE, (nodes, 2))[left]
        left = left[~_within(position[left], servers).any(axis=1)]
    return Positions(servers, position, _within(position, servers))


def _within(nodes: Floats, servers: Floats) -> Booleans:
    apart = np.hypot(*(nodes[:, None] - servers).transpose(2, 0, 1))
    return np.asarray(apart <= GRID_COVERAGE)


def draw_layout(topology: Topology, rng: np.random.Generator, nodes: int) -> Positions:
    """Servers and nodes of a topology.

    Raises:
        InputError: no such topology.
    """
    makers = {"hexagon": hexagon, "grid": grid}
    if topology not in makers:
        raise InputError.of("topology", topology, "one of " + ", ".join(get_args(Topology)))
    return makers[topology](rng, nodes)
