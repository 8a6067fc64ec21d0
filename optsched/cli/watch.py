"""``optsched study watch``: how far a study is while it runs, in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from optsched.cli.console import console, tables
from optsched.cli.study import (
    Every,
    StoreFile,
    StudyOrStore,
    how_far,
    results_of,
    store_of,
    tell_end,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Group

    from optsched.study import Results


def watch(
    study: StudyOrStore,
    store: StoreFile = None,
    once: Annotated[
        bool, typer.Option("--once", help="Print it once; so it is where there is no terminal.")
    ] = False,
    every: Every = 2.0,
) -> None:
    """Watch a study that is running, until it is done: what is done, proven, failed; ratios so far.

    It may be started, and left with Ctrl-C, at any time: the study hears nothing of it. Where the
    screen is too low for every method, each problem's first algorithm stands for it.
    """
    from optsched.study import follow_study

    output = console()
    source = store_of(study, store)
    if once or not output.is_terminal:
        output.print(_watched(results_of(source), output.width, None))
        return
    from rich.live import Live

    with Live(console=output, auto_refresh=False) as live:
        for look in follow_study(source, every):
            shown = _watched(look.results, output.width, output.height)
            live.update(shown, refresh=True)
    tell_end(look)


def _watched(results: Results, width: int, height: int | None) -> Group:
    """How far a study is, and a line per method; those of one algorithm where that is too much.

    Args:
        results: of the study.
        width: of the screen, in letters.
        height: of the screen, in lines; None: as many as it takes.
    """
    from rich.console import Group
    from rich.text import Text

    lines = list(_method_lines(results))
    if height is not None and len(lines) > height - 6:
        first = {line[0]: line for line in reversed(lines)}
        lines = [first[name] for name in dict.fromkeys(line[0] for line in lines)]
    columns = ["problem", "method", "done", "proven", "failed", "ratio so far", "interval"]
    return Group(Text(how_far(results)), *tables(columns, lines, 2, width))


def _method_lines(results: Results) -> Iterator[list[Any]]:
    """Of every heuristic and exact method: runs done, optima proven, failures, ratio so far.

    A heuristic's ratios are proven where they are points.
    """
    from optsched.evaluation.ratios import FAILED
    from optsched.evaluation.tables import frame, interval_cell, span, summarise
    from optsched.solvers.solution import Status

    steps = results.steps()
    for number, layout in enumerate(results.layouts):
        table = frame(results.rows_of_grid(number))
        found = [] if table.empty else summarise(table, ["heuristic"]).to_dict("records")
        ratios = {line["heuristic"]: line for line in found}
        for step in steps:
            if step.grid != number or step.kind not in ("heuristic", "exact", "sweep"):
                continue
            line = ratios.get(step.method) if step.kind == "heuristic" else None
            proven: int | None = step.statuses.get(Status.OPTIMAL.value, 0)
            if step.kind != "exact":
                proven = None if line is None else line["proven"]
            yield [
                *(layout.problem, step.method, f"{step.finished} of {step.planned}", proven),
                sum(count for status, count in step.statuses.items() if status in FAILED),
                None if line is None else span(line["mean_low"], line["mean_high"]),
                None if line is None else interval_cell(line),
            ]
