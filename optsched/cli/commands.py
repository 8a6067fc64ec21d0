"""How every command behaves: what a user can mend is one sentence; help is of what was typed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from optsched.cli.console import BAD_INPUT, INTERRUPTED, print_table, say
from optsched.cli.names import complete_problem, option_lines
from optsched.errors import FieldProblem, InputError, ModelError
from optsched.instances.document import allowed

ERRORS_SHOWN = 8
"""Fields of a file named before the rest is counted."""

UsageError: Any = typer.BadParameter.__bases__[0]
"""What the parser raises; where it lives depends on typer's version."""


class Commands(TyperGroup):
    """Turns what a user can mend into a message and exit status 2, without a traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            _refuse_usage(error, ctx)
            raise  # which is help

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UsageError as error:
            _refuse_usage(error, ctx)
            raise  # which is help
        except (InputError, ModelError) as error:
            _refuse(str(error).splitlines())
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            raise  # the reader has left, and the frame around us ends in silence
        except OSError as error:
            _refuse([str(error)])


def _refuse_usage(error: Any, context: Any) -> None:
    """End with what the parser says, unless that is the help of a command without arguments."""
    if type(error).__name__ != "NoArgsIsHelpError":
        error.ctx = error.ctx or context
        _refuse([_sentence(error)])


def _refuse(sentences: Sequence[str]) -> None:
    for sentence in sentences[:ERRORS_SHOWN]:
        say(f"error: {sentence}")
    if len(sentences) > ERRORS_SHOWN:
        say(f"and {len(sentences) - ERRORS_SHOWN} errors more")
    raise typer.Exit(BAD_INPUT) from None


def _sentence(error: Any) -> str:
    """What the parser refused: the option, what was typed, what is allowed, where help is."""
    context, parameter = error.ctx, getattr(error, "param", None)
    help_ = f"see {context.command_path} --help" if context else "see optsched --help"
    if isinstance(error, typer.BadParameter) and parameter is not None:
        name = parameter.metavar or parameter.name.upper()
        if parameter.param_type_name != "argument":
            name = max(parameter.opts, key=len)
        typed = None if context is None else _typed(context.meta.get("typed", ()), parameter.opts)
        if typed is None and not error.message:
            return f"{name} is missing; {help_}"
        return str(FieldProblem(name, typed, allowed(error.message)))
    said = error.format_message().rstrip(".")
    commands = getattr(getattr(context, "command", None), "commands", None)
    option = type(error).__name__ == "NoSuchOption"
    there_are = f"; there are {', '.join(commands)}" if commands and not option else ""
    return f"{said}{there_are}; {help_}"


def _typed(words: Sequence[str], names: Sequence[str]) -> str | None:
    """The value given to an option, if it was given one."""
    for word, following in zip_longest(words, words[1:]):
        name, equals, value = word.partition("=")
        if name in names:
            return value if equals else following
    return None


class Command(TyperCommand):
    """Remembers what was typed after its name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta["typed"] = tuple(args)
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            error.ctx = error.ctx or ctx  # the parser leaves out whose option lacks its value
            raise


class WithGeneratorOptions(Command):
    """Its help ends with the options of the generator of the problem that was typed."""

    def takes(self) -> list[str]:
        """Names of the problems that the command takes."""
        return complete_problem("")

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        from optsched.problem import problem

        announced = self.takes()
        typed = (word.partition(".")[0] for word in ctx.meta.get("typed", ()))
        name = next((word for word in typed if word in announced), None)
        if name is not None:
            columns = ["option", "type", "default", "meaning"]
            print_table(columns, option_lines(problem(name)), f"generator of {name}")
            return
        typer.echo(
            f"Options of a problem's generator: {ctx.command_path} PROBLEM --help\n"
            f"Problems: {', '.join(announced)}"
        )


class OfArrivals(WithGeneratorOptions):
    """Takes only problems whose jobs arrive one after the other."""

    def takes(self) -> list[str]:
        """Names of those among the problems that are announced."""
        from optsched.problem import problems

        return [name for name, found in problems().items() if found.arrivals is not None]


class FindByDefault(TyperGroup):
    """A first word that is none of its commands is whom to search against."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        named = bool(args) and (args[0] in self.commands or args[0].startswith("-"))
        return super().resolve_command(ctx, args if named else ["find", *args])
