"""Okita's claims: what is measured, how it is judged, on small instances."""

import numpy as np
import pandas as pd
import pytest

from heuristics.common.claims import Result, judge
from heuristics.common.claims.verdicts import LEAST
from heuristics.okita.evaluation.claims import CLAIMS
from heuristics.okita.evaluation.measures import (
    COSTS,
    METHODS,
    RATIOS,
    TESTBED,
    TIMES,
    WEIGHTS,
    measure_costs,
    measure_ratios,
    measure_time,
    measure_weights,
)
from heuristics.okita.evaluation.training import ACCURACY, SPREADS

SWEEPS = (RATIOS, COSTS, TESTBED, WEIGHTS, TIMES, ACCURACY)


def test_claims_have_names_of_their_own_and_tasks_at_both_scales():
    names = [claim.name for claim in CLAIMS]
    assert len(set(names)) == len(names)
    for sweep in SWEEPS:
        assert 0 < len(sweep.tasks("quick")) < len(sweep.tasks("full"))


def test_ratios_are_intervals_from_one_on():
    rows = measure_ratios(jobs=2, sites=3, horizon=20, seconds=10.0, seed=0)
    assert [row["method"] for row in rows] == list(METHODS)
    for row in rows:
        assert 1 - 1e-9 <= row["ratio_low"] <= row["ratio_high"] + 1e-9
        assert row["ratio_high"] == pytest.approx(row["ratio_low"])


@pytest.fixture(scope="module")
def measured():
    """Every sweep with the settings of a quick run on instances that are much smaller."""
    small = {"jobs": 6, "sites": 4, "horizon": 3}
    frames = {}
    for sweep in (COSTS, TESTBED):
        frames[sweep.name] = sweep.frame(
            [(task, measure_costs(**{**task, **small})) for task in sweep.tasks("quick")]
        )
    frames[TIMES.name] = TIMES.frame(
        [(task, measure_time(**{**task, **small})) for task in TIMES.tasks("quick")]
    )
    frames[WEIGHTS.name] = WEIGHTS.frame(
        [(task, measure_weights(**{**task, **small})) for task in WEIGHTS.tasks("quick")]
    )
    rows = [
        {"method": name, "cost": 1.0, "ratio_low": 1.0 + at, "ratio_high": 1.1 + at}
        for at, name in enumerate(METHODS)
    ]
    frames[RATIOS.name] = RATIOS.frame([(task, rows) for task in RATIOS.tasks("quick")])
    share = dict.fromkeys(("accuracy", "worst", "central", "central_worst"), 95.0)
    share |= dict.fromkeys(("local", "local_worst"), 80.0)
    slots = [
        {"job": 0, "spread": spread, "slot": slot, "slots": 2, **share}
        for spread in SPREADS
        for slot in (1, 2)
    ]
    frames[ACCURACY.name] = ACCURACY.frame([(task, slots) for task in ACCURACY.tasks("quick")])
    return frames


def test_no_schedule_behind_a_claim_breaks_a_constraint(measured):
    tables = [measured[sweep.name] for sweep in (COSTS, TESTBED, TIMES, WEIGHTS)]
    assert (pd.concat(tables)["violations"] == 0).all()


def test_every_claim_is_judged_or_says_why_not(measured):
    for claim, finding in found(measured).items():
        assert finding.instances > 0
        if finding.verdict == "undecided":
            assert finding.note.endswith("leave it open"), claim


def found(measured):
    """Findings by name of the claim."""
    results = {sweep: Result(measured[sweep.name]) for sweep in SWEEPS}
    return {item.claim.name: item.finding for item in judge({"okita": CLAIMS}, results)}


def test_every_setting_of_a_quick_run_has_as_many_seeds_as_a_verdict_needs():
    for sweep in SWEEPS:
        tasks = pd.DataFrame(sweep.tasks("quick"))
        settings = tasks.groupby([name for name in tasks if name != "seed"])
        assert settings["seed"].nunique().min() >= LEAST, sweep.name


def test_a_method_with_the_smallest_ratio_everywhere_makes_figures_7_and_8_hold(measured):
    judged = found(measured)
    assert judged["figure_8_smallest"].verdict == "holds"
    assert judged["figure_7_ratio"].verdict == "holds"
    assert judged["figure_7_ratio"].value == pytest.approx(1.1)
    assert judged["figure_7_ratio"].low == pytest.approx(1.0)


def test_models_as_good_as_central_ones_make_figure_6_hold(measured):
    judged = found(measured)
    for claim in ("figure_6_accuracy", "figure_6_convergence", "section_1_unbiased"):
        assert (judged[claim].verdict, judged[claim].value) == ("holds", 0.0)
    assert "largest site alone 80.0 %" in judged["section_1_unbiased"].note


def test_models_that_forget_make_figure_6_fail(measured):
    frame = measured[ACCURACY.name].copy()
    is_last = frame["slot"] == frame["slots"]
    frame.loc[is_last, ["accuracy", "worst"]] = 40.0
    judged = found(measured | {ACCURACY.name: frame})
    for claim in ("figure_6_accuracy", "figure_6_convergence", "section_1_unbiased"):
        assert (judged[claim].verdict, judged[claim].value) == ("fails", -55.0)


def test_the_advantage_under_one_latency_is_set_against_that_under_others(measured):
    frame = measured[COSTS.name].copy()
    linear = (frame["latency"] == "linear") & (frame["method"] == "okita")
    others = (frame["latency"] != "linear") & (frame["method"] == "okita")
    frame["cost"] = 1.0
    frame.loc[linear, "cost"] = 0.5 + frame.loc[linear, "seed"] / 1000
    frame.loc[others, "cost"] = 0.9
    judged = found(measured | {COSTS.name: frame})
    assert judged["figure_14_linear_advantage"].verdict == "holds"
    assert judged["figure_14_linear_advantage"].value == pytest.approx(0.4, abs=0.01)
    assert judged["figure_14_advantage"].verdict == "fails"


def test_one_number_of_sites_at_which_a_baseline_costs_less_refutes_figure_9(measured):
    frame = measured[COSTS.name].copy()
    frame["cost"] = np.where(frame["method"] == "okita", 1.0, 5.0) * (1 + frame["seed"] / 1000)
    judged = found(measured | {COSTS.name: frame})
    assert judged["figure_9_lowest"].verdict == "holds"
    few = frame["sites"] == frame["sites"].min()
    frame.loc[few & (frame["method"] == "drf"), "cost"] = 0.5
    refuted = found(measured | {COSTS.name: frame})["figure_9_lowest"]
    assert refuted.verdict == "fails"
    assert f"not so: drf with {frame['sites'].min()} sites" in refuted.note
