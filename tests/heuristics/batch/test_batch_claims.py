"""The claims can be measured, and say what they say."""

import pandas as pd

from heuristics.batch.claims import CLAIMS, close_to_one, lower, trend
from heuristics.batch.evaluation import METHODS, measure_ratio, measure_sizes


def test_names_of_claims_are_unique() -> None:
    names = [claim.name for claim in CLAIMS]
    assert len(set(names)) == len(names)


def test_every_figure_of_the_evaluation_has_a_claim() -> None:
    figures = {claim.source for claim in CLAIMS}
    assert figures == {f"Figure {n}" for n in range(3, 15)}


def test_one_instance_gives_a_row_per_method() -> None:
    rows = measure_sizes(
        study="jobs", jobs=12, servers=6, time_scale=0.1, price_cap=1.0, gradient=0, seed=1
    )
    assert [row["method"] for row in rows] == list(METHODS)
    assert all(row["completion"] > 0 for row in rows)
    assert all(0 <= row["utilisation"] <= 1 for row in rows)


def test_ratios_are_at_least_one_and_smaller_in_completion_time() -> None:
    (row,) = measure_ratio(study="jobs", jobs=8, servers=8, time_scale=0.1, seed=1, seconds=10.0)
    assert row["proven"] == 1
    assert 1 <= row["completion"] <= row["flow"]


def frame() -> pd.DataFrame:
    rows = [
        {"study": "jobs", "time_scale": 1.0, "jobs": jobs, "servers": 1, "price_cap": 1.0,
         "gradient": 0, "seed": 0, "method": method, "completion": value, "proven": 1.0}
        for jobs, values in ((1, (1.0, 2.0)), (2, (3.0, 2.5)), (3, (4.0, 9.0)))
        for method, value in zip(("a", "b"), values, strict=True)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_an_order_is_counted_by_instance_and_a_trend_by_step() -> None:
    assert lower(frame(), "jobs", "a", ["b"]).value == 2 / 3
    assert trend(frame(), "jobs", "jobs", "a", "completion", rising=True).verdict == "holds"
    assert trend(frame(), "jobs", "jobs", "a", "completion", rising=False).verdict == "fails"
    assert close_to_one(frame(), "completion", 1.0).verdict == "fails"


def test_a_tie_is_neither_below_nor_a_step() -> None:
    tied = frame()
    tied.loc[tied["method"] == "b", "completion"] = tied["completion"][0::2].to_list()
    found = lower(tied, "jobs", "a", ["b"])
    assert (found.verdict, found.value) == ("fails", 0.0)
    assert found.note == "not below b (100%)"
    flat = frame().assign(completion=2.0)
    for rising in (True, False):
        assert trend(flat, "jobs", "jobs", "a", "completion", rising=rising).verdict == "fails"


def test_close_to_one_ends_a_fiftieth_above_eleven_tenths() -> None:
    one = frame().head(1)
    for ratio, verdict in ((1.1219, "holds"), (1.1221, "fails")):
        assert close_to_one(one.assign(completion=ratio), "completion", 1.0).verdict == verdict
