"""The claims of AerialEdge's evaluation, measured: holds, fails, or partly.

Workloads are those of Table III on the nodes the published percentages stand for, rebuilt from
their totals (``make_table3``), and the ``hard`` generator. ``--full`` uses more seeds and adds the
allocation ratios of the GPU trace where that lies beside the checkout.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import numpy as np

from formulations.aerialedge.check import cost
from formulations.aerialedge.generator import hard, make_table3
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.metrics import aet_per_job, aet_pooled, usage
from formulations.aerialedge.pack import pack
from formulations.aerialedge.schedule import Schedule
from formulations.aerialedge.tables import DRONES, LEAST_NODES
from heuristics.aerialedge import HEURISTICS
from heuristics.aerialedge.baselines import random
from heuristics.aerialedge.gpu_cluster import replay, topped_up
from heuristics.aerialedge.timeline import makespan_dag
from optsched.traces.alibaba_gpu import load_nodes, load_pods

PACKERS = ("next_fit", "first_fit", "first_fit_decreasing", "tetris")
GPU_RATIOS = {
    "default": (86.303, 92.862),
    "cpu100": (87.435, 93.263),
    "gpushare40": (84.864, 91.443),
    "multigpu50": (81.282, 95.623),
}
"""Published allocation of Random and BestFit when all GPUs have been asked for, per cent."""


@dataclass(frozen=True)
class Claim:
    """A line of the table."""

    says: str
    measured: str
    verdict: str


def run(name: str, instance: Instance) -> Schedule:
    """The schedule of a heuristic."""
    schedule: Schedule = HEURISTICS[name].run(instance, np.random.default_rng(0))
    return schedule


def verdict(holds: int, of: int) -> str:
    """In how many cases it holds, in a word."""
    return "holds" if holds == of else "fails" if holds == 0 else f"partly ({holds} of {of})"


def least_nodes(seeds: int) -> Iterator[Claim]:
    """AerialEdge opens the fewest nodes, as many as Tetris."""
    for drone, least in enumerate(LEAST_NODES, start=1):
        instances = [make_table3(drone, np.random.default_rng(seed)) for seed in range(seeds)]
        exact = [cost(i, run("aerialedge", i)) for i in instances]
        others = {name: [cost(i, run(name, i)) for i in instances] for name in PACKERS}
        ranges = ", ".join(
            f"{name} {min(values):g}-{max(values):g}" for name, values in others.items()
        )
        yield Claim(
            f"Drone {drone}: AerialEdge needs {least} nodes",
            f"{min(exact):g}-{max(exact):g}; {ranges}",
            verdict(sum(value == least for value in exact), seeds),
        )


def headline(seeds: int) -> Iterator[Claim]:
    """25 % fewer resources and 23 % higher utilisation: Drone 1 against Random."""
    ours, theirs = [], []
    for seed in range(seeds):
        instance = make_table3(1, np.random.default_rng(seed))
        ours.append(usage(instance, run("aerialedge", instance)))
        queued = random(instance, np.random.default_rng(seed), queue=True)
        theirs.append(usage(instance, queued))
    fewer = [
        100 * (b.actual_resource_usage[0] - a.actual_resource_usage[0])
        for a, b in zip(ours, theirs, strict=True)
    ]
    higher = [
        100 * (a.utilisation[0] - b.utilisation[0]) for a, b in zip(ours, theirs, strict=True)
    ]
    yield Claim(
        "up to 25 points fewer resources (Drone 1, Random)",
        f"{mean(fewer):.1f} points",
        verdict(sum(abs(value - 25) < 0.5 for value in fewer), seeds),
    )
    yield Claim(
        "up to 23 points higher utilisation (Drone 1, Random)",
        f"{mean(higher):.1f} points",
        verdict(sum(abs(value - 23) < 1 for value in higher), seeds),
    )


def random_places(seeds: int) -> Iterator[Claim]:
    """Random leaves half of the tasks out."""
    for drone, printed in ((2, 38), (4, 50), (5, 53), (6, 49)):
        shares = []
        for seed in range(seeds):
            instance = make_table3(drone, np.random.default_rng(seed))
            shares.append(100 * float(run("random", instance).placed.mean()))
        yield Claim(
            f"Drone {drone}: Random deploys {printed} % of the tasks",
            f"{mean(shares):.1f} %",
            verdict(sum(abs(share - printed) < 1 for share in shares), seeds),
        )


def times(seeds: int) -> Iterator[Claim]:
    """77 times faster execution."""
    for drone, of in enumerate(DRONES, start=1):
        pooled, per_job, real = [], [], []
        for seed in range(seeds):
            instance = make_table3(drone, np.random.default_rng(seed))
            gang, single = run("aerialedge", instance), run("random", instance)
            pooled.append(aet_pooled(instance, single) / aet_pooled(instance, gang))
            per_job.append(aet_per_job(instance, single) / aet_per_job(instance, gang))
            real.append(makespan_dag(instance, "random") / makespan_dag(instance, "aerialedge"))
        yield Claim(
            f"Drone {drone}: {of.tasks}x faster execution than Random",
            f"printed metric {mean(pooled):.1f}x, by (10) {mean(per_job):.1f}x, "
            f"makespan with dependencies {mean(real):.2f}x",
            "artefact" if mean(real) < 0.5 * of.tasks else "holds",
        )


def mixed_sizes(seeds: int) -> Iterator[Claim]:
    """Packing matters where sizes are mixed."""
    ratios: dict[str, list[float]] = {name: [] for name in PACKERS}
    proven = count = 0
    for tasks in (16, 25, 40, 60, 77):
        for seed in range(seeds):
            instance = hard(tasks, np.random.default_rng(1000 * tasks + seed))
            solution = pack(instance, time_limit=30).solution
            proven += solution.status == "optimal"
            count += 1
            assert solution.objective is not None
            for name in PACKERS:
                ratios[name].append(cost(instance, run(name, instance)) / solution.objective)
    printed = {"next_fit": 1.35, "first_fit": 1.10, "first_fit_decreasing": 1.05, "tetris": 1.05}
    for name, expected in printed.items():
        value = mean(ratios[name])
        yield Claim(
            f"hard: {name} needs {expected:.2f} times the best nodes",
            f"{value:.3f} ({proven} of {count} optima proven)",
            "holds" if abs(value - expected) < 0.06 else "fails",
        )


def gpu_allocation(folder: Path) -> Iterator[Claim]:
    """Random and BestFit on the GPU trace of 2023."""
    nodes = load_nodes(folder / "openb_node_list_gpu_node.csv.gz")
    for variant, published in GPU_RATIOS.items():
        pods = load_pods(folder / f"openb_pod_list_{variant}.csv.gz")
        for policy, value in zip(("random", "best_fit"), published, strict=True):
            found = []
            for seed in range(10):
                rng = np.random.default_rng(seed)
                found.append(100 * replay(topped_up(pods, nodes, rng), nodes, policy, rng).at(1.0))  # type: ignore[arg-type]
            yield Claim(
                f"GPU trace, {variant}: {policy} allocates {value:.2f} %",
                f"{mean(found):.2f} % (10 seeds)",
                "holds" if abs(mean(found) - value) <= 0.3 else "fails",
            )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="few seeds, about a minute (default)")
    size.add_argument("--full", action="store_true", help="more seeds, and the GPU trace")
    full = parser.parse_args().full
    seeds = 10 if full else 2
    parts: list[Callable[[int], Iterator[Claim]]] = [
        least_nodes, headline, random_places, times, mixed_sizes,
    ]  # fmt: skip
    for part in parts:
        print(f"\n{(part.__doc__ or '').strip()}")
        for claim in part(seeds if part is not mixed_sizes or full else 1):
            print(f"  {claim.verdict:<18} {claim.says}: {claim.measured}", flush=True)
    folder = Path(__file__).resolve().parents[1] / ".." / "shared" / "data" / "alibaba_gpu_v2023"
    if full and folder.is_dir():
        print(f"\n{(gpu_allocation.__doc__ or '').strip()}")
        for claim in gpu_allocation(folder):
            print(f"  {claim.verdict:<18} {claim.says}: {claim.measured}", flush=True)


if __name__ == "__main__":
    main()
