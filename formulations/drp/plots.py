"""A map of the system: cells, servers by load, data nodes, and who is associated with whom."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.patches import Circle

from formulations.drp.instance import NO_SERVER, Floats, Instance, Integers
from formulations.drp.loads import pairs_of, server_loads
from formulations.drp.schedule import Schedule
from formulations.drp.topology import GRID_COVERAGE, hexagon_centres
from optsched.errors import InputError
from optsched.report.plots import COLOURS

_CORNERS = np.radians([30, 90, 150, 210, 270, 330])


def draw_map(ax: Axes, instance: Instance, schedule: Schedule | None = None) -> Axes:
    """Draw the system, and what was decided.

    Cells are hexagons where the servers stand as in the hexagon topology, otherwise circles of
    coverage. A server's square is as dark as it is full, its number the larger of its load factor
    and its inbound load; nodes of admitted jobs are joined with their servers, others are grey.

    Args:
        ax: where to draw.
        instance: with positions.
        schedule: what was decided; None draws the system alone.

    Raises:
        InputError: the instance has no positions.
    """
    for name in ("node_xy", "server_xy"):
        if getattr(instance, name) is None:
            raise InputError.of(name, None, "positions: a map needs them")
    assert instance.node_xy is not None
    assert instance.server_xy is not None
    nodes, servers = instance.node_xy, instance.server_xy
    _draw_cells(ax, servers)
    assoc = np.full(len(nodes), NO_SERVER) if schedule is None else schedule.assoc
    at = np.flatnonzero(assoc != NO_SERVER)
    ax.add_collection(
        LineCollection(
            list(np.stack([nodes[at], servers[assoc[at]]], axis=1)),
            colors=[COLOURS[job % len(COLOURS)] for job in instance.node_job[at]],
            linewidths=0.5,
            alpha=0.6,
        )
    )
    colours = np.array(["lightgrey"] * len(nodes), dtype=object)
    colours[at] = [COLOURS[job % len(COLOURS)] for job in instance.node_job[at]]
    ax.scatter(nodes[:, 0], nodes[:, 1], s=6, c=list(colours), zorder=2)
    full = fullness(instance, assoc)
    ax.scatter(
        servers[:, 0], servers[:, 1], s=260, c=full, cmap="Greys", vmin=0, vmax=1.2, marker="s",
        edgecolors="black", zorder=3,
    )  # fmt: skip
    for (x, y), load in zip(servers, full, strict=True):
        colour = "white" if load > 0.6 else "black"
        ax.text(x, y, f"{load:.2f}", ha="center", va="center", fontsize=6, color=colour, zorder=4)
    ax.set_aspect("equal")
    ax.set_xlabel("cell units")
    ax.set_ylabel("cell units")
    admitted = "" if schedule is None else f", {np.count_nonzero(schedule.admit)} admitted"
    ax.set_title(f"{instance.num_jobs} jobs{admitted}", fontsize="medium")
    return ax


def fullness(instance: Instance, assoc: Integers) -> Floats:
    """The larger of load factor and inbound load of each server, shape (servers,)."""
    x = pairs_of(instance, assoc)
    inbound = np.bincount(
        instance.pair_server, weights=x * instance.inbound_load, minlength=instance.num_servers
    )
    return np.maximum(inbound, server_loads(instance, x).factor)


def _draw_cells(ax: Axes, servers: Floats) -> None:
    centres = hexagon_centres()
    if servers.shape == centres.shape and np.allclose(servers, centres):
        corners = np.column_stack([np.cos(_CORNERS), np.sin(_CORNERS)])
        outlines = list(servers[:, None] + corners)
        ax.add_collection(PolyCollection(outlines, facecolors="none", edgecolors="lightgrey"))
        return
    for x, y in servers:
        ax.add_patch(
            Circle((x, y), GRID_COVERAGE, fill=False, edgecolor="lightgrey", linewidth=0.5)
        )
