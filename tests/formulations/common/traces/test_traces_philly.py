"""The Philly loader: both formats of the jobs, the machine list, bad rows, and the real files."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from formulations.common.traces import TraceJobs
from formulations.common.traces.philly import load_jobs, load_machines
from optsched.errors import InputError

HEADER = "timestamp,duration,num_gpus,gpu_time,cluster\n"


def write(path: Path, text: str) -> Path:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def attempt(start: str | None, end: str | None, *gpus: int) -> dict[str, Any]:
    """A scheduling attempt on machines with so many GPUs each."""
    return {
        "start_time": start,
        "end_time": end,
        "detail": [
            {"ip": f"m{m}", "gpus": [f"gpu{g}" for g in range(n)]} for m, n in enumerate(gpus)
        ],
    }


def job(submitted: str | None, *attempts: dict[str, Any], vc: str = "ee9e8c") -> dict[str, Any]:
    return {
        "status": "Pass",
        "vc": vc,
        "jobid": "application_1",
        "attempts": list(attempts),
        "submitted_time": submitted,
        "user": "ce2f4c",
    }


DOCUMENTED = job(
    "2017-10-07 01:11:39",
    attempt("2017-10-07 01:12:09", "2017-10-07 01:13:23", 8),
    attempt("2017-10-07 01:13:30", "2017-10-09 06:53:12", 8),
)
"""The one job whose record the trace's own documentation prints."""


@pytest.mark.parametrize("name", ["jobs.csv", "jobs.csv.gz"])
def test_the_csv_is_sorted_by_submission_and_ties_keep_their_order(tmp_path, name) -> None:
    rows = (
        "2017-10-07 02:00:00,10.5,1,10.5,b\n"
        "2017-10-07 01:00:00,20.0,2,40.0,a\n"
        "2017-10-07 02:00:00,30.0,4,120.0,a\n"
    )
    jobs = load_jobs(write(tmp_path / name, HEADER + rows))
    assert jobs.submit_time.tolist() == [0, 3600, 3600]
    assert jobs.duration.tolist() == [20, 10.5, 30]
    assert jobs.gpus.tolist() == [2, 1, 4]
    assert jobs.cluster.tolist() == ["a", "b", "a"]
    assert jobs.dropped == {}


def test_blank_lines_and_jobs_that_used_nothing_are_dropped_and_counted(tmp_path: Path) -> None:
    rows = (
        "2017-10-07 01:00:00,0,1,0,a\n\n"
        "2017-10-07 02:00:00,5,0,0,a\n"
        "2017-10-07 03:00:00,5,1,5,a\n\n"
    )
    jobs = load_jobs(write(tmp_path / "jobs.csv", HEADER + rows))
    assert len(jobs) == 1
    assert jobs.dropped == {"blank line": 2, "no running time": 1, "no GPU": 1}


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ("2017-13-07 01:00:00,5,1,5,a", "timestamp"),
        ("07/10/2017,5,1,5,a", "timestamp"),
        (",5,1,5,a", "timestamp"),
        ("2017-10-07 01:00:00,long,1,5,a", "duration"),
        ("2017-10-07 01:00:00,-5,1,5,a", "duration"),
        ("2017-10-07 01:00:00,nan,1,5,a", "duration"),
        ("2017-10-07 01:00:00,inf,1,5,a", "duration"),
        ("2017-10-07 01:00:00,5,1.5,5,a", "num_gpus"),
        ("2017-10-07 01:00:00,5,-1,5,a", "num_gpus"),
        ("2017-10-07 01:00:00,5", "num_gpus"),
    ],
)
def test_a_bad_row_is_named_by_file_line_and_column(tmp_path, row, column) -> None:
    path = write(tmp_path / "jobs.csv", f"{HEADER}2017-10-07 01:00:00,5,1,5,a\n\n{row}\n")
    with pytest.raises(InputError) as caught:
        load_jobs(path)
    assert [problem.field for problem in caught.value.problems] == [f"{path}, line 4, {column}"]


