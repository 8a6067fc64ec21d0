"""Alibaba's traces: names, times, what is left out, and the real files."""

from pathlib import Path

import numpy as np
import pytest

from optsched.errors import InputError
from optsched.traces.alibaba import load_dags, parse_name
from optsched.traces.alibaba_gpu import load_jobs, load_nodes, load_pods

HEADER = "task_name,instance_num,job_name,task_type,status,start_time,end_time,plan_cpu,plan_mem\n"


def write(folder: Path, text: str, name: str = "batch_task.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("M1", (1, ())),
        ("R2_1", (2, (1,))),
        ("J3_1_2", (3, (1, 2))),
        ("R10_9_Stg2", (10, (9,))),
        ("R2_1_", (2, (1,))),
        ("M5__3", (5, (3,))),
        ("MergeTask", None),
        ("task_LTg0MTU1NDU1", None),
    ],
)
def test_names_spell_ids_and_predecessors(name: str, expected: object) -> None:
    assert parse_name(name) == expected


def test_own_time_leaves_out_the_wait_for_parents(tmp_path: Path) -> None:
    rows = "M1,2,j,1,Terminated,0,10,100,0.5\nR2_1,3,j,1,Terminated,0,25,50,0.25\n"
    path = write(tmp_path, HEADER + rows)
    own, raw = load_dags(path), load_dags(path, exec_time="raw")
    assert own.exec_time.tolist() == [10, 15]
    assert raw.exec_time.tolist() == [10, 25]
    assert own.cpu_cores.tolist() == [1.0, 0.5]
    assert own.mem_gib.tolist() == [0.5, 0.25]
    assert own.data_size.tolist() == [5]
    assert own.job_type == ("1",)
    assert (own.edge_parent.tolist(), own.edge_child.tolist()) == ([0], [1])


def test_the_published_file_has_no_header(tmp_path: Path) -> None:
    path = write(tmp_path, "M1,2,j,1,Terminated,0,10,100,0.5\n")
    assert load_dags(path).job_name == ("j",)
    with pytest.raises(InputError, match="first line"):
        load_dags(write(tmp_path, "M1,2,j\n", "short.csv"))


def test_measured_instances_take_the_place_of_own_times(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        HEADER + "M1,1,j,1,Terminated,0,10,100,0.5\nR2_1,1,j,1,Terminated,0,25,100,0.5\n",
    )
    instances = write(tmp_path, "job_name,task_name,duration\nj,R2_1,3\nj,R2_1,7\n", "i.csv")
    assert load_dags(path, instances=instances).exec_time.tolist() == [10, 7]


def test_children_may_carry_smaller_ids_than_their_parents(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        HEADER + "M5_8,1,j,1,Terminated,0,9,100,1\nM8,1,j,1,Terminated,0,4,100,1\n",
    )
    dags = load_dags(path)
    assert (dags.edge_parent.tolist(), dags.edge_child.tolist()) == ([1], [0])
    assert dags.exec_time.tolist() == [5, 4]


def test_rows_that_cannot_be_used_are_counted_by_reason(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        HEADER
        + "M1,1,a,1,Failed,0,9,100,1\n"
        + "M2,1,a,1,Terminated,5,5,100,1\n"
        + "M3,1,a,1,Terminated,5,9,,1\n"
        + "M4_9,1,a,1,Terminated,5,9,100,1\n"
        + "M1_2,1,b,1,Terminated,0,9,100,1\n"
        + "M2_1,1,b,1,Terminated,0,9,100,1\n"
        + "M3_2,1,b,1,Terminated,0,9,100,1\n",
    )
    dags = load_dags(path)
    assert dags.job_name == ("a",)
    assert dags.task_name == ("M4_9",)
    assert len(dags.edge_parent) == 0
    assert dags.dropped == {
        "not terminated": 1,
        "no running time": 1,
        "no demand": 1,
        "cyclic job": 1,
    }


