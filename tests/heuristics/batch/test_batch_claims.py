"""The claims can be measured, and say what they say."""

import numpy as np
import pandas as pd
import pytest

from formulations.batch import PROBLEM
from formulations.batch.check import check, completion_slots
from formulations.batch.metrics import completion, edge_load, edge_servers, utilisation
from heuristics.batch import HEURISTICS
from heuristics.batch.evaluation.claims import (
    CLAIMS,
    close_to_one,
    falls_behind,
    follows_cap,
    lower,
    trend,
    uses_less,
)
from heuristics.batch.evaluation.interpretations import CAP, UTILISATION
from heuristics.batch.evaluation.measures import (
    METHODS,
    ROUNDS,
    SIZE_SWEEP,
    measure_ratio,
    measure_sizes,
)
from heuristics.batch.evaluation.remarks import REMARKS
from optsched.errors import InputError


def test_names_of_claims_are_unique() -> None:
    names = [claim.name for claim in CLAIMS]
    assert len(set(names)) == len(names)


def test_every_figure_of_the_evaluation_has_a_claim() -> None:
    figures = {claim.source for claim in CLAIMS}
    assert figures == {f"Figure {n}" for n in range(3, 15)}


def test_one_instance_gives_a_row_per_method() -> None:
    rows = measure_sizes(jobs=12, servers=6, time_scale=0.1, price_cap=1.0, gradient=0, seed=1)
    assert [row["method"] for row in rows] == list(METHODS)
    assert all(row["completion"] > 0 for row in rows)
    assert all(0 <= row[column] <= 1 for row in rows for column in UTILISATION.values())


def test_ratios_are_at_least_one_and_smaller_in_completion_time() -> None:
    rows = measure_ratio(jobs=8, servers=8, time_scale=0.1, seed=1, seconds=10.0)
    assert [row["method"] for row in rows] == list(ROUNDS)
    for row in rows:
        assert row["proven"] == 1
        assert 1 <= row["completion"] <= row["flow"]


