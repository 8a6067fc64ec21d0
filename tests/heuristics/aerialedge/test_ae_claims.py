"""AerialEdge's claims: what is measured, how it is judged, on few workloads."""

import math

import pandas as pd
import pytest

from formulations.aerialedge.tables import DRONES, LEAST_NODES
from heuristics.aerialedge.evaluation import claims as room
from heuristics.aerialedge.evaluation.claims import CLAIMS
from heuristics.aerialedge.evaluation.interpretations import RANDOM
from heuristics.aerialedge.evaluation.measures import (
    GPU_SWEEP,
    HARD_SWEEP,
    METHODS,
    PACKERS,
    TABLE3_SWEEP,
    measure_gpu,
    measure_hard,
    measure_table3,
    nodes_by_drone,
    ratio_by_size,
)
from heuristics.common.claims import Result, judge, measure_claims


@pytest.fixture(scope="module")
def table_3():
    """Three workloads of every drone: fewer decide nothing."""
    tasks = [task for task in TABLE3_SWEEP.tasks("quick") if task["seed"] < 3]
    return TABLE3_SWEEP.frame([(task, measure_table3(**task)) for task in tasks])


@pytest.fixture(scope="module")
def hard():
    """Two workloads of mixed sizes."""
    tasks = [{"tasks": 16, "seed": seed, "seconds": 10.0} for seed in (0, 1)]
    return HARD_SWEEP.frame([(task, measure_hard(**task)) for task in tasks])


@pytest.fixture(scope="module")
def found(table_3, hard):
    """Findings of all claims that need no trace, by name."""
    results = {claim.experiment: Result(reason="no trace") for claim in CLAIMS}
    results |= {
        TABLE3_SWEEP: Result(table_3),
        HARD_SWEEP: Result(hard),
        room.tasks_per_job: Result(room.tasks_per_job("quick")),
    }
    return {item.claim.name: item.finding for item in judge({"aerialedge": CLAIMS}, results)}


# what is measured


def test_every_method_is_measured_on_every_drone(table_3):
    assert len(table_3) == 3 * len(DRONES) * len(METHODS)
    assert (table_3["took"] > 0).all()
    placed = table_3[table_3["method"] != "random_at_once"]
    assert placed["deployed"].tolist() == pytest.approx([100.0] * len(placed))
    assert nodes_by_drone(table_3)["aerialedge"].tolist() == list(LEAST_NODES)


def test_the_metric_for_random_over_that_of_one_batch_is_the_number_of_tasks(table_3):
    wide = table_3.pivot(index=["drone", "seed"], columns="method", values="aet_pooled")
    for name in ("random_queued", "random_at_once"):
        ratio = wide[name] / wide["aerialedge"]
        assert ratio.tolist() == pytest.approx([drone.tasks for drone in DRONES for _ in range(3)])


def test_no_packer_opens_fewer_nodes_than_the_proven_optimum(hard):
    assert len(hard) == 2 * len(PACKERS)
    assert hard["proven"].all()
    assert (hard["ratio"] >= 1).all()
    assert ratio_by_size(hard).shape == (1, len(PACKERS))


def test_the_gpu_trace_is_measured_where_its_folder_is_named(monkeypatch, shared_data):
    monkeypatch.setenv("OPTSCHED_DATA", str(shared_data))
    (row,) = measure_gpu("default", "best_fit", 0)
    assert row["allocated"] == pytest.approx(92.86, abs=1.5)
    assert len(GPU_SWEEP.tasks("full")) == 4 * 2 * 10


# how it is judged


def test_every_claim_is_sourced_and_no_name_is_used_twice():
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)
    for claim in CLAIMS:
        assert claim.source
        assert claim.text
        assert claim.how


def test_every_claim_that_needs_no_trace_can_be_judged(found):
    assert not [name for name, finding in found.items() if finding.failed]
    unmeasured = {name for name, finding in found.items() if not finding.instances}
    assert unmeasured == {claim.name for claim in CLAIMS if claim.experiment is GPU_SWEEP}
    measured = [finding for name, finding in found.items() if name not in unmeasured]
    assert all(math.isfinite(finding.value) and finding.instances for finding in measured)


def test_the_headline_holds_against_random_on_one_job_and_not_as_a_makespan(found):
    assert found["headline_usage"].value == pytest.approx(25.0)
    assert found["headline_utilisation"].value == pytest.approx(23.6, abs=0.1)
    assert found["headline_execution_random"].verdict == "holds"
    assert found["headline_execution_random"].value == pytest.approx(77.0)
    assert found["makespan_drone_1"].value == pytest.approx(1.0)
    assert found["headline_makespan"].verdict == "not in the paper"
    assert found["headline_makespan"].value < 3


