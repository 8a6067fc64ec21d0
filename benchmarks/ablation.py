"""What each part of each exact method buys: every part is removed in turn.

Instances are of the shapes in ``benchmarks/shapes``, which the generators do not draw, and of the
generators; the parts stand in ``benchmarks/parts``. Every solve has a process of its own, which
first solves another instance of the same kind without being timed; before all else each variant
has one long solve, so that the machine code is on disk. The whole method runs twice: what its two
runs differ by is noise. If no solve came to a part, its row says "not reached" and proves nothing.
Seconds are of the processor, of all threads and processes of a solve; an instance that stays open
is charged with the limit at least.

Every solve is a row of the CSV file as soon as it ends; a row that is there is not solved again.

    python benchmarks/ablation.py --papers okita --csv out/ablation.csv
    python benchmarks/ablation.py --papers drp --parts "set tree" --shapes "tight storage,generator"
    python benchmarks/ablation.py --papers okita --csv out/ablation.csv --table   # rows so far
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields, replace
from functools import wraps
from pathlib import Path
from threading import Lock
from types import FunctionType
from typing import Any

import numpy as np
import pandas as pd
from parts import Part

from optsched.problem import Problem, problem
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

PAPERS = ("okita", "batch", "drp", "aerialedge", "preemptive")
WHOLE, AGAIN = "nothing", "nothing, again"
"""The name of the whole method, and of its second run, from which nothing is removed."""
WARM_SEED, WARM_SECONDS, LONG_SECONDS = 7, 2.0, 60.0
"""Of solves that are not timed: in each process, and before all else."""
LEAST_SECONDS = 0.1
"""Seconds below this count as this much."""
RATIO, KIND_RATIO, GAP = 1.25, 2.0, 0.002
"""Differences that count: of seconds, of seconds on one kind of instances, and of mean gaps."""
AGREEMENT = 1e-6
"""Relative; what bound and cost of one instance may differ by."""


@dataclass(frozen=True)
class Task:
    """One solve."""

    paper: str
    problem: str
    method: str
    part: str
    kind: str
    """A shape, or "generator" with its options."""
    seed: int
    limit: float
    threads: int

    def instance(self, seed: int) -> Any:
        """Draw an instance of the kind."""
        chosen, rng = problem(self.problem), np.random.default_rng(seed)
        if self.kind in (drawn := shapes(self.paper)):
            return drawn[self.kind](rng)
        options = next(o for o in declared(self.paper).SIZES[self.problem] if named(o) == self.kind)
        return chosen.generate(rng, **options)


def main() -> None:
    """Solve what the file has no rows of, and print a table for each method."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--papers", default=",".join(PAPERS), help="by commas")
    parser.add_argument("--parts", help="names of parts, by commas; default: all")
    parser.add_argument("--shapes", help='names of shapes, or "generator", by commas; default: all')
    parser.add_argument("--seeds", default="20261,20262", help="by commas")
    parser.add_argument("--limit", type=float, default=10.0, help="wall seconds of a solve")
    parser.add_argument("--threads", type=int, default=1, help="of a solve")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="solves at a time")
    parser.add_argument("--csv", default="out/ablation.csv", help="file for every solve")
    parser.add_argument("--table", action="store_true", help="solve nothing")
    parser.add_argument("--solve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.solve:
        print(json.dumps(solved(Task(**json.loads(given.solve)))))
        return
    tasks = [task for paper in given.papers.split(",") for task in tasks_of(paper, given)]
    path = Path(given.csv)
    if not given.table:
        path.parent.mkdir(parents=True, exist_ok=True)
        run(tasks, path, given.workers)
    for line in report(known(path), tasks):
        print(line)


# what is tried


def declared(paper: str) -> Any:
    """Return the module of a paper's parts."""
    return importlib.import_module(f"parts.{paper}")


def shapes(paper: str) -> dict[str, Callable[[np.random.Generator], Any]]:
    """Return what draws instances of each shape, with as many jobs as the ablation asks for."""
    return {
        name: grown(draw, declared(paper).JOBS_TIMES)
        for name, draw in importlib.import_module(f"shapes.{paper}").SHAPES.items()
    }


def grown(draw: Callable[..., Any], times: float) -> Callable[..., Any]:
    """Return what draws the same with more jobs, or tasks, if the shape is one of a kind."""
    kind: Any = getattr(draw, "__self__", None)
    count = next((name for name in ("jobs", "tasks") if hasattr(kind, name)), None)
    if count is None:
        return draw
    ends = tuple(round(times * end) for end in getattr(kind, count))
    larger: Callable[..., Any] = replace(kind, **{count: ends}).draw
    return larger


def named(options: Mapping[str, Any]) -> str:
    """Return the name of a size of the generator's instances."""
    return "generator " + " ".join(f"{name}={value}" for name, value in options.items())


def tasks_of(paper: str, given: argparse.Namespace) -> Iterator[Task]:
    """Yield all solves of a paper, those that are compared beside each other."""
    module = declared(paper)
    chosen = given.parts.split(",") if given.parts else list(module.PARTS)
    parts = {name: module.PARTS[name] for name in chosen if name in module.PARTS}
    for name, method in dict.fromkeys((part.problem, part.method) for part in parts.values()):
        of_method = [n for n, p in parts.items() if (p.problem, p.method) == (name, method)]
        kinds = [*shapes(paper), *map(named, module.SIZES[name])]
        if given.shapes:
            asked = given.shapes.split(",")
            kinds = [kind for kind in kinds if kind in asked or kind.split()[0] in asked]
        for kind in kinds:
            for seed in map(int, given.seeds.split(",")):
                for part in (WHOLE, *of_method, AGAIN):
                    yield Task(paper, name, method, part, kind, seed, given.limit, given.threads)


# one solve, in its own process


def solved(task: Task) -> dict[str, Any]:
    """Solve without the part, and say what came of it."""
    chosen = problem(task.problem)
    own: dict[str, Any] = {}
    calls: list[str] = []
    counted = False
    if task.part not in (WHOLE, AGAIN):
        part: Part = declared(task.paper).PARTS[task.part]
        for place, new in part.replaced.items():
            put(place, counting(new, calls) if isinstance(new, FunctionType) else new)
        own = dict(part.search)
        counted = not own and all(isinstance(new, FunctionType) for new in part.replaced.values())
    if task.seed == WARM_SEED:
        once(chosen, task, own, WARM_SEED, LONG_SECONDS)
        return {}
    once(chosen, task, own, WARM_SEED, WARM_SECONDS)
    calls.clear()
    return once(chosen, task, own, task.seed, task.limit) | {"reached": bool(calls) or not counted}


def counting(function: FunctionType, calls: list[str]) -> FunctionType:
    """Return a function that does the same and notes each of its calls."""

    @wraps(function)
    def noted(*arguments: Any, **options: Any) -> Any:
        calls.append(function.__name__)
        return function(*arguments, **options)

    return noted


def put(place: str, new: Any) -> None:
    """Replace what stands at "module:name" or "module:class.name"."""
    module, _, path = place.partition(":")
    *outer, name = path.split(".")
    owner: Any = importlib.import_module(module)
    for step in outer:
        owner = getattr(owner, step)
    if not hasattr(owner, name):
        raise SystemExit(f"benchmarks/parts: there is no {place}")
    setattr(owner, name, new)


def once(
    chosen: Problem, task: Task, own: Mapping[str, Any], seed: int, limit: float
) -> dict[str, Any]:
    """Solve one instance."""
    instance = task.instance(seed)
    supports = chosen.formulations[task.method].supports
    options = Options(time_limit=limit, threads=task.threads if "threads" in supports else 1)
    began, at = sum(os.times()[:4]), time.perf_counter()
    answer = chosen.solve(task.method, instance, options=options, **own)
    seconds, wall = sum(os.times()[:4]) - began, time.perf_counter() - at
    solution = answer.solution
    return {
        "status": solution.status.value,
        "proven": solution.status in (Status.OPTIMAL, Status.INFEASIBLE),
        "objective": solution.objective,
        "bound": solution.bound,
        "seconds": round(seconds, 3),
        "wall": round(wall, 3),
    }


# all of them

HEAD = (
    "Removed", "Instances", "Proven with", "without", "Gap with", "without", "CPU s with",
    "without", "Most on: proven, times the seconds", "Verdict",
)  # fmt: skip
RESULT = ("status", "proven", "objective", "bound", "seconds", "wall", "reached")
COLUMNS = [*(field.name for field in fields(Task)), *RESULT]


def run(tasks: Sequence[Task], path: Path, workers: int) -> None:
    """Solve what has no row yet, and append the rows."""
    there = {tuple(row) for row in known(path)[COLUMNS[:8]].itertuples(index=False)}
    left = [task for task in tasks if tuple(asdict(task).values()) not in there]
    variants = {(t.problem, t.method, t.part): t for t in left if t.part != AGAIN}
    writing = Lock()
    if not path.exists():
        path.write_text(",".join(COLUMNS) + "\n")

    def append(task: Task) -> None:
        row = asdict(task) | apart(task)
        with writing, path.open("a", newline="") as file:
            csv.DictWriter(file, COLUMNS, restval="").writerow(row)
            print(f"# {row['part']}, {row['kind']}, {row['seed']}: {row['status']}", flush=True)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda task: apart(replace(task, seed=WARM_SEED)), variants.values()))
        list(pool.map(append, left))


