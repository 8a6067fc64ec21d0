"""Batch jobs with dependencies of Alibaba's cluster-trace-v2018.

Read are the official ``batch_task`` table (with a header or, as published, without) and tables with
the columns of ``ARRIVALS``, which hold a duration in place of start and end. CSV, also compressed.

Names carry the dependencies: ``J4_2_3`` is task 4 after 2 and 3; the numbers are no topological
order. Tasks that are named otherwise, such as ``task_<base64>``, depend on nothing. Most
dependent tasks carry the start of their job, so that end minus start includes the wait for their
parents: the running time is the end less the latest end of a parent, unless instances tell it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optsched.errors import InputError

OFFICIAL = (
    "task_name", "instance_num", "job_name", "task_type", "status", "start_time", "end_time",
    "plan_cpu", "plan_mem",
)  # fmt: skip
"""Columns of ``batch_task``, in the order of the published file."""

ARRIVALS = (
    "arrival_time", "job_name", "task_name", "duration", "plan_cpu", "plan_mem", "inst_num",
)  # fmt: skip
"""Columns of the tables with arrivals."""

ExecTime = Literal["own", "raw"]
"""own: end less the later of start and the parents' ends; raw: end less start."""

RESOLUTION = 1.0
"""Seconds of the trace's clock: a task whose last parent ends with it ran no longer than that."""

_NAME = re.compile(r"[^_]*[A-Z](?P<id>\d+)(?P<deps>(?:_\d*)*)(?:_Stg\d+)?")


@dataclass(frozen=True, eq=False)
class TraceDags:
    """Jobs with their tasks, those of one job together; every array is read-only."""

    job_name: tuple[str, ...]
    submit_time: NDArray[np.float64]
    """First start of a task of each job, shape (jobs,), seconds of the trace."""
    job_type: tuple[str, ...]
    """``task_type`` of the first task of each job."""
    data_size: NDArray[np.float64]
    """Instances of all tasks, which stand for the size of the data, shape (jobs,)."""
    task_job: NDArray[np.int64]
    """Shape (tasks,)."""
    task_name: tuple[str, ...]
    cpu_cores: NDArray[np.float64]
    """Cores one instance asks for, shape (tasks,)."""
    mem_gib: NDArray[np.float64]
    """``plan_mem`` as it stands, shape (tasks,)."""
    exec_time: NDArray[np.float64]
    """Running time, shape (tasks,), seconds."""
    instances: NDArray[np.float64]
    """Instances of each task, shape (tasks,)."""
    edge_parent: NDArray[np.int64]
    """Shape (edges,)."""
    edge_child: NDArray[np.int64]
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Tasks and jobs left out, counted by reason."""

    def __len__(self) -> int:
        return len(self.job_name)

    def select(self, jobs: NDArray[np.integer] | list[int]) -> TraceDags:
        """The jobs of these indices only, renumbered in that order."""
        chosen = np.asarray(jobs, dtype=np.int64)
        order = [np.flatnonzero(self.task_job == j) for j in chosen]
        tasks = np.concatenate([np.zeros(0, dtype=np.int64), *order])
        new = np.full(len(self.task_job), -1)
        new[tasks] = np.arange(len(tasks))
        kept = new[self.edge_parent] >= 0
        return replace(
            self,
            job_name=tuple(self.job_name[j] for j in chosen),
            submit_time=self.submit_time[chosen],
            job_type=tuple(self.job_type[j] for j in chosen),
            data_size=self.data_size[chosen],
            task_job=np.repeat(np.arange(len(chosen)), [len(part) for part in order]),
            task_name=tuple(self.task_name[t] for t in tasks),
            **{
                name: getattr(self, name)[tasks]
                for name in ("cpu_cores", "mem_gib", "exec_time", "instances")
            },
            edge_parent=new[self.edge_parent[kept]],
            edge_child=new[self.edge_child[kept]],
            dropped={},
        )


def parse_name(name: str) -> tuple[int, tuple[int, ...]] | None:
    """(own id, ids of the predecessors) a task name spells; None where it spells none.

    Example:
        >>> parse_name("R10_9_Stg2"), parse_name("task_LTg0MTU1NDU1")
        ((10, (9,)), None)
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    parts = (int(part) for part in match["deps"].split("_") if part)
    return int(match["id"]), tuple(parts)


