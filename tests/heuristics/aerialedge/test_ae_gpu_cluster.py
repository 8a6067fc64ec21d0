"""Pods on machines with GPUs: the rules by hand, and the published allocation ratios."""

from pathlib import Path

import numpy as np
import pytest

from formulations.common.traces.alibaba_gpu import GpuNodes, GpuPods, load_nodes, load_pods
from heuristics.aerialedge.evaluation.gpu_cluster import replay, topped_up
from optsched.errors import InputError

SEEDS = 6


def nodes(*rows: tuple[int, int, int]) -> GpuNodes:
    table = np.array(rows, dtype=np.int64)
    return GpuNodes(tuple("n" * len(rows)), *table.T)


def pods(*rows: tuple[int, int, int, int]) -> GpuPods:
    table = np.array(rows, dtype=np.int64)
    return GpuPods(tuple("p" * len(rows)), *table.T)


def test_a_share_of_a_gpu_must_be_free_on_one_gpu() -> None:
    cluster = nodes((8000, 100, 2))
    arrivals = pods((1, 1, 1, 600), (1, 1, 1, 600), (1, 1, 1, 600), (1, 1, 1, 400), (1, 1, 2, 1000))
    outcome = replay(arrivals, cluster, "best_fit", np.random.default_rng(0))
    assert outcome.allocated.tolist() == pytest.approx([0.3, 0.6, 0.6, 0.8, 0.8])
    assert outcome.arrived[-1] == pytest.approx(2.1)
    assert outcome.at(0.85) == pytest.approx(0.6)


def test_best_fit_fills_the_fullest_node_and_gpu() -> None:
    cluster = nodes((8000, 100, 2), (8000, 100, 1))
    arrivals = pods((1000, 1, 1, 500), (1000, 1, 2, 1000), (1000, 1, 1, 500))
    outcome = replay(arrivals, cluster, "best_fit", np.random.default_rng(0))
    assert outcome.allocated[-1] == pytest.approx(1.0)


def test_cpu_and_memory_bind_too() -> None:
    cluster = nodes((1000, 10, 1))
    arrivals = pods((600, 1, 1, 100), (600, 1, 1, 100), (100, 20, 1, 100), (0, 9, 1, 100))
    outcome = replay(arrivals, cluster, "random", np.random.default_rng(0))
    assert outcome.allocated.tolist() == pytest.approx([0.1, 0.1, 0.1, 0.2])


def test_topping_up_reaches_the_demand_and_no_more_than_a_pod_beyond() -> None:
    cluster, some = nodes((1, 1, 8)), pods((1, 1, 1, 1000), (1, 1, 2, 1000), (1, 1, 0, 0))
    full = topped_up(some, cluster, np.random.default_rng(0), demand=1.5)
    assert 12 <= full.gpus.sum() <= 13
    with pytest.raises(InputError, match="pods"):
        topped_up(pods((1, 1, 0, 0)), cluster, np.random.default_rng(0))
    with pytest.raises(InputError, match="demand"):
        topped_up(some, cluster, np.random.default_rng(0), demand=0)
    with pytest.raises(InputError, match="policy"):
        replay(some, cluster, "worst_fit", np.random.default_rng(0))
    with pytest.raises(InputError, match="nodes"):
        replay(some, nodes((1, 1, 0)), "random", np.random.default_rng(0))


@pytest.mark.parametrize(("policy", "published"), [("random", 86.303), ("best_fit", 92.862)])
def test_published_allocation_ratios_are_met_within_0_3_points(
    policy: str, published: float, shared_data: Path
) -> None:
    folder = shared_data / "alibaba_gpu_v2023"
    cluster = load_nodes(folder / "openb_node_list_gpu_node.csv.gz")
    listed = load_pods(folder / "openb_pod_list_default.csv.gz")
    ratios = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        ratios.append(100 * replay(topped_up(listed, cluster, rng), cluster, policy, rng).at(1.0))
    assert np.mean(ratios) == pytest.approx(published, abs=0.3)
