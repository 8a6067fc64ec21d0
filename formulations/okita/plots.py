"""A chart per site: who runs where, where the parameter server stands, which data move."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from formulations.okita.instance import Instance, Integers
from formulations.okita.schedule import Schedule
from optsched.report.gantt import gantt as draw_bars
from optsched.report.plots import COLOURS

_MOST_ARROWS = 200


def gantt(ax: Axes, instance: Instance, schedule: Schedule) -> Axes:
    """Gantt chart with one lane per site and job at a time.

    A star marks the parameter server, a number the workers of a slot, an arrow chunks that move
    at the start of a slot from the site where they lie to the lane where they are trained.

    Args:
        ax: where to draw.
        instance: the system and its jobs.
        schedule: what was decided.
    """
    rows = _occupied(instance, schedule)
    lane = _lanes(rows)
    site, job, slot = rows.T
    label = {}
    for r in range(instance.sites):
        label[r * len(rows)] = f"site {r}"
        for one in np.unique(lane[(site == r) & (lane > 0)]):
            label[r * len(rows) + int(one)] = ""
    key = site * len(rows) + lane
    bars = list(zip(key.tolist(), slot - 0.5, slot + 0.5, job.tolist(), strict=True))
    begin = float(slot.min()) - 0.5
    idle = [(r * len(rows), begin, begin, int(job[0])) for r in range(instance.sites)]
    draw_bars(ax, [*bars, *idle], rows=label, unit="slots")  # a line for every site
    height = {row: at for at, row in enumerate(sorted(label))}
    place = {
        (int(j), int(t), int(r)): height[int(k)]
        for j, t, r, k in zip(job, slot, site, key, strict=True)
    }
    _mark_servers(ax, schedule, place)
    if len(rows) <= _MOST_ARROWS:
        _write_workers(ax, schedule, place)
    _draw_moves(ax, schedule, place, [height[r * len(rows)] for r in range(instance.sites)])
    return ax


def _occupied(instance: Instance, schedule: Schedule) -> Integers:
    """Rows (site, job, slot) in which a job has workers or its server at a site."""
    workers = (schedule.worker_site, schedule.worker_job, schedule.worker_slot)
    servers = (schedule.server_site, schedule.server_job, schedule.server_slot)
    return np.unique(np.concatenate([np.column_stack(workers), np.column_stack(servers)]), axis=0)


def _lanes(rows: Integers) -> Integers:
    """A lane for every row, such that jobs at a site at the same time are in different ones."""
    lane = np.zeros(len(rows), dtype=np.int64)
    taken: set[tuple[int, int, int]] = set()
    spans: dict[tuple[int, int], list[int]] = {}
    for at, (site, job, _) in enumerate(rows.tolist()):
        spans.setdefault((site, job), []).append(at)
    for (site, _), members in spans.items():
        slots = rows[members, 2].tolist()
        free = 0
        while any((site, free, slot) in taken for slot in slots):
            free += 1
        taken.update((site, free, slot) for slot in slots)
        lane[members] = free
    return lane


def _mark_servers(ax: Axes, schedule: Schedule, place: dict[tuple[int, int, int], int]) -> None:
    keys = zip(
        schedule.server_job.tolist(), schedule.server_slot.tolist(),
        schedule.server_site.tolist(), strict=True,
    )  # fmt: skip
    at = np.array([(slot + 0.32, place[job, slot, site]) for job, slot, site in keys])
    ax.scatter(
        at[:, 0], at[:, 1], marker="*", s=70, c="white", edgecolors="black", linewidths=0.7,
        zorder=4,
    )  # fmt: skip


def _write_workers(ax: Axes, schedule: Schedule, place: dict[tuple[int, int, int], int]) -> None:
    for job, slot, site, count in zip(
        schedule.worker_job.tolist(), schedule.worker_slot.tolist(),
        schedule.worker_site.tolist(), schedule.worker_count.tolist(), strict=True,
    ):  # fmt: skip
        ax.text(
            slot, place[job, slot, site], str(count), ha="center", va="center", fontsize=7,
            color="white", zorder=5,
        )  # fmt: skip


def _draw_moves(
    ax: Axes,
    schedule: Schedule,
    place: dict[tuple[int, int, int], int],
    top: list[int],
) -> None:
    """Arrows from a job's own lane at the source, or else the site's first lane."""
    away = np.flatnonzero(schedule.move_source != schedule.move_target)[:_MOST_ARROWS]
    for at in away.tolist():
        job, slot = int(schedule.move_job[at]), int(schedule.move_slot[at])
        source, target = int(schedule.move_source[at]), int(schedule.move_target[at])
        start = place.get((job, slot, source), top[source])
        end = place.get((job, slot, target))
        if end is None:
            continue
        ax.annotate(
            "", (slot - 0.42, end), (slot - 0.42, start),
            arrowprops={
                "arrowstyle": "->", "color": "black", "linewidth": 0.8,
                "connectionstyle": "arc3,rad=0.15",
                "shrinkA": 0,
                "shrinkB": 0,
                "mutation_scale": 12,
            },
            zorder=6,
        )  # fmt: skip


def utilisation(ax: Axes, instance: Instance, schedule: Schedule) -> Axes:
    """Share of each resource of all sites together that is held, slot by slot.

    Args:
        ax: where to draw.
        instance: the system and its jobs.
        schedule: what was decided.
    """
    slots = int(schedule.worker_slot.max(initial=1))
    for k in range(instance.resources):
        held = np.bincount(
            schedule.worker_slot,
            instance.worker_demand[schedule.worker_job, k] * schedule.worker_count,
            slots + 1,
        ) + np.bincount(schedule.server_slot, instance.ps_demand[schedule.server_job, k], slots + 1)
        whole = max(1, int(instance.capacity[:, k].sum()))
        ax.step(
            np.arange(1, slots + 1), held[1:] / whole, where="mid",
            color=COLOURS[k % len(COLOURS)], label=f"resource {k}",
        )  # fmt: skip
    ax.set_xlabel("slot")
    ax.set_ylabel("share held")
    ax.set_ylim(0, 1.05)
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize="small", frameon=False)
    return ax
