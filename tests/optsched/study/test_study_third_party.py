"""A problem package that optsched knows nothing of is installed, and is there like any other."""

import configparser
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "plugin"

COMMANDS = """
import json, sys
from typer.testing import CliRunner
from optsched.cli import app

for command in json.loads(sys.argv[1]):
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    print(json.dumps([result.exit_code, json.loads(result.stdout)]))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Environment of a process in which pip has installed the package."""
    folder = tmp_path_factory.mktemp("third_party")
    source, target = folder / "source", folder / "installed"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("*.dist-info", "__pycache__"))
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--no-deps", "--no-index", "--no-build-isolation", "--target", target, source),
        ],
        check=True,
        capture_output=True,
    )
    assert (target / "covering.py").exists()
    return {**os.environ, "PYTHONPATH": str(target)}


def test_an_installed_package_appears_in_problems_ratio_and_study(installed, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(
        '[[grid]]\nproblem = "covering"\nseeds = 2\nheuristics = ["greedy", "shuffled"]'
    )
    commands = [
        ["problems", "covering", "--json"],
        [
            "ratio",
            "covering",
            "--heuristics",
            "shuffled",
            "--seeds",
            "2",
            "--workers",
            "1",
            "--json",
        ],
        ["study", "run", str(study), "--workers", "1", "--json"],
    ]
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, json.dumps(commands)],
        env=installed,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [status for status, _ in answers] == [0, 0, 0]
    (card,) = answers[0][1]["problems"]
    assert card["name"] == "covering"
    assert {"greedy", "shuffled"} <= {one["name"] for one in card["heuristics"]}
    assert [row["status"] for row in answers[1][1]["rows"]] == ["optimal", "optimal"]
    assert answers[2][1]["progress"]["finished"] == 6
    assert [line["proven"] for line in answers[2][1]["summary"][0]["lines"]] == [2, 2]


def test_the_other_tests_see_the_package_as_pip_would_install_it():
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    seen = configparser.ConfigParser()
    seen.read(next(PACKAGE.glob("covering-*.dist-info")) / "entry_points.txt")
    announced = {group: dict(seen[group]) for group in seen.sections()}
    assert announced == project["entry-points"]
