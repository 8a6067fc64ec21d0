"""What the help of a command shows as an example is accepted, and runs where that is quick."""

import re
import shlex

import pytest
from typer.main import get_command

from optsched.cli import app
from optsched.cli.study import EXAMPLE

QUICK = ("problems", "solvers", "generate", "import", "solve", "run", "check")
JOBS = "submitted_s,num_chunks,chunk_time_slow,chunk_time_fast,upload_delay_edge,upload_delay_cloud"
MINE = """
from heuristics.preemptive import HEURISTICS


def worst_fit(instance, rng):
    return HEURISTICS["all_cloud"].run(instance, rng)
"""


def commands(group, *path):
    """Every command with the words before it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *path, name)
        yield (*path, name), command


def examples_of(command):
    lines = (command.epilog or "").split("\n\n")
    return [line for line in lines if re.match(r"optsched \w", line)]


WHOLE = get_command(app)
EVERY = [((), WHOLE), *commands(WHOLE)]
EXAMPLES = list(dict.fromkeys(line for _, command in EVERY for line in examples_of(command)))


def typed(line):
    """The words after the command's name, up to where its output goes."""
    return shlex.split(line.partition(" > ")[0])[1:]


def test_there_are_fifteen_commands():
    shown = [path for path, one in EVERY if not (one.hidden or hasattr(one, "commands"))]
    assert len(shown) == 15


def test_every_command_has_an_example():
    assert all(examples_of(command) for _, command in EVERY if not hasattr(command, "commands"))


@pytest.mark.parametrize("line", EXAMPLES)
def test_the_parser_takes_an_example(line):
    context, words = WHOLE.make_context("optsched", typed(line)), typed(line)
    while hasattr(context.command, "commands"):
        name, command, words = context.command.resolve_command(context, words)
        context = command.make_context(name, list(words), parent=context)


def test_quick_examples_run_one_after_the_other(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.csv").write_text(f"{JOBS}\n0,4,1,1,0,1\n7200,2,1,1,2,3\n")
    (tmp_path / "workers.csv").write_text("server,count\n0,2\n1,1\n")
    (tmp_path / "mine.py").write_text(MINE)
    for line in EXAMPLES:
        words = typed(line)
        if words[0] in QUICK:
            if words[0] == "import":  # which would be solved instead of what was generated
                words = [word.replace("inst.json", "imported.json") for word in words]
            result = cli(*words)
            assert result.exit_code in (0, 1), f"{line}\n{result.stderr}"
    assert {"inst.json", "imported.json", "schedule.json", "proof.json"} <= {
        path.name for path in tmp_path.iterdir()
    }


def test_the_example_of_a_study_is_one(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = EXAMPLE.replace("seeds = 5", "seeds = 1").replace("jobs = [5, 10]", "jobs = [2, 3]")
    (tmp_path / "study.toml").write_text(small)
    for line in EXAMPLES:
        if re.match("optsched study (run|show) study.toml", line) and "dask" not in line:
            result = cli(*typed(line))
            assert result.exit_code == 0, f"{line}\n{result.stderr}"
