"""What is stated of a heuristic stands beside what is measured, and is judged if it can be."""

import json
import math
import re
from dataclasses import replace

import covering
import pytest

import optsched as osd
from optsched.evaluation.guarantees import judged
from optsched.evaluation.ratios import ComparisonSpec, ratio_rows
from optsched.evaluation.runs import STATED, MethodRun
from optsched.evaluation.tables import frame
from optsched.solvers.solution import Status

INSTANCE = covering.Cover(price=[3, 4, 10], size=[2, 3, 5], demand=5)
RATIO = 17 / 7
"""All three items against the first two."""


def stating(factor, against="optimum"):
    """A heuristic that buys everything, with what is stated of it."""
    told = osd.Guarantee(factor, against, assumption="every item fits", source="Lemma 7")
    return osd.Heuristic("all", covering.everything, "", "all items", guarantees=[told])


def verdicts(factor, against="optimum", **asked):
    found = osd.ratios("covering", stating(factor, against), instances=INSTANCE, **asked)
    return judged(found.table(), against)["verdict"].tolist()


def rows_of(run, *, sense="minimise", solve=None, bound=2.0, interpretation=""):
    """The verdicts on a run of which 2 is stated, against the optimum and against a bound."""
    spec = ComparisonSpec(
        "p", sense, "exact", ["exact"], {"h": {}}, {"b": False}, [], [], {"h": {"b": "(39)"}}
    )
    solve = solve or MethodRun("optimal", cost=4.0, bound=4.0, offline=True)
    stated = {STATED + "optimum": 2.0, STATED + "b": 2.0}
    runs = {
        ("heuristic", "h"): replace(run, quantities=stated),
        ("exact", "exact"): replace(solve, interpretation=interpretation),
        ("bound", "b"): MethodRun("done", bound=bound),
    }
    table = frame(ratio_rows(spec, runs))
    return [judged(table, against)["verdict"].tolist() for against in ("optimum", "b")]


def measured(cost):
    return MethodRun("done", cost=cost, offline=True)


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [
        (RATIO, "kept"),
        (RATIO * (1 - 0.9e-6), "kept"),
        (RATIO * (1 - 1.1e-6), "violated"),
        (RATIO - 0.01, "violated"),
        (3.0, "kept"),
    ],
)
def test_a_guarantee_is_violated_if_the_ratio_is_a_millionth_above_it(factor, verdict):
    assert verdicts(lambda instance: factor) == [verdict]


def test_against_a_bound_on_the_optimum_a_guarantee_is_kept_or_stays_open():
    bound_alone = MethodRun("no_solution", bound=4.0)
    assert rows_of(MethodRun("done", cost=8.0), solve=bound_alone)[0] == ["kept"]
    assert rows_of(MethodRun("done", cost=9.0), solve=bound_alone)[0] == ["open"]


def test_a_schedule_alone_refutes_a_guarantee_and_cannot_show_that_it_is_kept():
    schedule = MethodRun("feasible", cost=4.0, offline=True)
    assert rows_of(MethodRun("done", cost=9.0), solve=schedule)[0] == ["violated"]
    assert rows_of(MethodRun("done", cost=8.0), solve=schedule)[0] == ["open"]
    between = MethodRun("feasible", cost=4.0, bound=3.0, offline=True)
    assert rows_of(measured(9.0), solve=between)[0] == ["violated"]
    assert rows_of(measured(7.0), solve=between)[0] == ["open"]
    assert rows_of(measured(6.0), solve=between)[0] == ["kept"]


def test_when_maximising_it_is_the_optimum_over_the_value():
    assert rows_of(measured(2.0), sense="maximise") == [["kept"], ["kept"]]
    assert rows_of(measured(1.9), sense="maximise")[0] == ["violated"]
    assert rows_of(measured(0.9), sense="maximise")[1] == ["violated"]


def test_a_value_of_nothing_violates_what_is_stated_against_the_optimum_and_a_bound():
    assert rows_of(measured(0.0), sense="maximise") == [["violated"], ["violated"]]
    assert rows_of(measured(0.0), sense="maximise", bound=0.0)[1] == ["kept"]


def test_an_optimum_of_another_instance_decides_nothing():
    assert rows_of(measured(100.0), interpretation="times taken up to whole slots") == [
        ["open"],
        ["open"],
    ]


def test_a_run_without_a_ratio_is_not_judged():
    assert rows_of(MethodRun(Status.VIOLATED, cost=9.0)) == [[], []]
    assert rows_of(MethodRun(Status.ERROR)) == [[], []]


def test_a_factor_gets_the_options_it_names_and_the_instance():
    def factor(instance, epsilon):
        return len(instance.price) + epsilon

    told = osd.Guarantee(factor, "optimum", assumption="", source="Lemma 7")
    greedy = osd.Heuristic("mine", covering.greedy, "", "", guarantees=[told])
    assert greedy.stated(INSTANCE, {}) == {"optimum": 3.0}
    assert greedy.stated(INSTANCE, {"epsilon": 0.5}) == {"optimum": 3.5}


