"""The report: its sections for each problem, in order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from optsched.evaluation.comparison import compare
from optsched.evaluation.ratios import FIELDS, UNBOUNDED_RATIO
from optsched.evaluation.tables import (
    CONFIDENCE,
    GUARANTEES,
    guarantee_lines,
    interval_cell,
    share,
    span,
    summarise,
)
from optsched.problem import Problem
from optsched.problem.calls import parse_call
from optsched.problem.guarantee import OPTIMUM
from optsched.problem.methods import Formulation
from optsched.report.formulas import mathml
from optsched.report.pictures import (
    dot_picture,
    flow_picture,
    gap_picture,
    ratio_pictures,
    run_pictures,
)
from optsched.report.plots import LOGARITHMIC
from optsched.solvers.solution import Solution

UNPROVEN_SHOWN = 40
"""Most lines of the table of what was not proven."""

FOLDED_FROM = 32
"""Letters of an algorithm with its options beyond which the options fold."""

EMPTY = ("", "–")
"""Cells without a value."""

_WORDS = (" … ", "–")
"""Between two ends, and in place of what is not known."""

IN_CSV = (*FIELDS, "known_by", "seconds")
"""Columns of the table that the page carries."""


@dataclass(frozen=True)
class Example:
    """A run worth looking at: schedules of one instance, drawn side by side."""

    heuristic: str
    name: str
    """Name of the instance, in the table."""
    title: str
    instance: Any
    schedules: Mapping[str, Any]
    """By what made them."""


@dataclass(frozen=True)
class Section:
    """One problem's part of the page."""

    problem: Problem
    table: pd.DataFrame
    """Rows of ratios, from ``optsched.evaluation.tables.frame``."""
    cells: Sequence[str] = ()
    """Columns that make the groups of the summary, beside the heuristic."""
    x: str | None = None
    """Column on the horizontal axis; None: no such picture."""
    runs: Sequence[Example] = ()
    """At most one per heuristic, drawn with the pictures the problem knows; the instance of the
    first also gives the model's size."""
    flow_times: Mapping[str, Sequence[Sequence[float]]] = field(default_factory=dict)
    """By method, of each instance those of its jobs (slots): see ``pictures.flow_picture``."""
    longest: tuple[str, Solution] | None = None
    """A solve that took long, by what it is of; its trajectory is drawn."""
    notes: Sequence[str] = field(default_factory=tuple)
    violations: Sequence[str] = ()
    """Guarantees that are violated."""


