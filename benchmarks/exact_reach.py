"""How large an instance each exact route of each problem is proven optimal on.

A route is a formulation, or an exact method, and a back end. Sizes grow, all routes of a problem
meet the same instances, and a route climbs on while it proves the optimum within the limit,
loading the code, building and decoding included; every solve has a process of its own, which is
ended where it wants more memory than allowed. Routes to the same optimum that disagree are marked,
and none of them counts as proven. Seconds are wall time.

    python benchmarks/exact_reach.py --problems drp,dsrp     # 10 s a solve
    python benchmarks/exact_reach.py --limit 60 --plot reach.svg
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from optsched.problem import Problem, problem
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

AGREEMENT = 1e-6
"""Relative; what two optima of one instance may differ by."""


@dataclass(frozen=True)
class Climb:
    """One problem's sizes and routes."""

    problem: str
    routes: Mapping[str, Sequence[str | None]]
    """Formulation -> back ends; None is its own."""
    axes: tuple[str, ...]
    """The generator's options that grow."""
    sizes: Sequence[tuple[int, ...]]
    fixed: Mapping[str, Any]
    """The other options of the generator."""
    title: str = ""
    """Above its picture; empty: the problem."""


GENERAL = ("highs", "cpsat", "scip")

PAIRS = (
    (2, 2), (3, 3), (5, 5), (10, 10), (15, 25), (25, 25), (50, 50), (100, 100), (200, 100),
    (300, 100), (500, 150), (1000, 300), (2000, 500), (3000, 600),
)  # fmt: skip

CLIMBS = (
    Climb(
        "preemptive",
        {"problem_2": GENERAL, "problem_2_compact": ("highs",), "offline": (None,)},
        ("jobs", "servers"),
        PAIRS,
        {"jobs_per_slot": 3},
        "preemptive (2)",
    ),
    Climb(
        "preemptive",
        {
            "problem_4(rates='fast')": ("highs",),
            "problem_4_aggregated(rates='fast')": ("highs",),
            "problem_4_flow": (None,),
        },
        ("jobs", "servers"),
        PAIRS,
        {"jobs_per_slot": 3},
        "preemptive (4)",
    ),
    Climb(
        "batch",
        {"problem_2": ("highs", "scip"), "problem_2_offline": (None,)},
        ("jobs", "servers"),
        ((2, 2), (5, 5), (10, 10), (15, 15), (25, 25), (50, 50), (100, 100), (200, 200)),
        {"time_scale": 0.1},
    ),
    Climb(
        "okita",
        {
            "problem_2": ("highs", "scip"),
            "problem_2_aggregated": ("highs", "scip"),
            "problem_2_columns": (None,),
        },
        ("jobs", "sites"),
        ((1, 2), (2, 3), (3, 4), (5, 4), (8, 6), (10, 6), (15, 8), (20, 10)),
        {"horizon": 20},
    ),
    Climb(
        "drp",
        {
            "problem_5": ("highs", "scip"),
            "problem_5_cone": ("highs", "scip"),
            "problem_5_projected": (None,),
        },
        ("jobs",),
        ((5,), (10,), (20,), (40,), (60,), (80,), (120,), (160,), (400,), (1000,)),
        {},
    ),
    Climb(
        "dsrp",
        {
            "problem_22": ("highs", "scip"),
            "problem_22_cone": ("highs", "scip"),
            "problem_22_projected": (None,),
        },
        ("jobs",),
        ((5,), (10,), (15,), (20,), (30,), (40,), (60,)),
        {},
    ),
    Climb(
        "aerialedge",
        {"assignment": GENERAL, "packing": (None,)},
        ("tasks",),
        ((10,), (16,), (25,), (40,), (77,), (120,), (200,), (400,)),
        {"kind": "hard"},
    ),
)


def rung(
    found: Problem, climb: Climb, size: tuple[int, ...], routes: Sequence[tuple[str, str | None]],
    seed: int, limit: Mapping[str, float],
) -> list[dict[str, Any]]:  # fmt: skip
    """Every route on the instance of one size."""
    grown = dict(zip(climb.axes, size, strict=True))
    instance = found.generate(np.random.default_rng(seed), **grown, **climb.fixed)
    rows: list[dict[str, Any]] = []
    for formulation, solver in routes:
        supports = found.formulation(formulation)[0].supports
        limits = {name: limit[name] for name in limit.keys() & supports}
        answer = found.solve(formulation, instance, solver=solver, options=Options(**limits))
        solution = answer.solution
        late = solution.seconds > limit["time_limit"]
        rows.append(
            {
                "problem": climb.problem,
                "route": formulation if solver is None else f"{formulation}, {solver}",
                "size": " x ".join(map(str, size)),
                "seconds": solution.seconds,
                "status": solution.status.value,
                "objective": solution.objective,
                "bound": solution.bound,
                "proven": solution.status is Status.OPTIMAL and not late,
                "remark": (solution.message or "").splitlines()[0][:80] if solution.message else "",
            }
        )
    proven = [row for row in rows if row["proven"]]
    values = [row["objective"] for row in proven]
    if values and np.ptp(values) > AGREEMENT * max(1.0, abs(max(values, key=abs))):
        for row in proven:
            row.update(proven=False, remark="disagrees with another route")
    return rows


