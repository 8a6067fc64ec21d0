"""Makes the third-party problem in ``plugin`` importable, as if it were installed, and
``solver_models``, which several test files share."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from optsched.cli import app

PLUGIN = str(Path(__file__).parent / "plugin")
sys.path[:0] = [PLUGIN, str(Path(__file__).parent)]


@pytest.fixture(scope="session")
def plugin_environment() -> dict[str, str]:
    """Environment in which a child process finds the third-party problem."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([PLUGIN, *filter(None, sys.path)])}


@pytest.fixture
def command(plugin_environment):
    """Start ``optsched`` as a process."""

    def start(*arguments):
        return subprocess.Popen(
            [sys.executable, "-c", "from optsched.cli import main; main()", *map(str, arguments)],
            env=plugin_environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    return start


@pytest.fixture
def cli(monkeypatch):
    """Run one command in this process, its tables as wide as in a file."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*arguments):
        return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)

    return run
