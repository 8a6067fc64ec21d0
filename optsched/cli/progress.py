"""Progress of long work: a bar in a terminal, a line per tenth elsewhere; on standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Protocol

from optsched.cli.console import console, say


class Tell(Protocol):
    """Shows how far work is."""

    def __call__(
        self, finished: int, planned: int, seconds_left: float | None = None, latest: str = ""
    ) -> None: ...


@contextmanager
def progress(title: str, what: str) -> Iterator[Tell]:
    """Show how far work is.

    Args:
        title: what is going on.
        what: what is counted.
    """
    err = console(error=True)
    if not err.is_terminal:
        tenth = -1

        def line(
            finished: int, planned: int, seconds_left: float | None = None, latest: str = ""
        ) -> None:
            nonlocal tenth
            if finished * 10 // max(1, planned) > max(tenth, 0):
                tenth = finished * 10 // planned
                told = f"{title}: {finished} of {planned} {what}"
                say(", ".join(filter(None, (told, _left(finished, planned, seconds_left)))))

        yield line
        return

    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        *(TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()),
        TextColumn("{task.fields[left]}  {task.fields[latest]}"),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(title, total=None, left="", latest="")

        def draw(
            finished: int, planned: int, seconds_left: float | None = None, latest: str = ""
        ) -> None:
            left = _left(finished, planned, seconds_left)
            bar.update(task, completed=finished, total=planned, left=left, latest=latest)

        yield draw


PATIENCE = 2.0
"""Seconds after which a wait is explained if there is no terminal to show it in."""


@contextmanager
def waiting(title: str) -> Iterator[None]:
    """Say what takes so long, where how far it is cannot be known.

    Args:
        title: what is going on.
    """
    err = console(error=True)
    if err.is_terminal:
        with err.status(title):
            yield
        return
    late = Timer(PATIENCE, say, [title])
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()


def _left(finished: int, planned: int, seconds: float | None) -> str:
    return f"{spoken(seconds)} left" if seconds and finished < planned else ""


def spoken(seconds: float) -> str:
    """A duration as a person says it."""
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"about {seconds / size:.0f} {unit}"
    return f"about {seconds:.0f} s"
