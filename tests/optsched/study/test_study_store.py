"""The store of a study is one file, read by many and written by one."""

import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace

import pandas as pd
import pytest

from optsched.errors import InputError
from optsched.study import Exact, Ratios, Store, StoreLostError, StudyGrid, run_study
from optsched.study.export import write
from optsched.study.plan import Plan
from optsched.study.sweep import Sweep, add_sweep

SMALL = StudyGrid(
    "covering",
    generator={"items": [4], "prices": [None, (1, 9)]},
    seeds=range(2),
    heuristics=["greedy", "greedy(epsilon=0.5)", "crashing"],
    bounds=["fractional"],
)


@pytest.fixture
def path(tmp_path):
    """Where a store may go."""
    return tmp_path / "study.sqlite"


@pytest.fixture
def results(path):
    """A finished study."""
    return run_study([SMALL], path, workers=1)


def test_what_is_read_is_what_was_computed(path, results):
    with Store.reading(path) as store:
        assert Ratios.of(store) == results
    assert len(results.rows) == 2 * 2 * 3


def test_a_store_has_one_writer(path):
    with Store.open(path), pytest.raises(InputError, match="no other study is writing"):
        Store.open(path)
    Store.open(path).close()


def test_a_store_is_read_while_it_is_written(path):
    seen = []

    def look(progress):
        with Store.reading(path) as store:
            seen.append((Ratios.of(store).progress.finished, progress.finished))

    run_study([SMALL], path, workers=1, progress=look)
    assert len(seen) > 10
    assert all(read == told for read, told in seen)


def test_a_transaction_is_all_or_nothing(path, results):
    with Store.open(path) as store:
        key = next(iter(results.runs))
        with suppress(ZeroDivisionError), store.writing():
            store.put_run((key[0], key[1], 99), results.runs[key], 0.0)
            raise ZeroDivisionError
        assert not store.has((key[0], key[1], 99))
        with store.writing():
            store.put_run((key[0], key[1], 99), results.runs[key], 0.0)
        assert store.has((key[0], key[1], 99))


def test_a_run_is_never_kept_twice(path, results):
    key = next(iter(results.runs))
    with Store.open(path) as store, pytest.raises(sqlite3.IntegrityError), store.writing():
        store.put_run(key, results.runs[key], 0.0)


def test_people_may_ask_questions_in_sql(path, results):
    with sqlite3.connect(path) as sql:
        question = "SELECT call, COUNT(*) FROM results WHERE status = 'done' GROUP BY call"
        assert dict(sql.execute(question)) == {
            "greedy": 4,
            "greedy(epsilon=0.5)": 4,
            "fractional": 4,
        }


@pytest.mark.parametrize("how", [Store.open, Store.reading])
def test_a_file_of_another_kind_is_refused(how, path):
    path.write_text("not a database, and long enough to be told from one " * 50)
    with pytest.raises(InputError, match="cannot be read"):
        how(path)
    path.unlink()
    with sqlite3.connect(path) as sql:
        sql.execute("CREATE TABLE other (x)")
    sql.close()
    with pytest.raises(InputError, match="that a study has written"):
        how(path)


def test_a_store_of_another_format_is_refused(path, results):
    with sqlite3.connect(path) as sql:
        sql.execute("PRAGMA user_version = 99")
    sql.close()
    with pytest.raises(InputError, match="format 7: this one is 99"):
        Store.open(path)


def test_nothing_to_read_is_told(path):
    with pytest.raises(InputError, match="has written"):
        Store.reading(path)
    Store.open(path).close()
    with Store.reading(path) as store:
        assert Ratios.of(store).progress.planned == 0


def test_tables_are_written_as_csv_and_parquet(results, tmp_path):
    for table in (results.table(), results.runs_table()):
        write(table, tmp_path / "new" / "t.csv")
        write(table, tmp_path / "new" / "t.parquet")
        text, columns = (
            pd.read_csv(tmp_path / "new/t.csv"),
            pd.read_parquet(tmp_path / "new/t.parquet"),
        )
        assert list(text.columns) == list(columns.columns) == list(table.columns)
        assert len(text) == len(columns) == len(table) > 0
        pd.testing.assert_series_equal(columns["cost"], table["cost"], check_dtype=False)
    assert sorted(columns["prices"].dropna().unique()) == ["[1, 9]"]


def test_a_table_of_runs_has_every_kind_of_method(results):
    table = results.runs_table()
    assert set(table["kind"]) == {"heuristic", "bound", "exact"}
    assert len(table) == 4 * 5
    assert table.loc[table["kind"] == "exact", "status"].eq("optimal").all()


def test_an_empty_plan_replaces_the_one_before(path, results):
    smaller = replace(SMALL, heuristics=["greedy"], generator={"items": [4]})
    assert len(run_study([smaller], path, workers=1).rows) == 2
    with Store.reading(path) as store:
        assert len(store.runs()) > 10


