"""Claims: the rules of verdicts, experiments that fail, measurements that survive, tables."""

import json
import math
import statistics
import sys
import types
from importlib.metadata import EntryPoint

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from optsched.claims import (
    Claim,
    Finding,
    Judged,
    Reading,
    Sweep,
    UnmeasuredError,
    claims,
    compared,
    compared_means,
    counted,
    data_folder,
    experiments,
    latex,
    markdown,
    measure_claims,
    run_experiments,
    table,
)
from optsched.claims.readings import best, fits
from optsched.cli import app
from optsched.errors import InputError
from optsched.evaluation.tables import mean_interval
from optsched.study import Results, Store

DIRECTION = "direction holds, size does not"


def at_least_one(value):
    """Three equal values, so that the interval is one."""
    return compared([value] * 3, 1.0, sense="at least")


def claim(name, experiment, judge=at_least_one, **rest):
    """A claim with what tests do not care about filled in."""
    return Claim(name, "Figure 1", f"the text of {name}", "as it is", experiment, judge, **rest)


def findings(of, **options):
    """What comes of claims on one problem, by name."""
    judged = measure_claims({"covering": of}, "quick", **options)
    return {item.claim.name: item.finding for item in judged}


# verdicts


@pytest.mark.parametrize(
    ("measured", "printed", "sense", "neutral", "verdict"),
    [
        (0.33, 0.33, "about", 0.0, "holds"),
        (0.3101, 0.33, "about", 0.0, "holds"),  # just within the slack
        (0.3099, 0.33, "about", 0.0, DIRECTION),
        (0.36, 0.33, "about", 0.0, DIRECTION),
        (2.31, 0.33, "about", 0.0, DIRECTION),  # seven times too much is not the size
        (98.01, 100.0, "at least", None, "holds"),  # relative to what is large
        (97.99, 100.0, "at least", None, "fails"),
        (0.10, 0.33, "about", 0.0, DIRECTION),
        (-0.33, 0.33, "about", 0.0, "fails"),
        (0.0, 0.33, "about", 0.0, "fails"),
        (-0.30, -0.15, "about", 0.0, DIRECTION),
        (-0.16, -0.15, "about", 0.0, "holds"),
        (0.15, -0.15, "about", 0.0, "fails"),
        (0.02, 0.76, "about", 1.0, DIRECTION),  # a fiftieth is no three quarters
        (1.3, 0.76, "about", 1.0, "fails"),
        (0.13, 0.12, "at most", None, "holds"),
        (0.20, 0.12, "at most", None, "fails"),
        (9.0, 9.0, "about", None, "holds"),
        (12.0, 9.0, "about", None, "fails"),
        (0.0, 0.0, "about", None, "holds"),
    ],
)
def test_direction_and_size_are_judged_apart(measured, printed, sense, neutral, verdict):
    found = compared([measured] * 3, printed, sense=sense, neutral=neutral)
    assert found.verdict == verdict


@given(
    printed=st.floats(-100, 100),
    measured=st.lists(st.floats(-200, 200), min_size=2, max_size=2),
    sense=st.sampled_from(["at least", "at most"]),
)
@settings(deadline=None, max_examples=200)
def test_measuring_better_never_makes_a_bound_worse(printed, measured, sense):
    worse, good = sorted(measured, reverse=sense == "at most")
    verdicts = [compared([value] * 3, printed, sense=sense).verdict for value in (worse, good)]
    assert verdicts != ["holds", "fails"]


def test_values_that_are_no_numbers_are_left_out_and_the_note_says_so():
    found = compared([1.0, math.nan, math.inf, 3.0], 2.0)
    assert (found.value, found.instances) == (2.0, 2)
    assert "2 of 4" in found.note
    assert compared([math.nan], 2.0).verdict == "not measured"


def test_room_is_absolute_and_slack_relative():
    assert compared([98.5] * 3, 100.0, room=1.0).verdict == "fails"
    assert compared([98.5] * 3, 100.0, slack=0.02).verdict == "holds"