def test_selected_jobs_are_renumbered(tmp_path: Path) -> None:
    rows = "".join(
        f"M1,1,{j},1,Terminated,0,10,100,1\nR2_1,1,{j},1,Terminated,0,20,100,1\n" for j in "abc"
    )
    some = load_dags(write(tmp_path, HEADER + rows)).select([2, 0])
    assert some.job_name == ("c", "a")
    assert some.task_job.tolist() == [0, 0, 1, 1]
    pairs = zip(some.edge_parent.tolist(), some.edge_child.tolist(), strict=True)
    assert set(pairs) == {(0, 1), (2, 3)}


def test_bad_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="file"):
        load_dags(tmp_path / "missing.csv")
    with pytest.raises(InputError, match="plan_cpu"):
        load_dags(write(tmp_path, "task_name,job_name\nM1,j\n"))
    with pytest.raises(InputError, match="exec_time"):
        load_dags(write(tmp_path, HEADER), exec_time="wall")
    with pytest.raises(InputError, match="gpu"):
        load_nodes(write(tmp_path, "sn,cpu_milli,memory_mib\nx,1,1\n"))
    with pytest.raises(InputError, match="line 3, cpu_milli"):
        load_nodes(write(tmp_path, "sn,cpu_milli,memory_mib,gpu\nx,1,1,1\ny,-2,1,1\n"))
    with pytest.raises(InputError, match="gpu_milli"):
        load_pods(write(tmp_path, "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nx,1,1,1,0\n"))


def test_the_real_jobs_load_without_cycles(shared_data: Path) -> None:
    dags = load_dags(shared_data / "alibaba_v2018" / "batch_task_dags_a.csv.gz")
    assert len(dags) > 900
    assert dags.dropped["cyclic job"] > 0
    assert (dags.exec_time >= 1).all()
    assert (dags.task_job[dags.edge_parent] == dags.task_job[dags.edge_child]).all()
    assert dags.cpu_cores.mean() == pytest.approx(0.78, abs=0.03)
    assert np.mean(np.diff(dags.task_job) >= 0) == 1


def test_the_real_hour_loads_with_measured_instances(shared_data: Path) -> None:
    folder = shared_data / "alibaba_v2018"
    dags = load_dags(
        folder / "spar_hour_tasks_0000_2399.csv.gz",
        instances=folder / "spar_hour_instances_agg_0000_2399.csv.gz",
    )
    raw = load_dags(folder / "spar_hour_tasks_0000_2399.csv.gz", exec_time="raw")
    assert len(dags) == len(raw) > 9000
    assert dags.exec_time.mean() < raw.exec_time.mean()


def test_the_real_cluster_has_its_published_size(shared_data: Path) -> None:
    folder = shared_data / "alibaba_gpu_v2023"
    nodes = load_nodes(folder / "openb_node_list_all_node.csv.gz")
    assert (len(nodes), int(nodes.gpus.sum())) == (1523, 6212)
    assert nodes.cpu_cores.sum() == pytest.approx(125_514)
    pods = load_pods(folder / "openb_pod_list_default.csv.gz")
    assert pods.gpus.sum() == pytest.approx(6086.8, abs=0.1)
    assert pods.cpu_cores.sum() == pytest.approx(85_436, abs=1)


def test_pods_that_held_gpus_are_jobs_in_order_of_creation(tmp_path: Path) -> None:
    file = tmp_path / "pods.csv"
    file.write_text(
        "name,num_gpu,creation_time,scheduled_time,deletion_time\n"
        "late,2,300,310,370\n"
        "early,1,100,100,160\n"
        "pending,1,50,,900\n"
        "processors,0,60,60,90\n"
        "gone,1,70,70,70\n"
    )
    jobs = load_jobs(file)
    assert jobs.submit_time.tolist() == [0, 200]
    assert jobs.duration.tolist() == [60, 60]
    assert jobs.gpus.tolist() == [1, 2]
    assert jobs.dropped == {"never scheduled": 1, "no GPU": 1, "no running time": 1}


def test_a_list_of_pods_without_times_holds_no_jobs(tmp_path: Path) -> None:
    file = tmp_path / "pods.csv"
    file.write_text("name,num_gpu\na,1\n")
    with pytest.raises(InputError, match="creation_time"):
        load_jobs(file)
