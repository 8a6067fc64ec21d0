"""Online algorithms beside ``reoptimise`` at quick sizes, on the same instances.

What knowing the next arrivals is worth stands below: ``reoptimise`` with a lookahead is not online.

    python benchmarks/online.py [--seeds 3] [--problems preemptive okita]

Ratios are to the proven offline optimum; the interval is of the mean of log ratios (Student t).
Paired: instances on which an algorithm costs less than ``reoptimise``, as much, and more.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from scipy import stats

import optsched as osd
from optsched.evaluation.runs import instance_rng
from optsched.problem import problem
from optsched.solvers.options import Options

CELLS = {
    "preemptive": (
        [{"jobs": n, "servers": 5, "types": 2, "span": 10, "time_scale": 0.03} for n in (5, 10)],
        ["a_online", "a_online_ns", "srtf", "tiresias_l", "batch_sche", "all_cloud"],
    ),
    "preemptive_storage": (
        [
            {"jobs": n, "servers": 5, "types": 2, "span": 10, "time_scale": 0.03, "room": 4.0}
            for n in (5, 10)
        ],
        ["a_online_storage", "all_cloud"],
    ),
    "batch": (
        [{"jobs": n, "servers": 6, "types": 2, "time_scale": 0.05} for n in (5, 10)],
        ["a_online", "batch_sche", "fifo", "drf"],
    ),
    "okita": (
        [{"jobs": n, "sites": 3, "horizon": 20} for n in (2, 4)],
        ["okita", "fifo", "drf", "oasis"],
    ),
    "aerialedge": (
        [{"kind": "hard", "tasks": n} for n in (16, 25)],
        ["next_fit", "first_fit"],
    ),
}
"""Generator options and heuristics by problem."""

RIVAL = "reoptimise"
AHEAD = ("reoptimise(lookahead=1)", "reoptimise(lookahead=3)")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--problems", nargs="*", default=list(CELLS))
    given = parser.parse_args()
    seeds = range(given.seeds)
    head = ("problem", "algorithm", "n", "mean ratio (95 %)", "worst", "infinite", "s/arrival")
    print("{:<18} {:<23} {:>2}  {:<22} {:>6}  {:>8}  {:>9}  < = >".format(*head))
    for name in given.problems:
        cells, heuristics = CELLS[name]
        found = problem(name)
        names = [*heuristics, RIVAL, *AHEAD]
        ratios: dict[str, list[float]] = {one: [] for one in names}
        pace: dict[str, list[float]] = {one: [] for one in names}
        for options in cells:
            for seed in seeds:
                instance = found.generate(instance_rng(seed), **options)
                arrivals = len(np.asarray(found.arrivals.times(instance)))
                limits = Options(time_limit=20)
                for row in osd.ratios(
                    found, names, instances=instance, seeds=[seed], options=limits
                ).rows:
                    low = row.ratio_low
                    ratios[row.heuristic].append(math.nan if low is None else low)
                    pace[row.heuristic].append(row.seconds / arrivals)
        rival = np.array(ratios[RIVAL])
        for one in names:
            print(line(name, one, np.array(ratios[one]), rival, float(np.mean(pace[one]))))


def line(name: str, one: str, ratio: np.ndarray, rival: np.ndarray, pace: float) -> str:
    """One algorithm on all instances of a problem."""
    known = ~(np.isnan(ratio) | np.isnan(rival))
    ratio, rival = ratio[known], rival[known]
    finite = ratio[np.isfinite(ratio)]
    half = stats.t.ppf(0.975, len(finite) - 1) * stats.sem(np.log(finite))
    middle = np.log(finite).mean()
    ends = f"{max(1.0, np.exp(middle - half)):.2f} .. {np.exp(middle + half):.2f}"
    apart = np.where(np.isclose(ratio, rival, rtol=1e-9), 0, np.sign(ratio - rival))
    counts = " ".join(str(int((apart == sign).sum())) for sign in (-1, 0, 1))
    return (
        f"{name:<18} {one:<23} {len(ratio):>2}  {finite.mean():.3f} ({ends:<14})  "
        f"{ratio.max():>7.3f}  {1 - len(finite) / len(ratio):>7.0%}  {pace:>9.4f}  {counts}"
    )


if __name__ == "__main__":
    main()