@given(values=st.lists(st.floats(1, 100), min_size=2, max_size=8), scale=st.floats(0.5, 50))
@settings(deadline=None, max_examples=100)
def test_a_ratio_to_a_constant_has_the_interval_of_the_mean(values, scale):
    found = compared_means(values, [scale] * len(values), 1.0)
    low, high = mean_interval(values)
    assert found.value == pytest.approx(sum(values) / len(values) / scale)
    assert (found.low * scale, found.high * scale) == pytest.approx((low, high), abs=1e-6)


def test_a_ratio_of_means_survives_an_instance_where_the_rival_has_nothing():
    found = compared_means([3.0, 3.0], [0.0, 4.0], 50.0, gain=True, percent=True)
    assert found.value == pytest.approx(50.0)
    assert found.verdict == "not measured"
    assert compared_means([1.0], [0.0], 1.0).verdict == "not measured"


def test_proportional_methods_have_a_ratio_without_spread():
    found = compared_means([1.0, 5.0, 9.0], [2.0, 10.0, 18.0], 0.5)
    assert (found.low, found.value, found.high) == pytest.approx((0.5, 0.5, 0.5))


def test_methods_measured_on_different_instances_are_not_compared():
    with pytest.raises(InputError, match="as many as values"):
        compared_means([1.0], [1.0, 2.0], 1.0)


def test_an_order_holds_on_all_instances_and_has_the_direction_on_most():
    signs = ([True] * 6, [True] * 9 + [False], [False] * 6, [True, False])
    assert [counted(h).verdict for h in signs] == ["holds", DIRECTION, "fails", "not measured"]
    assert counted([True, False]).value == 0.5
    assert counted([]).verdict == "not measured"


# experiments


def test_an_experiment_that_claims_share_runs_once():
    calls = []

    def experiment(scale):
        calls.append(scale)
        return 1.0

    found = findings([claim("one", experiment), claim("two", experiment)])
    assert [f.verdict for f in found.values()] == ["holds", "holds"]
    assert calls == ["quick"]


def test_an_experiment_that_fails_is_a_finding_and_costs_the_others_nothing():
    def broken(scale):
        raise ZeroDivisionError("nothing to divide by")

    def out_of_reach(scale):
        raise UnmeasuredError("nobody has the machine")

    found = findings(
        [
            claim("broken", broken),
            claim("reach", out_of_reach),
            claim("fine", lambda scale: 1.0),
            claim("judge", lambda scale: 1.0, judge=lambda value: value["no such thing"]),
        ]
    )
    assert {name: f.verdict for name, f in found.items()} == {
        "broken": "not measured",
        "reach": "not measured",
        "fine": "holds",
        "judge": "not measured",
    }
    assert found["broken"].note == "ZeroDivisionError: nothing to divide by"
    assert found["reach"].note == "nobody has the machine"
    assert [name for name, f in found.items() if f.failed] == ["broken", "judge"]


def tasks(scale):
    return [{"size": size} for size in range(4 if scale == "quick" else 6)]


def mean_double(frame):
    return compared(frame["double"].tolist(), 3.0)


def doubles(calls=None, fails_at=(), error=ValueError):
    """A sweep over sizes, whose measurements are twice the size."""

    def double(size):
        if calls is not None:
            calls.append(size)
        if size in fails_at:
            raise error("too large")
        return [{"double": 2 * size}]

    return Sweep("doubles", tasks, double)


def test_a_sweep_is_a_table_of_its_tasks_and_their_rows():
    frame = doubles()("full")
    assert frame.to_dict("list") == {"size": [0, 1, 2, 3, 4, 5], "double": [0, 2, 4, 6, 8, 10]}


def test_a_sweep_goes_over_processes_and_comes_back_in_order():
    of = [claim("mean", doubles(), mean_double)]
    (result,) = run_experiments({"covering": of}, "quick", workers=2).values()
    assert result.value["size"].tolist() == [0, 1, 2, 3]
    assert findings(of, workers=2) == findings(of, workers=1)