def test_a_full_disk_ends_a_study_in_words_and_keeps_what_it_has(path, monkeypatch):
    made = Store.open

    def small(where):
        store = made(where)
        (pages,) = store._sql.execute("PRAGMA page_count").fetchone()
        store._sql.execute(f"PRAGMA max_page_count = {pages + 4}")
        return store

    monkeypatch.setattr(Store, "open", small)
    grid = replace(SMALL, seeds=range(40))
    with pytest.raises(StoreLostError, match="cannot be written: database or disk is full"):
        run_study([grid], path, workers=1)
    with Store.reading(path) as store:
        assert store.runs()


@pytest.mark.parametrize("change", ["cost = 'dear'", "measures = '['", "seconds = 'long'"])
def test_of_a_damaged_store_the_rest_is_shown_beside_a_sentence(change, path, results, cli):
    with closing(sqlite3.connect(path)) as sql:
        sql.execute(f"UPDATE runs SET {change} WHERE rowid = (SELECT MIN(rowid) FROM runs)")
        sql.commit()
    with Store.reading(path) as store:
        found = Ratios.of(store)
    assert results.progress.finished - found.progress.finished == 1
    shown = cli("study", "show", path)
    assert "greedy" in shown.stdout
    assert shown.exit_code == 2
    assert "damaged (a line holds" in shown.stderr


@pytest.mark.parametrize("kept", [0.1, 0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("command", ["show", "run"])
def test_a_truncated_store_is_one_sentence(kept, command, path, results, cli, tmp_path):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole))])
    spec = tmp_path / "study.toml"
    spec.write_text('[[grid]]\nproblem = "covering"\nheuristics = ["greedy"]\n')
    done = cli("study", command, spec, "--store", path)
    assert done.exit_code == 2
    assert len([line for line in done.stderr.splitlines() if line.startswith("error: ")]) == 1


def test_a_lock_that_is_another_programs_file_is_refused(path):
    path.with_name(f"{path.name}-lock").write_text("no database, and not a short text" * 99)
    with pytest.raises(InputError, match="not a database"):
        Store.open(path)
    assert not Store.is_being_written(path)


def test_a_store_that_no_file_keeps_is_refused():
    with pytest.raises(InputError, match="store = ':memory:': a file"):
        run_study([SMALL], ":memory:", workers=1)


def test_a_message_that_is_no_text_is_kept_and_ends_no_study(path):
    def wrong(instance, rng):
        raise ValueError(os.fsdecode(b"caf\xe9.csv"))

    grid = replace(SMALL, heuristics=[wrong], exact=[], bounds=[])
    for _ in range(2):
        rows = run_study([grid], path, workers=1).rows
        assert {row.message for row in rows} == {"ValueError: caf?.csv"}


def test_rows_that_are_no_text_are_kept(path):
    with Store.open(path) as store:
        plan = Plan()
        sweep = Sweep("odd", lambda scale: [{"name": "\ud800"}], len)
        add_sweep(plan, "covering", sweep, "quick")
        store.set_plan(plan, 1)
        assert [case.cell for case in store.cases()] == [{"name": "?"}]


def test_a_place_that_cannot_be_written_is_refused_at_the_door():
    for place in ("/proc/nowhere/study.sqlite", "/proc/study.sqlite"):
        with pytest.raises(InputError, match="can be written"):
            run_study([SMALL], place, workers=1)


def test_a_status_that_no_run_can_have_is_not_retried(path):
    with pytest.raises(InputError, match=r"retry = 'bogus': a status of runs: optimal, feasible"):
        run_study([SMALL], path, workers=1, retry=["bogus"])
    assert not path.exists()


def test_results_are_written_as_csv_and_other_endings_are_refused(results, tmp_path):
    results.to_csv(tmp_path / "ratios.csv")
    assert len(pd.read_csv(tmp_path / "ratios.csv")) == len(results.rows)
    with pytest.raises(InputError, match=r"a file ending in \.csv"):
        results.to_csv(tmp_path / "ratios.xlsx")


def test_a_study_shows_itself_in_a_notebook(results):
    shown = results._repr_html_()
    assert "<table>" in shown
    assert "<svg" in shown
    assert "greedy(epsilon=0.5)" in shown


def test_flow_times_and_the_steps_of_a_solve_are_kept(tmp_path):
    grid = StudyGrid(
        "preemptive",
        {"jobs": [6], "servers": [3]},
        heuristics=["a_online"],
        exact=[Exact("problem_2_compact")],
    )
    results = run_study([grid], tmp_path / "study.sqlite", workers=1)
    with Store.reading(tmp_path / "study.sqlite") as store:
        for key, run in results.runs.items():
            times = store.flow_times(key)
            assert times == sorted(times)
            assert len(times) == (0 if run.cost is None else 6)
            assert sum(times) == pytest.approx(run.cost or 0.0)
            if run.solver:
                *_, last = steps = store.trajectory(key)
                assert last.objective == pytest.approx(run.cost)
                assert [step.seconds for step in steps] == sorted(step.seconds for step in steps)
            else:
                assert store.trajectory(key) == ()
