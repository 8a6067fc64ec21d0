"""What a minute leaves open: the exact methods on instances at the edge of their reach.

A family is one problem's instances of one size, drawn with the seeds named; the problem's reference
method gets the time limit, and two threads where it takes them. Prints a line per instance, and per
family how many optima are proven, the longest proof, and the gap of each that stays open by its
seed: (cost - bound) / bound, or for admitted jobs (bound - jobs) / jobs. Seconds are wall time;
where our machine code is not on disk yet, the first solves compile it within their limits.

    python benchmarks/open_instances.py --families okita,batch
    python benchmarks/open_instances.py --families dsrp --limit 300 --first-seed 20 --seeds 5
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from optsched.problem import problem
from optsched.solvers.options import Options
from optsched.solvers.solution import Status


@dataclass(frozen=True)
class Family:
    """Instances of one size."""

    problem: str
    size: str
    options: Mapping[str, Any]
    """The generator's."""
    seeds: Sequence[int]
    limit: float = 60.0
    """Seconds of wall time an instance."""


BATCH_CONTENDED = {"time_scale": 0.1}  # so short that the cloud no longer takes everything

FAMILIES = (
    Family("preemptive", "300 x 100", {"jobs": 300, "servers": 100, "jobs_per_slot": 3},
           (1, 2), 120),
    Family("preemptive", "1000 x 300", {"jobs": 1000, "servers": 300, "jobs_per_slot": 3},
           (1,), 120),
    Family("batch", "50 x 50, times x 0.1", {"jobs": 50, "servers": 50} | BATCH_CONTENDED,
           (1, 100, 101, 102), 30),
    Family("batch", "100 x 100, times x 0.1", {"jobs": 100, "servers": 100} | BATCH_CONTENDED,
           (100, 101, 102)),
    Family("batch", "200 x 200, times x 0.1", {"jobs": 200, "servers": 200} | BATCH_CONTENDED,
           (100, 101, 200, 201, 202, 203)),
    Family("batch", "200 x 200", {"jobs": 200, "servers": 200}, (100, 101)),
    Family("okita", "5 x 4, T = 3", {"jobs": 5, "sites": 4, "horizon": 3},
           (*range(1, 21), *range(100, 110))),
    Family("okita", "8 x 6, T = 20", {"jobs": 8, "sites": 6, "horizon": 20}, (1,)),
    Family("okita", "10 x 6, T = 20", {"jobs": 10, "sites": 6, "horizon": 20}, range(100, 110),
           900),
    Family("okita", "20 x 8, T = 40", {"jobs": 20, "sites": 8, "horizon": 40}, range(100, 104)),
    Family("okita", "100 x 50, T = 150", {"jobs": 100, "sites": 50}, (100,)),
    Family("drp", "80", {"jobs": 80}, range(10), 10),
    Family("dsrp", "40", {"jobs": 40}, range(10)),
)  # fmt: skip


def solved(family: Family, seed: int, limit: float) -> dict[str, Any]:
    """One instance, solved as far as the limit allows."""
    found = problem(family.problem)
    instance = found.generate(np.random.default_rng(seed), **family.options)
    threads = {"threads": 2} if "threads" in found.formulation(found.reference)[0].supports else {}
    options = Options(time_limit=limit, **threads)
    solution = found.solve(found.reference, instance, options=options).solution
    proven = solution.status is Status.OPTIMAL
    low, high = sorted((solution.objective or 0.0, solution.bound or 0.0))
    return {
        "problem": family.problem,
        "size": family.size,
        "seed": seed,
        "limit": limit,
        "objective": solution.objective,
        "bound": solution.bound,
        "proven": proven,
        "seconds": solution.seconds,
        "gap": 0.0 if proven else (high - low) / low if low else np.inf,
    }


def said(value: float | None) -> str:
    """A cost or a bound, if there is one."""
    return "none" if value is None else f"{value:,.6g}"


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """A line per family."""
    lines = []
    for (name, size), rows in table.groupby(["problem", "size"], sort=False):
        open_ones = rows[~rows["proven"]]
        lines.append(
            {
                "problem": name,
                "size": size,
                "s": f"{rows['limit'].iloc[0]:g}",
                "proven": f"{rows['proven'].sum()} of {len(rows)}",
                "longest proof, s": f"{rows.loc[rows['proven'], 'seconds'].max():.1f}"
                if rows["proven"].any()
                else "",
                "left": ", ".join(
                    f"{seed}: {gap:.2%}"
                    for seed, gap in zip(open_ones["seed"], open_ones["gap"], strict=True)
                ),
            }
        )
    return pd.DataFrame(lines)


def main() -> None:
    """Print a line per instance, then a table with a line per family."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--families", default="", help="problems, separated by commas")
    parser.add_argument("--sizes", default="", help="those whose size contains this")
    parser.add_argument(
        "--limit", type=float, help="seconds an instance, in place of each family's"
    )
    parser.add_argument("--first-seed", type=int, help="other instances of each family: the first")
    parser.add_argument("--seeds", type=int, default=1, help="how many, with --first-seed")
    parser.add_argument("--csv", help="file for every instance")
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for family in FAMILIES:
        if given.families and family.problem not in given.families.split(","):
            continue
        if given.sizes not in family.size:
            continue
        fresh = given.first_seed is not None
        seeds = range(given.first_seed, given.first_seed + given.seeds) if fresh else family.seeds
        for seed in seeds:
            row = solved(family, seed, given.limit or family.limit)
            rows.append(row)
            print(f"# {row['problem']} {row['size']} seed {seed}: {said(row['objective'])} / "
                  f"{said(row['bound'])} {'proven' if row['proven'] else 'open'} "
                  f"{row['seconds']:.1f} s", flush=True)  # fmt: skip
    if not rows:
        parser.error(
            f"no such family; there are {', '.join(dict.fromkeys(f.problem for f in FAMILIES))}"
        )
    table = pd.DataFrame(rows)
    lines = summary(table)
    for cells in (lines.columns, ["---"] * lines.shape[1], *lines.to_numpy()):
        print(f"| {' | '.join(cells)} |")
    if given.csv:
        table.to_csv(given.csv, index=False)


if __name__ == "__main__":
    main()
