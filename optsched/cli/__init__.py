"""The command line. Modules that take long to import are imported by the command that needs them.

Exit status: 0 success, 1 the answer is "no" (infeasible, violated, nothing found), 2 bad input.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import Annotated

import typer

from optsched.cli import (
    adversarial,
    catalogue,
    check,
    making,
    online,
    ratio,
    single,
    study,
    study_show,
)
from optsched.cli.adding import LOOK, MANY, ONE, add_announced_commands, add_command, listed
from optsched.cli.commands import Commands, OpenEnded, WithGeneratorOptions
from optsched.cli.interrupts import heard

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog=listed(
        "A first walk:",
        "optsched problems preemptive",
        "optsched generate preemptive --jobs 10 --servers 5 --seed 1 -o inst.json",
        "optsched run preemptive.a_online inst.json -o online.json",
        "optsched solve preemptive.problem_2_compact inst.json -o best.json",
        "optsched ratio preemptive --preset quick --plot ratios.png",
        "optsched study run studies/ratios.toml",
    ),
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"optsched {version('optsched')}")
        raise typer.Exit()


@app.callback()
def optsched(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """How far from optimal is this online algorithm, really?"""


_add = partial(add_command, group=app)

_add(
    catalogue.problems,
    "optsched problems",
    "optsched problems preemptive",
    "optsched problems preemptive --schema > schema.json",
    part=LOOK,
)
_add(catalogue.solvers, "optsched solvers", "optsched solvers --json", part=LOOK)
_add(
    making.generate,
    "optsched generate preemptive --jobs 10 --seed 1 -o inst.json",
    part=ONE,
    cls=WithGeneratorOptions,
)
_add(
    making.import_,
    "optsched problems preemptive --fields",
    "optsched import preemptive jobs.csv --column release_time=submitted_s/3600 "
    "--edge-servers 2 --workers workers.csv -o inst.json",
    "optsched import preemptive inst.json --tables tables",
    "optsched import preemptive tables -o inst.json",
    part=ONE,
    cls=OpenEnded,
)
_add(
    single.solve,
    "optsched solve preemptive.problem_2_compact inst.json --time-limit 60 -o schedule.json",
    "optsched solve preemptive.problem_2_compact inst.json --start schedule.json --json",
    "optsched solve preemptive.problem_2_compact inst.json --proof proof.json",
    part=ONE,
)
_add(
    single.run,
    "optsched run preemptive.a_online inst.json -o schedule.json",
    'optsched run "preemptive.a_online(epsilon=0.5)" inst.json',
    "optsched run mine.py:worst_fit inst.json",
    part=ONE,
)
_add(
    check.check,
    "optsched check preemptive inst.json schedule.json",
    "optsched check preemptive inst.json schedule.json --speed 1.5",
    "optsched check preemptive inst.json schedule.json --theorems",
    "optsched check preemptive inst.json --proof proof.json",
    "optsched check preemptive.a_online --online --jobs 8",
    part=ONE,
    cls=WithGeneratorOptions,
)
_add(
    online.online_bound,
    "optsched online-bound preemptive --instances a.json,b.json",
    "optsched online-bound batch --instances few.json,many.json --json",
    part=MANY,
)
_add(
    ratio.ratio,
    'optsched ratio preemptive --jobs 5,10,15 --seeds 20 --heuristics "a_online,all_cloud"',
    "optsched ratio preemptive --preset quick -o rows.csv --plot picture.png",
    "optsched ratio preemptive --instance jobs.csv --mapping mapping.toml "
    "--heuristics a_online,mine.py:worst_fit",
    part=MANY,
    cls=WithGeneratorOptions,
)
add_announced_commands(app)
studies = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
app.add_typer(
    studies,
    name="study",
    help="Run methods on grids of instances, keep the results in a file, and show them.",
    rich_help_panel=MANY,
)
_add(
    study.run,
    "optsched study run study.toml",
    "optsched study run study.toml --executor dask --address tcp://host:8786",
    "A study file:",
    *(line.replace("[", "\\[") for line in study.EXAMPLE.splitlines()),
    "More grids, instance files, presets, limits per method: pydoc optsched.study.spec",
    group=studies,
)
_add(
    study_show.show,
    "optsched study show study.toml",
    "optsched study show study.toml --watch",
    "optsched study show study.toml -o ratios.csv",
    "optsched study show study.toml --runs -o runs.parquet",
    "optsched study show study.toml -o study.html --watch",
    group=studies,
)

adversarial_cases = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
app.add_typer(
    adversarial_cases,
    name="adversarial",
    help="Search for instances on which a heuristic does badly, and check such a case.",
    rich_help_panel=MANY,
)
_add(
    adversarial.find,
    "optsched adversarial find preemptive.a_online --jobs 5 --seconds 60 -o case.json",
    "optsched adversarial find preemptive --heuristic mine.py:worst_fit --jobs 5 -o case.json",
    cls=WithGeneratorOptions,
    group=adversarial_cases,
)
_add(
    adversarial.check,
    "optsched adversarial check case.json",
    "optsched adversarial check case.json --why --plot why.png",
    "optsched adversarial check case.json --shrink -o smaller.json",
    group=adversarial_cases,
)


def main(*arguments: str) -> None:
    """The ``optsched`` command, with what was typed, or with arguments of a script."""
    _keep_standard_output_clean()
    with heard():
        app(list(arguments) or None)


def _keep_standard_output_clean() -> None:
    """Leave standard output to what we print: some solvers write to it behind Python's back."""
    ours = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(ours, "w", encoding="utf-8", errors="backslashreplace", buffering=1)
