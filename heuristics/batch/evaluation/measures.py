"""The simulations of the paper's evaluation, as sweeps over instances.

What the paper leaves open (T = 100, F = 1, numbers of jobs) is in the tasks. At its sizes most
jobs are so long that the unlimited cloud serves them best; ``time_scale`` shortens them until the
edge matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from formulations.batch import PROBLEM
from formulations.batch.check import check, cost, weighted_completion
from formulations.batch.domain_reduction import lb_alone
from formulations.batch.metrics import completion, makespan, utilisation
from heuristics.batch import HEURISTICS
from optsched.solvers.options import Options
from optsched.study.sweep import Scale, Sweep

_OVERHEAD = {"overhead_slots": 1, "ignore_upload": False}

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "a_online": ("a_online", {}),
    "weighted": ("a_online", {"value_rule": "weight"}),
    "fifo": ("fifo", {}),
    "fifo_completion": ("fifo", {"earliest": "completion"}),
    "drf": ("drf", {}),
    "batch_sche": ("batch_sche", {}),
    "all_cloud": ("all_cloud", {}),
    "preemptive": ("preemptive", {}),
    "preemptive_spread": ("preemptive", {"width": "spread"}),
    "preemptive_overhead": ("preemptive", {**_OVERHEAD}),
    "preemptive_overhead_spread": ("preemptive", {**_OVERHEAD, "width": "spread"}),
}
"""What is run: name, heuristic, options; of a baseline that may be read in two ways, both."""

ROUNDS: dict[str, dict[str, Any]] = {
    "printed": {},
    "any start": {"start_rule": "any", "release_test": "exact"},
}
"""What A_online's rounds may be: jobs begin with the window and uploads end before it, as printed,
or whenever (2) lets them."""

SETTING = ["time_scale", "jobs", "servers", "price_cap", "gradient"]
CONTENDED = 0.1
"""``time_scale`` of the studies in which the edge matters."""


BASE = {"time_scale": 1.0, "price_cap": 1.0, "gradient": 0}


def _tasks(scale: Scale) -> list[dict[str, Any]]:
    """One task per instance: each study varies one number, and what they share is there once."""
    full = scale == "full"
    jobs, servers = (
        (range(50, 301, 50), range(100, 301, 50)) if full else ((30, 60, 90), (30, 60, 120))
    )
    middle = {**BASE, "jobs": 200 if full else 60, "servers": 200 if full else 60}
    cells: list[dict[str, Any]] = []
    for time_scale in (1.0, CONTENDED):
        here = {**middle, "time_scale": time_scale}
        cells += [here | {"jobs": n} for n in jobs]
        cells += [here | {"servers": n} for n in servers]
    cells += [middle | {"price_cap": cap} for cap in (0.01, 1.0, 100.0)]
    cells += [
        middle | {"gradient": k} for k in ((50, 150, 300, 450, 575) if full else (50, 300, 575))
    ]
    return _seeded(cells, scale)


def _seeded(cells: Sequence[dict[str, Any]], scale: Scale) -> list[dict[str, Any]]:
    """Every cell once, under every seed."""
    distinct = [cell for i, cell in enumerate(cells) if cell not in cells[:i]]
    return [
        {**cell, "seed": seed} for cell in distinct for seed in range(10 if scale == "full" else 3)
    ]


def measure_sizes(
    *,
    jobs: int,
    servers: int,
    time_scale: float,
    price_cap: float,
    gradient: int,
    seed: int,
    cloud: int | str = "unlimited",
) -> list[dict[str, Any]]:
    """Every method on one instance.

    Args:
        jobs: J.
        servers: edge servers.
        time_scale: of the generator.
        price_cap: F; where it is not 1, A_online alone is run.
        gradient: k_j of every job, 10^6 bytes; 0: drawn.
        seed: of the instance.
        cloud: workers of each type there, or "unlimited".
    """
    instance = PROBLEM.generate(
        np.random.default_rng(seed),
        jobs=jobs,
        servers=servers,
        time_scale=time_scale,
        price_cap=price_cap,
        gradient_size_mb=gradient or None,
        weights="uniform",
        cloud_workers=None if cloud == "unlimited" else cloud,
    )
    rows, schedules = [], []
    for name in METHODS if price_cap == BASE["price_cap"] else ("a_online", "weighted"):
        heuristic, options = METHODS[name]
        made = HEURISTICS[heuristic].run(instance, np.random.default_rng(seed), **options)
        broken = check(
            instance, made, allow_preemption=made.preemptive, ignore_upload=made.ignores_upload
        )
        if broken:
            raise ValueError(f"{name} breaks ({broken[0].constraint})")
        schedules.append(made)
        rows.append(
            {
                "method": name,
                "completion": completion(instance, made),
                "weighted": weighted_completion(instance, made),
            }
        )
    window = makespan(instance, schedules[0])  # the same for all: until A_online is done
    return [
        {
            **row,
            "utilisation": utilisation(instance, made, window),
            "utilisation_own": utilisation(instance, made, makespan(instance, made)),
            "utilisation_edge": utilisation(instance, made),
        }
        for row, made in zip(rows, schedules, strict=True)
    ]


def _ratio_tasks(scale: Scale) -> list[dict[str, Any]]:
    full = scale == "full"
    sizes = [(n, 20) for n in (5, 10, 15, 20)]
    sizes += [(15, n) for n in ((10, 20, 40, 80) if full else (10, 20, 40))]
    cells = [
        {"jobs": jobs, "servers": servers, "time_scale": time_scale}
        for jobs, servers in sizes
        for time_scale in (1.0, CONTENDED)
    ]
    return [{**task, "seconds": 10.0 if full else 5.0} for task in _seeded(cells, scale)]


def measure_ratio(
    *, jobs: int, servers: int, time_scale: float, seed: int, seconds: float
) -> list[dict[str, Any]]:
    """A_online's cost against the offline optimum, in flow time and in completion time.

    Args:
        jobs: J.
        servers: edge servers.
        time_scale: of the generator.
        seed: of the instance.
        seconds: limit of the exact solve; where it strikes, the bound stands for the optimum.
    """
    instance = PROBLEM.generate(
        np.random.default_rng(seed), jobs=jobs, servers=servers, time_scale=time_scale
    )
    run = partial(HEURISTICS["a_online"].run, instance)
    made = {name: run(np.random.default_rng(seed), **options) for name, options in ROUNDS.items()}
    costs = {name: cost(instance, one) for name, one in made.items()}
    answer = PROBLEM.solve(
        "problem_2_offline",
        instance,
        options=Options(time_limit=seconds),
        start=made[min(costs, key=costs.__getitem__)],
    )
    bound = lb_alone(instance) if answer.solution.bound is None else answer.solution.bound
    arrived = float(instance.release_slot.sum())
    return [
        {
            "method": name,
            "flow": flow / bound,
            "completion": (flow + arrived) / (bound + arrived),
            "proven": float(answer.solution.status == "optimal"),
        }
        for name, flow in costs.items()
    ]


def by_setting(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean total completion time by setting, methods side by side."""
    table = frame.pivot_table(index=SETTING, columns="method", values="completion", sort=False)
    return table.round(0)


def ratios_by_setting(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean ratios by setting, and how many optima were proven."""
    index = ["method", "time_scale", "jobs", "servers"]
    return frame.groupby(index, sort=False)[["flow", "completion", "proven"]].mean().round(3)


SIZE_SWEEP = Sweep("batch", _tasks, measure_sizes, by_setting)
RATIO_SWEEP = Sweep("batch_ratio", _ratio_tasks, measure_ratio, ratios_by_setting)
