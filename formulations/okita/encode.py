"""Schedules as points of the integer programs of (2), for solvers to start from.

The programs leave out what some optimum does without: slots that cost more than a schedule known,
idle workers, all but one order of identical jobs and sites. A schedule is brought into that form
first, which never raises its cost. One that needs slots that are left out costs more than the
schedule by which they are left out; that one is the start then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from formulations.okita.check import check
from formulations.okita.horizon import HorizonMode, Windows
from formulations.okita.instance import Floats, Instance, Integers
from formulations.okita.one_job.planner import Planner, in_horizon
from formulations.okita.problem_2 import EQUATIONS, decode_problem_2, problem_2
from formulations.okita.problem_2_aggregated import EQUATIONS as AGGREGATED
from formulations.okita.problem_2_aggregated import (
    Exchange,
    decode_aggregated,
    problem_2_aggregated,
    problem_2_logical,
    problem_windows,
)
from formulations.okita.problem_7 import cheapest_flow
from formulations.okita.schedule import Schedule
from formulations.okita.symmetry import (
    direct_sites,
    identical_jobs,
    interchangeable_sites,
    site_weights,
    spared_places,
    without_detours,
)
from optsched.problem.methods import Formulation


@dataclass(frozen=True, eq=False)
class _Cells:
    """A schedule by job and slot, without idle workers."""

    span: Windows
    workers: Integers
    """y, shape (cells, sites)."""
    server: Integers
    """s, shape (cells, sites)."""
    moves: Integers
    """g, shape (cells, sites, sites)."""

    @property
    def runs(self) -> Integers:
        """x, shape (cells,)."""
        return np.asarray(self.server.sum(axis=1))

    @property
    def chunks(self) -> Integers:
        """h, shape (cells, sites)."""
        return np.asarray(self.moves.sum(axis=1))

    @property
    def product(self) -> Integers:
        """Workers by their site and that of the server, shape (cells, sites, sites)."""
        return self.workers[:, :, None] * self.server[:, None, :]

    def last(self) -> Integers:
        """The cell in which each job completes, shape (jobs,)."""
        cell = np.flatnonzero(self.runs)
        last = np.zeros(self.span.instance.jobs, dtype=np.int64)
        np.maximum.at(last, self.span.cells[0][cell], cell)
        return last


def encode_aggregated(
    instance: Instance,
    schedule: Schedule,
    *,
    exchange: Exchange = "epigraph",
    horizon_mode: HorizonMode = "safe",
    cut_off: bool = True,
    cost_limit: float | None = None,
    direct_transport: bool = False,
    **_: Any,
) -> dict[str, Floats]:
    """A schedule as a point of ``problem_2_aggregated`` built with the same options.

    Nothing is said where neither the schedule nor the one by which slots are cut off is allowed.
    """
    cells = _canonical(_cells(instance, schedule, horizon_mode, cut_off, cost_limit))
    if cells is None:
        return {}
    values = _common(cells)
    ends = np.zeros(len(cells.runs))
    ends[cells.last()] = 1.0
    values["e"] = ends
    if exchange == "hull":
        values["w"] = cells.product.astype(float)
    else:
        q = instance.unit_bandwidth_cost
        values["c"] = np.asarray((cells.product * q).sum(axis=(1, 2)))
    if direct_transport:
        values |= _imports(instance, values["G"])
    return values


def encode_logical(
    instance: Instance,
    schedule: Schedule,
    *,
    horizon_mode: HorizonMode = "safe",
    cut_off: bool = True,
    cost_limit: float | None = None,
    direct_transport: bool = False,
    **_: Any,
) -> dict[str, Floats]:
    """A schedule as a point of ``problem_2_logical``; see ``encode_aggregated``."""
    cells = _canonical(_cells(instance, schedule, horizon_mode, cut_off, cost_limit))
    if cells is None:
        return {}
    values = _common(cells)
    values["w"] = cells.product.astype(float)
    job = cells.span.cells[0]
    values["late"] = (np.arange(len(job)) <= cells.last()[job]).astype(float)
    if direct_transport:
        values |= _imports(instance, values["G"])
    return values


def encode_problem_2(
    instance: Instance,
    schedule: Schedule,
    *,
    horizon_mode: HorizonMode = "safe",
    cut_off: bool = True,
    cost_limit: float | None = None,
    **_: Any,
) -> dict[str, Floats]:
    """A schedule as a point of ``problem_2``; see ``encode_aggregated``."""
    cells = _cells(instance, schedule, horizon_mode, cut_off, cost_limit)
    if cells is None:
        return {}
    values = {
        "y": cells.workers, "s": cells.server, "x": cells.runs, "g": cells.moves,
        "w": cells.product,
    }  # fmt: skip
    point = {name: value.astype(float) for name, value in values.items()}
    last = cells.last()
    for i in range(instance.jobs):
        point[f"2e:{i}"] = np.asarray(float(last[i] - cells.span.first_cell[i]))
        point[f"f:{i}"] = np.asarray(cells.span.flow_cost[last[i]])
    return point


def _cells(
    instance: Instance,
    schedule: Schedule,
    mode: HorizonMode,
    cut_off: bool,
    cost_limit: float | None,
) -> _Cells | None:
    """The schedule, or the one by which slots are cut off, whichever first is allowed."""
    span = problem_windows(instance, mode, cut_off=cut_off, cost_limit=cost_limit)
    if not check(instance, schedule):
        cells = _within(span, schedule)
        if cells is not None:
            return cells
    return _within(span, Planner(instance).best_insertion())


def _within(span: Windows, schedule: Schedule) -> _Cells | None:
    """A schedule by cells; None if chunks are trained outside."""
    instance, cells = span.instance, len(span.cells[0])
    sites = instance.sites
    if (schedule.move_slot > span.last[schedule.move_job]).any():
        return None
    moves = np.zeros((cells, sites, sites), dtype=np.int64)
    cell = _cell(span, schedule.move_job, schedule.move_slot)
    np.add.at(moves, (cell, schedule.move_source, schedule.move_target), schedule.move_chunks)
    chunks = moves.sum(axis=1)
    server = np.zeros((cells, sites), dtype=np.int64)
    inside = schedule.server_slot <= span.last[schedule.server_job]
    cell = _cell(span, schedule.server_job[inside], schedule.server_slot[inside])
    server[cell, schedule.server_site[inside]] = 1
    server[chunks.sum(axis=1) == 0] = 0
    return _Cells(span, instance.workers_needed(span.cells[0][:, None], chunks), server, moves)


def _cell(span: Windows, job: Integers, slot: Integers) -> Integers:
    return np.asarray(span.first_cell[job] + slot - span.instance.release_slot[job])


def _canonical(cells: _Cells | None) -> _Cells | None:
    """The same with identical jobs and interchangeable sites in order."""
    if cells is None:
        return None
    span = cells.span
    instance, job = span.instance, span.cells[0]
    ends = span.cells[1][cells.last()]
    # identical jobs have windows of one length: their cells change places
    takes = _sorted_within(identical_jobs(instance), ends)
    source = span.first_cell[takes[job]] + np.arange(len(job)) - span.first_cell[job]
    workers, server, moves = (part[source] for part in (cells.workers, cells.server, cells.moves))
    trained = np.zeros((instance.jobs, instance.sites), dtype=np.int64)
    np.add.at(trained, job, moves.sum(axis=1))
    key = site_weights(instance) @ trained
    order = _sorted_within(interchangeable_sites(instance), -key)
    moves = moves[:, order][:, :, order]
    return _Cells(span, workers[:, order], server[:, order], moves)


def _sorted_within(group: Integers, key: Integers) -> Integers:
    """Who takes each one's place so that the key ascends within every group."""
    places = np.argsort(group, kind="stable")
    takes = np.empty_like(places)
    takes[places] = np.lexsort((np.arange(len(key)), key, group))
    return takes


