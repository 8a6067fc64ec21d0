"""Add commands to the command line: ours, and those that other packages announce.

A package announces commands through the entry-point group ``optsched.commands``: a
``typer.Typer`` whose commands ``add_command`` has registered. They are loaded at every start, so
its module imports within the command what takes long.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points

import typer

from optsched.cli.commands import Command
from optsched.cli.console import say

LOOK, ONE, MANY = "Look around", "One instance", "Many instances"
"""Parts of the list of commands, in the order in which a newcomer needs them."""


def listed(*lines: str) -> str:
    """Return a help text whose lines stay lines."""
    return "\n\n".join(lines)


def _unwrapped(text: str | None) -> str:
    """Return the paragraphs as single lines, for the terminal to break."""
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n"))


def add_command(
    function: Callable[..., None],
    *examples: str,
    group: typer.Typer,
    part: str | None = None,
    cls: type[Command] = Command,
) -> None:
    """Register a command under its function's name."""
    group.command(
        function.__name__.strip("_").replace("_", "-"),
        help=_unwrapped(function.__doc__),
        epilog=listed("Examples:", *examples),
        rich_help_panel=part,
        cls=cls,
    )(function)


def add_announced_commands(app: typer.Typer) -> None:
    """Add the commands of other packages; say which cannot be loaded, and go on without them."""
    for entry in sorted(entry_points(group="optsched.commands"), key=lambda entry: entry.name):
        try:
            app.add_typer(entry.load())
        except Exception as error:
            say(f"the command {entry.name} ({entry.value}) cannot be loaded: {error!r}")
