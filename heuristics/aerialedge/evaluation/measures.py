"""The runs behind AerialEdge's evaluation, as sweeps over instances.

Workloads are those of Table III on the nodes the published percentages stand for, rebuilt from
their totals (``make_table3``); the ``hard`` generator, where sizes are mixed; and the GPU trace of
2023, on which the published allocation ratios of two policies are known.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from formulations.aerialedge import pack
from formulations.aerialedge.check import cost
from formulations.aerialedge.generator import hard, make_table3
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.metrics import aet_per_job, aet_pooled, usage
from formulations.aerialedge.schedule import Schedule
from formulations.aerialedge.tables import DRONES
from formulations.common.traces.alibaba_gpu import load_nodes, load_pods
from heuristics.aerialedge import HEURISTICS
from heuristics.aerialedge.evaluation.gpu_cluster import GpuPolicy, replay, topped_up
from heuristics.aerialedge.timeline import makespan_dag
from heuristics.common.data import data_folder
from optsched.study.sweep import Scale, Sweep

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "aerialedge": ("aerialedge", {}),
    "tetris": ("tetris", {}),
    "tetris_shared": ("tetris", {"share_nodes_across_batches": True}),
    "graphene": ("graphene", {}),
    "spear": ("spear", {}),
    "next_fit": ("next_fit", {}),
    "first_fit": ("first_fit", {}),
    "first_fit_decreasing": ("first_fit_decreasing", {}),
    "random_queued": ("random_queued", {}),
    "random_at_once": ("random_at_once", {}),
}
"""What is run on every workload of Table III: name, heuristic, options."""

PACKERS = ("next_fit", "first_fit", "first_fit_decreasing", "tetris")

GPU_POLICIES: tuple[GpuPolicy, ...] = ("random", "best_fit")
GPU_RATIOS = {
    "default": (86.303, 92.862),
    "cpu100": (87.435, 93.263),
    "gpushare40": (84.864, 91.443),
    "multigpu50": (81.282, 95.623),
}
"""Published allocation of ``GPU_POLICIES`` when all GPUs have been asked for, per cent."""

GPU_TRACE = "alibaba_gpu_v2023"

_TIMED = 3  # runs of which the quickest counts as scheduling time


def _table3_tasks(scale: Scale) -> list[dict[str, Any]]:
    seeds = 10 if scale == "full" else 4
    drones = range(len(DRONES), 0, -1)  # the large ones first
    return [{"drone": drone, "seed": seed} for drone in drones for seed in range(seeds)]


def measure_table3(drone: int, seed: int) -> list[dict[str, Any]]:
    """Every method on one workload of Table III; shares in per cent, times in seconds."""
    instance = make_table3(drone, np.random.default_rng(seed))
    return [{"method": name, **_measured(instance, name, seed)} for name in METHODS]


def _measured(instance: Instance, name: str, seed: int) -> dict[str, Any]:
    heuristic, options = METHODS[name]
    run = partial(HEURISTICS[heuristic].run, instance, **options)
    took = []
    for _ in range(_TIMED):
        began = time.process_time()
        schedule: Schedule = run(np.random.default_rng(seed))
        took.append(time.process_time() - began)
    used = usage(instance, schedule)
    return {
        "nodes": float(cost(instance, schedule)),
        "usage": 100 * used.actual_resource_usage[0],
        "cpu": 100 * used.utilisation[0],
        "memory": 100 * used.utilisation[1],
        "deployed": 100 * used.deployed,
        "aet_pooled": aet_pooled(instance, schedule),
        "aet_per_job": aet_per_job(instance, schedule),
        "makespan": makespan_dag(instance, heuristic),
        "took": min(took),
    }


def nodes_by_drone(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean number of nodes opened by each method, drone by drone."""
    means = frame.pivot_table(index="drone", columns="method", values="nodes")
    return means[list(METHODS)].round(2)


def _hard_tasks(scale: Scale) -> list[dict[str, Any]]:
    seeds = 10 if scale == "full" else 2
    sizes = (77, 60, 40, 25, 16)
    return [{"tasks": n, "seed": seed, "seconds": 10.0} for n in sizes for seed in range(seeds)]


def measure_hard(tasks: int, seed: int, seconds: float) -> list[dict[str, Any]]:
    """Nodes each packer opens over the best known number, where sizes are mixed."""
    instance = hard(tasks, np.random.default_rng(1000 * tasks + seed))
    solution = pack(instance, time_limit=seconds).solution
    if solution.objective is None:
        raise ValueError(f"no packing was found: {solution.status}")
    rows = []
    for name in PACKERS:
        schedule = HEURISTICS[name].run(instance, np.random.default_rng(0))
        ratio = float(cost(instance, schedule)) / solution.objective
        rows.append({"method": name, "ratio": ratio, "proven": solution.status == "optimal"})
    return rows


def ratio_by_size(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean ratio of each packer to the best known, by number of tasks."""
    return frame.pivot_table(index="tasks", columns="method", values="ratio").round(3)


def _gpu_tasks(scale: Scale) -> list[dict[str, Any]]:
    data_folder(GPU_TRACE)
    seeds = 10 if scale == "full" else 4
    return [
        {"variant": variant, "policy": policy, "seed": seed}
        for variant in GPU_RATIOS
        for policy in GPU_POLICIES
        for seed in range(seeds)
    ]


def measure_gpu(variant: str, policy: GpuPolicy, seed: int) -> list[dict[str, Any]]:
    """Allocated share of the GPUs when all have been asked for, per cent."""
    folder = data_folder(GPU_TRACE)
    nodes = load_nodes(folder / "openb_node_list_gpu_node.csv.gz")
    pods = load_pods(folder / f"openb_pod_list_{variant}.csv.gz")
    rng = np.random.default_rng(seed)
    return [{"allocated": 100 * replay(topped_up(pods, nodes, rng), nodes, policy, rng).at(1.0)}]


TABLE3_SWEEP = Sweep("table_3", _table3_tasks, measure_table3, nodes_by_drone)
HARD_SWEEP = Sweep("hard", _hard_tasks, measure_hard, ratio_by_size)
GPU_SWEEP = Sweep("gpu_trace", _gpu_tasks, measure_gpu)
