"""Our FIFO, SRTF, LAS and Tiresias-L against the released Tiresias simulator, job by job.

Prints for every recorded run whether all end times and preemption counts agree, and how many
times faster ours is than the recorded wall time. Code is compiled before the clock starts.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np

from heuristics.common.claims.claim import DATA
from heuristics.common.count_placement import simulate
from heuristics.common.tiresias_reference import load

FOLDER = "reference_jct"


def main() -> int:
    """Print one line per run; 1 if any disagrees."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--folder", type=Path, help=f"the recorded runs; default: {FOLDER} below {DATA}"
    )
    parser.add_argument("--repeat", type=int, default=3, help="runs, of which the fastest counts")
    given = parser.parse_args()
    folder = given.folder
    if folder is None and os.environ.get(DATA):
        folder = Path(os.environ[DATA]) / FOLDER
    if folder is None:
        print(f"no recorded runs: give their folder by --folder, or the one above it by {DATA}")
        return 0
    if not (folder / "tiresias_sim_reference.csv").is_file():
        print(f"no recorded runs in {folder}")
        return 0
    runs = list(load(folder))
    for policy in {run.policy: run for run in runs}.values():
        simulate(policy.jobs, policy.gpus, policy.policy, late_demotions=True)
    print(f"{'trace':<20} {'cluster':<7} {'policy':<14} {'jobs':>6} {'same':>5}  "
          f"{'theirs s':>8} {'ours s':>9} {'ratio':>9}")  # fmt: skip
    ratios, different = [], 0
    for run in runs:
        seconds = []
        for _ in range(given.repeat):
            began = time.perf_counter()
            ours = simulate(run.jobs, run.gpus, run.policy, late_demotions=True)
            seconds.append(time.perf_counter() - began)
        same = np.array_equal(ours.end, run.end) and np.array_equal(
            ours.preemptions, run.preemptions
        )
        ratios.append(run.wall_seconds / min(seconds))
        different += not same
        print(f"{run.trace:<20} {run.cluster:<7} {run.policy:<14} {len(run.jobs):>6} "
              f"{'yes' if same else 'NO':>5}  {run.wall_seconds:>8.2f} {min(seconds):>9.5f} "
              f"{ratios[-1]:>8.0f}x")  # fmt: skip
    print(f"{len(runs)} runs, {different} differ; least ratio {min(ratios):.0f}x, "
          f"median {np.median(ratios):.0f}x")  # fmt: skip
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
