"""Alibaba's trace of GPUs: jobs, what is left out, and the real files."""

import bz2
from pathlib import Path

import pytest

from formulations.common.traces.alibaba_gpu import load_jobs, load_nodes, load_pods
from optsched.errors import InputError


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


NODES = "sn,cpu_milli,memory_mib,gpu,model\n"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("a,64000,262144,2,P100,more\n", r"line 2 = \['more'\]: .*6 values in 5 columns"),
        ("a,64000,262144,2,P100,\nb,32000,131072,0,,\n", r"line 2 = \[''\]: .*6 values in 5"),
        ("a,64000,262144,2,P100\n\nb,32000\n", r"line 4, memory_mib = '\(missing\)'"),
        ("a,64000,262144,2\n", r"line 2, model = '\(missing\)'"),
        ("a,64000,262144,2,P100\n\n\nb,much,131072,0,\n", r"line 5, cpu_milli = 'much'"),
        ("a,64000,262144,1e300,P100\n", r"line 2, gpu = '1e300'"),
        ('a,64000,262144,2,"P100\n', "cannot be read as CSV"),
    ],
)
def test_a_row_that_does_not_fit_its_header_is_refused_with_its_line(tmp_path, rows, said):
    (tmp_path / "nodes.csv").write_text(NODES + rows)
    with pytest.raises(InputError, match=said):
        load_nodes(tmp_path / "nodes.csv")


def test_a_column_that_is_there_twice_is_refused(tmp_path):
    (tmp_path / "nodes.csv").write_text("sn,cpu_milli,memory_mib,gpu,gpu\na,64000,262144,2,3\n")
    with pytest.raises(InputError, match="header = 'gpu'"):
        load_nodes(tmp_path / "nodes.csv")


def test_a_comma_at_the_end_of_every_line_and_blank_lines_change_nothing(tmp_path):
    file = tmp_path / "pods.csv.bz2"
    header = "name,num_gpu,creation_time,scheduled_time,deletion_time,\n"
    file.write_bytes(bz2.compress((header + "\nlate,2,300,310,370,\n\nearly,1,0,0,9,\n").encode()))
    jobs = load_jobs(file)
    assert jobs.gpus.tolist() == [1, 2]
    assert jobs.dropped == {"blank line": 2}