def apart(task: Task) -> dict[str, Any]:
    """Solve in a separate process; one that dies or overruns is a row with an error."""
    command = [sys.executable, __file__, "--solve", json.dumps(asdict(task))]
    limit = 5 * (WARM_SECONDS + max(task.limit, LONG_SECONDS)) + 60
    failed = {"status": "error", "proven": False}
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return failed
    if ended.returncode:
        print(ended.stderr.strip()[-2000:], file=sys.stderr)
        return failed
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def known(path: Path) -> pd.DataFrame:
    """Return the rows so far."""
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=COLUMNS)


# the table


def report(rows: pd.DataFrame, tasks: Sequence[Task]) -> Iterator[str]:
    """Yield a Markdown table for each method, and each answer that another one refutes."""
    asked = pd.DataFrame([asdict(task) for task in tasks])
    rows = rows.merge(asked, on=list(asked), how="inner")
    charged = rows[["seconds", "limit"]].max(axis=1)
    rows["charged"] = rows["seconds"].where(rows["proven"], charged)
    difference = (rows["objective"] - rows["bound"]).abs()
    scale = rows[["objective", "bound"]].abs().max(axis=1).clip(lower=1e-9)
    rows["gap"] = (difference / scale).clip(upper=1.0).fillna(1.0).mask(rows["proven"], 0.0)
    for (name, method), own in rows.groupby(["problem", "method"], sort=False):
        seeds = ", ".join(map(str, sorted(own["seed"].unique())))
        limit, threads = own["limit"].iloc[0], own["threads"].iloc[0]
        yield ""
        yield (
            f"`{name}`, `{method}`: {own['kind'].nunique()} kinds of instances, seeds {seeds}, "
            f"{limit:g} s, threads {threads}"
        )
        yield ""
        yield f"| {' | '.join(HEAD)} |"
        yield "|---|" + "---:|" * 7 + "---|---|"
        tables = {part: table(own, part) for part in own["part"].unique()}
        if WHOLE not in tables:
            continue
        noise = compared(tables[WHOLE], tables[AGAIN]) if AGAIN in tables else Compared()
        for part, without in tables.items():
            if part != WHOLE:
                yield line(part, tables[WHOLE], without, noise)
        yield from refuted(own)