def test_what_is_stated_of_no_instance_has_no_column():
    found = osd.ratios("covering", stating(lambda instance: math.inf), instances=INSTANCE)
    assert not [name for name in found.table() if "stated" in name]
    assert not [name for name in found.summary() if "stated" in name]
    assert found.violations() == []


def test_a_factor_that_raises_is_told_and_the_ratio_stays():
    def factor(instance):
        raise ZeroDivisionError("no server")

    (row,) = osd.ratios("covering", stating(factor), instances=INSTANCE).rows
    assert row.ratio_high == pytest.approx(RATIO)
    assert (
        "guarantees of all: "
        in osd.ratios("covering", stating(factor), instances=INSTANCE)
        .runs_table()["message"]
        .str.cat()
    )


def test_a_bound_that_the_problem_does_not_have_is_refused_before_anything_runs():
    allowed = "must be one of optimum, fractional"
    with pytest.raises(osd.InputError, match=rf"guarantees of all = 'lp2': {allowed}"):
        osd.ratios("covering", stating(lambda instance: 2.0, "lp2"), instances=INSTANCE)
    one = stating(lambda instance: 2.0).guarantees
    with pytest.raises(osd.InputError, match="guarantees of twice = 'optimum'"):
        osd.Heuristic("twice", covering.everything, "", "", guarantees=[*one, *one])


def test_the_summary_has_the_worst_ratio_beside_what_is_stated_and_their_quotient():
    heuristic = stating(lambda instance: 2.0 if instance.demand > 30 else 4.0)
    found = osd.ratios("covering", heuristic, grid={"items": 6}, seeds=5)
    (line,) = found.summary().to_dict("records")
    rows = judged(found.table(), "optimum")
    assert (line["stated_optimum_low"], line["stated_optimum_high"]) == (2.0, 4.0)
    assert line["worst_optimum_high"] == line["max_high"]
    assert line["over_stated_optimum_high"] == (rows["high"] / rows["stated"]).max()
    counts = rows["verdict"].value_counts()
    assert [line[f"{one}_optimum"] for one in ("kept", "violated", "open")] == [
        counts.get(one, 0) for one in ("kept", "violated", "open")
    ]


def test_heuristics_of_which_nothing_is_stated_have_no_line_among_the_guarantees(tmp_path):
    mine = stating(lambda instance: 3.0)
    found = osd.ratios("covering", [mine, "greedy"], instances=INSTANCE)
    summary = found.summary().set_index("heuristic")
    assert summary.loc["all", "stated_optimum_high"] == 3.0
    assert math.isnan(summary.loc["greedy", "stated_optimum_high"])
    stated = repr(found).split("against")[1]
    assert "all" in stated
    assert "greedy" not in stated
    found.to_html(tmp_path / "page.html")
    assert "What is stated" in (tmp_path / "page.html").read_text()


SAID = re.compile(
    r"VIOLATED by all on 1 of 1: ratio to the optimum 2\.429, 2 stated, on instance "
    r"\(Lemma 7; every item fits\)"
)


def test_a_violated_guarantee_is_said_in_every_view(tmp_path):
    found = osd.ratios("covering", stating(lambda instance: 2.0), instances=INSTANCE)
    assert SAID.fullmatch(*found.violations())
    assert SAID.search(repr(found))
    assert SAID.search(found._repr_html_())
    found.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert SAID.search(page)
    assert 'class="violated"' in page
    assert "VIOLATED 1" in page


FILE = """
import covering
from optsched import Guarantee, Heuristic

told = Guarantee(lambda instance: {factor}, "optimum", "every item fits", "Lemma 7")
all = Heuristic("all", covering.everything, "", "all items", guarantees=[told])
"""


@pytest.mark.parametrize(("factor", "exits"), [(1.0, 1), (99.0, 0)])
def test_the_command_line_is_loud_about_a_violated_guarantee(
    cli, tmp_path, monkeypatch, factor, exits
):
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "mine.py").write_text(FILE.format(factor=factor))
    words = ["ratio", "covering", "--heuristics", f"{tmp_path}/mine.py:all", "--seeds", 2]
    said = cli(*words, "--workers", 1)
    assert said.exit_code == exits, said.output
    assert ("VIOLATED by all" in said.stdout) is bool(exits)
    assert "worst / stated" in said.stdout
    told = json.loads(cli(*words, "--workers", 1, "--json").stdout)
    assert len(told["violations"]) == exits


def test_a_study_with_a_violated_guarantee_exits_with_1(cli, tmp_path):
    (tmp_path / "mine.py").write_text(FILE.format(factor=1.0))
    study = tmp_path / "study.toml"
    study.write_text(
        f'[[grid]]\nproblem = "covering"\nseeds = 1\nheuristics = ["{tmp_path}/mine.py:all"]\n'
    )
    assert cli("study", "run", study, "--workers", 1).exit_code == 1
    cli("study", "show", study, "-o", tmp_path / "told.md")
    told = (tmp_path / "told.md").read_text()
    assert "**VIOLATED by" in told
    assert "- Against `optimum`: Lemma 7; every item fits." in told
    shown = cli("study", "show", study)
    assert shown.exit_code == 1
    assert "VIOLATED by all" in shown.stdout
