"""How every command behaves: input errors are one sentence, and help fits what was typed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from optsched.cli.console import BAD_INPUT, INTERRUPTED, print_table, say
from optsched.cli.names import complete_problem, option_lines
from optsched.errors import FieldProblem, InputError, ModelError

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
    if type(error).__name__ == "NoArgsIsHelpError":
        return
    error.ctx = error.ctx or context
    _refuse([f"{_sentence(error)}; see {error.ctx.command_path} --help"])


def _sentence(error: Any) -> str:
    """Say what the parser refused: the option, what was typed, what is allowed."""
    context, parameter = error.ctx, getattr(error, "param", None)
    if isinstance(error, typer.BadParameter) and parameter is not None and error.message:
        from optsched.instances.document import allowed

        name = max(parameter.opts, key=len)
        return str(FieldProblem(name, _typed(context, parameter.opts), allowed(error.message)))
    said = " ".join(error.format_message().split()).rstrip(".")
    if type(error).__name__ == "UsageError" and hasattr(context.command, "commands"):
        return f"{said}; there are {', '.join(context.command.commands)}"
    return said


def _typed(context: Any, names: Sequence[str]) -> str | None:
    """Return the value that an option was given."""
    words: Sequence[str] = context.meta["typed"]
    for word, following in zip_longest(words, words[1:]):
        name, equals, value = word.partition("=")
        if name in names:
            return value if equals else following
    return None


def _refuse(sentences: Sequence[str]) -> None:
    for sentence in sentences[:ERRORS_SHOWN]:
        say(f"error: {sentence}")
    if len(sentences) > ERRORS_SHOWN:
        say(f"and {len(sentences) - ERRORS_SHOWN} errors more")
    raise typer.Exit(BAD_INPUT) from None


class Command(TyperCommand):
    """Remembers what was typed after its name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta["typed"] = tuple(args)
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            error.ctx = error.ctx or ctx  # the parser leaves out whose option lacks its value
            raise


class OpenEnded(Command):
    """Leaves options that it does not know, with their values, in the context's ``args``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = {name for one in self.get_params(ctx) for name in (*one.opts, *one.secondary_opts)}
        own: list[str] = []
        others: list[str] = []
        words = list(args)
        while words:
            word = words.pop(0)
            if word == "--instance" and word in known:  # of which a pattern gives several
                own += [word, *words[:1]]
                del words[:1]
                while words and not words[0].startswith("-"):
                    own += [word, words.pop(0)]
                continue
            if not word.startswith("--") or word.partition("=")[0] in known:
                own.append(word)
                continue
            others.append(word)
            if "=" not in word and words and words[0] not in known and words[0][:2] != "--":
                others.append(words.pop(0))
        super().parse_args(ctx, own)
        ctx.args = others
        return others


class WithGeneratorOptions(OpenEnded):
    """Its help ends with the options of the generator of the problem that was typed."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        announced = complete_problem("")
        typed = (word.partition(".")[0] for word in ctx.meta["typed"])
        name = next((word for word in typed if word in announced), None)
        if name is not None:
            from optsched.problem import problem

            columns = ["option", "type", "default", "meaning"]
            print_table(columns, option_lines(problem(name)), f"generator of {name}")
            return
        typer.echo(
            f"Options of a problem's generator: {ctx.command_path} PROBLEM --help\n"
            f"Problems: {', '.join(announced)}"
        )
