"""DRP and DSRP as optsched finds them: names, presets, ratios."""

import numpy as np
import pytest

import optsched as osd
from formulations.drp.generator import generate
from heuristics.drp import DSRP_HEURISTICS, HEURISTICS
from heuristics.drp.r_dr import r_dr
from optsched import Options
from optsched.evaluation.runs import check_names
from optsched.problem import problem
from optsched.solve import solve
from optsched.study.spec import presets


@pytest.mark.parametrize("name", ["drp", "dsrp"])
def test_every_preset_names_what_there_is(name):
    found = problem(name)
    assert set(found.heuristics) >= set(HEURISTICS if name == "drp" else DSRP_HEURISTICS)
    for preset in presets(found).values():
        check_names(found, preset.heuristics, found.reference, None, preset.bounds or ())
        for option, values in preset.cells.items():
            for value in values:
                found.generator_call({option: value})


def test_ratios_of_drp_are_points_where_the_optimum_is_proven():
    found = problem("drp")
    instance = generate(np.random.default_rng(0), jobs=10)
    rows = osd.ratios(
        found, list(found.heuristics), instances=instance, bounds=("soc",), time_limit=30
    ).rows
    assert {row.status for row in rows} == {"optimal"}
    for row in rows:
        assert row.optimum is not None
        assert row.cost is not None
        assert row.cost <= row.optimum <= row.extra["bound_soc"]
        if row.cost:
            assert row.ratio_low == row.ratio_high == pytest.approx(row.optimum / row.cost)


def test_ratios_of_dsrp_leave_out_decisions_that_break_capacities():
    found = problem("dsrp")
    instance = generate(np.random.default_rng(4), jobs=12)
    rows = {
        row.heuristic: row
        for row in osd.ratios(
            found, ["r_dsr", "r_dsr_raw", "r_dr_storage"], instances=instance, time_limit=20
        ).rows
    }
    assert rows["r_dsr_raw"].status == "violated"
    assert rows["r_dsr_raw"].ratio_low is None
    for name in ("r_dsr", "r_dr_storage"):
        assert rows[name].status in ("optimal", "feasible")
        assert rows[name].bound >= rows[name].cost


def test_the_papers_yardstick_is_the_first_relaxation_of_r_dr():
    found = problem("drp")
    instance = generate(np.random.default_rng(1), jobs=30)
    model, _ = found.formulation("lp1_first")
    run = r_dr(instance, np.random.default_rng(0))
    assert solve(model.build(instance)).objective == pytest.approx(run.lp1_first)
    best = found.solve(found.reference, instance, options=Options(time_limit=30)).solution
    assert run.lp1_first < best.objective  # so it is no bound


def test_a_yardstick_that_bounds_nothing_stands_beside_the_ratio_and_never_in_it():
    found = problem("drp")
    instance = generate(np.random.default_rng(1), jobs=30)
    (row,) = osd.ratios(
        found, ["r_dr"], instances=instance, bounds=("lp1_first",), time_limit=30
    ).rows
    assert row.status == "optimal"
    assert row.extra["bound_lp1_first"] < row.optimum
    assert row.extra["ratio_lp1_first"] < row.ratio_low
    assert row.extra["measure_gbit_per_s_per_job"] > 0
    assert 0 < row.extra["measure_largest_load"] <= 1 + 1e-6
