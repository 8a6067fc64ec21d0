"""A table of one's own becomes an instance by the fields its problem declares."""

import time

import pandas as pd
import pytest

from optsched.errors import InputError
from optsched.instances.document import load
from optsched.problem import problem

JOBS = """name,submitted_s,chunks,slow_min,fast_min,edge,upload_delay_cloud
first,0,4,60,30,0,1
second,7200,2,30,30,2,
"""
MAPPED = (
    "release_time=submitted_s/3600",
    "num_chunks=chunks",
    "chunk_time_slow=slow_min / 60",
    "chunk_time_fast=fast_min/60",
    "upload_delay_edge=edge",
)
COLUMNS = dict(one.split("=") for one in MAPPED)


@pytest.fixture
def files(tmp_path):
    """A table of jobs and one of workers, three of them in two lines."""
    (tmp_path / "jobs.csv").write_text(JOBS.replace("2,\n", "2,3\n"))
    (tmp_path / "workers.csv").write_text("server,count\n0,2\n1,1\n")
    return tmp_path


def mapped():
    return [word for one in MAPPED for word in ("--column", one)]


def imported(cli, files, *more):
    command = ["import", "preemptive", files / "jobs.csv", *mapped(), "-o", files / "inst.json"]
    return cli(*command, *more)


def test_a_table_becomes_an_instance_that_every_command_takes(cli, files):
    done = imported(cli, files, "--edge-servers", 2, "--workers", files / "workers.csv")
    assert done.exit_code == 0, done.stderr
    instance = load(problem("preemptive").instance_type, files / "inst.json")
    assert instance.release_time.tolist() == [0, 2]
    assert instance.num_chunks.tolist() == [4, 2]
    assert instance.chunk_time_slow.tolist() == [1, 0.5]
    assert instance.upload_delay_edge.tolist() == [[0, 0], [2, 2]]
    assert instance.upload_delay_cloud.tolist() == [1, 3]
    assert instance.worker_server.tolist() == [0, 0, 1]
    assert cli("run", "preemptive.a_online", files / "inst.json").exit_code == 0


def test_lists_may_be_typed_as_json_and_single_fields_as_values(cli, files):
    workers = '[{"server": 0, "count": 5}]'
    done = imported(cli, files, "--edge-servers=1", "--workers", workers, "--slot-hours", 0.5)
    assert done.exit_code == 0, done.stderr
    instance = load(problem("preemptive").instance_type, files / "inst.json")
    assert instance.workers == 5
    assert instance.slot_hours == 0.5


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (["--column", "released=submitted_s"], ["released", "release_time"]),
        (["--column", "num_epochs=epochs"], ["epochs", "submitted_s"]),
        (["--column", "num_epochs=name*2"], ["name*2", "numbers"]),
        (["--column", "num_epochs"], ["--column", "FIELD=COLUMN"]),
        (["--machines", "3"], ["machines", "edge_servers"]),
        (["--edge-servers", "few"], ["edge_servers", "few", "table"]),
        (["--workers", "absent.csv"], ["absent.csv", "cannot be read"]),
        (["--workers", '[{"server": 0, "count": -1}]'], ["workers[0].count", "-1", ">= 0"]),
        (["--workers", '[{"server": 9}]', "--edge-servers", "1"], ["workers[0].server", "9"]),
    ],
)
def test_what_cannot_be_imported_is_named_and_nothing_is_written(cli, files, more, named):
    done = imported(cli, files, *more)
    assert done.exit_code == 2
    assert not (files / "inst.json").exists()
    for word in named:
        assert word in done.stderr.replace("\n", " ")


def test_a_list_in_a_cell_that_is_not_json_is_named_by_row_and_column(cli, files):
    table = files / "jobs.csv"
    table.write_text(table.read_text().replace("30,30,2,3", '30,30,"[1, a]",3'))
    done = imported(cli, files, "--edge-servers", 2, "--workers", '[{"server": 0}]')
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {table}, line 3, edge = '[1, a]': a list such as")
    assert not (files / "inst.json").exists()