def table(rows: pd.DataFrame, part: str) -> pd.DataFrame:
    """Return the rows of a variant by instance."""
    own = rows[rows["part"] == part].drop_duplicates(["kind", "seed"], keep="last")
    return own.set_index(["kind", "seed"])


@dataclass(frozen=True)
class Compared:
    """What one variant loses against another, on the instances that both have."""

    proofs: int = 0
    gap: float = 0.0
    """Of means."""
    times: float = 1.0
    """Geometric mean of ratios of seconds."""
    kind: str = ""
    """The shape on which it loses most proofs, then most time."""
    kind_proofs: int = 0
    kind_times: float = 1.0


def compared(base: pd.DataFrame, other: pd.DataFrame) -> Compared:
    """Compare what is known of both."""
    at = base.index.intersection(other.index)
    base, other = base.loc[at], other.loc[at]
    if base.empty:
        return Compared()
    lost = base["proven"].astype(int) - other["proven"].astype(int)
    before, after = (rows["charged"].clip(lower=LEAST_SECONDS) for rows in (base, other))
    ratio = np.log(after / before)
    by_kind = pd.DataFrame({"lost": lost, "ratio": ratio}).groupby("kind", sort=False)
    worst = by_kind.agg({"lost": "sum", "ratio": "mean"}).sort_values(["lost", "ratio"])
    return Compared(
        proofs=int(lost.sum()),
        gap=float((other["gap"] - base["gap"]).mean()),
        times=math.exp(ratio.mean()),
        kind=str(worst.index[-1]),
        kind_proofs=int(worst["lost"].iloc[-1]),
        kind_times=math.exp(worst["ratio"].iloc[-1]),
    )


