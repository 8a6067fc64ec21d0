"""What surrounds a solve: checks, evaluations, studies, the import and the commands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building.tools import optsched_to_highs
from conftest import cpu

import optsched as osd
from formulations.preemptive.check import check
from formulations.preemptive.workload import philly_workload
from heuristics.preemptive.a_online import a_online
from optsched.evaluation.runs import instance_rng
from optsched.instances.document import dumps
from optsched.problem import problem
from optsched.study import Exact, StudyGrid, run_study

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("optsched", "formulations", "heuristics", "studies")
OPTSCHED = ("-c", "import sys; from optsched.cli import main; sys.exit(main())")
BY_PULP = """
import pulp
m = pulp.LpProblem("knapsack", pulp.LpMaximize)
x = [pulp.LpVariable(f"x{i}", cat=pulp.LpBinary) for i in range(4)]
m += pulp.lpSum(x)
m += pulp.lpSum(x) <= 2
m.solve(pulp.HiGHS(msg=False))
"""

QUICK = {"jobs": 5, "servers": 5, "types": 2, "span": 10, "time_scale": 0.03}
SEEDS = range(5)


def bench_check(beside) -> None:
    """A schedule of thousands of chunks is checked, beside the algorithm that makes it."""
    instance = philly_workload(np.random.default_rng(0), 500)
    replay = partial(a_online, instance, np.random.default_rng(0))
    schedule = replay()
    beside(lambda: check(instance, schedule), replay=replay)


@pytest.mark.long
def bench_growth(beside) -> None:
    """A_online on ten times as many jobs of a trace."""
    runs = {
        jobs: partial(
            a_online, philly_workload(np.random.default_rng(0), jobs), np.random.default_rng(0)
        )
        for jobs in (1_000, 10_000)
    }
    beside(runs[10_000], rounds=3, **{"1,000 jobs": runs[1_000]})


def by_hand() -> Any:
    """Ratios of A_online by a loop: generate, run, state the model, solve it in HiGHS."""
    chosen = problem("preemptive")
    found = []
    for seed in SEEDS:
        instance = chosen.generate(instance_rng(seed), **QUICK)
        schedule = a_online(instance, np.random.default_rng(seed))
        solver = optsched_to_highs(chosen.formulations["problem_2_compact"].build(instance))
        solver.run()
        found.append(schedule.total_jct / solver.getObjectiveValue())
    return np.array(found)


def measured() -> Any:
    return ratios_of(
        osd.ratios("preemptive", "a_online", grid=one_each(), seeds=SEEDS,
                   reference="problem_2_compact")
    )  # fmt: skip


def studied(store: Path | None = None) -> Any:
    grid = StudyGrid(
        "preemptive", one_each(), seeds=SEEDS, heuristics=["a_online"],
        exact=[Exact("problem_2_compact")],
    )  # fmt: skip
    return ratios_of(run_study([grid], store, workers=1))


def one_each() -> dict[str, list[Any]]:
    return {name: [value] for name, value in QUICK.items()}


def ratios_of(found: Any) -> Any:
    return np.array([row.ratio_low for row in sorted(found.rows, key=lambda row: row.seed)])


@pytest.mark.parametrize("way", [measured, studied], ids=["ratios", "study"])
def bench_evaluate(beside, way: Any) -> None:
    """Ratios of one algorithm on five instances, beside a loop by hand."""
    beside(way, loop=by_hand)


SMALL = {
    "okita": ("okita", {"jobs": 3, "sites": 3, "horizon": 20}),
    "batch": ("a_online", {"jobs": 5, "servers": 6, "types": 2, "time_scale": 0.05}),
}
"""Heuristics and generator options, as in the quick presets of two other problems."""


def by_calls(name: str) -> Any:
    """Ratios by a loop: generate, run, solve; nothing is checked or looked for beyond that."""
    chosen, (heuristic, options) = problem(name), SMALL[name]
    found = []
    for seed in SEEDS:
        instance = chosen.generate(instance_rng(seed), **options)
        run = chosen.heuristics[heuristic].run
        schedule = run(instance, np.random.default_rng(seed))
        optimum = chosen.solve(chosen.reference, instance).solution.objective
        found.append(chosen.cost(instance, schedule) / optimum)
    return np.array(found)


@pytest.mark.parametrize("name", SMALL)
def bench_evaluate_small(beside, name: str) -> None:
    """Ratios of one algorithm on five instances of a problem that has an exact method."""
    heuristic, options = SMALL[name]
    grid = {option: [value] for option, value in options.items()}
    ours = partial(osd.ratios, name, heuristic, grid=grid, seeds=SEEDS)
    beside(lambda: ratios_of(ours()), loop=partial(by_calls, name))


def bench_resume(beside, tmp_path: Path) -> None:
    """A study of which every row is there, beside the study itself."""
    beside(partial(studied, tmp_path / "study.sqlite"), study=studied)


def python(*arguments: str, **options: Any) -> None:
    subprocess.run(
        [sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, **options
    )  # fmt: skip


def bench_import(beside) -> None:
    """In a new process."""
    beside(
        partial(python, "-c", "from optsched import Model, solve"),
        rounds=3,
        raw=partial(python, "-c", "import numpy, highspy"),
    )


@pytest.mark.parametrize("command", ["--help", "problems", "generate", "solve"])
def bench_command(beside, command: str, tmp_path: Path) -> None:
    """In a new process, beside a script that states a tiny model and solves it."""
    file = tmp_path / "instance.json"
    file.write_text(dumps(problem("preemptive").generate(instance_rng(0), **QUICK)), "utf-8")
    arguments = {
        "generate": ["preemptive", "--jobs", "5", "-o", str(tmp_path / "made.json")],
        "solve": ["preemptive.problem_2_compact", str(file)],
    }
    ours = partial(python, *OPTSCHED, command, *arguments.get(command, []))
    beside(ours, rounds=3, pulp=partial(python, "-c", BY_PULP))


FIRST = {
    "preemptive.a_online": {"jobs": 3},
    "preemptive_storage.a_online_storage": {"jobs": 3},
    "batch.a_online": {"jobs": 3},
    "batch_completion.a_online": {"jobs": 3},
    "okita.okita": {"jobs": 3, "sites": 3, "horizon": 20},
    "drp.r_dr": {"jobs": 3},
    "dsrp.r_dsr": {"jobs": 3},
    "aerialedge.aerialedge": {"tasks": 10},
}
"""The papers' algorithms, and what makes an instance small."""


