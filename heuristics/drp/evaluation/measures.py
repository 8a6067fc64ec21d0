"""The simulations of the DRP/DSRP paper's evaluation, as sweeps over instances.

What the paper leaves open (server profiles, numbers of jobs) is in the tasks. Its "optimal" is the
value of LP1 after PRUNE (LP2 for DSRP), which bounds nothing; the best proven bound on the optimum
is measured beside it.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from formulations.drp import DSRP, PROBLEM
from formulations.drp.check import BandwidthCost, bandwidth_cost
from formulations.drp.generator import generate
from formulations.drp.instance import Floats, Instance
from formulations.drp.priced_relaxation import relax
from formulations.drp.prune import lp1_first
from formulations.drp.schedule import Schedule
from heuristics.drp import DSRP_HEURISTICS, HEURISTICS
from heuristics.drp.r_dsr import PlacementRun, place
from optsched.problem import Problem
from optsched.solve import solve
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution
from optsched.study.sweep import Scale, Sweep

TOPOLOGIES = ("hexagon", "grid")
DISTRIBUTIONS = ("uniform", "normal", "pareto")
PROFILES = ("bandwidth_bound", "balanced", "physical")
SETTING = ["topology", "distribution", "profile", "jobs"]

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "r_dr": ("r_dr", {}),
    "r_dr_exact": ("r_dr", {"mode": "exact"}),
    "greedy": ("greedy", {}),
    "nearest": ("nearest", {}),
    "nearest_literal": ("nearest_literal", {}),
    "random": ("random", {}),
}
"""What is run on every instance of DRP: name, heuristic, options."""


def _drp_tasks(scale: Scale) -> list[dict[str, Any]]:
    """Every setting of the paper, or those that its claims are about.

    At full scale half of the instances of a setting are bounded; quick, those with 40 jobs.
    """
    if scale == "full":
        cells = list(itertools.product(TOPOLOGIES, DISTRIBUTIONS, PROFILES, range(10, 61, 10)))
        return [*_tasks(cells, range(5), seconds=5.0), *_tasks(cells, range(5, 10))]
    crowded = itertools.product(TOPOLOGIES, DISTRIBUTIONS[:2], PROFILES[:2], (60,))
    few = itertools.product(TOPOLOGIES, DISTRIBUTIONS[:1], PROFILES[:2], (20,))
    proven = itertools.product(TOPOLOGIES, DISTRIBUTIONS[:1], PROFILES, (40,))
    return [
        *_tasks([*crowded, *few], range(4)),
        *_tasks(list(proven), range(3), seconds=3.0),
    ]


def _discussion_tasks(scale: Scale) -> list[dict[str, Any]]:
    """Section 3.5: nodes that serve three jobs each, and work that follows from the loss."""
    full = scale == "full"
    jobs, seeds = ((20, 40, 60), 10) if full else ((40,), 6)
    cells = list(itertools.product(("hexagon",), DISTRIBUTIONS[:1], PROFILES[1:2], jobs))
    return [
        {**task, "jobs_per_node": shared, "work": work}
        for shared, work in ((3, "data"), (1, "loss"))
        for task in _tasks(cells, range(seeds))
    ]


def _dsrp_tasks(scale: Scale) -> list[dict[str, Any]]:
    """As ``_drp_tasks``, without the optimum, of which no claim is."""
    if scale == "full":
        cells = list(itertools.product(TOPOLOGIES, DISTRIBUTIONS, PROFILES, range(10, 61, 10)))
        return _tasks(cells, range(10))
    few = {"hexagon": 3, "grid": 4}  # the relaxation takes long on hexagons
    return [
        task
        for topology, seeds in few.items()
        for data in ("uniform", "normal")
        for task in _tasks([(topology, data, "bandwidth_bound", 40)], range(seeds))
    ]


def _tasks(
    cells: Sequence[tuple[str, str, str, int]], seeds: Iterable[int], seconds: float = 0.0
) -> list[dict[str, Any]]:
    return [
        {**dict(zip(SETTING, cell, strict=True)), "seed": seed, "seconds": seconds}
        for cell in cells
        for seed in seeds
    ]


def _instance(seed: int, **setting: Any) -> Instance:
    return generate(np.random.Generator(np.random.PCG64(seed)), **setting)


def measure_drp(*, seed: int, seconds: float, **setting: Any) -> list[dict[str, Any]]:
    """R-DR, the baselines, LP1 after PRUNE, and the optimum or its best bound on one instance.

    Args:
        seed: of the instance and of the heuristics.
        seconds: limit of the exact solve; 0: neither it nor R-DR in exact mode.
        setting: topology, distribution, profile, jobs, and what else the generator knows.
    """
    instance = _instance(seed=seed, **setting)
    rows, schedules = [], []
    for name, (heuristic, options) in METHODS.items():
        if name == "r_dr_exact" and not seconds:
            continue
        began = time.perf_counter()
        made = HEURISTICS[heuristic].run(instance, np.random.default_rng(seed), **options)
        took = time.perf_counter() - began
        _checked(PROBLEM, instance, made, name)
        schedules.append(made)
        rows.append(_row(name, made.admit.sum(), bandwidth_cost(instance, made), took=took))
    rows.append(_relaxed(instance, "lp1_first", solve(lp1_first(instance))))
    if not seconds:
        return rows
    best = max(schedules, key=lambda made: made.admit.sum())
    return [*rows, *_optimum(PROBLEM, instance, best, seconds)]


def measure_dsrp(*, seed: int, seconds: float, **setting: Any) -> list[dict[str, Any]]:
    """R-DSR in three forms, R-DR with storage, LP2 and, within ``seconds``, the optimum."""
    instance = _instance(seed=seed, **setting)
    relaxed = relax(instance, "eps", instance.comm_share)  # once: it takes longer than all the rest

    def rounded(**options: bool) -> PlacementRun:
        rng = np.random.default_rng(seed)
        return place(instance, rng, relaxed, "eps", instance.comm_share, **options)

    raw, printed = rounded(repair=False), rounded(repair=False, printed=True)
    feasible: dict[str, Schedule] = {
        "r_dsr": rounded(),
        "r_dr_storage": DSRP_HEURISTICS["r_dr_storage"].run(instance, np.random.default_rng(seed)),
    }
    for name, made in feasible.items():
        _checked(DSRP, instance, made, name)
    rows = [
        _row(name, int(made.admit.sum()), bandwidth_cost(instance, made), load=load)
        for name, made, load in (
            ("r_dsr_raw", raw, max(raw.raw_load.values())),
            ("r_dsr_printed", printed, max(printed.raw_load.values())),
            *((name, made, 1.0) for name, made in feasible.items()),
        )
    ]
    rows.append(_fractional(instance, "lp2", relaxed.x, relaxed.value))
    if not seconds:
        return rows
    best = max(feasible.values(), key=lambda made: made.admit.sum())
    return [*rows, *_optimum(DSRP, instance, best, seconds)]


def _checked(problem: Problem, instance: Instance, made: Schedule, name: str) -> None:
    violations = problem.check(instance, made)
    if violations:
        raise ValueError(f"{name} breaks ({violations[0].constraint})")


def _row(
    method: str, value: float, bandwidth: BandwidthCost | None, **rest: float
) -> dict[str, Any]:
    """What a method admits, and the bandwidth each job of it takes (bit/s)."""
    cost = float("nan") if bandwidth is None else bandwidth.inbound + bandwidth.outbound
    return {"method": method, "value": float(value), "bandwidth": float(cost), **rest}


def _relaxed(instance: Instance, name: str, solution: Solution) -> dict[str, Any]:
    """A linear program's value and the bandwidth its fractional jobs take."""
    if solution.objective is None:
        raise ValueError(f"{name} ended {solution.status}: {solution.message}")
    return _fractional(instance, name, solution["x"], solution.objective)


