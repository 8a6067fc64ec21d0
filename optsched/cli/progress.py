"""Progress of long work: a bar in a terminal, a line per tenth elsewhere; on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from optsched.cli.console import console, say

Tell = Callable[[int, int, float | None], None]
"""(finished, planned, seconds left or None) -> shown."""


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

        def line(finished: int, planned: int, left: float | None) -> None:
            nonlocal tenth
            if finished * 10 // max(1, planned) > max(tenth, 0):
                tenth = finished * 10 // planned
                rest = f", {spoken(left)} left" if left and finished < planned else ""
                say(f"{title}: {finished} of {planned} {what}{rest}")

        yield line
        return

    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        *(TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(title, total=None, left="")

        def draw(finished: int, planned: int, left: float | None) -> None:
            rest = f"{spoken(left)} left" if left and finished < planned else ""
            bar.update(task, completed=finished, total=planned, left=rest)

        yield draw


def spoken(seconds: float) -> str:
    """A duration as a person says it."""
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"about {seconds / size:.0f} {unit}"
    return f"about {seconds:.0f} s"
