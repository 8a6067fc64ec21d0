"""The claims of the DRP/DSRP paper: what is measured, how it is judged, on tiny instances."""

import math

import pandas as pd
import pytest

from heuristics.common.claims import Result, judge
from heuristics.drp.evaluation import claims as room
from heuristics.drp.evaluation.claims import CLAIMS
from heuristics.drp.evaluation.measures import (
    DISCUSSION,
    DRP_SWEEP,
    DSRP_SWEEP,
    SETTING,
    by_setting,
    measure_drp,
    measure_dsrp,
)
from heuristics.drp.evaluation.test_bed import TEST_BED, measure_test_bed

CELL = {"topology": "grid", "distribution": "uniform", "profile": "balanced"}


def labelled(sweep, rows_by_seed):
    """Measurements of few small instances under the settings of a whole quick run."""
    tasks = [task for task in sweep.tasks("quick") if task["seed"] < len(rows_by_seed)]
    return sweep.frame([(task, rows_by_seed[task["seed"]]) for task in tasks])


@pytest.fixture(scope="module")
def drp_rows():
    """Two systems with six jobs."""
    return [measure_drp(seed=seed, seconds=10.0, jobs=6, **CELL) for seed in (0, 1)]


@pytest.fixture(scope="module")
def dsrp_rows():
    """Two systems with five jobs that need services."""
    return [measure_dsrp(seed=seed, seconds=10.0, jobs=5, **CELL) for seed in (0, 1)]


def made(method, values, bandwidth=1.0, **setting):
    """Made-up measurements of one method, one per seed."""
    cell = {**CELL, "jobs": 60, **setting}
    return [
        {**cell, "seed": seed, "method": method, "value": value, "bandwidth": bandwidth}
        for seed, value in enumerate(values)
    ]


OPEN, DIRECTION = "undecided", "direction holds, size does not"


# what is measured


def test_no_method_admits_more_than_the_bound_on_the_optimum(drp_rows):
    for rows in drp_rows:
        value = {row["method"]: row["value"] for row in rows}
        bound = value.pop("bound")
        assert value["optimum"] <= bound
        feasible = {name: v for name, v in value.items() if name != "lp1_first"}
        assert max(feasible.values()) == value["optimum"] > 0


def test_repaired_decisions_are_within_the_optimum_with_services(dsrp_rows):
    for rows in dsrp_rows:
        value = {row["method"]: row["value"] for row in rows}
        assert 0 < value["r_dsr"] <= value["optimum"] <= value["bound"]
        assert value["r_dr_storage"] <= value["optimum"]
        # as printed, a job is the less likely to be admitted the more of it the relaxation admits
        loads = {row["method"]: row["load"] for row in rows if "load" in row}
        assert loads.pop("r_dsr_printed") >= 0
        assert min(loads.values()) > 0


def test_a_quick_run_has_every_setting_the_claims_ask_for():
    for sweep in (DRP_SWEEP, DSRP_SWEEP):
        quick, full = (
            {tuple(t[k] for k in SETTING) for t in sweep.tasks(s)} for s in ("quick", "full")
        )
        assert quick < full
        assert len(full) == 2 * 3 * 3 * 6
        assert {topology for topology, *_ in quick} == {"hexagon", "grid"}


def test_another_share_of_the_deadline_is_measured_where_it_is_read():
    half, tenth = (
        measure_drp(seed=0, seconds=0.0, jobs=30, **CELL, comm_share=share) for share in (0.5, 0.1)
    )
    assert "bound" not in {row["method"] for row in half}
    assert [row["value"] for row in half] != [row["value"] for row in tenth]


def test_an_overview_has_a_line_per_setting_and_a_column_per_method(drp_rows):
    frame = labelled(DRP_SWEEP, drp_rows)
    shown = by_setting(frame)
    assert len(shown) == 18
    assert {"r_dr", "greedy", "optimum", "r_dr Gbit/s per job"} <= set(shown.columns)


# how it is judged


def test_every_claim_is_sourced_and_no_name_is_used_twice():
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)
    for claim in CLAIMS:
        assert claim.source
        assert claim.text
        assert claim.how
    assert {claim.experiment for claim in CLAIMS} == {DRP_SWEEP, DSRP_SWEEP, DISCUSSION, TEST_BED}


def test_every_claim_can_be_judged_by_a_quick_run(drp_rows, dsrp_rows):
    results = {
        DRP_SWEEP: Result(labelled(DRP_SWEEP, drp_rows)),
        DSRP_SWEEP: Result(labelled(DSRP_SWEEP, dsrp_rows)),
        DISCUSSION: Result(labelled(DISCUSSION, drp_rows)),
        TEST_BED: Result(labelled(TEST_BED, [measure_test_bed(seed=s, load=0.9) for s in (0, 1)])),
    }
    judged = judge({"drp": CLAIMS}, results)
    assert not [item.claim.name for item in judged if item.finding.failed]
    assert all(math.isfinite(item.finding.value) and item.finding.instances for item in judged)


