"""What it costs to build a model up to where the solver could start.

Two models, ``time_indexed`` and ``placement`` (see ``building/``), from the same arrays, by

- ``raw``: what an expert writes by hand, index arrays to a scipy matrix to HiGHS;
- ``raw_columns``: the same by columns, which HiGHS takes in less time;
- ``optsched``: a ``Model`` in blocks, compiled, standing inside HiGHS;
- ``linopy``: groupby sums over xarray, standing inside HiGHS;
- ``pyoptinterface``: variable by variable and row by row into HiGHS;
- ``pyomo``: a ``ConcreteModel``, by its standard form into HiGHS;
- ``pulp``: an ``LpProblem`` in memory, not yet written for any solver;
- ``mathopt``: MathOpt's own Python model, up to the protocol buffer;
- ``to_mathopt``: a ``Model`` in blocks, up to the same buffer;
- ``cp_model``: CP-SAT's own Python model, written by hand;
- ``to_cpsat``: a ``Model`` in blocks, lowered to the same buffer.

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
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import numpy as np
from building import placement, time_indexed
from building.tools import Arrays, optsched_to_cpsat, optsched_to_highs, optsched_to_mathopt

MODELS: dict[str, ModuleType] = {"time_indexed": time_indexed, "placement": placement}
TOOLS = {  # and what each imports
    "raw": ("highspy", "scipy.sparse"),
    "raw_columns": ("highspy", "scipy.sparse"),
    "optsched": ("highspy", "optsched.solvers.highs.backend"),
    "linopy": ("highspy", "linopy"),
    "pyoptinterface": ("pyoptinterface", "highsbox"),
    "pyomo": ("highspy", "pyomo.environ"),
    "pulp": ("pulp",),
    "mathopt": ("ortools.math_opt.python.mathopt",),
    "to_mathopt": ("ortools.math_opt.model_pb2", "optsched.solvers.mathopt.writer"),
    "cp_model": ("ortools.sat.python.cp_model",),
    "to_cpsat": ("ortools.sat.python.cp_model", "optsched.solvers.cpsat.proto"),
}
BY_OBJECT = {"pyoptinterface", "pyomo", "pulp", "mathopt", "cp_model"}
"""Tools that make an object of every variable."""
HAND_OVER = {
    "optsched": optsched_to_highs,
    "to_mathopt": optsched_to_mathopt,
    "to_cpsat": optsched_to_cpsat,
}
"""Tools that are our ``Model``, and where it goes."""
BY_HAND = {"to_mathopt": "mathopt", "to_cpsat": "cp_model"}
"""What such a hand-over is held against."""
SMALL = 20  # size of the model whose cost is all fixed cost
SMALL_RUNS = 100

Result = dict[str, float]


def builder(model: str, tool: str) -> Callable[[Arrays], object]:
    """From the arrays of an instance to what the tool ends with, which must be kept alive."""
    module = MODELS[model]
    if tool not in HAND_OVER:
        by_tool: Callable[[Arrays], object] = getattr(module, f"build_{tool}")
        return by_tool

    def build(arrays: Arrays) -> object:
        built = module.model(arrays)
        return built, HAND_OVER[tool](built)

    return build


def peak() -> int:
    """Bytes of memory this process has held at most."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux, what getrusage says begins with the parent's peak
        words = status.read_text().split("VmHWM:")[1].split()
        return int(words[0]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def measure(model: str, tool: str, file: Path) -> Result:
    """One build in this process: CPU seconds, peak growth in bytes."""
    for module in TOOLS[tool]:
        import_module(module)
    build = builder(model, tool)
    with np.load(file) as stored:
        arrays: Arrays = dict(stored)
    repeats = SMALL_RUNS if len(arrays["job"]) <= SMALL else 1
    build(MODELS[model].instance(SMALL))  # what only the first build of a process pays is left out
    before, seconds, built = peak(), [], None
    for _ in range(repeats):
        began = time.process_time()
        built = build(arrays)
        seconds.append(time.process_time() - began)
    grown = peak() - before
    del built
    return {"cpu": median(seconds), "memory": float(grown)}


def measured(model: str, tools: list[str], file: Path, repeats: int) -> dict[str, Result]:
    """Medians over processes of their own, the tools taking turns."""
    runs: dict[str, list[Result]] = {tool: [] for tool in tools}
    for _ in range(repeats):
        for tool in tools:
            command = [sys.executable, __file__, "--one", model, tool, str(file)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            runs[tool].append(json.loads(done.stdout.splitlines()[-1]))
    return {
        tool: {key: median(run[key] for run in several) for key in ("cpu", "memory")}
        for tool, several in runs.items()
    }


def line(size: int, tool: str, results: dict[str, Result]) -> str:
    """A line of the table."""

    def ratio(other: str, key: str) -> str:
        """Blank where there is nothing to compare with."""
        reference = results.get(other, {}).get(key)
        return f"{results[tool][key] / reference:>9.2f}" if reference else f"{'':>9}"

    cpu, memory = results[tool]["cpu"], results[tool]["memory"]
    text = f"{size:>9}  {tool:<15}{1e3 * cpu:>9.2f} ms{ratio('raw', 'cpu')}"
    if size > SMALL:
        text += f"{memory / 1e6:>11.1f} MB{ratio('raw', 'memory')}"
    by_hand = BY_HAND.get(tool)
    if by_hand in results:
        text = f"{text:<70}  {ratio(by_hand, 'cpu')} of {by_hand}"
    return text.rstrip()


def report(
    model: str, tools: list[str], sizes: list[int], most: int, repeats: int
) -> list[dict[str, Any]]:
    """Measure a model at every size, printing each size as soon as it is known."""
    found = []
    print(f"\n{model}, median of {repeats}")
    header = f"{MODELS[model].UNIT:>9}  {'tool':<15}{'CPU':>12}{'/ raw':>9}"
    print(f"{header}{'peak memory':>14}{'/ raw':>9}{'/ by hand':>11}")
    for wanted in sizes:
        arrays: Arrays = MODELS[model].instance(wanted)
        size = len(arrays["job"])
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "instance.npz"
            np.savez(file, **arrays)  # type: ignore[arg-type]
            able = [tool for tool in tools if size <= most or tool not in BY_OBJECT]
            results = measured(model, able, file, repeats)
        for tool in able:
            print(line(size, tool, results), flush=True)
            found.append({"model": model, "size": size, "tool": tool, **results[tool]})
    return found


def installed(tools: list[str]) -> list[str]:
    """Those whose packages are here; of the others a line says what is missing."""
    found = []
    for tool in tools:
        packages = [module.split(".")[0] for module in TOOLS[tool]]
        missing = [package for package in packages if find_spec(package) is None]
        if missing:
            print(f"{tool} skipped: {', '.join(missing)} not installed")
        else:
            found.append(tool)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--columns", type=int, nargs="+", help="columns or pairs of each model")
    parser.add_argument(
        "--most", type=int, default=100_000, help="size given to tools with an object per variable"
    )
    parser.add_argument("--repeats", type=int, default=3, help="processes per measurement")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one[0], given.one[1], Path(given.one[2]))))
        return
    results = []
    tools = installed(given.tools)
    for model in given.models:
        sizes = given.columns or list(MODELS[model].SIZES)
        results += report(model, tools, sizes, given.most, given.repeats)
    if given.json:
        given.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