def page(
    title: str,
    sections: Sequence[Section],
    *,
    made_with: str = "",
    made_on: str = "",
    commands: Sequence[str] = (),
    reload: float | None = None,
) -> str:
    """The whole HTML document.

    Args:
        title: of the study.
        sections: one per problem.
        made_with: versions of what made it, for the last line.
        made_on: a date, for the last line.
        commands: which make it again.
        reload: seconds after which it loads itself again, while the study goes on.
    """
    import base64
    from importlib.resources import files

    from jinja2 import Environment, PackageLoader

    environment = Environment(
        loader=PackageLoader("optsched.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["order"] = _order
    rows = pd.concat([section.table for section in sections]) if sections else pd.DataFrame()
    shown = rows.reindex(columns=[name for name in IN_CSV if name in rows])
    vendor = files("optsched.report") / "vendor"
    return environment.get_template("page.html.jinja").render(
        title=title,
        overview=[_overview(section) for section in sections if len(section.table)],
        csv=base64.b64encode(shown.to_csv(index=False, float_format="%.6g").encode()).decode(),
        lines=len(rows),
        made_on=made_on,
        reload=reload,
        commands=commands,
        tables=(vendor / "datatables-3.1.5.min.js").read_text(encoding="utf-8"),
        licence=(vendor / "datatables-license.txt").read_text(encoding="utf-8"),
        sections=[_content(section) for section in sections],
        confidence=f"{CONFIDENCE:.0%}",
        made_with=made_with,
    )


def _overview(section: Section) -> dict[str, Any]:
    """What a reader wants to know first: a line per heuristic, and the picture of it."""
    leads = {name: place for (name, _), place in _leads(section).items()}
    table = section.table
    summary = summarise(table, ["heuristic"])
    found = summary.to_dict("records")
    nothing = {"stated": _WORDS[1], "worst / stated": _WORDS[1]}
    stated = {
        name: {"stated": factor, "worst / stated": part}
        for name, against, factor, _, part, _ in guarantee_lines(summary, ["heuristic"], *_WORDS)
        if against == OPTIMUM
    }
    ends = [line[end] for line in found for end in ("mean_low", "mean_high", "ci_low", "ci_high")]
    ends = [end for end in ends if 0 < end < math.inf] + [1.0]
    seconds = table.groupby("heuristic", sort=False)["seconds"].mean()
    lines = []
    for line in found:
        name = line["heuristic"]
        known = section.problem.heuristics.get(parse_call(name)[0])
        rows = table[table["heuristic"] == name]
        counts = rows["known_by"].replace("", "not proven").value_counts(sort=False)
        lines.append(
            {
                "heuristic": name,
                "folded": parse_call(name)[0] if len(name) > FOLDED_FROM else "",
                "proposed": known is not None and known.proposed,
                "source": "" if known is None else f"{known.summary} ({known.source})",
                "bar": _bar(line, min(ends), max(ends)),
                "interval": interval_cell(line, *_WORDS),
                "worst_run": leads.get(name, ""),
                "known": ", ".join(f"{count} {word}" for word, count in counts.items()),
                "cells": {
                    "mean ratio": _span(line["mean_low"], line["mean_high"]),
                    "worst": _span(line["max_low"], line["max_high"]),
                    **stated.get(name, nothing),
                    "proven": f"{line['proven']} of {line['rows']}",
                    "seconds": f"{seconds[name]:.2g}",
                },
            }
        )
    columns = list(lines[0]["cells"]) if lines else []
    shown = [name for name in columns if any(line["cells"][name] not in EMPTY for line in lines)]
    return {
        "problem": section.problem.name,
        "picture": dot_picture(table, section.problem.name),
        "axis": f"{min(ends):.3g} to {max(ends):.3g}",
        "columns": shown,
        "lines": lines,
    }


def _bar(line: Mapping[Any, Any], low: float, high: float) -> dict[str, float] | None:
    """The mean and its interval on an axis from ``low`` to ``high``, in per cent of its length.

    The axis is logarithmic from where the page's other axes are, too.
    """

    def place(value: float) -> float:
        share = (value - low) / (high - low or 1.0)
        if high > LOGARITHMIC * low:
            share = math.log(max(value, low) / low) / math.log(high / low)
        return round(100 * share, 1)

    if not math.isfinite(line["mean_high"]):
        return None
    left, right = place(line["mean_low"]), place(line["mean_high"])
    known = not line["ci_note"]
    ends = (place(line["ci_low"]), place(line["ci_high"])) if known else (left, right)
    return {"left": ends[0], "width": round(ends[1] - ends[0], 1), "mean": (left + right) / 2}


def _leads(section: Section) -> dict[tuple[str, str], str]:
    """By heuristic and instance, the id of the part that shows the run."""
    return {
        (run.heuristic, run.name): f"{section.problem.name}-run-{number}"
        for number, run in enumerate(section.runs)
    }


def _order(text: str) -> str:
    """By what a cell of numbers is sorted: the first of them, nothing if there is none."""
    first = (text.split() or [""])[0].rstrip("%")
    try:
        return f"{min(float(first.replace('infinite', 'inf')), 1e300):.9g}"
    except ValueError:
        return ""


def _content(section: Section) -> dict[str, Any]:
    problem, table, leads = section.problem, section.table, _leads(section)
    summary = pd.DataFrame()
    if len(table):
        summary = summarise(table, ["heuristic", *section.cells])
    measured = table.dropna(subset=["ratio_low", "ratio_high"])
    open_ = table[~table["status"].isin(("optimal", UNBOUNDED_RATIO))]
    instances = table.drop_duplicates(["instance", "seed", *section.cells])
    proven = int(instances["optimum"].notna().sum())
    return {
        "name": problem.name,
        "summary": problem.summary,
        "source": problem.source,
        "unit": problem.unit,
        "sense": problem.sense,
        "instances": len(instances),
        "proven": proven,
        "known": " and ".join(
            f"{count} {word}"
            for word, count in instances["known_by"].value_counts(sort=False).items()
            if word
        ),
        "runs": len(table),
        "measured": len(measured),
        "ratios": _table(
            ["heuristic", *(name.replace("_", " ") for name in section.cells)],
            [
                *("mean ratio", f"{CONFIDENCE:.0%} interval", "worst"),
                *("runs", "proven", "infinite"),
            ],
            [_line(line, section.cells) for line in summary.to_dict("records")],
        ),
        "guarantees": _table(
            ["heuristic", *(name.replace("_", " ") for name in section.cells), GUARANTEES[0]],
            GUARANTEES[1:],
            guarantee_lines(summary, ["heuristic", *section.cells], *_WORDS),
        ),
        "paired": _table(
            ["first", "second"],
            [
                *("instances", "wins", "ties", "losses"),
                *("mean difference", f"{CONFIDENCE:.0%} interval"),
            ],
            [_paired(line) for line in compare(table).to_dict("records")],
        ),
        "pictures": [
            *ratio_pictures(table, section.cells, section.x, problem.name, leads),
            *([flow_picture(section.flow_times, problem.name)] if section.flow_times else []),
            *([gap_picture(*section.longest, problem.name)] if section.longest else []),
        ],
        "shown": [
            {
                "place": place,
                "heuristic": run.heuristic,
                "title": run.title,
                "pictures": list(
                    run_pictures(problem, run.instance, run.schedules, place, every=number == 0)
                ),
            }
            for number, (place, run) in enumerate(zip(leads.values(), section.runs, strict=True))
        ],
        "model": _model(section),
        "open": _table(
            ["instance", "heuristic", "status", "message"],
            ["ratio"],
            [_open(row) for row in open_.head(UNPROVEN_SHOWN).to_dict("records")],
        ),
        "open_more": max(0, len(open_) - UNPROVEN_SHOWN),
        "notes": section.notes,
        "violations": section.violations,
    }  # fmt: skip


def _table(
    words: Sequence[str], numbers: Sequence[str], lines: Sequence[Sequence[str]]
) -> dict[str, Any]:
    """A table without the columns that have no value: those of words, then those of numbers."""
    head = [*words, *numbers]
    kept = [i for i in range(len(head)) if any(line[i] not in EMPTY for line in lines)]
    return {
        "head": [(head[i], "words" if i < len(words) else "number") for i in kept],
        "lines": [[line[i] for i in kept] for line in lines],
    }


def _line(line: dict[Any, Any], cells: Sequence[str]) -> list[str]:
    return [
        *(_text(line[name]) for name in ("heuristic", *cells)),
        _span(line["mean_low"], line["mean_high"]),
        interval_cell(line, *_WORDS),
        _span(line["max_low"], line["max_high"]),
        f"{line['measured']} of {line['rows']}",
        str(line["proven"]),
        share(line["infinite"]),
    ]


def _paired(line: dict[Any, Any]) -> list[str]:
    return [
        *(str(line[name]) for name in ("first", "second", "instances", "wins", "ties", "losses")),
        _span(line["difference_low"], line["difference_high"]),
        _span(line["ci_low"], line["ci_high"]),
    ]


def _open(row: dict[Any, Any]) -> list[str]:
    return [
        _text(row["instance"]),
        _text(row["heuristic"]),
        _text(row["status"]),
        _text(row.get("message") or ""),
        _span(row["ratio_low"], row["ratio_high"]),
    ]


def _model(section: Section) -> dict[str, str] | None:
    """A model of the problem on the first run's instance, with formulas.

    That of the reference formulation, or the first that is no relaxation where a search of its
    own takes the reference's place.
    """
    listed = section.problem.formulations
    ordered = [listed[section.problem.reference], *listed.values()]
    models = (f for f in ordered if isinstance(f, Formulation) and not f.relaxation)
    formulation = next(models, None)
    if not section.runs or formulation is None:
        return None
    model = formulation.build(section.runs[0].instance)
    return {
        "name": formulation.name,
        "source": formulation.source,
        "summary": formulation.summary,
        "view": mathml(model._repr_html_()),
    }


def _span(low: float | None, high: float | None) -> str:
    return span(low, high, *_WORDS)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