def load_dags(
    path: str | Path, *, exec_time: ExecTime = "own", instances: str | Path | None = None
) -> TraceDags:
    """Read jobs and their tasks.

    Args:
        path: a ``batch_task`` table, or one with the columns of ``ARRIVALS``.
        exec_time: see ``ExecTime``.
        instances: a table with ``job_name``, ``task_name`` and ``dur_max`` (or ``duration``, one
            row per instance), whose longest duration is taken for a task where it is listed.

    Raises:
        InputError: a file cannot be read or lacks a column.
    """
    if exec_time not in get_args(ExecTime):
        allowed = "must be one of " + ", ".join(get_args(ExecTime))
        raise InputError.of("exec_time", exec_time, allowed)
    dropped: Counter[str] = Counter()
    table = _usable(_standard(Path(path)), dropped)
    table = _one_row_per_task(table, dropped)
    edges = _edges(table)
    run = (table["end_time"] - table["start_time"]).to_numpy(np.float64)
    if exec_time == "own":
        run = _own_time(table, edges)
    if instances is not None:
        measured = _measured(Path(instances), table)
        run = np.where(np.isnan(measured), run, measured)
    cyclic = _cyclic_jobs(table["job"].to_numpy(), edges)
    dropped["cyclic job"] += len(cyclic)
    kept = ~table["job"].isin(cyclic).to_numpy()
    return _dags(table, np.maximum(run, RESOLUTION), edges, kept, +dropped)


def _standard(path: Path) -> pd.DataFrame:
    """The table with the official columns, whatever it came with."""
    first = _read(path, nrows=1, header=None)
    header = [str(value).strip() for value in first.iloc[0]]
    if not {"task_name", "job_name"} & set(header):
        if len(header) != len(OFFICIAL):
            allowed = f"{len(OFFICIAL)} columns as published, or a header"
            raise InputError.of(f"{path}, first line", header, allowed)
        table = _read(path, header=None, names=list(OFFICIAL))
    else:
        table = _read(path, header=0)
        table.columns = table.columns.str.strip()
    if "arrival_time" in table.columns:
        _require(path, table, ARRIVALS)
        start = pd.to_numeric(table["arrival_time"], errors="coerce")
        length = pd.to_numeric(table["duration"], errors="coerce")
        table = table.assign(
            start_time=start,
            end_time=start + length,
            status="Terminated",
            task_type="",
            instance_num=table["inst_num"],
        )
    _require(path, table, OFFICIAL)
    numeric = ["instance_num", "start_time", "end_time", "plan_cpu", "plan_mem"]
    table[numeric] = table[numeric].apply(pd.to_numeric, errors="coerce")
    return table[list(OFFICIAL)]


def _read(path: Path, **how: Any) -> pd.DataFrame:
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, **how)
    except (OSError, EOFError, ValueError) as error:
        raise InputError.of("file", str(path), f"cannot be read as CSV ({error})") from None
    return pd.DataFrame(table)


def _require(path: Path, table: pd.DataFrame, columns: tuple[str, ...]) -> None:
    missing = [name for name in columns if name not in table.columns]
    if missing:
        allowed = "must have " + ", ".join(map(repr, missing))
        raise InputError.of(f"{path}, header", list(table.columns), allowed)


def _usable(table: pd.DataFrame, dropped: Counter[str]) -> pd.DataFrame:
    """Terminated tasks with times and demands."""
    ended = (table["status"] == "Terminated").to_numpy()
    dropped["not terminated"] += int((~ended).sum())
    demands = table[["plan_cpu", "plan_mem"]].to_numpy(np.float64)
    known = (np.isfinite(demands) & (demands > 0)).all(axis=1)
    dropped["no demand"] += int((ended & ~known).sum())
    times = table[["start_time", "end_time"]].to_numpy(np.float64)
    timed = np.isfinite(times).all(axis=1) & (times[:, 1] > times[:, 0])
    dropped["no running time"] += int((ended & known & ~timed).sum())
    return pd.DataFrame(table.loc[ended & known & timed])


