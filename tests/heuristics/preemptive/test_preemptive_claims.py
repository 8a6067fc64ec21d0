"""The claims of the preemptive paper are measured on checked schedules and judged by rule."""

import gzip

import numpy as np
import pandas as pd
import pytest

from formulations.preemptive import PROBLEM
from formulations.preemptive.generator import generate
from formulations.preemptive.metrics import preemptions
from heuristics.common.claims import Result, UnmeasuredError, judge
from heuristics.preemptive import HEURISTICS
from heuristics.preemptive.a_online import a_online, a_online_e
from heuristics.preemptive.evaluation.claims import (
    CLAIMS,
    below,
    falls,
    far_below_stated,
    insensitive,
    lowest,
    near_one,
    reduction,
    rises,
    trend,
)
from heuristics.preemptive.evaluation.figures import PANELS, TRACED, USE, measure_use, use_over_time
from heuristics.preemptive.evaluation.measures import (
    METHODS,
    PHILLY,
    PHILLY_FILE,
    RATIOS,
    SCHEDULERS,
    TESTBED,
    measure_philly,
    measure_ratios,
    measure_schedulers,
    measure_testbed,
)
from optsched.study.spec import presets
from optsched.study.sweep import Sweep


def table(**jct):
    """Completion times by method over (100, 200, 300) jobs, three seeds alike."""
    return pd.DataFrame(
        [
            {
                "jobs": jobs, "servers": 100, "seed": seed, "method": method, "jct": value,
                "load": 0.5,
            }
            for seed in range(3)
            for method, values in jct.items()
            for jobs, value in zip((100, 200, 300), values, strict=True)
        ]
    )  # fmt: skip


def test_lowest_counts_instances_without_ties_and_names_who_is_better():
    frame = table(a_online=[1, 1, 5], srtf=[2, 2, 2], batch_sche=[9, 1, 9])
    found = lowest(frame, "a_online", ("srtf", "batch_sche"))
    assert (found.value, found.instances) == (0.5, 6)
    assert found.verdict == "fails"  # lowest is stated of every setting
    assert lowest(frame, "a_online", ("srtf", "batch_sche"), every=False).verdict == "undecided"
    assert "beaten by srtf" in found.note
    assert "3 of 9 are ties" in found.note


def test_a_reduction_is_that_of_the_best_setting_against_the_best_rival_there():
    frame = table(a_online=[6, 5, 9], srtf=[10, 10, 10], batch_sche=[7, 9, 10])
    found = reduction(frame, -44.0, ("srtf", "batch_sche"))
    assert found.value == pytest.approx(100 * (5 / 9 - 1))
    assert found.note.startswith("200 jobs, 100 servers, against batch_sche")
    assert found.verdict == "holds"
    beyond = reduction(frame, -10.0, ("srtf", "batch_sche"))
    assert beyond.verdict == "direction holds, size does not"


def test_a_ratio_is_far_below_what_is_stated_at_half_of_it_and_without_speed_nothing_is():
    frame = pd.DataFrame({"epsilon": [0.0, 0.5, 1.0, 0.1], "chunk_ratio": [9.0, 1.5, 1.0, 5.4]})
    found = far_below_stated(frame, 0.5)
    assert (found.value, found.instances) == (1.0, 3)
    frame.loc[1, "chunk_ratio"] = 1.51
    assert far_below_stated(frame, 0.5).value == pytest.approx(2 / 3)
    assert "the worst 0.503" in far_below_stated(frame, 0.5).note


def test_a_trend_holds_if_every_step_goes_its_way():
    frame = table(a_online=[1, 2, 4], srtf=[2, 4.4, 9])
    falling = trend(frame, "jobs", "a_online", "srtf", rises=False)
    rising = trend(frame, "jobs", "a_online", None, rises=True)
    assert (falling.verdict, rising.verdict) == ("holds", "holds")
    assert falling.instances == 2 * 3
    assert trend(frame, "jobs", "a_online", "srtf", rises=True).verdict == "fails"


def test_ratios_are_judged_at_the_speed_that_is_read():
    rows = [
        {"jobs": jobs, "servers": 5, "seed": seed, "epsilon": epsilon, "r": start - epsilon}
        for jobs, start in ((5, 1.5), (25, 1.6))
        for seed in range(3)
        for epsilon in (0.0, 0.1, 0.5)
    ]
    frame = pd.DataFrame(rows)
    every = {"stated": "every instance"}
    assert below(frame, 1.7, "r", epsilon=0.1, **every).value == pytest.approx(1.5)  # the largest
    assert below(frame, 1.47, "r", epsilon=0.1, **every).verdict == "undecided"
    assert below(frame, 1.47, "r", epsilon=0.5, **every).value == pytest.approx(1.1)
    exact = frame.rename(columns={"r": "chunk_ratio"})
    found = below(exact, 1.49, "chunk_ratio", epsilon=0.1, **every)
    assert (found.verdict, found.value) == ("fails", pytest.approx(1.5))
    assert found.note.startswith("mean 1.45, worst 1.5")
    assert below(exact, 1.49, "chunk_ratio", epsilon=0.1, stated="the mean").verdict == "holds"
    assert falls(frame, "r").verdict == "holds"
    assert near_one(frame, 1.0, "r", room=0.2).verdict == "holds"
    assert insensitive(frame, "r", spread=0.2).value == 1
    assert insensitive(frame, "r", spread=0.07).value == pytest.approx(2 / 3)


