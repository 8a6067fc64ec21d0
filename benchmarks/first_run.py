"""What a first ``optsched run`` costs on a machine that has no machine code of it yet.

    python benchmarks/first_run.py [--repeat 3]

Each run has a copy of the packages of its own, without Python's and the compiler's files beside
the modules; what is installed beside optsched has its bytecode, as an installer leaves it. The
best of the repetitions; processor seconds count child processes, and are the ones to look at
where a machine is shared.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from optsched.instances.document import dumps
from optsched.problem import problem

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("optsched", "formulations", "heuristics", "studies")

CALLS = {
    "preemptive.a_online": {"jobs": 3},
    "preemptive_storage.a_online_storage": {"jobs": 3},
    "batch.a_online": {"jobs": 3},
    "batch_completion.a_online": {"jobs": 3},
    "okita.okita": {"jobs": 3, "sites": 3, "horizon": 20},
    "drp.r_dr": {"jobs": 3},
    "dsrp.r_dsr": {"jobs": 3},
    "aerialedge.aerialedge": {"tasks": 10},
}
"""The papers' algorithms, and what makes an instance small; the other one is the generator's."""

COMMAND = "import sys; from optsched.cli import main; sys.exit(main())"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    print("algorithm                    instance   wall s   CPU s   the next: wall s   CPU s")
    for call, small in CALLS.items():
        found = problem(call.partition(".")[0])
        for size, options in (("small", small), ("default", {})):
            instance = dumps(found.generate(np.random.default_rng(0), **options))
            runs = [first_and_second(call, instance) for _ in range(repeat)]
            (wall, cpu), (again, cpu_again) = (
                tuple(min(run[k][unit] for run in runs) for unit in (0, 1)) for k in (0, 1)
            )
            line = f"{wall:>7.2f} {cpu:>7.2f}   {again:>16.2f} {cpu_again:>7.2f}"
            print(f"{call:<28} {size:<9} {line}", flush=True)
    load = " ".join(f"{part:.1f}" for part in os.getloadavg())
    print(f"best of {repeat}; {os.cpu_count()} processors, load over 1, 5 and 15 minutes: {load}")


def first_and_second(call: str, instance: str) -> list[tuple[float, float]]:
    """Wall and processor seconds of a command where nothing is there yet, and of its repetition."""
    with tempfile.TemporaryDirectory() as folder:
        for package in PACKAGES:
            leave = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / package, Path(folder, package), ignore=leave)
        Path(folder, "instance.json").write_text(instance, encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": folder, "HOME": folder}
        for name in ("NUMBA_CACHE_DIR", "PYTHONDONTWRITEBYTECODE"):
            environment.pop(name, None)
        return [timed(["run", call, "instance.json"], folder, environment) for _ in range(2)]


def timed(arguments: list[str], folder: str, environment: dict[str, str]) -> tuple[float, float]:
    """Wall and processor seconds of a command that has to succeed."""
    began, before = time.perf_counter(), os.times()
    subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments],
        cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    after = os.times()
    used = sum(after[2:4]) - sum(before[2:4])
    return time.perf_counter() - began, used


if __name__ == "__main__":
    main()
