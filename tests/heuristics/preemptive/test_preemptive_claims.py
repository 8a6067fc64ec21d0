"""The claims of the preemptive paper are measured on checked schedules and judged by rule."""

import numpy as np
import pandas as pd
import pytest

from formulations.preemptive import PROBLEM
from formulations.preemptive.generator import generate
from formulations.preemptive.metrics import preemptions
from heuristics.preemptive import HEURISTICS
from heuristics.preemptive.a_online import a_online, a_online_e
from heuristics.preemptive.claims import (
    CLAIMS,
    below,
    falls,
    insensitive,
    lowest,
    near_one,
    reduction,
    trend,
)
from heuristics.preemptive.evaluation import (
    METHODS,
    RATIOS,
    SCHEDULERS,
    instance_of,
    measure_ratios,
    measure_schedulers,
)
from optsched.study.spec import presets


def table(**jct):
    """Completion times by method over (100, 200, 300) jobs, one seed."""
    return pd.DataFrame(
        [
            {
                "calibration": "light", "jobs": jobs, "servers": 100, "seed": 0,
                "method": method, "jct": value, "load": 0.5,
            }
            for method, values in jct.items()
            for jobs, value in zip((100, 200, 300), values, strict=True)
        ]
    )  # fmt: skip


def test_lowest_counts_settings_and_names_who_is_better():
    frame = table(a_online=[1, 1, 5], srtf=[2, 2, 2], batch_sche=[9, 1, 9])
    found = lowest(frame, "light", "a_online", ("srtf", "batch_sche"))
    assert found.value == pytest.approx(2 / 3)
    assert found.verdict == "partly"
    assert "beaten by srtf" in found.note


def test_a_reduction_is_that_of_the_best_setting_against_the_best_rival_there():
    frame = table(a_online=[6, 5, 9], srtf=[10, 10, 10], batch_sche=[7, 9, 10])
    found = reduction(frame, -40.0, "light", ("srtf", "batch_sche"))
    assert found.value == pytest.approx(100 * (5 / 9 - 1))
    assert found.note.startswith("200 jobs, 100 servers, against batch_sche")
    assert found.verdict == "holds"


def test_a_trend_holds_if_every_step_goes_its_way():
    frame = table(a_online=[1, 2, 4], srtf=[2, 4.4, 9])
    falling = trend(frame, "light", "jobs", "a_online", "srtf", rises=False)
    rising = trend(frame, "light", "jobs", "a_online", None, rises=True)
    assert (falling.verdict, rising.verdict) == ("holds", "holds")
    assert trend(frame, "light", "jobs", "a_online", "srtf", rises=True).verdict == "fails"


def test_ratios_are_judged_in_the_worst_cell_and_at_every_speed():
    rows = [
        {"jobs": jobs, "servers": 5, "seed": 0, "epsilon": epsilon, "r": start - epsilon}
        for jobs, start in ((5, 1.5), (25, 1.6))
        for epsilon in (0.0, 0.1, 0.5)
    ]
    frame = pd.DataFrame(rows)
    assert below(frame, 1.7, "r").value == pytest.approx(1.5)
    assert falls(frame, "r").verdict == "holds"
    assert near_one(frame, 1.0, "r", room=0.1).verdict == "holds"
    assert insensitive(frame, "r", spread=0.2).verdict == "holds"
    assert insensitive(frame, "r", spread=0.07).verdict == "partly"


def test_claims_have_unique_names_and_rest_on_the_two_sweeps():
    names = [claim.name for claim in CLAIMS]
    assert len(names) == len(set(names)) > 50
    assert {claim.experiment for claim in CLAIMS} == {SCHEDULERS, RATIOS}


def test_every_claim_can_be_judged_on_small_instances():
    cells = [(30, 100), (60, 100), (300, 100), (300, 60)]
    measured = [
        {**task, **row}
        for calibration in ("printed", "light")
        for jobs, servers in cells
        for task in [{"calibration": calibration, "jobs": jobs, "servers": servers, "seed": 0}]
        for row in small(**task)
    ]
    tasks = [{"jobs": jobs, "servers": 3, "seed": 0} for jobs in (3, 4)]
    ratios = [{**task, **row} for task in tasks for row in measure_ratios(**task)]
    frames = {SCHEDULERS: pd.DataFrame(measured), RATIOS: pd.DataFrame(ratios)}
    findings = [claim.judge(frames[claim.experiment]) for claim in CLAIMS]
    assert all(found.verdict != "not measured" for found in findings)


def small(*, calibration, jobs, servers, seed):
    """Measurements of a tenth of the size, for judges that look for the paper's sizes."""
    return measure_schedulers(
        calibration=calibration, jobs=jobs // 10, servers=servers // 10, seed=seed
    )


def test_schedulers_are_measured_on_one_instance_each_with_its_own_row():
    rows = measure_schedulers(calibration="light", jobs=20, servers=5, seed=1)
    assert [row["method"] for row in rows] == list(METHODS)
    assert len({row["load"] for row in rows}) == 1
    assert all(0 <= row["peak"] <= 1 for row in rows)


def test_the_light_setting_asks_for_gangs_and_shortens_times():
    printed, light = (instance_of(kind, 30, 5, 0) for kind in ("printed", "light"))
    assert np.all(light.gang_size == 8)
    assert np.all(light.chunk_time_slow <= printed.chunk_time_slow)


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
