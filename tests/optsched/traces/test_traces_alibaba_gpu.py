"""Alibaba's trace of GPUs: jobs, what is left out, and the real files."""

from pathlib import Path

import pytest

from optsched.errors import InputError
from optsched.traces.alibaba_gpu import load_jobs, load_nodes, load_pods


def test_the_real_cluster_has_its_published_size(shared_data: Path) -> None:
    folder = shared_data / "alibaba_gpu_v2023"
    nodes = load_nodes(folder / "openb_node_list_all_node.csv.gz")
    assert (len(nodes), int(nodes.gpus.sum())) == (1523, 6212)
    assert nodes.cpu_cores.sum() == pytest.approx(125_514)
    pods = load_pods(folder / "openb_pod_list_default.csv.gz")
    assert pods.gpus.sum() == pytest.approx(6086.8, abs=0.1)
    assert pods.cpu_cores.sum() == pytest.approx(85_436, abs=1)


def test_small_lists_are_read_as_the_real_ones_are(tmp_path: Path) -> None:
    file = tmp_path / "nodes.csv"
    file.write_text("sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,2,P100\nb,32000,131072,0,\n")
    nodes = load_nodes(file)
    assert (len(nodes), nodes.gpus.tolist()) == (2, [2, 0])
    assert nodes.cpu_cores.tolist() == [64, 32]
    file = tmp_path / "pods.csv"
    header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
    file.write_text(header + "shares,4000,1024,1,250\nwhole,8000,2048,2,1000\nnone,500,64,0,0\n")
    pods = load_pods(file)
    assert pods.gpus.tolist() == [0.25, 2, 0]
    assert pods.cpu_cores.tolist() == [4, 8, 0.5]
    file.write_text(header + "shares,4000,1024,1,1001\n")
    with pytest.raises(InputError, match=r"line 2, gpu_milli.*1001.*1\.\.1000"):
        load_pods(file)


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
