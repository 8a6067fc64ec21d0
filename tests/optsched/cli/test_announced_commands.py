"""Commands that other packages announce."""

import sys

import pytest
import typer
from typer.testing import CliRunner

from optsched.cli.adding import add_announced_commands
from optsched.cli.commands import Commands

MODULE = '''
import typer
from optsched.cli.adding import add_command

app = typer.Typer()

def greet_all() -> None:
    """Greet everybody."""
    print("good day")

add_command(greet_all, "optsched greet-all", group=app)
'''


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package with a command, and with one more that cannot be loaded."""
    (tmp_path / "greeting_commands.py").write_text(MODULE)
    about = tmp_path / "greeting-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[optsched.commands]\ngreet-all = greeting_commands:app\nlost = no.such.module:app\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("greeting_commands", None)


def test_an_announced_command_stands_beside_the_others(installed, capsys):
    app = typer.Typer(cls=Commands)
    add_announced_commands(app)
    assert "the command lost (no.such.module:app) cannot be loaded" in capsys.readouterr().err
    runner = CliRunner()
    assert runner.invoke(app, ["greet-all"]).stdout == "good day\n"
    assert "optsched greet-all" in runner.invoke(app, ["greet-all", "--help"]).stdout


def test_the_papers_claims_are_such_a_command(installed):
    app = typer.Typer(cls=Commands)
    add_announced_commands(app)
    shown = CliRunner().invoke(app, ["claims", "--list", "drp"])
    assert shown.exit_code == 0
