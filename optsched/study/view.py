"""A study as a notebook shows it: a table of each heuristic and a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import pandas as pd

from optsched.evaluation.guarantees import violations
from optsched.evaluation.ratios import Row
from optsched.evaluation.tables import (
    CONFIDENCE,
    GUARANTEES,
    frame,
    guarantee_lines,
    interval_cell,
    remarks,
    share,
    span,
    summarise,
)
from optsched.evaluation.tables import varying as those_that_vary
from optsched.report.study_plots import study_figure


def ratios_html(
    rows: Sequence[Row],
    options: Sequence[str] = (),
    guarantees: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """Summary and picture of the rows of one problem.

    Args:
        rows: of ratios.
        options: of the generator; the first that varies is the horizontal axis.
        guarantees: see ``ComparisonSpec.guarantees``.
    """
    table = frame(rows)
    if table.empty:
        return "<p>no ratios yet</p>"
    varying = those_that_vary(table, options)
    summary, by = summarise(table), ["heuristic"]
    parts = [_html(*summary_cells(summary, by))]
    if stated := guarantee_lines(summary, by):
        parts.append(_html([*by, *GUARANTEES], stated))
    title = f"<p><b>{escape(rows[0].problem)}</b>: ratio to the optimum (1 is optimal)</p>"
    picture = study_figure(table, varying[0] if varying else None)._repr_svg_()
    told = remarks(table)
    notes = "".join(f"<p>{escape(note)}</p>" for note in told)
    broken = violations(table, guarantees or {})
    notes += "".join(f"<p><strong>{escape(line)}</strong></p>" for line in broken)
    return title + "".join(parts) + notes + picture


def summary_cells(summary: pd.DataFrame, by: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """The headings and the lines of a summary as people read it.

    Args:
        summary: what ``summarise`` gives.
        by: the columns that make its groups.
    """
    head = [*by, "n", "proven", "infinite", "mean ratio", f"{CONFIDENCE:.0%} interval", "worst"]
    lines = [
        [
            *(str(line[name]) for name in (*by, "measured", "proven")),
            *(share(line["infinite"]), span(line["mean_low"], line["mean_high"])),
            *(interval_cell(line), span(line["max_low"], line["max_high"])),
        ]
        for line in summary.to_dict("records")
    ]
    return head, lines


def _html(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    titles = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in lines
    )
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
