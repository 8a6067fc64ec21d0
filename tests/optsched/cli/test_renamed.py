"""A name that a command had in the version before does what it did, and says the new one."""

import json

import pytest

GRID = '[[grid]]\nproblem = "covering"\ngenerator = { items = 4 }\nheuristics = ["greedy"]\n'

RENAMED = [
    ("schema covering", "problems covering --schema"),
    ("schema preemptive --fields", "problems preemptive --fields"),
    ("certify drp inst.json schedule.json --json",
     "check drp inst.json schedule.json --theorems --json"),
    ("verify cover.json proof.json", "check covering cover.json --proof proof.json"),
    ("check-online drp.r_dr --instance inst.json", "check drp.r_dr inst.json --online"),
    ("check-online aerialedge.first_fit --tasks=8 --jobs 3 --instances 1",
     "check aerialedge.first_fit --tasks=8 --jobs 3 --instances 1 --online"),
    ("worst covering.greedy --items 4 --evaluations 4 --workers 1",
     "adversarial find covering.greedy --items 4 --evaluations 4 --workers 1"),
    ("worst find covering.greedee", "adversarial find covering.greedee"),
    ("worst check study.toml", "adversarial check study.toml"),
    ("worst shrink study.toml -o a.json", "adversarial check study.toml -o a.json --shrink"),
    ("worst why study.toml", "adversarial check study.toml --why"),
    ("online drp --instances inst.json", "online-bound drp --instances inst.json"),
    ("study watch study.toml --once", "study show study.toml --watch --once"),
    ("study export study.toml -o a.csv --runs", "study show study.toml -o a.csv --runs"),
    ("study report study.toml -o a.html", "study show study.toml -o a.html"),
    ("study report study.toml -o a.html --follow", "study show study.toml -o a.html --watch"),
]  # fmt: skip


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    return tmp_path_factory.mktemp("renamed")


@pytest.fixture
def files(cli, places, monkeypatch):
    """A study that has been run, an instance with its schedule, and a proof."""
    monkeypatch.chdir(places)
    if not (places / "study.toml").exists():
        (places / "study.toml").write_text(GRID)
        (places / "cover.json").write_text(
            json.dumps({"price": [3, 4, 10], "size": [2, 3, 5], "demand": 5})
        )
        for words in (
            "study run study.toml --workers 1",
            "generate drp --jobs 3 -o inst.json",
            "run drp.r_dr inst.json -o schedule.json",
            "solve covering.knapsack cover.json --proof proof.json",
        ):
            assert cli(*words.split()).exit_code == 0


@pytest.mark.parametrize(("old", "new"), RENAMED, ids=lambda words: words)
def test_an_old_name_does_what_it_did_and_says_the_new_one(cli, files, old, new):
    was, now = cli(*old.split()), cli(*new.split())
    assert (was.exit_code, was.stdout) == (now.exit_code, now.stdout)
    first, *rest = was.stderr.splitlines()
    assert first.startswith("'optsched ")
    assert " ".join(new.split()[: 2 if new.startswith("study") else 1]) in first
    assert rest == now.stderr.splitlines()


def test_old_names_are_hidden(cli):
    shown = cli("--help").stdout + cli("study", "--help").stdout
    assert not any(f" {old} " in shown for old in ("schema", "verify", "certify", "export"))
