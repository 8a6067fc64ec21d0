"""Algorithms of ours beside the papers': at the papers' sizes, at quick ones, and at their worst.

Per problem, the paper's algorithm, ours, and what lies between them, one option at a time.

- Costs: the geometric mean of cost over the paper's algorithm's on the same instances, with its
  interval (95 %, Student t), instances on which it costs less, as much, more, and CPU milliseconds
  per job. At the paper's sizes no optimum is known.
- Ratios: mean and worst to proven optima at quick sizes.
- Worst: the largest ratio that searches of as many candidates find for the paper's and for ours.

    python benchmarks/better.py                                     # some minutes
    python benchmarks/better.py --only batch --instances 20 --evaluations 1500 --seeds 3
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from worst import HUNTS

import optsched as osd
from optsched.adversary import adversarial
from optsched.evaluation.heuristic_run import run_heuristic
from optsched.evaluation.runs import instance_rng
from optsched.problem import Problem, problem
from optsched.solvers.options import Options


class Field(NamedTuple):
    """What is compared on a problem, and on what."""

    paper: str
    others: tuple[str, ...]
    """The last is ours; before it, what lies between."""
    sizes: tuple[Mapping[str, Any], ...]
    """Options of the generator: of the paper's evaluation."""
    quick: Mapping[str, Any]
    """The same, small enough to prove optima."""


FIELDS = {
    "preemptive": Field(
        "a_online",
        (
            "a_online_ns",
            'a_online_ns(pending_rule="exact")',
            "a_online_ns(edge_margin=0.75)",
            "a_online_margin",
        ),
        tuple({"jobs": 100, "servers": 100, "time_scale": scale} for scale in (1.0, 0.02)),
        {"jobs": 10, "servers": 5, "types": 2, "span": 10, "time_scale": 0.03},
    ),
    "batch": Field(
        "a_online",
        (
            'a_online(start_rule="any", release_test="exact")',
            'shortest_first(order="arrival", replan=False)',
            "shortest_first(replan=False)",
            'shortest_first(order="arrival")',
            "shortest_first",
        ),
        ({"jobs": 50, "servers": 200}, {"jobs": 20, "servers": 20, "time_scale": 0.03}),
        {"jobs": 10, "servers": 6, "types": 2, "time_scale": 0.05},
    ),
    "okita": Field(
        "okita",
        (
            'okita(migrate_search="any_n")',
            'okita(placement="near_data")',
            "okita_near_data",
        ),
        tuple({"jobs": jobs, "sites": 4, "horizon": 20} for jobs in (6, 10)),
        {"jobs": 3, "sites": 3, "horizon": 20},
    ),
    "drp": Field(
        "r_dr",
        (
            'r_dr(mode="exact")',
            'greedy(mode="exact")',
            'least_load(mode="eps")',
            "least_load(by_load=False)",
            "least_load(rescue=False)",
            "least_load",
        ),
        tuple(
            {"jobs": jobs, "topology": kind} for jobs in (20, 40) for kind in ("hexagon", "grid")
        ),
        {"jobs": 6, "profile": "physical"},
    ),
    "aerialedge": Field(
        "tetris",
        ("tetris(share_nodes_across_batches=True)", "first_fit_decreasing", "best_order"),
        ({"kind": "hard", "tasks": 40}, {"kind": "hard", "tasks": 77}),
        {"kind": "hard", "tasks": 16},
    ),
}
FIRST = 10_000
"""Seed of the first instance; those that options were chosen on are below."""