def test_claims_have_unique_names_and_rest_on_the_four_sweeps():
    names = [claim.name for claim in CLAIMS]
    assert len(names) == len(set(names)) > 30
    assert {claim.experiment for claim in CLAIMS} == {SCHEDULERS, TESTBED, PHILLY, RATIOS}


def test_every_claim_can_be_judged_on_small_instances():
    cells = [(30, 100), (60, 100), (300, 100), (300, 60)]
    measured = [
        {**task, **row}
        for jobs, servers in cells
        for task in [{"jobs": jobs, "servers": servers, "seed": 0}]
        for row in small(**task)
    ]
    tasks = [{"jobs": jobs, "servers": 3, "seed": 0} for jobs in (3, 4)]
    ratios = [{**task, **row} for task in tasks for row in measure_ratios(**task)]
    testbed = [
        {**task, **row}
        for jobs in (4, 8)
        for task in [{"jobs": jobs, "servers": 8, "seed": 0}]
        for row in measure_testbed(**task)
    ]
    results = {
        SCHEDULERS: Result(pd.DataFrame(measured)),
        PHILLY: Result(pd.DataFrame(measured)),
        TESTBED: Result(pd.DataFrame(testbed)),
        RATIOS: Result(pd.DataFrame(ratios)),
    }
    judged = judge({"preemptive": CLAIMS}, results)
    assert not [item.claim.name for item in judged if item.finding.failed]
    assert all(item.finding.instances for item in judged)


def small(*, jobs, servers, seed):
    """Measurements of a tenth of the size, for judges that look for the paper's sizes."""
    return measure_schedulers(jobs=jobs // 10, servers=servers // 10, seed=seed)


def test_schedulers_are_measured_on_one_instance_each_with_its_own_row():
    rows = measure_schedulers(chunks=0.05, span=336, jobs=20, servers=5, seed=1)
    assert [row["method"] for row in rows] == list(METHODS)
    assert len({row["load"] for row in rows}) == 1
    assert all(0 <= row["peak"] <= 1 for row in rows)


def test_jobs_of_the_trace_come_when_they_were_submitted_and_want_their_gpus(tmp_path, monkeypatch):
    monkeypatch.delenv("OPTSCHED_DATA", raising=False)
    with pytest.raises(UnmeasuredError, match="philly"):
        measure_philly(jobs=9, servers=5, seed=1)
    assert not any("trace" in task for task in USE.tasks("quick"))
    folder = tmp_path / "philly"
    folder.mkdir()
    day = [f"2017-10-01 {hour:02d}:00:00,60,{1 + hour % 2},a" for hour in range(24)]
    with gzip.open(folder / PHILLY_FILE, "wt") as table:
        table.write("\n".join(["timestamp,duration,num_gpus,cluster", *day]))
    monkeypatch.setenv("OPTSCHED_DATA", str(tmp_path))
    rows = measure_philly(jobs=9, servers=5, seed=1, chunks=0.05)
    assert [row["method"] for row in rows] == list(METHODS)
    assert all(np.isfinite(row["rise"]) for row in rows)
    assert rows != measure_philly(jobs=9, servers=5, seed=2, chunks=0.05)
    assert all(task["trace"] for task in USE.tasks("quick"))
    task = {"jobs": 9, "servers": 5, "seed": 1, "chunks": 1.0, "trace": True}
    panels = use_over_time(Sweep.frame([(task, measure_use(**task))]))["panel"]
    assert set(panels) == {TRACED, PANELS["trace"]}


def test_a_peak_lifts_utilisation_where_the_edge_was_idle():
    frame = table(a_online=[1, 1, 1]).assign(rise=[0.2, 0.1, 0.0] * 3)
    found = rises(frame, ["a_online"])
    assert (found.verdict, found.instances) == ("holds", 6)
    assert found.note.startswith("means in percentage points a_online 10")


def test_longer_gangs_move_the_baselines_and_not_a_online():
    trace, chunks = (
        {row["method"]: row["jct"] for row in measure_schedulers(jobs=9, servers=5, seed=1, gang=g)}
        for g in ("trace", "chunks")
    )
    assert trace["a_online"] == chunks["a_online"]
    assert trace["srtf"] != chunks["srtf"]


@pytest.mark.parametrize("run", [a_online, a_online_e])
def test_preemptions_read_off_the_runs_are_those_the_run_counted(run, rng):
    instance = generate(np.random.default_rng(3), jobs=60, servers=5, types=2, time_scale=0.1)
    made = run(instance, rng)
    assert preemptions(instance, made) == made.preemptions > 0


def test_presets_and_measures_name_what_there_is():
    for name, preset in presets(PROBLEM).items():
        for heuristic in preset.heuristics:
            assert heuristic.split("(")[0] in HEURISTICS, name
        assert set(preset.bounds or ()) <= set(PROBLEM.bounds)
        PROBLEM.generator_call({key: values[0] for key, values in preset.cells.items()})
    assert set(PROBLEM.measures) == {"preemptions", "communication", "utilisation", "makespan"}