def test_a_file_that_is_no_csv_of_jobs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load_jobs(tmp_path / "absent.csv")
    for text, complaint in (
        ("", "cannot be read"),
        ("timestamp,duration,cluster\n", "num_gpus"),
        (HEADER + "2017-10-07 01:00:00,5,1,5,a\n2017-10-07 01:00:00,5,1,5,a,more\n", "line 3"),
        (HEADER + "2017-10-07 01:00:00,5,1,5,a,more\n", "cannot be read"),
    ):
        with pytest.raises(InputError, match=complaint):
            load_jobs(write(tmp_path / "jobs.csv", text))
    (tmp_path / "jobs.csv.gz").write_bytes(gzip.compress(HEADER.encode())[:-9])
    with pytest.raises(InputError, match="cannot be read"):
        load_jobs(tmp_path / "jobs.csv.gz")


def test_a_csv_without_rows_is_an_empty_trace(tmp_path: Path) -> None:
    assert len(load_jobs(write(tmp_path / "jobs.csv", HEADER))) == 0


@pytest.mark.parametrize("name", ["cluster_job_log", "log.json", "log.json.gz"])
def test_the_documented_job_ran_for_the_sum_of_its_attempts(tmp_path, name) -> None:
    jobs = load_jobs(write(tmp_path / name, json.dumps([DOCUMENTED])))
    assert jobs.duration.tolist() == [74 + 193_182]
    assert jobs.gpus.tolist() == [8]
    assert jobs.cluster.tolist() == ["ee9e8c"]


def test_both_formats_give_the_same_jobs(tmp_path: Path) -> None:
    rows = "2017-10-07 01:11:39,193256.0,8,1546048.0,ee9e8c\n2017-10-07 00:00:00,60.0,3,180.0,x\n"
    early = job("2017-10-07 00:00:00", attempt("2017-10-07 00:10:00", "2017-10-07 00:11:00", 1, 2))
    early["vc"] = "x"
    table = load_jobs(write(tmp_path / "jobs.csv", HEADER + rows))
    log = load_jobs(write(tmp_path / "log", json.dumps([DOCUMENTED, early])))
    for name in ("submit_time", "duration", "gpus", "cluster"):
        assert np.array_equal(getattr(table, name), getattr(log, name))


def test_a_gang_over_several_machines_holds_all_their_gpus(tmp_path: Path) -> None:
    wide = job("2017-10-07 00:00:00", attempt("2017-10-07 00:00:00", "2017-10-07 01:00:00", 8, 8))
    assert load_jobs(write(tmp_path / "log", json.dumps([wide]))).gpus.tolist() == [16]


def test_jobs_without_a_usable_attempt_are_dropped_and_counted(tmp_path: Path) -> None:
    start, end = "2017-10-07 00:00:00", "2017-10-07 01:00:00"
    records = [
        job(start),
        job(start, attempt(None, end, 1)),
        job(start, attempt(start, None, 1)),
        job(start, attempt(start, "None", 1)),
        job(start, attempt(end, start, 1)),
        job(start, attempt(start, end)),
        job(start, attempt(start, end, 2), attempt(end, None, 2)),
    ]
    jobs = load_jobs(write(tmp_path / "log", json.dumps(records)))
    assert jobs.duration.tolist() == [3600]
    assert jobs.dropped == {"never scheduled": 1, "no usable attempt": 5}


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"submitted_time": None}, "[1].submitted_time"),
        ({"submitted_time": "noon"}, "[1].submitted_time"),
        ({"submitted_time": 7}, "[1].submitted_time"),
        ({"vc": None}, "[1].vc"),
        ({"attempts": None}, "[1].attempts"),
        ({"attempts": ["one"]}, "[1].attempts[0].start_time"),
        ({"attempts": [attempt("soon", None, 1)]}, "[1].attempts[0].start_time"),
        ({"attempts": [attempt(None, None) | {"detail": 3}]}, "[1].attempts[0].detail"),
        (
            {"attempts": [attempt(None, None) | {"detail": [{}]}]},
            "[1].attempts[0].detail[0].gpus",
        ),
    ],
)
def test_a_bad_record_of_the_log_is_named_by_its_place(tmp_path, change, place) -> None:
    path = write(tmp_path / "log", json.dumps([DOCUMENTED, DOCUMENTED | change]))
    with pytest.raises(InputError) as caught:
        load_jobs(path)
    assert [problem.field for problem in caught.value.problems] == [f"{path}, {place}"]


