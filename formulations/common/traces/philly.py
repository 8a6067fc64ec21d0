"""Jobs and machines of Microsoft's Philly clusters (Jeon et al., USENIX ATC 2019).

Two formats of the jobs are read: the original ``cluster_job_log`` (JSON, one record per job with
its scheduling attempts, https://github.com/msr-fiddle/philly-traces) and the table derived from it
that many simulators share (CSV with the columns of ``COLUMNS``).

A job's running time is the sum of its attempts' lengths, without the queueing between them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.common.traces.jobs import Machines, TraceJobs
from formulations.common.traces.table import read_table
from optsched.errors import InputError
from optsched.instances.text_files import text_file

COLUMNS = ("timestamp", "duration", "num_gpus", "cluster")
"""Columns needed in the CSV; any others are left alone."""

_TIME_FORMAT = "%Y-%m-%d %H:%M:%S"
_TIME_ALLOWED = "a time written YYYY-MM-DD HH:MM:SS"
_JSON_NAMES: dict[type, str] = {list: "list", str: "text"}


def load_jobs(path: str | Path) -> TraceJobs:
    """Read the jobs from the derived CSV (``.csv``, ``.csv.gz``) or else from the JSON job log.

    Raises:
        InputError: the file cannot be read, or a value is refused; it names line and column of
            a CSV, or the place in a JSON log.
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    return _from_csv(Path(path)) if ".csv" in suffixes[-2:] else _from_log(Path(path))


def load_machines(path: str | Path) -> Machines:
    """Read a machine list: CSV with the columns "machineId" and "number of GPUs".

    Raises:
        InputError: the file cannot be read, or a value is refused.
    """
    table = read_table(Path(path), ("machineId", "number of GPUs"))
    return Machines(tuple(table.columns["machineId"]), table.whole("number of GPUs"))


def _from_csv(path: Path) -> TraceJobs:
    table = read_table(path, COLUMNS, may_lack=("cluster",))
    times = pd.Series(table.columns["timestamp"], dtype=object)
    submitted = pd.to_datetime(times, format=_TIME_FORMAT, errors="coerce")
    table.refuse("timestamp", submitted.isna().to_numpy(), _TIME_ALLOWED)
    return _trace(
        submitted.to_numpy(dtype="datetime64[s]"),
        table.numbers("duration"),
        table.whole("num_gpus"),
        table.columns["cluster"].astype(np.str_),
        Counter({"blank line": table.blank}),
    )


def _trace(
    submitted: NDArray[np.datetime64],
    duration: NDArray[np.float64],
    gpus: NDArray[np.int64],
    cluster: NDArray[np.str_],
    dropped: Counter[str],
) -> TraceJobs:
    """Keep the jobs that ran, in order of submission; ties stay in the order of the file."""
    ran, placed = duration > 0, cluster != ""
    dropped["no running time"] += int(np.sum(~ran))
    dropped["no GPU"] += int(np.sum(ran & (gpus == 0)))
    dropped["no cluster"] += int(np.sum(ran & (gpus > 0) & ~placed))
    kept = np.flatnonzero(ran & (gpus > 0) & placed)
    kept = kept[np.argsort(submitted[kept], kind="stable")]
    seconds = (submitted[kept] - submitted[kept][:1]) / np.timedelta64(1, "s")
    return TraceJobs(seconds, duration[kept], gpus[kept], cluster[kept], +dropped)


def _from_log(path: Path) -> TraceJobs:
    try:
        with text_file(path) as text:
            records = json.load(text)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError.of("file", str(path), f"cannot be read as JSON ({error})") from None
    if not isinstance(records, list):
        raise InputError.of(str(path), type(records).__name__, "a list of jobs")
    rows: list[tuple[datetime, float, int, str]] = []
    dropped: Counter[str] = Counter()
    for number, record in enumerate(records):
        where = f"{path}, [{number}]"
        attempts = _member(record, "attempts", list, where)
        submitted = _time(record, "submitted_time", where)
        if submitted is None:
            raise InputError.of(f"{where}.submitted_time", None, _TIME_ALLOWED)
        cluster = _member(record, "vc", str, where)
        usable = list(_attempts(attempts, where))
        if usable:
            seconds, gpus = zip(*usable, strict=True)
            rows.append((submitted, sum(seconds), max(gpus), cluster))
        else:
            dropped["no usable attempt" if attempts else "never scheduled"] += 1
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    return _trace(
        np.array(columns[0], dtype="datetime64[s]"),
        np.array(columns[1], dtype=np.float64),
        np.array(columns[2], dtype=np.int64),
        np.array(columns[3], dtype=np.str_),
        dropped,
    )


def _attempts(attempts: list[Any], where: str) -> Iterator[tuple[float, int]]:
    """Seconds and GPUs of each attempt with both its times and a GPU.

    The log lacks times where logging failed or the job still ran at the snapshot.
    """
    for number, attempt in enumerate(attempts):
        place = f"{where}.attempts[{number}]"
        start, end = _time(attempt, "start_time", place), _time(attempt, "end_time", place)
        machines = _member(attempt, "detail", list, place)
        gpus = sum(
            len(_member(machine, "gpus", list, f"{place}.detail[{m}]"))
            for m, machine in enumerate(machines)
        )
        if start is not None and end is not None and end > start and gpus:
            yield (end - start).total_seconds(), gpus


def _member(record: Any, name: str, kind: type, where: str) -> Any:
    value = record.get(name) if isinstance(record, Mapping) else record
    if not isinstance(record, Mapping) or not isinstance(value, kind):
        raise InputError.of(f"{where}.{name}", value, f"a {_JSON_NAMES[kind]}")
    return value


def _time(record: Any, name: str, where: str) -> datetime | None:
    """A time of the log; None where it was not recorded."""
    text = record.get(name) if isinstance(record, Mapping) else record
    if isinstance(record, Mapping) and text in (None, "", "None"):
        return None
    try:
        return datetime.strptime(str(text), _TIME_FORMAT)
    except ValueError:
        raise InputError.of(f"{where}.{name}", text, _TIME_ALLOWED) from None
