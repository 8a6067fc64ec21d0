"""The summary of a study as Markdown: ratios, and what is stated beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from optsched.evaluation.guarantees import stated_against, violations
from optsched.evaluation.tables import GUARANTEES, frame, guarantee_lines, remarks, summarise
from optsched.study.layout import Layout, PlannedInstance
from optsched.study.view import summary_cells

if TYPE_CHECKING:
    import pandas as pd

    from optsched.study.reading import Ratios


def study_markdown(results: Ratios, title: str, commands: Sequence[str] = ()) -> str:
    """A page with a table per grid.

    Args:
        results: of the study.
        title: of the page.
        commands: which make it again.
    """
    parts = [f"# {title}"]
    if commands:
        parts.append("\n".join(["```bash", *commands, "```"]))
    told = results.progress
    if told.finished < told.planned:
        parts.append(f"Not at its end: {told.finished} of {told.planned} runs have their result.")
    for number, layout in enumerate(results.layouts):
        table = frame(results.rows_of_grid(number))
        if layout.comparison is not None and len(table):
            cases = [case for case in results.cases if case.grid == number]
            parts += _grid(layout, cases, table)
    return "\n\n".join(parts) + "\n"


def _grid(layout: Layout, cases: Sequence[PlannedInstance], table: pd.DataFrame) -> Iterator[str]:
    yield f"## {layout.problem}"
    yield f"{_sizes(layout, cases)}: {table['instance'].nunique()} instances."
    summary = summarise(table, ["heuristic"])
    head, lines = summary_cells(summary, ["heuristic"])
    yield _table(head, lines)
    for line in remarks(table):
        yield f"{line[0].upper()}{line[1:]}."
    guarantees = layout.comparison.guarantees if layout.comparison is not None else {}
    stated = {
        f"- Against `{against}`: {words[against]}."
        for words in guarantees.values()
        for against in stated_against(map(str, table))
        if against in words
    }
    if stated:
        yield _table(["heuristic", *GUARANTEES], guarantee_lines(summary, ["heuristic"]))
        yield "\n".join(sorted(stated))
    for line in violations(table, guarantees):
        yield f"**{line}**"


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, without the columns that have no value."""
    kept = [i for i in range(len(head)) if any(line[i] not in ("", "-") for line in lines)]
    rows = [[f"`{line[0]}`", *(line[i] for i in kept[1:])] for line in lines]
    marks = ["---", *("---:" for _ in kept[1:])]
    return "\n".join(
        f"| {' | '.join(cells)} |" for cells in ([head[i] for i in kept], marks, *rows)
    )


def _sizes(layout: Layout, cases: Sequence[PlannedInstance]) -> str:
    """The options of the generator that were given, and the seeds."""
    told = [
        f"{name} {', '.join(dict.fromkeys(str(case.cell[name]) for case in cases))}"
        for name in layout.options
        if all(name in case.cell for case in cases)
    ]
    seeds = sorted({case.seed for case in cases})
    told.append(f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}")
    return "; ".join(told).capitalize()
