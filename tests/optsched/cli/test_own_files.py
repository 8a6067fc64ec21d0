"""Own data and own algorithms are measured from the command line, without a package."""

import json

import pytest

import optsched as osd

POLICY = """
class Earliest:
    \"\"\"Every chunk on the worker that ends it first.\"\"\"

    def arrive(self, job, state):
        if not len(job.eligible_workers):
            return state.send_to_cloud(job)
        for _ in range(job.num_chunks):
            state.send(job, min(job.eligible_workers, key=lambda worker: state.end(job, worker)))


def idle(instance, rng, k: int = 1):
    return None
"""
JOBS = """submitted;chunks;hours;upload_delay_edge;upload_delay_cloud
0;2;1;0;1
60;1;2;0;1
60;3;1;1;2
"""
COLUMNS = (
    "release_time=submitted/60",
    "num_chunks=chunks",
    "chunk_time_slow=hours",
    "chunk_time_fast=hours/2",
)


@pytest.fixture
def folder(tmp_path, monkeypatch, cli):
    """A table, how it is read, and an algorithm, in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(POLICY)
    (tmp_path / "jobs.csv").write_text(JOBS)
    (tmp_path / "workers.csv").write_text("server,count\n0,2\n")
    columns = [word for one in COLUMNS for word in ("--column", one)]
    rest = ["--edge-servers", 1, "--workers", "workers.csv"]
    kept = ["--save-mapping", "mapping.toml", "-o", "inst.json"]
    done = cli("import", "preemptive", "jobs.csv", *columns, *rest, *kept)
    assert done.exit_code == 0, done.stderr
    return tmp_path


TABLE = ("--instance", "jobs.csv", "--mapping", "mapping.toml")
MINE = "mine.py:Earliest"


def test_a_ratio_on_a_table_is_that_which_python_measures(folder, cli):
    done = cli("ratio", "preemptive", *TABLE, "--heuristics", f"a_online,{MINE}", "--json")
    assert done.exit_code == 0, done.stderr
    typed = {row["heuristic"]: row["ratio_low"] for row in json.loads(done.stdout)["rows"]}
    found = osd.ratios("preemptive", ["a_online", MINE], instances="inst.json")
    assert typed == {row.heuristic: row.ratio_low for row in found.rows}
    assert list(typed) == ["a_online", "Earliest"]


def test_a_saved_mapping_makes_the_same_instance_again(folder, cli):
    made = cli("import", "preemptive", "jobs.csv", "--mapping", "mapping.toml", "-o", "again.json")
    assert made.exit_code == 0, made.stderr
    assert (folder / "again.json").read_text() == (folder / "inst.json").read_text()


def test_what_is_typed_beside_a_mapping_goes_before_it(folder, cli):
    more = ["--mapping", "mapping.toml", "--slot-hours", 0.5, "--column", "num_chunks=hours"]
    made = cli("import", "preemptive", "jobs.csv", *more, "-o", "other.json")
    assert made.exit_code == 0, made.stderr
    other = json.loads((folder / "other.json").read_text())
    assert other["slot_hours"] == 0.5
    assert [job["num_chunks"] for job in other["jobs"]] == [1, 2, 1]


def test_files_that_a_pattern_of_the_shell_gives_are_all_measured_by_two_workers(folder, cli):
    (folder / "more.csv").write_text(JOBS.replace("60;1", "0;1"))
    files = ["--instance", "jobs.csv", "more.csv", "--mapping", "mapping.toml"]
    asked = ["--heuristics", MINE, "--workers", 2, "-o", "rows.csv"]
    done = cli("ratio", *files, "preemptive", *asked)
    assert done.exit_code == 0, done.stderr
    lines = (folder / "rows.csv").read_text().splitlines()
    assert [line.split(",")[1] for line in lines[1:]] == ["jobs", "more"]


def test_run_takes_a_heuristic_of_a_file_and_a_table(folder, cli):
    asked = ["--heuristic", MINE, "--json"]
    table = cli("run", "preemptive", "jobs.csv", "--mapping", "mapping.toml", *asked)
    made = cli("run", "preemptive", "inst.json", *asked)
    short = cli("run", MINE, "inst.json", "--json")
    assert table.exit_code == made.exit_code == short.exit_code == 0, table.stderr
    costs = [json.loads(one.stdout)["cost"] for one in (table, made, short)]
    assert costs[0] == costs[1] == costs[2]


def test_check_online_takes_a_heuristic_of_a_file(folder, cli):
    done = cli("check", "preemptive", "inst.json", "--online", "--heuristic", MINE)
    assert done.exit_code == 0, done.stderr
    assert "no decision was found" in done.stdout
    asked = ["--online", "--heuristic", MINE, "--seeds", 2, "--jobs", 3, "--servers", 2, "--json"]
    done = cli("check", "preemptive", *asked)
    assert json.loads(done.stdout)["instances"] == 2, done.stderr


def test_a_heuristic_that_fails_is_shown_by_its_own_frames(folder, cli):
    (folder / "bad.py").write_text("def bad(instance, rng):\n    return 1 / 0\n")
    done = cli("check", "preemptive", "inst.json", "--online", "--heuristic", "bad.py:bad")
    assert done.exit_code == 1
    assert "ZeroDivisionError" in done.stderr
    assert 'bad.py", line 2' in done.stderr


def test_a_worst_case_of_a_heuristic_of_a_file_is_found_and_derived_again(folder, cli):
    named = ["--heuristic", MINE]
    size = ["--jobs", 2, "--servers", 2, "--evaluations", 4, "--workers", 2, "--no-shrink"]
    done = cli("adversarial", "find", "preemptive", *named, *size, "-o", "case.json")
    assert done.exit_code == 0, done.stderr
    assert json.loads((folder / "case.json").read_text())["heuristic"] == "Earliest"
    assert cli("adversarial", "check", "case.json", *named).exit_code == 0
    assert cli("adversarial", "check", "case.json", "--why", *named).exit_code == 0


def test_nothing_is_written_beside_the_file(folder, cli):
    before = sorted(folder.iterdir())
    assert cli("run", "preemptive", "inst.json", "--heuristic", MINE).exit_code == 0
    assert sorted(folder.iterdir()) == before


def test_a_comma_in_the_name_of_a_file_separates_nothing(folder, cli):
    (folder / "first,second.py").write_text(POLICY)
    asked = ["--heuristics", "a_online,first,second.py:Earliest", "--json"]
    done = cli("ratio", "preemptive", "--instance", "inst.json", *asked)
    assert done.exit_code == 0, done.stderr
    assert len(json.loads(done.stdout)["rows"]) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ratio", "preemptive", *TABLE, "--jobs", 5], ["--jobs", "--instance says which"]),
        (["ratio", "preemptive", *TABLE, "--preset", "quick"], ["--preset", "--instance says"]),
        (["ratio", "preemptive", "--mapping", "mapping.toml"], ["--mapping", "--instance"]),
        (["ratio", "preemptive", "--instance", "absent.csv"], ["absent.csv", "cannot be read"]),
        (["ratio", "preemptive", "--instance", "jobs.csv"], ["jobs.csv", "release_time"]),
        (
            ["ratio", "preemptive", *TABLE, "--heuristics", "mine.py:Erliest"],
            ["mine.py:Erliest", "did you mean Earliest?"],
        ),
        (["run", MINE, "jobs.csv"], ["jobs.csv", "PROBLEM --heuristic FILE.py:NAME"]),
        (["run", MINE, "absent.json"], ["absent.json", "cannot be read"]),
        (["run", "preemptive.a_online", "inst.json", "--heuristic", MINE], ["left out"]),
        (["run", "preemptive", "inst.json", "--heuristic", "mine.py:idle(k=x)"], ["option k"]),
        (["check", "preemptive", "inst.json", "--heuristic", MINE], ["only with --online"]),
        (["import", "preemptive", "jobs.csv", "--mapping", "no.toml", "-o", "x"], ["no.toml"]),
    ],
)
def test_what_cannot_be_measured_is_one_sentence_and_exit_status_2(folder, cli, words, said):
    done = cli(*words)
    assert done.exit_code == 2
    assert all(part in done.stderr for part in said), done.stderr
    assert "Traceback" not in done.stderr