def test_an_instance_that_fails_leaves_the_others_and_is_told():
    found = findings([claim("mean", doubles(fails_at=[3]), mean_double)])["mean"]
    assert (found.value, found.instances, found.failed) == (2.0, 3, True)
    assert "1 of 4 instances failed, one by ValueError: too large" in found.note


def test_tasks_that_cannot_be_said_are_a_finding():
    def unavailable(scale):
        raise UnmeasuredError("no trace")

    found = findings([claim("mean", Sweep("none", unavailable, print), mean_double)])["mean"]
    assert (found.verdict, found.note, found.failed) == ("not measured", "no trace", False)


def test_rows_that_are_no_numbers_or_texts_are_refused():
    sweep = Sweep("odd", lambda scale: [{}], lambda: [{"value": object()}])
    found = findings([claim("odd", sweep, mean_double)])["odd"]
    assert found.failed
    assert found.verdict == "not measured"


def test_what_is_kept_is_not_measured_again(tmp_path):
    calls = []
    of = [claim("mean", doubles(calls), mean_double)]
    file = tmp_path / "kept.sqlite"
    first = findings(of, keep=file)
    assert calls == [0, 1, 2, 3]
    assert findings(of, keep=file) == first == findings(of)
    assert calls == [0, 1, 2, 3, 0, 1, 2, 3]  # measured without a file only
    run_experiments({"covering": of}, "full", keep=file)
    assert calls[8:] == [4, 5]


def test_a_run_that_is_interrupted_goes_on_where_it_was(tmp_path):
    calls = []
    file = tmp_path / "kept.sqlite"
    fails_at = [2]
    of = [claim("mean", doubles(calls, fails_at, KeyboardInterrupt), mean_double)]
    with pytest.raises(KeyboardInterrupt):
        findings(of, keep=file)
    calls.clear()
    fails_at.clear()
    assert findings(of, keep=file)["mean"].value == 3.0
    assert calls == [2, 3]