def _one_row_per_task(table: pd.DataFrame, dropped: Counter[str]) -> pd.DataFrame:
    """Jobs in order of appearance, with their tasks together and their ids spelled out."""
    parsed = [parse_name(str(name)) for name in table["task_name"]]
    job, names = pd.factorize(table["job_name"])
    deps = pd.Series([() if one is None else one[1] for one in parsed], table.index, dtype=object)
    table = table.assign(job=job, id=[-1 if one is None else one[0] for one in parsed], deps=deps)
    again = (table["id"] >= 0) & table.duplicated(["job", "id"])
    dropped["id seen before"] += int(again.sum())
    table = table[~again].sort_values("job", kind="stable", ignore_index=True)
    table.attrs["names"] = tuple(map(str, names))
    return table


def _edges(table: pd.DataFrame) -> NDArray[np.int64]:
    """(parent row, child row); an id that does not occur in the job is ignored."""
    row = {
        (job, number): at
        for at, (job, number) in enumerate(zip(table["job"], table["id"], strict=True))
        if number >= 0
    }
    pairs = [
        (row[job, parent], at)
        for at, (job, deps) in enumerate(zip(table["job"], table["deps"], strict=True))
        for parent in dict.fromkeys(deps)
        if (job, parent) in row
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _own_time(table: pd.DataFrame, edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """End less the later of start and the latest end of a parent (seconds)."""
    end = table["end_time"].to_numpy(np.float64)
    begin = table["start_time"].to_numpy(np.float64).copy()
    np.maximum.at(begin, edges[:, 1], end[edges[:, 0]])
    return np.asarray(end - begin)


def _measured(path: Path, table: pd.DataFrame) -> NDArray[np.float64]:
    """Longest duration of an instance of each task, seconds; NaN where none is listed."""
    listed = _read(path, header=0)
    listed.columns = listed.columns.str.strip()
    column = "dur_max" if "dur_max" in listed.columns else "duration"
    _require(path, listed, ("job_name", "task_name", column))
    seconds = pd.to_numeric(listed[column], errors="coerce")
    longest = seconds.groupby([listed["job_name"], listed["task_name"]]).max()
    keys = pd.MultiIndex.from_arrays([table["job_name"], table["task_name"]])
    return longest.reindex(keys).to_numpy(np.float64)


def _cyclic_jobs(job: NDArray[np.int64], edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Jobs whose dependencies run in a circle."""
    left = np.ones(len(edges), dtype=bool)
    while left.any():
        blocked = np.zeros(len(job), dtype=bool)
        blocked[edges[left, 1]] = True
        still = left & blocked[edges[:, 0]]
        if (still == left).all():
            # edges that lead on from a circle stay, too; those into one went with their tails
            return np.unique(job[edges[left, 1]])
        left = still
    return np.zeros(0, dtype=np.int64)


def _dags(
    table: pd.DataFrame,
    run: NDArray[np.float64],
    edges: NDArray[np.int64],
    kept: NDArray[np.bool_],
    dropped: Counter[str],
) -> TraceDags:
    rows = table[kept]
    new = np.full(len(table), -1)
    new[kept] = np.arange(len(rows))
    inside = kept[edges].all(axis=1)
    old_job = rows["job"].to_numpy()
    jobs, first, task_job = np.unique(old_job, return_index=True, return_inverse=True)
    instances = rows["instance_num"].fillna(1.0).to_numpy(np.float64)
    columns = {
        "submit_time": rows["start_time"].groupby(task_job).min().to_numpy(np.float64),
        "data_size": np.bincount(task_job, weights=instances, minlength=len(jobs)),
        "task_job": task_job,
        "cpu_cores": rows["plan_cpu"].to_numpy(np.float64) / 100.0,
        "mem_gib": rows["plan_mem"].to_numpy(np.float64).copy(),
        "exec_time": run[kept],
        "instances": instances.copy(),
        "edge_parent": new[edges[inside, 0]],
        "edge_child": new[edges[inside, 1]],
    }
    for column in columns.values():
        column.flags.writeable = False
    return TraceDags(
        job_name=tuple(table.attrs["names"][j] for j in jobs),
        job_type=tuple(map(str, rows["task_type"].to_numpy()[first])),
        task_name=tuple(map(str, rows["task_name"])),
        dropped=dict(dropped),
        **columns,
    )
