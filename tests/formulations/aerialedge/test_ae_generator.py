"""Workloads: what Table III says of them, and what public benchmark files say."""

from pathlib import Path

import numpy as np
import pytest
from aerialedge_cases import enumerated_optimum
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.aerialedge import PROBLEM
from formulations.aerialedge.exact.method import pack
from formulations.aerialedge.generator import generate, hard, make_table3
from formulations.aerialedge.tables import DRONES, LEAST_NODES
from optsched.errors import InputError
from optsched.solvers.solution import Status


@given(drone=st.integers(1, 6), seed=st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_table_3_is_met_to_a_millionth(drone: int, seed: int) -> None:
    instance = make_table3(drone, np.random.default_rng(seed))
    of = DRONES[drone - 1]
    assert (instance.jobs, instance.tasks) == (of.jobs, of.tasks)
    assert instance.demand.sum(axis=0) == pytest.approx((of.total_cpu, of.total_mem), abs=1e-6)
    assert instance.exec_time.sum() == pytest.approx(of.total_time, abs=1e-6)
    assert instance.depth.max() <= of.depth
    largest = np.bincount(instance.task_job).max()
    assert instance.depth.max() >= min(of.depth, largest)


@pytest.mark.parametrize("drone", range(1, 7))
def test_the_least_nodes_of_table_3_hold_for_every_seed(drone: int) -> None:
    for seed in range(5):
        answer = pack(make_table3(drone, np.random.default_rng(seed)))
        assert answer.solution.status is Status.OPTIMAL
        assert answer.solution.objective == LEAST_NODES[drone - 1]


def test_drone_1_runs_a_chain() -> None:
    instance = make_table3(1, np.random.default_rng(0))
    assert instance.depth.tolist() == [17]
    assert len(instance.edge_parent) == 16


def test_hard_instances_stay_within_their_ranges() -> None:
    instance = generate(np.random.default_rng(1), kind="hard", tasks=50, node_count=40)
    assert instance.nodes == 40
    assert set(np.unique(instance.demand[:, 0])) <= {0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.2}
    assert instance.demand[:, 1].min() >= 0.2
    assert instance.demand[:, 1].max() <= 2.0


def test_the_same_seed_gives_the_same_instance() -> None:
    one, two = (hard(20, np.random.default_rng(7)) for _ in range(2))
    assert one.demand.tolist() == two.demand.tolist()
    assert one.edge_parent.tolist() == two.edge_parent.tolist()


@pytest.mark.parametrize(
    ("options", "field"),
    [({"drone": 7}, "drone"), ({"kind": "easy"}, "kind"), ({"tasks": 0}, "tasks"), ({"x": 1}, "x")],
)
def test_options_out_of_range_are_refused(options: dict, field: str) -> None:
    with pytest.raises(InputError, match=field):
        generate(np.random.default_rng(0), **options)


VBP = "2\n10 10\n3\n5 5 2\n6 1 1\n1 6 1\n"
MVP = "2\n2\n10 10 3 -1\n4 8 1 2\n2\n1 3  4 4\n2 2  9 9  4 6\n"


def test_a_vbp_file_is_read_with_its_multiplicities(tmp_path: Path) -> None:
    file = tmp_path / "small.vbp"
    file.write_text(VBP)
    options = PROBLEM.generator_call({"from": str(file)})
    instance = PROBLEM.generate(np.random.default_rng(0), **options)
    assert instance.demand.tolist() == [[5, 5], [5, 5], [6, 1], [1, 6]]
    assert instance.nodes == 4
    assert pack(instance).solution.objective == 2


def test_a_wrapped_mvp_file_is_read_with_costs_quantities_and_incarnations(tmp_path: Path) -> None:
    file = tmp_path / "small.mvp"
    file.write_text("#INSTANCE_BEGIN#\n$INSTANCE{\n" + MVP + "};\n$VTYPE{I};\n#INSTANCE_END#\n")
    instance = generate(np.random.default_rng(0), **{"from": file})
    assert (instance.tasks, instance.objective) == (5, "cost")
    assert np.bincount(instance.alternative_task).tolist() == [0, 0, 0, 1, 1]
    assert sorted(instance.node_cost.tolist()) == [1, 1, 3, 3, 3, 3, 3]
    answer = pack(instance)
    assert answer.solution.status is Status.OPTIMAL
    assert answer.solution.objective == enumerated_optimum(instance)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2\n10",
        "2\n10 10\n1\n5 5",
        "2\n10 10\n1\n5 x 1",
        "2\n10 10\n1\n5 5 1\n7",
        "1\n-1\n1\n1 1",
    ],
)
def test_a_broken_file_is_refused_with_the_place(text: str, tmp_path: Path) -> None:
    file = tmp_path / "broken.vbp"
    file.write_text(text)
    with pytest.raises(InputError, match=r"broken\.vbp"):
        generate(np.random.default_rng(0), **{"from": file})
    with pytest.raises(InputError, match="from"):
        generate(np.random.default_rng(0), **{"from": file, "tasks": 3})
