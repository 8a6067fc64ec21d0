"""The command line. Modules that take long to import are imported by the command that needs them.

Exit status: 0 success, 1 the answer is "no" (infeasible, violated, nothing found), 2 bad input.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from optsched.cli import catalogue, single, study
from optsched.cli.console import BAD_INPUT, INTERRUPTED, print_table, say
from optsched.cli.names import option_lines
from optsched.errors import InputError, ModelError


class Commands(TyperGroup):
    """Turns what a user can mend into a message and exit status 2, without a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (InputError, ModelError) as error:
            for line in str(error).splitlines():
                say(f"error: {line}")
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            raise  # the reader has left, and the frame around us ends in silence
        except OSError as error:
            say(f"error: {error}")
            raise typer.Exit(BAD_INPUT) from None


class WithGeneratorOptions(TyperCommand):
    """Its help ends with the options of every problem's generator."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        from optsched.problem import problems

        for name, problem in problems().items():
            print_table(
                ["option", "type", "default", "meaning"],
                option_lines(problem),
                f"generator of {name}",
            )


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog="Start with: optsched problems",
)


def _examples(*lines: str) -> str:
    return "\n\n".join(["Examples:", *lines])


def _unwrapped(text: str | None) -> str:
    """Paragraphs as single lines, for the terminal to break."""
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n"))


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"optsched {version('optsched')}")
        raise typer.Exit()


@app.callback()
def optsched(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """How far from optimal is this online algorithm, really?"""


def _add(function: Callable[..., None], *examples: str, generator: bool = False) -> None:
    """Register a command under its function's name."""
    open_ended = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command(
        help=_unwrapped(function.__doc__),
        epilog=_examples(*examples),
        cls=WithGeneratorOptions if generator else TyperCommand,
        context_settings=open_ended if generator else None,
    )(function)


_add(
    catalogue.problems,
    "optsched problems",
    "optsched problems preemptive --json",
)
_add(catalogue.solvers, "optsched solvers", "optsched solvers --json")
_add(
    single.generate,
    "optsched generate preemptive --jobs 10 --seed 1 -o inst.json",
    generator=True,
)
_add(
    single.solve,
    "optsched solve preemptive.problem_4 inst.json --time-limit 60 -o schedule.json",
    "optsched solve preemptive.problem_2 inst.json --solver cpsat --start schedule.json --json",
)
_add(
    single.run,
    "optsched run preemptive.a_online inst.json -o schedule.json",
    'optsched run "preemptive.a_online(epsilon=0.5)" inst.json',
)
_add(
    single.check,
    "optsched check preemptive inst.json schedule.json",
    "optsched check preemptive inst.json schedule.json --speed 1.5",
)
_add(
    study.ratio,
    'optsched ratio preemptive --jobs 5,10,15 --seeds 20 --heuristics "a_online,all_cloud"',
    "optsched ratio preemptive --preset quick -o rows.csv --plot picture.png",
    generator=True,
)
_add(catalogue.schema, "optsched schema preemptive > schema.json")


def main() -> None:
    """The ``optsched`` command."""
    _keep_standard_output_clean()
    app()


def _keep_standard_output_clean() -> None:
    """Leave standard output to what we print: some solvers write to it behind Python's back."""
    ours = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(ours, "w", encoding="utf-8", buffering=1)