def test_bandwidth_falls_where_more_jobs_take_less_each():
    rows = [
        row
        for jobs, bandwidth in ((20, 8e9), (40, 9e9), (60, 4e9))
        for row in made("r_dr", [1] * 4, bandwidth, jobs=jobs)
    ]
    found = room.falls(pd.DataFrame(rows), data="all", profile="balanced")
    assert (found.verdict, found.value, found.instances) == ("holds", pytest.approx(2.0), 4)
    assert found.note == "8.00 Gbit/s with 20 jobs, 4.00 with 60"
    rising = [row | {"bandwidth": 1 / row["bandwidth"]} for row in rows]
    assert room.falls(pd.DataFrame(rising), data="uniform").verdict == "fails"


def test_a_gain_is_the_ratio_of_means_at_the_largest_number_of_jobs():
    rows = made("r_dr", [30, 40]) + made("greedy", [20, 30]) + made("r_dr", [1], jobs=10)
    rows += made("greedy", [9], jobs=10)
    found = room.over(pd.DataFrame(rows), 33.0, "r_dr", "greedy", most_jobs=True)
    assert found.value == pytest.approx(40.0)
    assert (found.verdict, found.instances) == (OPEN, 2)


def test_less_bandwidth_is_better():
    frame = pd.DataFrame(made("r_dr", [1] * 3, 0.9) + made("greedy", [1] * 3, 1.0))
    for printed, verdict in ((-10.0, "holds"), (-15.0, DIRECTION), (5.0, "fails")):
        found = room.over(frame, printed, "r_dr", "greedy", column="bandwidth")
        assert (found.verdict, found.value) == (verdict, pytest.approx(-10.0))


def test_the_least_share_is_that_of_the_worst_setting():
    rows = made("r_dr", [9, 9]) + made("lp1_first", [10, 10])
    rows += made("r_dr", [7, 5], jobs=20) + made("lp1_first", [10, 10], jobs=20)
    found = room.least_over(pd.DataFrame(rows), 92.0, "r_dr", "lp1_first", profile="balanced")
    assert found.value == pytest.approx(60.0)
    assert "of 2 settings: grid, uniform, balanced, 20" in found.note
    none = room.least_over(pd.DataFrame(rows), 92.0, "r_dr", "lp1_first", profile="physical")
    assert none.verdict == "not measured"


def test_an_order_names_the_settings_where_it_breaks():
    rows = made("r_dr", [9] * 7) + made("greedy", [8] * 7) + made("nearest", [7] * 7)
    rows += made("random", [9] + [8] * 6)  # a tie counts for nobody
    found = room.ahead(pd.DataFrame(rows))
    assert (found.verdict, found.instances) == ("holds", 6)
    rows += [row for m in ("greedy", "nearest", "random") for row in made(m, [5], jobs=20)]
    rows += made("r_dr", [4], jobs=20)
    found = room.ahead(pd.DataFrame(rows))
    assert (found.verdict, found.value) == ("fails", pytest.approx(6 / 7))
    assert "behind in grid, uniform, balanced, 20" in found.note


def test_a_floor_is_judged_on_every_instance_and_in_the_mean():
    frame = pd.DataFrame(made("r_dr", [9.9, 9.9, 9.0]) + made("lp1_first", [10.0] * 3))
    of = {"column": "value", "gain": False, "sense": "at least"}
    every = room.limit(frame, 92.0, "r_dr", "lp1_first", stated="every instance", **of)
    assert (every.verdict, every.value) == ("fails", pytest.approx(90.0))
    assert every.note.startswith("mean 96, undecided by it; the least of all")
    mean = room.limit(frame, 92.0, "r_dr", "lp1_first", stated="the mean", **of)
    assert (mean.verdict, mean.value) == (OPEN, pytest.approx(96.0))


def test_of_an_optimum_that_is_not_proven_only_the_best_known_refutes():
    rows = made("r_dr", [9, 9]) + made("bound", [10, 10]) + made("optimum", [9.5, 9.5])
    found = room.limit(
        pd.DataFrame(rows), 92.0, "r_dr", "bound", stated="every instance", gain=False,
        sense="at least",
    )  # fmt: skip
    assert (found.verdict, found.low, found.high) == (
        OPEN, pytest.approx(90.0), pytest.approx(100 * 9 / 9.5),
    )  # fmt: skip


def test_one_load_beyond_fourfold_refutes_the_factor_whatever_the_mean():
    rows = [row | {"load": load} for load in (1.0, 1.0, 4.1) for row in made("r_dsr_raw", [1])]
    found = room.excess(pd.DataFrame(rows), 4.0)
    assert (found.verdict, found.value) == ("fails", 4.1)
    assert "mean 2.03" in found.note


def test_existing_algorithms_are_stood_for_by_the_better_of_them():
    frame = pd.DataFrame(
        made("r_dr", [6] * 3) + made("nearest", [4] * 3) + made("random", [3] * 3)
        + made("nearest_literal", [2] * 3)
    )  # fmt: skip
    rivals = ("nearest", "random")
    found = room.best_rival(frame, 56.0, "r_dr", rivals, nearest="in turn")
    assert (found.value, found.verdict) == (pytest.approx(50.0), DIRECTION)
    assert room.best_rival(frame, 100.0, "r_dr", rivals, nearest="literal").verdict == "holds"
