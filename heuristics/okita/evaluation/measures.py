"""The simulations of Okita's evaluation, as sweeps over instances."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from formulations.okita import PROBLEM
from formulations.okita.check import check, completion_slots, job_costs
from formulations.okita.generator import generate
from heuristics.okita import HEURISTICS
from optsched.solvers.options import Options
from optsched.study.sweep import Scale, Sweep

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "okita": ("okita", {}),
    "fifo uniform": ("fifo", {}),
    "fifo middle": ("fifo", {"draw": "middle"}),
    "drf": ("drf", {}),
    "oasis 1": ("oasis", {}),
    "oasis 100": ("oasis", {"least_price": 100.0, "largest_price": 1e5}),
}
"""What is run: name, heuristic, options; of a baseline that may be read in two ways, both."""

LATENCIES = ("exponential", "linear", "piecewise")
ALPHAS = ((1.0, 4.0), (1.0, 2.0), (1.0, 1.0), (2.0, 1.0), (4.0, 1.0))
SEEDS = 6
"""Seeds of a quick run: as few as an interval by signs can tell from an even chance."""
BETAS = ((1.0, 1.0, 1.0), (2.0, 1.0, 1.0), (1.0, 2.0, 1.0), (1.0, 1.0, 2.0))


def _cells(seeds: int, **grid: Sequence[Any]) -> list[dict[str, Any]]:
    """Every combination of values, every seed."""
    return [
        dict(zip((*grid, "seed"), values, strict=True))
        for values in itertools.product(*grid.values(), range(seeds))
    ]


def _ratio_tasks(scale: Scale) -> list[dict[str, Any]]:
    """Sizes at which the optimum, or a bound within 5 %, is certified."""
    if scale == "full":
        return _cells(5, jobs=[2, 4, 6, 8, 10], sites=[2, 3, 4, 5, 6], horizon=[20], seconds=[10.0])
    return _cells(4, jobs=[2, 4], sites=[3, 4], horizon=[20], seconds=[2.0])


def measure_ratios(
    *, jobs: int, sites: int, horizon: int, seconds: float, seed: int
) -> list[dict[str, Any]]:
    """Cost of every method over the optimum, as an interval."""
    instance = generate(np.random.default_rng(seed), jobs=jobs, sites=sites, horizon=horizon)
    run = partial(_schedule, instance, seed=seed)
    costs = {
        name: PROBLEM.cost(instance, run(heuristic, options))
        for name, (heuristic, options) in METHODS.items()
    }
    answer = PROBLEM.solve(
        PROBLEM.reference, instance, options=Options(time_limit=seconds)
    ).solution
    known = min([*costs.values(), *([answer.objective] if answer.objective is not None else [])])
    bound = answer.bound if answer.bound is not None else np.nan
    return [
        {"method": name, "cost": cost, "ratio_low": cost / known, "ratio_high": cost / bound}
        for name, cost in costs.items()
    ]


def _cost_tasks(scale: Scale) -> list[dict[str, Any]]:
    """Figures 9, 10 and 14, at the paper's size or at three tenths of it.

    Jobs, sites and slots shrink together, so that sites are as busy.
    """
    full = scale == "full"
    seeds = 10 if full else SEEDS
    jobs, sites, horizon = (100, 50, [150]) if full else (30, 15, [45])
    more_sites = [30, 40, 60, 70] if full else [9, 21]
    more_jobs = [150, 200, 250] if full else [75]
    law, others = list(LATENCIES[:1]), list(LATENCIES[1:])
    tasks = _cells(seeds, jobs=[jobs], sites=[sites, *more_sites], horizon=horizon, latency=law)
    tasks += _cells(seeds, jobs=more_jobs, sites=[sites], horizon=horizon, latency=law)
    tasks += _cells(seeds, jobs=[jobs], sites=[sites], horizon=horizon, latency=others)
    return [{**task, "workload": "simulation"} for task in tasks]


def _time_tasks(scale: Scale) -> list[dict[str, Any]]:
    """Figure 13, at the paper's size."""
    if scale == "full":
        return _cells(3, jobs=[100, 150, 200, 250], sites=[30, 50, 70], horizon=[150])
    return _cells(3, jobs=[250], sites=[50], horizon=[150])