def frame() -> pd.DataFrame:
    rows = [
        {"time_scale": 1.0, "jobs": jobs, "servers": 1, "price_cap": 1.0,
         "gradient": 0, "seed": seed, "method": method, "completion": value, "proven": 1.0}
        for seed in range(3)
        for jobs, values in ((1, (1.0, 2.0)), (2, (3.0, 2.5)), (3, (4.0, 9.0)))
        for method, value in zip(("a", "b"), values, strict=True)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_an_order_is_counted_by_instance_and_a_trend_by_step() -> None:
    assert lower(frame(), "jobs", "a", ["b"]).value == 2 / 3
    assert trend(frame(), "jobs", "a", "completion", rising=True).verdict == "holds"
    assert trend(frame(), "jobs", "a", "completion", rising=False).verdict == "fails"
    assert close_to_one(frame(), "completion", 1.0, rounds="b").verdict == "fails"


def test_a_study_is_where_nothing_else_varies_and_no_instance_is_measured_twice() -> None:
    tasks = SIZE_SWEEP.tasks("quick")
    measured = pd.DataFrame(
        [{**t, "method": "a", "completion": t["jobs"] + t["servers"]} for t in tasks]
    )
    assert not measured.duplicated().any()
    for axis, values in (
        ("jobs", "90, 120, 150"), ("servers", "90, 120, 180"),
        ("price_cap", "120, 120, 120"), ("gradient", "120, 120, 120"),
    ):  # fmt: skip
        found = trend(measured, axis, "a", "completion", rising=True)
        assert f"means {values}" in found.note, axis
        assert found.instances == 6


def test_utilisation_is_compared_on_the_same_jobs_step_by_step() -> None:
    rows = [
        {"time_scale": 1.0, "jobs": jobs, "servers": 1, "price_cap": 1.0, "gradient": 0,
         "seed": seed, "method": method, "utilisation": value}
        for seed in range(3)
        for jobs, own, other in ((1, 0.2, 0.2), (2, 0.3, 0.4), (3, 0.4, 0.8))
        for method, value in (("a_online", own), ("preemptive", other), ("preemptive_spread", 0.5))
    ]  # fmt: skip
    for width, verdict in (("server", "holds"), ("spread", "fails")):
        found = falls_behind(pd.DataFrame(rows), "jobs", width=width, window="A_online's")
        assert found.verdict == verdict


def test_the_window_of_utilisation_turns_the_verdict_on_who_uses_more_of_the_edge() -> None:
    rows = [row for seed in range(6) for row in measured_utilisation(seed)]
    found = {
        window: uses_less(pd.DataFrame(rows), "jobs", width="server", window=window).verdict
        for window in UTILISATION
    }
    assert found == {"A_online's": "holds", "own makespan": "fails", "own edge": "fails"}


def measured_utilisation(seed: int) -> list[dict[str, object]]:
    """A_online, which is done early, and Preemptive, which works five times as long at the edge."""
    setting = {"time_scale": 1.0, "jobs": 1, "servers": 1, "price_cap": 1.0, "gradient": 0}
    shares = {"a_online": (0.2, 0.2, 0.4), "preemptive": (0.5, 0.1, 0.1)}
    return [
        {
            **setting,
            "seed": seed,
            "method": method,
            **dict(zip(UTILISATION.values(), of, strict=True)),
        }
        for method, of in shares.items()
    ]


def test_both_sentences_on_the_price_cap_are_judged() -> None:
    rising = frame().assign(price_cap=frame()["jobs"], jobs=1, weighted=frame()["completion"])
    rising = rising[rising["method"] == "a"].assign(method="weighted")
    found = {cap: follows_cap(rising, cap=cap).verdict for cap in CAP.values}
    assert found == {"larger": "holds", "smaller": "fails"}


def test_the_price_cap_matters_only_where_it_is_tiny_and_the_cloud_has_limits() -> None:
    def total(cloud: int | None, cap: float) -> float:
        instance = PROBLEM.generate(
            np.random.default_rng(0), jobs=20, servers=10, price_cap=cap, cloud_workers=cloud
        )
        return completion(instance, HEURISTICS["a_online"].run(instance, np.random.default_rng(0)))

    assert total(None, 1e-9) == total(None, 1.0) == total(None, 1e3)
    assert total(200, 1e-9) < total(200, 1.0) == total(200, 1e3)


def test_remarks_speak_of_claims_that_there_are() -> None:
    assert set(REMARKS) <= {claim.name for claim in CLAIMS}


def test_a_tie_is_neither_below_nor_a_step() -> None:
    tied = frame()
    tied.loc[tied["method"] == "b", "completion"] = tied["completion"][0::2].to_list()
    found = lower(tied, "jobs", "a", ["b"])
    assert (found.verdict, found.value) == ("fails", 0.0)
    assert "not below b (100%)" in found.note
    assert "9 of 9 are ties" in found.note
    flat = frame().assign(completion=2.0)
    for rising in (True, False):
        assert trend(flat, "jobs", "a", "completion", rising=rising).verdict == "fails"


def test_close_to_one_ends_a_fiftieth_above_eleven_tenths() -> None:
    some = frame().head(6)
    for ratio, verdict in ((1.1219, "holds"), (1.1221, "fails")):
        found = close_to_one(some.assign(completion=ratio), "completion", 1.0, rounds="a")
        assert found.verdict == verdict


def test_a_cloud_with_limits_is_no_edge_server_and_may_be_all_there_is() -> None:
    instance = PROBLEM.generate(np.random.default_rng(1), jobs=6, servers=3, cloud_workers=60)
    assert edge_servers(instance).tolist() == [True] * 3 + [False]
    made = HEURISTICS["all_cloud"].run(instance, np.random.default_rng(0))
    assert check(instance, made) == []
    assert set(made.run_ps.tolist()) == {instance.cloud_index}


def test_fifo_by_completion_never_ends_a_job_later_than_the_cloud_alone_would() -> None:
    instance = PROBLEM.generate(np.random.default_rng(2), jobs=30, servers=10)
    early, cloud = (
        completion_slots(instance, HEURISTICS[name].run(instance, np.random.default_rng(0), **read))
        for name, read in (("fifo", {"earliest": "completion"}), ("all_cloud", {}))
    )
    assert (early <= cloud).all()
    with pytest.raises(InputError, match="start, completion"):
        HEURISTICS["fifo"].run(instance, np.random.default_rng(0), earliest="end")


def test_preemptive_that_spreads_takes_workers_of_several_servers() -> None:
    instance = PROBLEM.generate(np.random.default_rng(3), jobs=20, servers=20, time_scale=0.1)
    run = HEURISTICS["preemptive"].run
    narrow = run(instance, np.random.default_rng(0))
    spread = run(instance, np.random.default_rng(0), width="spread")
    assert check(instance, spread, allow_preemption=True, ignore_upload=True) == []
    assert completion(instance, spread) < completion(instance, narrow)
    with pytest.raises(InputError, match="server, spread"):
        run(instance, np.random.default_rng(0), width="wide")


def test_utilisation_over_one_window_is_that_of_the_work_in_it() -> None:
    instance = PROBLEM.generate(np.random.default_rng(3), jobs=20, servers=20, time_scale=0.1)
    made = HEURISTICS["a_online"].run(instance, np.random.default_rng(0))
    end = float(edge_load(instance, made)[0][-1])
    begin = float(instance.release_slot.min() - 1)
    alone = utilisation(instance, made)
    assert utilisation(instance, made, end) == pytest.approx(alone)
    twice = utilisation(instance, made, begin + 2 * (end - begin))
    assert twice == pytest.approx(alone / 2)