def costs(field: Field, chosen: Problem, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Cost and CPU seconds per job, (algorithms, instances)."""
    calls = (field.paper, *field.others)
    cost, pace = np.empty((2, len(calls), count * len(field.sizes)))
    for size, options in enumerate(field.sizes):
        for k in range(count):
            instance = chosen.generate(instance_rng(FIRST + k), **chosen.generator_call(options))
            for row, call in enumerate(calls):
                began = time.process_time()
                made = run_heuristic(chosen, instance, call, k)
                pace[row, size * count + k] = time.process_time() - began
                assert made.cost is not None, made.message
                cost[row, size * count + k] = made.cost
            pace[:, size * count + k] /= options.get("jobs", options.get("tasks", 1))
    return cost, pace


def ratios(field: Field, chosen: Problem, count: int) -> np.ndarray:
    """Ratio to the best schedule known, (algorithms, instances); nan where no optimum is proven."""
    calls = [field.paper, *field.others]
    found = np.full((len(calls), count), math.nan)
    for k in range(count):
        instance = chosen.generate(instance_rng(FIRST + k), **chosen.generator_call(field.quick))
        rows = osd.ratios(
            chosen, calls, instances=instance, seeds=[k], options=Options(time_limit=20)
        ).rows
        for at, row in enumerate(rows):
            if row.ratio_low is not None and row.ratio_low == row.ratio_high:
                found[at, k] = row.ratio_low
    return found


def worst_found(name: str, call: str, evaluations: int, seeds: Sequence[int]) -> float:
    """The largest ratio that searches of so many candidates find."""
    options = next(options for problem_name, _, options in HUNTS if problem_name == name)
    return max(
        adversarial(call, options, problem=name, evaluations=evaluations, seed=seed).score.low
        for seed in seeds
    )


def line(name: str, call: str, own: np.ndarray, base: np.ndarray, pace: float) -> str:
    """Costs of one algorithm, paired with those of the paper's."""
    logs = np.log(own / base)
    half = stats.t.ppf(0.975, len(logs) - 1) * stats.sem(logs) if logs.any() else 0.0
    ends = f"{math.exp(logs.mean() - half):.3f} .. {math.exp(logs.mean() + half):.3f}"
    apart = np.where(np.isclose(own, base, rtol=1e-9), 0, np.sign(own - base))
    counts = " ".join(f"{int((apart == sign).sum()):>3}" for sign in (-1, 0, 1))
    mean = math.exp(logs.mean())
    return f"{name:<11} {call:<48} {len(own):>3} {mean:>6.3f} {ends} {counts} {1e3 * pace:>8.2f}"


def main() -> None:
    """Print a table per problem."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=list(FIELDS))
    parser.add_argument("--instances", type=int, default=10, help="per size")
    parser.add_argument("--evaluations", type=int, default=400, help="candidates of a search")
    parser.add_argument("--seeds", type=int, default=1, help="searches per algorithm")
    parser.add_argument("--first-seed", type=int, default=0, help="of the searches")
    parser.add_argument("--only-found", action="store_true", help="the searches alone")
    given = parser.parse_args()
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    for name, field in FIELDS.items():
        if given.only not in (None, name):
            continue
        chosen, calls = problem(name), (field.paper, *field.others)
        if given.only_found:
            for call in (field.paper, field.others[-1]):
                found = worst_found(name, call, given.evaluations, seeds)
                print(f"{name:<11} {call:<48} {found:>8.3f}", flush=True)
            continue
        print(f"{name}: cost over {field.paper}'s ({chosen.sense}), n, < = >, CPU ms per job")
        cost, pace = costs(field, chosen, given.instances)
        for row, call in enumerate(calls):
            print(line(name, call, cost[row], cost[0], float(pace[row].mean())), flush=True)
        print(
            f"{name}: ratio to proven optima at quick size, mean, worst, infinite, n; worst found"
        )
        quick = ratios(field, chosen, given.instances)
        known = ~np.isnan(quick).any(axis=0)
        for row, call in enumerate(calls):
            ratio = quick[row, known]
            finite = ratio[np.isfinite(ratio)]
            text = (
                f"{name:<11} {call:<48} {finite.mean():>6.3f} {ratio.max():>6.3f} "
                f"{len(ratio) - len(finite):>3} {len(ratio):>3}"
            )
            if call in (field.paper, field.others[-1]):
                text += f" {worst_found(name, call, given.evaluations, seeds):>8.3f}"
            print(text, flush=True)


if __name__ == "__main__":
    main()