def test_a_log_that_is_no_list_of_jobs_is_refused(tmp_path: Path) -> None:
    for text in ("", "{", '{"jobs": []}', "[3]", "[null]"):
        with pytest.raises(InputError):
            load_jobs(write(tmp_path / "log", text))
    assert len(load_jobs(write(tmp_path / "log", "[]"))) == 0


def test_the_machine_list_is_read_in_its_order(tmp_path: Path) -> None:
    text = "machineId, number of GPUs, single GPU mem\nm31,8, 24GB\nm2,2, 12GB\n"
    machines = load_machines(write(tmp_path / "machines.csv", text))
    assert machines.name == ("m31", "m2")
    assert machines.gpus.tolist() == [8, 2]
    with pytest.raises(InputError, match="line 3, number of GPUs"):
        load_machines(write(tmp_path / "machines.csv", text.replace("m2,2", "m2,two")))


def test_a_slice_of_a_trace_keeps_its_times() -> None:
    jobs = TraceJobs(np.arange(5.0), np.ones(5), np.ones(5, dtype=int), np.full(5, "a"))
    assert jobs[2:4].submit_time.tolist() == [2, 3]
    assert jobs[jobs.submit_time > 3].submit_time.tolist() == [4]
    with pytest.raises(ValueError, match="read-only"):
        jobs.gpus[0] = 3


def test_a_trace_out_of_order_or_of_unequal_columns_is_refused() -> None:
    one = np.ones(2, dtype=int)
    with pytest.raises(InputError, match="order"):
        TraceJobs(np.array([1.0, 0.0]), np.ones(2), one, np.full(2, "a"))
    with pytest.raises(InputError, match="one length"):
        TraceJobs(np.array([0.0]), np.ones(2), one, np.full(2, "a"))


@pytest.fixture(scope="module")
def real_jobs(shared_data: Path) -> TraceJobs:
    return load_jobs(shared_data / "philly" / "philly_jobs_to_20171126.csv.gz")


def test_the_real_trace_has_71570_jobs_and_ends_in_a_blank_line(real_jobs: TraceJobs) -> None:
    assert len(real_jobs) == 71_570
    assert real_jobs.dropped == {"blank line": 1}
    assert Counter(real_jobs.gpus.tolist()) == {
        **{1: 66_960, 2: 1_406, 4: 1_646, 8: 1_368},
        **{12: 7, 16: 141, 24: 6, 32: 36},
    }


def test_the_real_trace_spans_twelve_weeks(real_jobs: TraceJobs) -> None:
    # 2017-09-04 10:30:41 to 2017-11-26 23:52:14
    assert real_jobs.submit_time[-1] == (83 * 24 + 13) * 3600 + 21 * 60 + 33
    shares = [5, 25, 50, 75, 90, 99]
    quantiles = np.percentile(real_jobs.duration, shares)
    assert np.round(quantiles).tolist() == [48, 150, 1194, 2787, 10848, 252409]


def test_the_real_cluster_has_552_machines_with_2490_gpus(shared_data: Path) -> None:
    machines = load_machines(shared_data / "philly" / "cluster_machine_list.csv.gz")
    assert len(machines) == 552
    assert Counter(machines.gpus.tolist()) == {2: 321, 8: 231}
    assert machines.gpus.sum() == 2_490
    revised = load_machines(shared_data / "philly" / "revised_machine_list.csv.gz")
    assert (len(revised), revised.gpus.sum()) == (552, 3_205)


@pytest.mark.parametrize("row", ["2017-10-07 01:00:00,5,1,5,", "2017-10-07 01:00:00,5,1,5"])
def test_a_row_without_its_cluster_is_dropped_and_counted(tmp_path, row) -> None:
    rows = f"2017-10-07 01:00:00,5,1,5,a\n{row}\n"
    jobs = load_jobs(write(tmp_path / "jobs.csv", HEADER + rows))
    assert jobs.cluster.tolist() == ["a"]
    assert jobs.dropped == {"no cluster": 1}


def test_a_job_of_the_log_without_its_cluster_is_dropped_and_counted(tmp_path) -> None:
    nowhere = {**DOCUMENTED, "vc": ""}
    jobs = load_jobs(write(tmp_path / "log", json.dumps([DOCUMENTED, nowhere])))
    assert (len(jobs), jobs.dropped) == (1, {"no cluster": 1})
