"""``optsched claims``: what it prints, writes, keeps and refuses."""

import json

import pytest
from claims_cases import claim, doubles, mean_double
from typer.testing import CliRunner

from optsched.cli import app


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
    for ending, beginning in ((".md", "# What"), (".tex", "%"), (".csv", "prob"), (".json", "[")):
        file = tmp_path / f"table{ending}"
        cli("covering", "--workers", 1, "-o", file)
        assert file.read_text().startswith(beginning)
    page = (tmp_path / "table.md").read_text()
    assert "quick scale: 2 experiments, 0.00 hours of computing" in page
    assert "## covering" in page
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