def _fractional(instance: Instance, name: str, x: Floats, value: float) -> dict[str, Any]:
    """So many jobs in fractions, and the bandwidth they take."""
    jobs = max(value, 1e-9)
    rate = float(x @ instance.node_rate_bps[instance.pair_node]) / jobs
    outbound = float(x @ instance.node_outbound[instance.pair_node]) / instance.comm_share / jobs
    return _row(name, value, BandwidthCost(rate, outbound))


def _optimum(
    problem: Problem, instance: Instance, start: Schedule, seconds: float
) -> list[dict[str, Any]]:
    """Best known value and best bound; equal where the optimum is proven."""
    options = Options(time_limit=seconds)
    answer = problem.solve(problem.reference, instance, options=options, start=start)
    solution = answer.solution
    best = np.nan if solution.objective is None else solution.objective
    bound = np.nan if solution.bound is None else solution.bound
    cost = None if answer.schedule is None else bandwidth_cost(instance, answer.schedule)
    return [_row("optimum", best, cost, took=solution.seconds), _row("bound", bound, None)]


def by_setting(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean jobs admitted by setting, methods side by side; then Gbit/s per job."""
    values = frame.pivot_table(index=SETTING, columns="method", values="value", sort=False)
    best = frame[frame["method"].isin(["r_dr", "r_dsr", "optimum"])]
    cost = best.assign(cost=best["bandwidth"] / 1e9).pivot_table(
        index=SETTING, columns="method", values="cost", sort=False
    )
    return values.join(cost.add_suffix(" Gbit/s per job")).round(2)


DRP_SWEEP = Sweep("drp", _drp_tasks, measure_drp, by_setting)
DISCUSSION = Sweep("drp_discussion", _discussion_tasks, measure_drp, by_setting)
DSRP_SWEEP = Sweep("dsrp", _dsrp_tasks, measure_dsrp, by_setting)
