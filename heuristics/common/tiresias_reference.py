"""What the released Tiresias simulator answered on real traces, job by job.

A folder holds the traces (``traces/NAME.csv.gz``), the results (``per_job/NAME__nXgY.csv.gz``
for a cluster of X machines of Y GPUs) and a summary of the runs
(``tiresias_sim_reference.csv``) with the wall time each took.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.common.traces import TraceJobs
from heuristics.common.count_placement import Policy

NAMES: dict[Policy, str] = {
    "fifo": "fifo",
    "fifo_skip": "fjf",
    "srtf": "shortest",
    "srtf_gpu_time": "shortest-gpu",
    "las": "dlas",
    "tiresias_l": "dlas-gpu",
}
"""What the simulator calls each policy."""


@dataclass(frozen=True, eq=False)
class ReferenceRun:
    """One policy on one trace and cluster."""

    trace: str
    cluster: str
    gpus: int
    policy: Policy
    jobs: TraceJobs
    end: NDArray[np.float64]
    """Shape (jobs,), seconds."""
    preemptions: NDArray[np.int64]
    """Shape (jobs,)."""
    wall_seconds: float
    """How long the simulator took."""


def load(folder: Path) -> Iterator[ReferenceRun]:
    """Every run of the folder under a policy of ours, trace by trace."""
    summary = pd.read_csv(folder / "tiresias_sim_reference.csv")
    counted = summary[summary["placement"] == "count"]
    keys = zip(counted["trace"], counted["cluster"], counted["policy"], strict=True)
    wall = dict(zip(keys, counted["wall_s"].tolist(), strict=True))
    for path in sorted((folder / "per_job").glob("*.csv.gz")):
        name, cluster = path.name.removesuffix(".csv.gz").split("__")
        machines, each = map(int, re.findall(r"\d+", cluster))
        table = pd.read_csv(folder / "traces" / f"{name}.csv.gz")
        result = pd.read_csv(path).set_index("job_id").loc[table["job_id"]]
        jobs = TraceJobs(
            table["submit_time"].to_numpy(np.float64, copy=True),
            table["duration"].to_numpy(np.float64, copy=True),
            table["num_gpu"].to_numpy(np.int64, copy=True),
            np.full(len(table), name, dtype=np.str_),
        )
        for policy, theirs in NAMES.items():
            if f"end_{theirs}" not in result:
                continue
            counts = result.get(f"preempt_{theirs}")
            yield ReferenceRun(
                name,
                cluster,
                machines * each,
                policy,
                jobs,
                result[f"end_{theirs}"].to_numpy(np.float64),
                np.zeros(len(jobs), np.int64) if counts is None else counts.to_numpy(np.int64),
                wall[name, cluster, theirs],
            )
