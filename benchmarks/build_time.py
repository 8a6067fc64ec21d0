"""What it costs to build a time-indexed model up to where the solver could start.

The model: cells (job, class, slot), one integer variable each; every job gets its work (>=), no
job uses more than so many workers in a slot (<=), no class hands out more workers than it has in
a slot (<=). It is built by

- ``optsched``: a ``Model`` in blocks, compiled, standing inside HiGHS;
- ``raw``: what an expert writes by hand, index arrays to a scipy matrix to HiGHS;
- ``linopy``: groupby sums over xarray, standing inside HiGHS;
- ``pulp``: an ``LpProblem`` in memory, not yet written for any solver.

Each measurement runs in a process of its own: CPU time of building alone (imports, instance and
what only a process's first, small build pays excluded), and by how much the process grew at its
peak.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

TOOLS = ("raw", "optsched", "linopy", "pulp")
CLASSES, WINDOW = 5, 40  # worker classes; slots in which a job may run
SMALL = 20  # columns of the model whose cost is all fixed cost
SMALL_RUNS = 100

Arrays = dict[str, np.ndarray[Any, Any]]


def instance(columns: int) -> Arrays:
    """Index and data arrays of a random instance with about so many cells, all tools' input."""
    rng = np.random.default_rng(columns)
    window = WINDOW if columns > CLASSES * WINDOW else columns // CLASSES
    jobs = max(1, columns // (CLASSES * window))
    slots = window + jobs // 4
    release = np.sort(rng.integers(0, slots - window + 1, jobs))
    job = np.repeat(np.arange(jobs), CLASSES * window)
    worker_class = np.tile(np.repeat(np.arange(CLASSES), window), jobs)
    age = np.tile(np.arange(window), jobs * CLASSES)
    slot = release[job] + age
    return {
        "job": job,
        "job_slot": job * window + age,
        "class_slot": worker_class * slots + slot,
        "rate": rng.uniform(1.0, 3.0, jobs)[job],
        "cost": (age + 1.0) * rng.uniform(0.1, 1.0, jobs)[job],
        "upper": rng.integers(1, 5, CLASSES).astype(float)[worker_class],
        "demand": rng.uniform(20.0, 60.0, jobs),
        "limit": np.repeat(rng.integers(2, 9, jobs).astype(float), window),
        "capacity": np.repeat(rng.integers(50, 90, CLASSES).astype(float), slots),
    }


def build_optsched(a: Arrays) -> object:
    from optsched.model import Model
    from optsched.solvers.highs import load
    from optsched.solvers.options import Options

    m = Model("time-indexed")
    y = m.integer("y", len(a["job"]), upper=a["upper"])
    m.minimize((a["cost"] * y).sum())
    m.add("demand", (a["rate"] * y).sum_by(a["job"], len(a["demand"])) >= a["demand"])
    m.add("parallelism", y.sum_by(a["job_slot"], len(a["limit"])) <= a["limit"])
    m.add("capacity", y.sum_by(a["class_slot"], len(a["capacity"])) <= a["capacity"])
    return m, load(m.compile(), Options())


def build_raw(a: Arrays) -> object:
    import highspy
    import scipy.sparse as sp

    columns = len(a["job"])
    jobs, pairs, places = len(a["demand"]), len(a["limit"]), len(a["capacity"])
    rows = np.empty((3, columns), dtype=np.int32)
    for row, (name, first) in enumerate(
        [("job", 0), ("job_slot", jobs), ("class_slot", jobs + pairs)]
    ):
        rows[row] = a[name] + first
    cols = np.tile(np.arange(columns, dtype=np.int32), 3)
    data = np.concatenate([a["rate"], np.ones(2 * columns)])
    matrix = sp.coo_array(
        (data, (rows.reshape(-1), cols)), shape=(jobs + pairs + places, columns)
    ).tocsr()
    lower = np.concatenate([a["demand"], np.full(pairs + places, -np.inf)])
    upper = np.concatenate([np.full(jobs, np.inf), a["limit"], a["capacity"]])
    engine = highspy.Highs()
    engine.setOptionValue("output_flag", False)
    engine.passModel(
        columns,
        len(lower),
        matrix.nnz,
        int(highspy.MatrixFormat.kRowwise),
        1,
        0.0,
        a["cost"],
        np.zeros(columns),
        a["upper"],
        lower,
        upper,
        matrix.indptr.astype(np.int32),
        matrix.indices.astype(np.int32),
        matrix.data,
        np.ones(columns, dtype=np.int32),
    )
    return engine


def build_linopy(a: Arrays) -> object:
    import linopy
    import pandas as pd
    import xarray as xr

    def by(name: str) -> Any:
        return xr.DataArray(a[name], coords={"cell": cells}, dims="cell", name=name)

    def over(dimension: str, name: str) -> Any:
        return xr.DataArray(a[name], coords={dimension: np.arange(len(a[name]))})

    cells = pd.RangeIndex(len(a["job"]), name="cell")
    m = linopy.Model()
    y = m.add_variables(lower=0, upper=by("upper"), integer=True, name="y")
    m.add_objective((by("cost") * y).sum())
    demand = (by("rate") * y).groupby(by("job")).sum()
    m.add_constraints(demand >= over("job", "demand"), name="demand")
    used = (1 * y).groupby(by("job_slot")).sum()
    m.add_constraints(used <= over("job_slot", "limit"), name="parallelism")
    taken = (1 * y).groupby(by("class_slot")).sum()
    capacity = over("class_slot", "capacity").sel(class_slot=taken.coords["class_slot"])
    m.add_constraints(taken <= capacity, name="capacity")
    return m, linopy.io.to_highspy(m)


def build_pulp(a: Arrays) -> object:
    import pulp

    problem = pulp.LpProblem("time_indexed", pulp.LpMinimize)
    y = [pulp.LpVariable(f"y{i}", 0, upper, pulp.LpInteger) for i, upper in enumerate(a["upper"])]
    problem += pulp.lpSum(cost * x for cost, x in zip(a["cost"], y, strict=True))
    for key, side, weights, at_least in (
        ("job", "demand", a["rate"], True),
        ("job_slot", "limit", None, False),
        ("class_slot", "capacity", None, False),
    ):
        members: list[list[int]] = [[] for _ in a[side]]
        for i, group in enumerate(a[key]):
            members[group].append(i)
        for cells, bound in zip(members, a[side], strict=True):
            total = pulp.lpSum(y[i] if weights is None else weights[i] * y[i] for i in cells)
            problem += (total >= bound) if at_least else (total <= bound)
    return problem


BUILD: dict[str, Callable[[Arrays], object]] = {
    "raw": build_raw,
    "optsched": build_optsched,
    "linopy": build_linopy,
    "pulp": build_pulp,
}
IMPORTS = {
    "raw": ("highspy", "scipy.sparse"),
    "optsched": ("highspy", "optsched.solvers.highs"),
    "linopy": ("highspy", "linopy"),
    "pulp": ("pulp",),
}


def peak() -> int:
    """Bytes of memory this process has held at most."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def measure(tool: str, file: Path) -> dict[str, float]:
    """One build in this process: CPU seconds, peak growth in bytes."""
    for module in IMPORTS[tool]:
        import_module(module)
    with np.load(file) as stored:
        arrays: Arrays = dict(stored)
    repeats = SMALL_RUNS if len(arrays["job"]) <= SMALL else 1
    BUILD[tool](instance(SMALL))  # what only the first build of a process pays is left out
    before, seconds, built = peak(), [], None
    for _ in range(repeats):
        began = time.process_time()
        built = BUILD[tool](arrays)
        seconds.append(time.process_time() - began)
    grown = peak() - before
    del built
    return {"cpu": median(seconds), "memory": float(grown)}


def measured(tool: str, file: Path, repeats: int) -> dict[str, float]:
    """Medians over processes of their own."""
    runs = [
        json.loads(
            subprocess.run(
                [sys.executable, __file__, "--one", tool, str(file)],
                check=True,
                capture_output=True,
                text=True,
            ).stdout.splitlines()[-1]
        )
        for _ in range(repeats)
    ]
    return {key: median(run[key] for run in runs) for key in ("cpu", "memory")}


def report(sizes: list[int], most_pulp: int, repeats: int, folder: Path) -> list[dict[str, Any]]:
    """Measure everything, printing a line as soon as it is known."""
    results = []
    print(f"{'columns':>9}  {'tool':<9}{'CPU':>12}{'/ raw':>9}{'peak memory':>14}{'/ raw':>9}")
    for size in [SMALL, *sizes]:
        file = folder / f"{size}.npz"
        arrays = instance(size)
        np.savez(file, **arrays)  # type: ignore[arg-type]
        reference: dict[str, float] = {}
        for tool in TOOLS:
            if tool == "pulp" and size > most_pulp:
                continue
            result = measured(tool, file, 1 if tool == "pulp" and size > 50_000 else repeats)
            reference = reference or result
            ratios = {key: result[key] / max(reference[key], 1e-12) for key in result}
            memory = f"{result['memory'] / 1e6:>11.1f} MB{ratios['memory']:>9.2f}"
            print(
                f"{len(arrays['job']):>9}  {tool:<9}{1e3 * result['cpu']:>9.2f} ms"
                f"{ratios['cpu']:>9.2f}{memory if size > SMALL else ''}",
                flush=True,
            )
            results.append({"columns": len(arrays["job"]), "tool": tool, **result})
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--most-pulp", type=int, default=100_000, help="columns PuLP is given")
    parser.add_argument("--repeats", type=int, default=5, help="processes per measurement")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one[0], Path(given.one[1]))))
        return
    with tempfile.TemporaryDirectory() as folder:
        results = report(given.columns, given.most_pulp, given.repeats, Path(folder))
    if given.json:
        given.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