def test_times_of_another_cluster_are_not_comparable_and_some_ratios_not_printed(found):
    verdicts = [finding.verdict for name, finding in found.items() if "scheduling" in name]
    assert verdicts == ["not comparable"] * 14
    unprinted = [name for name, f in found.items() if f.verdict == "not in the paper"]
    assert len([name for name in unprinted if "makespan" in name]) == 7
    assert {f"execution_metric_drone_{drone}" for drone in (1, 3, 5)} <= set(unprinted)


def test_tetris_opens_as_few_nodes_where_its_batches_share_them(table_3):
    assert room.as_few(table_3, "tetris", nodes="shared").verdict == "holds"


def test_execution_may_be_the_time_until_the_last_task_ends(table_3):
    read = {
        meaning: room.factor(table_3, 24.0, 2, "random", "aet_pooled", execution=meaning)
        for meaning in ("pooled", "per job", "last task")
    }
    assert read["pooled"].verdict == "holds"
    assert read["per job"].verdict == "direction holds, size does not"
    assert (read["last task"].verdict, read["last task"].value) == ("fails", pytest.approx(1.0))


@pytest.mark.parametrize("drone", range(1, len(DRONES) + 1))
def test_the_fewest_nodes_are_those_of_the_published_percentages(found, drone):
    finding = found[f"nodes_drone_{drone}"]
    assert (finding.verdict, finding.value) == ("holds", LEAST_NODES[drone - 1])
    assert "next_fit" in finding.note


def test_claims_on_the_trace_say_what_they_need(monkeypatch):
    monkeypatch.delenv("OPTSCHED_DATA", raising=False)
    of = [claim for claim in CLAIMS if claim.experiment is GPU_SWEEP]
    assert len(of) == 8
    for item in measure_claims({"aerialedge": of}, "quick"):
        assert item.finding.verdict == "not measured"
        assert "OPTSCHED_DATA" in item.finding.note
        assert not item.finding.failed


def workloads(column, **values):
    """Made-up measurements of one column on Drone 1, by method."""
    return pd.DataFrame(
        {"drone": 1, "seed": seed, "method": method, column: value}
        for method, of in values.items()
        for seed, value in enumerate(of)
    )


def test_a_difference_is_that_to_the_closest_rival_or_the_farthest():
    frame = workloads("usage", aerialedge=[75, 75], spear=[92, 90], random_queued=[100, 100])
    least = room.difference(frame, 16.0, 1, "usage", ("spear", "random"), "least")
    most = room.difference(frame, 25.0, 1, "usage", ("spear", "random"), "most")
    assert (least.value, most.value) == (16.0, 25.0)
    assert least.note.startswith("against spear")
    assert most.note.startswith("against random")


def test_printed_percentages_are_met_up_to_half_a_point():
    frame = workloads("cpu", aerialedge=[90.0] * 3, random_queued=[80.2] * 3)
    verdicts = [room.difference(frame, p, 1, "cpu", ("random",), "least").verdict for p in (10, 11)]
    assert verdicts == ["holds", "direction holds, size does not"]


def test_a_factor_is_how_many_times_as_long_a_rival_takes():
    frame = workloads("makespan", aerialedge=[2.0, 4.0, 2.0], tetris=[4.8, 10.8, 4.8])
    found = room.factor(frame, 2.5, 1, "tetris", "makespan")
    assert (found.value, found.verdict) == (2.5, "holds")
    largest = room.largest_factor(frame, 25.0, ("tetris",), "makespan")
    assert largest.verdict == "direction holds, size does not"
    assert largest.note == "Drone 1, tetris"


def test_an_order_names_the_drones_where_it_breaks():
    frame = workloads("nodes", aerialedge=[9] * 10, tetris=[9] * 9 + [10])
    found = room.as_few(frame, "tetris")
    assert found.verdict == "fails"
    assert found.note == "more on Drone 1; 1 of 10 instances contradict it"


def test_random_is_two_algorithms_and_the_headline_holds_for_the_one_that_queues(table_3):
    found = {
        how: room.difference(table_3, 23.0, 1, "cpu", ("random",), "most", random=how)
        for how in RANDOM.values
    }
    assert [one.verdict for one in found.values()] == ["holds", "direction holds, size does not"]
    assert found["at once"].value == pytest.approx(44.4, abs=0.1)


def test_no_claim_stands_twice_and_those_of_another_paper_say_whose_they_are():
    assert {claim.paper for claim in CLAIMS if claim.experiment is GPU_SWEEP} == {"Weng et al."}
    stated = [(claim.text, claim.source) for claim in CLAIMS]
    assert len(set(stated)) == len(stated)
    assert not [claim.name for claim in CLAIMS if claim.name == "execution_metric_drone_2"]


def test_a_depth_that_no_job_can_have_fails(found):
    finding = found["trace_depth"]
    assert finding.value == pytest.approx(3.40, abs=0.01)
    assert finding.verdict == "fails"