@pytest.mark.long
@pytest.mark.parametrize("size", ["small", "default"])
@pytest.mark.parametrize("call", FIRST)
def bench_first_run(beside, call: str, size: str) -> None:
    """``optsched run`` if nothing is compiled yet, beside its repetition.

    Each first run has its own copy of the packages, without the files of Python and of the compiler
    beside the modules; what is installed beside optsched has its bytecode.
    """
    options = FIRST[call] if size == "small" else {}
    instance = dumps(problem(call.partition(".")[0]).generate(np.random.default_rng(0), **options))

    def twice() -> tuple[float, float]:
        with tempfile.TemporaryDirectory() as folder:
            for package in PACKAGES:
                leave = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / package, Path(folder, package), ignore=leave)
            Path(folder, "instance.json").write_text(instance, encoding="utf-8")
            environment = {**os.environ, "PYTHONPATH": folder, "HOME": folder}
            for name in ("NUMBA_CACHE_DIR", "PYTHONDONTWRITEBYTECODE"):
                environment.pop(name, None)
            return run_twice("run", call, "instance.json", cwd=folder, env=environment)

    first_beside_next(beside, twice)


def run_twice(*arguments: str, **options: Any) -> tuple[float, float]:
    """CPU milliseconds of a command in a new process, and of the same once more."""
    spent = [cpu()]
    for _ in range(2):
        python(*OPTSCHED, *arguments, **options)
        spent.append(cpu())
    return 1e3 * (spent[1] - spent[0]), 1e3 * (spent[2] - spent[1])


def first_beside_next(beside: Any, twice: Callable[[], tuple[float, float]]) -> None:
    """Compare a first run with its repetition, made together in every round."""
    first: list[float] = []

    def again() -> float:
        both = twice()
        first.append(both[0])
        return both[1]

    beside(lambda: first[-1], rounds=3, unit="ms", again=again)


@pytest.mark.long
@pytest.mark.parametrize("command", ["solve", "ratio"])
def bench_nothing_compiled(beside, command: str, tmp_path: Path) -> None:
    """A command with an empty folder of machine code, beside its repetition."""
    file = tmp_path / "instance.json"
    _, options = SMALL["okita"]
    file.write_text(dumps(problem("okita").generate(instance_rng(0), **options)), "utf-8")
    words = (
        ["okita.problem_2_columns", str(file)]
        if command == "solve"
        else ["preemptive", "--preset", "quick"]
    )

    def twice() -> tuple[float, float]:
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
            return run_twice(command, *words, cwd=tmp_path, env=environment)

    first_beside_next(beside, twice)
