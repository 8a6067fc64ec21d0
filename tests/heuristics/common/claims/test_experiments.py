"""Experiments: run once, resumed, and no failure costs the others anything."""

import statistics

import pytest
from claims_cases import claim, doubles, findings, mean_double, tasks
from typer.testing import CliRunner

from heuristics.common.claims import Sweep, UnmeasuredError, claims, run_experiments
from optsched.cli import app
from optsched.errors import InputError
from optsched.study import Ratios, Store


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
        results = Ratios.of(store)
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