def _common(cells: _Cells) -> dict[str, Floats]:
    """Values of what both aggregated models have, transport as cheap as it can be."""
    instance, job = cells.span.instance, cells.span.cells[0]
    chunks = cells.chunks
    trained = np.zeros((instance.jobs, instance.sites), dtype=np.int64)
    np.add.at(trained, job, chunks)
    direct = direct_sites(instance)
    flow = np.zeros((instance.jobs, instance.sites, instance.sites), dtype=np.int64)
    for i in range(instance.jobs):
        flow[i] = without_detours(cheapest_flow(instance, i, trained[i]), direct)
    values = {"y": cells.workers, "h": chunks, "s": cells.server, "x": cells.runs, "G": flow}
    return {name: value.astype(float) for name, value in values.items()}


def _imports(instance: Instance, flow: Floats) -> dict[str, Floats]:
    """Whether a site brings in chunks, where it may not also send them away."""
    job, site = spared_places(instance)
    brought = flow.sum(axis=1)[job, site] - flow[job, site, site]
    return {"imports": (brought > 0).astype(float)} if len(job) else {}


FORMULATIONS = (
    Formulation(
        "problem_2_aggregated", problem_2_aggregated, "problem (2)",
        "transport added up over time, exchange cost as epigraph or hull; integer program",
        decode_aggregated, encode_aggregated, admits=in_horizon,
        tying=("R11", "alike", "sites"), equations=AGGREGATED,
    ),
    Formulation(
        "problem_2_logical", problem_2_logical, "problem (2)",
        "the same with the product of workers and server as it is, for constraint programming",
        decode_aggregated, encode_logical, solver="cpsat", admits=in_horizon,
    ),
    Formulation(
        "problem_2", problem_2, "problem (2)",
        "row by row under the paper's numbers: chunks moved in every slot, products of workers "
        "and server; without slots that no optimum needs",
        decode_problem_2, encode_problem_2, admits=in_horizon, equations=EQUATIONS,
    ),
)  # fmt: skip