def ascend(climb: Climb, seed: int, limit: Mapping[str, float]) -> Iterator[dict[str, Any]]:
    """Rung by rung, with the routes that proved the one before."""
    found = problem(climb.problem)
    routes = [(name, solver) for name, solvers in climb.routes.items() for solver in solvers]
    for size in climb.sizes:
        rows = rung(found, climb, size, routes, seed, limit)
        yield from rows
        routes = [route for route, row in zip(routes, rows, strict=True) if row["proven"]]
        if not routes:
            return


def reached(table: pd.DataFrame) -> pd.DataFrame:
    """Largest size proven by each route, and what came of the one after."""
    lines = []
    for (name, route), rows in table.groupby(["problem", "route"], sort=False):
        proven = rows[rows["proven"]]
        missed = rows[~rows["proven"]]
        lines.append(
            {
                "problem": name,
                "route": route,
                "largest proven": proven["size"].iloc[-1] if len(proven) else "none",
                "seconds": f"{proven['seconds'].iloc[-1]:.1f}" if len(proven) else "",
                "the next": "; ".join(
                    " ".join(
                        filter(None, (row["size"], row["status"], interval(row), row["remark"]))
                    )
                    for _, row in missed.iterrows()
                ),
            }
        )
    return pd.DataFrame(lines)


def interval(row: pd.Series) -> str:
    """What is known of an optimum that stays open."""
    if pd.isna(row["objective"]) or pd.isna(row["bound"]):
        return ""
    low, high = sorted((row["objective"], row["bound"]))
    return f"{low:,.6g} .. {high:,.6g}"


def plot(table: pd.DataFrame, path: str, limit: float) -> None:
    """Seconds to the proof against size, a panel per climb, a line per route."""
    import matplotlib.pyplot as plt

    plt.rcParams["svg.fonttype"] = "none"  # text stays text, in the reader's fonts
    panels = [rows for _, rows in table.groupby("panel", sort=False)]
    across = min(4, len(panels))
    down = -(-len(panels) // across)
    figure, axes = plt.subplots(
        down, across, figsize=(3.4 * across, 4.4 * down), squeeze=False, layout="constrained"
    )
    for axis in axes.flat[len(panels) :]:
        axis.remove()
    for axis, rows in zip(axes.flat, panels, strict=False):
        sizes = list(dict.fromkeys(rows["size"]))
        axis.axhline(limit, color="0.6", linewidth=0.8, linestyle=":")
        for number, (route, line) in enumerate(rows.groupby("route", sort=False)):
            done = line[line["proven"]]
            at = [sizes.index(size) for size in done["size"]]
            label = route if len(done) else f"{route}: none"
            mark = "osD^vP*"[number % 7]
            axis.plot(at, done["seconds"], f"{mark}-", markersize=4, linewidth=1, label=label)
        axis.set(title=rows["panel"].iloc[0], yscale="log", ylabel="seconds to the proof")
        axis.set_ylim(0.3, 8 * limit)  # room for the legend
        axis.set_xticks(range(len(sizes)), sizes, rotation=90)
        axis.legend(fontsize=6, loc="upper left", framealpha=0.7)
    figure.savefig(path)


def main() -> None:
    """Print a line per route: the largest size it was proven on, and how the next one ended."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=10.0, help="seconds per route and size")
    parser.add_argument("--memory", type=float, default=6.0, help="GiB per solve")
    parser.add_argument("--seed", type=int, default=1, help="of the instances")
    parser.add_argument("--problems", default="", help="some of them, separated by commas")
    parser.add_argument("--routes", default="", help="those whose name contains this")
    parser.add_argument("--csv", help="file for every solve")
    parser.add_argument("--plot", help="file for the picture")
    given = parser.parse_args()
    limit = {"time_limit": given.limit, "memory_limit": given.memory}
    rows: list[dict[str, Any]] = []
    for climb in CLIMBS:
        if given.problems and climb.problem not in given.problems.split(","):
            continue
        routes = {name: by for name, by in climb.routes.items() if given.routes in name}
        for row in ascend(replace(climb, routes=routes), given.seed, limit):
            rows.append({"panel": climb.title or climb.problem, **row})
            print(f"# {row['problem']} {row['route']} {row['size']}: {row['status']} "
                  f"{row['seconds']:.1f} s {row['remark']}", flush=True)  # fmt: skip
    table = pd.DataFrame(rows)
    print(f"\nproven within {given.limit:g} s, one instance a size, seed {given.seed}\n")
    summary = reached(table)
    for cells in (summary.columns, ["---"] * summary.shape[1], *summary.to_numpy()):
        print(f"| {' | '.join(cells)} |")
    if given.csv:
        table.to_csv(given.csv, index=False)
    if given.plot:
        plot(table, given.plot, given.limit)


if __name__ == "__main__":
    main()