def test_measurements_are_runs_of_a_study_and_live_in_its_store(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    file = tmp_path / "kept.sqlite"
    of = [claim("mean", doubles(fails_at=[3]), mean_double), claim("one", lambda scale: 1.0)]
    findings(of, keep=file)
    with Store.reading(file) as store:
        results = Results.of(store)
        (rows,) = [store.rows(key) for key in results.runs if store.rows(key) == [{"double": 4}]]
    assert rows == [{"double": 4}]
    assert results.rows == []  # a sweep is compared with nothing
    told = {step.method: dict(step.statuses) for step in results.steps()}
    assert told == {"<lambda>": {"done": 1}, "doubles": {"done": 3, "error": 1}}
    shown = CliRunner().invoke(app, ["study", "show", str(file)], catch_exceptions=False)
    assert "ValueError: too large" in shown.stdout
    assert "5 of 5 runs" in shown.stderr


def test_what_failed_is_measured_again_and_nothing_else(tmp_path):
    calls, fails_at = [], [1]
    of = [claim("mean", doubles(calls, fails_at), mean_double)]
    findings(of, keep=tmp_path / "kept.sqlite")
    fails_at.clear()
    calls.clear()
    assert not findings(of, keep=tmp_path / "kept.sqlite")["mean"].failed
    assert calls == [1]


def test_code_that_was_mended_measures_again(tmp_path, monkeypatch):
    (tmp_path / "measuring.py").write_text("def double(size): return [{'double': 2 * size}]\n")
    monkeypatch.syspath_prepend(tmp_path)
    import measuring

    of = [claim("mean", Sweep("module", tasks, measuring.double), mean_double)]
    file, seen = tmp_path / "kept.sqlite", []
    for told in (4, 0):
        run_experiments({"covering": of}, "quick", keep=file, progress=seen.append)
        assert seen[-1].computed == told
    (tmp_path / "measuring.py").write_text("def double(size): return [{'double': size + size}]\n")
    run_experiments({"covering": of}, "quick", keep=file, progress=seen.append)
    assert seen[-1].computed == 4


def test_a_worker_with_other_code_measures_nothing(monkeypatch):
    monkeypatch.setattr("optsched.study.worker.code_versions", lambda _: {"code": "another"})
    sweep = Sweep("module", tasks, statistics.mean)  # imported by name wherever it is called
    with pytest.raises(InputError, match="another"):
        run_experiments({"covering": [claim("mean", sweep, mean_double)]}, "quick")


def test_experiments_that_share_a_line_are_measured_each():
    found = findings([claim("one", lambda scale: 1.0), claim("two", lambda scale: 0.0)])
    assert [f.value for f in found.values()] == [1.0, 0.0]


def test_a_file_of_another_kind_is_refused(tmp_path):
    file = tmp_path / "notes.md"
    file.write_text("these are no measurements, and there are many of them" * 40)
    with pytest.raises(InputError, match="cannot be read"):
        findings([claim("mean", doubles(), mean_double)], keep=file)


def test_progress_counts_every_part():
    seen = []
    of = [claim("mean", doubles(), mean_double), claim("one", lambda scale: 1.0)]
    run_experiments({"covering": of}, "quick", progress=seen.append)
    assert [told.finished for told in seen] == [0, 1, 2, 3, 4, 5]
    assert {told.planned for told in seen} == {5}
    assert seen[-1].latest == "doubles"


def test_traces_are_looked_for_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.delenv("OPTSCHED_DATA", raising=False)
    with pytest.raises(UnmeasuredError, match="OPTSCHED_DATA"):
        data_folder("philly")
    monkeypatch.setenv("OPTSCHED_DATA", str(tmp_path))
    with pytest.raises(InputError, match="philly"):
        data_folder("philly")
    (tmp_path / "philly").mkdir()
    assert data_folder("philly") == tmp_path / "philly"


# what packages announce


@pytest.fixture
def announce(monkeypatch):
    """Announce claims as an installed package would; one more package cannot be loaded."""

    def make(*of):
        module = types.ModuleType("claims_on_covering")
        module.CLAIMS = of
        monkeypatch.setitem(sys.modules, module.__name__, module)
        entries = [
            EntryPoint("covering", "claims_on_covering:CLAIMS", "optsched.claims"),
            EntryPoint("lost", "no.such.module:CLAIMS", "optsched.claims"),
        ]
        monkeypatch.setattr(experiments, "entry_points", lambda group: entries)

    return make


def test_a_package_that_cannot_be_loaded_is_left_out_with_a_warning(announce):
    announce(claim("one", lambda scale: 1.0))
    with pytest.warns(UserWarning, match="no.such.module"):
        assert list(claims()) == ["covering"]
    with pytest.raises(InputError, match="cannot be loaded"):
        claims("lost")
    with pytest.raises(InputError, match="covering, lost"):
        claims("nothing")


@pytest.mark.filterwarnings("ignore:entry point")
def test_every_announced_claim_says_what_it_is():
    found = claims()
    assert found
    for of in found.values():
        names = [one.name for one in of]
        assert len(set(names)) == len(names)
        assert all(one.source and one.text and one.how for one in of)


# readings

WIDE = Reading("wide", (False, True), "Section 2 does not say")
ROUNDED = Reading("rounded", ("down", "up"), "a table in whole numbers", judged=True)


def lengths(calls=None):
    """A sweep whose lengths hang on a reading."""

    def length(size, wide=False):
        if calls is not None:
            calls.append((size, wide))
        return [{"length": 10.0 * (1 + wide)}]

    return Sweep("lengths", tasks, length)


def twenty(frame, rounded="down"):
    return compared((frame["length"] + (rounded == "up")).tolist(), 20.0, neutral=0.0, room=0.5)


def judged_under(of, readings=True, **options):
    (item,) = measure_claims({"covering": [of]}, "quick", readings=readings, **options)
    return item


def test_a_claim_that_holds_under_one_reading_alone_depends_on_it():
    item = judged_under(claim("length", lengths(), twenty, printed=20.0, readings=(WIDE, ROUNDED)))
    verdicts = {tuple(one.combination.values()): one.finding.verdict for one in item.under}
    assert verdicts == {
        (False, "down"): DIRECTION,
        (False, "up"): DIRECTION,
        (True, "down"): "holds",
        (True, "up"): "holds" if abs(21 - 20) <= 0.5 else DIRECTION,
    }
    assert item.finding.verdict == "depends on the reading"
    assert item.finding.value == 10.0  # of the default, which stands first
    assert "holds under 1 of 4 readings: wide True, rounded down" in item.finding.note


def test_the_default_alone_is_measured_unless_readings_are_asked_for():
    calls = []
    of = claim("length", lengths(calls), twenty, readings=(WIDE, ROUNDED))
    assert judged_under(of, readings=False).under == ()
    assert {wide for _, wide in calls} == {False}
    calls.clear()
    judged_under(of)
    assert len(calls) == 2 * 4  # a reading that is only judged measures nothing anew


def test_a_reading_that_moves_no_verdict_leaves_the_claim_alone():
    item = judged_under(claim("length", lengths(), at_least, readings=(WIDE,)))
    assert item.finding.verdict == "holds"
    assert len(item.under) == 2


def at_least(frame):
    return compared(frame["length"].tolist(), 5.0, sense="at least")


def test_the_reading_that_fits_best_has_the_best_verdict_and_then_the_least_distance():
    item = judged_under(claim("length", lengths(), twenty, printed=20.0, readings=(WIDE, ROUNDED)))
    assert best(item).combination == {"wide": True, "rounded": "down"}
    (first, *_) = fits([item])
    assert (first.combination, first.holds) == ({"wide": True, "rounded": "down"}, 1)
    assert first.distance == 0.0


def test_readings_stand_beside_their_claim_on_the_page():
    item = judged_under(claim("length", lengths(), twenty, printed=20.0, readings=(WIDE, ROUNDED)))
    page = markdown([item])
    assert "| wide True, rounded down * | 20 | 20 to 20 | 4 | holds |" in page
    assert "**wide** (False, True): Section 2 does not say" in page


def test_what_is_no_claim_of_the_paper_is_measured_and_says_so():
    item = judged_under(claim("length", lengths(), at_least, standing="not in the paper"))
    assert (item.finding.verdict, item.finding.value) == ("not in the paper", 10.0)


def test_quick_verdicts_are_provisional_and_say_of_how_many():
    item = judged_under(claim("length", lengths(), at_least))
    assert "holds (provisional, n = 4)" in markdown([item])
    assert "provisional" not in markdown([Judged("covering", item.claim, item.finding)])


# tables

ODD = "a | b & 5 % of $x_1$ {where} #2 ~ ^ \\ n ≥ 3"


@pytest.fixture
def judged():
    """Findings of every verdict, one with all characters that markup takes for its own."""
    verdicts = [
        Finding("holds", 0.35, 0.3, 0.4, 12),
        Finding(DIRECTION, 20.04, 18.0, 22.0, 3, "some settings only"),
        Finding("fails", -1.0, instances=1),
        Finding("not measured", note=ODD),
    ]
    return [
        Judged("covering", Claim(f"c{i}", "Fig. 1", ODD, "as is", print, print, 0.33, "%"), finding)
        for i, finding in enumerate(verdicts)
    ]


def test_a_table_has_a_line_per_claim(judged):
    frame = table(judged)
    assert frame["verdict"].tolist() == ["holds", DIRECTION, "fails", "not measured"]
    assert frame["instances"].tolist() == [12, 3, 1, 0]
    assert frame["printed"].tolist() == [0.33] * 4


def test_markdown_rows_have_as_many_cells_as_the_header(judged):
    rows = [line for line in markdown(judged).splitlines() if line.startswith("|")]
    cells = {row.replace(r"\|", "").count("|") for row in rows}
    assert len(rows) == 2 + len(judged)
    assert cells == {9}
    assert "4 claims: 1 holds, 1 in direction only, 1 fails, 1 not measured" in markdown(judged)


def test_latex_escapes_what_it_takes_for_its_own(judged):
    text = latex(judged)
    body = [line for line in text.splitlines() if line.endswith(r"& holds \\")]
    (row,) = [line for line in body if "caption" not in line]
    cells = row.replace(r"\&", "").count("&")
    assert cells == 6
    assert r"5 \% of \$x\_1\$ \{where\} \#2" in row
    assert r"$\ge$" in row
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") == 1


# the command


@pytest.fixture
def cli(monkeypatch):
    """Run optsched claims in this process."""
    monkeypatch.delenv("OPTSCHED_DATA", raising=False)

    def run(*arguments, status=0):
        result = CliRunner().invoke(app, ["claims", *map(str, arguments)], catch_exceptions=False)
        assert result.exit_code == status, result.stderr
        return result

    return run


def test_the_command_says_what_holds_and_writes_every_kind_of_table(announce, cli, tmp_path):
    announce(claim("mean", doubles(), mean_double, printed=3.0), claim("one", lambda scale: 5.0))
    said = json.loads(cli("--json", "--workers", 1).stdout)
    assert said["scale"] == "quick"
    assert [c["verdict"] for c in said["claims"]] == ["holds", "holds"]
    assert [c["printed"] for c in said["claims"]] == [3.0, None]
    for ending, beginning in ((".md", "## cov"), (".tex", "%"), (".csv", "prob"), (".json", "[")):
        file = tmp_path / f"table{ending}"
        cli("covering", "--workers", 1, "-o", file)
        assert file.read_text().startswith(beginning)
    file = tmp_path / "rows.csv"
    cli("--workers", 1, "--measurements", file)
    assert file.read_text().splitlines()[:2] == ["sweep,size,double", "doubles,0,0"]


def test_the_command_exits_1_where_something_went_wrong_and_0_where_a_claim_fails(announce, cli):
    announce(claim("wrong", lambda scale: 0.0))
    assert "fails" in cli("--workers", 1).stdout
    announce(claim("mean", doubles(fails_at=[1]), mean_double))
    assert "too large" in cli("--workers", 1, status=1).stdout


def test_one_claim_may_be_chosen(announce, cli):
    announce(claim("one", lambda scale: 1.0), claim("two", lambda scale: 1 / 0))
    said = json.loads(cli("--claim", "one", "--workers", 1, "--json").stdout)
    assert [c["claim"] for c in said["claims"]] == ["one"]
    assert "--list" in cli("--claim", "three", status=2).stderr


def test_listing_measures_nothing(announce, cli):
    announce(claim("one", lambda scale: pytest.fail("measured"), printed=0.5, unit="jobs"))
    assert "0.5 jobs" in cli("--list").stdout
    (said,) = json.loads(cli("--list", "--json").stdout)["claims"]
    assert (said["name"], said["how"]) == ("one", "as it is")


def test_a_full_run_keeps_what_it_measures_and_goes_on(announce, cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    calls = []
    announce(claim("mean", doubles(calls), mean_double))
    for _ in range(2):
        said = json.loads(cli("--full", "--workers", 1, "--json").stdout)
        assert said["claims"][0]["measured"] == 5.0
    assert calls == [0, 1, 2, 3, 4, 5]
    assert (tmp_path / "out" / "claims.sqlite").is_file()


@pytest.mark.parametrize("width", [40, 60, 100, 160])
def test_what_is_printed_fits_the_terminal(announce, cli, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    announce(claim("mean", doubles(fails_at=[3]), mean_double, printed=3.0, unit="slots"))
    shown = cli("--workers", 1, status=1).stdout
    assert max(map(len, shown.splitlines())) <= width
    words = " ".join(shown.split())
    assert all(word in words for word in ("covering", "provisional", "3 slots", "too large"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("--quick", "--full"),
        ("-o", "table.docx"),
        ("--data", "no/such/folder"),
        ("nothing",),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_runs(announce, cli, arguments):
    announce(claim("one", lambda scale: pytest.fail("measured")))
    assert "error" in cli(*arguments, status=2).stderr