def measure_time(*, jobs: int, sites: int, horizon: int, seed: int) -> list[dict[str, Any]]:
    """CPU seconds of Okita."""
    instance = generate(np.random.default_rng(seed), jobs=jobs, sites=sites, horizon=horizon)
    return [_run(instance, "okita", seed, method="okita")]


def _testbed_tasks(scale: Scale) -> list[dict[str, Any]]:
    """Figures 4 and 5: nine servers, ten jobs that arrive in ten slots."""
    seeds = 50 if scale == "full" else 30
    tasks = _cells(seeds, jobs=[10], sites=[9], horizon=[10], latency=["exponential"])
    return [{**task, "workload": "testbed"} for task in tasks]


def measure_costs(
    *,
    jobs: int,
    sites: int,
    horizon: int,
    latency: str,
    workload: str,
    seed: int,
    site_kinds: str = "mix",
) -> list[dict[str, Any]]:
    """Cost, with and without the worst job, makespan and CPU seconds of every method.

    Args:
        jobs: I.
        sites: R.
        horizon: T.
        latency: how lateness costs.
        workload: of the simulations, or of the test-bed.
        seed: of the instance and of the methods.
        site_kinds: which kinds of sites there are.
    """
    instance = generate(
        np.random.default_rng(seed), jobs=jobs, sites=sites, horizon=horizon, latency=latency,
        workload=workload, site_kinds=site_kinds,
    )  # fmt: skip
    return [
        _run(instance, heuristic, seed, options, method=name)
        for name, (heuristic, options) in METHODS.items()
    ]


def _weight_tasks(scale: Scale) -> list[dict[str, Any]]:
    if scale == "full":
        return _cells(10, jobs=[100], sites=[50], horizon=[150])
    return _cells(SEEDS, jobs=[30], sites=[15], horizon=[45])


def measure_weights(*, jobs: int, sites: int, horizon: int, seed: int) -> list[dict[str, Any]]:
    """Figures 11 and 12: cost of Okita under other weights of (4) and (6)."""
    instance = generate(np.random.default_rng(seed), jobs=jobs, sites=sites, horizon=horizon)
    settings = [("alpha", weights) for weights in ALPHAS] + [("beta", weights) for weights in BETAS]
    return [
        _run(instance, "okita", seed, weights=name, values=str(weights), options={name: weights})
        for name, weights in settings
    ]


def _run(
    instance: Any, name: str, seed: int, options: dict[str, Any] | None = None, **labels: str
) -> dict[str, Any]:
    began = time.process_time()
    schedule = _schedule(instance, name, options or {}, seed=seed)
    seconds = time.process_time() - began
    each = job_costs(instance, schedule)
    return {
        **labels,
        "cost": float(each.sum()),
        "without_worst": float(each.sum() - each.max()),
        "makespan": int(completion_slots(instance, schedule).max()),
        "seconds": seconds,
        "violations": len(check(instance, schedule)),
    }


def _schedule(instance: Any, name: str, options: dict[str, Any], *, seed: int) -> Any:
    return HEURISTICS[name].run(instance, np.random.default_rng(seed), **options)


RATIOS = Sweep("okita_ratios", _ratio_tasks, measure_ratios)
COSTS = Sweep("okita_costs", _cost_tasks, measure_costs)
TIMES = Sweep("okita_times", _time_tasks, measure_time)
TESTBED = Sweep("okita_testbed", _testbed_tasks, measure_costs)
WEIGHTS = Sweep("okita_weights", _weight_tasks, measure_weights)
