"""Lists inside lists, and entries that name others, come from flat tables with keys."""

import pandas as pd
import pytest

from optsched.errors import InputError
from optsched.instances.importing import read_table
from optsched.problem import problem

TASKS = """app,step,cpu,mem,exec_time_s,after
video,cut,2,4,30,
video,label,4,8,60,cut
radar,scan,1,2,20,
video,merge,1,1,10,cut label
"""
NODES = [{"capacity": [8, 16], "count": 2}]
COLUMNS = {
    "job": "app", "task": "step", "demand[0]": "cpu", "demand[1]": "mem", "deps": "after"
}  # fmt: skip


@pytest.fixture
def tasks(tmp_path):
    def read(text=TASKS):
        (tmp_path / "tasks.csv").write_text(text)
        return read_table(tmp_path / "tasks.csv")

    return read


def made(table, **rest):
    rest = {"nodes": NODES} | rest
    return problem("aerialedge").instance_from(table, COLUMNS, entries="tasks", **rest)


def test_tasks_stand_in_the_job_that_their_key_names(tasks):
    instance = made(tasks())
    assert instance.task_job.tolist() == [0, 0, 0, 1]
    assert instance.demand.tolist() == [[2, 4], [4, 8], [1, 1], [1, 2]]
    edges = zip(instance.edge_parent.tolist(), instance.edge_child.tolist(), strict=True)
    assert sorted(edges) == [(0, 1), (0, 2), (1, 2)]
    assert instance.nodes == 2


def test_the_outer_table_gives_the_order_and_what_else_is_known_of_a_job(tasks):
    jobs = pd.DataFrame({"job": ["radar", "video"], "data_size": [5, 7]})
    instance = made(tasks(), jobs=jobs)
    assert instance.data_size.tolist() == [5, 7]
    assert instance.exec_time.tolist() == [20, 30, 60, 10]


def test_without_keys_entries_are_named_by_position(tasks):
    by_place = TASKS.replace("video", "1").replace("radar", "0")
    instance = made(tasks(by_place), jobs=2)
    assert instance.task_job.tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("cut label", "cut lable", r"line 5, deps = 'lable': the key of .*did you mean label"),
        ("cut label", "scan", r"line 5, deps = 'scan'"),
        ("radar,scan", "video,cut", r"line 3, deps = 'cut': .* not of 2"),
        (",60,", ",-60,", r"line 3, exec_time_s = -60"),
    ],
)
def test_a_refusal_names_the_line_of_the_inner_table(tasks, old, new, said):
    with pytest.raises(InputError, match=said):
        made(tasks(TASKS.replace(old, new)))


def test_a_task_of_no_known_job_is_refused(tasks):
    with pytest.raises(InputError, match=r"line 4, job = 'radar': the key of one of the jobs"):
        made(tasks(), jobs=pd.DataFrame({"job": ["video", "sonar"]}))
    with pytest.raises(InputError, match=r"line 4, job = .?\(missing\)"):
        made(tasks(TASKS.replace("radar", "")))


def test_data_nodes_name_their_servers_and_their_job_by_key():
    servers = pd.DataFrame({"server": ["east", "west"], "server_inbound_bps": 1e9,
                            "server_compute_flops": 1e12, "server_outbound_bps": 1e9})  # fmt: skip
    nodes = pd.DataFrame({"node_job": ["b", "a"], "node_rate_bps": 1e6, "node_data_bytes": 1e6,
                          "node_servers": ["west", "east west"]})  # fmt: skip
    jobs = pd.DataFrame({"job": ["a", "b"], "job_deadline_s": 60.0, "job_batch_bytes": 1e3,
                         "job_model_bytes": 1e6, "job_flops_per_batch": 1.0,
                         "job_sync_period": 1})  # fmt: skip
    instance = problem("drp").instance_from(jobs, nodes=nodes, servers=servers)
    assert instance.node_job.tolist() == [1, 0]
    assert list(map(list, instance.node_servers())) == [[1], [0, 1]]


def test_the_latency_of_an_okita_job_stands_in_columns_of_its_own():
    sites = pd.DataFrame({"capacity": "[8]", "unit_bandwidth_cost": ["[0, 1]", "[1, 0]"]})
    jobs = pd.DataFrame({
        "release_slot": [1, 2], "num_chunks[0]": [2, 0], "num_chunks[1]": [0, 3],
        "worker_rate": 1, "chunk_size_mb": 1.0, "exchange_size_mb": 0.5, "worker_demand[0]": 1,
        "ps_demand[0]": 1, "latency.kind": ["linear", "piecewise"], "latency.weight": [2, 3],
        "latency.late": [0, 9], "latency.breakpoint": [0, 4],
    })  # fmt: skip
    instance = problem("okita").instance_from(jobs, sites=sites, horizon=5)
    assert instance.latency.late.tolist() == [0, 9]
    assert instance.num_chunks.tolist() == [[2, 0], [0, 3]]
    assert instance.unit_bandwidth_cost.tolist() == [[0, 1], [1, 0]]


def test_what_is_unlimited_is_written_inf():
    jobs = pd.DataFrame({"release_time": [0, 1], "num_chunks": 1, "chunk_time_slow": 1,
                         "chunk_time_fast": 1, "upload_delay_edge": 0,
                         "upload_delay_cloud": [float("inf"), 2]})  # fmt: skip
    instance = problem("preemptive").instance_from(jobs, edge_servers=1, workers=[{"server": 0}])
    assert instance.upload_delay_cloud.tolist() == [float("inf"), 2]