def test_an_empty_cell_leaves_a_field_to_its_default():
    table = pd.read_csv(pd.io.common.StringIO(JOBS)).assign(gang_size=[2, None])
    table["upload_delay_cloud"] = [1, 2]
    made = problem("preemptive").instance_from(
        table, COLUMNS, edge_servers=1, workers=[{"server": 0}]
    )
    assert made.gang_size.tolist() == [2, 1]


def test_values_per_server_stand_in_columns_of_their_own():
    table = pd.read_csv(pd.io.common.StringIO(JOBS)).drop(columns="edge")
    table = table.assign(upload_delay_cloud=1)
    table["upload_delay_edge[0]"], table["upload_delay_edge[1]"] = [5, 6], [7, 8]
    columns = {key: text for key, text in COLUMNS.items() if key != "upload_delay_edge"}
    made = problem("preemptive").instance_from(
        table, columns, edge_servers=2, workers=[{"server": 0}]
    )
    assert made.upload_delay_edge.tolist() == [[5, 7], [6, 8]]


def test_a_problem_whose_file_has_lists_of_numbers_is_imported_too():
    drp = problem("drp")
    jobs = pd.DataFrame(
        {
            "job_deadline_s": [60.0],
            "job_batch_bytes": 1e3,
            "job_model_bytes": 1e6,
            "job_flops_per_batch": 1.0,
        }
    )
    jobs["job_sync_period"] = 1
    servers = pd.DataFrame(
        {"server_inbound_bps": [1e9], "server_compute_flops": [1e12], "server_outbound_bps": [1e9]}
    )
    nodes = pd.DataFrame(
        {"node_job": [0, 0], "node_rate_bps": [1e6] * 2, "node_data_bytes": [1e6] * 2,
         "node_servers": ["[0]", "[0]"]}
    )  # fmt: skip
    made = drp.instance_from(jobs, nodes=nodes, servers=servers)
    assert made.job_deadline_s.tolist() == [60.0]
    assert made.node_job.tolist() == [0, 0]


def test_instances_that_declare_no_fields_are_not_imported():
    with pytest.raises(InputError, match="declare their fields"):
        problem("covering").instance_from(pd.DataFrame())


def test_a_packing_file_is_taken_where_an_instance_is(cli, tmp_path):
    file = tmp_path / "small.vbp"
    file.write_text("1\n10\n2\n6 2\n4 2\n")
    done = cli("solve", "aerialedge.packing", file, "--json")
    assert done.exit_code == 0, done.stderr
    assert '"objective": 2' in done.stdout
    assert cli("run", "aerialedge.first_fit", file).exit_code == 0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("\n", ",\n", "line 2"),
        (",2,3\n", ",2,3,4\n", "values in"),
        (",2,3\n", ",2\n", "(missing)"),
    ],
)
def test_a_row_that_does_not_fit_the_header_is_named_by_its_line(cli, files, old, new, said):
    table = files / "jobs.csv"
    header, rows = table.read_text().split("\n", 1)
    changed = rows.replace(old, new)
    assert changed != rows
    table.write_text(header + "\n" + changed)
    done = imported(cli, files, "--edge-servers", 1, "--workers", '[{"server": 0}]')
    assert done.exit_code == 2
    assert "line " in done.stderr
    assert said in done.stderr.replace("\n", " ")


def test_counts_of_more_entries_than_a_list_holds_are_refused_before_anything_is_built():
    table = pd.read_csv(pd.io.common.StringIO(JOBS)).assign(count=[60_000, 40_001])
    started = time.process_time()
    with pytest.raises(InputError, match=r"jobs\[1\].count = 40001: .*<= 40000.*100000 entries"):
        problem("preemptive").instance_from(table, COLUMNS, edge_servers=1, workers=1)
    assert time.process_time() - started < 1
