"""Peak memory, of processes that do one thing each.

A way is a function below that runs in a new process; its cost is what the process held at most,
child processes excluded.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import placement, time_indexed, tools

from formulations.preemptive.workload import PHILLY_SIZE, philly_workload
from heuristics.preemptive.a_online import a_online
from optsched.study import StudyGrid, read, run_study

HERE = Path(__file__).parent
STUDY = HERE.parent / "studies" / "ratios.toml"
PACKED = ("first_fit_decreasing", "tetris", "graphene", "spear", "best_order")


def peak(work: str, *given: Any) -> float:
    """Megabytes that a new process holds at most, if it calls a function of this module."""
    code = f"import bench_memory as m; m.{work}(*{given!r}); print(m.held())"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=HERE, check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout.split()[-1])


def held() -> float:
    """Megabytes that this process has held at most.

    ``getrusage`` would count what its parent held when it was started.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def model_of(name: str, tool: str) -> None:
    """A model of 100,000 columns up to the solver."""
    module = {"time_indexed": time_indexed, "placement": placement}[name]
    arrays = module.instance(100_000)
    if tool == "ours":
        tools.optsched_to_highs(module.model(arrays))
    else:
        getattr(module, f"build_{tool}")(arrays)


def replayed(jobs: int, run: bool) -> None:
    """A_online on jobs drawn like the Philly trace's, or the instance alone."""
    instance = philly_workload(np.random.default_rng(0), jobs)
    if run:
        a_online(instance, np.random.default_rng(0))


def packed(runs: int) -> None:
    """The driver of a study of short runs on two worker processes."""
    grid = StudyGrid(
        "aerialedge", {"kind": ["hard"], "tasks": [4, 16]}, seeds=range(runs // 10),
        heuristics=list(PACKED), exact=[],
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        run_study([grid], Path(folder) / "study.sqlite", workers=2)


def ratios() -> None:
    """The study of ``make ratios`` with two of its ten seeds, all in this process."""
    run_study([replace(grid, seeds=range(2)) for grid in read(STUDY).grids], workers=1)


def imports() -> None:
    """Nothing but what this module imports."""


@pytest.mark.long
@pytest.mark.parametrize("model", ["time_indexed", "placement"])
def bench_build_memory(beside, model: str) -> None:
    """A model of 100,000 columns up to HiGHS; PuLP up to its own problem."""
    others = {tool: partial(peak, "model_of", model, tool) for tool in ("raw", "linopy", "pulp")}
    beside(partial(peak, "model_of", model, "ours"), rounds=1, unit="MB", **others)


@pytest.mark.long
@pytest.mark.parametrize("jobs", [20_000, 60_000, PHILLY_SIZE])
def bench_a_online_memory(beside, jobs: int) -> None:
    """A run on a whole trace, beside making its instance."""
    instance = partial(peak, "replayed", jobs, False)
    beside(partial(peak, "replayed", jobs, True), rounds=1, unit="MB", instance=instance)


@pytest.mark.long
def bench_study_memory(beside) -> None:
    """The driver of a study of 10,000 runs, beside smaller ones."""
    smaller = {f"{runs} runs": partial(peak, "packed", runs) for runs in (1_000, 5_000)}
    beside(partial(peak, "packed", 10_000), rounds=1, unit="MB", **smaller)


@pytest.mark.long
def bench_ratios_memory(beside) -> None:
    """``make ratios`` in one process, beside its imports."""
    beside(partial(peak, "ratios"), rounds=1, unit="MB", imports=partial(peak, "imports"))
