"""The DRP paper's test-bed, simulated: server sharing by hand, and what must hold of any run."""

import numpy as np
import pandas as pd
import pytest

from heuristics.drp.evaluation import test_bed
from heuristics.drp.evaluation.test_bed import (
    EPOCHS,
    LATENCY,
    SERVERS,
    Requests,
    by_r_dr,
    completion_times,
    held,
    measure_test_bed,
    seconds,
    shared,
)
from heuristics.drp.evaluation.test_bed_claims import balanced, busy, earlier, early, late, slowest


def draw(jobs=6, load=0.9, seed=0):
    """Jobs of one seed, and the instance of all of them."""
    requests = Requests.draw(np.random.default_rng(seed), jobs, load)
    return requests, requests.instance(np.arange(jobs))


def test_tasks_present_share_a_server_equally():
    # until 1 the first alone, until 4 both at half speed, then the second alone
    assert shared(np.array([0.0, 1.0]), np.array([2.5, 3.0])).tolist() == [4.0, 5.5]
    # nothing to do between 1 and 7
    assert shared(np.array([0.0, 7.0]), np.array([1.0, 2.0])).tolist() == [1.0, 9.0]


def test_a_server_that_never_idles_ends_with_all_its_work():
    work = np.random.default_rng(3).uniform(1, 5, 20)
    ends = shared(np.zeros(20), work)
    assert ends.max() == pytest.approx(work.sum())
    assert (ends[np.argsort(work)] == np.sort(ends)).all()


def test_times_are_those_of_formulas_2_and_3():
    requests, instance = draw()
    found = seconds(instance, np.zeros(instance.num_data_nodes, dtype=int))
    for job, kind in enumerate(requests.kind):
        of = test_bed.PROTOTYPES[kind]
        steps = of.images * SERVERS / test_bed.PARTS * EPOCHS / test_bed.IMAGES_PER_BATCH
        flops = steps * test_bed.IMAGES_PER_BATCH * 6 * of.multiply_adds
        bits = steps / requests.sync_period[job] * 32 * of.parameters
        assert found.compute[job, 0] == pytest.approx(flops / test_bed.COMPUTE)
        assert found.communication[job, 0] == pytest.approx(bits / test_bed.BANDWIDTH)
    assert found.total[:, 1:].max() == 0


def test_data_are_sent_before_they_are_trained_on():
    _, instance = draw(jobs=1)
    for server in range(SERVERS):
        assoc = np.full(instance.num_data_nodes, server)
        sent = LATENCY[server] * instance.node_data_bytes[0] / 1e6
        (end,) = completion_times(instance, assoc)
        assert end == pytest.approx(sent + seconds(instance, assoc).total[0, server])


def test_load_is_the_share_of_the_deadline_that_even_servers_are_busy():
    requests, instance = draw(load=0.8)
    even = np.tile(np.arange(SERVERS), len(requests.kind))
    work = seconds(instance, even).total.sum(axis=0)
    assert work == pytest.approx(np.full(SERVERS, 0.8 * requests.deadline_s))
    assert instance.comm_share == requests.comm_share


def test_more_jobs_begin_with_fewer():
    few, many = draw(jobs=4)[0], draw(jobs=9)[0]
    assert (many.kind[:4] == few.kind).all()
    assert (many.sync_period[:4] == few.sync_period).all()


def test_jobs_that_wait_have_no_completion_time():
    _, instance = draw(jobs=2)
    assoc = np.where(instance.node_job == 0, 0, -1)
    assert np.isnan(completion_times(instance, assoc)).tolist() == [False, True]


@pytest.mark.parametrize("load", [0.9, 0.5])
def test_under_r_dr_every_job_ends_and_all_work_is_done(load):
    requests, instance = draw(jobs=14, load=load)
    ends, work, memory = by_r_dr(requests, np.random.default_rng(0))
    all_work = seconds(instance, np.zeros(instance.num_data_nodes, dtype=int)).total.sum()
    assert np.isfinite(ends).all()
    assert work.sum() == pytest.approx(all_work)
    assert ends.max() >= work.max()
    data = instance.node_data_bytes.sum() / 1e6
    assert held(instance, np.zeros(instance.num_data_nodes, dtype=int)).tolist() == pytest.approx(
        [data, 0, 0, 0]
    )
    assert 0 < memory.sum() <= data + 1e-6  # jobs that wait have sent nothing


def test_a_measurement_has_every_method_at_every_size(monkeypatch):
    monkeypatch.setattr(test_bed, "SIZES", (4, 5))
    frame = pd.DataFrame(measure_test_bed(seed=0, load=0.9))
    assert frame.groupby("jobs")["method"].nunique().tolist() == [4, 4]
    assert frame[["done_halfway", "done_at_end", "least_busy"]].stack().between(0, 100).all()
    assert (frame["mean"] <= frame["last"]).all()
    assert (frame.loc[frame["method"] == "r_dr", "took"] > 0).all()


def made(**columns):
    """Made-up measurements at 22 jobs, the same on five seeds but for a per cent."""
    return pd.DataFrame(
        {"seed": seed, "jobs": 22, "method": method}
        | {name: value * (1 + seed / 100) for name, value in values.items()}
        for seed in range(5)
        for method, values in columns.items()
    )


def test_figures_29_to_31_are_judged_by_their_columns():
    frame = made(
        r_dr={"last": 74, "mean": 60, "done_halfway": 20, "done_at_end": 90, "least_busy": 96},
        random={"last": 100, "mean": 60, "done_halfway": 30, "done_at_end": 70, "least_busy": 9},
        **{"nearest fading": {"last": 92, "mean": 99, "done_halfway": 40, "done_at_end": 80}},
    )
    assert earlier(frame, -26.0, "random", completion="last job").verdict == "holds"
    assert earlier(frame, -26.0, "random", completion="mean job").verdict == "fails"
    near = earlier(frame, -20.0, "nearest", completion="last job", radio="fading")
    assert near.value == pytest.approx(100 * (74 / 92 - 1))
    assert early(frame, radio="fading").verdict == "holds"
    assert late(frame, radio="fading").verdict == "holds"
    assert busy(frame, 95.0).verdict == "holds"
    assert slowest(frame.assign(took=1.5), 5.0).verdict == "holds"
    assert slowest(frame.assign(took=5.5), 5.0).value == 5.5
    assert busy(frame, 101.0).verdict == "fails"


def test_figures_33_and_34_hold_if_r_dr_spreads_the_load_more_evenly_than_both():
    frame = made(
        r_dr={"gpu_spread": 5, "memory_spread": 9},
        random={"gpu_spread": 20, "memory_spread": 8},
        **{"nearest fading": {"gpu_spread": 40, "memory_spread": 30}},
    )
    found = balanced(frame, "gpu_spread", radio="fading")
    assert (found.verdict, found.value) == ("holds", pytest.approx(4.0))
    assert balanced(frame, "memory_spread", radio="fading").verdict == "fails"