def line(part: str, whole: pd.DataFrame, without: pd.DataFrame, noise: Compared) -> str:
    """Return a part's row of the table."""
    both = whole.index.intersection(without.index)
    base, other, found = whole.loc[both], without.loc[both], compared(whole, without)
    most = f"{found.kind}: {-found.kind_proofs:+d}, {found.kind_times:.2f} x"
    cells = (
        part, len(both), base["proven"].sum(), other["proven"].sum(),
        f"{base['gap'].mean():.2%}", f"{other['gap'].mean():.2%}",
        f"{base['charged'].sum():.0f}", f"{other['charged'].sum():.0f}",
        most, "(noise)" if part == AGAIN else judged(without.loc[both], found, noise),
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def judged(without: pd.DataFrame, found: Compared, noise: Compared) -> str:
    """Return the verdict on a part, and on how many instances the method came to it."""
    reached = int(without["reached"].fillna(True).sum())
    if not reached:
        return "not reached"
    limits = "" if reached == len(without) else f" (reached on {reached} of {len(without)})"
    return verdict(found, noise) + limits


def verdict(found: Compared, noise: Compared) -> str:
    """Say in words what a part buys and costs, beyond what two runs of the same differ by."""
    said: dict[bool, list[str]] = {True: [], False: []}
    if abs(found.proofs) > abs(noise.proofs):
        said[found.proofs > 0].append(f"{abs(found.proofs)} proven")
    if abs(found.gap) > max(GAP, 2 * abs(noise.gap)):
        said[found.gap > 0].append(f"{abs(found.gap):.2%} of gap")
    apart = abs(math.log(found.times))
    if apart > max(math.log(RATIO), 2 * abs(math.log(noise.times))):
        said[found.times > 1].append(f"{math.exp(apart):.2f} times the seconds")
    words = [f"{'buys' if gain else 'costs'} {', '.join(own)}" for gain, own in said.items() if own]
    if words:
        return "; ".join(words)
    least = max(KIND_RATIO, noise.kind_times**2)
    if found.kind_proofs > noise.kind_proofs or found.kind_times > least:
        return f"buys something on one kind only: {found.kind}"
    return "changes nothing beyond noise"


def refuted(rows: pd.DataFrame) -> Iterator[str]:
    """Yield bounds that are beyond what another variant's schedule costs, and errors."""
    for (kind, seed), own in rows.groupby(["kind", "seed"], sort=False):
        sign = -1.0 if problem(own["problem"].iloc[0]).sense == "maximise" else 1.0
        best = (sign * own["objective"]).min()
        for row in own.itertuples():
            false = sign * row.bound > best + AGREEMENT * max(1.0, abs(best))
            missed = row.proven and sign * row.objective > best + AGREEMENT * max(1.0, abs(best))
            if false or missed or row.status == "error":
                yield (
                    f"REFUTED: without {row.part}, {kind}, seed {seed}: {row.status}, "
                    f"{row.objective}, bound {row.bound}; {sign * best:g} is known"
                )


if __name__ == "__main__":
    main()
